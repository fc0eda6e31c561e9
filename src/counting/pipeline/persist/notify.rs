//! Notifications of a batch: new edges go into the entries of their targets' owners, and edges that are switched off
//! leave them, unless the owner has read them.
//!
//! `inbox_entry` has one row for equal events, and the row of an edge has `told`, the inbox position at which its
//! owner was notified of it:
//!
//! - A batch takes `told` before it locks anything, and the entry's own position (`id`) while it holds the lock of
//!   the inbox's totals, so positions of an inbox rise in the order of commits. If the entry was read or created in
//!   between, the edges get a later `told`.
//! - Marking a badge as read writes one position, at any number of entries: an entry is read if its `id` is not above
//!   it, and edges whose `told` is after the entry's `read_to` are its unread ones.
//! - An edge that is switched off while it is unread leaves its entry, and its `told` becomes 0, so that it may
//!   notify again. An edge that was read keeps its `told`.
//! - A badge is the sum of `unread` over entries that are not read, and what retention has deleted unread.

use std::collections::{BTreeMap, BTreeSet};

use plaudit_catalogue::{
    Counter, Deltas, EdgeKind, Entity, EntityKind, EventKind, Flip, InboxKind,
    primitives::{Id, UserId},
};
use plaudit_store::{
    StoreError, StoreResult,
    sql::{
        Tx,
        counting::edges::ChangedEdge,
        inbox::{
            entries::EntryKey,
            notices::{self, Leaves, NewEvents, Withdrawn},
        },
        stream::events::NewEvent,
    },
};

/// The notifications of the changed edges of a batch.
pub struct Notices<'a> {
    /// The position at which owners are notified of new edges.
    told: i64,
    new: Vec<(EntryKey, &'a Flip)>,
    withdrawn: Vec<(Withdrawn, &'a Flip)>,
}

impl<'a> Notices<'a> {
    pub const fn at(told: i64) -> Self {
        Self { told, new: Vec::new(), withdrawn: Vec::new() }
    }

    /// Adds a changed edge. Returns the badge that it may move, and by how much at least.
    pub fn add(&mut self, flip: &'a Flip, changed: &ChangedEdge) -> Option<(Entity, Counter, i64)> {
        let (recipient, badge) = flip.notifies()?;
        let entry = EntryKey { recipient, kind: flip.kind.number(), target: flip.target };
        let by = if flip.on && changed.told > 0 && changed.told == self.told {
            self.new.push((entry, flip));
            1
        } else if !flip.on && changed.told > 0 {
            self.withdrawn.push((Withdrawn { entry, told: changed.told }, flip));
            0
        } else {
            return None;
        };
        Some((Entity::new(EntityKind::Inbox, recipient.0), badge, by))
    }

    /// The events of the stream: one per entry, of the newest edge, with the number of edges.
    pub fn events(&self) -> Vec<NewEvent> {
        let mut events = BTreeMap::<EntryKey, NewEvent>::new();
        for (entry, flip) in &self.new {
            let kind = EventKind::Notice(InboxKind::Edge(flip.kind));
            let event = events.entry(*entry).or_insert_with(|| {
                NewEvent { number: 0, ..NewEvent::now(kind, None, flip.target) }
                    .with_recipient(entry.recipient)
            });
            if event.number == 0 || event.at <= flip.at {
                (event.at, event.actor) = (flip.at, Some(flip.actor));
            }
            event.number += 1;
        }
        events.into_values().collect()
    }

    /// Writes the entries. The totals of the inboxes are locked, and count the new edges. Returns how taking back
    /// moves them.
    pub async fn write(&self, tx: &mut Tx) -> StoreResult<Deltas> {
        self.tell(tx).await?;
        self.take_back(tx).await
    }

    async fn tell(&self, tx: &mut Tx) -> StoreResult<()> {
        let mut news = BTreeMap::<EntryKey, NewEvents>::new();
        for (entry, flip) in &self.new {
            let new = news.entry(*entry).or_insert(NewEvents { entry: *entry, number: 0, at: flip.at });
            new.number += 1;
            new.at = new.at.max(flip.at);
        }
        // In index order, so that each page of an index is read once.
        let news: Vec<NewEvents> = news.into_values().collect();
        let late: BTreeMap<EntryKey, i64> = notices::tell(tx, &news, self.told).await?.into_iter().collect();
        let Some(told) = late.values().copied().min() else { return Ok(()) };
        let flips = self.new.iter().filter(|(entry, _)| late.contains_key(entry)).map(|(_, flip)| *flip);
        set_told(tx, flips, told).await
    }

    async fn take_back(&self, tx: &mut Tx) -> StoreResult<Deltas> {
        let withdrawn: Vec<Withdrawn> = self.withdrawn.iter().map(|(withdrawn, _)| *withdrawn).collect();
        let unread = notices::withdraw(tx, &withdrawn, Leaves::Unread).await?;
        let withdrawn = |place: &usize| self.withdrawn.get(*place).map(|(_, flip)| *flip);
        let flips: Option<Vec<&Flip>> = unread.iter().map(withdrawn).collect();
        let flips = flips.ok_or(StoreError::Broken("only edges that are withdrawn leave an entry"))?;
        set_told(tx, flips.iter().copied(), 0).await?;
        let mut moved = Deltas::new();
        for (recipient, badge) in flips.iter().filter_map(|flip| flip.notifies()) {
            moved.entry(Entity::new(EntityKind::Inbox, recipient.0)).or_default().add(badge, -1);
        }
        Ok(moved)
    }
}

async fn set_told<'a>(tx: &mut Tx, flips: impl Iterator<Item = &'a Flip>, told: i64) -> StoreResult<()> {
    let mut edges = BTreeMap::<EdgeKind, BTreeSet<(UserId, Id)>>::new();
    for flip in flips {
        edges.entry(flip.kind).or_default().insert((flip.actor, flip.target));
    }
    for (kind, edges) in edges {
        notices::set_told(tx, kind, &edges, told).await?;
    }
    Ok(())
}
