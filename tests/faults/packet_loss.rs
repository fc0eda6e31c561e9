//! Packets that get lost, in the network of `scripts/lossy.sh`.

use std::process::Command;

/// Drops what the kernel receives, so also answers and acknowledgements.
const RULES: &str = "table inet lossy { chain input { type filter hook input priority 0; \
    meta l4proto tcp numgen random mod 100 < PERCENT drop; }; }";

/// While it lives, the loopback loses packets.
pub struct PacketLoss(());

impl PacketLoss {
    /// Begins if the schedules run under `scripts/lossy.sh`, which gives them a network of their own.
    pub fn begin() -> Option<Self> {
        let percent = std::env::var("LOSSY_PERCENT").ok()?;
        nft(&RULES.replace("PERCENT", &percent));
        Some(Self(()))
    }
}

impl Drop for PacketLoss {
    fn drop(&mut self) {
        nft("delete table inet lossy");
    }
}

fn nft(rules: &str) {
    let status = Command::new("nft").arg(rules).status().expect("nft");
    assert!(status.success(), "nft failed: {rules}");
}
