//! Ids in arguments: `note:<key>` and `user:<subject>` become `note_42` before a field is resolved, so that all that
//! follows knows one form.

use std::borrow::Cow;

use async_graphql::{
    Positioned, Value, Variables,
    parser::types::{Type, VariableDefinition},
};
use plaudit_token_auth::Subject;

use super::Schema;
use crate::{
    catalogue::EntityKind,
    domain::AppKey,
    graphql::{
        definition::{
            arguments::Arguments,
            types::{Field, named},
        },
        errors::{ApiError, ApiResult},
        reading::scope::Scope,
        request::ids::{KINDS, global_id, key_in},
    },
};

/// A key in an argument of type `ID`, and where its canonical id belongs.
struct Found<'a> {
    argument: &'static str,
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
            collect(argument.name, &argument.of, value, &mut found);
        }
    }
    found.iter().try_for_each(Found::check)?;
    replace(found, scope).await?;
    Ok(Cow::Owned(arguments))
}

/// Variables with canonical ids, so that questions that differ only in the form of an id are one. What cannot be a key
/// stays, and is refused where it is used.
pub async fn with_canonical_variables(
    definitions: &[Positioned<VariableDefinition>],
    mut variables: Variables,
    scope: &Scope,
) -> ApiResult<Variables> {
    let mut found = Vec::new();
    for (name, value) in variables.iter_mut().filter(|(_, value)| has_key(value)) {
        let definition = definitions.iter().find(|definition| definition.node.name.node == *name);
        if let Some(definition) = definition {
            collect("id", &definition.node.var_type.node, value, &mut found);
        }
    }
    found.retain(|found| found.check().is_ok());
    replace(found, scope).await?;
    Ok(variables)
}

/// Replaces the keys of each kind by the ids of what has them, in one look-up.
async fn replace(mut found: Vec<Found<'_>>, scope: &Scope) -> ApiResult<()> {
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
    Ok(())
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

/// Collects the keys in a value of this type.
fn collect<'a>(argument: &'static str, of: &Type, value: &'a mut Value, found: &mut Vec<Found<'a>>) {
    let of = named(of).as_str();
    if of == "ID" {
        return collect_ids(argument, value, found);
    }
    let (Some(input), Value::Object(fields)) = (Schema::get().input(of), value) else { return };
    for (name, value) in fields {
        let field = input.fields.iter().find(|field| field.name == name.as_str());
        if let Some(field) = field {
            collect(field.name, &field.of, value, found);
        }
    }
}

fn collect_ids<'a>(argument: &'static str, value: &'a mut Value, found: &mut Vec<Found<'a>>) {
    match value {
        Value::String(text) => {
            if let Some((kind, _)) = key_in(text) {
                found.push(Found { argument, kind, text });
            }
        }
        Value::List(items) => items.iter_mut().for_each(|item| collect_ids(argument, item, found)),
        _ => {}
    }
}

impl Found<'_> {
    /// # Errors
    /// [`Code::BadUserInput`](crate::graphql::Code::BadUserInput) for a text that cannot be a key of this kind.
    fn check(&self) -> ApiResult<()> {
        let (argument, key) = (self.argument, key_in(self.text).map_or("", |(_, key)| key));
        if self.kind == EntityKind::User {
            let subject = Subject::try_from(key.to_owned());
            subject.map(drop).map_err(|why| ApiError::bad_input(argument, format!("{argument}: {why}")))
        } else {
            Ok(AppKey::parse(argument, key).map(drop)?)
        }
    }
}
