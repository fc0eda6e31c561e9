//! Executes requests.

use std::sync::Arc;

use async_graphql::{Data, Executor, Request, Response, ServerError, Value, parser::types::OperationType};
use bytes::Bytes;
use futures_util::{StreamExt, stream, stream::BoxStream};

use super::{
    errors::{code_of_engine_error, give_code},
    guard::{Document, Guard, RequestLimits, brief},
    nulls::Nulls,
    schema::{self, Schema},
    scope::Scope,
    viewer::Caller,
};
use crate::domain::Plaudit;

/// How many errors of a document are told.
const MAX_ERRORS: usize = 16;

/// Executes requests, each in a scope of its own. The viewer is taken from the request's data, or from the
/// connection's. Cheap to clone.
#[derive(Clone)]
pub struct Engine {
    schema: Schema,
    nulls: Arc<Nulls>,
    guard: Arc<Guard>,
    plaudit: Plaudit,
}

/// One operation that may be executed: parsed, and within the limits.
pub struct Prepared {
    request: Request,
    kind: OperationType,
    asked: Asked,
}

impl Prepared {
    pub const fn kind(&self) -> OperationType {
        self.kind
    }
}

/// Nothing was executed, so the answer has errors and no data: a request error of the GraphQL specification.
#[derive(Debug)]
pub struct Rejected(pub Vec<ServerError>);

/// What a subscription tells: encoded execution results, one JSON object each.
pub type Events = BoxStream<'static, Bytes>;

/// What was asked, for mending the answer.
struct Asked {
    document: Arc<Document>,
    operation: Option<String>,
}

impl Engine {
    pub fn new(plaudit: Plaudit, limits: RequestLimits) -> Self {
        let schema = schema::build(limits.introspection);
        let sdl = schema.sdl();
        let (nulls, guard) = (Arc::new(Nulls::of(&sdl)), Arc::new(Guard::new(&sdl, limits)));
        Self { schema, nulls, guard, plaudit }
    }

    /// Parses the document, finds the operation that is meant, and checks its variables; within the limits.
    ///
    /// # Errors
    /// A document that cannot be parsed, that costs too much, or an operation that is not in it; variables
    /// that are not what the operation asks for.
    pub fn prepare(&self, mut request: Request, caller: Caller) -> Result<Prepared, Rejected> {
        let only = |error: ServerError| Rejected(vec![error]);
        let document = self.guard.read(&request.query).map_err(only)?;
        let operation = document.operation(request.operation_name.as_deref()).map_err(only)?;
        let kind = operation.kind;
        self.guard.admit(&document, operation, &mut request.variables).map_err(first_errors)?;
        request.set_parsed_query(document.parsed().clone());
        let asked = Asked { operation: request.operation_name.clone(), document };
        let request = request.data(Scope::new(self.plaudit.clone(), caller.viewer));
        Ok(Prepared { request, kind, asked })
    }

    /// Executes a query or a mutation.
    ///
    /// # Errors
    /// A document that does not fit the schema.
    pub async fn execute(&self, prepared: Prepared) -> Result<Response, Rejected> {
        let response = self.mend(self.schema.execute(prepared.request).await, &prepared.asked);
        let executed = executed(response)?;
        self.guard.keep(&prepared.asked.document);
        Ok(executed)
    }

    /// Begins a subscription.
    ///
    /// # Errors
    /// A document that does not fit the schema, and whatever keeps the subscription from beginning.
    pub async fn subscribe(&self, prepared: Prepared) -> Result<Events, Rejected> {
        let (engine, document) = (self.clone(), Arc::clone(&prepared.asked.document));
        let mut responses = self
            .schema
            .execute_stream(prepared.request)
            .map(move |response| engine.mend(response, &prepared.asked))
            .boxed();
        let first = match responses.next().await {
            Some(response) => Some(executed(response)?),
            None => None,
        };
        self.guard.keep(&document);
        Ok(stream::iter(first).chain(responses).map(|response| encoded(&response)).boxed())
    }

