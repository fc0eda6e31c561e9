//! Actions: the steps of the model.

/// The owner whose batch is sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Who {
    Owner,
    /// An earlier owner, whose unsent batches may still arrive.
    LateOwner,
}

/// Whether the hub receives the message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Message {
    Received,
    Missed,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Action {
    // Users and copies of stores
    LikeAfterLoss,
    DirectChangeCommits,
    ReplicaLagsFromHere,
    StandbyLagsFromHere,

    // The owner of log 0, in small steps
    FoldReads { most: u8 },
    FoldIsSent(Who, Message),
    PersisterReads { most: u8 },
    PersisterCommits(Who),
    LateOwnerEnds,

    // Either log, reading and sending in one step
    Folds { source: u8, message: Message },
    Persists { source: u8 },

    // Recovery of log 0
    BeginsLeadership,
    ShowsFence,
    ComparesLog,
    PersistsSurvivors,
    RaisesGeneration,
    AppendsGenesis,

    // A reshard
    ReshardTakes,
    ReshardCloses,
    ReshardPersists,
    ReshardReadsEnds,
    ReshardBegins,

    // The target's owner
    TakesWrites,
    RaisesEpoch,
    ResetsTarget,
    LateResetArrives,
    LateResetIsLost,
    ReadsInvalidations,
    InvalidatesCounts(Message),
    DeletesInvalidations,

    // A load
    LoadBegins,
    LoadReadsTotals,
    LoadReadsFormerPrimary,
    LoadReadsLogs,
    LoadInstalls(Message),

    // The hub
    HubSeesGap,
    HubReads,
    HubGetsReply,

    // Faults
    CounterExpires,
    CallsAreDelayed,
    OwnerIsReplaced,
    TargetOwnerIsReplaced,
    TargetFailsOver,
    EverythingIsFlushed,
    ReplicaIsAttached,
    BacklogIsFreed,
    LogIsLostAfter { left: u8 },
    RedisFailsOver { log_left: u8 },
    FormerRedisReturns,
    ReplicaTakesOver,
    SlotMoves,
    SlotMovesPartly { log_left: u8, is_given: bool },
    SlotReturns,
    SlotIsAssigned { log_left: u8 },
    PostgresFailsOver,
    PostgresIsRestored,
}

impl Action {
    /// Whether Plaudit takes this step by itself.
    pub const fn is_protocol(self) -> bool {
        !matches!(
            self,
            Self::LikeAfterLoss
                | Self::DirectChangeCommits
                | Self::ReplicaLagsFromHere
                | Self::StandbyLagsFromHere
                | Self::CounterExpires
                | Self::CallsAreDelayed
                | Self::OwnerIsReplaced
                | Self::TargetOwnerIsReplaced
                | Self::TargetFailsOver
                | Self::EverythingIsFlushed
                | Self::ReplicaIsAttached
                | Self::BacklogIsFreed
                | Self::LogIsLostAfter { .. }
                | Self::RedisFailsOver { .. }
                | Self::FormerRedisReturns
                | Self::ReplicaTakesOver
                | Self::SlotMoves
                | Self::SlotMovesPartly { .. }
                | Self::SlotReturns
                | Self::SlotIsAssigned { .. }
                | Self::PostgresFailsOver
                | Self::PostgresIsRestored
        )
    }
}
