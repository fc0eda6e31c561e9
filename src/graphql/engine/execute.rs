//! Executes prepared operations.

use std::{sync::Arc, time::Instant};

use async_graphql::{Request, Response, ServerError, dynamic::Schema as EngineSchema};
use bytes::Bytes;
use futures_util::future::BoxFuture;
use tokio::sync::Semaphore;

use super::{
    bill::{Bill, Costs},
    executions,
    prepare::{Prepared, PreparedOperation, Preparer, may_be_planned},
    responses::{encoded, mended, unless_rejected},
    shares::{Share, Shares},
};
use crate::{
    costs,
    errors::ApiError,
    live::fanout::Fanout,
    plan::{self, Answered, Plan},
    reading::{reader::FactsReader, scope::Scope},
    request::{error::Rejection, viewer::Caller},
    schema::{self, EngineOutcome, OnlyValidated, SchemaFor},
};
use plaudit_catalogue::settings::CostSettings;
use plaudit_domain::{Plaudit, Work};
use plaudit_store::tally::Tally;

/// The answer to a query or a mutation.
pub enum Executed {
    Planned(Answered),
    ByEngine(Response),
}

impl Executed {
    /// The answer to a request that failed as a whole.
    pub fn failed(error: ApiError) -> Self {
        Self::Planned(plan::failed(error))
    }

    pub fn errors(&self) -> &[ServerError] {
        match self {
            Self::Planned(answered) => &answered.errors,
            Self::ByEngine(response) => &response.errors,
        }
    }

