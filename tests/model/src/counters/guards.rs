//! Guards: the checks that keep counts exact. A run without one of them must lead to a wrong count.

use crate::variants::variants;

variants! {
    /// A guard, and the error that it prevents.
    Guard {
        /// A fold advances the target only from its position (`folded == from`, `fold.lua`): a batch that is
        /// sent twice counts once.
        FoldFromPosition,
        /// A target that was reset since the read refuses the fold (`epoch`, `fold.lua`).
        FoldOfEpoch,
        /// Folds of an earlier owner are refused (`fence:<source>`, `fold.lua`).
        FenceInRedis,
        /// The transaction of an earlier owner is refused (`advance_offsets`, `store/sql/shards.rs`).
        FenceInSql,
        /// A batch is persisted only from the persisted offset (`advance_offsets`).
        PersistFromOffset,
        /// A load installs only into the counter that it marked as loading (`load`, `install_counts.lua`).
        InstallIntoLoading,
        /// What was folded since a load began is added to its base (`install_counts.lua`).
        InstallAddsFolded,
        /// A load reads all entries of a log between the persisted and the folded offset, or gives up
        /// (`hub/tails.rs`).
        TailIsWhole,
        /// Totals with events that the target has not folded are not installed (`hub/tails.rs`): the fold would add
        /// them again.
        InstallNotAheadOfFold,
        /// A load installs only totals of the timeline on which the target was reset (`install_counts.lua`).
        InstallOfTimeline,
        /// An install takes a new version (`install_counts.lua`).
        InstallTakesVersion,
        /// An invalidation ends a load that has begun (`invalidate_counts.lua`).
        InvalidationEndsLoad,
        /// An invalidation is sent to hubs with a new version (`invalidate_counts.lua`).
        InvalidationIsSent,
        /// Rows of `invalidation` are deleted after Redis was invalidated
        /// (`pipeline/jobs/invalidations.rs`).
        InvalidateBeforeDelete,
        /// Exactly the rows that were read before are deleted (`delete_invalidations`).
        DeleteOwnInvalidations,
        /// Ids of invalidations are never reused, not even after a failover: UUIDs
        /// (`store/sql/invalidations.rs`).
        InvalidationIdsNeverReused,
        /// A batch that changes rows differently than its events writes an invalidation (`mismatches`,
        /// `pipeline/counting/persist/plan.rs`).
        MismatchInvalidates,
        /// A target whose state was deleted gets a higher epoch (`reset_reason`, `pipeline/ownership/reset.rs`).
        EpochAfterMissingMeta,
        /// A target on another Redis process does nothing before it is reset (`redis_run_id`,
        /// `reset_reason`, `load_scripts`).
        RecoveredTarget,
        /// Nothing is appended to a log on another Redis process before it was compared (`load_scripts`).
        RecoveredLog,
        /// A target is reset when PostgreSQL is on another timeline (`reset_reason`).
        EpochAfterTimeline,
        /// A target is reset when PostgreSQL has another epoch for it (`reset_reason`); `raise_generation`
        /// uses this to reset all targets after lost events.
        EpochAfterLogLoss,
        /// A new epoch is above PostgreSQL's and above the target's (`raise_epoch`).
        EpochAboveBoth,
        /// A reset keeps folded offsets (`reset_target.lua`): counts are not behind those that clients saw.
        ResetKeepsFolded,
        /// A reset whose epoch is not above the target's is refused (`reset_target.lua`).
        ResetOnlyUpwards,
        /// A hash of another epoch counts as absent (`fold.lua`, `install_counts.lua`).
        HashOfEpoch,
        /// Surviving entries of a log are persisted before its next generation (`begin_generation`).
        SurvivorsPersisted,
        /// A new leadership writes its fence to a target before it reads a position there (`take_over.lua`).
        FenceBeforePosition,
        /// A leadership of another process has a higher fence (`acquire_lease`).
        FenceOfNewProcess,
        /// A leadership ends when PostgreSQL is behind the offset that its persister assumes
        /// (`pipeline/ownership/watch.rs`).
        PersisterNotAhead,
        /// A leadership drops its unsent batches when it ends (`pipeline/ownership/owner.rs run_parts`).
        LeadershipForgets,
        /// A log's end is compared with the folded offset too, not only with the persisted one
        /// (`recover_log`).
        LogComparedWithFold,
        /// Versions come from one sequence of the target, which outlives a hash (`change`).
        VersionFromSequence,
        /// A read that is older than an invalidation received since is not used (`hub/view/mod.rs finish_read`).
        InvalidationBeatsOlderRead,
        /// Totals that were received during a read are applied to an older result (`hub/view/slot.rs`).
        ReceivedTotalsAreApplied,
        /// A hub that missed a message drops its counts and reads them again (`hub/view/mod.rs receive`).
        GapIsReadAgain,
        /// The results of reads that are running when a gap appears are dropped (`ReadTicket`, `hub/view/mod.rs`).
        GapVoidsReads,
        /// Another epoch counts as a gap (`hub/view/mod.rs receive`).
        EpochIsGap,
    }
}
