//! Consistency rules of the cache for one shard, without any input or output.
//!
//! A version replaces a lower one, wherever it came from. An invalidation at a version makes every lower version
//! useless. A missed message makes everything useless that is held or being read.

use std::{collections::HashMap, num::NonZeroUsize, sync::Arc};

use lru::LruCache;
use tokio::sync::watch;

use super::{
    CountsAt,
    watch::{self as counts_watch, CountsSender},
};
use crate::{
    catalogue::Entity,
    primitives::{Offset, ShardCount, ShardId, Version},
    store::redis::{CountsChange, CountsRead, ShardMessage},
};

pub struct ShardView {
    /// Whether every change since the last interruption was heard.
    hearing: bool,
    /// Interruptions so far. A read that began before the latest one is not kept.
    interruptions: u64,
    /// Epoch and number of the newest change heard; `None` until the first message after an interruption.
    position: Option<(u64, u64)>,
    /// Newest epoch that was read since the last interruption. Before the first message only this shows a reset of
    /// the counters.
    read_epoch: Option<u64>,
    /// Newest change ever heard, including before an interruption.
    newest: watch::Sender<Version>,
    slots: LruCache<Entity, Slot>,
    /// Per source shard, how far its log is folded into this shard.
    folded: Vec<watch::Sender<Offset>>,
    watchers: HashMap<Entity, Vec<Arc<CountsSender>>>,
}

#[derive(Clone, Copy, Debug)]
enum Slot {
    Known(CountsAt),
    /// Invalidated at that version; a read of that version or a later one fills it.
    Invalidated(Version),
}

impl Slot {
    const fn version(&self) -> Version {
        match self {
            Self::Known(counted) => counted.version,
            Self::Invalidated(since) => *since,
        }
    }
}

/// A registered read: its result is compared with the changes heard since its registration.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ReadTicket {
    interruptions: u64,
}

impl ShardView {
    pub fn new(shards: ShardCount, capacity: NonZeroUsize) -> Self {
        Self {
            hearing: false,
            interruptions: 0,
            position: None,
            read_epoch: None,
            newest: watch::Sender::new(Version::default()),
            slots: LruCache::new(capacity),
            folded: shards.all().map(|_| watch::Sender::new(Offset::default())).collect(),
            watchers: HashMap::new(),
        }
    }

    pub const fn is_hearing(&self) -> bool {
        self.hearing
    }

    pub fn folded(&self, source: ShardId) -> watch::Receiver<Offset> {
        self.folded[source.index()].subscribe()
    }

    pub fn newest(&self) -> watch::Receiver<Version> {
        self.newest.subscribe()
    }

    pub fn held(&mut self, entity: Entity) -> Option<CountsAt> {
        match self.slots.get(&entity) {
            Some(Slot::Known(counted)) if self.hearing => Some(*counted),
            _ => None,
        }
    }

    /// Changes may have been missed: everything held is dropped. Watches keep their latest counts.
    pub fn interrupt(&mut self) {
        self.hearing = false;
        self.interruptions += 1;
        self.position = None;
        self.read_epoch = None;
        self.slots.clear();
    }

    /// Changes are heard again. Returns the watched entities: all must be read again.
    pub fn resume(&mut self) -> Vec<Entity> {
        self.hearing = true;
        self.watched()
    }

    pub fn watched(&self) -> Vec<Entity> {
        self.watchers.keys().copied().collect()
    }

    /// Takes in a message. Returns the watched entities that must be read.
    pub fn hear(&mut self, message: &ShardMessage) -> Vec<Entity> {
        let mut to_read = Vec::new();
        if Some(message.epoch) < self.epoch() {
            return to_read; // of an epoch before a reset
        }
        if !self.is_continued_by(message) {
            self.interrupt();
            to_read = self.resume();
        }
        self.position = Some((message.epoch, message.after));
        for change in &message.changes {
            let watched = self.hear_change(change);
            if watched && change.counts.is_none() && !to_read.contains(&change.entity) {
                to_read.push(change.entity);
            }
        }
        for (source, offset) in &message.folded {
            self.fold_heard(*source, *offset);
        }
        raise(&self.newest, Version::new(message.epoch, message.after));
        to_read
    }

    /// Newest epoch that was heard or read since the last interruption.
    fn epoch(&self) -> Option<u64> {
        self.position.map(|(epoch, _)| epoch).max(self.read_epoch)
    }

    /// Whether no message is missing between the last one and this one.
    fn is_continued_by(&self, message: &ShardMessage) -> bool {
        match self.position {
            Some(position) => position == (message.epoch, message.before),
            None => self.read_epoch.is_none_or(|epoch| epoch == message.epoch),
        }
    }

