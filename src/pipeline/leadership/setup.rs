//! Arguments of the pipeline's start.

use plaudit_moderation::Moderator;

use crate::settings::{ModerationSettings, PipelineSettings, WebhookSettings};

pub struct PipelineSetup {
    /// Name under which this process owns shards. After a restart with the same name it takes its shards back at
    /// once.
    pub owner: String,
    /// Judges comments.
    pub moderator: Moderator,
    pub moderation: ModerationSettings,
    pub settings: PipelineSettings,
    pub webhook: WebhookSettings,
}
