//! Result of a seeding.

use std::fmt;

use plaudit_demo_data::DemoData;

/// Whether the seeding wrote anything.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SeedOutcome {
    Filled(Seeded),
    /// There were users or notes already; nothing was written.
    AlreadyFilled,
}

/// How much was written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Seeded {
    pub users: usize,
    pub groups: usize,
    pub members: usize,
    pub notes: usize,
    pub comments: usize,
    pub follows: usize,
    pub note_likes: usize,
    pub comment_likes: usize,
    pub collects: usize,
    pub messages: usize,
    /// Lines of the ledger of coins.
    pub grants: usize,
}

impl Seeded {
    pub(super) fn of(demo: &DemoData) -> Self {
        Self {
            users: demo.people.len(),
            groups: demo.groups.len(),
            members: demo.members.len(),
            notes: demo.notes.len(),
            comments: demo.comments.len(),
            follows: demo.follows.len(),
            note_likes: demo.note_likes.len(),
            comment_likes: demo.comment_likes.len(),
            collects: demo.collects.len(),
            messages: demo.messages.len(),
            grants: demo.ledger.len(),
        }
    }
}

impl fmt::Display for Seeded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} users, {} groups with {} members, {} notes, {} comments, {} follows, {} likes of notes and {} of \
             comments, {} collects, {} messages, {} grants of coins",
            self.users,
            self.groups,
            self.members,
            self.notes,
            self.comments,
            self.follows,
            self.note_likes,
            self.comment_likes,
            self.collects,
            self.messages,
            self.grants
        )
    }
}
