//! Executes prepared operations and runs subscriptions.

use std::{panic::AssertUnwindSafe, sync::Arc};

use async_graphql::{Request, Response, ServerError, Value, dynamic::Schema as EngineSchema};
use bytes::Bytes;
use futures_util::{
    FutureExt, StreamExt,
    stream::{self, BoxStream},
};
use metrics::counter;
use plaudit_token_auth::Subject;
use tokio::sync::Semaphore;

use super::{
    prepare::{Prepared, PreparedOperation, Preparer, may_be_planned},
    shares::{Share, Shares},
};
use crate::{
    domain::{CostMeters, PerClass, Plaudit, Work},
    graphql::{
        costs,
        definition::values::Object,
        errors::{ApiError, ApiResult, Code, code_of_engine_error, give_code, log_causes},
        guard::Document,
        live::{
            changes::{EventObject, event_object},
            event::{EncodedEvent, ExecuteEvent, ExecutedEvent, FollowedBy, Next},
            fanout::Fanout,
            key::SubscriptionKey,
            signals::Signal,
            topic::{Since, Topic, TopicEvent, TopicList, Topics},
        },
        plan::{self, Answered, Plan, Plans},
        reading::{reader::FactsReader, scope::Scope},
        request::{
            error::{Rejection, answer_too_large, first_errors},
            operation::operation_of,
            parameters::DocumentHash,
            viewer::Caller,
        },
        schema::{self, EngineOutcome, OnlyValidated, SchemaFor, with_canonical_variables},
    },
    primitives::network_of,
    settings::CostSettings,
    store::tally::{Tally, limited},
};

/// Answers and events by what executed them: `plan` or `engine`.
const EXECUTIONS: &str = "plaudit_executions_total";

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
    schema: EngineSchema,
    preparer: Preparer,
    plaudit: Plaudit,
    fanout: Arc<Fanout>,
    /// Most bytes of an answer, and of an event.
    max_answer: usize,
    max_event: usize,
    /// A permit for each statement of an event that runs at the same time.
    event_statements: Arc<Semaphore>,
    costs: Arc<Costs>,
    shares: Shares,
}

struct Costs {
    of_requests: CostMeters,
    of_events: CostMeters,
}

/// The events of a subscription: encoded execution results, one JSON object each.
pub type Events = BoxStream<'static, Bytes>;

impl Engine {
    /// `federation`: whether gateways may ask for entities.
    pub fn new(plaudit: Plaudit, limits: CostSettings, federation: bool) -> Self {
        for by in ["plan", "engine"] {
            counter!(EXECUTIONS, "by" => by).increment(0);
        }
        let schema_for = if federation { SchemaFor::Gateways } else { SchemaFor::Clients };
        let schema = schema::build(schema_for, limits.introspects());
        let sdl = schema.sdl();
        let preparer = Preparer::new(plaudit.clone(), costs::guard(&sdl, limits), limits.plans);
        let fanout = Fanout::new(plaudit.clone());
        let CostSettings { max_answer, max_event, .. } = limits;
        let event_statements = Arc::new(Semaphore::new(plaudit.connections_for_events()));
        let costs = Costs { of_requests: CostMeters::new("requests"), of_events: CostMeters::new("events") };
        Self {
            schema,
            preparer,
            plaudit,
            fanout,
            max_answer,
            max_event,
            event_statements,
            costs: Arc::new(costs),
            shares: Shares::default(),
        }
    }

    /// Parses and measures a request, and counts it against the caller's rates: the first step of every
    /// transport.
    ///
    /// # Errors
    /// As [`Preparer::prepare`].
    pub fn prepare(&self, request: Request, caller: Caller) -> Result<Prepared, Rejection> {
        self.preparer.prepare(request, caller)
    }

    /// Executes a query or a mutation: by its plan, or if it cannot have one, by the engine.
    ///
    /// # Errors
    /// The document does not fit the schema.
    pub async fn execute(&self, prepared: Prepared) -> Result<Executed, Rejection> {
        log_acting(&prepared);
        let Prepared { request, operation, caller, known, expected, .. } = prepared;
        let _share = self.share(&caller, expected).await;
        let mut bill = Bill { engine: self, caller: &caller, known, bytes: 0, stores: Tally::current() };
        let (executed, bytes) = self.executed(request, &operation, &caller).await?;
        bill.bytes = bytes;
        Ok(executed)
    }

