//! Addresses to which plain HTTP may go: those of this machine and of private networks.

use std::{
    net::{IpAddr, SocketAddr},
    sync::LazyLock,
};

use ipnet::IpNet;
use reqwest::{
    Url,
    dns::{Addrs, Name, Resolve, Resolving},
};

/// Loopback and private networks (RFC 1918, RFC 4193). Link-local ones have services of cloud providers that give away secrets.
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

/// Whether a URL is encrypted, or its host is a private address, or a name, which [`PrivateAddresses`] then checks at each
/// connection.
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
            let private: Vec<SocketAddr> = found.filter(|address| is_private(address.ip())).collect();
            if private.is_empty() {
                return Err("it has no private address, and plain http goes to private addresses only".into());
            }
            Ok(Box::new(private.into_iter()) as Addrs)
        })
    }
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

    #[tokio::test]
    async fn names_of_this_machine_resolve() {
        let found = PrivateAddresses.resolve("localhost".parse().unwrap()).await.unwrap();
        assert!(found.count() > 0);
    }
}
