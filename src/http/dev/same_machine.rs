//! Whether a request for a development address comes from this machine.
//!
//! The server listens on a loopback address there, but that is not enough: a page of any site can resolve its own
//! name to 127.0.0.1 (DNS rebinding), and a proxy on the same machine passes on requests of others. So the host that
//! the client named decides, and what browsers and proxies add to a request.

use std::net::IpAddr;

use axum::{
    extract::{Request, State},
    http::{HeaderMap, HeaderName, header, uri::Authority},
    middleware::Next,
    response::{IntoResponse, Response},
};

use super::RequestError;
use plaudit_catalogue::settings::HostName;
use plaudit_graphql::{ApiError, Code};

/// Longest part of a refused header that the error repeats, in characters.
const SHOWN: usize = 64;

const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// Why a request is refused.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
enum Refusal {
    #[error("development addresses need a Host header")]
    NoHost,
    #[error(
        "development addresses answer to names of this machine only, such as localhost, not to {0:?}; \
         dev_hosts allows more names"
    )]
    Host(String),
    #[error(
        "development addresses do not answer requests that a proxy passes on; this one has the header {0}"
    )]
    PassedOn(HeaderName),
    #[error("development addresses do not answer pages of other origins; this one is of {0:?}")]
    OtherOrigin(String),
}

/// Middleware: answers 403 if the request does not come from this machine. `named` are further hosts that may be named.
pub async fn only_from_here(State(named): State<Vec<HostName>>, request: Request, next: Next) -> Response {
    match check(request.uri().authority(), request.headers(), &named) {
        Ok(()) => next.run(request).await,
        Err(refusal) => RequestError::of(ApiError::new(Code::Forbidden, refusal.to_string())).into_response(),
    }
}

/// `target`: the authority of the request's target, which HTTP/2 has instead of the header.
fn check(target: Option<&Authority>, headers: &HeaderMap, named: &[HostName]) -> Result<(), Refusal> {
    if let Some(name) = headers.keys().find(|name| is_of_a_proxy(name)) {
        return Err(Refusal::PassedOn(name.clone()));
    }
    let host = match target {
        Some(target) => target.clone(),
        None => host_header(headers)?,
    };
    if !is_loopback(host.host()) && !named.iter().any(|name| name.is(host.host())) {
        return Err(Refusal::Host(shown(host.as_str())));
    }
    let origins = headers.get_all(header::ORIGIN).iter().map(text);
    if let Some(other) = origins.into_iter().find(|origin| !is_page_of(&host, origin)) {
        return Err(Refusal::OtherOrigin(shown(&other)));
    }
    // Sent also where there is no Origin: with a link, an image or a form of another site.
    let sites = headers.get_all(SEC_FETCH_SITE).iter().map(text);
    match sites.into_iter().find(|site| !matches!(site.as_str(), "same-origin" | "none")) {
        Some(site) => Err(Refusal::OtherOrigin(shown(&site))),
        None => Ok(()),
    }
}

fn is_of_a_proxy(name: &HeaderName) -> bool {
    matches!(*name, header::FORWARDED | header::VIA)
        || name.as_str().starts_with("x-forwarded-")
        || name.as_str() == "x-real-ip"
}

fn host_header(headers: &HeaderMap) -> Result<Authority, Refusal> {
    let mut hosts = headers.get_all(header::HOST).iter().map(text);
    match (hosts.next(), hosts.next()) {
        (Some(host), None) => host.parse().map_err(|_| Refusal::Host(shown(&host))),
        (None, _) => Err(Refusal::NoHost),
        (Some(_), Some(second)) => Err(Refusal::Host(shown(&second))),
    }
}

/// RFC 6761: `localhost` and names under it are loopback addresses, and nobody can register them.
fn is_loopback(host: &str) -> bool {
    let name = host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase();
    let address = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(&name);
    match address.parse::<IpAddr>() {
        Ok(address) => address.to_canonical().is_loopback(),
        Err(_) => name == "localhost" || name.ends_with(".localhost"),
    }
}

/// Whether this origin is the one of pages at this host. The server speaks HTTP; a tunnel may make it HTTPS.
fn is_page_of(host: &Authority, origin: &str) -> bool {
    let origin = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
    origin.is_some_and(|origin| origin.eq_ignore_ascii_case(host.as_str()))
}

fn text(value: &axum::http::HeaderValue) -> String {
    String::from_utf8_lossy(value.as_bytes()).into_owned()
}

fn shown(text: &str) -> String {
    text.chars().take(SHOWN).collect()
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    fn checked(headers: &[(&'static str, &'static str)]) -> Result<(), Refusal> {
        let named = ["my-laptop.local".parse().unwrap()];
        let headers = headers
            .iter()
            .map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)));
        let mut map = HeaderMap::new();
        map.extend(headers);
        check(None, &map, &named)
    }

    #[test]
    fn names_of_this_machine_and_of_the_setting_are_answered_at_any_port() {
        for host in [
            "localhost",
            "LOCALHOST:8080",
            "localhost.:1",
            "app.localhost:3000",
            "127.0.0.1:49152",
            "127.8.8.8",
            "[::1]:8080",
            "[::ffff:127.0.0.1]",
            "my-laptop.local",
            "My-Laptop.Local:8080",
        ] {
            assert_eq!(checked(&[("host", host)]), Ok(()), "{host}");
        }
    }

    #[test]
    fn any_other_host_is_refused_with_its_name() {
        for host in [
            "evil.example",
            "evil.example:8080",
            "localhost.evil.example",
            "evillocalhost",
            "127.0.0.1.evil.example",
            "0.0.0.0:8080",
            "192.0.2.7",
            "[::]",
            "x.my-laptop.local",
        ] {
            assert_eq!(checked(&[("host", host)]), Err(Refusal::Host(host.to_owned())), "{host}");
        }
        assert_eq!(checked(&[]), Err(Refusal::NoHost));
        assert!(checked(&[("host", "localhost"), ("host", "evil.example")]).is_err());
        assert!(checked(&[("host", "")]).is_err());
        let in_target = Authority::from_static("evil.example");
        let headers = [(header::HOST, HeaderValue::from_static("localhost"))].into_iter().collect();
        assert_eq!(check(Some(&in_target), &headers, &[]), Err(Refusal::Host("evil.example".to_owned())));
    }

    #[test]
    fn pages_of_other_origins_are_refused_and_the_own_are_answered() {
        let of = |name, value| checked(&[("host", "localhost:8080"), (name, value)]);
        for own in ["http://localhost:8080", "https://localhost:8080"] {
            assert_eq!(of("origin", own), Ok(()), "{own}");
        }
        for other in
            ["http://localhost:5173", "http://evil.example", "null", "http://localhost", "localhost:8080"]
        {
            assert_eq!(of("origin", other), Err(Refusal::OtherOrigin(other.to_owned())), "{other}");
        }
        for own in ["same-origin", "none"] {
            assert_eq!(of("sec-fetch-site", own), Ok(()), "{own}");
        }
        for other in ["cross-site", "same-site", ""] {
            assert!(of("sec-fetch-site", other).is_err(), "{other}");
        }
    }

    #[test]
    fn what_a_proxy_passes_on_is_refused() {
        for name in ["forwarded", "via", "x-forwarded-for", "x-forwarded-proto", "x-real-ip"] {
            let refused = checked(&[("host", "localhost"), (name, "192.0.2.7")]);
            assert_eq!(refused, Err(Refusal::PassedOn(HeaderName::from_static(name))), "{name}");
        }
    }
}
