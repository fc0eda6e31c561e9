//! How Redis is deployed, as `redis_url` says: one server, a cluster, or servers behind Sentinel.
//!
//! - `redis://user:password@host:port`, `rediss://…` with TLS, `redis+unix:///path`: one server
//! - `redis+cluster://user:password@a:1,b:2,c:3`: some nodes of a cluster, which name the others
//! - `redis+sentinel://user:password@a:1,b:2/name`: Sentinels, and the name of the master that they watch
//!
//! `rediss+cluster` and `rediss+sentinel` are the same with TLS. User and password are for Redis; a Sentinel that
//! wants a login must accept the same.

use std::fmt;

use redis::{Client, ConnectionAddr, ConnectionInfo, RedisConnectionInfo};

use super::server::{self, CertificateFiles};
use crate::{StoreError, StoreResult};

/// Where the master of each shard is asked for.
#[derive(Debug)]
pub enum Deployment {
    Server(Client),
    Cluster(Members),
    Sentinel {
        sentinels: Members,
        /// Name of the master.
        name: String,
    },
}

/// Servers that know where masters are.
#[derive(Debug)]
pub struct Members {
    pub addresses: Vec<Address>,
    /// What connections to nodes have in common.
    template: ConnectionInfo,
}

/// Host and port.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Address {
    pub host: String,
    pub port: u16,
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

/// Port of Redis where the URL has none.
const REDIS_PORT: u16 = 6379;
/// Port of Sentinel where the URL has none.
const SENTINEL_PORT: u16 = 26379;

impl Deployment {
    /// Whether the URL names a cluster.
    pub fn is_cluster(url: &str) -> bool {
        url.split_once("://").is_some_and(|(scheme, _)| scheme.ends_with("+cluster"))
    }

    /// # Errors
    /// [`StoreError::Misconfigured`] that names what is wrong with the URL or a file.
    pub fn parse(url: &str, files: CertificateFiles<'_>) -> StoreResult<Self> {
        let Some((scheme, rest)) = url.split_once("://") else {
            return Err(wrong("it has no scheme such as redis://"));
        };
        match scheme {
            "redis+cluster" | "rediss+cluster" => {
                Ok(Self::Cluster(members(scheme, rest, REDIS_PORT, files)?.0))
            }
            "redis+sentinel" | "rediss+sentinel" => {
                let (sentinels, path) = members(scheme, rest, SENTINEL_PORT, files)?;
                if path.is_empty() {
                    return Err(wrong(
                        "redis+sentinel:// needs the master's name at its end, such as /mymaster",
                    ));
                }
                Ok(Self::Sentinel { sentinels, name: path })
            }
            _ => Ok(Self::Server(server::client(url, files)?)),
        }
    }
}

impl Deployment {
    /// A client of a server that another one has named, with the user, password and TLS of the URL.
    pub fn client_of(&self, server: &Address) -> StoreResult<Client> {
        match self {
            Self::Server(client) => client_at(client.get_connection_info(), server),
            Self::Cluster(members) | Self::Sentinel { sentinels: members, .. } => members.client(server),
        }
    }
}

impl Members {
    /// A client of a node with the user, password and TLS of the URL.
    pub fn client(&self, node: &Address) -> StoreResult<Client> {
        client_at(&self.template, node)
    }

    /// A client of a node with the TLS of the URL, and without its user and password.
    pub fn client_without_login(&self, node: &Address) -> StoreResult<Client> {
        client_at(&self.template.clone().set_redis_settings(RedisConnectionInfo::default()), node)
    }
}

fn client_at(template: &ConnectionInfo, server: &Address) -> StoreResult<Client> {
    let addr = match template.addr() {
        ConnectionAddr::TcpTls { insecure, tls_params, .. } => ConnectionAddr::TcpTls {
            host: server.host.clone(),
            port: server.port,
            insecure: *insecure,
            tls_params: tls_params.clone(),
        },
        _ => ConnectionAddr::Tcp(server.host.clone(), server.port),
    };
    Ok(Client::open(template.clone().set_addr(addr))?)
}

/// The servers of `user:password@a:1,b:2/path`, and the path.
fn members(
    scheme: &str,
    rest: &str,
    port: u16,
    files: CertificateFiles<'_>,
) -> StoreResult<(Members, String)> {
    let (login, rest) = rest.rsplit_once('@').map_or(("", rest), |(login, rest)| (login, rest));
    let (hosts, path) = rest.split_once('/').unwrap_or((rest, ""));
    let addresses = hosts.split(',').map(|host| address(host, port)).collect::<StoreResult<Vec<_>>>()?;
    let first = addresses.first().ok_or_else(|| wrong("it has no host"))?;
    let plain = scheme.split('+').next().unwrap_or_default();
    let at = if login.is_empty() { "" } else { "@" };
    let host = if first.host.contains(':') { format!("[{}]", first.host) } else { first.host.clone() };
    let template = server::client(&format!("{plain}://{login}{at}{host}:{}", first.port), files)?;
    Ok((Members { template: template.get_connection_info().clone(), addresses }, path.to_owned()))
}

/// `host`, `host:port`, `[::1]` or `[::1]:port`.
fn address(text: &str, default: u16) -> StoreResult<Address> {
    let is_port = |port: &str| !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
    let (host, port) = match text.rsplit_once(':') {
        Some((host, port)) if is_port(port) && (!host.contains(':') || host.ends_with(']')) => {
            (host, port.parse().map_err(|_| wrong("a port is above 65535"))?)
        }
        _ => (text, default),
    };
    if host.is_empty() {
        return Err(wrong("one of its hosts is empty"));
    }
    Ok(Address { host: host.trim_matches(['[', ']']).to_owned(), port })
}

fn wrong(what: &str) -> StoreError {
    StoreError::Misconfigured(format!("this URL is not one of Redis: {what}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(url: &str) -> StoreResult<Deployment> {
        Deployment::parse(url, CertificateFiles::default())
    }

    fn address_of(host: &str, port: u16) -> Address {
        Address { host: host.to_owned(), port }
    }

    #[test]
    fn a_url_names_a_server_a_cluster_or_sentinels() {
        assert!(matches!(parse("redis://127.0.0.1:7000"), Ok(Deployment::Server(_))));
        assert!(matches!(parse("redis+unix:///run/redis.sock"), Ok(Deployment::Server(_))));
        let Ok(Deployment::Cluster(nodes)) = parse("redis+cluster://me:secret@a:1,b,[::1]:3") else {
            panic!("no cluster");
        };
        assert_eq!(nodes.addresses, [address_of("a", 1), address_of("b", 6379), address_of("::1", 3)]);
        let client = nodes.client(&address_of("c", 9)).unwrap();
        assert_eq!(client.get_connection_info().addr().to_string(), "c:9");
        assert_eq!(client.get_connection_info().redis_settings().username(), Some("me"));
        let Ok(Deployment::Sentinel { sentinels, name }) = parse("redis+sentinel://a,b:2/mymaster") else {
            panic!("no sentinels");
        };
        assert_eq!(sentinels.addresses, [address_of("a", 26379), address_of("b", 2)]);
        assert_eq!(name, "mymaster");
    }

    #[test]
    fn a_wrong_url_is_refused_with_the_reason() {
        for (url, reason) in [
            ("127.0.0.1:6379", "no scheme"),
            ("redis+sentinel://a:1", "master's name"),
            ("redis+cluster://a:1,,b:2", "empty"),
            ("redis+cluster://a:70000", "above 65535"),
        ] {
            let error = parse(url).unwrap_err().to_string();
            assert!(error.contains(reason), "{url}: {error}");
        }
    }
}