    /// Records that a log is folded up to `offset`. Offsets only rise.
    pub fn fold_heard(&mut self, source: ShardId, offset: Offset) {
        raise(&self.folded[source.index()], offset);
    }

    /// Returns whether the entity is watched.
    fn hear_change(&mut self, change: &CountsChange) -> bool {
        let held = self.slots.peek(&change.entity).map(Slot::version);
        if held.is_none_or(|held| held < change.version) {
            match change.counts {
                Some(counts) => self.keep(change.entity, CountsAt { version: change.version, counts }),
                None => {
                    self.slots.put(change.entity, Slot::Invalidated(change.version));
                }
            }
        }
        self.watchers.contains_key(&change.entity)
    }

    /// Registers a read before it is sent.
    pub fn begin_read(&mut self, entity: Entity) -> ReadTicket {
        if self.hearing && !self.slots.contains(&entity) {
            self.slots.put(entity, Slot::Invalidated(Version::default()));
        }
        self.ticket()
    }

    /// Stands for all reads that are registered now.
    pub const fn ticket(&self) -> ReadTicket {
        ReadTicket { interruptions: self.interruptions }
    }

    /// Takes in the result of a registered read (or a load). Returns the counts to use; `None`: load them.
    pub fn finish_read(&mut self, ticket: ReadTicket, entity: Entity, read: CountsRead) -> Option<CountsAt> {
        let read = match read {
            CountsRead::Known(version, counts) => Some(CountsAt { version, counts }),
            CountsRead::Missing => None,
        };
        if !self.hearing || ticket.interruptions != self.interruptions {
            return read; // right when it was read, but not to be held: later changes may be missed
        }
        let read_epoch = read.map(|read| read.version.epoch());
        if read_epoch.is_some() && read_epoch < self.epoch() {
            return None; // of an epoch before a reset
        }
        self.read_epoch = self.read_epoch.max(read_epoch);
        match (self.slots.peek(&entity).copied(), read) {
            (Some(Slot::Known(held)), Some(read)) if read.version <= held.version => Some(held),
            (Some(Slot::Known(held)), None) => Some(held),
            (Some(Slot::Invalidated(since)), Some(read)) if read.version < since => None,
            (Some(_), Some(read)) => {
                self.keep(entity, read);
                Some(read)
            }
            // The slot made at registration was evicted, perhaps with newer changes in it. So the result is not held,
            // but watches get it: they ignore what is older than their latest counts.
            (None, Some(read)) => {
                self.tell(entity, read);
                Some(read)
            }
            (None | Some(Slot::Invalidated(_)), None) => None,
        }
    }

    fn keep(&mut self, entity: Entity, counted: CountsAt) {
        self.slots.put(entity, Slot::Known(counted));
        self.tell(entity, counted);
    }

    fn tell(&self, entity: Entity, counted: CountsAt) {
        for sender in self.watchers.get(&entity).into_iter().flatten() {
            counts_watch::send(sender, counted);
        }
    }

    /// Whether an invalidation was heard that makes this version useless.
    pub fn is_outdated(&self, entity: Entity, version: Version) -> bool {
        matches!(self.slots.peek(&entity), Some(Slot::Invalidated(since)) if version < *since)
    }

    pub fn watch(&mut self, entity: Entity, sender: Arc<CountsSender>) {
        if let Some(Slot::Known(counted)) = self.slots.peek(&entity)
            && self.hearing
        {
            counts_watch::send(&sender, *counted);
        }
        self.watchers.entry(entity).or_default().push(sender);
    }

    pub fn unwatch(&mut self, entity: Entity, sender: &Arc<CountsSender>) {
        if let Some(senders) = self.watchers.get_mut(&entity) {
            senders.retain(|other| !Arc::ptr_eq(other, sender));
            if senders.is_empty() {
                self.watchers.remove(&entity);
            }
        }
    }
}

