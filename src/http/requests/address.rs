//! Client address of a request, also behind trusted proxies. A client cannot forge it.
//!
//! Any client can send `X-Forwarded-For`, so only entries that a trusted proxy appended are believed. Each proxy
//! appends the address of its own client. The list is therefore read from its end, as long as the sender is a trusted
//! proxy.

use std::net::{IpAddr, SocketAddr};

use axum::{
    extract::ConnectInfo,
    http::{HeaderMap, HeaderName, request::Parts},
};
use ipnet::IpNet;

use crate::http::hints;

const FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
/// Most entries of the header that are read.
const MAX_HOPS: usize = 16;

/// Where a request comes from.
pub struct ClientAddress {
    pub address: IpAddr,
    /// Whether it is a trusted proxy that asks for itself: it forwards the request of nobody.
    pub is_proxy: bool,
    /// Whether a trusted proxy sends the request, for whomever.
    pub is_by_proxy: bool,
}

/// The address of the client, even if the request came through trusted proxies.
pub fn client_address(parts: &Parts, proxies: &[IpNet]) -> ClientAddress {
    let ConnectInfo(connected) = parts
        .extensions
        .get::<ConnectInfo<SocketAddr>>()
        .expect("`serve` records the address of each connection");
    let peer = connected.ip().to_canonical();
    let is_by_proxy = is_in(proxies, peer);
    let forwards = parts.headers.contains_key(FORWARDED_FOR);
    if forwards && !is_by_proxy {
        hints::forwarded_by(peer);
    }
    let address = client(proxies, peer, &parts.headers);
    ClientAddress { address, is_proxy: !forwards && is_by_proxy, is_by_proxy }
}

fn is_in(networks: &[IpNet], address: IpAddr) -> bool {
    networks.iter().any(|network| network.contains(&address))
}

/// The address from which the outermost trusted proxy got the request; `connected` if that is no trusted proxy.
fn client(proxies: &[IpNet], connected: IpAddr, headers: &HeaderMap) -> IpAddr {
    let mut client = connected.to_canonical();
    let forwarded = headers.get_all(FORWARDED_FOR).iter().rev();
    let hops = forwarded.flat_map(|value| value.to_str().unwrap_or("?").rsplit(','));
    for hop in hops.take(MAX_HOPS) {
        if !is_in(proxies, client) {
            break;
        }
        let Some(before) = parse(hop.trim()) else { break };
        client = before;
    }
    client
}

/// Some proxies also write the port.
fn parse(hop: &str) -> Option<IpAddr> {
    let bare = |text: &str| text.parse::<IpAddr>().ok();
    let with_port = || hop.parse::<SocketAddr>().ok().map(|address| address.ip());
    let bracketed = || bare(hop.strip_prefix('[')?.strip_suffix(']')?);
    bare(hop).or_else(with_port).or_else(bracketed).map(|address| address.to_canonical())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(trusted: &[&str], connected: &str, forwarded: &[&str]) -> String {
        let proxies: Vec<IpNet> = trusted.iter().map(|network| network.parse().unwrap()).collect();
        let mut headers = HeaderMap::new();
        for value in forwarded {
            headers.append(FORWARDED_FOR, value.parse().unwrap());
        }
        super::client(&proxies, connected.parse().unwrap(), &headers).to_string()
    }

    #[test]
    fn without_a_trusted_proxy_the_header_is_ignored() {
        assert_eq!(client(&[], "192.0.2.1", &["198.51.100.7"]), "192.0.2.1");
        assert_eq!(client(&["10.0.0.0/8"], "192.0.2.1", &["198.51.100.7"]), "192.0.2.1");
    }

    #[test]
    fn the_client_is_the_address_that_the_outermost_trusted_proxy_appended() {
        let inside = &["10.0.0.0/8", "2001:db8::/32"][..];
        for (forwarded, expected) in [
            (&["198.51.100.7"][..], "198.51.100.7"),
            (&["203.0.113.9, 198.51.100.7"], "198.51.100.7"), // the client forged the first one
            (&["198.51.100.7, 10.0.0.9"], "198.51.100.7"),
            (&["203.0.113.9", "198.51.100.7, 2001:db8::7"], "198.51.100.7"),
            (&["198.51.100.7:4711"], "198.51.100.7"),
            (&["[2001:db9::7]:4711"], "2001:db9::7"),
            (&["[2001:db9::7]"], "2001:db9::7"),
            (&["::ffff:198.51.100.7"], "198.51.100.7"),
            (&["10.0.0.8, 10.0.0.9"], "10.0.0.8"), // the client is in the trusted network
            (&[], "10.0.0.1"),
        ] {
            assert_eq!(client(inside, "10.0.0.1", forwarded), expected, "{forwarded:?}");
        }
        assert_eq!(client(inside, "::ffff:10.0.0.1", &["198.51.100.7"]), "198.51.100.7");
    }

    #[test]
    fn an_entry_that_is_no_address_ends_the_list() {
        for nonsense in ["", "unknown", "198.51.100.7, _hidden", "198.51.100.7,", "a\u{e4}"] {
            assert_eq!(client(&["10.0.0.0/8"], "10.0.0.1", &[nonsense]), "10.0.0.1", "{nonsense}");
        }
        let long = vec!["10.0.0.2"; 1_000].join(",");
        assert_eq!(client(&["10.0.0.0/8"], "10.0.0.1", &[&long]), "10.0.0.2");
    }
}
