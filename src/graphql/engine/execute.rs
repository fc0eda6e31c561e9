//! Executes prepared operations and runs subscriptions.

use std::{panic::AssertUnwindSafe, sync::Arc};

use async_graphql::{Request, Response, Value, parser::types::ExecutableDocument};
use bytes::Bytes;
use futures_util::{FutureExt, StreamExt, stream, stream::BoxStream};

use super::prepare::{Prepared, PreparedOperation, Preparer};
use crate::{
    domain::Plaudit,
    graphql::{
        costs,
        errors::{ApiError, code_of_engine_error, give_code, log_causes},
        live::{
            fanout::Fanout,
            key::SubscriptionKey,
            shared::{EncodedEvent, ExecuteEvent},
            topic::{Topic, TopicEvent, Topics},
            viewers::needs_viewer,
        },
        nulls::Nulls,
        reading::scope::Scope,
        request::{
            error::{Rejection, first_errors},
            viewer::Caller,
        },
        schema::{self, Schema},
    },
    hub::CountsAt,
    settings::CostSettings,
};

/// Executes requests, each in a scope of its own. Cheap to clone.
#[derive(Clone)]
pub struct Engine {
    schema: Schema,
    nulls: Arc<Nulls>,
    preparer: Preparer,
    plaudit: Plaudit,
    fanout: Arc<Fanout>,
}

/// The events of a subscription: encoded execution results, one JSON object each.
pub type Events = BoxStream<'static, Bytes>;

impl Engine {
    pub fn new(plaudit: Plaudit, limits: CostSettings) -> Self {
        let schema = schema::build(limits.introspects());
        let sdl = schema.sdl();
        let nulls = Arc::new(Nulls::of(&sdl));
        let preparer = Preparer::new(plaudit.clone(), costs::guard(&sdl, limits));
        let fanout = Fanout::new(plaudit.hub().clone());
        Self { schema, nulls, preparer, plaudit, fanout }
    }

    /// Parses and measures a request, and counts it against the caller's rates: the first step of every
    /// transport.
    ///
    /// # Errors
    /// As [`Preparer::prepare`].
    pub fn prepare(&self, request: Request, caller: Caller) -> Result<Prepared, Rejection> {
        self.preparer.prepare(request, caller)
    }

    /// Executes a query or a mutation.
    ///
    /// # Errors
    /// The document does not fit the schema.
    pub async fn execute(&self, prepared: Prepared) -> Result<Response, Rejection> {
        let Prepared { request, operation, .. } = prepared;
        let response = self.schema.execute(request).await;
        let executed = executed(self.mend(response, operation.parsed(), operation.name.as_deref()))?;
        self.preparer.keep(&operation.document);
        Ok(executed)
    }

    /// Starts a subscription: checks its arguments now, then joins the shared subscription of each topic.
    ///
    /// # Errors
    /// The document does not fit the schema, or the root field refuses its arguments.
    pub async fn subscribe(&self, prepared: Prepared) -> Result<Events, Rejection> {
        let Prepared { request, operation, viewer, .. } = prepared;
        let (variables, topics) = (request.variables.clone(), Topics::default());
        let responses = self.schema.execute_stream(request.data(topics.clone()));
        let responses: Vec<Response> = responses
            .map(|response| self.mend(response, operation.parsed(), operation.name.as_deref()))
            .collect()
            .await;
        let (first_events, topics) = (started(responses)?, topics.take());
        self.preparer.keep(&operation.document);
        if topics.is_empty() {
            return Ok(stream::iter(first_events).boxed());
        }
        let PreparedOperation { document, name } = operation;
        let viewer = needs_viewer(document.parsed(), name.as_deref(), &self.nulls).then_some(viewer);
        let key = SubscriptionKey::new(document, name, variables, viewer);
        let events = self.fanout.join(key, topics, |key, topic| self.event_executor(key, topic));
        Ok(stream::iter(first_events).chain(events).boxed())
    }

    /// Executes the events of a shared subscription.
    fn event_executor(&self, key: &Arc<SubscriptionKey>, topic: &Topic) -> ExecuteEvent {
        let (engine, key, topic) = (self.clone(), Arc::clone(key), topic.clone());
        Box::new(move |counted| {
            let (engine, key, topic) = (engine.clone(), Arc::clone(&key), topic.clone());
            let event = async move { engine.execute_event(&key, topic, counted).await };
            // A field that panics must not end the shared subscription.
            AssertUnwindSafe(event).catch_unwind().map(|event| event.unwrap_or_else(|_| panicked())).boxed()
        })
    }

