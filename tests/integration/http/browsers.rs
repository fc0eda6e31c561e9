//! What keeps a browser from doing what its owner did not mean.

use crate::support::{
    Server,
    raw::{Raw, post, request},
};

const APP: &str = "https://app.example.com";
const TYPENAME: &str = r#"{ "query": "{ __typename }" }"#;

fn preflight(server: &Server, origin: &str) -> reqwest::RequestBuilder {
    request("OPTIONS", &format!("{}/graphql", server.url))
        .header("origin", origin)
        .header("access-control-request-method", "POST")
        .header("access-control-request-headers", "authorization,content-type")
}

#[tokio::test]
async fn only_pages_of_the_listed_origins_may_ask() {
    let server = Server::start(&["--cors-origins", &format!("{APP},http://localhost:5173")]);
    for origin in [APP, "http://localhost:5173"] {
        let allowed = Raw::of(preflight(&server, origin)).await;
        assert_eq!((allowed.status, allowed.header("access-control-allow-origin")), (200, Some(origin)));
        assert_eq!(allowed.header("access-control-allow-methods"), Some("GET,POST"));
        assert_eq!(allowed.header("access-control-allow-headers"), Some("authorization,content-type"));
        assert_eq!(allowed.header("access-control-max-age"), Some("7200"));
        assert_eq!(allowed.header("access-control-allow-credentials"), None);
        let answer = Raw::of(post(&server.url, TYPENAME).header("origin", origin)).await;
        assert_eq!((answer.status, answer.header("access-control-allow-origin")), (200, Some(origin)));
        assert!(answer.header("access-control-expose-headers").unwrap().contains("x-request-id"));
        assert!(answer.headers.get_all("vary").iter().any(|vary| vary.to_str().unwrap().contains("origin")));
    }
    for origin in
        ["https://evil.example.com", "https://app.example.com.evil.example", "http://app.example.com", "null"]
    {
        let refused = Raw::of(preflight(&server, origin)).await;
        assert_eq!(refused.header("access-control-allow-origin"), None, "{origin}");
        let answer = Raw::of(post(&server.url, TYPENAME).header("origin", origin)).await;
        assert_eq!(answer.header("access-control-allow-origin"), None, "{origin}");
    }
}

#[tokio::test]
async fn listed_origins_may_ask_for_graphql_and_nothing_else() {
    let server = Server::start(&["--cors-origins", APP]);
    for path in ["/dev/token", "/dev/users", "/metrics", "/", "/admin", "/graphiql", "/healthz"] {
        let answer = Raw::of(request("GET", &format!("{}{path}", server.url)).header("origin", APP)).await;
        assert_eq!(answer.header("access-control-allow-origin"), None, "{path}");
    }
}

#[tokio::test]
async fn by_default_no_page_from_elsewhere_may_ask() {
    let server = Server::shared();
    let refused = Raw::of(preflight(server, APP)).await;
    assert_eq!(refused.header("access-control-allow-origin"), None);
    let answer = Raw::of(post(&server.url, TYPENAME).header("origin", APP)).await;
    assert_eq!(answer.header("access-control-allow-origin"), None);
}

#[test]
fn a_wildcard_is_no_origin() {
    let server = Server::shared();
    for bad in ["*", "https://*.example.com", "https://app.example.com/"] {
        let output = server.command().args(["serve", "--cors-origins", bad]).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && said.contains("--cors-origins"), "{said}");
    }
}

#[tokio::test]
async fn every_answer_forbids_sniffing_framing_and_referring() {
    let server = Server::shared();
    let get = async |path: &str| Raw::of(request("GET", &format!("{}{path}", server.url))).await;
    let answers = [
        Raw::of(post(&server.url, TYPENAME)).await,
        Raw::of(post(&server.url, "nonsense")).await,
        get("/graphiql").await,
        get("/healthz").await,
        get("/nowhere").await,
    ];
    for answer in &answers {
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
        assert_eq!(answer.header("referrer-policy"), Some("no-referrer"));
        assert_eq!(answer.header("x-frame-options"), Some("DENY"));
        assert!(answer.header("content-security-policy").unwrap().contains("frame-ancestors 'none'"));
    }
    assert_eq!(answers[0].header("cache-control"), Some("no-store"));
    assert_eq!(
        answers[0].header("content-security-policy"),
        Some("default-src 'none'; frame-ancestors 'none'")
    );
    if answers[2].status == 200 {
        assert!(answers[2].header("content-security-policy").unwrap().contains("script-src 'self'"));
    }
}