    /// Waits for a share of the executions, if the rate of the caller's address is limited.
    async fn share(&self, caller: &Caller, expected: Work) -> Option<Share> {
        let is_limited = self.plaudit.settings().rates.rate_address_reads > 0;
        let address = caller.source().filter(|_| is_limited)?.address?;
        self.shares.take(network_of(address), expected.cost().units()).await
    }

    /// The answer, and how many bytes of it were written, also if it was too large.
    async fn executed(
        &self,
        request: Request,
        operation: &PreparedOperation,
        caller: &Caller,
    ) -> Result<(Executed, u64), Rejection> {
        let reader = FactsReader::new(self.plaudit.clone(), caller.viewer.clone());
        let scope = Scope::of_request(reader, network_of(caller.address));
        if let Some(plan) = self.plan(&request, operation).await? {
            let answer = plan::answer(&plan, &request.variables, &scope, self.max_answer);
            let answered = AssertUnwindSafe(answer).catch_unwind().await.unwrap_or_else(|_| {
                give_up(&operation.document);
                plan::failed(ApiError::internal())
            });
            log_causes(&answered.errors);
            counter!(EXECUTIONS, "by" => "plan").increment(1);
            let written = answered.written;
            return Ok((Executed::Planned(answered), written));
        }
        let (outcome, acts) = (EngineOutcome::new(self.max_answer), Arc::clone(scope.acts()));
        let mut response = Box::pin(self.execute_by_engine(request, operation, scope, &outcome)).await?;
        if let Some(durability) = acts.durability.get() {
            response.extensions.insert(plan::DURABILITY.to_owned(), durability.name().into());
        }
        counter!(EXECUTIONS, "by" => "engine").increment(1);
        Ok((Executed::ByEngine(response), outcome.written()))
    }

    /// The plan that answers an operation, whose document the engine validates if it is new. `None` if the engine must
    /// execute it.
    ///
    /// # Errors
    /// The document does not fit the schema.
    async fn plan(
        &self,
        request: &Request,
        operation: &PreparedOperation,
    ) -> Result<Option<Arc<Plan>>, Rejection> {
        if let Some(plan) = &operation.plan {
            return Ok(Some(Arc::clone(plan)));
        }
        let plan = operation.whole_plan(&request.variables)?.filter(Plan::is_complete);
        let Some(plan) = plan.filter(|_| self.preparer.has_plans() && may_be_planned(&operation.document))
        else {
            return Ok(None);
        };
        Box::pin(self.validate(request, operation)).await?;
        self.preparer.keep(&operation.document);
        Ok(Some(Arc::new(plan)))
    }

    async fn validate(&self, request: &Request, operation: &PreparedOperation) -> Result<(), Rejection> {
        let mut validated =
            Request::new(request.query.as_str()).variables(request.variables.clone()).data(OnlyValidated);
        validated.operation_name.clone_from(&operation.name);
        validated.set_parsed_query(operation.parsed().clone());
        executed(self.schema.execute(validated).await).map(drop)
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
        let response = executed(self.schema.execute(request).await)?;
        self.preparer.keep(&operation.document);
        Ok(mended(response, outcome, plan.as_ref()))
    }

