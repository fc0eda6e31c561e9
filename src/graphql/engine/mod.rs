//! The engine: prepares requests ([`prepare`]), executes them ([`execute`]), and runs their subscriptions
//! ([`subscribe`]).

mod bill;
pub mod execute;
mod executions;
pub mod label;
mod messages;
pub mod prepare;
mod shares;
pub mod subscribe;

#[cfg(test)]
mod tests {
    use std::{num::NonZeroUsize, time::Duration};

    use async_graphql::{Request, Variables};
    use futures_util::FutureExt;
    use plaudit_token_auth::{Identity, Role, TokenProfile};
    use serde_json::{Value, json};

    use super::execute::Engine;
    use crate::{
        errors::{Rejection, outcome},
        request::viewer::{Caller, Viewer},
    };
    use plaudit_catalogue::{
        primitives::ShardCount,
        settings::{CostSettings, DomainSettings, RateSettings},
    };
    use plaudit_counting::hub::Hub;
    use plaudit_domain::Plaudit;
    use plaudit_store::{redis::Redis, sql::Db};

    /// An engine whose stores do not answer.
    fn engine() -> Engine {
        engine_of(RateSettings::unlimited())
    }

    /// An engine that lets one address read so much in an hour.
    fn limited_engine(rate_address_reads: u32) -> Engine {
        let rate_window = Duration::from_hours(1);
        engine_of(RateSettings { rate_window, rate_address_reads, ..RateSettings::unlimited() })
    }

