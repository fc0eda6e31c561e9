//! Consistency rules of the cache for one shard, without any input or output.
//!
//! A version replaces a lower one, from whatever source. An invalidation at a version discards every lower version. A
//! missed message discards everything that is cached or being read.

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
    /// Whether every change since the last interruption was received.
    receiving: bool,
    /// Interruptions so far. A read that began before the latest one is not cached.
    interruptions: u64,
    /// Epoch and number of the newest change received; `None` until the first message after an interruption.
    position: Option<(u64, u64)>,
    /// Newest epoch that was read since the last interruption. Before the first message only this shows a reset of
    /// the counters.
    read_epoch: Option<u64>,
    /// Newest change ever received, including before an interruption.
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

/// A registered read: its result is compared with the changes received since its registration.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ReadTicket {
    interruptions: u64,
}

impl ShardView {
    pub fn new(shards: ShardCount, capacity: NonZeroUsize) -> Self {
        Self {
            receiving: false,
            interruptions: 0,
            position: None,
            read_epoch: None,
            newest: watch::Sender::new(Version::default()),
            slots: LruCache::new(capacity),
            folded: shards.all().map(|_| watch::Sender::new(Offset::default())).collect(),
            watchers: HashMap::new(),
        }
    }

    pub const fn is_receiving(&self) -> bool {
        self.receiving
    }

    pub fn folded(&self, source: ShardId) -> watch::Receiver<Offset> {
        self.folded[source.index()].subscribe()
    }

    pub fn newest(&self) -> watch::Receiver<Version> {
        self.newest.subscribe()
    }

    pub fn cached(&mut self, entity: Entity) -> Option<CountsAt> {
        match self.slots.get(&entity) {
            Some(Slot::Known(counted)) if self.receiving => Some(*counted),
            _ => None,
        }
    }

    /// Changes may have been missed: clears the cache. Watches keep their latest counts.
    pub fn interrupt(&mut self) {
        self.receiving = false;
        self.interruptions += 1;
        self.position = None;
        self.read_epoch = None;
        self.slots.clear();
    }

    /// Changes are received again. Returns the watched entities: all must be read again.
    pub fn resume(&mut self) -> Vec<Entity> {
        self.receiving = true;
        self.watched()
    }

    pub fn watched(&self) -> Vec<Entity> {
        self.watchers.keys().copied().collect()
    }

    /// Applies a message. Returns the watched entities that must be read.
    pub fn receive(&mut self, message: &ShardMessage) -> Vec<Entity> {
        let mut to_read = Vec::new();
        if Some(message.epoch) < self.epoch() {
            return to_read; // the message is from before a reset of the counters
        }
        if !self.is_continued_by(message) {
            self.interrupt();
            to_read = self.resume();
        }
        self.position = Some((message.epoch, message.after));
        for change in &message.changes {
            let watched = self.apply_change(change);
            if watched && change.counts.is_none() && !to_read.contains(&change.entity) {
                to_read.push(change.entity);
            }
        }
        for (source, offset) in &message.folded {
            self.raise_folded(*source, *offset);
        }
        raise(&self.newest, Version::new(message.epoch, message.after));
        to_read
    }

    /// Newest epoch that was received or read since the last interruption.
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
    pub fn raise_folded(&mut self, source: ShardId, offset: Offset) {
        raise(&self.folded[source.index()], offset);
    }

    /// Returns whether the entity is watched.
    fn apply_change(&mut self, change: &CountsChange) -> bool {
        let cached = self.slots.peek(&change.entity).map(Slot::version);
        if cached.is_none_or(|cached| cached < change.version) {
            match change.counts {
                Some(counts) => self.store(change.entity, CountsAt { version: change.version, counts }),
                None => {
                    self.slots.put(change.entity, Slot::Invalidated(change.version));
                }
            }
        }
        self.watchers.contains_key(&change.entity)
    }

    /// Registers a read before it is sent.
    pub fn begin_read(&mut self, entity: Entity) -> ReadTicket {
        if self.receiving && !self.slots.contains(&entity) {
            self.slots.put(entity, Slot::Invalidated(Version::default()));
        }
        self.ticket()
    }

    /// A ticket for all reads that are registered now.
    pub const fn ticket(&self) -> ReadTicket {
        ReadTicket { interruptions: self.interruptions }
    }

    /// Caches the result of a registered read or load, unless a newer change was received. Returns the counts to use;
    /// `None` if they must be loaded.
    pub fn finish_read(&mut self, ticket: ReadTicket, entity: Entity, read: CountsRead) -> Option<CountsAt> {
        let read = match read {
            CountsRead::Known(version, counts) => Some(CountsAt { version, counts }),
            CountsRead::Missing => None,
        };
        if !self.receiving || ticket.interruptions != self.interruptions {
            return read; // correct when it was read, but not cached: later changes may have been missed
        }
        let read_epoch = read.map(|read| read.version.epoch());
        if read_epoch.is_some() && read_epoch < self.epoch() {
            return None; // read before a reset of the counters
        }
        self.read_epoch = self.read_epoch.max(read_epoch);
        match (self.slots.peek(&entity).copied(), read) {
            (Some(Slot::Known(cached)), Some(read)) if read.version <= cached.version => Some(cached),
            (Some(Slot::Known(cached)), None) => Some(cached),
            (Some(Slot::Invalidated(since)), Some(read)) if read.version < since => None,
            (Some(_), Some(read)) => {
                self.store(entity, read);
                Some(read)
            }
            // The slot of the registration was evicted, perhaps with newer changes in it. So the result is not cached.
            // Watches receive it all the same: they ignore counts that are older than their latest.
            (None, Some(read)) => {
                self.notify(entity, read);
                Some(read)
            }
            (None | Some(Slot::Invalidated(_)), None) => None,
        }
    }

