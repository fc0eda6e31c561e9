//! Network of an address: the unit of limits per address.

use std::net::{IpAddr, Ipv6Addr};

/// The address itself; for IPv6 its /64 network, because a host can use every address of it (RFC 4291, section 2.5.1).
pub fn network_of(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(address) => address.into(),
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() & (u128::MAX << 64)).into(),
    }
}
