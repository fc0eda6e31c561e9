//! The plans of a document.

use std::{
    collections::HashSet,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
};

use async_graphql::{
    Name, Positioned, Value, Variables,
    parser::types::{Directive, ExecutableDocument, OperationDefinition, Selection, SelectionSet},
};
use parking_lot::Mutex;

use super::{Plan, compile};

/// Most variables in `@skip` and `@include` of a document with plans.
const MAX_CONDITIONS: usize = 16;
/// Most plans of a document; another one replaces the one that was used longest ago.
const MAX_PLANS: usize = 8;
/// Fields of all plans of a document per token of it: fragments and the types behind an interface multiply.
const FIELDS_PER_TOKEN: usize = 4;

/// The plans of a document that the engine has validated: one for each operation and choice of conditions.
pub struct Plans {
    /// The variables in `@skip` and `@include`; `None` if there are too many.
    conditions: Option<Vec<Name>>,
    /// The one that was used last stands last.
    made: Mutex<Vec<Made>>,
    /// A plan panicked: the engine executes the document.
    has_panicked: AtomicBool,
}

struct Made {
    operation: Option<String>,
    /// The values of the conditions, one bit each.
    choice: u32,
    /// `None` if the operation cannot be planned.
    plan: Option<Arc<Plan>>,
}

impl Made {
    fn fields(&self) -> usize {
        self.plan.as_ref().map_or(0, |plan| plan.fields)
    }
}

impl Plans {
    pub fn of(document: &ExecutableDocument) -> Self {
        let mut conditions = Conditions::default();
        for (_, operation) in document.operations.iter() {
            conditions.of_set(&operation.node.selection_set.node);
        }
        for fragment in document.fragments.values() {
            conditions.of_set(&fragment.node.selection_set.node);
        }
        let conditions: Vec<Name> = conditions.0.into_iter().cloned().collect();
        let conditions = (conditions.len() <= MAX_CONDITIONS).then_some(conditions);
        Self { conditions, made: Mutex::default(), has_panicked: AtomicBool::new(false) }
    }

    /// The plan that answers an operation. `None` if the engine must execute it. `tokens`: size of the document.
    pub fn get(
        &self,
        document: &ExecutableDocument,
        operation: &OperationDefinition,
        name: Option<&str>,
        variables: &Variables,
        tokens: u64,
    ) -> Option<Arc<Plan>> {
        if self.are_given_up() {
            return None;
        }
        self.any(document, operation, name, variables, tokens).filter(|plan| plan.is_complete)
    }

    fn any(
        &self,
        document: &ExecutableDocument,
        operation: &OperationDefinition,
        name: Option<&str>,
        variables: &Variables,
        tokens: u64,
    ) -> Option<Arc<Plan>> {
        let choice = choice(self.conditions.as_ref()?, variables);
        let mut made = self.made.lock();
        let is_same = |made: &Made| made.choice == choice && made.operation.as_deref() == name;
        if let Some(at) = made.iter().position(is_same) {
            made[at..].rotate_left(1);
            return made.last()?.plan.clone();
        }
        let budget = FIELDS_PER_TOKEN.saturating_mul(tokens as usize);
        let plan = compile(document, operation, variables, budget).ok().map(Arc::new);
        made.push(Made { operation: name.map(str::to_owned), choice, plan: plan.clone() });
        while made.len() > MAX_PLANS || made.iter().map(Made::fields).sum::<usize>() > budget {
            made.remove(0);
        }
        plan
    }

    /// Whether the engine executes the document, because a plan of it panicked.
    pub fn are_given_up(&self) -> bool {
        self.has_panicked.load(Relaxed)
    }

    /// From now on, the engine executes the document.
    pub fn give_up(&self) {
        self.has_panicked.store(true, Relaxed);
    }
}

fn choice(conditions: &[Name], variables: &Variables) -> u32 {
    let is_true = |name: &Name| variables.get(name) == Some(&Value::Boolean(true));
    conditions.iter().enumerate().fold(0, |choice, (bit, name)| choice | (u32::from(is_true(name)) << bit))
}

/// Names of variables in conditions.
#[derive(Default)]
struct Conditions<'a>(HashSet<&'a Name>);

impl<'a> Conditions<'a> {
    fn of_set(&mut self, set: &'a SelectionSet) {
        for item in &set.items {
            self.of_directives(item.node.directives());
            match &item.node {
                Selection::Field(field) => self.of_set(&field.node.selection_set.node),
                Selection::InlineFragment(fragment) => self.of_set(&fragment.node.selection_set.node),
                Selection::FragmentSpread(_) => {}
            }
        }
    }

    fn of_directives(&mut self, directives: &'a [Positioned<Directive>]) {
        for directive in directives {
            for (_, value) in &directive.node.arguments {
                if let async_graphql_value::Value::Variable(name) = &value.node {
                    self.0.insert(name);
                }
            }
        }
    }
}