    /// Gives every error a code, and the data its nulls.
    fn mend(&self, mut response: Response, asked: &Asked) -> Response {
        if response.errors.is_empty() {
            return response;
        }
        for error in &mut response.errors {
            let code = code_of_engine_error(error);
            give_code(error, code);
        }
        self.nulls.put(&mut response, asked.document.parsed(), asked.operation.as_deref());
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

/// A document of a thousand errors is not answered with all of them.
fn first_errors(mut errors: Vec<ServerError>) -> Rejected {
    errors.truncate(MAX_ERRORS);
    for error in &mut errors {
        error.message = brief(std::mem::take(&mut error.message));
    }
    Rejected(errors)
}

fn encoded(response: &Response) -> Bytes {
    serde_json::to_vec(response).unwrap_or_default().into()
}

fn caller_in(data: &Data, session: Option<&Data>) -> Caller {
    let found = |data: &Data| data.get(&std::any::TypeId::of::<Caller>())?.downcast_ref().cloned();
    found(data).or_else(|| found(session?)).unwrap_or_else(Caller::nobody)
}

impl Executor for Engine {
    async fn execute(&self, request: Request) -> Response {
        let caller = caller_in(&request.data, None);
        let answer = match self.prepare(request, caller) {
            Ok(prepared) => self.execute(prepared).await,
            Err(rejected) => Err(rejected),
        };
        answer.unwrap_or_else(|Rejected(errors)| Response::from_errors(errors))
    }

    fn execute_stream(
        &self,
        request: Request,
        session_data: Option<Arc<Data>>,
    ) -> BoxStream<'static, Response> {
        let caller = caller_in(&request.data, session_data.as_deref());
        match self.prepare(request, caller) {
            Ok(Prepared { request, asked, .. }) => {
                let engine = self.clone();
                let responses = self.schema.execute_stream(request);
                responses.map(move |response| engine.mend(response, &asked)).boxed()
            }
            Err(Rejected(errors)) => stream::iter([Response::from_errors(errors)]).boxed(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{num::NonZeroUsize, time::Duration};

    use async_graphql::Variables;
    use serde_json::{Value, json};

    use super::*;
    use crate::{
        auth::{Identity, Role},
        domain::Limits,
        graphql::Viewer,
        hub::Hub,
        primitives::ShardCount,
        store::{redis::Redis, sql::Db},
    };

    /// An engine whose stores do not answer.
    fn engine() -> Engine {
        let redis = Redis::new("redis://127.0.0.1:1", ShardCount::new(2).unwrap()).unwrap();
        let db = Db::for_requests("postgres://127.0.0.1:1/nowhere", 1).unwrap();
        let hub = Hub::new(redis.clone(), db.clone(), NonZeroUsize::MIN);
        let limits = Limits { follows: 5_000, reply_wait: Duration::from_secs(1) };
        Engine::new(Plaudit::new(redis, db, hub, limits), RequestLimits::usual())
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
    async fn a_subscription_tells_what_is_wrong_and_ends() {
        let watch = |ids: Value| async move {
            let query = "subscription($ids: [ID!]!) { noteCountsChanged(noteIds: $ids) { id } }";
            let request = Request::new(query).variables(Variables::from_json(json!({ "ids": ids })));
            let responses: Vec<Response> = engine().execute_stream(request, None).collect().await;
            serde_json::to_value(responses).unwrap()
        };
        for ids in
            [json!([]), json!(["user_7"]), json!((1..=101).map(|n| format!("note_{n}")).collect::<Vec<_>>())]
        {
            let told = watch(ids).await;
            assert_eq!(told[0]["errors"][0]["extensions"]["code"], "BAD_USER_INPUT", "{told}");
            assert_eq!(told[0]["errors"][0]["extensions"]["argument"], "noteIds", "{told}");
            assert_eq!(told.as_array().unwrap().len(), 1);
        }
        let told = watch(json!(["note_1", "note_1"])).await;
        assert_eq!(told[0]["errors"][0]["extensions"]["code"], "RETRY_LATER", "{told}");
    }
}
