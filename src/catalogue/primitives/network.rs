//! Networks of an address: the units of limits per address.

use std::{iter::once, net::IpAddr};

use ipnet::IpNet;

/// Bits of the network of an IPv6 host, and of the largest that a site usually gets (RFC 6177).
const HOST: u8 = 64;
const SITE: u8 = 48;
/// How many times the limit of one address all of a site have.
const TIMES_OF_SITE: u16 = 10;

/// The address itself; for IPv6 its /64 network, because a host can use every address of it (RFC 4291, section 2.5.1).
pub fn network_of(address: IpAddr) -> IpAddr {
    network(address, HOST).addr()
}

/// All addresses that one owner usually has: for IPv6 the /48 network, else the address itself.
pub fn site_of(address: IpAddr) -> IpNet {
    network(address, SITE)
}

/// Whose share of the work an address takes: its network's. An IPv6 site has at most ten such shares.
pub fn sharer_of(address: IpAddr) -> IpAddr {
    let IpAddr::V6(network) = network_of(address) else { return address.to_canonical() };
    let [a, b, c, host, ..] = network.segments();
    [a, b, c, host % TIMES_OF_SITE, 0, 0, 0, 0].into()
}

/// The networks whose use is limited, and how many times the limit of an address each has. For IPv6 its site, too: else
/// the owner of one has 65,536 limits. None without an address.
pub fn limited_networks(address: impl Into<Option<IpAddr>>) -> impl Iterator<Item = (IpNet, u32)> {
    address.into().into_iter().flat_map(|address| {
        let (host, site) = (network(address, HOST), site_of(address));
        once((host, 1)).chain((site != host).then_some((site, u32::from(TIMES_OF_SITE))))
    })
}

fn network(address: IpAddr, bits: u8) -> IpNet {
    let address = address.to_canonical();
    if address.is_ipv6() { IpNet::new_assert(address, bits).trunc() } else { address.into() }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    fn networks(address: &str) -> Vec<(String, u32)> {
        limited_networks(address.parse::<IpAddr>().unwrap())
            .map(|(network, times)| (network.to_string(), times))
            .collect()
    }

    #[test]
    fn ipv6_is_limited_by_host_and_by_site_and_ipv4_by_address() {
        let of = |host: &str, site: &str| vec![(host.to_owned(), 1), (site.to_owned(), 10)];
        assert_eq!(networks("2001:db8:1:2:3:4:5:6"), of("2001:db8:1:2::/64", "2001:db8:1::/48"));
        assert_eq!(networks("2001:db8:1::9"), of("2001:db8:1::/64", "2001:db8:1::/48"));
        assert_eq!(networks("::ffff:192.0.2.7"), [("192.0.2.7/32".to_owned(), 1)]);
        let address = |text: &str| text.parse::<IpAddr>().unwrap();
        assert_eq!(network_of(address("2001:db8:1:2:3::6")), address("2001:db8:1:2::"));
        assert_eq!(network_of(address("::ffff:192.0.2.7")), address("192.0.2.7"));
        assert_eq!(site_of(address("192.0.2.7")).to_string(), "192.0.2.7/32");
    }

    #[test]
    fn all_hosts_of_an_ipv6_site_take_ten_shares_and_one_host_always_the_same() {
        let sharer = |text: String| sharer_of(text.parse().unwrap());
        let of_site =
            |site: u8| (0..=u16::MAX).map(move |host| sharer(format!("2001:db8:{site}:{host:x}::1")));
        assert_eq!(of_site(1).collect::<HashSet<IpAddr>>().len(), 10);
        assert_eq!(of_site(1).chain(of_site(2)).collect::<HashSet<IpAddr>>().len(), 20);
        assert_eq!(sharer("2001:db8:1:2:3::6".to_owned()), sharer("2001:db8:1:2:4::7".to_owned()));
        assert_eq!(sharer("::ffff:192.0.2.7".to_owned()).to_string(), "192.0.2.7");
    }
}
