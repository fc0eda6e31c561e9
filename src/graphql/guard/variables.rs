//! Coercion of variables: checks them against their definitions, and converts them to their types.
//!
//! GraphQL specification, section 6.1.2 "Coercing Variable Values", and the input coercion of each type in section
//! 3. Variables that the operation does not define are left as they are, because clients send them.

use async_graphql::{
    Name, Positioned, Variables,
    parser::types::{BaseType, Type, VariableDefinition},
};
use async_graphql_value::ConstValue;

use super::error::{CostError, brief};
use crate::{
    definition::{
        schema::Schema,
        types::{Argument, InputDefinition},
    },
    request::scalars::SCALARS,
};

/// Why a value cannot be converted, and the path to it from the inside out.
struct CoercionError {
    message: String,
    path: Vec<PathStep>,
}

enum PathStep {
    Field(Name),
    Item(usize),
}

/// Why a value does not fit an argument.
#[derive(PartialEq, Eq, Debug)]
pub struct BadArgument {
    /// The argument, or the field of its input object.
    pub name: String,
    pub message: String,
}

/// Converts the value of an argument to its type, as [`coerce`] does.
///
/// # Errors
/// The value cannot be converted.
pub fn coerce_argument(
    name: &str,
    value: &mut ConstValue,
    ty: &Type,
    schema: &Schema,
) -> Result<(), BadArgument> {
    coerce_value(value, ty, schema).map_err(|error| {
        let message = format!("{}: {}", brief(error.place(name)), error.message);
        let named = error.path.into_iter().find_map(|step| match step {
            PathStep::Field(field) => Some(field.to_string()),
            PathStep::Item(_) => None,
        });
        BadArgument { name: named.unwrap_or_else(|| name.to_owned()), message }
    })
}

/// Sets defaults, turns single values into lists where a list is expected, and `1.0` into `1` for an `Int`.
///
/// # Errors
/// One for each variable that cannot be converted.
pub fn coerce(
    definitions: &[Positioned<VariableDefinition>],
    variables: &mut Variables,
    schema: &Schema,
) -> Result<(), Vec<CostError>> {
    let errors: Vec<_> = definitions
        .iter()
        .filter_map(|definition| {
            let error = coerce_one(&definition.node, variables, schema).err()?;
            Some(error.at_variable(definition))
        })
        .collect();
    if errors.is_empty() { Ok(()) } else { Err(errors) }
}

/// Removes the variables that the operation does not define, so that nothing keeps them.
pub fn remove_undefined(definitions: &[Positioned<VariableDefinition>], variables: &mut Variables) {
    let is_defined = |name: &Name| definitions.iter().any(|definition| definition.node.name.node == *name);
    variables.retain(|name, _| is_defined(name));
}

fn coerce_one(
    definition: &VariableDefinition,
    variables: &mut Variables,
    schema: &Schema,
) -> Result<(), CoercionError> {
    let (name, ty) = (&definition.name.node, &definition.var_type.node);
    match (variables.get_mut(name), &definition.default_value) {
        (Some(value), _) => coerce_value(value, ty, schema),
        (None, Some(default)) => {
            let mut value = default.node.clone();
            coerce_value(&mut value, ty, schema)?;
            variables.insert(name.clone(), value);
            Ok(())
        }
        (None, None) if ty.nullable => Ok(()),
        (None, None) => Err(coercion_error(format!("a value of type {ty} is required"))),
    }
}

fn coerce_value(value: &mut ConstValue, ty: &Type, schema: &Schema) -> Result<(), CoercionError> {
    if *value == ConstValue::Null {
        return if ty.nullable {
            Ok(())
        } else {
            Err(coercion_error(format!("must be of type {ty}, not null")))
        };
    }
    match &ty.base {
        BaseType::List(of) => coerce_list(value, of, schema),
        BaseType::Named(name) => coerce_named(value, name, schema),
    }
}

fn coerce_named(value: &mut ConstValue, name: &Name, schema: &Schema) -> Result<(), CoercionError> {
    if let Some(input) = schema.inputs.get(name.as_str()) {
        return coerce_object(value, input, schema);
    }
    let Some(of) = schema.enums.get(name.as_str()) else { return coerce_scalar(value, name) };
    let given = match &*value {
        ConstValue::String(text) => text.as_str(),
        ConstValue::Enum(name) => name.as_str(),
        _ => "",
    };
    let is_value = of.values.iter().any(|(known, _)| *known == given);
    fits(is_value, || format!("{} is not a value of {name}", description(value)))
}

