//! Protection of browsers: CORS and security headers.

use support::{
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
async fn only_the_listed_origins_pass_cors() {
    let server = Server::start(&["--cors-origins", &format!("{APP},http://localhost:5173")]);
    for origin in [APP, "http://localhost:5173"] {
        let allowed = Raw::of(preflight(&server, origin)).await;
        assert_eq!((allowed.status, allowed.header("access-control-allow-origin")), (200, Some(origin)));
        assert_eq!(allowed.header("access-control-allow-methods"), Some("GET,POST"));
        assert_eq!(allowed.header("access-control-allow-headers"), Some("authorization,content-type"));
        assert_eq!(allowed.header("access-control-max-age"), Some("7200"));
        assert_eq!(allowed.header("access-control-allow-credentials"), None);
        let response = Raw::of(post(&server.url, TYPENAME).header("origin", origin)).await;
        assert_eq!((response.status, response.header("access-control-allow-origin")), (200, Some(origin)));
        assert!(response.header("access-control-expose-headers").unwrap().contains("x-request-id"));
        assert!(
            response.headers.get_all("vary").iter().any(|vary| vary.to_str().unwrap().contains("origin"))
        );
    }
    assert_eq!(server.log().matches("cors_origins").count(), 0, "{}", server.log());
    for origin in
        ["https://evil.example.com", "https://app.example.com.evil.example", "http://app.example.com", "null"]
    {
        let refused = Raw::of(preflight(&server, origin)).await;
        assert_eq!((refused.status, refused.header("access-control-allow-origin")), (403, None), "{origin}");
        let response = Raw::of(post(&server.url, TYPENAME).header("origin", origin)).await;
        assert_eq!(response.header("access-control-allow-origin"), None, "{origin}");
    }
    assert_eq!(server.log().matches("cors_origins").count(), 1, "{}", server.log());
}

#[tokio::test]
async fn a_refused_preflight_says_what_to_set_and_so_does_the_log_once() {
    let server = Server::start(&[]);
    for path in ["/graphql", "/graphql/stream"] {
        let asked = request("OPTIONS", &format!("{}{path}", server.url))
            .header("origin", APP)
            .header("access-control-request-method", "POST");
        let refused = Raw::of(asked).await;
        let said = refused.refusal();
        assert!(said.contains(APP) && said.contains("`cors_origins`"), "{said}");
        assert_eq!((refused.status, refused.header("access-control-allow-origin")), (403, None), "{path}");
    }
    let long = "https://".to_owned() + &"a".repeat(10_000);
    assert!(Raw::of(preflight(&server, &long)).await.refusal().len() < 500);
    let log = server.log();
    let lines: Vec<&str> = log.lines().filter(|line| line.contains("cors_origins")).collect();
    assert!(lines.len() == 1 && lines[0].contains("WARN") && lines[0].contains(APP), "{log}");
    // Without a browser's question it is a method like any other.
    let asked = Raw::of(request("OPTIONS", &format!("{}/graphql", server.url)).header("origin", APP)).await;
    assert_eq!((asked.status, asked.header("allow")), (405, Some("GET, HEAD, POST")));
}

#[tokio::test]
async fn with_the_generated_secret_pages_of_this_machine_pass_cors() {
    let server = Server::start_without_secret(&[]);
    for origin in ["http://localhost:5173", "http://127.0.0.1:3000", "http://[::1]:8081", "http://localhost"]
    {
        let allowed = Raw::of(preflight(&server, origin)).await;
        assert_eq!((allowed.status, allowed.header("access-control-allow-origin")), (200, Some(origin)));
        let answer = Raw::of(post(&server.url, TYPENAME).header("origin", origin)).await;
        assert_eq!(answer.header("access-control-allow-origin"), Some(origin));
        let tokens =
            Raw::of(request("GET", &format!("{}/dev/token", server.url)).header("origin", origin)).await;
        assert_eq!((tokens.status, tokens.header("access-control-allow-origin")), (403, None), "{origin}");
    }
    for origin in [APP, "http://localhost.example.com:5173"] {
        assert_eq!(Raw::of(preflight(&server, origin)).await.status, 403, "{origin}");
    }
    assert_eq!(
        Raw::of(preflight(Server::shared(), "http://localhost:5173")).await.status,
        403,
        "another secret"
    );
}

#[tokio::test]
async fn listed_origins_pass_cors_for_graphql_only() {
    let server = Server::start(&["--cors-origins", APP]);
    for path in ["/dev/token", "/dev/users", "/metrics", "/", "/admin", "/graphiql", "/livez"] {
        let response = Raw::of(request("GET", &format!("{}{path}", server.url)).header("origin", APP)).await;
        assert_eq!(response.header("access-control-allow-origin"), None, "{path}");
    }
}

#[tokio::test]
async fn by_default_no_other_origin_passes_cors() {
    let server = Server::shared();
    let refused = Raw::of(preflight(server, APP)).await;
    assert_eq!(refused.header("access-control-allow-origin"), None);
    let response = Raw::of(post(&server.url, TYPENAME).header("origin", APP)).await;
    assert_eq!(response.header("access-control-allow-origin"), None);
}

#[test]
fn a_wildcard_is_refused_as_an_origin() {
    let server = Server::shared();
    for bad in ["*", "https://*.example.com", "https://app.example.com/"] {
        let output = server.command().args(["serve", "--cors-origins", bad]).output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && stderr.contains("--cors-origins"), "{stderr}");
    }
}

#[tokio::test]
async fn every_response_forbids_sniffing_framing_and_referrers() {
    let server = Server::shared();
    let get = async |path: &str| Raw::of(request("GET", &format!("{}{path}", server.url))).await;
    let responses = [
        Raw::of(post(&server.url, TYPENAME)).await,
        Raw::of(post(&server.url, "nonsense")).await,
        get("/graphiql").await,
        get("/livez").await,
        get("/nowhere").await,
    ];
    for response in &responses {
        assert_eq!(response.header("x-content-type-options"), Some("nosniff"));
        assert_eq!(response.header("referrer-policy"), Some("no-referrer"));
        assert_eq!(response.header("x-frame-options"), Some("DENY"));
        assert!(response.header("content-security-policy").unwrap().contains("frame-ancestors 'none'"));
    }
    assert_eq!(responses[0].header("cache-control"), Some("no-store"));
    assert_eq!(
        responses[0].header("content-security-policy"),
        Some("default-src 'none'; frame-ancestors 'none'")
    );
    if responses[2].status == 200 {
        assert!(responses[2].header("content-security-policy").unwrap().contains("script-src 'self'"));
    }
}
