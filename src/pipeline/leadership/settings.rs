//! Settings of the pipeline.

use std::time::Duration;

use chrono::NaiveTime;

use plaudit_moderation::Moderator;

/// How the pipeline works; see the settings of the same names.
#[derive(Clone, Debug)]
pub struct PipelineSettings {
    /// Who owns: a process that comes back under the same name takes its own shards at once.
    pub owner: String,
    /// How long an owner may be silent before another one may take over.
    pub lease: Duration,
    /// Most events in a batch; the persister takes more while it is behind.
    pub batch_events: usize,
    /// Most events that this process persists per second.
    pub persist_rate: u32,
    /// How long the persister waits for a batch to fill.
    pub batch_wait: Duration,
    /// Replicas that must have an event before it is counted.
    pub replicas: u32,
    /// Share of Redis' memory that all logs may take together, in percent.
    pub log_share: u32,
    /// Whether the history is kept.
    pub activity: bool,
    /// How long it is kept.
    pub activity_retention: Duration,
    /// Entities that are reconciled each second in the background; 0 for none.
    pub reconcile_sample: u32,
    /// When everything is reconciled each night, UTC; `None`: never.
    pub reconcile_at: Option<NaiveTime>,
    /// Who judges comments.
    pub moderator: Moderator,
    /// How long the moderator may take for its turn, and as long again for a judgement.
    pub moderator_timeout: Duration,
    /// How long the first pause is between two tries to have a comment judged.
    pub moderator_retry: Duration,
    /// How long a shutdown waits for what is pending to be persisted.
    pub drain: Duration,
}
