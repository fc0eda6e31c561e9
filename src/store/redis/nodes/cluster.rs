//! Questions to a Redis Cluster and to Sentinel: which node has a slot, which server is the master.

use redis::{Client, RedisResult};

use super::{
    deployment::{Address, Members},
    node::Node,
};
use crate::{StoreError, StoreResult, redis::tags::SLOTS};

/// The owner of each slot. Where nodes disagree, the claim with the higher configuration epoch holds, as among the
/// nodes themselves.
#[derive(Default, Debug)]
pub struct SlotOwners {
    claims: Vec<Claim>,
}

/// A node that claims slots.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Claim {
    config_epoch: u64,
    address: Address,
    /// First and last slot of each range.
    ranges: Vec<(u16, u16)>,
}

impl SlotOwners {
    /// The owner of a slot, if one is known.
    pub fn of(&self, slot: u16) -> Option<&Address> {
        let has = |claim: &&Claim| claim.ranges.iter().any(|(first, last)| (*first..=*last).contains(&slot));
        self.claims.iter().filter(has).max_by_key(|claim| claim.config_epoch).map(|claim| &claim.address)
    }

    pub fn merge(&mut self, other: Self) {
        self.claims.extend(other.claims);
    }

    pub fn is_empty(&self) -> bool {
        self.claims.is_empty()
    }

    /// Reads the answer to CLUSTER NODES of the node at `asked`: per line id, address, flags, master, ping, pong,
    /// configuration epoch, state of the link, and slots.
    fn read(answer: &str, asked: &str) -> StoreResult<Self> {
        let mut claims = Vec::new();
        for line in answer.lines() {
            let words: Vec<&str> = line.split(' ').collect();
            let [_, at, flags, _, _, _, config_epoch, _, slots @ ..] = &words[..] else {
                return Err(StoreError::Unexpected(format!("CLUSTER NODES has {line:?}")));
            };
            let ranges: Vec<(u16, u16)> = slots.iter().filter_map(|slots| range(slots)).collect();
            let has_flag = |flag: &str| flags.split(',').any(|has| has == flag);
            if ranges.is_empty() || !has_flag("master") || has_flag("noaddr") {
                continue;
            }
            let address = address(at, asked)
                .ok_or_else(|| StoreError::Unexpected(format!("CLUSTER NODES has the address {at:?}")))?;
            claims.push(Claim { config_epoch: config_epoch.parse().unwrap_or_default(), address, ranges });
        }
        Ok(Self { claims })
    }
}

/// A range of slots such as `5` or `0-5460`; `None` for a slot that is on its way, `[5->-…]`.
fn range(text: &str) -> Option<(u16, u16)> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    Some((first.parse().ok()?, last.parse().ok()?)).filter(|(_, last)| *last < SLOTS)
}

/// `ip:port@busport` or `ip:port@busport,hostname`. A host name is preferred: certificates name it. A node that does
/// not know its own address has none: it is the one that was asked.
fn address(text: &str, asked: &str) -> Option<Address> {
    let (at, host_name) = text.split_once(',').unwrap_or((text, ""));
    let host_name = host_name.split(',').next().unwrap_or_default();
    let (ip, port) = at.split('@').next()?.rsplit_once(':')?;
    let port = port.parse().ok()?;
    let host = match (host_name, ip) {
        ("" | "?", "") => asked.rsplit_once(':')?.0,
        ("" | "?", ip) => ip,
        (name, _) => name,
    };
    Some(Address { host: host.to_owned(), port })
}

/// The owners of slots, as a node knows them.
pub async fn slot_owners(node: &Node) -> StoreResult<SlotOwners> {
    SlotOwners::read(&nodes_known_to(node).await?, &node.address())
}

/// The address of the node with this id, if a node knows it.
pub async fn address_of(node: &Node, id: &str) -> StoreResult<Option<Address>> {
    let answer = nodes_known_to(node).await?;
    let mut lines = answer.lines().map(|line| line.split(' '));
    let at = lines.find_map(|mut words| (words.next() == Some(id)).then(|| words.next())?);
    Ok(at.and_then(|at| address(at, &node.address())))
}

