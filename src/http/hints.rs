//! Warnings about settings that do not fit where this process stands, each at most once per process: who waits behind a
//! proxy sees refusals that no other line of the log explains.

use std::{net::IpAddr, sync::Once};

/// `peer` sends `X-Forwarded-For`, and is not among `trusted_proxies`.
pub fn forwarded_by(peer: IpAddr) {
    static TOLD: Once = Once::new();
    TOLD.call_once(|| {
        tracing::warn!(
            %peer,
            "X-Forwarded-For is ignored, which this peer sends: if it is your proxy, name it in `trusted_proxies`; until then \
             all its clients share the limits of one address"
        );
    });
}

/// An address has as many connections, or sockets and event streams, as `sockets_per_address` lets it have.
pub fn address_full(address: Option<IpAddr>, most: u64) {
    static TOLD: Once = Once::new();
    TOLD.call_once(|| {
        tracing::warn!(
            address = address.map(tracing::field::display),
            most,
            "an address is refused more than `sockets_per_address`: if it is your proxy, name it in `trusted_proxies`; this is \
             said once"
        );
    });
}
