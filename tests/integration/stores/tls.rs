//! TLS to both stores, with a CA of one's own: it works, or one line says what is wrong and what mends it.

use std::{path::Path, sync::Arc};
use support::{
    Authority, Certificate, OwnPostgres, OwnRedis, Place, SOON, Sentinel, Server, eventually, free_port,
    refused_start,
};

/// Both stores with TLS only, and what their clients need.
struct Secured {
    place: Arc<Place>,
    ca: Authority,
    postgres: OwnPostgres,
}

/// Flags of a Redis with one user, who has a password.
const USERS: &[&str] =
    &["--user", "default", "off", "--user", "plaudit", "on", ">secret", "~*", "&*", "+@all"];

fn shown(path: &Path) -> String {
    path.to_str().unwrap().to_owned()
}

/// Settings of a PostgreSQL with this certificate, which asks its clients for one of the CA.
fn with_tls(certificate: &Certificate, ca: &Authority) -> Vec<String> {
    let [file, key, ca] = [&certificate.file, &certificate.key, &ca.file].map(|path| shown(path));
    vec![
        "ssl=on".to_owned(),
        format!("ssl_cert_file={file}"),
        format!("ssl_key_file={key}"),
        format!("ssl_ca_file={ca}"),
    ]
}

impl Secured {
    async fn start() -> Self {
        let place = Arc::new(Place::new());
        let ca = Authority::new(place.path(), "ca");
        let certificate = ca.of_host("localhost");
        let only_with_certificate = "hostssl all all 127.0.0.1/32 cert";
        let postgres = OwnPostgres::start(&place, only_with_certificate, &with_tls(&certificate, &ca)).await;
        Self { place, ca, postgres }
    }

    fn database_url(&self, ca: &Authority, client: Option<&Certificate>) -> String {
        let mut url = format!(
            "postgres://plaudit@localhost:{}/plaudit?sslmode=verify-full&sslrootcert={}",
            self.postgres.port,
            shown(&ca.file)
        );
        if let Some(Certificate { file, key }) = client {
            url += &format!("&sslcert={}&sslkey={}", shown(file), shown(key));
        }
        url
    }

    /// A Redis with TLS only, which wants certificates of its clients; its port.
    async fn redis(&self, certificate: &Certificate) -> (OwnRedis, u16) {
        let port = free_port();
        let [file, key, ca] = [&certificate.file, &certificate.key, &self.ca.file].map(|path| shown(path));
        let tls = ["--port", "0", "--tls-port", &port.to_string(), "--tls-auth-clients", "yes"];
        let files = ["--tls-cert-file", &file, "--tls-key-file", &key, "--tls-ca-cert-file", &ca];
        let redis = OwnRedis::start(&self.place, port, &[&tls[..], &files, USERS].concat()).await;
        (redis, port)
    }
}

fn certificates_of_redis(ca: &Authority, client: Option<&Certificate>) -> Vec<String> {
    let mut flags = vec!["--redis-ca".to_owned(), shown(&ca.file)];
    if let Some(Certificate { file, key }) = client {
        flags.extend(["--redis-client-certificate".to_owned(), shown(file)]);
        flags.extend(["--redis-client-key".to_owned(), shown(key)]);
    }
    flags
}

