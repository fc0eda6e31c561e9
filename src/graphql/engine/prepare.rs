//! Prepares requests: parses, measures and counts them. A prepared operation may be executed.
//!
//! A document that is not known is parsed only if the rates of its sender allow what its tokens cost, and with
//! a share of the work on such documents, which ends with its validation: also what is refused waits and is
//! paid for.

use std::{net::IpAddr, sync::Arc};

use async_graphql::{
    Pos, Request, ServerError, Value, Variables,
    parser::types::{ExecutableDocument, OperationDefinition, OperationType, VariableDefinition},
};

use super::{
    bill::{READ, written},
    label::OperationLabel,
    shares::{Share, Shares},
};
use crate::{
    errors::{ApiError, Code, Rejection},
    guard::{
        CostError, Document, Guard, ResponseSize,
        rejection::{cost_error, document_error, first_errors, register_refusals},
    },
    plan::{NotPlanned, Plan, Plans},
    request::viewer::Caller,
};
use plaudit_catalogue::primitives::sharer_of;
use plaudit_domain::{DomainError, Payer, PerClass, Plaudit, Work};

/// An operation that may be executed: parsed, within the limits, and counted for the rates.
pub struct Prepared {
    pub(super) request: Request,
    kind: OperationType,
    label: OperationLabel,
    /// What a mutation counts as.
    actions: PerClass,
    pub(super) operation: PreparedOperation,
    pub(super) caller: Caller,
    /// Who pays for it.
    pub(super) payer: Payer,
    /// The work that is known before the execution. It was counted.
    pub(super) known: Work,
    /// The known work, and the most statements of lists that the document may need.
    pub(super) expected: Work,
    /// Of the work on a document that is not known, until it is validated.
    pub(super) reading: Option<Share>,
}

impl Prepared {
    pub const fn kind(&self) -> OperationType {
        self.kind
    }

    /// Its label in the metrics.
    pub const fn label(&self) -> OperationLabel {
        self.label
    }

    /// The operation, with its document and its variables.
    pub fn definition(&self) -> Option<(&ExecutableDocument, &OperationDefinition, &Variables)> {
        let PreparedOperation { document, name, .. } = &self.operation;
        Some((document.parsed(), document.definition_named(name.as_deref())?, &self.request.variables))
    }

    fn cost(&self) -> PerClass {
        let units = self.known.cost().units();
        if self.kind != OperationType::Mutation || self.actions == PerClass::default() {
            return PerClass::of_reads(units);
        }
        // An action contains the first unit.
        self.actions.plus(PerClass::of_reads(units - 1))
    }
}

/// The document and which operation of it is executed.
pub(super) struct PreparedOperation {
    pub document: Arc<Document>,
    pub name: Option<String>,
    /// The plan for the variables, if one is kept: then the document is valid.
    pub plan: Option<Arc<Plan>>,
}

