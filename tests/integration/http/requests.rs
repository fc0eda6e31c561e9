//! GraphQL over HTTP: cases beyond the official audit, which `tests/clients` runs.

use bytes::Bytes;
use futures_util::stream;
use serde_json::json;
use support::{
    Server, note,
    raw::{Raw, post, request},
};

const GRAPHQL: &str = "application/graphql-response+json";
const JSON: &str = "application/json";
const TYPENAME: &str = r#"{ "query": "{ __typename }" }"#;

fn graphql(server: &Server) -> String {
    format!("{}/graphql", server.url)
}

fn by_get(server: &Server, parameters: &[(&str, &str)]) -> reqwest::RequestBuilder {
    request("GET", url::Url::parse_with_params(&graphql(server), parameters).unwrap().as_str())
}

#[tokio::test]
async fn the_response_has_the_media_type_with_the_highest_preference() {
    let server = Server::shared();
    for (accept, expected) in [
        (GRAPHQL, GRAPHQL),
        (JSON, JSON),
        ("*/*", JSON),
        ("application/graphql-response+json, application/json;q=0.9", GRAPHQL),
        ("application/graphql-response+json;q=0.1, */*;q=0.9", JSON),
        ("text/html;q=0.9, application/json;q=0", ""),
        ("text/html", ""),
    ] {
        for request in [post(&server.url, TYPENAME), by_get(server, &[("query", "{ __typename }")])] {
            let response = Raw::of(request.header("accept", accept)).await;
            if expected.is_empty() {
                assert_eq!(response.status, 406, "{accept}");
                assert!(response.refusal().contains("application/json"));
            } else {
                assert_eq!((response.status, response.media_type()), (200, expected), "{accept}");
                assert_eq!(response.json(), json!({ "data": { "__typename": "Query" } }));
            }
        }
    }
    let response = Raw::of(post(&server.url, TYPENAME).header("accept", GRAPHQL)).await;
    assert_eq!(response.header("content-type"), Some("application/graphql-response+json; charset=utf-8"));
}

#[tokio::test]
async fn a_graphql_request_error_is_400_or_422_for_the_graphql_media_type_and_200_for_json() {
    let server = Server::shared();
    for (body, code, status) in [
        (json!({ "query": "{" }), "GRAPHQL_PARSE_FAILED", 400),
        (json!({ "query": "" }), "GRAPHQL_PARSE_FAILED", 400),
        (json!({ "query": "{ nothing }" }), "GRAPHQL_VALIDATION_FAILED", 422),
        (json!({ "query": "{ __typename } { __typename }" }), "GRAPHQL_VALIDATION_FAILED", 422),
        (json!({ "query": "fragment A on Query { __typename }" }), "GRAPHQL_VALIDATION_FAILED", 422),
        (json!({ "query": "query A { __typename }", "operationName": "B" }), "BAD_USER_INPUT", 422),
        (json!({ "query": "query A { __typename } query B { __typename }" }), "BAD_USER_INPUT", 422),
        (json!({ "query": "query A($n: Int!) { feed(first: $n) { nodes { id } } }" }), "BAD_USER_INPUT", 422),
        (json!({ "documentId": "unknown" }), "PERSISTED_QUERY_NOT_FOUND", 422),
    ] {
        for (accept, status) in [(GRAPHQL, status), (JSON, 200)] {
            let response = Raw::of(post(&server.url, body.to_string()).header("accept", accept)).await;
            assert_eq!((response.status, response.media_type()), (status, accept), "{body}");
            response.refusal();
            assert_eq!(response.json()["errors"][0]["extensions"]["code"], code, "{body}");
        }
    }
}

#[tokio::test]
async fn an_error_of_a_document_has_one_line_and_names_the_place() {
    let server = Server::shared();
    let deep = format!("{{ {} }}", "feed { nodes { author { notes { nodes { wrong } } } } ".repeat(3));
    for (query, expected) in [
        ("{ feed { } }", Some("Syntax Error: Expected Name, found \"}\".")),
        ("{\n  feed(first 3) { nodes { id } }\n}", Some("Syntax Error: Expected \":\", found Int \"3\".")),
        ("query", Some("Syntax Error: Expected \"{\", found <EOF>.")),
        ("{ note(id: \"\"\"a\n\nb\"\"\" c) }", Some("Syntax Error: Expected \":\", found \")\".")),
        (&deep, Some("Syntax Error: Expected Name, found <EOF>.")),
        ("{ feed { nodes { wrong\n\n wronger } } nothing }", None),
        ("{ feed(first: \"\"\"a\n\nb\"\"\") { nodes { id } } }", None),
    ] {
        let response = Raw::of(post(&server.url, json!({ "query": query }).to_string())).await.json();
        for error in response["errors"].as_array().unwrap() {
            let message = error["message"].as_str().unwrap();
            assert!(!message.contains(['\n', '\r']), "{message}");
            assert!(error["locations"][0]["line"].as_u64() > Some(0), "{error}");
            assert!(expected.is_none_or(|expected| expected == message), "{message}");
        }
    }
}

