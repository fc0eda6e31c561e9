//! Checks variables against their definitions, and gives them the form that their types ask for.
//!
//! GraphQL specification, section 6.1.2 "Coercing Variable Values" and the input coercion of each type in
//! section 3. A variable that the operation does not define is left alone: clients send such ones.

use async_graphql::{
    Name, Positioned, ScalarType, Variables,
    parser::types::{BaseType, Type, VariableDefinition},
};
use async_graphql_value::ConstValue;

use super::{
    refusal::{Refusal, brief},
    types::{Input, Types},
};
use crate::graphql::request::scalars::DateTime;

/// What does not fit, and where: the way to it from the inside out.
struct Misfit {
    message: String,
    way: Vec<Step>,
}

enum Step {
    Field(Name),
    Item(usize),
}

/// Puts defaults in, makes lists of single items, and whole numbers of `1.0`.
///
/// # Errors
/// One for each variable that does not fit.
pub fn coerce(
    definitions: &[Positioned<VariableDefinition>],
    variables: &mut Variables,
    types: &Types,
) -> Result<(), Vec<Refusal>> {
    let refusals: Vec<_> = definitions
        .iter()
        .filter_map(|definition| {
            let misfit = coerce_one(&definition.node, variables, types).err()?;
            Some(misfit.refusal(definition))
        })
        .collect();
    if refusals.is_empty() { Ok(()) } else { Err(refusals) }
}

fn coerce_one(
    definition: &VariableDefinition,
    variables: &mut Variables,
    types: &Types,
) -> Result<(), Misfit> {
    let (name, ty) = (&definition.name.node, &definition.var_type.node);
    match (variables.get_mut(name), &definition.default_value) {
        (Some(value), _) => coerce_value(value, ty, types),
        (None, Some(default)) => {
            let mut value = default.node.clone();
            coerce_value(&mut value, ty, types)?;
            variables.insert(name.clone(), value);
            Ok(())
        }
        (None, None) if ty.nullable => Ok(()),
        (None, None) => Err(misfit(format!("it is required (type {ty}) and was not sent"))),
    }
}

fn coerce_value(value: &mut ConstValue, ty: &Type, types: &Types) -> Result<(), Misfit> {
    if *value == ConstValue::Null {
        return if ty.nullable { Ok(()) } else { Err(misfit(format!("it must be of type {ty}, not null"))) };
    }
    match &ty.base {
        BaseType::List(of) => coerce_list(value, of, types),
        BaseType::Named(name) => match types.input(name) {
            Some(Input::Scalar) => coerce_scalar(value, name),
            Some(Input::Enum(values)) => {
                let known = match &*value {
                    ConstValue::String(text) => values.contains(text.as_str()),
                    ConstValue::Enum(name) => values.contains(name),
                    _ => false,
                };
                fits(known, || format!("{} is no value of {name}", shown(value)))
            }
            Some(Input::Object(fields)) => coerce_object(value, name, fields, types),
            // The engine says that it is no input type.
            None => Ok(()),
        },
    }
}

/// A single value is a list of one.
fn coerce_list(value: &mut ConstValue, of: &Type, types: &Types) -> Result<(), Misfit> {
    if !matches!(value, ConstValue::List(_)) {
        coerce_value(value, of, types)?;
        *value = ConstValue::List(vec![std::mem::take(value)]);
        return Ok(());
    }
    let ConstValue::List(items) = value else { return Ok(()) };
    for (place, item) in items.iter_mut().enumerate() {
        coerce_value(item, of, types).map_err(|misfit| misfit.at(Step::Item(place)))?;
    }
    Ok(())
}

fn coerce_object(
    value: &mut ConstValue,
    name: &Name,
    fields: &std::collections::HashMap<Name, (Type, bool)>,
    types: &Types,
) -> Result<(), Misfit> {
    let ConstValue::Object(given) = value else {
        return Err(misfit(format!("{} is no object, as {name} is", shown(value))));
    };
    for (field, value) in given.iter_mut() {
        let at = |misfit: Misfit| misfit.at(Step::Field(field.clone()));
        let Some((ty, _)) = fields.get(field) else {
            return Err(at(misfit(format!("{name} has no such field"))));
        };
        coerce_value(value, ty, types).map_err(at)?;
    }
    let is_missing = |field: &Name, ty: &Type, has_default: bool| {
        !ty.nullable && !has_default && !given.contains_key(field)
    };
    match fields.iter().find(|(field, (ty, has_default))| is_missing(field, ty, *has_default)) {
        Some((field, (ty, _))) => {
            Err(misfit(format!("it is required (type {ty}) and was not sent")).at(Step::Field(field.clone())))
        }
        None => Ok(()),
    }
}

fn coerce_scalar(value: &mut ConstValue, name: &Name) -> Result<(), Misfit> {
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
        ("DateTime", _) => <DateTime as ScalarType>::parse(value.clone()).is_ok(),
        // No other scalar is taken by any argument.
        _ => true,
    };
    fits(does_fit, || format!("{} is no {name}", shown(value)))
}

/// JSON of some languages writes 1 as 1.0.
fn whole_of_float(value: &ConstValue) -> Option<i32> {
    let ConstValue::Number(number) = value else { return None };
    let float = number.as_f64().filter(|_| number.is_f64())?;
    let is_whole = float.fract() == 0.0 && (f64::from(i32::MIN)..=f64::from(i32::MAX)).contains(&float);
    is_whole.then_some(float as i32)
}

fn fits(does_fit: bool, otherwise: impl FnOnce() -> String) -> Result<(), Misfit> {
    if does_fit { Ok(()) } else { Err(misfit(otherwise())) }
}

/// The kind of a value, and the value itself if it is short.
fn shown(value: &ConstValue) -> String {
    const SHORT: usize = 40;
    match value {
        ConstValue::String(text) if text.len() <= SHORT => format!("{text:?}"),
        ConstValue::String(_) => "this text".to_owned(),
        ConstValue::List(_) => "a list".to_owned(),
        ConstValue::Object(_) => "an object".to_owned(),
        other => other.to_string(),
    }
}

const fn misfit(message: String) -> Misfit {
    Misfit { message, way: Vec::new() }
}

impl Misfit {
    fn at(mut self, step: Step) -> Self {
        self.way.push(step);
        self
    }

    fn refusal(self, definition: &Positioned<VariableDefinition>) -> Refusal {
        let name = definition.node.name.node.to_string();
        let mut place = name.clone();
        for step in self.way.iter().rev() {
            match step {
                Step::Field(field) => place.extend([".", field]),
                Step::Item(item) => place.push_str(&format!("[{item}]")),
            }
        }
        Refusal::Variable { name, place: brief(place), message: self.message, at: definition.pos }
    }
}
