//! Faults. Each happens at most once in a run.

use crate::variants::variants;

variants! {
    /// A fault that a run includes.
    Fault {
        /// The counter's hash expires, or is evicted (`volatile-…` takes only keys that may expire).
        Expiry,
        /// The owner of log 0 is killed or stalls at any step, and another one takes over. An unsent batch of the
        /// old owner may still arrive.
        OwnerKilled,
        /// The owner of log 0 gets no reply in time: it reads all positions again, while its unsent batch may still
        /// arrive.
        CallDelayed,
        /// The owner of the target is killed at any step. A reset that it was about to send may still arrive.
        TargetOwnerKilled,
        /// The target's Redis fails over to a replica that lags behind.
        TargetFailover,
        /// All keys of the target and all of log 0 are deleted, in the same Redis process.
        FlushAll,
        /// Log 0 comes back on another process without its end, which may have been consumed.
        SourceFailover,
        /// Log 0 comes back empty.
        LogLost,
        /// One Redis holds the target and log 0: both fail over to a replica that lags behind.
        RedisFailover,
        /// The same Redis fails over to a replica that lags behind and back, before anybody has verified it:
        /// its process, its scripts and connections to it are those of before.
        Failback,
        /// After that failover the former Redis comes back as it was, without having been demoted: the end of
        /// its log was overwritten by entries with the same numbers. Only with [`Fault::RedisFailover`].
        FormerReturns,
        /// The replication id of that Redis changes without a loss: its first replica was attached.
        ReplicaAttached,
        /// The replication id changes without a loss, and Redis forgets that it was promoted: it had no replica for an
        /// hour. Plaudit was away for that hour.
        BacklogFreed,
        /// A replica that has everything takes the place of that Redis, which follows it.
        PlannedFailover,
        /// The keys move to another server whole, as by an atomic move of their slot. Its replication id is another one.
        SlotMoved,
        /// They move to another server, which lacks their end: a replica of it was promoted meanwhile; or the
        /// former server has changed them since.
        SlotMovedPartly,
        /// After a move the keys come back, and then only some of them go where they were: somebody has
        /// assigned the slot. Only with [`Fault::SlotMoved`].
        SlotAssigned,
        /// PostgreSQL fails over to a standby that lags behind: rows, offsets, epochs, fences and
        /// invalidations go back. The former primary may still serve a load.
        PostgresFailover,
        /// PostgreSQL goes back in the same way, but stays on its timeline: a copy was restored.
        PostgresRestored,
        /// Not a fault: an operator changes the number of shards.
        Reshard,
        /// The first event of log 0 changes no included row (for example of a hidden actor), so the totals change
        /// differently than the counters in Redis.
        Mismatch,
    }
}

/// A set of faults.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub struct Faults(u32);

impl Faults {
    pub fn of(faults: &[Fault]) -> Self {
        Self(faults.iter().fold(0, |all, fault| all | Self::bit(*fault)))
    }

    pub const fn has(self, fault: Fault) -> bool {
        self.0 & Self::bit(fault) != 0
    }

    pub fn add(&mut self, fault: Fault) {
        self.0 |= Self::bit(fault);
    }

    /// Whether Redis and PostgreSQL lost nothing, and the processes of Plaudit that know them live.
    pub fn are_harmless(self) -> bool {
        let harmless = [
            Fault::Expiry,
            Fault::CallDelayed,
            Fault::Mismatch,
            Fault::ReplicaAttached,
            Fault::PlannedFailover,
            Fault::SlotMoved,
        ];
        self.0 & !Self::of(&harmless).0 == 0
    }

    const fn bit(fault: Fault) -> u32 {
        1 << fault as u8
    }
}