#[tokio::test(flavor = "multi_thread")]
async fn likes_go_over_tls_with_client_certificates_user_and_password() {
    let stores = Secured::start().await;
    let client = stores.ca.of_client("plaudit");
    let (_redis, port) = stores.redis(&stores.ca.of_host("localhost")).await;
    let redis_url = format!("rediss://plaudit:secret@localhost:{port}");
    let database_url = stores.database_url(&stores.ca, Some(&client));
    let certificates = certificates_of_redis(&stores.ca, Some(&client));
    let mut flags = vec!["--redis-url", &redis_url, "--database-url", &database_url];
    flags.extend(certificates.iter().map(String::as_str));
    let mut server = Server::start(&flags);
    let admin = stores.postgres.admin("plaudit").await;
    for _ in 0..2 {
        let author = server.client("tls: an author");
        let input = serde_json::json!({ "title": "By TLS", "body": "Text" });
        let made = author.act("createNote", input, "note { id }").await;
        let note = made["note"]["id"].as_str().unwrap();
        assert_eq!(author.like(note).await["note"]["likeCount"], 1);
        let id: i64 = note.strip_prefix("note_").unwrap().parse().unwrap();
        eventually("the like is in PostgreSQL", SOON, || async {
            let likes = "SELECT likes FROM note_counts WHERE id = $1";
            let likes: i64 = sqlx::query_scalar(likes).bind(id).fetch_one(&admin).await.unwrap();
            (likes == 1).then_some(())
        })
        .await;
        let secured = "SELECT bool_and(ssl) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid)
                       WHERE application_name = 'plaudit'";
        assert_eq!(
            sqlx::query_scalar::<_, Option<bool>>(secured).fetch_one(&admin).await.unwrap(),
            Some(true)
        );
        server.stop();
        server.start_again();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn sentinels_and_the_master_that_they_name_are_asked_over_tls() {
    let stores = Secured::start().await;
    let (certificate, client) = (stores.ca.of_host("localhost"), stores.ca.of_client("plaudit"));
    let (_redis, master) = stores.redis(&certificate).await;
    let [file, key, ca] = [&certificate.file, &certificate.key, &stores.ca.file].map(|path| shown(path));
    let port = free_port();
    let lines = format!(
        "port 0\ntls-port {port}\ntls-cert-file {file}\ntls-key-file {key}\ntls-ca-cert-file {ca}\n\
         tls-replication yes\nsentinel resolve-hostnames yes\nsentinel announce-hostnames yes\n\
         sentinel monitor plaudit localhost {master} 1\nsentinel auth-user plaudit plaudit\n\
         sentinel auth-pass plaudit secret\nuser default off\nuser plaudit on >secret ~* &* +@all\n"
    );
    let _sentinel = Sentinel::start_with(&stores.place, Path::new("redis-server"), port, &lines).await;
    let redis_url = format!("rediss+sentinel://plaudit:secret@localhost:{port}/plaudit");
    let database_url = stores.postgres.url_of("plaudit");
    let certificates = certificates_of_redis(&stores.ca, Some(&client));
    let mut flags = vec!["--redis-url", &redis_url, "--database-url", &database_url];
    flags.extend(certificates.iter().map(String::as_str));
    let server = Server::start(&flags);
    let author = server.client("sentinel: an author");
    let input = serde_json::json!({ "title": "By Sentinel", "body": "Text" });
    let made = author.act("createNote", input, "note { id }").await;
    assert_eq!(author.like(made["note"]["id"].as_str().unwrap()).await["note"]["likeCount"], 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_wrong_with_tls_to_postgresql_is_said_in_one_line_at_the_start() {
    let mut stores = Secured::start().await;
    let (other, client) = (Authority::new(stores.place.path(), "other"), stores.ca.of_client("plaudit"));
    let good = stores.ca.of_host("localhost");
    let refused = |url: &str| refused_start(&["--redis-url", "redis://127.0.0.1:1", "--database-url", url]);
    let url = |stores: &Secured| stores.database_url(&stores.ca, Some(&client));

    let said = refused(&url(&stores));
    assert!(said.contains("cannot use Redis"), "PostgreSQL is well: {said}");
    let said = refused(&stores.database_url(&other, Some(&client)));
    assert!(said.contains("nobody who is trusted") && said.contains("sslrootcert"), "{said}");
    let said = refused(&stores.database_url(&stores.ca, None));
    assert!(said.contains("certificate") && said.contains("sslcert and sslkey"), "{said}");
    let said = refused(&stores.database_url(&stores.ca, Some(&other.of_client("plaudit"))));
    assert!(said.contains("refuses") && said.contains("sslcert and sslkey"), "{said}");
    let said = refused(&stores.database_url(&stores.ca, Some(&stores.ca.of_client("somebody"))));
    assert!(said.contains("certificate authentication failed"), "{said}");
    let said = refused(&url(&stores).replace("ca.pem", "no.pem"));
    assert!(said.contains("cannot read sslrootcert") && said.contains("no.pem"), "{said}");

    stores.postgres.restart(&with_tls(&stores.ca.of_host("db.example"), &stores.ca)).await;
    let said = refused(&url(&stores));
    assert!(said.contains("another host") && said.contains("db.example"), "{said}");
    stores.postgres.restart(&with_tls(&stores.ca.expired("localhost"), &stores.ca)).await;
    let said = refused(&url(&stores));
    assert!(said.contains("expired: renew it"), "{said}");
    stores.postgres.restart(&[]).await;
    let said = refused(&url(&stores));
    assert!(said.contains("does not support TLS"), "{said}");
    stores.postgres.restart(&with_tls(&good, &stores.ca)).await;
    assert!(refused(&url(&stores)).contains("cannot use Redis"));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_wrong_with_tls_to_redis_is_said_in_one_line_at_the_start() {
    let stores = Secured::start().await;
    let (other, client) = (Authority::new(stores.place.path(), "other"), stores.ca.of_client("plaudit"));
    let database_url = stores.postgres.url_of("plaudit");
    let refused = |url: &str, certificates: Vec<String>| {
        let mut flags = vec!["--redis-url", url, "--database-url", &database_url];
        flags.extend(certificates.iter().map(String::as_str));
        refused_start(&flags)
    };
    let good = || certificates_of_redis(&stores.ca, Some(&client));
    let url = |port: u16| format!("rediss://plaudit:secret@localhost:{port}");

    let (_redis, port) = stores.redis(&stores.ca.of_host("localhost")).await;
    let said = refused(&url(port), certificates_of_redis(&other, Some(&client)));
    assert!(said.contains("nobody who is trusted") && said.contains("redis_ca"), "{said}");
    let said = refused(&url(port), certificates_of_redis(&stores.ca, None));
    assert!(said.contains("certificate") && said.contains("redis_client_certificate"), "{said}");
    let said = refused(&url(port), certificates_of_redis(&stores.ca, Some(&other.of_client("plaudit"))));
    assert!(said.contains("refuses") && said.contains("redis_client_certificate"), "{said}");
    let said = refused(&url(port).replace("secret", "wrong"), good());
    assert!(said.contains("refuses the user or the password"), "{said}");
    assert!(!said.contains("wrong@"), "{said}");
    let said = refused(&url(port), good().into_iter().take(4).collect());
    assert!(said.contains("go together"), "{said}");
    let said = refused(&url(port).replace("rediss", "redis"), good());
    assert!(said.contains("rediss://"), "{said}");
    let said = refused(&url(port).replace("rediss", "redis"), Vec::new());
    assert!(said.contains("speaks TLS"), "{said}");
    let said = refused(&url(port), vec!["--redis-ca".to_owned(), "/nowhere/ca.pem".to_owned()]);
    assert!(said.contains("cannot read /nowhere/ca.pem") && said.contains("redis_ca"), "{said}");

    let (_redis, port) = stores.redis(&stores.ca.of_host("cache.example")).await;
    let said = refused(&url(port), good());
    assert!(said.contains("another host") && said.contains("cache.example"), "{said}");
    let (_redis, port) = stores.redis(&stores.ca.expired("localhost")).await;
    let said = refused(&url(port), good());
    assert!(said.contains("expired: renew it"), "{said}");
    let plain = free_port();
    let _redis = OwnRedis::start(&stores.place, plain, &["--port", &plain.to_string()]).await;
    let said = refused(&url(plain), good());
    assert!(said.contains("does not speak TLS"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_unix_socket_of_redis_takes_a_user_and_a_password() {
    let stores = Secured::start().await;
    let (port, socket) = (free_port(), shown(&stores.place.path().join("redis.sock")));
    let flags = ["--port", &port.to_string(), "--unixsocket", &socket];
    let _redis = OwnRedis::start(&stores.place, port, &[&flags[..], USERS].concat()).await;
    let database_url = stores.postgres.url_of("plaudit");
    for scheme in ["redis+unix", "unix"] {
        let url = format!("{scheme}://{socket}?user=plaudit&pass=secret");
        let mut server = Server::start(&["--redis-url", &url, "--database-url", &database_url]);
        let author = server.client("a socket: an author");
        let input = serde_json::json!({ "title": "By a socket", "body": "Text" });
        let made = author.act("createNote", input, "note { id }").await;
        assert_eq!(author.like(made["note"]["id"].as_str().unwrap()).await["note"]["likeCount"], 1);
        server.stop(); // which gives its shards back
    }
    let wrong = format!("unix://{socket}?user=plaudit&pass=wrong");
    let said = refused_start(&["--redis-url", &wrong, "--database-url", &database_url]);
    assert!(said.contains("refuses the user or the password") && !said.contains("pass=wrong"), "{said}");
}