#[tokio::test]
async fn a_field_error_is_part_of_the_result() {
    let server = Server::shared();
    for accept in [GRAPHQL, JSON] {
        let body = r#"{ "query": "{ __typename note(id: \"note_0\") { id } }" }"#;
        let response = Raw::of(post(&server.url, body).header("accept", accept)).await;
        assert_eq!(response.status, if accept == GRAPHQL { 294 } else { 200 });
        assert_eq!(response.json()["data"], json!({ "__typename": "Query", "note": null }));
        assert_eq!(response.json()["errors"][0]["path"], json!(["note"]));
    }
}

#[tokio::test]
async fn a_body_that_is_not_json_is_400_and_one_that_is_no_request_422_for_every_accepted_media_type() {
    let server = Server::shared();
    for (body, expected, status) in [
        ("", "EOF", 400),
        ("nonsense", "expected", 400),
        ("{ \"query\": \"{ __typename }\"", "EOF", 400),
        ("{ \"query\": nonsense }", "query must be a string", 400),
        ("{ \"query\": 1, nonsense", "query must be a string", 400),
        ("null", "one JSON object", 422),
        ("{}", "query is missing", 422),
        ("{ \"query\": \"{ __typename }\", \"variables\": [1] }", "variables must be an object", 422),
        ("{ \"query\": \"{ __typename }\" } {}", "trailing", 400),
    ] {
        for accept in [GRAPHQL, JSON] {
            let response = Raw::of(post(&server.url, body).header("accept", accept)).await;
            assert_eq!((response.status, response.media_type()), (status, accept), "{body}");
            assert!(response.refusal().contains(expected), "{body}: {}", response.refusal());
        }
    }
    for (variables, status) in [("[]", 422), ("{", 400)] {
        let response =
            Raw::of(by_get(server, &[("query", "{ __typename }"), ("variables", variables)])).await;
        assert_eq!(response.status, status, "{variables}");
        assert!(response.refusal().contains("variables must be a JSON object"));
    }
}

#[tokio::test]
async fn a_batch_of_any_size_is_refused() {
    let server = Server::shared();
    for batch in ["[]".to_owned(), format!("[{TYPENAME}]"), format!("[{TYPENAME},{TYPENAME}]")] {
        let response = Raw::of(post(&server.url, batch)).await;
        assert_eq!(response.status, 422);
        assert!(response.refusal().contains("one JSON object (no batch)"));
    }
}

#[tokio::test]
async fn get_and_head_execute_queries() {
    let server = Server::shared();
    let variables = json!({ "n": "note_0" }).to_string();
    let query = "query A($n: ID!) { __typename note(id: $n) { id } }";
    let parameters = [("query", query), ("variables", &*variables), ("operationName", "A")];
    let response = Raw::of(by_get(server, &parameters)).await;
    assert_eq!((response.status, &response.json()["data"]["__typename"]), (200, &json!("Query")));
    let url = format!("{}?query=%7B__typename%7D", graphql(server));
    let head = Raw::of(request("HEAD", &url)).await;
    assert_eq!((head.status, head.bytes.len()), (200, 0));
}

#[tokio::test]
async fn a_mutation_by_get_is_405_and_not_executed() {
    let server = Server::shared();
    let n = note(server.stores().new_note().await);
    let client = server.client("rex only reads");
    let token = client.token().unwrap();
    let mutation = format!("mutation {{ likeNote(input: {{ noteId: \"{n}\" }}) {{ changed }} }}");
    for accept in [GRAPHQL, JSON] {
        let request = by_get(server, &[("query", &mutation)]).bearer_auth(token).header("accept", accept);
        let response = Raw::of(request).await;
        assert_eq!((response.status, response.header("allow")), (405, Some("POST")));
        assert!(response.refusal().contains("POST"));
    }
    assert_eq!(client.note(&n).await["viewerHasLiked"], false);
    assert_eq!(client.like(&n).await["changed"], true);
}

#[tokio::test]
async fn other_methods_are_405() {
    let server = Server::shared();
    for method in ["PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "BREW"] {
        let response = Raw::of(request(method, &graphql(server))).await;
        assert_eq!((response.status, response.header("allow")), (405, Some("GET, HEAD, POST")), "{method}");
        response.refusal();
    }
}

/// A page of another origin can send these content types without a preflight.
#[tokio::test]
async fn a_body_that_is_not_json_is_415_and_runs_no_mutation() {
    let server = Server::shared();
    let n = note(server.stores().new_note().await);
    let client = server.client("ida is attacked");
    let mutation = format!("mutation {{ likeNote(input: {{ noteId: \"{n}\" }}) {{ changed }} }}");
    let body = json!({ "query": mutation }).to_string();
    for content_type in [
        Some("text/plain"),
        Some("application/x-www-form-urlencoded"),
        Some("multipart/form-data; boundary=x"),
        Some("application/json; charset=utf-16"),
        Some("application/graphql"),
        None,
    ] {
        let mut request = request("POST", &graphql(server)).body(body.clone());
        request = request.bearer_auth(client.token().unwrap());
        if let Some(content_type) = content_type {
            request = request.header("content-type", content_type);
        }
        let response = Raw::of(request).await;
        assert_eq!(response.status, 415, "{content_type:?}");
        assert!(response.refusal().contains("application/json"));
    }
    assert_eq!(client.note(&n).await["viewerHasLiked"], false);
}