    /// Starts a subscription: checks its arguments now, then joins the shared subscription of each topic.
    ///
    /// # Errors
    /// The document does not fit the schema, or the root field refuses its arguments.
    pub async fn subscribe(&self, prepared: Prepared) -> Result<Events, Rejection> {
        let Prepared { request, operation, caller, .. } = prepared;
        let scope = Scope::new(FactsReader::new(self.plaudit.clone(), caller.viewer.clone()));
        let variables = request.variables.clone();
        let plan = self.plan(&request, &operation).await?;
        let TopicList { topics, inbox_to_come, after } = match &plan {
            Some(plan) => {
                plan::topics(plan, &variables, &scope).await.map_err(|error| Rejection(vec![error]))?
            }
            None => self.topics_by_engine(request, &operation, scope.clone()).await?,
        };
        if topics.is_empty() && inbox_to_come.is_none() {
            let message =
                "The subscription watches nothing: select a field of Subscription that is not skipped.";
            return Err(Rejection(vec![ApiError::new(Code::BadUserInput, message).into()]));
        }
        let account = self.plaudit.push_account(caller.source());
        let subject = caller.viewer.subject().map(Subject::to_string).unwrap_or_default();
        let is_same_for_all = plan.as_ref().is_some_and(|plan| plan.is_same_for_all);
        let viewer = (!is_same_for_all).then_some(caller.viewer);
        let PreparedOperation { document, name, .. } = operation;
        let definitions = operation_of(document.parsed(), name.as_deref())
            .map_or(&[][..], |operation| &operation.variable_definitions);
        let variables = with_canonical_variables(definitions, variables, &scope)
            .await
            .map_err(|error| Rejection(vec![error.into()]))?;
        let key = SubscriptionKey::new(document, name, variables, viewer);
        let engine = self.clone();
        let join = move |topics| {
            let executor = |key: &_, topic: &_| engine.event_executor(key, topic, plan.as_ref());
            engine.fanout.join(key, (topics, Since::Joined(after)), account, executor)
        };
        let Some(inbox) = inbox_to_come else {
            let events = join(topics).map_err(|error| Rejection(vec![error.into()]))?;
            return Ok(events.boxed());
        };
        let plaudit = self.plaudit.clone();
        let joined = async move {
            match join(vec![inbox.of(plaudit.user_to_come(&subject).await)]) {
                Ok(events) => events.boxed(),
                Err(error) => stream::iter([plan::failed(error).body]).boxed(),
            }
        };
        Ok(stream::once(joined).flatten().boxed())
    }

    /// Validates a subscription that cannot be planned, and resolves its root fields. The engine ignores those in
    /// fragments.
    async fn topics_by_engine(
        &self,
        request: Request,
        operation: &PreparedOperation,
        scope: Scope,
    ) -> Result<TopicList, Rejection> {
        let topics = Topics::default();
        let mut request = request.data(scope).data(topics.clone()).data(EngineOutcome::new(self.max_event));
        request.set_parsed_query(operation.parsed().clone());
        let responses: Vec<Response> = self.schema.execute_stream(request).collect().await;
        let errors: Vec<ServerError> = responses.into_iter().flat_map(|response| response.errors).collect();
        if errors.is_empty() {
            self.preparer.keep(&operation.document);
            return Ok(topics.take());
        }
        Err(first_errors(errors.into_iter().map(with_code).collect()))
    }

    /// Executes the events of a shared subscription: by the plan that its topics were found by.
    fn event_executor(
        &self,
        key: &Arc<SubscriptionKey>,
        topic: &Topic,
        plan: Option<&Arc<Plan>>,
    ) -> ExecuteEvent {
        let (engine, key, topic, plan) = (self.clone(), Arc::clone(key), topic.clone(), plan.cloned());
        Box::new(move |signal, since| {
            let (engine, key, topic, plan) = (engine.clone(), Arc::clone(&key), topic.clone(), plan.clone());
            let (costs, permits) = (Arc::clone(&engine.costs), Arc::clone(&engine.event_statements));
            let stores = Arc::new(Tally::default());
            let event =
                async move { engine.execute_event(&key, topic, plan.as_deref(), signal, since).await };
            // The statements of events take a part of the connections: others need the rest to answer requests.
            let event = limited(permits, Arc::clone(&stores).observe(event));
            // A field that panics must not end the shared subscription.
            let event = AssertUnwindSafe(event).catch_unwind();
            event
                .map(move |event| {
                    let event = event.unwrap_or_else(|_| panicked());
                    let work = with_stores(event.work, Some(&stores));
                    costs.of_events.add(&work);
                    ExecutedEvent { work, ..event }
                })
                .boxed()
        })
    }

