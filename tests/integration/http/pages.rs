//! The pages in the binary: their addresses, cache headers, compression and content security policy.

use plaudit_embedded_stores::AppendFsync;
use support::{
    Server, Stores,
    raw::{Raw, request},
};

/// Addresses of the demo app.
const APP: [&str; 9] =
    ["/", "/two", "/note/note_1", "/user/user_1", "/group/x", "/groups", "/inbox", "/hot", "/likes"];

async fn get(server: &Server, path: &str) -> Raw {
    get_with(server, path, &[]).await
}

async fn get_with(server: &Server, path: &str, headers: &[(&str, &str)]) -> Raw {
    let url = format!("{}{path}", server.url);
    let request =
        headers.iter().fold(request("GET", &url), |request, (name, value)| request.header(*name, *value));
    Raw::of(request).await
}

async fn status(server: &Server, path: &str) -> u16 {
    get(server, path).await.status
}

fn text(page: &Raw) -> String {
    String::from_utf8_lossy(&page.bytes).into_owned()
}

/// The addresses of scripts and styles in a page.
fn assets_of(page: &Raw) -> Vec<String> {
    let text = text(page);
    text.split('"').filter(|part| part.starts_with("/assets/")).map(str::to_owned).collect()
}

#[tokio::test]
async fn the_demo_app_is_served_at_its_own_addresses_only() {
    let server = Server::shared();
    let first = get(server, "/").await;
    assert_eq!((first.status, first.header("content-type")), (200, Some("text/html; charset=utf-8")));
    for address in APP {
        let page = get(server, address).await;
        assert_eq!((page.status, &page.bytes), (200, &first.bytes), "{address}");
    }
    for unknown in
        ["/three", "/note", "/note/", "/note/1/likes", "/index.html", "/app/index.html", "/two/", "/users"]
    {
        assert_eq!(status(server, unknown).await, 404, "{unknown}");
    }
    let admin = get(server, "/admin").await;
    assert_eq!(admin.status, 200);
    assert_ne!(admin.bytes, first.bytes);
    assert!(text(&get(server, "/graphiql").await).contains("GraphiQL"));
}

#[tokio::test]
async fn production_serves_the_operators_page_and_nothing_for_development() {
    let stores = Stores::start(AppendFsync::EverySec).await;
    let server = Server::start_on(&stores, &[]);
    for address in APP.iter().chain(&["/elements", "/graphiql", "/dev/token", "/dev/users"]) {
        assert_eq!(status(&server, address).await, 404, "{address}");
    }
    let storm = request("POST", &format!("{}/dev/storm", server.url));
    assert_eq!(Raw::of(storm.json(&serde_json::json!({}))).await.status, 404);
    let admin = get(&server, "/admin").await;
    assert_eq!(admin.status, 200);
    for asset in assets_of(&admin) {
        assert_eq!(status(&server, &asset).await, 200, "{asset}");
    }
}

#[tokio::test]
async fn each_page_has_a_setting_and_the_root_redirects_to_an_enabled_page() {
    let no_demo = Server::start(&["--demo", "false"]);
    let client = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).build().unwrap();
    let root = client.get(&no_demo.url).send().await.unwrap();
    assert_eq!((root.status().as_u16(), root.headers()["location"].to_str().unwrap()), (307, "/graphiql"));
    assert_eq!(status(&no_demo, "/two").await, 404);

    let only_demo = Server::start(&["--graphiql", "false"]);
    assert_eq!((status(&only_demo, "/").await, status(&only_demo, "/graphiql").await), (200, 404));

    let neither = Server::start(&["--demo", "false", "--graphiql", "false"]);
    assert_eq!((status(&neither, "/").await, status(&neither, "/admin").await), (404, 200));
}

