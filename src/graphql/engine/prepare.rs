//! Prepares requests: parses, measures and counts them. A prepared operation may be executed.

use std::sync::Arc;

use async_graphql::{
    Pos, Request, ServerError, Value, Variables,
    parser::types::{ExecutableDocument, OperationType, VariableDefinition},
};

use crate::{
    domain::{PerClass, Plaudit, Work},
    graphql::{
        errors::{ApiError, Code},
        guard::{Document, Guard, ResponseSize},
        plan::{NotPlanned, Plan, Plans},
        request::{
            error::{Rejection, cost_error, document_error, first_errors, register_refusals},
            operation::{OperationLabel, mutations_of, operation_of, root_field},
            rates::{READ, mutation_cost, written},
            viewer::Caller,
        },
    },
};

/// An operation that may be executed: parsed, within the limits, and counted for the rates.
pub struct Prepared {
    pub(super) request: Request,
    kind: OperationType,
    label: OperationLabel,
    pub(super) operation: PreparedOperation,
    pub(super) caller: Caller,
    /// The work that is known before the execution. It was counted.
    pub(super) known: Work,
    /// The known work, and the most statements of lists that the document may need.
    pub(super) expected: Work,
}

impl Prepared {
    pub const fn kind(&self) -> OperationType {
        self.kind
    }

    /// Its label in the metrics.
    pub const fn label(&self) -> OperationLabel {
        self.label
    }

    fn cost(&self) -> PerClass {
        let reads = PerClass { reads: self.known.cost().units(), ..PerClass::default() };
        if self.kind != OperationType::Mutation {
            return reads;
        }
        let actions = mutation_cost(self.operation.document.parsed(), self.operation.name.as_deref());
        // An action contains the first unit.
        actions.plus(PerClass { reads: reads.reads - 1, ..reads })
    }
}

/// The document and which operation of it is executed.
pub(super) struct PreparedOperation {
    pub document: Arc<Document>,
    pub name: Option<String>,
    /// The plan for the variables, if the engine has validated the document and it can be planned.
    pub plan: Option<Arc<Plan>>,
}

impl PreparedOperation {
    pub fn parsed(&self) -> &ExecutableDocument {
        self.document.parsed()
    }

    /// The root fields of a mutation.
    pub fn mutations(&self) -> Vec<&'static str> {
        let operation = operation_of(self.parsed(), self.name.as_deref());
        operation.map(|operation| mutations_of(self.parsed(), operation)).unwrap_or_default()
    }

    /// A plan that is not kept.
    ///
    /// # Errors
    /// Fields with one key conflict.
    pub fn whole_plan(&self, variables: &Variables) -> Result<Option<Plan>, Rejection> {
        let Some(operation) = operation_of(self.parsed(), self.name.as_deref()) else { return Ok(None) };
        match Plan::whole(self.parsed(), operation, variables) {
            Ok(plan) => Ok(Some(plan)),
            Err(NotPlanned::Conflict { key, at }) => Err(Rejection(vec![conflict(&key, at)])),
            Err(NotPlanned::TooLarge | NotPlanned::Unknown) => Ok(None),
        }
    }
}

fn conflict(key: &str, at: Vec<Pos>) -> ServerError {
    let message = format!(
        "Fields \"{key}\" conflict: they are different fields or have different arguments. Give one of them an alias."
    );
    ServerError { locations: at, ..ApiError::new(Code::ValidationFailed, message).into() }
}

/// Whether plans may answer a document that the engine has validated: none of them has panicked.
pub(super) fn may_be_planned(document: &Document) -> bool {
    !document.attached::<Plans>().is_some_and(Plans::are_given_up)
}

/// The plan of an operation of a document that the engine has validated. `None` if a variable that has a default value is
/// null: only the engine's validation knows whether it may be null where it is used.
fn kept_plan(document: &Document, name: Option<&str>, variables: &Variables) -> Option<Arc<Plan>> {
    let plans = document.attached::<Plans>()?;
    let operation = operation_of(document.parsed(), name)?;
    let is_null = |variable: &VariableDefinition| {
        variable.default_value.is_some() && variables.get(&variable.name.node) == Some(&Value::Null)
    };
    if operation.variable_definitions.iter().any(|variable| is_null(&variable.node)) {
        return None;
    }
    plans.get(document.parsed(), operation, name, variables, document.tokens())
}

/// Prepares requests. Cheap to clone.
#[derive(Clone)]
pub(super) struct Preparer {
    plaudit: Plaudit,
    guard: Arc<Guard>,
    has_plans: bool,
}

impl Preparer {
    /// `has_plans`: whether documents get plans.
    pub fn new(plaudit: Plaudit, guard: Guard, has_plans: bool) -> Self {
        register_refusals();
        Self { plaudit, guard: Arc::new(guard), has_plans }
    }

    pub const fn has_plans(&self) -> bool {
        self.has_plans
    }

    /// Keeps the document of an operation that was executed, so that it is not parsed again, and is planned.
    pub fn keep(&self, document: &Arc<Document>) {
        if self.has_plans {
            document.attach(|| Plans::of(document.parsed()));
        }
        self.guard.keep(document);
    }

    /// Parses and measures the document, checks the variables, and counts the request for the caller's rates. A
    /// refused request was work too: it counts as a read.
    ///
    /// # Errors
    /// [`Code::RateLimited`](crate::graphql::Code::RateLimited); the document cannot be parsed, exceeds a limit, or
    /// has no such operation; the variables do not fit their definitions.
    pub fn prepare(&self, request: Request, caller: Caller) -> Result<Prepared, Rejection> {
        let asking = caller.clone();
        let prepared = self.read(request, caller);
        self.admit(&asking, prepared.as_ref().ok())?;
        prepared
    }

    fn admit(&self, caller: &Caller, prepared: Option<&Prepared>) -> Result<(), Rejection> {
        let Some(asking) = caller.source() else { return Ok(()) };
        let cost = prepared.map_or(READ, Prepared::cost);
        let admitted = self.plaudit.admit(asking, &cost);
        admitted.map_err(|error| Rejection(vec![ApiError::from(error).into()]))
    }

    /// Parses and measures the document, and checks the variables.
    fn read(&self, mut request: Request, caller: Caller) -> Result<Prepared, Rejection> {
        let only = |error: ServerError| Rejection(vec![error]);
        let document = self.guard.read(&request.query).map_err(document_error).map_err(only)?;
        let unknown = |message| only(ApiError::new(Code::BadUserInput, message).into());
        let operation = document.operation(request.operation_name.as_deref()).map_err(unknown)?;
        let admitted = self.guard.admit(&document, operation, &mut request.variables);
        let ResponseSize { fields, lists } =
            admitted.map_err(|errors| first_errors(errors.into_iter().map(cost_error).collect()))?;

        let root = document.root_name(operation, |parsed, definition| Some(root_field(parsed, definition)));
        let label = OperationLabel::new(operation.kind, root.unwrap_or(OperationLabel::UNKNOWN.root));
        let kind = operation.kind;
        let plan = kept_plan(&document, request.operation_name.as_deref(), &request.variables);
        // A document with a plan is neither parsed nor validated again.
        let tokens = if plan.is_some() { 0 } else { document.tokens() };
        let written = if kind == OperationType::Mutation { written(&request) } else { 0 };
        let known = Work { tokens, fields, written, ..Work::default() };
        let operation = PreparedOperation { name: request.operation_name.clone(), document, plan };
        let expected = Work { statements: lists, ..known };
        Ok(Prepared { request, kind, label, operation, caller, known, expected })
    }
}
