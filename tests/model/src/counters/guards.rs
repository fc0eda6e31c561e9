//! The checks that keep counts exact. A run may leave one out.

use crate::variants::variants;

variants! {
    /// A guard, and what it closes.
    Guard {
        /// A fold moves the target only from where it stands (`w == from`, `fold.lua`): a batch that is sent
        /// twice counts once.
        FoldFromPosition,
        /// A fold is refused by a target that began anew meanwhile (`epoch`, `fold.lua`).
        FoldOfEpoch,
        /// Fold and clean of a late owner are refused (`fence:<source>`, `fold.lua`, `retire_counters.lua`).
        FenceInRedis,
        /// The transaction of a late owner is refused (`advance_offset`, `store/sql/shards.rs`).
        FenceInSql,
        /// A batch is persisted only from where the log is persisted (`advance_offset`).
        PersistFromOffset,
        /// A clean moves the target only from where it stands (`k == from`, `retire_counters.lua`).
        CleanFromPosition,
        /// Only what the target has folded is cleaned (`to <= w`, `retire_counters.lua`).
        CleanAfterFold,
        /// A clean of which entries are missing in the log is not sent (`pipeline/counting/retire.rs`): the pending part
        /// would keep what they had added.
        CleanReadsAll,
        /// A clean is refused by a target that began anew meanwhile (`epoch`, `retire_counters.lua`).
        CleanOfEpoch,
        /// A clean takes the load token away (`retire_counters.lua`): a load that read before it must not
        /// install, because its pending part is gone.
        CleanTakesToken,
        /// A load installs only with its token (`install_counts.lua`).
        InstallWithToken,
        /// A load installs only in the epoch in which it began (`install_counts.lua`).
        InstallInEpoch,
        /// A load installs only totals of the timeline on which the target began (`install_counts.lua`).
        InstallOfTimeline,
        /// A load is given up when PostgreSQL answered from before the last clean (`hub/load.rs`).
        LoadNotBeforeClean,
        /// Totals that hold more than the target has folded are not installed (`install_counts.lua`).
        InstallNotAheadOfFold,
        /// Totals that hold a part of what is still pending are not installed (`~<source>`,
        /// `install_counts.lua`).
        InstallNotIntoPending,
        /// After a restart nothing is installed before the logs are folded as far as they were
        /// (`shown:<source>`, `reset_target.lua`, `install_counts.lua`).
        InstallAfterShown,
        /// An install takes a version of its own (`install_counts.lua`).
        InstallTakesVersion,
        /// A correction takes the load token away (`invalidate_counts.lua`).
        DropTakesToken,
        /// A correction says "unknown" under a version of its own (`invalidate_counts.lua`).
        DropSaysUnknown,
        /// Lines of `stale_base` are deleted after the drop (`pipeline/jobs/invalidations.rs`).
        DropBeforeDelete,
        /// Exactly the lines that were read before the drop are deleted (`delete_stale_lines`).
        DeleteOwnLines,
        /// Ids of lines are never used again, also not after a failover: UUIDs (`store/sql/stale_base.rs`).
        LineIdsNeverReused,
        /// A batch whose rows moved otherwise than its events say writes a line (`mismatches`,
        /// `pipeline/counting/persist/plan.rs`).
        MismatchWritesLine,
        /// A target whose state is gone begins under a higher epoch (`restart_reason`, `pipeline/ownership/recovery.rs`).
        EpochAfterMissingMeta,
        /// A target on another Redis process does nothing before it began anew (`run`, `restart_reason`,
        /// `load_scripts`).
        VerifiedTarget,
        /// Nothing is appended to a log on another Redis process before it was compared (`load_scripts`).
        VerifiedLog,
        /// A target begins anew when PostgreSQL is on another timeline (`restart_reason`).
        EpochAfterTimeline,
        /// A target begins anew when PostgreSQL is behind what was cleaned (`restart_reason`).
        EpochAfterSqlLoss,
        /// A target begins anew when PostgreSQL has another epoch for it (`restart_reason`); with
        /// `raise_generation` that makes all targets forget what a log lost.
        EpochAfterLogLoss,
        /// A new epoch is above PostgreSQL's and above what the target has (`raise_epoch`).
        EpochAboveBoth,
        /// A restart whose epoch is not above the target's is refused (`reset_target.lua`).
        RestartOnlyUpwards,
        /// A hash of another epoch is absent (`fold.lua`, `retire_counters.lua`, `install_counts.lua`).
        HashOfEpoch,
        /// What is pending does not expire (`PERSIST` in `fold.lua`).
        PendingDoesNotExpire,
        /// What survived of a log is persisted before its next generation (`begin_generation`).
        SurvivorsPersisted,
        /// A new tenure shows its fence to a target before it reads a position there (`take_over.lua`).
        FenceBeforePosition,
        /// A tenure on another process takes a higher fence (`acquire_lease`).
        FenceOfNewProcess,
        /// A tenure ends when PostgreSQL is behind what its persister believes (`pipeline/ownership/watch.rs`).
        PersisterNotAhead,
        /// A tenure ends with all that it has in hand (`pipeline/ownership/owner.rs work`).
        TenureForgets,
        /// A log's end is compared with what is folded too, not only with what is persisted (`adopt_log`).
        LogComparedWithFold,
        /// It is compared with what was folded before a restart, too (`shown:<source>`, `take_over.lua`).
        LogComparedWithShown,
        /// Versions come from one sequence of the target, and do not begin anew with a hash (`seq`).
        VersionFromSequence,
        /// A read that is older than an "unknown" heard since does not answer it (`hub/view.rs finish_read`).
        UnknownBeatsOlderRead,
        /// A hub that missed a message forgets and reads again (`hub/view.rs hear`).
        GapIsReadAgain,
        /// What was being read when a gap showed is not kept (`ReadTicket`, `hub/view.rs`).
        GapVoidsReads,
        /// Another epoch counts as a gap (`hub/view.rs hear`).
        EpochIsGap,
    }
}
