//! Faults, and guards: the checks that keep membership exact.

use crate::variants::variants;

variants! {
    /// A fault that a run includes; each happens at most once. In every run the set may expire, a load may be
    /// abandoned, and the persister may be killed at any time.
    Fault {
        /// All keys of the actor's shard are deleted.
        FlushAll,
        /// Redis fails over to a replica that lags behind; the persister has read only entries that the replica has
        /// (`redis_replicas`).
        Failover,
        /// Redis restarts from its disk; the persister may have read entries that are lost.
        PowerLoss,
        /// PostgreSQL fails over to a standby that lags behind: rows and offset go back.
        PostgresFailover,
    }
}

variants! {
    /// A guard, and the error that it prevents.
    Guard {
        /// A flip also changes the cached set (`lua/flip_edge.lua`).
        FlipWritesSet,
        /// Where the set has no answer, a pending flip answers before a row does (`lua/flip_edge.lua`,
        /// `lua/read_members.lua`).
        PendingBeforeRow,
        /// A pending flip of an earlier generation is ignored: it is in PostgreSQL, or lost.
        PendingOfGeneration,
        /// A set of another generation is absent (the marker among its members).
        SetOfGeneration,
        /// Below the floor of a truncated set, PostgreSQL is queried.
        FloorAsksPostgres,
        /// A row of an edge is used only if PostgreSQL had persisted all retired events
        /// (`lua/flip_edge.lua`).
        RowNotBeforeRetired,
        /// Rows become a set only if PostgreSQL had persisted all retired events (`lua/install_members.lua`).
        InstallNotBeforeRetired,
        /// Pending flips are applied to rows that become a set (`lua/install_members.lua`).
        InstallAppliesPending,
        /// Rows become a set only in the generation in which they were read (`lua/install_members.lua`).
        InstallOfGeneration,
        /// The script that removes pending flips writes its position (`lua/retire_members.lua`), which never goes back.
        /// `members_retired` is written only after the flips are removed.
        RetireWritesPosition,
        /// A pending flip is removed only if the same flip is persisted (`lua/retire_members.lua`).
        RetireUpToPosition,
        /// Retirement also changes the newest edges (`lua/retire_members.lua`).
        RetireWritesNewest,
        /// Newest edges of another generation are absent (the marker among them).
        NewestOfGeneration,
        /// No script runs on a Redis process that is not recovered (`load_scripts`).
        RecoveredProcess,
        /// A batch that was read before the recovery is not persisted after it (the fence).
        RecoveryFences,
        /// A used key returns its first result before anything else is checked (`lua/flip_edge.lua`).
        KeyAnswersFirst,
    }
}