async fn nodes_known_to(node: &Node) -> StoreResult<String> {
    let mut connection = node.dedicated().await?;
    let answer: redis::RedisResult<String> =
        redis::cmd("CLUSTER").arg("NODES").query_async(&mut connection).await;
    match answer {
        Ok(answer) => Ok(answer),
        Err(error) if error.to_string().contains("cluster support disabled") => {
            let what = "this is a single server and no cluster: name it with redis://host:port";
            Err(StoreError::Misconfigured(what.into()))
        }
        Err(error) => Err(error.into()),
    }
}

/// Address of the master of this name, as a Sentinel knows it. Sentinels refuse logins that they do not know, and most
/// have none, so the user and password of Redis are only named to one that wants them.
pub async fn master_by_sentinel(sentinels: &Members, sentinel: &Address, name: &str) -> StoreResult<Address> {
    let answer = match ask_sentinel(sentinels.client_without_login(sentinel)?, name).await? {
        Err(error) if error.code() == Some("NOAUTH") => {
            ask_sentinel(sentinels.client(sentinel)?, name).await?
        }
        answer => answer,
    };
    let answer = match answer {
        Err(error) if error.to_string().contains("unknown command") => {
            let what = "this is no Sentinel: name Sentinels with redis+sentinel://host:port/name, or Redis with redis://";
            return Err(StoreError::Misconfigured(what.into()));
        }
        answer => answer?,
    };
    let (host, port) =
        answer.ok_or_else(|| StoreError::Misconfigured(format!("Sentinel knows no master {name:?}")))?;
    Ok(Address { host, port })
}

async fn ask_sentinel(client: Client, master: &str) -> StoreResult<RedisResult<Option<(String, u16)>>> {
    let mut connection = Node::new(client)?.dedicated().await?;
    let mut ask = redis::cmd("SENTINEL");
    ask.arg("get-master-addr-by-name").arg(master);
    Ok(ask.query_async(&mut connection).await)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANSWER: &str = "\
07c37dfeb235213a872192d90877d0cd55635b91 127.0.0.1:30004@31004,hostname4 slave \
e7d1eecce10fd6bb5eb35b9f99a514335d9ba9ca 0 1426238317239 4 connected
67ed2db8d677e59ec4a4cefb06858cf2a1a89fa1 127.0.0.1:30002@31002, master - 0 1426238316232 2 connected 5461-10922
292f8b365bb7edb5e285caf0b7e6ddc7265d2f4f 127.0.0.1:30003@31003,hostname3 \
master - 0 1426238318243 3 connected 10923-16383
e7d1eecce10fd6bb5eb35b9f99a514335d9ba9ca :30001@31001 myself,master - 0 0 1 connected 0-5459 5460 \
[93-<-292f8b365bb7edb5e285caf0b7e6ddc7265d2f4f]
";

    fn owner(owners: &SlotOwners, slot: u16) -> Option<String> {
        owners.of(slot).map(Address::to_string)
    }

    #[test]
    fn each_slot_has_the_owner_that_the_node_names() {
        let owners = SlotOwners::read(ANSWER, "10.0.0.1:30001").unwrap();
        assert_eq!(owner(&owners, 5_460), Some("10.0.0.1:30001".into()));
        assert_eq!(owner(&owners, 5_461), Some("127.0.0.1:30002".into()));
        assert_eq!(owner(&owners, 16_383), Some("hostname3:30003".into()));
    }

    #[test]
    fn of_two_claims_the_newer_one_holds() {
        let mut owners = SlotOwners::read(ANSWER, "10.0.0.1:30001").unwrap();
        let promoted = "a 127.0.0.1:30004@31004 myself,master - 0 0 5 connected 10923-16383\n";
        owners.merge(SlotOwners::read(promoted, "127.0.0.1:30004").unwrap());
        assert_eq!(owner(&owners, 16_383), Some("127.0.0.1:30004".into()));
    }

    #[test]
    fn nonsense_is_an_error() {
        assert!(SlotOwners::read("one two", "a:1").is_err());
        assert!(SlotOwners::read("id noport master - 0 0 1 connected 5", "a:1").is_err());
    }
}
