//! Counts of connections in all and per network, and their limits.

use std::{collections::HashMap, net::IpAddr};

/// The connections that are open. A network is counted as long as it has one.
#[derive(Default)]
pub struct Counts {
    in_all: u32,
    by_network: HashMap<IpAddr, u32>,
}

/// How many connections may be open.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Most {
    pub in_all: u32,
    pub per_network: u32,
}

/// The limit that does not allow one more connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Full {
    InAll,
    OfNetwork,
}

impl Counts {
    /// Counts one more connection. `network` is `None` if it counts for no network.
    ///
    /// # Errors
    /// As many are open as `most` allows.
    pub fn open(&mut self, network: Option<IpAddr>, most: Most) -> Result<(), Full> {
        if self.in_all >= most.in_all {
            return Err(Full::InAll);
        }
        if let Some(network) = network {
            let of_network = self.by_network.entry(network).or_default();
            if *of_network >= most.per_network {
                return Err(Full::OfNetwork);
            }
            *of_network += 1;
        }
        self.in_all += 1;
        Ok(())
    }

    pub fn close(&mut self, network: Option<IpAddr>) {
        self.in_all -= 1;
        if let Some(network) = network {
            self.leave(network);
        }
    }

    /// A connection of the network counts only in all from now on.
    pub fn leave(&mut self, network: IpAddr) {
        if let Some(of_network) = self.by_network.get_mut(&network) {
            *of_network -= 1;
            if *of_network == 0 {
                self.by_network.remove(&network);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOST: Most = Most { in_all: 3, per_network: 2 };

    #[test]
    fn connections_are_limited_per_network_and_in_all_and_closed_ones_do_not_count() {
        let [a, b, c] = ["10.0.0.1", "10.0.0.2", "10.0.0.3"].map(|address| Some(address.parse().unwrap()));
        let mut counts = Counts::default();
        for _ in 0..2 {
            assert_eq!([counts.open(a, MOST), counts.open(a, MOST)], [Ok(()); 2]);
            assert_eq!(counts.open(a, MOST), Err(Full::OfNetwork));
            assert_eq!(counts.open(b, MOST), Ok(()));
            assert_eq!(counts.open(c, MOST), Err(Full::InAll));
            counts.close(a);
            assert_eq!(counts.open(c, MOST), Ok(()));
            [a, b, c].into_iter().for_each(|network| counts.close(network));
            assert_eq!((counts.in_all, counts.by_network.len()), (0, 0), "no network is kept");
        }
    }

    #[test]
    fn a_connection_that_leaves_its_network_still_counts_in_all() {
        let network = "10.0.0.1".parse().unwrap();
        let mut counts = Counts::default();
        for _ in 0..3 {
            counts.open(Some(network), MOST).unwrap();
            counts.leave(network);
        }
        assert_eq!(counts.open(Some(network), MOST), Err(Full::InAll));
        counts.close(None);
        assert_eq!(counts.open(None, MOST), Ok(()));
    }
}