impl PreparedOperation {
    /// A plan that is not kept; `None` if the schema lacks a field.
    ///
    /// # Errors
    /// Fields with one key conflict.
    pub fn whole_plan(&self, variables: &Variables) -> Result<Option<Plan>, Rejection> {
        let Some(operation) = self.document.definition_named(self.name.as_deref()) else { return Ok(None) };
        match Plan::whole(self.document.parsed(), operation, variables) {
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

/// The kept plan of an operation. `None` if a variable that has a
/// default value is null: only the engine's validation knows whether it may be null where it is used.
fn kept_plan(document: &Document, name: Option<&str>, variables: &Variables) -> Option<Arc<Plan>> {
    let plans = document.attached::<Plans>()?;
    let operation = document.definition_named(name)?;
    let is_null = |variable: &VariableDefinition| {
        variable.default_value.is_some() && variables.get(&variable.name.node) == Some(&Value::Null)
    };
    if operation.variable_definitions.iter().any(|variable| is_null(&variable.node)) {
        return None;
    }
    plans.get(document, operation, name, variables)
}

/// Prepares requests. Cheap to clone.
#[derive(Clone)]
pub(super) struct Preparer {
    plaudit: Plaudit,
    guard: Arc<Guard>,
    pub(super) documents: Shares,
}

impl Preparer {
    pub fn new(plaudit: Plaudit, guard: Guard) -> Self {
        register_refusals();
        Self { plaudit, guard: Arc::new(guard), documents: Shares::of_documents() }
    }

    /// Keeps a document that is valid, so that it is not parsed again, and its plans.
    pub fn keep(&self, document: &Arc<Document>) {
        document.attach(Plans::default);
        self.guard.keep(document);
    }

    /// The address whose executions have shares: if its rate is limited.
    pub fn sharing(&self, caller: &Caller) -> Option<IpAddr> {
        let is_limited = self.plaudit.settings().rates.rate_address_reads > 0;
        caller.source().filter(|_| is_limited)?.address.map(sharer_of)
    }

    /// Parses and measures the document, checks the variables, and counts the request for the caller's rates. A
    /// refused request was work too: it counts as a read, or for the tokens of a document that is not known.
    ///
    /// # Errors
    /// [`Code::RateLimited`](crate::Code::RateLimited); the document cannot be parsed, exceeds a limit, or
    /// has no such operation; the variables do not fit their definitions.
    pub async fn prepare(&self, request: Request, caller: Caller) -> Result<Prepared, Rejection> {
        let rates = self.plaudit.rates();
        let payer = rates.payer(caller.source());
        let (least, is_new, prepared) = match self.guard.known(&request.query) {
            Some(document) => (READ, false, self.read(request, (caller, payer.clone()), document, None)),
            None => {
                let text = self.guard.count(&request.query);
                let least = least_cost(&request.query, text.tokens);
                let reading = self.share(&caller, text.tokens).await;
                rates.check(&payer, &least).map_err(limited)?;
                let document = self.guard.parse(text).map_err(document_error);
                let read = |document| self.read(request, (caller, payer.clone()), document, reading);
                (least, true, document.and_then(read))
            }
        };
        let cost = prepared.as_ref().map_or(least, Prepared::cost);
        let admitted = rates.admit(&payer, &cost);
        if admitted.is_err() && is_new {
            // It was parsed.
            rates.charge(&payer, &least);
        }
        admitted.map_err(limited)?;
        prepared
    }

    /// As [`Engine::count_refused`](super::execute::Engine::count_refused).
    pub fn count_refused(&self, caller: &Caller, refusal: Rejection) -> Rejection {
        let rates = self.plaudit.rates();
        rates.admit(&rates.payer(caller.source()), &READ).err().map_or(refusal, limited)
    }

    /// Waits for a share of the work on documents that are not known, and until nothing else is ready.
    async fn share(&self, caller: &Caller, tokens: u64) -> Option<Share> {
        let tokens = u32::try_from(tokens).unwrap_or(u32::MAX);
        let share = self.documents.take(self.sharing(caller)?, tokens).await;
        // A task that gets the share of another one would be polled next, before all that are ready, and parsing and
        // validating takes as long as dozens of answers. A task that yields waits until its worker has nothing else to
        // poll, or has looked for new requests.
        tokio::task::yield_now().await;
        share
    }

    /// Measures the document, and checks the variables.
    fn read(
        &self,
        mut request: Request,
        (caller, payer): (Caller, Payer),
        document: Arc<Document>,
        reading: Option<Share>,
    ) -> Result<Prepared, Rejection> {
        let unknown = |message| only(ApiError::new(Code::BadUserInput, message).into());
        let operation = document.operation(request.operation_name.as_deref()).map_err(unknown)?;
        // A caller that may send any document composes or serves this graph.
        if document.asks_for_subgraph && !self.guard.introspects() && !caller.may_send_any_document() {
            return Err(only(cost_error(CostError::IntrospectionOff)));
        }
        let admitted = self.guard.admit(&document, operation, &mut request.variables);
        let ResponseSize { fields, lists } =
            admitted.map_err(|errors| first_errors(errors.into_iter().map(cost_error).collect()))?;

        let (kind, actions, label) = (operation.kind, operation.actions, OperationLabel::of(operation));
        let plan = kept_plan(&document, request.operation_name.as_deref(), &request.variables);
        // A document with a plan is neither parsed nor validated again, but for introspection.
        let is_ready = plan.as_ref().is_some_and(|plan| !plan.introspects);
        let tokens = if is_ready { 0 } else { document.tokens() };
        let written = if kind == OperationType::Mutation { written(&request) } else { 0 };
        let known = Work { tokens, fields, written, ..Work::default() };
        let operation = PreparedOperation { name: request.operation_name.clone(), document, plan };
        let expected = Work { statements: lists, ..known };
        Ok(Prepared { request, kind, label, actions, operation, caller, payer, known, expected, reading })
    }
}

/// What a document costs at least that is not known, before it is parsed. One that begins as a mutation is an
/// action, so that a caller who may not read any more can act.
fn least_cost(text: &str, tokens: u64) -> PerClass {
    let reads = Work { tokens, ..Work::default() }.cost().units();
    if text.trim_start().starts_with("mutation") {
        return PerClass([reads - 1, 1, 0]);
    }
    PerClass::of_reads(reads)
}

fn only(error: ServerError) -> Rejection {
    Rejection(vec![error])
}

fn limited(error: DomainError) -> Rejection {
    only(ApiError::from(error).into())
}
