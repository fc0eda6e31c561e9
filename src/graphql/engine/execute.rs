//! Executes prepared operations and runs subscriptions.

use std::{panic::AssertUnwindSafe, sync::Arc};

use async_graphql::{Request, Response, Value, parser::types::ExecutableDocument};
use bytes::Bytes;
use futures_util::{FutureExt, StreamExt, stream, stream::BoxStream};

use super::prepare::{Prepared, Preparer, Source};
use crate::{
    domain::Plaudit,
    graphql::{
        errors::{ApiError, code_of_engine_error, give_code, log_causes},
        guard::Guard,
        live::{
            fanout::Fanout,
            key::Asked,
            shared::{Answer, Told},
            topic::{Event, Topic, Topics},
            viewers::needs_viewer,
        },
        nulls::Nulls,
        reading::scope::Scope,
        request::{
            error::{Rejected, first_errors},
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

/// What a subscription tells: encoded execution results, one JSON object each.
pub type Events = BoxStream<'static, Bytes>;

impl Engine {
    pub fn new(plaudit: Plaudit, limits: CostSettings) -> Self {
        let schema = schema::build(limits.introspects());
        let sdl = schema.sdl();
        let nulls = Arc::new(Nulls::of(&sdl));
        let preparer = Preparer::new(plaudit.clone(), Guard::new(&sdl, limits));
        let fanout = Fanout::new(plaudit.hub().clone());
        Self { schema, nulls, preparer, plaudit, fanout }
    }

    /// Parses and measures a request, and counts it against the caller's rates: the first step of every
    /// transport.
    ///
    /// # Errors
    /// As [`Preparer::prepare`].
    pub fn prepare(&self, request: Request, caller: Caller) -> Result<Prepared, Rejected> {
        self.preparer.prepare(request, caller)
    }

    /// Executes a query or a mutation.
    ///
    /// # Errors
    /// A document that does not fit the schema.
    pub async fn execute(&self, prepared: Prepared) -> Result<Response, Rejected> {
        let Prepared { request, source, .. } = prepared;
        let response = self.schema.execute(request).await;
        let executed = executed(self.mend(response, source.document.parsed(), source.operation.as_deref()))?;
        self.preparer.keep(&source.document);
        Ok(executed)
    }

    /// Begins a subscription: its arguments are checked now, its events are those of the questions that it asks.
    ///
    /// # Errors
    /// A document that does not fit the schema, and whatever keeps the subscription from beginning.
    pub async fn subscribe(&self, prepared: Prepared) -> Result<Events, Rejected> {
        let Prepared { request, source, viewer, .. } = prepared;
        let (variables, topics) = (request.variables.clone(), Topics::default());
        let responses = self.schema.execute_stream(request.data(topics.clone()));
        let told: Vec<Response> = responses
            .map(|response| self.mend(response, source.document.parsed(), source.operation.as_deref()))
            .collect()
            .await;
        let (told, topics) = (begun(told)?, topics.take());
        self.preparer.keep(&source.document);
        if topics.is_empty() {
            return Ok(stream::iter(told).boxed());
        }
        let Source { document, operation } = source;
        let viewer = needs_viewer(document.parsed(), operation.as_deref(), &self.nulls).then_some(viewer);
        let asked = Asked::new(document, operation, variables, viewer);
        let events = self.fanout.listen(asked, topics, |asked, topic| self.answer(asked, topic));
        Ok(stream::iter(told).chain(events).boxed())
    }

    /// How a question is executed, once for all who asked it.
    fn answer(&self, asked: &Arc<Asked>, topic: &Topic) -> Answer {
        let (engine, asked, topic) = (self.clone(), Arc::clone(asked), topic.clone());
        Box::new(move |counted| {
            let (engine, asked, topic) = (engine.clone(), Arc::clone(&asked), topic.clone());
            let told = async move { engine.tell(&asked, topic, counted).await };
            // A field that panics must not silence the question.
            AssertUnwindSafe(told).catch_unwind().map(|told| told.unwrap_or_else(|_| panicked())).boxed()
        })
    }

    /// Executes and encodes one event, in a scope of its own.
    async fn tell(&self, asked: &Asked, topic: Topic, counted: CountsAt) -> Told {
        let scope = match asked.viewer() {
            Some(viewer) => Scope::new(self.plaudit.clone(), viewer.clone()),
            None => Scope::shared(self.plaudit.clone()),
        };
        let event = Event { field: topic.field, entity: topic.entity, counted };
        let request = asked.request(topic.entity).data(scope).data(event);
        let response = self.schema.execute_stream(request).next().await.unwrap_or_default();
        told(&self.mend(response, asked.document(), asked.operation()))
    }

    /// Gives every error a code, and the data its nulls.
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

/// An execution that failed as a whole before its first field has no data, and errors without a path.
fn executed(response: Response) -> Result<Response, Rejected> {
    let is_rejected = response.data == Value::Null
        && !response.errors.is_empty()
        && response.errors.iter().all(|error| error.path.is_empty());
    if is_rejected { Err(first_errors(response.errors)) } else { Ok(response) }
}

/// A subscription whose only field refuses its arguments has not begun: that is a request error too, although the
/// error has a path (GraphQL, 6.2.3.1).
fn begun(responses: Vec<Response>) -> Result<Vec<Bytes>, Rejected> {
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

fn told(response: &Response) -> Told {
    Told { bytes: encoded(response), is_whole: response.errors.is_empty() }
}

/// The panic itself is logged by the process.
fn panicked() -> Told {
    told(&Response::from_errors(vec![ApiError::internal().into()]))
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
            Err(Rejected(errors)) => json!({ "errors": errors }),
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
    async fn what_the_engine_refuses_has_a_code() {
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
            let refusal = refused(Viewer::default(), query, json!({})).await;
            assert_eq!(refusal, code("UNAUTHENTICATED", None), "{query}");
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
            let refusal = refused(viewer(), query, json!({})).await;
            assert_eq!(refusal, code("BAD_USER_INPUT", Some(argument)), "{query}");
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
    async fn a_subscription_that_cannot_begin_is_rejected_with_the_reason() {
        let watch = |ids: Value| async move {
            let query = "subscription($ids: [ID!]!) { noteCountsChanged(noteIds: $ids) { id } }";
            let request = Request::new(query).variables(Variables::from_json(json!({ "ids": ids })));
            let engine = engine();
            let prepared = engine.prepare(request, Caller::nobody()).unwrap();
            let Err(Rejected(errors)) = engine.subscribe(prepared).await else { panic!("it began") };
            serde_json::to_value(errors).unwrap()
        };
        for ids in
            [json!([]), json!(["user_7"]), json!((1..=101).map(|n| format!("note_{n}")).collect::<Vec<_>>())]
        {
            let told = watch(ids).await;
            assert_eq!(told[0]["extensions"]["code"], "BAD_USER_INPUT", "{told}");
            assert_eq!(told[0]["extensions"]["argument"], "noteIds", "{told}");
            assert_eq!(told.as_array().unwrap().len(), 1);
        }
        let told = watch(json!(["note_1", "note_1"])).await;
        assert_eq!(told[0]["extensions"]["code"], "RETRY_LATER", "{told}");
    }
}
