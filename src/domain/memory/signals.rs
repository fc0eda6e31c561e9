//! Signals that a live list may have changed.

use tokio::sync::watch;

use plaudit_catalogue::{Entity, EntityKind};

/// Signals of this process. The numbers mean nothing; they rise with each signal.
#[derive(Default)]
pub(crate) struct ChangeSignals {
    pub notes: watch::Sender<u64>,
}

impl ChangeSignals {
    /// An entity changed in PostgreSQL; `None` if any may have.
    pub fn invalidated(&self, entity: Option<Entity>) {
        let is_note = entity.is_none_or(|entity| entity.kind == EntityKind::Note);
        if is_note && self.notes.receiver_count() > 0 {
            self.notes.send_modify(|number| *number += 1);
        }
    }
}