    /// Executes and encodes one event, in a scope of its own.
    async fn execute_event(&self, key: &SubscriptionKey, topic: Topic, counted: CountsAt) -> EncodedEvent {
        let scope = match key.viewer() {
            Some(viewer) => Scope::new(self.plaudit.clone(), viewer.clone()),
            None => Scope::shared(self.plaudit.clone()),
        };
        let event = TopicEvent { field: topic.field, entity: topic.entity, counted };
        let request = key.request(topic.entity).data(scope).data(event);
        let response = self.schema.execute_stream(request).next().await.unwrap_or_default();
        encoded_event(&self.mend(response, key.document(), key.operation()))
    }

    /// Gives every error a code, and sets null where a field failed.
    fn mend(
        &self,
        mut response: Response,
        document: &ExecutableDocument,
        operation: Option<&str>,
    ) -> Response {
        if response.errors.is_empty() {
            return response;
        }
        log_causes(&response.errors);
        for error in &mut response.errors {
            let code = code_of_engine_error(error);
            give_code(error, code);
        }
        self.nulls.put(&mut response, document, operation);
        response
    }
}

/// A response without data whose errors have no path failed before its first field: a request error.
fn executed(response: Response) -> Result<Response, Rejection> {
    let is_rejected = response.data == Value::Null
        && !response.errors.is_empty()
        && response.errors.iter().all(|error| error.path.is_empty());
    if is_rejected { Err(first_errors(response.errors)) } else { Ok(response) }
}

/// A subscription whose only field refuses its arguments did not start. That is a request error too, although the
/// error has a path (GraphQL specification, section 6.2.3.1).
fn started(responses: Vec<Response>) -> Result<Vec<Bytes>, Rejection> {
    match <[Response; 1]>::try_from(responses) {
        Ok([only]) => {
            let is_rejected = only.data == Value::Null
                && !only.errors.is_empty()
                && only.errors.iter().all(|error| error.path.len() <= 1);
            if is_rejected { Err(first_errors(only.errors)) } else { Ok(vec![encoded(&only)]) }
        }
        Err(several) => Ok(several.iter().map(encoded).collect()),
    }
}

fn encoded_event(response: &Response) -> EncodedEvent {
    EncodedEvent { bytes: encoded(response), is_whole: response.errors.is_empty() }
}

/// The event after a panic, which the process logs.
fn panicked() -> EncodedEvent {
    encoded_event(&Response::from_errors(vec![ApiError::internal().into()]))
}

fn encoded(response: &Response) -> Bytes {
    serde_json::to_vec(response).unwrap_or_default().into()
}

#[cfg(test)]
mod tests {
    use std::{num::NonZeroUsize, time::Duration};

    use async_graphql::Variables;
    use serde_json::{Value, json};

    use super::*;
    use plaudit_token_auth::{Identity, Role};

    use crate::{
        graphql::request::viewer::Viewer,
        hub::Hub,
        primitives::ShardCount,
        settings::{DomainSettings, RateSettings},
        store::{redis::Redis, sql::Db},
    };

    /// An engine whose stores do not answer.
    fn engine() -> Engine {
        let redis = Redis::new("redis://127.0.0.1:1", ShardCount::new(2).unwrap()).unwrap();
        let db = Db::for_requests("postgres://127.0.0.1:1/nowhere", 1).unwrap();
        let hub = Hub::new(redis.clone(), db.clone(), NonZeroUsize::MIN);
        let settings = DomainSettings { rates: RateSettings::unlimited(), ..DomainSettings::default() };
        Engine::new(Plaudit::new(redis, db, hub, settings), CostSettings::of_development())
    }

    fn viewer() -> Viewer {
        let expires_at = chrono::Utc::now() + Duration::from_secs(60);
        Viewer::signed_in(Identity { subject: "ana".parse().unwrap(), role: Role::User, expires_at })
    }

    async fn execute(viewer: Viewer, query: &str, variables: Value) -> Value {
        let request = Request::new(query).variables(Variables::from_json(variables));
        let engine = engine();
        let answer = match engine.prepare(request, Caller { viewer, ..Caller::nobody() }) {
            Ok(prepared) => engine.execute(prepared).await,
            Err(rejected) => Err(rejected),
        };
        match answer {
            Ok(response) => serde_json::to_value(response).unwrap(),
            Err(Rejection(errors)) => json!({ "errors": errors }),
        }
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
            ("{ user { id } }", "id"),
            ("{ user(id: \"user_1\", subject: \"ana\") { id } }", "id"),
            ("{ user(subject: \"\") { id } }", "subject"),
            ("{ nodes(ids: [\"note_1\", \"nothing\"]) { id } }", "ids"),
            ("{ feed(first: 101) { nodes { id } } }", "first"),
            ("{ feed(after: \"x\") { nodes { id } } }", "after"),
        ] {
            let error = refused(viewer(), query, json!({})).await;
            assert_eq!(error, code("BAD_USER_INPUT", Some(argument)), "{query}");
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