    /// Executes and encodes one event, in a scope of its own.
    async fn execute_event(
        &self,
        key: &SubscriptionKey,
        topic: Topic,
        plan: Option<&Plan>,
        signal: Signal,
        since: Since,
    ) -> ExecutedEvent {
        let reader = match key.viewer() {
            Some(viewer) => FactsReader::new(self.plaudit.clone(), viewer.clone()),
            None => FactsReader::shared(self.plaudit.clone()),
        };
        let scope = match topic.subject.entity().zip(signal.counted) {
            Some((entity, counted)) => Scope::of_event(reader, entity, counted),
            None => Scope::new(reader),
        };
        let EventObject { object, position, followed_by, next } =
            event_object(topic.subject, since, &scope).await;
        let Some(object) = object else {
            return ExecutedEvent { event: None, next, work: Work::default() };
        };
        let executed = match plan.filter(|_| may_be_planned(key.document())) {
            Some(plan) => {
                let event =
                    plan::event(plan, key.variables(), &scope, (&topic.field, object), self.max_event);
                let answered = AssertUnwindSafe(event).catch_unwind().await.unwrap_or_else(|_| {
                    give_up(key.document());
                    plan::failed(ApiError::internal())
                });
                log_causes(&answered.errors);
                counter!(EXECUTIONS, "by" => "plan").increment(1);
                executed_event(answered.body, answered.errors.is_empty(), answered.fields)
            }
            None => self.execute_event_by_engine(key, topic, object, scope).await,
        };
        let event = executed.event.map(|event| EncodedEvent { position, followed_by, ..event });
        ExecutedEvent { event, next, ..executed }
    }

    async fn execute_event_by_engine(
        &self,
        key: &SubscriptionKey,
        topic: Topic,
        object: ApiResult<Object>,
        scope: Scope,
    ) -> ExecutedEvent {
        let outcome = EngineOutcome::new(self.max_event);
        let event = TopicEvent { field: topic.field, object };
        let request = key.request(topic.subject).data(scope).data(event).data(outcome.clone());
        let response = self.schema.execute_stream(request).next().await.unwrap_or_default();
        let operation = operation_of(key.document().parsed(), key.operation());
        let parsed = key.document().parsed();
        let plan = operation.and_then(|operation| Plan::whole(parsed, operation, key.variables()).ok());
        let response = mended(response, &outcome, plan.as_ref());
        counter!(EXECUTIONS, "by" => "engine").increment(1);
        executed_event(encoded(&response), response.errors.is_empty(), 0)
    }
}

/// A line in the log for each mutation of a service that acts for a user, before it is executed: whatever ends the
/// execution, the line is there.
fn log_acting(prepared: &Prepared) {
    let viewer = &prepared.caller.viewer;
    let (Some(service), Some(user)) = (viewer.service(), viewer.subject()) else { return };
    let mutations = prepared.operation.mutations().join(" ");
    if !mutations.is_empty() {
        tracing::info!(%service, %user, mutations, "a service acts for a user");
    }
}

/// Charges a caller for what an execution has cost beyond what was known before, however it ends.
struct Bill<'e> {
    engine: &'e Engine,
    caller: &'e Caller,
    known: Work,
    /// Of the answer.
    bytes: u64,
    stores: Option<Arc<Tally>>,
}

impl Drop for Bill<'_> {
    fn drop(&mut self) {
        let Self { engine, caller, known, bytes, stores } = self;
        let work = with_stores(Work { bytes: *bytes, ..*known }, stores.as_deref());
        engine.costs.of_requests.add(&work);
        let rest = work.cost().units() - known.cost().units();
        if let Some(source) = caller.source().filter(|_| rest > 0) {
            engine.plaudit.charge(source, &PerClass { reads: rest, ..PerClass::default() });
        }
    }
}

fn executed_event(bytes: Bytes, is_whole: bool, fields: u64) -> ExecutedEvent {
    let work = Work { fields, bytes: bytes.len() as u64, ..Work::default() };
    let event = Some(EncodedEvent { bytes, is_whole, position: None, followed_by: FollowedBy::default() });
    ExecutedEvent { event, next: Next::AtSignal, work }
}

/// The work with the calls to stores that were made for it.
fn with_stores(work: Work, stores: Option<&Tally>) -> Work {
    let Some(stores) = stores else { return work };
    let (round_trips, statements) = (stores.redis_round_trips(), stores.sql_statements());
    Work { round_trips: round_trips.into(), statements: statements.into(), ..work }
}

