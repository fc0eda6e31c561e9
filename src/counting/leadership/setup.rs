//! Arguments of the pipeline's start.

use plaudit_moderation::Moderator;

use plaudit_catalogue::settings::{ModerationSettings, PipelineSettings, WebhookSettings};

pub struct PipelineSetup {
    pub process: ProcessName,
    /// Judges comments.
    pub moderator: Moderator,
    pub moderation: ModerationSettings,
    pub settings: PipelineSettings,
    pub webhook: WebhookSettings,
}

/// Names of this process.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ProcessName {
    /// Under which it owns shards. After a restart with the same one it takes its shards back at once.
    pub owner: String,
    /// For people: host and process id.
    pub name: String,
}
