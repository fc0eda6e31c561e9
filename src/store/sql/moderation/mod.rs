//! Texts that are judged, decisions about them, and reports.

pub mod comment_edits;
pub mod comments;
pub mod groups;
pub mod note_texts;
pub mod notes;
pub mod reports;
pub mod submissions;
