//! A document that is parsed, measured and within the limits.

use std::{
    any::Any,
    sync::{Arc, OnceLock},
};

use async_graphql::{
    Name, Positioned, Variables,
    parser::types::{
        DocumentOperations, ExecutableDocument, OperationDefinition, OperationType, VariableDefinition,
    },
};

use super::{
    cost::{CostFormula, FragmentCost},
    error::{CostError, Limit},
    measure::{Measurer, SetMeasure},
    values::Weight,
};
use crate::definition::schema::Schema;
use plaudit_catalogue::settings::CostSettings;
use plaudit_domain::PerClass;

/// Most memory that a parsed token takes, with its part in plans, in bytes.
const PER_TOKEN: u64 = 1_536;

/// Shared by all requests that send the same text.
pub struct Document {
    text: Arc<str>,
    parsed: ExecutableDocument,
    operations: Vec<DocumentOperation>,
    /// Costs of the fragments, each after those that it spreads.
    costs: Vec<FragmentCost>,
    /// How often each variable is used, in all operations together.
    uses: Vec<(Name, u64)>,
    /// Variables in conditions: `@skip` and `@include`.
    conditions: Vec<Name>,
    tokens: u64,
    /// Whether it asks for the schema as gateways do.
    pub asks_for_subgraph: bool,
    /// Whether it asks for the schema as clients do.
    pub introspects: bool,
    /// See [`Document::attached`].
    attached: OnceLock<Box<dyn Any + Send + Sync>>,
}

/// One operation of a document.
pub struct DocumentOperation {
    name: Option<Name>,
    pub kind: OperationType,
    cost: CostFormula,
    /// Of one message of a subscription.
    message: CostFormula,
    lists: CostFormula,
    /// Its root fields; `unknown` stands for those that the schema does not have.
    pub roots: Vec<&'static str>,
    /// What a mutation counts as.
    pub actions: PerClass,
}

/// How large a response may be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ResponseSize {
    /// The fields of all objects together.
    pub fields: u64,
    /// Lists that are read by a statement of their own.
    pub lists: u64,
}

impl Document {
    /// The document, and how many steps measuring it took.
    pub(super) fn measure(
        text: &str,
        tokens: u64,
        parsed: ExecutableDocument,
        schema: &'static Schema,
        limits: &CostSettings,
    ) -> (Result<Self, CostError>, u64) {
        let mut measurer = Measurer::new(schema, &parsed, limits);
        let operations = measure_operations(&mut measurer, &parsed, limits);
        let (costs, totals) = measurer.into_costs();
        let document = operations.map(|operations| Self {
            text: text.into(),
            operations,
            costs,
            uses: totals.uses.into_iter().collect(),
            conditions: totals.conditions.into_iter().collect(),
            tokens,
            asks_for_subgraph: totals.asks_for_subgraph,
            introspects: totals.introspects,
            parsed,
            attached: OnceLock::new(),
        });
        (document, totals.steps)
    }

    pub const fn parsed(&self) -> &ExecutableDocument {
        &self.parsed
    }

    /// Number of tokens, which limits the memory of everything that is made of the document.
    pub const fn tokens(&self) -> u64 {
        self.tokens
    }

    /// Keeps a value with the document, made when it is wanted first.
    pub fn attach<T: Any + Send + Sync>(&self, make: impl FnOnce() -> T) -> Option<&T> {
        self.attached.get_or_init(|| Box::new(make())).downcast_ref()
    }

    /// The value that [`Self::attach`] keeps.
    pub fn attached<T: Any + Send + Sync>(&self) -> Option<&T> {
        self.attached.get()?.downcast_ref()
    }

    pub const fn text(&self) -> &Arc<str> {
        &self.text
    }

    /// Most memory that it takes, in bytes.
    pub fn size(&self) -> u32 {
        let size = 2 * self.text.len() as u64 + self.tokens * PER_TOKEN;
        size.try_into().unwrap_or(u32::MAX)
    }

    /// The operation to execute: the one with this name, or the only one.
    ///
    /// # Errors
    /// A message for the client: no operation has the name, or there are several and no name was given.
    pub fn operation(&self, name: Option<&str>) -> Result<&DocumentOperation, String> {
        let has_name = |operation: &&DocumentOperation| name.is_none() || operation.name.as_deref() == name;
        let mut named = self.operations.iter().filter(has_name);
        let message = match (named.next(), named.next(), name) {
            (Some(only), None, _) => return Ok(only),
            (None, _, Some(name)) => format!("the document has no operation named {name:?}"),
            (None, _, None) => "the document has no operation".to_owned(),
            (Some(_), Some(_), _) => {
                "the document has several operations: choose one by operationName".to_owned()
            }
        };
        Err(message)
    }

