//! Ids in arguments: `note:<key>` and `user:<subject>` become `note_42` before a field is resolved, so that all that
//! follows knows one form.

use std::borrow::Cow;

use async_graphql::{
    Positioned, Value, Variables,
    parser::types::{Type, VariableDefinition},
};

use super::get;
use crate::{
    definition::{
        arguments::Arguments,
        types::{Field, InputDefinition, named},
    },
    errors::ApiResult,
    reading::scope::Scope,
    request::ids::{KINDS, check_key, global_id, key_in},
};
use plaudit_catalogue::EntityKind;

/// A key in a value of type `ID`, and where its canonical id belongs.
struct FoundKey<'a> {
    kind: EntityKind,
    text: &'a mut String,
}

/// The arguments of a field with canonical ids. The key of nothing stays: as an id it is refused with
/// [`Code::NotFound`](crate::Code::NotFound), which look-ups answer with null. So does a subject that
/// the viewer may not name, and a text that cannot be a key.
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
            collect(&argument.of, value, &mut found);
        }
    }
    replace(found, scope).await?;
    Ok(Cow::Owned(arguments))
}

/// Variables with canonical ids, so that questions that differ only in the form of an id are one.
pub async fn with_canonical_variables(
    definitions: &[Positioned<VariableDefinition>],
    mut variables: Variables,
    scope: &Scope,
) -> ApiResult<Variables> {
    let mut found = Vec::new();
    for (name, value) in variables.iter_mut().filter(|(_, value)| has_key(value)) {
        let definition = definitions.iter().find(|definition| definition.node.name.node == *name);
        if let Some(definition) = definition {
            collect(&definition.node.var_type.node, value, &mut found);
        }
    }
    replace(found, scope).await?;
    Ok(variables)
}

/// Replaces the keys of each kind by the ids of what has them, in one look-up.
async fn replace(mut found: Vec<FoundKey<'_>>, scope: &Scope) -> ApiResult<()> {
    for kind in KINDS {
        let of_kind: Vec<&mut FoundKey<'_>> = found.iter_mut().filter(|found| found.kind == kind).collect();
        let keys: Vec<String> =
            of_kind.iter().filter_map(|found| Some(key_in(found.text)?.1.to_owned())).collect();
        if keys.is_empty() {
            continue;
        }
        let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
        let entities = scope.find_by_keys(kind, &keys).await?;
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
fn collect<'a>(of: &Type, value: &'a mut Value, found: &mut Vec<FoundKey<'a>>) {
    let of = named(of).as_str();
    if of == "ID" {
        collect_ids(value, found);
    } else if let Some(input) = get().inputs.get(of) {
        collect_in_inputs(input, value, found);
    }
}

/// In an input object, or a list of them.
fn collect_in_inputs<'a>(input: &InputDefinition, value: &'a mut Value, found: &mut Vec<FoundKey<'a>>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                let field = input.fields.iter().find(|field| field.name == name.as_str());
                if let Some(field) = field {
                    collect(&field.of, value, found);
                }
            }
        }
        Value::List(items) => items.iter_mut().for_each(|item| collect_in_inputs(input, item, found)),
        _ => {}
    }
}

fn collect_ids<'a>(value: &'a mut Value, found: &mut Vec<FoundKey<'a>>) {
    match value {
        Value::String(text) => {
            if let Some((kind, _)) = key_in(text).filter(|(kind, key)| check_key("id", *kind, key).is_ok()) {
                found.push(FoundKey { kind, text });
            }
        }
        Value::List(items) => items.iter_mut().for_each(|item| collect_ids(item, found)),
        _ => {}
    }
}
