//! The engine alone, with stores that do not answer.

use std::{num::NonZeroUsize, time::Duration};

use async_graphql::{Request, Variables};
use serde_json::{Value, json};

use super::*;
use crate::{
    auth::{Identity, Role},
    domain::{Limits, RateLimits},
    graphql::viewer::{Caller, Viewer},
    hub::Hub,
    primitives::ShardCount,
    store::{redis::Redis, sql::Db},
};

/// An engine whose stores do not answer.
fn engine() -> Engine {
    let redis = Redis::new("redis://127.0.0.1:1", ShardCount::new(2).unwrap()).unwrap();
    let db = Db::for_requests("postgres://127.0.0.1:1/nowhere", 1).unwrap();
    let hub = Hub::new(redis.clone(), db.clone(), NonZeroUsize::MIN);
    let limits = Limits {
        follows: 5_000,
        topics: 100,
        reply_wait: Duration::from_secs(1),
        rates: RateLimits::default(),
    };
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