    fn store(&mut self, entity: Entity, counted: CountsAt) {
        self.slots.put(entity, Slot::Known(counted));
        self.notify(entity, counted);
    }

    fn notify(&self, entity: Entity, counted: CountsAt) {
        for sender in self.watchers.get(&entity).into_iter().flatten() {
            counts_watch::send(sender, counted);
        }
    }

    /// Whether an invalidation of this version was received.
    pub fn is_outdated(&self, entity: Entity, version: Version) -> bool {
        matches!(self.slots.peek(&entity), Some(Slot::Invalidated(since)) if version < *since)
    }

    pub fn watch(&mut self, entity: Entity, sender: Arc<CountsSender>) {
        if let Some(Slot::Known(counted)) = self.slots.peek(&entity)
            && self.receiving
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
fn raise<T: PartialOrd>(sender: &watch::Sender<T>, value: T) {
    sender.send_if_modified(|current| {
        let newer = value > *current;
        if newer {
            *current = value;
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
    fn a_change_received_during_a_read_wins_over_the_older_result() {
        let mut view = view();
        let ticket = view.begin_read(note());
        view.receive(&message(7, Some(70)));
        assert_eq!(view.finish_read(ticket, note(), read(6, 60)), Some(counted(7, 70)));
        assert_eq!(view.cached(note()), Some(counted(7, 70)));
    }

    #[test]
    fn a_change_received_late_does_not_undo_a_newer_read() {
        for late in [Some(70), None] {
            let mut view = view();
            let ticket = view.begin_read(note());
            view.finish_read(ticket, note(), read(8, 80));
            view.receive(&message(7, late));
            assert_eq!(view.cached(note()), Some(counted(8, 80)));
        }
    }

    #[test]
    fn an_invalidation_received_during_a_read_discards_the_older_result() {
        let mut view = view();
        let ticket = view.begin_read(note());
        view.receive(&message(7, None));
        assert_eq!(view.finish_read(ticket, note(), read(6, 60)), None);
        assert_eq!(view.finish_read(ticket, note(), read(8, 80)), Some(counted(8, 80)));
    }

    #[test]
    fn a_read_that_began_before_an_interruption_is_not_cached() {
        let mut view = view();
        let ticket = view.begin_read(note());
        view.interrupt();
        view.resume();
        assert_eq!(view.finish_read(ticket, note(), read(6, 60)), Some(counted(6, 60)));
        assert_eq!(view.cached(note()), None);
    }

    #[test]
    fn after_a_missed_message_the_cache_is_empty_and_watched_entities_are_read() {
        let mut view = view();
        let sender = Arc::new(CountsSender::new(None));
        view.watch(note(), Arc::clone(&sender));
        let other = Entity::new(EntityKind::User, "9".parse().unwrap());
        view.receive(&message(7, Some(70)));
        let ticket = view.begin_read(other);
        view.finish_read(ticket, other, read(6, 1));
        assert!(view.cached(other).is_some());

        let to_read = view.receive(&message(9, Some(90)));
        assert_eq!(to_read, [note()]);
        assert_eq!(view.cached(other), None);
        assert_eq!(view.cached(note()), Some(counted(9, 90)));
    }

    #[test]
    fn a_heartbeat_with_a_newer_change_reveals_a_missed_message() {
        let mut view = view();
        view.receive(&message(7, Some(70)));
        let heartbeat = ShardMessage { before: 8, after: 8, changes: vec![], ..message(8, None) };
        view.receive(&heartbeat);
        assert_eq!(view.cached(note()), None);
        view.receive(&heartbeat);
        let ticket = view.begin_read(note());
        view.finish_read(ticket, note(), read(8, 80));
        view.receive(&heartbeat);
        assert_eq!(view.cached(note()), Some(counted(8, 80)));
    }

    /// The first message after an interruption can only be compared with earlier reads.
    #[test]
    fn counters_that_are_reset_before_the_first_message_are_read_again() {
        let reset =
            ShardMessage { epoch: EPOCH + 1, before: 0, after: 0, changes: vec![], ..message(8, None) };
        let mut view = view();
        let sender = Arc::new(CountsSender::new(None));
        view.watch(note(), Arc::clone(&sender));
        let early = view.begin_read(note());
        view.finish_read(early, note(), read(7, 70));
        assert_eq!(view.receive(&reset), [note()]);
        assert_eq!(view.cached(note()), None);
        view.receive(&message(8, Some(80)));
        assert_eq!(view.cached(note()), None, "a message of the previous epoch");
    }

    #[test]
    fn a_read_of_counters_of_the_previous_epoch_is_not_cached() {
        let reset =
            ShardMessage { epoch: EPOCH + 1, before: 0, after: 0, changes: vec![], ..message(8, None) };
        let mut view = view();
        let late = view.begin_read(note());
        assert_eq!(view.receive(&reset), []);
        assert_eq!(view.finish_read(late, note(), read(7, 70)), None);
        assert_eq!(view.cached(note()), None);
    }

    #[test]
    fn nothing_is_cached_while_no_changes_are_received() {
        let mut view = view();
        view.interrupt();
        let ticket = view.begin_read(note());
        assert_eq!(view.finish_read(ticket, note(), read(6, 60)), Some(counted(6, 60)));
        assert_eq!(view.cached(note()), None);
    }
}