    fn engine_of(rates: RateSettings) -> Engine {
        let redis = Redis::new("redis://127.0.0.1:1", ShardCount::new(2).unwrap()).unwrap();
        let db = Db::for_requests("postgres://127.0.0.1:1/nowhere", 16).unwrap();
        let hub = Hub::new(redis.clone(), db.clone(), NonZeroUsize::MIN);
        let settings = DomainSettings { rates, ..DomainSettings::default() };
        Engine::new(Plaudit::new(redis, db, hub, settings), CostSettings::of_development(), false)
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

    /// The answer, which is the same when the document is kept.
    async fn execute(viewer: Viewer, query: &str, variables: Value) -> Value {
        let engine = engine();
        let mut answers = Vec::new();
        for _ in 0..2 {
            let request = Request::new(query).variables(Variables::from_json(variables.clone()));
            let caller = Caller { viewer: viewer.clone(), ..Caller::nobody() };
            let answer = match engine.prepare(request, caller).await {
                Ok(prepared) => engine.execute(prepared).await,
                Err(rejected) => Err(rejected),
            };
            answers.push(match answer {
                Ok(executed) => serde_json::from_slice(&executed.into_bytes()).unwrap(),
                Err(Rejection(errors)) => json!({ "errors": errors }),
            });
        }
        assert_eq!(answers[0], answers[1], "{query}");
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
    async fn an_argument_that_does_not_fit_its_type_is_refused() {
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
            let caller = Caller { viewer: viewer(), ..Caller::nobody() };
            engine.execute(engine.prepare(request, caller).await.unwrap()).await
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
    async fn introspection_is_joined_with_data_in_the_order_of_the_document() {
        let query = "query($n: String!) { a: __typename ...T viewer { user { id } } b: __schema { queryType { name } } }
            fragment T on Query { c: __type(name: $n) { kind } }";
        let engine = engine();
        for _ in 0..2 {
            let request = Request::new(query).variables(Variables::from_json(json!({ "n": "Note" })));
            let prepared = engine.prepare(request, Caller::nobody()).await.unwrap();
            let answer = engine.execute(prepared).await.unwrap().into_bytes();
            assert_eq!(
                std::str::from_utf8(&answer).unwrap(),
                r#"{"data":{"a":"Query","c":{"kind":"OBJECT"},"viewer":null,"b":{"queryType":{"name":"Query"}}}}"#
            );
        }
        let schema = execute(viewer(), "{ b: __schema { queryType { name } } __typename }", json!({})).await;
        assert_eq!(
            schema["data"],
            json!({ "b": { "queryType": { "name": "Query" } }, "__typename": "Query" })
        );
    }

    #[tokio::test]
    async fn a_field_of_introspection_is_refused_where_there_is_none() {
        for query in
            ["mutation { __schema { queryType { name } } }", "{ viewer { __schema { queryType { name } } } }"]
        {
            let error = refused(viewer(), query, json!({})).await;
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
            let prepared = engine.prepare(request, Caller::nobody()).await.unwrap();
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
            let prepared = engine.prepare(request, Caller::nobody()).await.unwrap();
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

    /// How many of these documents are refused for what they say, before the rate of their sender refuses them.
    async fn answered(engine: &Engine, query: &str) -> usize {
        for asked in 0.. {
            let prepared = engine.prepare(Request::new(query), Caller::nobody()).await;
            let refused = match prepared {
                Ok(prepared) => engine.execute(prepared).await.err(),
                Err(refused) => Some(refused),
            };
            let Rejection(errors) = refused.unwrap_or_else(|| panic!("it was executed: {query}"));
            if outcome(errors.first()) == "RATE_LIMITED" {
                return asked;
            }
        }
        0
    }

    #[tokio::test]
    async fn a_document_that_is_refused_is_paid_for_by_its_tokens() {
        let wrong = |tokens: usize| "a ".repeat(tokens - 2);
        for (expected, query) in [
            (12, "{ wrong }".to_owned()),
            (12, "{ wrong".to_owned()),
            // 990 tokens of four thousandths.
            (4, format!("{{ {} }}", wrong(990))),
            (4, format!("{{ {}", wrong(991))),
            // Also what only the engine refuses, which pays for its fields, too.
            (1, format!("{{ {} viewer {{ wrong }} }}", "__typename ".repeat(984))),
            // One that acts is a write, which has no limit here, and the rest of it reads.
            (6, format!("mutation {{ {} }}", wrong(990))),
        ] {
            assert_eq!(answered(&limited_engine(12), &query).await, expected, "{query}");
        }
    }

    #[tokio::test]
    async fn events_take_an_eighth_of_the_connections_for_requests() {
        assert_eq!(engine().message_statements.available_permits(), 2);
    }

    #[tokio::test]
    async fn a_document_that_is_not_known_waits_for_a_share_also_if_it_is_refused() {
        let engine = limited_engine(1_000_000);
        let prepare = |query: &str| engine.prepare(Request::new(query), Caller::nobody());
        let known = prepare("{ __typename }").await.unwrap();
        engine.execute(known).await.unwrap();
        let all = engine.preparer.documents.take([192, 0, 2, 1].into(), u32::MAX).await;
        for query in ["{ wrong }", "{ wrong", "{ __typename # new\n }", "mutation { wrong }"] {
            assert!(waits(&mut Box::pin(prepare(query))).await, "{query}");
        }
        assert!(prepare("{ __typename }").now_or_never().is_some_and(|known| known.is_ok()));
        let mut waiting = Box::pin(prepare("{ wrong }"));
        assert!(waits(&mut waiting).await);
        drop(all);
        assert!(waiting.await.is_ok());
        // The share lasts until the document is validated: another long one of the address waits for that.
        let long = |name: &str| format!("{{ {} {name} }}", "__typename ".repeat(900));
        let first = prepare(&long("wrong")).await.unwrap();
        assert!(waits(&mut Box::pin(prepare(&long("other")))).await);
        assert!(engine.execute(first).await.is_err());
        assert!(!waits(&mut Box::pin(prepare(&long("other")))).await);
    }

    /// Whether this is not done after all that is ready has been polled.
    async fn waits(future: &mut (impl Future + Unpin)) -> bool {
        for _ in 0..10 {
            if future.now_or_never().is_some() {
                return false;
            }
            tokio::task::yield_now().await;
        }
        true
    }
}
