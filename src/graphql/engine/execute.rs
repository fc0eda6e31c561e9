//! Executes prepared operations.

use std::sync::Arc;

use async_graphql::{
    Request, Response, ServerError, Value, dynamic::Schema as EngineSchema, parser::types::OperationType,
};
use bytes::Bytes;
use futures_util::{StreamExt, future::BoxFuture};
use tokio::sync::Semaphore;

use super::{
    bill::{Bill, Costs},
    executions,
    prepare::{Prepared, PreparedOperation, Preparer},
    shares::{Share, Shares},
};
use crate::{
    errors::{ApiError, Code, Rejection, code_of_engine_error, give_code},
    guard::{Guard, rejection::first_errors},
    live::fanout::Fanout,
    mutations,
    plan::{self, Answered, Plan},
    reading::{reader::FactsReader, scope::Scope},
    request::viewer::Caller,
    schema::{self, SchemaFor},
};
use plaudit_catalogue::settings::CostSettings;
use plaudit_domain::{Plaudit, Work, register_actions};
use plaudit_store::tally::Tally;

/// The answer to a query or a mutation.
pub enum Executed {
    Planned(Answered),
    /// By the engine: the document asks for the schema and nothing else.
    Introspected(Response),
}

impl Executed {
    /// The answer to a request that failed as a whole.
    pub fn failed(error: ApiError) -> Self {
        Self::Planned(Answered::failed(error))
    }

    pub fn errors(&self) -> &[ServerError] {
        match self {
            Self::Planned(answered) => &answered.errors,
            Self::Introspected(response) => &response.errors,
        }
    }

    /// One JSON object.
    pub fn into_bytes(self) -> Bytes {
        match self {
            Self::Planned(answered) => answered.body,
            Self::Introspected(response) => serde_json::to_vec(&response).unwrap_or_default().into(),
        }
    }
}

/// Executes requests, each in a scope of its own. Cheap to clone.
#[derive(Clone)]
pub struct Engine {
    pub(super) schema: EngineSchema,
    pub(super) preparer: Preparer,
    pub(super) plaudit: Plaudit,
    pub(super) fanout: Arc<Fanout>,
    /// Most bytes of an answer, and of a message.
    max_answer: usize,
    pub(super) max_event: usize,
    /// A permit for each statement of a message that runs at the same time.
    pub(super) message_statements: Arc<Semaphore>,
    pub(super) costs: Arc<Costs>,
    shares: Shares,
}

impl Engine {
    /// `federation`: whether gateways may ask for entities.
    pub fn new(plaudit: Plaudit, limits: CostSettings, federation: bool) -> Self {
        executions::register();
        register_actions(&mutations::names());
        let schema_for = if federation { SchemaFor::Gateways } else { SchemaFor::Clients };
        let schema = schema::build(schema_for, limits.introspects());
        let preparer = Preparer::new(plaudit.clone(), Guard::new(schema::get(), limits));
        let fanout = Fanout::new(plaudit.clone());
        let CostSettings { max_answer, max_event, .. } = limits;
        let message_statements = Arc::new(Semaphore::new(plaudit.connections_for_events()));
        Self {
            schema,
            preparer,
            plaudit,
            fanout,
            max_answer,
            max_event,
            message_statements,
            costs: Arc::new(Costs::new()),
            shares: Shares::of_executions(),
        }
    }

    /// Parses and measures a request, and counts it against the caller's rates: the first step of every
    /// transport.
    ///
    /// # Errors
    /// As [`Preparer::prepare`].
    pub async fn prepare(&self, request: Request, caller: Caller) -> Result<Prepared, Rejection> {
        self.preparer.prepare(request, caller).await
    }

    /// Counts a request that is refused because its document is not known, as a read. Returns the refusal to answer: if
    /// it exceeds a limit, that.
    pub fn count_refused(&self, caller: &Caller, refusal: Rejection) -> Rejection {
        self.preparer.count_refused(caller, refusal)
    }

