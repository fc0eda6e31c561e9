//! Documents sent by hash or id: automatic persisted queries and trusted documents.

use std::{collections::HashMap, fs};

use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use support::{
    Place, Server, note,
    raw::{Raw, post, request},
};

const QUERY: &str = "query Kind { __typename }";

fn sha256(text: &str) -> String {
    Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn persisted(text: &str) -> Value {
    json!({ "persistedQuery": { "version": 1, "sha256Hash": sha256(text) } })
}

async fn send(server: &Server, body: Value) -> Value {
    Raw::of(post(&server.url, body.to_string())).await.json()
}

fn code(response: &Value) -> &str {
    response["errors"][0]["extensions"]["code"].as_str().unwrap_or("OK")
}

#[tokio::test]
async fn a_document_is_registered_once_and_then_found_by_its_hash() {
    let server = Server::start(&[]);
    let get = async |text: &str| {
        let url = format!("{}/graphql", server.url);
        let parameters = [("extensions", persisted(text).to_string())];
        let response =
            Raw::of(request("GET", url::Url::parse_with_params(&url, parameters).unwrap().as_str())).await;
        response.json()
    };
    let unknown = send(&server, json!({ "extensions": persisted(QUERY) })).await;
    assert_eq!(
        (code(&unknown), &unknown["errors"][0]["message"]),
        ("PERSISTED_QUERY_NOT_FOUND", &json!("PersistedQueryNotFound"))
    );
    assert_eq!(code(&get(QUERY).await), "PERSISTED_QUERY_NOT_FOUND");
    for _ in 0..2 {
        let response = send(&server, json!({ "query": QUERY, "extensions": persisted(QUERY) })).await;
        assert_eq!(response, json!({ "data": { "__typename": "Query" } }));
    }
    for response in [
        send(&server, json!({ "extensions": persisted(QUERY) })).await,
        send(&server, json!({ "documentId": format!("sha256:{}", sha256(QUERY)) })).await,
        get(QUERY).await,
    ] {
        assert_eq!(response, json!({ "data": { "__typename": "Query" } }));
    }
}

#[tokio::test]
async fn a_wrong_hash_is_refused_and_replaces_nothing() {
    let server = Server::start(&[]);
    send(&server, json!({ "query": QUERY, "extensions": persisted(QUERY) })).await;
    let forged =
        send(&server, json!({ "query": "{ viewer { user { id } } }", "extensions": persisted(QUERY) })).await;
    assert_eq!(code(&forged), "BAD_USER_INPUT");
    assert!(forged["errors"][0]["message"].as_str().unwrap().contains("SHA-256"));
    let response = send(&server, json!({ "extensions": persisted(QUERY) })).await;
    assert_eq!(response["data"]["__typename"], "Query");
}

#[tokio::test]
async fn a_stored_mutation_is_not_executed_by_get() {
    let server = Server::start(&[]);
    let n = note(server.stores().new_note().await);
    let mutation = format!("mutation {{ likeNote(input: {{ noteId: \"{n}\" }}) {{ changed }} }}");
    send(&server, json!({ "query": mutation, "extensions": persisted(&mutation) })).await;
    let url = format!("{}/graphql", server.url);
    let parameters = [("extensions", persisted(&mutation).to_string())];
    let get = request("GET", url::Url::parse_with_params(&url, parameters).unwrap().as_str());
    let client = server.client("una has a link");
    let response = Raw::of(get.bearer_auth(client.token().unwrap())).await;
    assert_eq!((response.status, response.header("allow")), (405, Some("POST")));
    assert_eq!(client.note(&n).await["viewerHasLiked"], false);
}

#[tokio::test]
async fn trusted_documents_are_found_by_id_and_can_be_the_only_ones_that_are_executed() {
    let place = Place::new();
    let manifest = place.path().join("documents.json");
    fs::write(
        &manifest,
        json!({ "kind": QUERY, "note": "query ($n: ID!) { note(id: $n) { id } }" }).to_string(),
    )
    .unwrap();
    let flags = ["--trusted-documents", manifest.to_str().unwrap()];
    for only in [false, true] {
        let only_flag = if only { &["--only-trusted-documents"][..] } else { &[] };
        let server = Server::start(&[&flags[..], only_flag].concat());
        let n = note(server.stores().new_note().await);
        for body in [
            json!({ "documentId": "kind" }),
            json!({ "documentId": format!("sha256:{}", sha256(QUERY)) }),
            json!({ "extensions": persisted(QUERY) }),
            json!({ "extensions": { "persistedQuery": { "version": 1, "sha256Hash": "kind" } } }),
        ] {
            assert_eq!(send(&server, body).await, json!({ "data": { "__typename": "Query" } }));
        }
        let with_variables = json!({ "documentId": "note", "variables": { "n": n } });
        assert_eq!(send(&server, with_variables).await["data"]["note"]["id"], json!(n));
        let url = format!("{}/graphql?documentId=kind", server.url);
        assert_eq!(Raw::of(request("GET", &url)).await.json()["data"]["__typename"], "Query");

        let unknown = if only { "BAD_USER_INPUT" } else { "PERSISTED_QUERY_NOT_FOUND" };
        assert_eq!(code(&send(&server, json!({ "documentId": "nothing" })).await), unknown);
        let other = "{ __typename }";
        for body in [json!({ "query": other }), json!({ "query": other, "extensions": persisted(other) })] {
            let response = send(&server, body).await;
            if only {
                assert_eq!(code(&response), "BAD_USER_INPUT");
                assert!(response["errors"][0]["message"].as_str().unwrap().contains("documentId"));
            } else {
                assert_eq!(response["data"]["__typename"], "Query");
            }
        }
    }
}

/// What GraphQL Code Generator (client preset, `persistedDocuments`) and Relay's compiler (`persistConfig`, by
/// SHA-256 and by its own choice, MD5) wrote for these operations.
const BUILT: [(&str, &str); 3] = [
    (
        "sha256:f713d17e171d0d9b5362f45faa915409addcfe4632f1fcc6f8346eb7876ffae2",
        "query Feed($first: Int!) { feed(first: $first) { nodes { countsVersion createdAt id likeCount title } } }",
    ),
    (
        "92402a98648e87d3a788cb0bbf276fb5bc098ca8b03709d54a8304e61e25a3b0",
        "query FeedQuery(\n  $first: Int!\n) {\n  feed(first: $first) {\n    edges {\n      node {\n        id\n        \
         title\n        likeCount\n        countsVersion\n      }\n    }\n  }\n}\n",
    ),
    (
        "8fd610a63d0c120f8aab5d42a8126c3c",
        "query KindQuery {\n  note(id: \"note_1\") {\n    id\n    likeCount\n  }\n}\n",
    ),
];

#[tokio::test]
async fn what_codegen_and_relay_persist_is_the_manifest() {
    let place = Place::new();
    let manifest = place.path().join("documents.json");
    fs::write(&manifest, json!(BUILT.iter().copied().collect::<HashMap<_, _>>()).to_string()).unwrap();
    let flags = ["--trusted-documents", manifest.to_str().unwrap(), "--only-trusted-documents"];
    let server = Server::start(&flags);
    let by_apollo = |hash: &str| json!({ "persistedQuery": { "version": 1, "sha256Hash": hash } });
    for (id, _) in BUILT {
        for request in [
            json!({ "documentId": id, "variables": { "first": 1 } }),
            json!({ "extensions": by_apollo(id.trim_start_matches("sha256:")), "variables": { "first": 1 } }),
        ] {
            let answer = send(&server, request).await;
            assert!(answer["data"].is_object() && answer["errors"].is_null(), "{id}: {answer}");
        }
    }
}

#[test]
fn a_bad_manifest_prevents_the_start_and_the_error_names_file_and_entry() {
    let place = Place::new();
    let manifest = place.path().join("documents.json");
    let refused = |flags: &[&str]| {
        let mut command = support::plaudit(&place.data());
        let output = command.args(["serve", "--listen", "127.0.0.1:0"]).args(flags).output().unwrap();
        assert!(!output.status.success());
        String::from_utf8(output.stderr).unwrap()
    };
    let flags = ["--trusted-documents", manifest.to_str().unwrap()];
    assert!(refused(&flags).contains("cannot read the trusted documents"));
    for (text, expected) in [
        ("[]", "a document for each id"),
        (r#"{ "kind": "{ __typename }", "feed": "{ feed {" }"#, "entry \"feed\""),
    ] {
        fs::write(&manifest, text).unwrap();
        let stderr = refused(&flags);
        assert!(stderr.contains("documents.json") && stderr.contains(expected), "{stderr}");
        assert_eq!(stderr.lines().filter(|line| line.starts_with("plaudit: ")).count(), 1, "{stderr}");
    }
    assert!(refused(&["--only-trusted-documents"]).contains("trusted_documents"));
}
