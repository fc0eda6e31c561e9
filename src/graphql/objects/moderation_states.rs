//! Whether notes, comments and their edits may be shown.

use crate::definition::types::EnumType;
use plaudit_domain::ModerationState;

pub fn moderation_state() -> EnumType {
    EnumType {
        name: "ModerationState",
        description: "Whether a note, a comment or an edit may be shown.",
        values: vec![
            ("PENDING", "Not decided yet: only its author and moderators see it."),
            ("APPROVED", "Everybody sees it."),
            ("REJECTED", "Only its author and moderators see it."),
        ],
    }
}

pub(super) const fn state(state: ModerationState) -> &'static str {
    match state {
        ModerationState::Pending => "PENDING",
        ModerationState::Approved => "APPROVED",
        ModerationState::Rejected => "REJECTED",
    }
}