    /// Executes a query or a mutation.
    ///
    /// # Errors
    /// The document does not fit the schema.
    pub fn execute(&self, prepared: Prepared) -> BoxFuture<'_, Result<Executed, Rejection>> {
        // On the heap: its 7 KiB would be copied by each future around it.
        Box::pin(async move {
            log_acting(&prepared);
            let Prepared { request, operation, caller, payer, known, expected, reading, .. } = prepared;
            let mut bill = Bill {
                plaudit: &self.plaudit,
                costs: &self.costs,
                payer: &payer,
                known,
                bytes: 0,
                stores: Tally::current(),
            };
            // The engine answers introspection while it validates, and that is a part of the execution.
            let introspects = operation.document.introspects;
            let early = if introspects { self.share(&caller, expected).await } else { None };
            let Planned { plan, introspected } = self.plan(&request, &operation).await?;
            drop(reading);
            if plan.only_introspects() {
                executions::count();
                return Ok(Executed::Introspected(Response::new(introspected)));
            }
            let _share = if introspects { early } else { self.share(&caller, expected).await };
            let reader = FactsReader::new(self.plaudit.clone(), caller.viewer.clone()).for_request();
            let scope = Scope::of_request(reader, &caller);
            let answer = plan::answer(&plan, &request.variables, &introspected, &scope, self.max_answer);
            let answered = executions::counted(&operation.document, answer).await;
            bill.bytes = answered.written;
            Ok(Executed::Planned(answered))
        })
    }

    /// Validates a document, as [`Self::execute`] does first.
    ///
    /// # Errors
    /// The document does not fit the schema.
    pub async fn validated(&self, prepared: &Prepared) -> Result<(), Rejection> {
        self.plan(&prepared.request, &prepared.operation).await.map(drop)
    }

    /// Waits for a share of the executions, if the rate of the caller's address is limited. What costs one unit is
    /// executed at once.
    async fn share(&self, caller: &Caller, expected: Work) -> Option<Share> {
        let units = expected.cost().units();
        let address = self.preparer.sharing(caller).filter(|_| units > 1)?;
        self.shares.take(address, units).await
    }

    /// The plan that answers an operation. The engine validates the document if it has none that is kept.
    ///
    /// # Errors
    /// The document does not fit the schema.
    pub(super) async fn plan(
        &self,
        request: &Request,
        operation: &PreparedOperation,
    ) -> Result<Planned, Rejection> {
        if let Some(plan) = operation.plan.as_ref().filter(|plan| !plan.introspects) {
            return Ok(Planned { plan: Arc::clone(plan), introspected: Value::Null });
        }
        let plan = match &operation.plan {
            Some(kept) => Some(Arc::clone(kept)),
            None => operation.whole_plan(&request.variables)?.map(Arc::new),
        };
        let introspected = Box::pin(self.validate(request, operation)).await?;
        let Some(plan) = plan else {
            let message = "A field is selected that its type does not have.";
            return Err(Rejection(vec![ApiError::new(Code::ValidationFailed, message).into()]));
        };
        self.preparer.keep(&operation.document);
        Ok(Planned { plan, introspected })
    }

    /// Has the engine validate the document. Returns the fields of introspection, with null for all others.
    async fn validate(&self, request: &Request, operation: &PreparedOperation) -> Result<Value, Rejection> {
        let mut validated = Request::new(request.query.as_str()).variables(request.variables.clone());
        validated.operation_name.clone_from(&operation.name);
        validated.set_parsed_query(operation.document.parsed().clone());
        // A subscription ends without a message.
        let response = self.schema.execute_stream(validated).next().await.unwrap_or_default();
        if response.errors.is_empty() {
            return Ok(response.data);
        }
        Err(first_errors(response.errors.into_iter().map(with_code).collect()))
    }
}

/// The plan of an operation, and what the engine has answered of it.
pub(super) struct Planned {
    pub plan: Arc<Plan>,
    /// The fields of introspection; null without any.
    introspected: Value,
}

fn with_code(mut error: ServerError) -> ServerError {
    let code = code_of_engine_error(&error);
    give_code(&mut error, code);
    error
}

/// A line in the log for each mutation of a service that acts for a user, before it is executed: whatever ends the
/// execution, the line is there.
fn log_acting(prepared: &Prepared) {
    let viewer = &prepared.caller.viewer;
    let (Some(service), Some(user)) = (viewer.service(), viewer.subject()) else { return };
    if prepared.kind() != OperationType::Mutation {
        return;
    }
    let PreparedOperation { document, name, .. } = &prepared.operation;
    let mutations = document
        .operation(name.as_deref())
        .map_or_else(|_| String::new(), |operation| operation.roots.join(" "));
    tracing::debug!(%service, %user, mutations, "a service acts for a user");
}
