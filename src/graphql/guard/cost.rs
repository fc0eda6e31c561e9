//! Cost: how many fields the response may have, as a formula over the variables.

use async_graphql::{Name, Positioned, Variables};
use async_graphql_value::Value;

use super::values::Weight;
use crate::definition::list_size::{Arguments, ListSize};

/// A sum that saturates: a cost beyond every limit need not be exact.
#[derive(Clone, Default, Debug)]
pub struct CostFormula {
    /// What does not depend on variables.
    constant: u64,
    terms: Vec<CostTerm>,
}

/// A part of the cost that depends on variables.
#[derive(Clone, Debug)]
enum CostTerm {
    /// A variable used as an argument: a long text is copied for each object.
    Text(Name),
    Times {
        size: ListSize,
        arguments: Box<Arguments>,
        each: CostFormula,
    },
    /// The cost of the fragment with this index, which is computed once however often it is spread.
    Fragment(usize),
}

/// The costs of a fragment. The costs of the fragments that it spreads are terms of them.
pub struct FragmentCost {
    pub fields: CostFormula,
    pub lists: CostFormula,
}

impl CostFormula {
    pub fn constant(constant: u64) -> Self {
        Self { constant, terms: Vec::new() }
    }

    pub fn text_of(variable: Name) -> Self {
        Self { constant: 0, terms: vec![CostTerm::Text(variable)] }
    }

    /// The cost of a spread of the fragment with this index, whose own cost is `cost`.
    pub fn of_fragment(index: usize, cost: &Self) -> Self {
        if cost.terms.is_empty() {
            cost.clone()
        } else {
            Self { constant: 0, terms: vec![CostTerm::Fragment(index)] }
        }
    }

    pub fn add(&mut self, other: Self) {
        self.constant = self.constant.saturating_add(other.constant);
        self.terms.extend(other.terms);
    }

    /// The cost of each item of a list, times the size of the list.
    pub fn times(self, size: ListSize, arguments: &Arguments) -> Self {
        if self.constant == 0 && self.terms.is_empty() {
            return self;
        }
        let is_constant = |(_, value): &(_, Positioned<Value>)| !has_variable(&value.node);
        let (size, arguments) = if !size.varies() || arguments.iter().all(is_constant) {
            (ListSize::Fixed(size.with(arguments, &Variables::default())), Box::default())
        } else {
            (size, arguments.into())
        };
        match size {
            ListSize::Fixed(1) => self,
            ListSize::Fixed(items) if self.terms.is_empty() => {
                Self::constant(self.constant.saturating_mul(items))
            }
            _ => Self { constant: 0, terms: vec![CostTerm::Times { size, arguments, each: self }] },
        }
    }

    /// The cost with these variables; `fragments` are the costs of the fragments.
    pub fn with(&self, fragments: &[u64], variables: &Variables) -> u64 {
        let term = |term: &CostTerm| match term {
            CostTerm::Text(variable) => variables.get(variable).map_or(0, |value| Weight::of(value).text),
            CostTerm::Times { size, arguments, each } => {
                size.with(arguments, variables).saturating_mul(each.with(fragments, variables))
            }
            CostTerm::Fragment(index) => fragments.get(*index).copied().unwrap_or(0),
        };
        self.terms.iter().map(term).fold(self.constant, u64::saturating_add)
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
