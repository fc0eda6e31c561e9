//! What the pipeline is started with.

use plaudit_moderation::Moderator;

use crate::settings::{ModerationSettings, PipelineSettings};

pub struct PipelineSetup {
    /// Under which name this process owns shards: after a restart under the same name it takes its own shards
    /// back at once.
    pub owner: String,
    /// Judges comments.
    pub moderator: Moderator,
    pub moderation: ModerationSettings,
    pub settings: PipelineSettings,
}
