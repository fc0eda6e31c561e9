//! Ids in arguments: `note:<key>` and `user:<subject>` become `note_42` before a field is resolved, so that all that
//! follows knows one form.

use std::borrow::Cow;

use async_graphql::Value;
use plaudit_token_auth::Subject;

use super::Schema;
use crate::{
    catalogue::EntityKind,
    domain::AppKey,
    graphql::{
        definition::{
            arguments::Arguments,
            types::{Argument, Field, named},
        },
        errors::{ApiError, ApiResult},
        reading::scope::Scope,
        request::ids::{KINDS, global_id, key_in},
    },
};

/// A key in the arguments, and where its canonical id belongs.
struct Found<'a> {
    kind: EntityKind,
    text: &'a mut String,
}

/// The arguments of a field with canonical ids. The key of nothing stays: as an id it is refused with
/// [`Code::NotFound`](crate::graphql::Code::NotFound), which look-ups answer with null.
///
/// # Errors
/// [`Code::BadUserInput`](crate::graphql::Code::BadUserInput) naming the argument whose key cannot be one.
pub async fn with_canonical_ids<'a>(
    field: &Field,
    arguments: Cow<'a, Arguments>,
    scope: &Scope,
) -> ApiResult<Cow<'a, Arguments>> {
    if !arguments.0.values().any(has_key) {
        return Ok(arguments);
    }
    let mut arguments = arguments.into_owned();
    let mut found = Vec::new();
    for (name, value) in &mut arguments.0 {
        let argument = field.arguments.iter().find(|argument| argument.name == name.as_str());
        if let Some(argument) = argument {
            collect(argument, value, &mut found)?;
        }
    }
    for kind in KINDS {
        let of_kind: Vec<&mut Found<'_>> = found.iter_mut().filter(|found| found.kind == kind).collect();
        let keys: Vec<String> =
            of_kind.iter().filter_map(|found| Some(key_in(found.text)?.1.to_owned())).collect();
        if keys.is_empty() {
            continue;
        }
        let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
        let entities = scope.plaudit().find_by_keys(kind, &keys).await?;
        for (found, entity) in of_kind.into_iter().zip(entities) {
            if let Some(entity) = entity {
                *found.text = global_id(entity).0;
            }
        }
    }
    Ok(Cow::Owned(arguments))
}

/// Whether any text within looks like a key: most arguments have none, and are looked at no further.
fn has_key(value: &Value) -> bool {
    match value {
        Value::String(text) => key_in(text).is_some(),
        Value::List(items) => items.iter().any(has_key),
        Value::Object(fields) => fields.values().any(has_key),
        _ => false,
    }
}

/// Collects the keys in an argument, or a field of an input, of type `ID`.
fn collect<'a>(argument: &Argument, value: &'a mut Value, found: &mut Vec<Found<'a>>) -> ApiResult<()> {
    let of = named(&argument.of).as_str();
    if of == "ID" {
        return collect_ids(argument.name, value, found);
    }
    let (Some(input), Value::Object(fields)) = (Schema::get().input(of), value) else { return Ok(()) };
    for (name, value) in fields {
        let field = input.fields.iter().find(|field| field.name == name.as_str());
        if let Some(field) = field {
            collect(field, value, found)?;
        }
    }
    Ok(())
}

fn collect_ids<'a>(
    argument: &'static str,
    value: &'a mut Value,
    found: &mut Vec<Found<'a>>,
) -> ApiResult<()> {
    match value {
        Value::String(text) => {
            let Some((kind, key)) = key_in(text) else { return Ok(()) };
            if kind == EntityKind::User {
                Subject::try_from(key.to_owned())
                    .map_err(|why| ApiError::bad_input(argument, format!("{argument}: {why}")))?;
            } else {
                AppKey::parse(argument, key)?;
            }
            found.push(Found { kind, text });
            Ok(())
        }
        Value::List(items) => items.iter_mut().try_for_each(|item| collect_ids(argument, item, found)),
        _ => Ok(()),
    }
}
