//! Consistency rules of the cache for one shard, without any input or output.
//!
//! A version replaces a lower one, from whatever source. An invalidation at a version discards every lower version. A
//! missed message discards everything that is cached or being read. [`held`] has the rules for one entity.

mod asked;
mod held;

use std::{collections::HashMap, num::NonZeroUsize, sync::Arc};

use lru::LruCache;
use tokio::sync::watch;

use super::{
    CountsAt,
    watch::{self as counts_watch, CountsSender},
};
use asked::Asked;
use held::HeldCounts;

use plaudit_catalogue::{
    Entity,
    primitives::{Offset, ShardCount, ShardId, Version},
};
use plaudit_store::redis::{CountsChange, CountsRead, FoldedLog, ReplicationId, ShardMessage};

pub struct ShardView {
    /// Whether every change since the last interruption was received.
    receiving: bool,
    /// Interruptions, and ends of interruptions, so far. A read that began before the latest one is not cached:
    /// a change after it may have been missed.
    interruptions: u64,
    /// Epoch and number of the newest change received; `None` until the first message after an interruption.
    position: Option<(u64, u64)>,
    /// Newest epoch that was read since the last interruption. Before the first message only this shows a reset of
    /// the counters.
    read_epoch: Option<u64>,
    /// Newest change ever received, including before an interruption.
    newest: watch::Sender<Version>,
    held: LruCache<Entity, HeldCounts>,
    /// Counts from before the interruptions, for answers while Redis is away.
    before: LruCache<Entity, CountsAt>,
    asked: Asked,
    /// Per source shard, how far its log is folded into this shard.
    folded: Vec<watch::Sender<FoldedTo>>,
    watchers: HashMap<Entity, Vec<Arc<CountsSender>>>,
}

