//! The version of an entity's counts, as clients see it.

/// Epoch of the shard and number of the change in it, packed into one integer below 2^53.
///
/// It never decreases for one entity, and one version identifies one set of values, so a client ignores counts with a
/// lower version than it shows.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Version(u64);

impl Version {
    /// Changes that one epoch can number (2^37, about 80 days at 20,000 changes a second without
    /// a restart). An owner begins a new epoch well before.
    pub const MAX_CHANGE: u64 = (1 << 37) - 1;
    /// Epochs that fit into the other bits (2^16).
    pub const MAX_EPOCH: u64 = (1 << 16) - 1;

    pub const fn new(epoch: u64, change: u64) -> Self {
        debug_assert!(epoch <= Self::MAX_EPOCH && change <= Self::MAX_CHANGE, "each has its own bits");
        Self(epoch << 37 | change)
    }

    pub const fn get(self) -> u64 {
        self.0
    }

    pub const fn epoch(self) -> u64 {
        self.0 >> 37
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_grow_with_changes_and_with_epochs_and_stay_safe_integers() {
        assert!(Version::new(1, 2) > Version::new(1, 1));
        assert!(Version::new(2, 0) > Version::new(1, Version::MAX_CHANGE));
        assert!(Version::new(Version::MAX_EPOCH, Version::MAX_CHANGE).get() < 1 << 53);
        assert_eq!(Version::new(9, 77).epoch(), 9);
    }
}
