//! Actions: the steps of the model. A sequence of them is a path.

/// Whose batch it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Who {
    Owner,
    /// An earlier owner, with a batch that it had in hand.
    LateOwner,
}

/// Whether the hub receives the message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Message {
    Heard,
    Missed,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Action {
    // The world
    LikeAfterLoss,
    DirectChangeCommits,
    ReplicaLagsFromHere,
    StandbyLagsFromHere,

    // The owner of log 0, in small steps
    FoldReads { most: u8 },
    FoldIsSent(Who, Message),
    PersisterReads { most: u8 },
    PersisterCommits(Who),
    RetireReads,
    RetireIsSent(Who),
    LateOwnerIsGone,

    // Either log, reading and sending in one step
    Folds { source: u8, message: Message },
    Persists { source: u8 },
    Retires { source: u8 },

    // Recovery of log 0
    BeginsLeadership,
    ShowsFence,
    ComparesLog,
    PersistsSurvivors,
    RaisesGeneration,
    AppendsGenesis,

    // The target's owner
    RaisesEpoch,
    ResetsTarget,
    LateResetArrives,
    LateResetIsLost,
    ReadsInvalidations,
    InvalidatesCounts(Message),
    DeletesInvalidations,

    // A load
    LoadTakesToken,
    LoadReadsTotals,
    LoadReadsFormerPrimary,
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
    LogIsLostAfter { left: u8 },
    RedisFailsOver { log_left: u8 },
    PostgresFailsOver,
    PostgresIsRestored,
}

impl Action {
    /// Whether Plaudit does this by itself, sooner or later.
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
                | Self::LogIsLostAfter { .. }
                | Self::RedisFailsOver { .. }
                | Self::PostgresFailsOver
                | Self::PostgresIsRestored
        )
    }
}
