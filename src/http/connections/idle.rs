//! Connections without a request, one of which makes room if no more connections may be open.
//!
//! The address with most connections loses the one that has been idle for longest, so nobody keeps others out with
//! connections that are not used.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet, HashMap},
    net::IpAddr,
};

use ipnet::IpNet;
use tokio_util::sync::CancellationToken;

use plaudit_catalogue::primitives::site_of;
use plaudit_domain::Held;

/// Orders connections by when they became idle.
pub type IdleKey = u64;

/// Open connections by who has them: an address, or all of an IPv6 site.
#[derive(Default)]
pub struct Idle {
    owners: HashMap<IpNet, ConnectionOwner>,
    /// The addresses with most connections last; of equal ones, the address that has had so many for longest.
    by_number: BTreeSet<(u32, Reverse<u64>, IpNet)>,
    steps: u64,
}

#[derive(Default)]
struct ConnectionOwner {
    open: u32,
    /// The step at which it had that many.
    since: u64,
    idle: BTreeMap<IdleKey, IdleConnection>,
}

/// A connection that can be closed, because it has no request.
pub struct IdleConnection {
    pub address: IpAddr,
    /// What it holds of the payers.
    pub held: Held,
    /// Cancelled when the connection has to close.
    pub close: CancellationToken,
}

impl Idle {
    pub fn opened(&mut self, address: IpAddr) {
        self.count(address, |open| open + 1);
    }

    pub fn closed(&mut self, address: IpAddr) {
        self.count(address, |open| open - 1);
    }

    fn count(&mut self, address: IpAddr, change: impl FnOnce(u32) -> u32) {
        let site = site_of(address);
        self.steps += 1;
        let owner = self.owners.entry(site).or_default();
        self.by_number.remove(&(owner.open, Reverse(owner.since), site));
        (owner.open, owner.since) = (change(owner.open), self.steps);
        if owner.open == 0 {
            self.owners.remove(&site);
        } else {
            self.by_number.insert((owner.open, Reverse(owner.since), site));
        }
    }

    /// An open connection is idle from now on.
    pub fn begins(&mut self, connection: IdleConnection) -> IdleKey {
        self.steps += 1;
        if let Some(owner) = self.owners.get_mut(&site_of(connection.address)) {
            owner.idle.insert(self.steps, connection);
        }
        self.steps
    }

    /// It has a request, or ends. `None` if it has made room.
    pub fn ends(&mut self, address: IpAddr, key: IdleKey) -> Option<IdleConnection> {
        self.owners.get_mut(&site_of(address))?.idle.remove(&key)
    }

    /// The connection that makes room for one of `newcomer`: one of an owner who has more than the newcomer's,
    /// or of that owner. It still counts as open.
    pub fn make_room(&mut self, newcomer: Option<IpAddr>) -> Option<IdleConnection> {
        let own = newcomer.map(site_of);
        let has = own.and_then(|own| self.owners.get(&own)).map_or(0, |owner| owner.open);
        let more = self.by_number.iter().rev().take_while(|(open, ..)| *open > has);
        for site in more.map(|(.., site)| *site).chain(own) {
            let idle = self.owners.get_mut(&site).and_then(|owner| owner.idle.pop_first());
            if let Some((_, connection)) = idle {
                return Some(connection);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use plaudit_catalogue::settings::RateSettings;
    use plaudit_domain::{Holding, Most, Payers};

    fn idle_connection(address: IpAddr) -> IdleConnection {
        let payers = Payers::new(&RateSettings::unlimited(), 0);
        let payer = Arc::new(payers.payer_of_address(Some(address)));
        let held = payer.take(Holding::Connections, 1, Most { in_all: 1, of_one: 1 }).unwrap();
        IdleConnection { address, held, close: CancellationToken::new() }
    }

    /// Opens connections that are idle at once.
    fn open(idle: &mut Idle, address: &str, times: usize) -> Vec<(IpAddr, IdleKey)> {
        let address = address.parse().unwrap();
        let connect = |_| {
            idle.opened(address);
            (address, idle.begins(idle_connection(address)))
        };
        (0..times).map(connect).collect()
    }

    /// Who makes room, and does so.
    fn room(idle: &mut Idle, newcomer: &str) -> Option<String> {
        let connection = idle.make_room(Some(newcomer.parse().unwrap()))?;
        idle.closed(connection.address);
        Some(connection.address.to_string())
    }

    #[test]
    fn whoever_has_most_makes_room_until_the_newcomer_has_as_many() {
        let mut idle = Idle::default();
        open(&mut idle, "192.0.2.1", 3);
        open(&mut idle, "192.0.2.2", 5);
        let made: Vec<_> = (0..4).map(|_| room(&mut idle, "192.0.2.9").unwrap()).collect();
        assert_eq!(made, ["192.0.2.2", "192.0.2.2", "192.0.2.1", "192.0.2.2"]);
        open(&mut idle, "192.0.2.9", 2);
        assert_eq!(room(&mut idle, "192.0.2.9").as_deref(), Some("192.0.2.9"), "nobody has more than two");
        assert_eq!(room(&mut idle, "192.0.2.8").as_deref(), Some("192.0.2.1"), "it has had two for longest");
    }

    #[test]
    fn the_one_that_is_idle_for_longest_makes_room_and_one_with_a_request_does_not() {
        let mut idle = Idle::default();
        let keys = open(&mut idle, "192.0.2.1", 3);
        let (address, first) = keys[0];
        idle.ends(address, first);
        let again = idle.begins(idle_connection(address));
        idle.ends(address, keys[1].1);
        let closed: Vec<_> = (0..3).map_while(|_| idle.make_room(None)).collect();
        assert_eq!(closed.len(), 2, "the other has a request");
        assert!(again > keys[2].1);
        assert_eq!(room(&mut idle, "192.0.2.2"), None);
    }

    #[test]
    fn an_ipv6_site_counts_as_one_and_nobody_is_kept() {
        let mut idle = Idle::default();
        let mut all = open(&mut idle, "192.0.2.1", 2);
        for host in 1..=3 {
            all.extend(open(&mut idle, &format!("2001:db8:1:{host}::1"), 1));
        }
        assert_eq!(room(&mut idle, "192.0.2.2").as_deref(), Some("2001:db8:1:1::1"));
        all.remove(2);
        for (address, key) in all {
            idle.ends(address, key);
            idle.closed(address);
        }
        assert_eq!((idle.owners.len(), idle.by_number.len()), (0, 0));
    }
}
