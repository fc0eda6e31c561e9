//! The plans of a document.

use std::sync::Arc;

use async_graphql::{Name, Value, Variables, parser::types::OperationDefinition};
use parking_lot::Mutex;

use super::{Plan, compile};
use crate::guard::Document;

/// Most variables in `@skip` and `@include` of a document with plans.
const MAX_CONDITIONS: usize = 16;
/// Most plans of a document; another one replaces the one that was used longest ago.
const MAX_PLANS: usize = 8;
/// Fields of all plans of a document per token of it: fragments and the types behind an interface multiply.
const FIELDS_PER_TOKEN: usize = 4;

/// The plans of a document that the engine has validated: one for each operation and choice of conditions.
#[derive(Default)]
pub struct Plans {
    /// The one that was used last stands last.
    made: Mutex<Vec<Made>>,
}

struct Made {
    operation: Option<String>,
    /// The values of the conditions, one bit each.
    choice: u32,
    /// `None` if it would exceed the budget: then each request makes its own.
    plan: Option<Arc<Plan>>,
}

impl Made {
    fn fields(&self) -> usize {
        self.plan.as_ref().map_or(0, |plan| plan.fields)
    }
}

impl Plans {
    /// The plan that answers an operation; `None` if it is not kept.
    pub fn get(
        &self,
        document: &Document,
        operation: &OperationDefinition,
        name: Option<&str>,
        variables: &Variables,
    ) -> Option<Arc<Plan>> {
        let choice = choice(document.conditions(), variables)?;
        let mut made = self.made.lock();
        let is_same = |made: &Made| made.choice == choice && made.operation.as_deref() == name;
        if let Some(at) = made.iter().position(is_same) {
            made[at..].rotate_left(1);
            return made.last()?.plan.clone();
        }
        let budget = FIELDS_PER_TOKEN.saturating_mul(document.tokens() as usize);
        let plan = compile(document.parsed(), operation, variables, budget).ok().map(Arc::new);
        made.push(Made { operation: name.map(str::to_owned), choice, plan: plan.clone() });
        while made.len() > MAX_PLANS || made.iter().map(Made::fields).sum::<usize>() > budget {
            made.remove(0);
        }
        plan
    }
}

/// The values of the conditions; `None` if there are too many.
fn choice(conditions: &[Name], variables: &Variables) -> Option<u32> {
    let is_true = |name: &Name| variables.get(name) == Some(&Value::Boolean(true));
    let add = |choice, (bit, name)| choice | (u32::from(is_true(name)) << bit);
    (conditions.len() <= MAX_CONDITIONS).then(|| conditions.iter().enumerate().fold(0, add))
}
