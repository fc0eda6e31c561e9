//! Atomic moves of slots, as the nodes of a Valkey cluster remember them: `CLUSTER GETSLOTMIGRATIONS`, the
//! newest first.
//!
//! Both nodes name a move equally. The target says that it succeeded after it got everything, and informs its
//! replicas and its append-only file after that: a node that knows of the success has the data. A node that
//! copies another's data forgets the moves that it knew. The source says that it succeeded if it has refused
//! all writes until the target had the slot.

use std::collections::HashMap;

use redis::aio::MultiplexedConnection;

use crate::{StoreError, StoreResult};

/// The newest move of a shard's slot that its node knew when the shard was verified there: a later one has
/// another name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum LastMove {
    Unknown,
    None,
    Name(String),
}

impl LastMove {
    /// Whether the move came after it.
    pub fn is_before(&self, later: &SlotMove) -> bool {
        match self {
            Self::Unknown => false,
            Self::None => true,
            Self::Name(name) => *name != later.name,
        }
    }
}

/// A move of slots, as one of the two nodes reports it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SlotMove {
    name: String,
    is_import: bool,
    /// Id of the node that had the slots.
    source: String,
    /// First and last slot of each range.
    ranges: Vec<(u16, u16)>,
    state: MoveState,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MoveState {
    Running,
    Succeeded,
    /// Or cancelled.
    Failed,
}

impl SlotMove {
    pub fn into_last(self) -> LastMove {
        LastMove::Name(self.name)
    }

    pub const fn state(&self) -> MoveState {
        self.state
    }

    /// Whether the node that reports the move received all slots and keys.
    pub fn is_taken(&self) -> bool {
        self.is_import && self.state == MoveState::Succeeded
    }

    pub fn source(&self) -> &str {
        &self.source
    }

    /// Whether both nodes report the same move: this as the source's export, `import` as the target's import.
    pub fn is_export_of(&self, import: &Self) -> bool {
        !self.is_import && self.name == import.name
    }

    fn read(fields: &HashMap<String, String>) -> Option<Self> {
        let field = |name: &str| fields.get(name).map(String::as_str);
        let range = |text: &str| {
            let (first, last) = text.split_once('-').unwrap_or((text, text));
            Some((first.parse().ok()?, last.parse().ok()?))
        };
        Some(Self {
            name: field("name")?.to_owned(),
            is_import: field("operation")?.eq_ignore_ascii_case("import"),
            source: field("source_node")?.to_owned(),
            ranges: field("slot_ranges")?.split_whitespace().map(range).collect::<Option<_>>()?,
            state: match field("state")? {
                "success" => MoveState::Succeeded,
                "failed" | "cancelled" => MoveState::Failed,
                _ => MoveState::Running,
            },
        })
    }
}

/// The newest move of a slot that a node knows.
pub async fn newest_of(node: &mut MultiplexedConnection, slot: u16) -> StoreResult<Option<SlotMove>> {
    let moves: Vec<HashMap<String, String>> =
        redis::cmd("CLUSTER").arg("GETSLOTMIGRATIONS").query_async(node).await?;
    newest_in(&moves, slot)
}

fn newest_in(moves: &[HashMap<String, String>], slot: u16) -> StoreResult<Option<SlotMove>> {
    for fields in moves {
        let read = SlotMove::read(fields)
            .ok_or_else(|| StoreError::Unexpected(format!("CLUSTER GETSLOTMIGRATIONS has {fields:?}")))?;
        if read.ranges.iter().any(|(first, last)| (*first..=*last).contains(&slot)) {
            return Ok(Some(read));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(name: &str, operation: &str, ranges: &str, state: &str) -> HashMap<String, String> {
        let fields = [
            ("name", name),
            ("operation", operation),
            ("slot_ranges", ranges),
            ("source_node", "0f1e"),
            ("state", state),
        ];
        fields.map(|(name, value)| (name.to_owned(), value.to_owned())).into()
    }

    #[test]
    fn the_newest_move_of_a_slot_counts() {
        let moves = [
            told("c", "EXPORT", "5-9", "replicating"),
            told("b", "IMPORT", "0-2 16-20", "success"),
            told("a", "EXPORT", "0-20", "failed"),
        ];
        let newest = |slot| newest_in(&moves, slot).unwrap().map(|found| (found.name, found.state));
        assert_eq!(newest(6), Some(("c".to_owned(), MoveState::Running)));
        assert_eq!(newest(16), Some(("b".to_owned(), MoveState::Succeeded)));
        assert_eq!(newest(3), Some(("a".to_owned(), MoveState::Failed)));
        assert_eq!(newest(21), None);
        assert!(newest_in(&[told("a", "EXPORT", "x", "success")], 1).is_err());
    }

    #[test]
    fn a_move_is_later_than_the_last_one_if_it_is_another_one() {
        let told = SlotMove::read(&told("b", "EXPORT", "1-2", "success")).unwrap();
        assert!(LastMove::None.is_before(&told) && LastMove::Name("a".into()).is_before(&told));
        assert!(!LastMove::Unknown.is_before(&told) && !told.clone().into_last().is_before(&told));
    }

    #[test]
    fn the_words_of_both_nodes_belong_together_by_the_name() {
        let read = |name, operation| SlotMove::read(&told(name, operation, "1-2", "success")).unwrap();
        assert!(read("a", "EXPORT").is_export_of(&read("a", "IMPORT")));
        assert!(!read("b", "EXPORT").is_export_of(&read("a", "IMPORT")));
        assert!(!read("a", "IMPORT").is_export_of(&read("a", "IMPORT")));
    }
}