/// Puts the fields of an engine's answer in order, sets null where they failed, and gives every error a code.
fn mended(mut response: Response, outcome: &EngineOutcome, plan: Option<&Plan>) -> Response {
    if outcome.is_too_large() {
        return Response::from_errors(vec![answer_too_large(outcome.max_bytes())]);
    }
    if let Some(plan) = plan {
        plan::mend(plan, &mut response, outcome.take());
    }
    log_causes(&response.errors);
    response.errors = response.errors.into_iter().map(with_code).collect();
    response
}

fn with_code(mut error: ServerError) -> ServerError {
    let code = code_of_engine_error(&error);
    give_code(&mut error, code);
    error
}

/// After a panic, which the process logs: the engine executes the document from now on.
fn give_up(document: &Document) {
    let hash = DocumentHash::of(document.text()).to_string();
    tracing::error!(document = hash, "a plan panicked; the engine executes the document from now on");
    if let Some(plans) = document.attached::<Plans>() {
        plans.give_up();
    }
}

/// A response without data whose errors have no path failed before its first field: a request error.
fn executed(response: Response) -> Result<Response, Rejection> {
    let is_rejected = response.data == Value::Null
        && !response.errors.is_empty()
        && response.errors.iter().all(|error| error.path.is_empty());
    if is_rejected {
        return Err(first_errors(response.errors.into_iter().map(with_code).collect()));
    }
    Ok(response)
}

fn encoded(response: &Response) -> Bytes {
    serde_json::to_vec(response).unwrap_or_default().into()
}

/// The event after a panic, which the process logs.
fn panicked() -> ExecutedEvent {
    executed_event(plan::failed(ApiError::internal()).body, false, 0)
}

#[cfg(test)]
mod tests {
    use std::{num::NonZeroUsize, time::Duration};

    use async_graphql::Variables;
    use serde_json::{Value, json};

    use super::*;
    use plaudit_token_auth::{Identity, Role, TokenProfile};

    use crate::{
        graphql::request::viewer::Viewer,
        hub::Hub,
        primitives::ShardCount,
        settings::{DomainSettings, RateSettings},
        store::{redis::Redis, sql::Db},
    };

    /// An engine whose stores do not answer.
    fn engine() -> Engine {
        engine_with(true)
    }

    fn engine_with(plans: bool) -> Engine {
        let redis = Redis::new("redis://127.0.0.1:1", ShardCount::new(2).unwrap()).unwrap();
        let db = Db::for_requests("postgres://127.0.0.1:1/nowhere", 1).unwrap();
        let hub = Hub::new(redis.clone(), db.clone(), NonZeroUsize::MIN);
        let settings = DomainSettings { rates: RateSettings::unlimited(), ..DomainSettings::default() };
        let limits = CostSettings { plans, ..CostSettings::of_development() };
        Engine::new(Plaudit::new(redis, db, hub, settings), limits, false)
    }

    fn viewer() -> Viewer {
        let expires_at = chrono::Utc::now() + Duration::from_secs(60);
        Viewer::signed_in(Identity {
            subject: "ana".parse().unwrap(),
            role: Role::User,
            profile: TokenProfile::default(),
            expires_at,
        })
    }

    /// The answer by the plan, which is the same by the engine, and when the document is kept.
    async fn execute(viewer: Viewer, query: &str, variables: Value) -> Value {
        let (planned, unplanned) = (engine(), engine_with(false));
        let mut answers = Vec::new();
        for engine in [&unplanned, &planned, &planned] {
            let request = Request::new(query).variables(Variables::from_json(variables.clone()));
            let answer = match engine.prepare(request, Caller { viewer: viewer.clone(), ..Caller::nobody() })
            {
                Ok(prepared) => engine.execute(prepared).await,
                Err(rejected) => Err(rejected),
            };
            answers.push(match answer {
                Ok(executed) => serde_json::from_slice(&executed.into_bytes()).unwrap(),
                Err(Rejection(errors)) => json!({ "errors": errors }),
            });
        }
        assert_eq!(answers[0], answers[1], "{query}");
        assert_eq!(answers[1], answers[2], "{query}");
        answers.remove(0)
    }

    /// Code and argument of the only error.
    async fn refused(viewer: Viewer, query: &str, variables: Value) -> (String, Option<String>) {
        let response = execute(viewer, query, variables).await;
        let errors = response["errors"].as_array().unwrap();
        assert_eq!(errors.len(), 1, "{response}");
        let text = |name: &str| errors[0]["extensions"][name].as_str().map(str::to_owned);
        (text("code").unwrap_or_else(|| panic!("{response}")), text("argument"))
    }

