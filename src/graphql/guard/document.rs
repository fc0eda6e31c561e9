//! A document that may be executed: parsed, measured and within the limits.

use std::sync::{Arc, OnceLock};

use async_graphql::{
    Name, Positioned, ServerError, Variables,
    parser::types::{
        DocumentOperations, ExecutableDocument, OperationDefinition, OperationType, VariableDefinition,
    },
};

use super::{
    cost::Cost,
    measure::{Measure, Measured},
    refusal::{Limit, Refusal},
    types::Types,
    values::Weight,
};
use crate::graphql::{
    errors::{ApiError, Code},
    request::operation::{OperationLabel, root_field},
};
use crate::settings::CostSettings;

/// Memory that a token takes once it is parsed, in bytes, at most.
const PER_TOKEN: u64 = 256;

/// Shared by all requests that send the same text.
pub struct Document {
    text: Arc<str>,
    parsed: ExecutableDocument,
    operations: Vec<Operation>,
    /// Of the fragments, each behind those that it spreads.
    costs: Vec<Cost>,
    /// How often each variable stands somewhere, all operations together.
    uses: Vec<(Name, u64)>,
    tokens: u64,
}

/// One operation of a document.
pub struct Operation {
    name: Option<Name>,
    pub kind: OperationType,
    cost: Cost,
    root: OnceLock<&'static str>,
}

impl Document {
    /// The document, and how many steps it took to measure it.
    pub(super) fn measure(
        text: &str,
        tokens: u64,
        parsed: ExecutableDocument,
        types: &Types,
        limits: &CostSettings,
    ) -> (Result<Self, Refusal>, u64) {
        let mut measure = Measure::new(types);
        let operations = measure_operations(&mut measure, &parsed, limits);
        let (costs, found) = measure.into_costs();
        let document = operations.map(|operations| Self {
            text: text.into(),
            operations,
            costs,
            uses: found.uses.into_iter().collect(),
            tokens,
            parsed,
        });
        (document, found.steps)
    }

    pub const fn parsed(&self) -> &ExecutableDocument {
        &self.parsed
    }

    pub const fn text(&self) -> &Arc<str> {
        &self.text
    }

    /// Memory, in bytes, at most.
    pub(super) fn size(&self) -> u32 {
        let size = 2 * self.text.len() as u64 + self.tokens * PER_TOKEN;
        size.try_into().unwrap_or(u32::MAX)
    }

    /// The operation that is meant: the named one, or the only one.
    ///
    /// # Errors
    /// A name that no operation has, or none where there are several.
    pub fn operation(&self, name: Option<&str>) -> Result<&Operation, ServerError> {
        let is_meant = |operation: &&Operation| name.is_none() || operation.name.as_deref() == name;
        let mut meant = self.operations.iter().filter(is_meant);
        let message = match (meant.next(), meant.next(), name) {
            (Some(only), None, _) => return Ok(only),
            (None, _, Some(name)) => format!("the document has no operation named {name:?}"),
            (None, _, None) => "the document has no operation".to_owned(),
            (Some(_), Some(_), _) => {
                "the document has several operations; say which by operationName".to_owned()
            }
        };
        Err(ApiError::new(Code::BadUserInput, message).into())
    }

    /// What the metrics call the operation. Looked for once, and only for what is asked.
    pub fn label(&self, operation: &Operation) -> OperationLabel {
        let root = operation.root.get_or_init(|| {
            self.definition(operation)
                .map_or(OperationLabel::UNKNOWN.root, |found| root_field(&self.parsed, found))
        });
        OperationLabel::new(operation.kind, root)
    }

    pub(super) fn variables_of(&self, operation: &Operation) -> &[Positioned<VariableDefinition>] {
        self.definition(operation).map_or(&[], |definition| &definition.variable_definitions)
    }

    fn definition(&self, operation: &Operation) -> Option<&OperationDefinition> {
        match (&self.parsed.operations, &operation.name) {
            (DocumentOperations::Single(only), _) => Some(&only.node),
            (DocumentOperations::Multiple(all), Some(name)) => all.get(name).map(|found| &found.node),
            (DocumentOperations::Multiple(_), None) => None,
        }
    }

    /// # Errors
    /// Variables that are too deep or too many.
    pub(super) fn check_size(&self, variables: &Variables, limits: &CostSettings) -> Result<(), Refusal> {
        let mut values = 0_u64;
        for (name, value) in variables.iter() {
            let weight = Weight::of(value);
            Refusal::beyond(Limit::VariableDepth, weight.depth.into(), limits.max_variable_depth)?;
            let uses = self.uses.iter().find(|(used, _)| used == name).map_or(1, |(_, uses)| *uses);
            values = values.saturating_add(weight.values.saturating_mul(uses));
        }
        Refusal::beyond(Limit::VariableValues, values, limits.max_variable_values)
    }

    /// # Errors
    /// An operation that may answer too much.
    pub(super) fn check_complexity(
        &self,
        operation: &Operation,
        variables: &Variables,
        limits: &CostSettings,
    ) -> Result<(), Refusal> {
        Refusal::beyond(Limit::Complexity, self.complexity(operation, variables), limits.max_complexity)
    }

    fn complexity(&self, operation: &Operation, variables: &Variables) -> u64 {
        let mut fragments = Vec::with_capacity(self.costs.len());
        for cost in &self.costs {
            let cost = cost.with(&fragments, variables);
            fragments.push(cost);
        }
        operation.cost.with(&fragments, variables)
    }
}

fn measure_operations<'a>(
    measure: &mut Measure<'a>,
    parsed: &'a ExecutableDocument,
    limits: &CostSettings,
) -> Result<Vec<Operation>, Refusal> {
    measure.fragments(parsed)?;
    let (mut operations, mut all) = (Vec::new(), Measured::default());
    for (name, definition) in parsed.operations.iter() {
        let OperationDefinition { ty: kind, .. } = definition.node;
        let measured = measure.operation(&definition.node)?;
        let roots = match kind {
            OperationType::Query => u32::MAX,
            OperationType::Mutation => limits.max_mutations,
            OperationType::Subscription => 1,
        };
        Refusal::beyond(Limit::RootFields(kind), measured.fields, roots)?;
        all.include(&measured);
        let (name, root) = (name.cloned(), OnceLock::new());
        operations.push(Operation { name, kind, cost: measured.cost, root });
    }
    for measured in measure.unspread() {
        all.include(measured);
    }
    all.check(&measure.found, limits)?;
    if measure.found.introspects && !limits.introspects() {
        return Err(Refusal::IntrospectionOff);
    }
    Ok(operations)
}
