//! Guards: the checks that keep counts exact. A run without one of them must lead to a wrong count.

use crate::variants::variants;

variants! {
    /// A guard, and the error that it prevents.
    Guard {
        /// A fold advances the target only from its position (`folded == from`, `lua/fold.lua`): a batch that is
        /// sent twice counts once.
        FoldFromPosition,
        /// A target that was reset since the read refuses the fold (`epoch`, `lua/fold.lua`).
        FoldOfEpoch,
        /// A target of an older epoch or another timeline than PostgreSQL had when the owner recovered its log gets no
        /// batch (`src/counting/pipeline/fold/targets.rs`): it may have events that the log lost.
        FoldNotOfOlderEpoch,
        /// Folds of an earlier owner are refused (`fence:<source>`, `lua/fold.lua`).
        FenceInRedis,
        /// The transaction of an earlier owner is refused (`advance_offsets`, `src/store/sql/ownership/shards.rs`).
        FenceInSql,
        /// A batch is persisted only from the persisted offset (`advance_offsets`).
        PersistFromOffset,
        /// A load installs only into the counter that it marked as loading (`load`, `lua/install_counts.lua`).
        InstallIntoLoading,
        /// What was folded since a load began is added to its base (`lua/install_counts.lua`).
        InstallAddsFolded,
        /// A load reads all entries of a log between the persisted and the folded offset, or gives up
        /// (`src/store/redis/log/tails.rs`).
        TailIsWhole,
        /// A load is given up when the persisted and the folded offset of a log are of different generations
        /// (`src/store/redis/log/tails.rs`): lost entries between them do not tell what the totals and the counter
        /// both have.
        TailOfGeneration,
        /// Totals with events that the target has not folded are not installed (`src/store/redis/log/tails.rs`):
        /// the fold would add them again.
        InstallNotAheadOfFold,
        /// A load installs only totals of the timeline on which the target was reset (`lua/install_counts.lua`).
        InstallOfTimeline,
        /// An install takes a new version (`lua/install_counts.lua`).
        InstallTakesVersion,
        /// An invalidation ends a load that has begun (`lua/invalidate_counts.lua`).
        InvalidationEndsLoad,
        /// An invalidation is sent to hubs with a new version (`lua/invalidate_counts.lua`).
        InvalidationIsSent,
        /// Rows of `invalidation` are deleted after Redis was invalidated
        /// (`src/counting/jobs/invalidations.rs`).
        InvalidateBeforeDelete,
        /// Exactly the rows that were read before are deleted (`delete_invalidations`).
        DeleteOwnInvalidations,
        /// Ids of invalidations are never reused, not even after a failover: UUIDs
        /// (`src/store/sql/counting/invalidations.rs`).
        InvalidationIdsNeverReused,
        /// A batch that changes rows differently than its events writes an invalidation (`mismatches`,
        /// `src/counting/pipeline/persist/plan.rs`).
        MismatchInvalidates,
        /// A target whose state was deleted gets a higher epoch (`reset_reason`, `src/counting/ownership/reset.rs`).
        EpochAfterMissingMeta,
        /// Redis is known by its replication id, not only by its process (`lua/lib/replication.lua`): after a failover and
        /// back, process, scripts and connections are those of before.
        SequenceIsCompared,
        /// A target on a Redis that was promoted is reset (`RedisIdentity::continues`): its replica may have lacked
        /// changes.
        EpochAfterPromotion,
        /// A new replication id is taken for harmless only by a process that saw the one before lately
        /// (`RedisIdentity::continues`): after an hour, Redis has forgotten that it was promoted.
        SequenceSeenLately,
        /// A former Redis is asked only whether it gave away the keys under the id with which the target was verified
        /// (`Redis::has_all_of`): what was given on may have been less.
        HandoverOfVerified,
        /// The former Redis must say that it gave everything away, and has changed nothing since
        /// (`src/store/redis/nodes/handover.rs`).
        HandoverIsGiven,
        /// The present Redis must say that it has everything (`src/store/redis/nodes/handover.rs`): its replica may
        /// have taken its place, or it was promoted itself.
        HandoverIsTaken,
        /// A slot must have moved after the target was verified where it was (`LastMove`,
        /// `src/store/redis/nodes/moves.rs`): of an earlier move, both servers say the same.
        HandoverIsNew,
        /// A target in a Redis with another replication id does nothing before it is verified (`redis_history`,
        /// `reset_reason`, `lua/lib/replication.lua`, `load_scripts`).
        RecoveredTarget,
        /// Nothing is appended to a log in a Redis with another replication id before it was compared (`lua/lib/replication.lua`,
        /// `load_scripts`).
        RecoveredLog,
        /// A target is reset when PostgreSQL is on another timeline (`reset_reason`).
        EpochAfterTimeline,
        /// A target is reset when PostgreSQL has another epoch for it (`reset_reason`); `raise_generation`
        /// uses this to reset all targets after lost events.
        EpochAfterLogLoss,
        /// A new epoch is above PostgreSQL's and above the target's (`raise_epoch`).
        EpochAboveBoth,
        /// A reset target counts each log up to its end (`reset_counters`): its own folded offsets may be behind those
        /// of the counts that clients saw.
        ResetAtLogEnds,
        /// The ends of the logs are read again after a reset (`reset_counters`): a target must not be ahead of a log.
        ResetComparesEnds,
        /// A reset whose epoch is not above the target's is refused (`lua/reset_target.lua`).
        ResetOnlyUpwards,
        /// A hash of another epoch counts as absent (`lua/fold.lua`, `lua/install_counts.lua`).
        HashOfEpoch,
        /// Nothing is appended from before the survivors are persisted until the next generation begins
        /// (`lua/close_log.lua`): Redis may still take actions.
        LogIsClosed,
        /// Surviving entries of a log are persisted before its next generation (`begin_generation`).
        SurvivorsPersisted,
        /// A new leadership writes its fence to a target before it reads a position there (`lua/take_over.lua`).
        FenceBeforePosition,
        /// A leadership of another process has a higher fence (`acquire_lease`).
        FenceOfNewProcess,
        /// A leadership ends when PostgreSQL is behind the offset that its persister assumes
        /// (`src/counting/ownership/watch.rs`).
        PersisterNotAhead,
        /// A leadership drops its unsent batches when it ends (`src/counting/ownership/owner.rs run_parts`).
        LeadershipForgets,
        /// A log's end is compared with the folded offset too, not only with the persisted one
        /// (`recover_log`).
        LogComparedWithFold,
        /// The last persisted entry is the one that the log has at its offset (`digest` of the table `shard`,
        /// `recover_log`): otherwise others have overwritten the log's end.
        PersistedEntryIsCompared,
        /// Each read of the log begins with the entry that was read or persisted last, and compares it
        /// (`LogReader::read`): nothing is persisted after an entry that the log does not have.
        LastEntryIsReadAgain,
        /// A reshard closes logs and targets before it persists the logs (`lua/seal_shard.lua`): Redis takes no
        /// event that would stay behind.
        ReshardCloses,
        /// A reshard writes its fences to closed shards (`lua/seal_shard.lua`): no earlier owner opens them again.
        ReshardFences,
        /// The next layout begins only if each log is persisted to its end then (`finish_reshard`).
        ReshardComparesEnds,
        /// A reshard persists logs to their ends (`src/counting/reshard.rs`): the next layout has none of their events.
        ReshardPersists,
        /// Versions come from one sequence of the target, which outlives a hash (`change`).
        VersionFromSequence,
        /// A read that is older than an invalidation received since is not used (`src/counting/hub/view/mod.rs finish_read`).
        InvalidationBeatsOlderRead,
        /// Totals that were received during a read are applied to an older result (`src/counting/hub/view/held.rs`).
        ReceivedTotalsAreApplied,
        /// A hub that missed a message drops its counts and reads them again (`src/counting/hub/view/mod.rs receive`).
        GapIsReadAgain,
        /// The results of reads that are running when a gap appears are dropped (`ReadTicket`, `src/counting/hub/view/mod.rs`).
        GapVoidsReads,
        /// Another epoch counts as a gap (`src/counting/hub/view/mod.rs receive`).
        EpochIsGap,
    }
}
