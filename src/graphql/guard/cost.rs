//! How many fields an answer may have, as far as the document alone tells; the rest is in the variables.

use async_graphql::{Name, Positioned, Variables};
use async_graphql_value::Value;

use super::{
    sizes::{Arguments, Size},
    values::Weight,
};

/// A sum that saturates: what is beyond any limit need not be exact.
#[derive(Clone, Default, Debug)]
pub struct Cost {
    known: u64,
    parts: Vec<Part>,
}

/// What variables decide.
#[derive(Clone, Debug)]
enum Part {
    /// A long text that is an argument: it is copied for each object.
    Text(Name),
    Times {
        size: Size,
        arguments: Box<Arguments>,
        each: Cost,
    },
    /// Of a fragment, by its place among them; it is reckoned once, however often it is spread.
    Fragment(usize),
}

impl Cost {
    pub fn known(known: u64) -> Self {
        Self { known, parts: Vec::new() }
    }

    pub fn text_of(variable: Name) -> Self {
        Self { known: 0, parts: vec![Part::Text(variable)] }
    }

    /// The cost of the fragment in this place, which is `cost`.
    pub fn of_fragment(place: usize, cost: &Self) -> Self {
        if cost.parts.is_empty() {
            cost.clone()
        } else {
            Self { known: 0, parts: vec![Part::Fragment(place)] }
        }
    }

    pub fn add(&mut self, other: Self) {
        self.known = self.known.saturating_add(other.known);
        self.parts.extend(other.parts);
    }

    /// For each item of a list that is so long.
    pub fn times(self, size: Size, arguments: &Arguments) -> Self {
        let says_all = |(_, value): &(_, Positioned<Value>)| !has_variable(&value.node);
        let (size, arguments) = if !size.varies() || arguments.iter().all(says_all) {
            (Size::Known(size.with(arguments, &Variables::default())), Box::default())
        } else {
            (size, arguments.into())
        };
        match size {
            Size::Known(1) => self,
            Size::Known(items) if self.parts.is_empty() => Self::known(self.known.saturating_mul(items)),
            _ => Self { known: 0, parts: vec![Part::Times { size, arguments, each: self }] },
        }
    }

    /// With these variables, and fragments that cost so much.
    pub fn with(&self, fragments: &[u64], variables: &Variables) -> u64 {
        let part = |part: &Part| match part {
            Part::Text(variable) => variables.get(variable).map_or(0, |value| Weight::of(value).text),
            Part::Times { size, arguments, each } => {
                size.with(arguments, variables).saturating_mul(each.with(fragments, variables))
            }
            Part::Fragment(place) => fragments.get(*place).copied().unwrap_or(0),
        };
        self.parts.iter().map(part).fold(self.known, u64::saturating_add)
    }
}

fn has_variable(value: &Value) -> bool {
    match value {
        Value::Variable(_) => true,
        Value::List(items) => items.iter().any(has_variable),
        Value::Object(fields) => fields.values().any(has_variable),
        _ => false,
    }
}
