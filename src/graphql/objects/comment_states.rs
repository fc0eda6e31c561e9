//! Whether comments and their edits may be shown.

use crate::{domain::CommentState, graphql::definition::types::EnumType};

pub fn comment_state() -> EnumType {
    EnumType {
        name: "CommentState",
        description: "Whether a comment may be shown.",
        values: vec![
            ("PENDING", "Not decided yet: only its author and moderators see it."),
            ("APPROVED", "Everybody sees it."),
            ("REJECTED", "Only its author and moderators see it."),
        ],
    }
}

pub(super) const fn state(state: CommentState) -> &'static str {
    match state {
        CommentState::Pending => "PENDING",
        CommentState::Approved => "APPROVED",
        CommentState::Rejected => "REJECTED",
    }
}
