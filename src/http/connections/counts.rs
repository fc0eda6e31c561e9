//! Counts of connections in all and per network, and their limits.

use std::{collections::HashMap, net::IpAddr};

use ipnet::IpNet;

use plaudit_catalogue::primitives::limited_networks;

/// The connections that are open. A network is counted as long as it has one.
#[derive(Default)]
pub struct ConnectionCounts {
    in_all: u32,
    by_network: HashMap<IpNet, u32>,
}

/// How many connections may be open.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Most {
    pub in_all: u32,
    pub per_address: u32,
}

/// The limit that does not allow one more connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Full {
    InAll,
    /// How many this network may have.
    OfNetwork(IpNet, u32),
}

impl ConnectionCounts {
    /// Counts one more connection. `address` is `None` if it counts for no address.
    ///
    /// # Errors
    /// As many are open as `most` allows. A network that is full comes first: room in all would not help it.
    pub fn open(&mut self, address: Option<IpAddr>, most: Most) -> Result<(), Full> {
        for (network, times) in limited_networks(address) {
            let most = most.per_address.saturating_mul(times);
            if self.by_network.get(&network).is_some_and(|open| *open >= most) {
                return Err(Full::OfNetwork(network, most));
            }
        }
        if self.in_all >= most.in_all {
            return Err(Full::InAll);
        }
        for (network, _) in limited_networks(address) {
            *self.by_network.entry(network).or_default() += 1;
        }
        self.in_all += 1;
        Ok(())
    }

    pub fn close(&mut self, address: Option<IpAddr>) {
        self.in_all -= 1;
        self.leave(address);
    }

    /// A connection of the address counts only in all from now on.
    pub fn leave(&mut self, address: impl Into<Option<IpAddr>>) {
        for (network, _) in limited_networks(address) {
            if let Some(open) = self.by_network.get_mut(&network) {
                *open -= 1;
                if *open == 0 {
                    self.by_network.remove(&network);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOST: Most = Most { in_all: 3, per_address: 2 };

    fn address(text: &str) -> Option<IpAddr> {
        Some(text.parse().unwrap())
    }

    #[test]
    fn connections_are_limited_per_network_and_in_all_and_closed_ones_do_not_count() {
        let [a, b, c] = ["10.0.0.1", "10.0.0.2", "10.0.0.3"].map(address);
        let mut counts = ConnectionCounts::default();
        for _ in 0..2 {
            assert_eq!([counts.open(a, MOST), counts.open(a, MOST)], [Ok(()); 2]);
            let of_a = Err(Full::OfNetwork("10.0.0.1/32".parse().unwrap(), 2));
            assert_eq!(counts.open(a, MOST), of_a);
            assert_eq!(counts.open(b, MOST), Ok(()));
            assert_eq!(counts.open(c, MOST), Err(Full::InAll));
            assert_eq!(counts.open(a, MOST), of_a, "also if no more may be open in all");
            counts.close(a);
            assert_eq!(counts.open(c, MOST), Ok(()));
            [a, b, c].into_iter().for_each(|address| counts.close(address));
            assert_eq!((counts.in_all, counts.by_network.len()), (0, 0), "no network is kept");
        }
    }

    #[test]
    fn a_connection_that_leaves_its_network_still_counts_in_all() {
        let a = "10.0.0.1".parse().unwrap();
        let mut counts = ConnectionCounts::default();
        for _ in 0..3 {
            counts.open(Some(a), MOST).unwrap();
            counts.leave(a);
        }
        assert_eq!(counts.open(Some(a), MOST), Err(Full::InAll));
        counts.close(None);
        assert_eq!(counts.open(None, MOST), Ok(()));
    }

    #[test]
    fn the_owner_of_an_ipv6_site_has_ten_times_the_limit_of_an_address() {
        let most = Most { in_all: 1_000, per_address: 2 };
        let mut counts = ConnectionCounts::default();
        let of_site = |host: u16| address(&format!("2001:db8:1:{host:x}::1"));
        for host in 0..10 {
            assert_eq!([counts.open(of_site(host), most), counts.open(of_site(host), most)], [Ok(()); 2]);
        }
        let full = Full::OfNetwork("2001:db8:1::/48".parse().unwrap(), 20);
        assert_eq!(counts.open(of_site(10), most), Err(full));
        assert_eq!(counts.open(address("2001:db8:2::1"), most), Ok(()));
        counts.close(of_site(3));
        assert_eq!(counts.open(of_site(10), most), Ok(()));
    }
}
