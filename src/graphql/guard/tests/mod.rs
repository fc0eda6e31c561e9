//! The guard as a whole: what it allows, what it refuses, and how much work that is.

mod cache;
mod complexity;
mod documents;
mod fragments;
mod limits;
mod variables;

use std::fmt::Write;

use async_graphql::Variables;
use serde_json::Value as Json;

use super::{
    Guard,
    rejection::{cost_error, document_error},
};
use crate::{errors::Rejection, schema};
use plaudit_catalogue::settings::CostSettings;

fn guard(limits: CostSettings) -> Guard {
    Guard::new(schema::get(), limits)
}

fn usual() -> Guard {
    guard(CostSettings::of_development())
}

/// The extensions of the error.
fn refused(guard: &Guard, text: &str) -> Json {
    let Rejection(errors) = document_error(guard.read(text).map(drop).unwrap_err());
    serde_json::to_value(&errors[0]).unwrap()["extensions"].clone()
}

fn reason(guard: &Guard, text: &str) -> String {
    refused(guard, text)["reason"].as_str().unwrap_or("none").to_owned()
}

fn admit(guard: &Guard, text: &str, variables: Json) -> Result<Variables, Vec<Json>> {
    let document = guard.read(text).unwrap();
    let mut variables = Variables::from_json(variables);
    match guard.admit(&document, document.operation(None).unwrap(), &mut variables) {
        Ok(_) => Ok(variables),
        Err(errors) => {
            Err(errors.into_iter().map(|error| serde_json::to_value(cost_error(error)).unwrap()).collect())
        }
    }
}

/// The lists that are read by statements of their own.
fn lists(text: &str, variables: Json) -> u64 {
    let guard = usual();
    let document = guard.read(text).unwrap();
    let operation = document.operation(None).unwrap();
    guard.admit(&document, operation, &mut Variables::from_json(variables)).unwrap().lists
}

/// The measured complexity, by a guard that allows none.
fn complexity(text: &str, variables: Json) -> u64 {
    let none =
        guard(CostSettings { max_complexity: 0, max_selections: 20_000, ..CostSettings::of_development() });
    admit(&none, text, variables).unwrap_err()[0]["extensions"]["measured"].as_u64().unwrap()
}

/// Fragments of which each spreads the next one twice: 2^n fields.
pub fn bomb(fragments: usize) -> String {
    let mut text = "{ feed { nodes { ...F0 } } }".to_owned();
    for n in 0..fragments {
        write!(text, "fragment F{n} on Note {{ ...F{next} ...F{next} }}", next = n + 1).unwrap();
    }
    text + &format!("fragment F{fragments} on Note {{ id }}")
}