    fn code(code: &str, argument: Option<&str>) -> (String, Option<String>) {
        (code.into(), argument.map(str::to_owned))
    }

    #[tokio::test]
    async fn errors_of_the_engine_have_a_code() {
        for (query, variables, expected) in [
            ("{ feed", json!({}), "GRAPHQL_PARSE_FAILED"),
            ("{ fed { id } }", json!({}), "GRAPHQL_VALIDATION_FAILED"),
            ("query($id: ID!) { note(id: $id) { id } }", json!({}), "BAD_USER_INPUT"),
            ("query($n: Int) { feed(first: $n) { nodes { id } } }", json!({ "n": "x" }), "BAD_USER_INPUT"),
            ("{ feed(first: \"x\") { nodes { id } } }", json!({}), "BAD_USER_INPUT"),
        ] {
            let response = execute(viewer(), query, variables).await;
            for error in response["errors"].as_array().unwrap() {
                assert_eq!(error["extensions"]["code"], expected, "{query}: {error}");
            }
        }
    }

    #[tokio::test]
    async fn actions_need_a_token() {
        for query in [
            "mutation { likeNote(input: { noteId: \"note_1\" }) { changed } }",
            "mutation { unfollow(input: { userId: \"user_1\" }) { changed } }",
        ] {
            let error = refused(Viewer::default(), query, json!({})).await;
            assert_eq!(error, code("UNAUTHENTICATED", None), "{query}");
        }
    }

    #[tokio::test]
    async fn bad_input_names_its_argument() {
        for (query, argument) in [
            ("mutation { likeNote(input: { noteId: \"user_7\" }) { changed } }", "noteId"),
            ("mutation { follow(input: { userId: \"7\" }) { changed } }", "userId"),
            (
                "mutation { likeNote(input: { noteId: \"note_1\", idempotencyKey: \"\" }) { changed } }",
                "idempotencyKey",
            ),
            ("{ note(id: \"note_0\") { id } }", "id"),
            ("{ user(id: \"note_1\") { id } }", "id"),
            ("{ userBySubject(subject: \"\") { id } }", "subject"),
            ("{ nodes(ids: [\"note_1\", \"nothing\"]) { id } }", "ids"),
            ("{ feed(first: 101) { nodes { id } } }", "first"),
            ("{ feed(after: \"x\") { nodes { id } } }", "after"),
        ] {
            let error = refused(viewer(), query, json!({})).await;
            assert_eq!(error, code("BAD_USER_INPUT", Some(argument)), "{query}");
        }
    }

    #[tokio::test]
    async fn an_argument_that_does_not_fit_its_type_is_refused_by_engine_and_plan() {
        let rate =
            |input: &str| format!("mutation($k: String) {{ rateNote(input: {{ {input} }}) {{ changed }} }}");
        for (query, argument) in [
            (rate("noteId: \"note_1\", score: 4294967296, idempotencyKey: $k"), "score"),
            (rate("noteId: \"note_1\", score: \"ten\", idempotencyKey: $k"), "score"),
            (rate("noteId: \"note_1\", idempotencyKey: $k"), "score"),
            (rate("noteId: \"note_1\", score: 3, stars: 4, idempotencyKey: $k"), "stars"),
            ("{ feed(first: 3000000000) { __typename } }".to_owned(), "first"),
        ] {
            let error = refused(viewer(), &query, json!({})).await;
            assert_eq!(error, code("BAD_USER_INPUT", Some(argument)), "{query}");
        }
    }

    /// The document is kept after a request without the variable.
    #[tokio::test]
    async fn null_for_a_variable_with_a_default_is_refused_where_null_does_not_fit() {
        let engine = engine();
        let ask = async |query: &str, variables: Value| {
            let request = Request::new(query).variables(Variables::from_json(variables));
            let prepared = engine.prepare(request, Caller { viewer: viewer(), ..Caller::nobody() }).unwrap();
            engine.execute(prepared).await
        };
        for (query, variable) in [
            ("query($x: ID = \"note_2\") { nodes(ids: [\"nothing\", $x]) { id } }", "x"),
            ("query($b: Boolean = true) { __typename note(id: \"nothing\") @include(if: $b) { id } }", "b"),
        ] {
            assert!(ask(query, json!({})).await.is_ok(), "{query}");
            let Err(Rejection(errors)) = ask(query, json!({ variable: null })).await else {
                panic!("{query}")
            };
            assert!(!errors.is_empty());
        }
    }