    /// How often a variable is used, in all operations together.
    pub fn uses_of(&self, variable: &Name) -> u64 {
        self.uses.iter().find(|(used, _)| used == variable).map_or(0, |(_, uses)| *uses)
    }

    /// Variables in conditions: `@skip` and `@include`.
    pub fn conditions(&self) -> &[Name] {
        &self.conditions
    }

    pub(super) fn variables_of(&self, operation: &DocumentOperation) -> &[Positioned<VariableDefinition>] {
        let definition = self.definition_named(operation.name.as_deref());
        definition.map_or(&[], |definition| &definition.variable_definitions)
    }

    /// The definition of the operation with this name, or of the only one.
    pub fn definition_named(&self, name: Option<&str>) -> Option<&OperationDefinition> {
        operation_of(&self.parsed, name)
    }

    /// # Errors
    /// Variables are nested too deeply, or have too many values.
    pub(super) fn check_size(&self, variables: &Variables, limits: &CostSettings) -> Result<(), CostError> {
        let mut values = 0_u64;
        for (name, value) in variables.iter() {
            let weight = Weight::of(value);
            CostError::beyond(Limit::VariableDepth, weight.depth.into(), limits.max_variable_depth)?;
            let uses = self.uses_of(name).max(1);
            values = values.saturating_add(weight.values.saturating_mul(uses));
        }
        CostError::beyond(Limit::VariableValues, values, limits.max_variable_values)
    }

    /// How large the response may be.
    ///
    /// # Errors
    /// It may have too many fields, or a message may.
    pub(super) fn check_complexity(
        &self,
        operation: &DocumentOperation,
        variables: &Variables,
        limits: &CostSettings,
    ) -> Result<ResponseSize, CostError> {
        let evaluated = |of: fn(&FragmentCost) -> &CostFormula| {
            let mut fragments = Vec::with_capacity(self.costs.len());
            for cost in &self.costs {
                let cost = of(cost).with(&fragments, variables);
                fragments.push(cost);
            }
            fragments
        };
        let fragments = evaluated(|cost| &cost.fields);
        let message = operation.message.with(&fragments, variables);
        CostError::beyond(Limit::EventComplexity, message, limits.max_event_complexity)?;
        let fields = operation.cost.with(&fragments, variables);
        CostError::beyond(Limit::Complexity, fields, limits.max_complexity)?;
        let lists = operation.lists.with(&evaluated(|cost| &cost.lists), variables);
        Ok(ResponseSize { fields, lists })
    }
}

/// The operation to execute: the one with this name, or the only one.
fn operation_of<'a>(document: &'a ExecutableDocument, name: Option<&str>) -> Option<&'a OperationDefinition> {
    match (&document.operations, name) {
        (DocumentOperations::Single(only), _) => Some(&only.node),
        (DocumentOperations::Multiple(all), Some(name)) => all.get(name).map(|found| &found.node),
        // A single operation with a name.
        (DocumentOperations::Multiple(all), None) => all.values().next().map(|found| &found.node),
    }
}

/// Measures all operations, and checks the document against the limits.
fn measure_operations<'a>(
    measurer: &mut Measurer<'a>,
    parsed: &'a ExecutableDocument,
    limits: &CostSettings,
) -> Result<Vec<DocumentOperation>, CostError> {
    let (mut operations, mut all) = (Vec::new(), SetMeasure::default());
    for (name, definition) in parsed.operations.iter() {
        let OperationDefinition { ty: kind, .. } = definition.node;
        let measure = measurer.operation(&definition.node)?;
        let roots = match kind {
            OperationType::Query => u32::MAX,
            OperationType::Mutation => limits.max_mutations,
            OperationType::Subscription => 1,
        };
        CostError::beyond(Limit::RootFields(kind), measure.fields, roots)?;
        all.include(&measure);
        let SetMeasure { cost, message, lists, roots, actions, .. } = measure;
        let (name, roots) = (name.cloned(), roots.into_iter().collect());
        operations.push(DocumentOperation { name, kind, cost, message, lists, roots, actions });
    }
    for measure in measurer.unspread()? {
        all.include(measure);
    }
    all.check(&measurer.totals, limits)?;
    if measurer.totals.introspects && !limits.introspects() {
        return Err(CostError::IntrospectionOff);
    }
    Ok(operations)
}