    /// One JSON object.
    pub fn into_bytes(self) -> Bytes {
        match self {
            Self::Planned(answered) => answered.body,
            Self::ByEngine(response) => encoded(&response),
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
    /// Most bytes of an answer, and of an event.
    max_answer: usize,
    pub(super) max_event: usize,
    /// A permit for each statement of an event that runs at the same time.
    pub(super) event_statements: Arc<Semaphore>,
    pub(super) costs: Arc<Costs>,
    shares: Shares,
}

impl Engine {
    /// `federation`: whether gateways may ask for entities.
    pub fn new(plaudit: Plaudit, limits: CostSettings, federation: bool) -> Self {
        executions::register();
        let schema_for = if federation { SchemaFor::Gateways } else { SchemaFor::Clients };
        let schema = schema::build(schema_for, limits.introspects());
        let sdl = schema.sdl();
        let preparer = Preparer::new(plaudit.clone(), costs::guard(&sdl, limits), limits.plans);
        let fanout = Fanout::new(plaudit.clone());
        let CostSettings { max_answer, max_event, .. } = limits;
        let event_statements = Arc::new(Semaphore::new(plaudit.connections_for_events()));
        Self {
            schema,
            preparer,
            plaudit,
            fanout,
            max_answer,
            max_event,
            event_statements,
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

    /// Counts a request that is refused because its document is not known, as a read. Returns what is told: if
    /// it exceeds a limit, that.
    pub fn count_refused(&self, caller: &Caller, refusal: Rejection) -> Rejection {
        self.preparer.count_refused(caller, refusal)
    }

    /// Executes a query or a mutation: by its plan, or if it cannot have one, by the engine.
    ///
    /// # Errors
    /// The document does not fit the schema.
    pub fn execute(&self, prepared: Prepared) -> BoxFuture<'_, Result<Executed, Rejection>> {
        // On the heap: its 7 KiB would be copied by each future around it.
        Box::pin(async move {
            log_acting(&prepared);
            let Prepared { request, operation, caller, known, expected, reading, .. } = prepared;
            let mut bill = Bill {
                plaudit: &self.plaudit,
                costs: &self.costs,
                caller: &caller,
                known,
                bytes: 0,
                stores: Tally::current(),
            };
            let plan = self.plan(&request, &operation).await?;
            drop(reading);
            let _share = self.share(&caller, expected).await;
            let (executed, bytes) = self.executed(plan, request, &operation, &caller).await?;
            bill.bytes = bytes;
            Ok(executed)
        })
    }

    /// Waits for a share of the executions, if the rate of the caller's address is limited. What costs one unit is
    /// executed at once.
    async fn share(&self, caller: &Caller, expected: Work) -> Option<Share> {
        let units = expected.cost().units();
        let address = self.preparer.sharing(caller).filter(|_| units > 1)?;
        self.shares.take(address, units).await
    }

    /// The answer, and how many bytes of it were written, also if it was too large.
    async fn executed(
        &self,
        plan: Option<Arc<Plan>>,
        request: Request,
        operation: &PreparedOperation,
        caller: &Caller,
    ) -> Result<(Executed, u64), Rejection> {
        let began = Instant::now();
        let reader = FactsReader::new(self.plaudit.clone(), caller.viewer.clone()).for_request();
        let scope = Scope::of_request(reader, caller);
        if let Some(plan) = plan {
            let answer = plan::answer(&plan, &request.variables, &scope, self.max_answer);
            let answered = executions::by_plan(&operation.document, answer).await;
            let written = answered.written;
            return Ok((Executed::Planned(answered), written));
        }
        let (outcome, acts) = (EngineOutcome::new(self.max_answer), Arc::clone(scope.acts()));
        let mut response = Box::pin(self.execute_by_engine(request, operation, scope, &outcome)).await?;
        if let Some(durability) = acts.durability.get() {
            response.extensions.insert(plan::DURABILITY.to_owned(), durability.name().into());
        } else if self.plaudit.hub().hearing().was_stale_since(began) {
            response.extensions.insert(plan::STALE.to_owned(), true.into());
        }
        executions::count_by_engine();
        Ok((Executed::ByEngine(response), outcome.written()))
    }

    /// The plan that answers an operation. `None` if the engine must execute it. The engine validates the
    /// document if it is new or gets a plan.
    ///
    /// # Errors
    /// The document does not fit the schema.
    pub(super) async fn plan(
        &self,
        request: &Request,
        operation: &PreparedOperation,
    ) -> Result<Option<Arc<Plan>>, Rejection> {
        if let Some(plan) = &operation.plan {
            return Ok(Some(Arc::clone(plan)));
        }
        let plan = operation.whole_plan(&request.variables)?.filter(Plan::is_complete);
        let plan = plan.filter(|_| self.preparer.has_plans() && may_be_planned(&operation.document));
        if plan.is_some() || operation.is_new {
            Box::pin(self.validate(request, operation)).await?;
        }
        if plan.is_some() {
            self.preparer.keep(&operation.document);
        }
        Ok(plan.map(Arc::new))
    }

    async fn validate(&self, request: &Request, operation: &PreparedOperation) -> Result<(), Rejection> {
        let mut validated =
            Request::new(request.query.as_str()).variables(request.variables.clone()).data(OnlyValidated);
        validated.operation_name.clone_from(&operation.name);
        validated.set_parsed_query(operation.parsed().clone());
        unless_rejected(self.schema.execute(validated).await).map(drop)
    }

    async fn execute_by_engine(
        &self,
        request: Request,
        operation: &PreparedOperation,
        scope: Scope,
        outcome: &EngineOutcome,
    ) -> Result<Response, Rejection> {
        let mut request = request.data(scope).data(outcome.clone());
        request.set_parsed_query(operation.parsed().clone());
        let plan = operation.whole_plan(&request.variables)?;
        let response = unless_rejected(self.schema.execute(request).await)?;
        self.preparer.keep(&operation.document);
        Ok(mended(response, outcome, plan.as_ref()))
    }
}

/// A line in the log for each mutation of a service that acts for a user, before it is executed: whatever ends the
/// execution, the line is there.
fn log_acting(prepared: &Prepared) {
    let viewer = &prepared.caller.viewer;
    let (Some(service), Some(user)) = (viewer.service(), viewer.subject()) else { return };
    let mutations = prepared.operation.mutations().join(" ");
    if !mutations.is_empty() {
        tracing::debug!(%service, %user, mutations, "a service acts for a user");
    }
}
