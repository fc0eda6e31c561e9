//! Signals that a live list may have changed.

use tokio::sync::watch;

use plaudit_catalogue::{Entity, EntityKind};

/// Signals of this process. The numbers mean nothing; they rise with each signal.
#[derive(Default)]
pub(crate) struct ChangeSignals {
    pub notes: watch::Sender<u64>,
    /// Of notes and comments.
    pub texts: watch::Sender<u64>,
}

impl ChangeSignals {
    /// An entity changed in PostgreSQL; `None` if any may have.
    pub fn invalidated(&self, entity: Option<Entity>) {
        let is_of = |kinds: &[EntityKind]| entity.is_none_or(|entity| kinds.contains(&entity.kind));
        let (notes, texts) = (&[EntityKind::Note][..], &[EntityKind::Note, EntityKind::Comment][..]);
        for (signal, kinds) in [(&self.notes, notes), (&self.texts, texts)] {
            if is_of(kinds) && signal.receiver_count() > 0 {
                signal.send_modify(|number| *number += 1);
            }
        }
    }
}