#[tokio::test]
async fn pages_load_only_from_their_own_origin_and_run_no_inline_code() {
    let server = Server::shared();
    for address in ["/", "/two", "/elements", "/admin"] {
        let page = get(server, address).await;
        let policy = page.header("content-security-policy").unwrap();
        let directives: Vec<&str> = policy.split(';').map(str::trim).collect();
        assert_eq!(
            directives,
            [
                "default-src 'none'",
                "script-src 'self'",
                "style-src 'self'",
                "img-src 'self' data:",
                "font-src 'self'",
                "connect-src 'self'",
                "manifest-src 'self'",
                "frame-ancestors 'none'",
                "base-uri 'none'",
                "form-action 'none'",
            ],
            "{address}"
        );
        assert_eq!(page.header("x-frame-options"), Some("DENY"));
        // What the policy forbids is not in the page either.
        let text = text(&page);
        assert!(!text.contains("<style") && !text.contains(" style="), "{address}");
        assert!(text.split("<script").skip(1).all(|script| script.contains("src=\"/")), "{address}");
    }
}

#[tokio::test]
async fn a_page_is_revalidated_each_time_and_sent_only_when_it_has_changed() {
    let server = Server::shared();
    for address in ["/", "/admin", "/graphiql"] {
        let page = get(server, address).await;
        assert_eq!(page.header("cache-control"), Some("no-cache"), "{address}");
        let tag = page.header("etag").unwrap();
        for _ in 0..2 {
            let again = get_with(server, address, &[("if-none-match", tag)]).await;
            assert_eq!(
                (again.status, again.bytes.len(), again.header("etag")),
                (304, 0, Some(tag)),
                "{address}"
            );
        }
        let other = get_with(server, address, &[("if-none-match", "\"another\"")]).await;
        assert_eq!((other.status, other.bytes), (200, page.bytes.clone()), "{address}");
    }
}

#[tokio::test]
async fn assets_are_immutable_and_sent_as_compressed_by_the_build() {
    let server = Server::shared();
    let page = get(server, "/graphiql").await;
    let script = assets_of(&page).into_iter().find(|asset| asset.ends_with(".js")).unwrap();
    let plain = get(server, &script).await;
    assert_eq!((plain.status, plain.header("content-encoding")), (200, None));
    let mut tags = vec![plain.header("etag").unwrap().to_owned()];
    for (accepted, coding) in
        [("gzip", "gzip"), ("gzip, deflate, br, zstd", "br"), ("*", "br"), ("br;q=0, gzip", "gzip")]
    {
        let sent = get_with(server, &script, &[("accept-encoding", accepted)]).await;
        assert_eq!((sent.status, sent.header("content-encoding")), (200, Some(coding)), "{accepted}");
        assert_eq!(sent.header("content-type"), plain.header("content-type"));
        assert_eq!(sent.header("cache-control"), Some("public, max-age=31536000, immutable"));
        assert_eq!(sent.header("vary"), Some("accept-encoding"));
        assert_eq!(
            sent.header("content-length"),
            Some(sent.bytes.len().to_string().as_str()),
            "the length is known, so it was compressed before"
        );
        assert!(sent.bytes.len() * 2 < plain.bytes.len(), "{} of {}", sent.bytes.len(), plain.bytes.len());
        if coding == "gzip" {
            assert_eq!(&sent.bytes[..2], b"\x1f\x8b");
        }
        let tag = sent.header("etag").unwrap().to_owned();
        let again =
            get_with(server, &script, &[("accept-encoding", accepted), ("if-none-match", &tag)]).await;
        assert_eq!((again.status, again.bytes.len()), (304, 0));
        tags.push(tag);
    }
    tags.sort();
    tags.dedup();
    assert_eq!(tags.len(), 3, "each encoding has its own tag");
    for unknown in [
        format!("{script}.br"),
        format!("{script}.gz"),
        "/assets/x.js".into(),
        "/assets/../app/index.html".into(),
    ] {
        assert_eq!(status(server, &unknown).await, 404, "{unknown}");
    }
}