    #[tokio::test]
    async fn different_fields_with_one_key_are_refused_before_anything_is_executed() {
        let like = |note: u8| format!("a: likeNote(input: {{ noteId: \"note_{note}\" }}) {{ changed }}");
        for query in [
            format!("mutation {{ {} ... on Mutation {{ {} }} }}", like(1), like(2)),
            "{ x: viewer { name } ... on Query { x: note(id: \"nothing\") { title } } }".to_owned(),
            "{ note(id: \"note_1\") { comments(first: 1) { __typename } }
               note(id: \"note_1\") { comments(first: 5) { __typename } } }"
                .to_owned(),
        ] {
            let error = refused(viewer(), &query, json!({})).await;
            assert_eq!(error, code("GRAPHQL_VALIDATION_FAILED", None), "{query}");
        }
    }

    #[tokio::test]
    async fn a_subscription_that_watches_nothing_is_refused() {
        for query in [
            "subscription { __typename }",
            "subscription { noteCountsChanged(noteIds: [\"note_1\"]) @skip(if: true) { id } }",
        ] {
            let (engine, request) = (engine(), Request::new(query));
            let prepared = engine.prepare(request, Caller::nobody()).unwrap();
            let Err(Rejection(errors)) = engine.subscribe(prepared).await else {
                panic!("it started: {query}")
            };
            assert!(!errors.is_empty(), "{query}");
        }
    }

    #[tokio::test]
    async fn a_full_page_is_within_the_limits_and_a_page_of_full_pages_is_not() {
        let page = "{ feed(first: 100) { nodes {
            id title body createdAt likeCount collectCount commentCount viewCount ratingCount ratingAverage
            viewerHasLiked countsVersion author { id name createdAt followerCount viewerIsFollowing }
        } pageInfo { hasNextPage endCursor } } }";
        assert_eq!(refused(viewer(), page, json!({})).await, code("RETRY_LATER", None));

        let pages = "{ feed(first: 100) { nodes { comments(first: 100) { nodes { id } } } } }";
        assert_eq!(refused(viewer(), pages, json!({})).await, code("GRAPHQL_VALIDATION_FAILED", None));
    }

    #[tokio::test]
    async fn stores_that_do_not_answer_mean_retry_later_and_null_data() {
        let response = execute(viewer(), "{ feed { nodes { id } } __typename }", json!({})).await;
        assert_eq!(response["data"], json!({ "feed": null, "__typename": "Query" }));
        assert_eq!(response["errors"][0]["extensions"], json!({ "code": "RETRY_LATER", "retryable": true }));
    }

    #[tokio::test]
    async fn a_subscription_with_bad_arguments_is_a_request_error() {
        let watch = |ids: Value| async move {
            let query = "subscription($ids: [ID!]!) { noteCountsChanged(noteIds: $ids) { id } }";
            let request = Request::new(query).variables(Variables::from_json(json!({ "ids": ids })));
            let engine = engine();
            let prepared = engine.prepare(request, Caller::nobody()).unwrap();
            let Err(Rejection(errors)) = engine.subscribe(prepared).await else { panic!("it started") };
            serde_json::to_value(errors).unwrap()
        };
        for ids in
            [json!([]), json!(["user_7"]), json!((1..=101).map(|n| format!("note_{n}")).collect::<Vec<_>>())]
        {
            let errors = watch(ids).await;
            assert_eq!(errors[0]["extensions"]["code"], "BAD_USER_INPUT", "{errors}");
            assert_eq!(errors[0]["extensions"]["argument"], "noteIds", "{errors}");
            assert_eq!(errors.as_array().unwrap().len(), 1);
        }
        let errors = watch(json!(["note_1", "note_1"])).await;
        assert_eq!(errors[0]["extensions"]["code"], "RETRY_LATER", "{errors}");
    }
}