/// How far a log is folded.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct FoldedTo {
    pub offset: Offset,
    /// The replication id of the Redis whose replicas have the log up to there, if a message has named one.
    pub confirmed_in: Option<ReplicationId>,
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
            held: LruCache::new(capacity),
            before: LruCache::new(capacity),
            asked: Asked::new(capacity),
            folded: shards.all().map(|_| watch::Sender::default()).collect(),
            watchers: HashMap::new(),
        }
    }

    pub const fn is_receiving(&self) -> bool {
        self.receiving
    }

    pub fn folded(&self, source: ShardId) -> watch::Receiver<FoldedTo> {
        self.folded[source.index()].subscribe()
    }

    pub fn newest(&self) -> watch::Receiver<Version> {
        self.newest.subscribe()
    }

    pub fn cached(&mut self, entity: Entity) -> Option<CountsAt> {
        let counts = self.held.get(&entity).and_then(HeldCounts::known).filter(|_| self.receiving)?;
        self.asked.note(entity);
        Some(counts)
    }

    /// Whether the entity was counted, or a change of it was received. So it exists.
    pub fn knows(&self, entity: Entity) -> bool {
        let held = self.held.peek(&entity);
        held.is_some_and(|held| held.version() > Version::default()) || self.before.contains(&entity)
    }

    /// The entities that were asked for since the last call, or are watched when an hour begins, each once an hour.
    pub fn take_asked(&mut self, is_new_hour: bool) -> Vec<Entity> {
        let asked = self.asked.take(is_new_hour);
        if is_new_hour {
            self.watchers.keys().for_each(|entity| self.asked.note(*entity));
        }
        asked
    }

    /// The counts that were known last; changes may have been missed since.
    pub fn last_known(&mut self, entity: Entity) -> Option<CountsAt> {
        let known = self.held.peek(&entity).and_then(HeldCounts::known);
        known.or_else(|| self.before.get(&entity).copied())
    }

    /// Changes may have been missed: clears the cache. Watches keep their latest counts.
    pub fn interrupt(&mut self) {
        self.receiving = false;
        self.interruptions += 1;
        self.position = None;
        self.read_epoch = None;
        while let Some((entity, held)) = self.held.pop_lru() {
            if let Some(counts) = held.known() {
                self.before.put(entity, counts);
            }
        }
    }

    /// Changes are received again. All watched entities must be read again.
    pub fn resume(&mut self) {
        self.receiving = true;
        self.interruptions += 1;
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
            self.resume();
            to_read = self.watched();
        }
        let is_first = self.position.is_none();
        self.position = Some((message.epoch, message.after));
        for change in &message.changes {
            if self.apply_change(change, is_first) && !to_read.contains(&change.entity) {
                to_read.push(change.entity);
            }
        }
        for FoldedLog { source, to, confirmed_in } in &message.folded {
            self.raise_folded(*source, *to, confirmed_in.clone());
        }
        let version = Version::new(message.epoch, message.after);
        self.newest.send_if_modified(|newest| {
            let is_newer = version > *newest;
            *newest = version.max(*newest);
            is_newer
        });
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

    /// Records how far the logs are folded, as Redis has it. The messages of these folds may wait to be
    /// received, so what is cached may be older: a reply that waited for a fold must not find that, and it is
    /// cleared.
    pub fn read_positions(&mut self, folded: impl Iterator<Item = (ShardId, Offset)>) {
        let mut risen = false;
        for (source, offset) in folded {
            risen |= self.raise_folded(source, offset, None);
        }
        if risen && self.receiving {
            self.interrupt();
            self.resume();
        }
    }

    /// Records that a log is folded up to `offset`. Offsets only rise. Returns whether this one has.
    fn raise_folded(&mut self, source: ShardId, offset: Offset, confirmed_in: Option<ReplicationId>) -> bool {
        self.folded[source.index()].send_if_modified(|folded| {
            let is_newer = offset > folded.offset;
            if is_newer {
                *folded = FoldedTo { offset, confirmed_in };
            }
            is_newer
        })
    }

    /// Returns whether the entity is watched and must be read. `is_first`: this is the first message after a gap. A
    /// message before it may have been missed, so its partial totals cannot be merged with counts that were read
    /// earlier.
    fn apply_change(&mut self, change: &CountsChange, is_first: bool) -> bool {
        let entity = change.entity;
        let held = self.held.peek(&entity).copied();
        if held.is_some_and(|held| held.version() >= change.version) {
            return false;
        }
        let changed = HeldCounts::changed(held.filter(|_| !is_first), change);
        self.held.put(entity, changed);
        if let Some(counts) = changed.known() {
            self.notify(entity, counts);
            return false;
        }
        // A registered read of a watched entity is repeated until it succeeds, unless its answer is invalidated.
        let is_being_read = matches!(held, Some(HeldCounts::Unknown { .. })) && change.totals.is_some();
        !is_being_read && self.watchers.contains_key(&entity)
    }

    /// Registers a read before it is sent.
    pub fn begin_read(&mut self, entity: Entity) -> ReadTicket {
        if self.receiving && !self.held.contains(&entity) {
            self.held.put(entity, HeldCounts::registered());
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
        let counts = self.take_read(ticket, entity, read)?;
        self.asked.note(entity);
        Some(counts)
    }

    fn take_read(&mut self, ticket: ReadTicket, entity: Entity, read: CountsRead) -> Option<CountsAt> {
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
        match (self.held.peek(&entity).copied(), read) {
            (Some(held), Some(read)) => {
                let counts = held.answered(read)?;
                if held != HeldCounts::Known(counts) {
                    self.held.put(entity, HeldCounts::Known(counts));
                    self.notify(entity, counts);
                }
                Some(counts)
            }
            // The registration was evicted, perhaps with newer changes in it. So the result is not
            // cached. Watches receive it all the same: they ignore counts that are older than their latest.
            (None, Some(read)) => {
                self.notify(entity, read);
                Some(read)
            }
            (held, None) => held.as_ref().and_then(HeldCounts::known),
        }
    }

    fn notify(&self, entity: Entity, counted: CountsAt) {
        for sender in self.watchers.get(&entity).into_iter().flatten() {
            counts_watch::send(sender, counted);
        }
    }

    /// What a load that others began leads to: newer counts that were cached meanwhile; `None` if an invalidation
    /// that is newer was received.
    pub fn since_load(&self, entity: Entity, loaded: CountsAt) -> Option<CountsAt> {
        match self.held.peek(&entity) {
            Some(HeldCounts::Known(counts)) if counts.version > loaded.version => Some(*counts),
            Some(HeldCounts::Unknown { since, .. }) if loaded.version < *since => None,
            _ => Some(loaded),
        }
    }

    pub fn watch(&mut self, entity: Entity, sender: Arc<CountsSender>) {
        if let Some(counts) = self.held.peek(&entity).and_then(HeldCounts::known)
            && self.receiving
        {
            counts_watch::send(&sender, counts);
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

#[cfg(test)]
mod tests;
