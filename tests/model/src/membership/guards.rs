//! Faults, and the checks that keep answers exact.

use crate::variants::variants;

variants! {
    /// A fault that a run includes; each happens at most once. The set may vanish, a load be given up and a
    /// persister be killed at any time in every run.
    Fault {
        /// All keys of the actor's shard are gone.
        FlushAll,
        /// Redis fails over to a replica that lags behind; the persister has used only what the replica has
        /// (`redis_replicas`).
        Failover,
        /// Redis comes back as it was on its disk; the persister may have used what is lost.
        PowerLoss,
        /// PostgreSQL fails over to a standby that lags behind: rows and offset go back.
        PostgresFailover,
    }
}

variants! {
    /// A guard, and what it closes.
    Guard {
        /// The pending flip answers before the set (`lua/flip_edge.lua`, `store/redis/members.rs`): the set
        /// knows rows only.
        PendingAnswersFirst,
        /// A pending flip of an earlier generation does not answer: it is in PostgreSQL, or lost.
        PendingOfGeneration,
        /// A set of another generation is absent (the marker among its members).
        SetOfGeneration,
        /// Below the floor of a truncated set PostgreSQL is asked.
        FloorAsksPostgres,
        /// What PostgreSQL says of one edge counts only if it has persisted what was cleaned
        /// (`flip_edge.lua`).
        RowNotBeforeClean,
        /// Rows become a set only if PostgreSQL had persisted what was cleaned (`lua/install_members.lua`).
        InstallNotBeforeClean,
        /// Rows become a set only in the generation in which they were read (`install_members.lua`).
        InstallOfGeneration,
        /// The script that removes pending flips notes up to where (`retire_members.lua`), and that never goes
        /// back. The other positions may: `k` when the counters begin anew where PostgreSQL stands, and `m` is
        /// written after the flips are gone.
        CleanNotesPosition,
        /// A pending flip is removed only if that very flip is persisted (`lua/retire_members.lua`).
        CleanUpToPosition,
        /// What is cleaned moves into the set (`retire_members.lua`).
        CleanMovesIntoSet,
        /// Nothing acts on a Redis process that was not verified (`load_scripts`).
        VerifiedProcess,
        /// A batch that was read before the verification is not persisted after it (the fence).
        VerificationFences,
        /// A key that was used gives its first result again, before anything else is asked (`flip_edge.lua`).
        KeyAnswersFirst,
    }
}