/// A single value becomes a list of one item.
fn coerce_list(value: &mut ConstValue, of: &Type, schema: &Schema) -> Result<(), CoercionError> {
    if !matches!(value, ConstValue::List(_)) {
        coerce_value(value, of, schema)?;
        *value = ConstValue::List(vec![std::mem::take(value)]);
        return Ok(());
    }
    let ConstValue::List(items) = value else { return Ok(()) };
    for (place, item) in items.iter_mut().enumerate() {
        coerce_value(item, of, schema).map_err(|error| error.inside(PathStep::Item(place)))?;
    }
    Ok(())
}

fn coerce_object(
    value: &mut ConstValue,
    input: &InputDefinition,
    schema: &Schema,
) -> Result<(), CoercionError> {
    let name = input.name;
    let ConstValue::Object(given) = value else {
        return Err(coercion_error(format!("{} is not an object of type {name}", description(value))));
    };
    for (field, value) in given.iter_mut() {
        let at = |error: CoercionError| error.inside(PathStep::Field(field.clone()));
        let Some(known) = input.fields.iter().find(|known| *field == known.name) else {
            return Err(at(coercion_error(format!("{name} has no such field"))));
        };
        coerce_value(value, &known.of, schema).map_err(at)?;
    }
    let is_missing =
        |known: &&Argument| !known.of.nullable && known.default.is_none() && !given.contains_key(known.name);
    match input.fields.iter().find(is_missing) {
        Some(missing) => Err(coercion_error(format!("a value of type {} is required", missing.of))
            .inside(PathStep::Field(Name::new(missing.name)))),
        None => Ok(()),
    }
}

fn coerce_scalar(value: &mut ConstValue, name: &Name) -> Result<(), CoercionError> {
    if name == "Int"
        && let Some(whole) = whole_of_float(value)
    {
        *value = whole.into();
    }
    let does_fit = match (name.as_str(), &*value) {
        ("Int", ConstValue::Number(number)) => number.as_i64().is_some_and(|raw| i32::try_from(raw).is_ok()),
        ("Float", ConstValue::Number(_)) | ("String", ConstValue::String(_)) => true,
        ("Boolean", ConstValue::Boolean(_)) | ("ID", ConstValue::String(_)) => true,
        ("ID", ConstValue::Number(number)) => !number.is_f64(),
        ("Int" | "Float" | "String" | "Boolean" | "ID", _) => false,
        // Also what is no input type: validation refuses it.
        (custom, value) => SCALARS.iter().find(|of| of.name == custom).is_none_or(|of| (of.is_valid)(value)),
    };
    fits(does_fit, || format!("{} is not a valid {name}", description(value)))
}

/// Some languages write the integer 1 as 1.0 in JSON.
fn whole_of_float(value: &ConstValue) -> Option<i32> {
    let ConstValue::Number(number) = value else { return None };
    let float = number.as_f64().filter(|_| number.is_f64())?;
    let is_whole = float.fract() == 0.0 && (f64::from(i32::MIN)..=f64::from(i32::MAX)).contains(&float);
    is_whole.then_some(float as i32)
}

fn fits(does_fit: bool, otherwise: impl FnOnce() -> String) -> Result<(), CoercionError> {
    if does_fit { Ok(()) } else { Err(coercion_error(otherwise())) }
}

/// A short value itself, otherwise its kind.
fn description(value: &ConstValue) -> String {
    const SHORT: usize = 40;
    match value {
        ConstValue::String(text) if text.len() <= SHORT => format!("{text:?}"),
        ConstValue::String(_) => "this string".to_owned(),
        ConstValue::List(_) => "a list".to_owned(),
        ConstValue::Object(_) => "an object".to_owned(),
        other => other.to_string(),
    }
}

const fn coercion_error(message: String) -> CoercionError {
    CoercionError { message, path: Vec::new() }
}

impl CoercionError {
    fn inside(mut self, step: PathStep) -> Self {
        self.path.push(step);
        self
    }

    fn at_variable(self, definition: &Positioned<VariableDefinition>) -> CostError {
        let name = definition.node.name.node.to_string();
        let place = brief(self.place(&name));
        CostError::Variable { name, place, message: self.message, at: definition.pos }
    }

    /// The place of the value inside a variable or an argument.
    fn place(&self, name: &str) -> String {
        let mut place = name.to_owned();
        for step in self.path.iter().rev() {
            match step {
                PathStep::Field(field) => place.extend([".", field]),
                PathStep::Item(item) => place.push_str(&format!("[{item}]")),
            }
        }
        place
    }
}