/// Sets a value that only rises.
fn raise<T: PartialOrd>(known: &watch::Sender<T>, value: T) {
    known.send_if_modified(|known| {
        let newer = value > *known;
        if newer {
            *known = value;
        }
        newer
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::{Counts, EntityKind};

    const EPOCH: u64 = 3;

    fn note() -> Entity {
        Entity::new(EntityKind::Note, "5".parse().unwrap())
    }

    fn view() -> ShardView {
        let mut view = ShardView::new(ShardCount::new(1).unwrap(), NonZeroUsize::new(10).unwrap());
        view.resume();
        view
    }

    fn counted(change: u64, likes: i64) -> CountsAt {
        CountsAt { version: Version::new(EPOCH, change), counts: Counts::from_values([likes]) }
    }

    fn read(change: u64, likes: i64) -> CountsRead {
        let CountsAt { version, counts } = counted(change, likes);
        CountsRead::Known(version, counts)
    }

    /// One message with one change: `likes`, or an invalidation.
    fn message(change: u64, likes: Option<i64>) -> ShardMessage {
        let CountsAt { version, counts } = counted(change, likes.unwrap_or_default());
        ShardMessage {
            shard: ShardId(0),
            epoch: EPOCH,
            before: change - 1,
            after: change,
            changes: vec![CountsChange { entity: note(), version, counts: likes.map(|_| counts) }],
            folded: vec![],
        }
    }

    #[test]
    fn a_change_heard_during_a_read_wins_over_its_older_answer() {
        let mut view = view();
        let ticket = view.begin_read(note());
        view.hear(&message(7, Some(70)));
        assert_eq!(view.finish_read(ticket, note(), read(6, 60)), Some(counted(7, 70)));
        assert_eq!(view.held(note()), Some(counted(7, 70)));
    }

    #[test]
    fn a_change_heard_late_does_not_undo_a_newer_read() {
        for late in [Some(70), None] {
            let mut view = view();
            let ticket = view.begin_read(note());
            view.finish_read(ticket, note(), read(8, 80));
            view.hear(&message(7, late));
            assert_eq!(view.held(note()), Some(counted(8, 80)));
        }
    }

    #[test]
    fn an_invalidation_heard_during_a_read_makes_its_older_answer_useless() {
        let mut view = view();
        let ticket = view.begin_read(note());
        view.hear(&message(7, None));
        assert_eq!(view.finish_read(ticket, note(), read(6, 60)), None);
        assert_eq!(view.finish_read(ticket, note(), read(8, 80)), Some(counted(8, 80)));
    }

    #[test]
    fn a_read_that_began_before_an_interruption_is_not_kept() {
        let mut view = view();
        let ticket = view.begin_read(note());
        view.interrupt();
        view.resume();
        assert_eq!(view.finish_read(ticket, note(), read(6, 60)), Some(counted(6, 60)));
        assert_eq!(view.held(note()), None);
    }

    #[test]
    fn a_missed_message_drops_all_and_reads_what_is_watched() {
        let mut view = view();
        let sender = Arc::new(CountsSender::new(None));
        view.watch(note(), Arc::clone(&sender));
        let other = Entity::new(EntityKind::User, "9".parse().unwrap());
        view.hear(&message(7, Some(70)));
        let ticket = view.begin_read(other);
        view.finish_read(ticket, other, read(6, 1));
        assert!(view.held(other).is_some());

        let to_read = view.hear(&message(9, Some(90)));
        assert_eq!(to_read, [note()]);
        assert_eq!(view.held(other), None);
        assert_eq!(view.held(note()), Some(counted(9, 90)));
    }

    #[test]
    fn a_heartbeat_with_a_newer_change_shows_the_gap() {
        let mut view = view();
        view.hear(&message(7, Some(70)));
        let heartbeat = ShardMessage { before: 8, after: 8, changes: vec![], ..message(8, None) };
        view.hear(&heartbeat);
        assert_eq!(view.held(note()), None);
        view.hear(&heartbeat);
        let ticket = view.begin_read(note());
        view.finish_read(ticket, note(), read(8, 80));
        view.hear(&heartbeat);
        assert_eq!(view.held(note()), Some(counted(8, 80)));
    }

    /// The first message after an interruption can be compared only with what was read.
    #[test]
    fn counters_that_are_reset_before_the_first_message_are_read_again() {
        let reset =
            ShardMessage { epoch: EPOCH + 1, before: 0, after: 0, changes: vec![], ..message(8, None) };
        let mut view = view();
        let sender = Arc::new(CountsSender::new(None));
        view.watch(note(), Arc::clone(&sender));
        let early = view.begin_read(note());
        view.finish_read(early, note(), read(7, 70));
        assert_eq!(view.hear(&reset), [note()]);
        assert_eq!(view.held(note()), None);
        view.hear(&message(8, Some(80)));
        assert_eq!(view.held(note()), None, "a message of the epoch before");
    }

    #[test]
    fn a_read_that_finds_counters_of_the_epoch_before_is_not_kept() {
        let reset =
            ShardMessage { epoch: EPOCH + 1, before: 0, after: 0, changes: vec![], ..message(8, None) };
        let mut view = view();
        let late = view.begin_read(note());
        assert_eq!(view.hear(&reset), []);
        assert_eq!(view.finish_read(late, note(), read(7, 70)), None);
        assert_eq!(view.held(note()), None);
    }

    #[test]
    fn nothing_is_held_while_changes_are_not_heard() {
        let mut view = view();
        view.interrupt();
        let ticket = view.begin_read(note());
        assert_eq!(view.finish_read(ticket, note(), read(6, 60)), Some(counted(6, 60)));
        assert_eq!(view.held(note()), None);
    }
}
