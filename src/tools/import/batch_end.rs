//! The end of a batch: which of its lines are rejected, and how far the import is then.

use std::collections::HashSet;

use super::{
    batches::LineBatch,
    edges::{self, EdgeKey},
    rejects::Reject,
};
use plaudit_catalogue::Flip;
use plaudit_store::sql::import::runs::ImportPosition;

/// What is known of a batch before its last transaction.
pub struct BatchEnd<'a> {
    pub batch: &'a LineBatch,
    /// Lines that are rejected so far.
    pub rejected: Vec<Reject>,
    /// Lines of edges, with their numbers.
    pub edges: Vec<(u64, Flip)>,
    /// The newest flips that the last transaction writes, in the order of edges.
    pub last: Vec<Flip>,
}

impl BatchEnd<'_> {
    /// All rejected lines, in their order. `erased`: edges that were not written, because a user was erased.
    pub fn rejected(&self, erased: &[EdgeKey]) -> Vec<Reject> {
        let erased: HashSet<_> = erased.iter().collect();
        let of_erased = self.edges.iter().filter(|(_, flip)| erased.contains(&edges::key(flip)));
        let reject = |number: u64| self.batch.reject(number, "the user was erased".into());
        let mut all = self.rejected.clone();
        all.extend(of_erased.map(|(number, _)| reject(*number)));
        all.sort_by_key(|reject| reject.number);
        all
    }

    /// Behind the batch. `from`: before it; `bytes`: length of the file of rejected lines.
    pub fn position(&self, from: &ImportPosition, rejected: usize, bytes: u64) -> ImportPosition {
        ImportPosition {
            line: self.batch.last as i64,
            digest: self.batch.digest.clone(),
            rejected: from.rejected + rejected as i64,
            rejects_bytes: bytes as i64,
        }
    }
}
