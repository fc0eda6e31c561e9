//! Addresses to which plain HTTP may go: addresses of this machine and of private networks.

use std::{
    net::{IpAddr, SocketAddr},
    sync::LazyLock,
};

use ipnet::IpNet;
use reqwest::{
    Url,
    dns::{Addrs, Name, Resolve, Resolving},
};

/// Loopback and private networks (RFC 1918, RFC 4193). Link-local ones have services of cloud providers that
/// give away secrets.
static PRIVATE: LazyLock<Vec<IpNet>> = LazyLock::new(|| {
    let networks = ["127.0.0.0/8", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "::1/128", "fc00::/7"];
    networks.iter().filter_map(|network| network.parse().ok()).collect()
});

/// Services of a cloud provider in a private network: EC2 has its metadata at fd00:ec2::254.
static CLOUD: LazyLock<Option<IpNet>> = LazyLock::new(|| "fd00:ec2::/32".parse().ok());

fn is_private(address: IpAddr) -> bool {
    let address = address.to_canonical();
    let contains = |network: &IpNet| network.contains(&address);
    PRIVATE.iter().any(contains) && !CLOUD.iter().any(contains)
}

/// Whether a URL is encrypted, or its host is a private address, or a name, which [`PrivateAddresses`] then
/// checks at each connection.
pub fn is_encrypted_or_private(url: &Url) -> bool {
    match url.scheme() {
        "https" => true,
        "http" => url.host_str().is_some_and(is_private_host),
        _ => false,
    }
}

fn is_private_host(host: &str) -> bool {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    bare.parse().map_or(!bare.is_empty(), is_private)
}

/// Resolves names to private addresses only, at each connection: a name may point elsewhere later.
#[derive(Clone, Copy, Debug)]
pub struct PrivateAddresses;

impl Resolve for PrivateAddresses {
    fn resolve(&self, name: Name) -> Resolving {
        Box::pin(async move {
            let found = tokio::net::lookup_host((name.as_str(), 0)).await?;
            Ok(Box::new(only_private(name.as_str(), found)?.into_iter()) as Addrs)
        })
    }
}

fn only_private(name: &str, found: impl Iterator<Item = SocketAddr>) -> Result<Vec<SocketAddr>, String> {
    let private: Vec<SocketAddr> = found.filter(|address| is_private(address.ip())).collect();
    if private.is_empty() {
        return Err(format!("{name} has no private address, and plain http goes to private addresses only"));
    }
    Ok(private)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn public_addresses_are_told_from_private_ones() {
        for host in [
            "127.0.0.1",
            "10.1.2.3",
            "172.31.0.1",
            "192.168.0.9",
            "[::1]",
            "[fd00::1]",
            "[fd00:ec3::1]",
            "[::ffff:10.0.0.1]",
            "app",
        ] {
            assert!(is_private_host(host), "{host}");
        }
        for host in [
            "",
            "8.8.8.8",
            "172.32.0.1",
            "[2001:db8::1]",
            "[::ffff:8.8.8.8]",
            "0.0.0.0",
            "169.254.169.254",
            "[fe80::1]",
            "[fd00:ec2::254]",
            "[fd00:0ec2:0:0::23]",
        ] {
            assert!(!is_private_host(host), "{host}");
        }
    }

    /// The whole way of the reason, from the resolver to the caller.
    #[tokio::test]
    async fn a_name_that_points_elsewhere_is_refused_with_the_reason() {
        struct Elsewhere;
        impl Resolve for Elsewhere {
            fn resolve(&self, name: Name) -> Resolving {
                let found = ["169.254.169.254:0", "8.8.8.8:0"].map(|address| address.parse().unwrap());
                let found = only_private(name.as_str(), found.into_iter());
                Box::pin(async { Ok(Box::new(found?.into_iter()) as Addrs) })
            }
        }
        let client = crate::builder(false).dns_resolver(std::sync::Arc::new(Elsewhere)).build().unwrap();
        let error = client.get("http://app.example/").send().await.unwrap_err();
        let expected = "app.example has no private address, and plain http goes to private addresses only";
        assert_eq!(crate::root_cause(error), expected);
    }

    #[tokio::test]
    async fn names_of_this_machine_resolve() {
        let found = PrivateAddresses.resolve("localhost".parse().unwrap()).await.unwrap();
        assert!(found.count() > 0);
    }
}
