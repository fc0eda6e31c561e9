//! Networks of an address: the units of limits per address.

use std::net::IpAddr;

use ipnet::IpNet;

/// Bits of the network of an IPv6 host, and of the largest that a site usually gets (RFC 6177).
const HOST: u8 = 64;
const SITE: u8 = 48;
/// How many times the limit of one address all of a site have.
const TIMES_OF_SITE: u32 = 10;

/// The address itself; for IPv6 its /64 network, because a host can use every address of it (RFC 4291, section 2.5.1).
pub fn network_of(address: IpAddr) -> IpAddr {
    host(address.to_canonical()).addr()
}

/// All addresses that one owner usually has: for IPv6 the /48 network, else the address itself.
pub fn site_of(address: IpAddr) -> IpNet {
    let address = address.to_canonical();
    if address.is_ipv6() { IpNet::new_assert(address, SITE).trunc() } else { address.into() }
}

/// The networks whose use is limited, and how many times the limit of an address each has. For IPv6 its site, too: else
/// the owner of one has 65,536 limits.
pub fn limited_networks(address: IpAddr) -> impl Iterator<Item = (IpNet, u32)> {
    let address = address.to_canonical();
    let site = address.is_ipv6().then(|| (site_of(address), TIMES_OF_SITE));
    [Some((host(address), 1)), site].into_iter().flatten()
}

fn host(address: IpAddr) -> IpNet {
    if address.is_ipv6() { IpNet::new_assert(address, HOST).trunc() } else { address.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn networks(address: &str) -> Vec<(String, u32)> {
        limited_networks(address.parse().unwrap())
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
}