#[tokio::test]
async fn a_body_of_256_kib_is_read_and_one_byte_more_is_413_also_in_chunks() {
    let server = Server::shared();
    let sized = |bytes: usize| {
        let body = format!("{TYPENAME}{}", " ".repeat(bytes - TYPENAME.len()));
        assert_eq!(body.len(), bytes);
        body
    };
    let in_chunks = |body: String| {
        let chunks: Vec<_> =
            body.as_bytes().chunks(10_000).map(Bytes::copy_from_slice).map(Ok::<_, std::io::Error>).collect();
        reqwest::Body::wrap_stream(stream::iter(chunks))
    };
    let limit = 256 * 1024;
    assert_eq!(Raw::of(post(&server.url, sized(limit))).await.status, 200);
    assert_eq!(Raw::of(post(&server.url, in_chunks(sized(limit)))).await.status, 200);
    for body in [sized(limit + 1).into(), in_chunks(sized(limit + 1))] {
        let response = Raw::of(post(&server.url, body)).await;
        assert_eq!(response.status, 413);
        assert!(response.refusal().contains("262144 bytes"));
    }
}

#[tokio::test]
async fn a_bad_token_is_401_in_the_accepted_media_type() {
    let server = Server::shared();
    for accept in [GRAPHQL, JSON] {
        let response = Raw::of(post(&server.url, TYPENAME).bearer_auth("x").header("accept", accept)).await;
        assert_eq!((response.status, response.media_type()), (401, accept));
        assert!(response.header("www-authenticate").unwrap().starts_with("Bearer"));
        response.refusal();
    }
}

#[tokio::test]
async fn a_refused_subscription_names_the_path_for_subscriptions() {
    let server = Server::shared();
    let query = "subscription { noteCountsChanged(noteIds: [\"note_1\"]) { id } }";
    for accept in [GRAPHQL, JSON] {
        let by_post = post(&server.url, json!({ "query": query }).to_string());
        for request in [by_post, by_get(server, &[("query", query)])] {
            let response = Raw::of(request.header("accept", accept)).await;
            assert_eq!(response.status, if accept == GRAPHQL { 422 } else { 200 });
            assert!(response.refusal().contains("/graphql/ws"));
        }
    }
}

#[tokio::test]
async fn long_responses_are_compressed_and_short_ones_are_not() {
    let server = Server::shared();
    let send = async |query: &str| {
        let request = post(&server.url, json!({ "query": query }).to_string());
        Raw::of(request.header("accept-encoding", "gzip")).await
    };
    let long = send("{ __schema { types { name description } } }").await;
    assert_eq!(long.header("content-encoding"), Some("gzip"));
    assert!(
        long.bytes.starts_with(&[0x1f, 0x8b]) && long.header("vary").unwrap().contains("accept-encoding")
    );
    assert_eq!(send("{ __typename }").await.header("content-encoding"), None);
}

#[tokio::test]
async fn every_response_has_the_id_of_its_request() {
    let server = Server::shared();
    let id = async |given: &str| {
        let response = Raw::of(post(&server.url, TYPENAME).header("x-request-id", given)).await;
        response.header("x-request-id").unwrap().to_owned()
    };
    assert_eq!(id("Root=1-67891233:a_b.c").await, "Root=1-67891233:a_b.c");
    for invalid in ["", "two words", "a\"b", "<script>", &"x".repeat(65)] {
        let generated = id(invalid).await;
        assert!(generated != invalid && generated.len() == 36, "{generated}");
    }
    for path in ["/livez", "/nowhere"] {
        let unnamed = Raw::of(request("GET", &format!("{}{path}", server.url))).await;
        assert_eq!(unnamed.header("x-request-id").unwrap().len(), 36);
    }
}

#[tokio::test]
async fn requests_are_counted_by_kind_and_outcome() {
    let server = Server::shared();
    let counted = async |labels: &str| {
        let name = format!("plaudit_requests_total{{transport=\"http\",{labels}}}");
        server.metrics().await.get(&name).copied().unwrap_or_default()
    };
    let good = r#"kind="query",operation="__typename",outcome="OK""#;
    let bad = r#"kind="unknown",operation="unknown",outcome="GRAPHQL_PARSE_FAILED""#;
    let before = (counted(good).await, counted(bad).await);
    Raw::of(post(&server.url, TYPENAME)).await;
    Raw::of(post(&server.url, r#"{ "query": "{" }"#)).await;
    // Other tests use the same server meanwhile.
    assert!(counted(good).await > before.0);
    assert!(counted(bad).await > before.1);
}
