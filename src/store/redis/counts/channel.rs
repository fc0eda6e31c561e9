//! Messages on the shards' channels (written by `lua/lib/changes.lua`), and the subscription to them.

use std::{convert::Infallible, sync::Arc, time::Duration};

use redis::{AsyncConnectionConfig, PushInfo, PushKind, Value, aio::MultiplexedConnection};

use super::push_queue::{PushQueue, QueueItem};
use crate::{
    StoreError, StoreResult,
    redis::{
        ReplicationId, keys,
        nodes::{link::resp3, map::NodeShards, shards_of_nodes::ShardsOfNode},
        reply::{parse, read},
    },
};
use plaudit_catalogue::{
    Counter, Entity, EntityKind, MovedTotals,
    primitives::{Offset, ShardId, Version},
};

/// Maximum size of one shard's unprocessed messages, in bytes.
pub const QUEUE_BOUND: usize = 4 << 20;

/// One message of a shard.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ShardMessage {
    pub shard: ShardId,
    pub epoch: u64,
    /// Number of the last change of the previous message.
    pub before: u64,
    /// Number of the last change of this message.
    pub after: u64,
    pub changes: Vec<CountsChange>,
    /// Logs and how far they are folded.
    pub folded: Vec<FoldedLog>,
}

/// How far a log is folded.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FoldedLog {
    pub source: ShardId,
    pub to: Offset,
    /// The replication id of the Redis whose replicas have the log up to there; `None` if its owner asked none.
    pub confirmed_in: Option<ReplicationId>,
}

/// New totals of one entity; `None`: invalidated or never loaded, read them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CountsChange {
    pub entity: Entity,
    pub version: Version,
    pub totals: Option<MovedTotals>,
    /// What is cached of its row is outdated.
    pub row_changed: bool,
}

impl ShardMessage {
    /// Entities whose rows changed.
    pub fn changed_rows(&self) -> impl Iterator<Item = Entity> + '_ {
        self.changes.iter().filter(|change| change.row_changed).map(|change| change.entity)
    }

    pub fn decode(shard: ShardId, text: &str) -> StoreResult<Self> {
        let malformed = || StoreError::Unexpected(format!("message {text:?}"));
        let mut lines = text.lines();
        let head: Vec<&str> = lines.next().unwrap_or_default().split(' ').collect();
        let [epoch, before, after] = head[..] else {
            return Err(malformed());
        };
        let mut message = Self {
            shard,
            epoch: parse(epoch)?,
            before: parse(before)?,
            after: parse(after)?,
            changes: Vec::new(),
            folded: Vec::new(),
        };
        for line in lines {
            let (subject, rest) = line.split_once(' ').ok_or_else(malformed)?;
            if subject == "folded" {
                let (source, to) = rest.split_once(' ').ok_or_else(malformed)?;
                let (to, replication_id) =
                    to.split_once(' ').map_or((to, None), |(to, id)| (to, Some(id.into())));
                let source = shard.sibling(parse(source)?);
                message.folded.push(FoldedLog { source, to: parse(to)?, confirmed_in: replication_id });
            } else if let Ok(entity) = subject.parse() {
                message.changes.push(change(message.epoch, entity, rest)?);
            } // otherwise a kind of a later release
        }
        Ok(message)
    }
}

fn change(epoch: u64, entity: Entity, rest: &str) -> StoreResult<CountsChange> {
    let mut words = rest.split(' ');
    let version = Version::new(epoch, parse(words.next().unwrap_or_default())?);
    let mut totals = MovedTotals::default();
    for word in words {
        let pair = word.split_once('=').and_then(|(name, total)| Some((counter(entity.kind, name)?, total)));
        // Invalidated, or a counter of another release.
        let Some((counter, total)) = pair else {
            return Ok(CountsChange { entity, version, totals: None, row_changed: word == "?" });
        };
        totals.set(counter, parse(total)?);
    }
    Ok(CountsChange { entity, version, totals: Some(totals), row_changed: false })
}

fn counter(kind: EntityKind, name: &str) -> Option<Counter> {
    kind.counters().iter().find(|counter| counter.name() == name).copied()
}

/// What a subscription to channels receives.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ChannelItem {
    Message(ShardMessage),
    /// Messages of the shard were dropped, because its queue was full. The reader must read the shard's data again.
    Overflow(ShardId),
}

/// A subscription to the channels of some shards of one node, on one connection.
pub struct ChangeListener {
    queue: Arc<PushQueue>,
    /// By their places in the queue.
    shards: Arc<[ShardId]>,
    /// The subscription lasts as long as the connection.
    _connection: MultiplexedConnection,
}

/// Returns when the channels of all these shards are subscribed to.
pub async fn listen(ShardsOfNode(placed): &ShardsOfNode) -> StoreResult<ChangeListener> {
    let NodeShards { node, shards } = placed;
    let channels: Vec<String> = shards.iter().map(|shard| keys::changes(*shard).name).collect();
    let queue = Arc::new(PushQueue::new(channels.len(), QUEUE_BOUND));
    let receiver = PushReceiver { queue: Arc::clone(&queue), channels: channels.clone() };
    let config = AsyncConnectionConfig::new()
        .set_push_sender(move |push| {
            receiver.receive(push);
            Ok::<(), Infallible>(())
        })
        .set_connection_timeout(Some(Duration::from_secs(1)))
        .set_response_timeout(Some(Duration::from_secs(2)));
    let mut connection = resp3(node.client())?.get_multiplexed_async_connection_with_config(&config).await?;
    for channel in &channels {
        let mut subscribe = redis::cmd("SSUBSCRIBE");
        subscribe.arg(channel);
        connection.send_packed_command(&subscribe).await?;
    }
    node.answered();
    Ok(ChangeListener { queue, shards: Arc::clone(shards), _connection: connection })
}

impl ChangeListener {
    /// The next event; `None` after the end of the connection, when messages may have been missed. Cancel safe.
    pub async fn next(&mut self) -> Option<StoreResult<ChannelItem>> {
        Some(match self.queue.next().await? {
            QueueItem::Message(at, text) => {
                ShardMessage::decode(self.shards[at], &text).map(ChannelItem::Message)
            }
            QueueItem::Overflow(at) => Ok(ChannelItem::Overflow(self.shards[at])),
        })
    }

    /// The queue of unprocessed messages.
    pub fn queue(&self) -> Arc<PushQueue> {
        Arc::clone(&self.queue)
    }
}

/// Adds the messages of the connection to the queue, and closes the queue when the connection ends.
struct PushReceiver {
    queue: Arc<PushQueue>,
    /// By shard.
    channels: Vec<String>,
}

impl PushReceiver {
    fn receive(&self, push: PushInfo) {
        match push.kind {
            // A slot that leaves the node ends the subscription to its channel.
            PushKind::Disconnection | PushKind::SUnsubscribe => self.queue.close(),
            PushKind::SMessage => {
                let mut data = push.data.into_iter();
                let mut text = || read::<String>(data.next().unwrap_or(Value::Nil));
                let (Ok(channel), Ok(message)) = (text(), text()) else { return };
                if let Some(shard) = self.channels.iter().position(|name| *name == channel) {
                    self.queue.push(shard, message);
                }
            }
            _ => {}
        }
    }
}

impl Drop for PushReceiver {
    fn drop(&mut self) {
        self.queue.close();
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use plaudit_catalogue::{Counts, MAX_COUNTERS};

    use super::*;

    #[test]
    fn a_message_holds_counts_invalidated_entities_and_how_far_logs_are_folded() {
        let text = "3 10 12\nnote_5 11 collects=2\nuser_9 12 ?\nfolded 1 7-42\nfolded 0 7-40 a1";
        let message = ShardMessage::decode(ShardId::first(0), text).unwrap();
        assert_eq!((message.epoch, message.before, message.after), (3, 10, 12));
        let folded = |source, number, replication_id: Option<&str>| FoldedLog {
            source: ShardId::first(source),
            to: Offset::new(7, number),
            confirmed_in: replication_id.map(Into::into),
        };
        assert_eq!(message.folded, [folded(1, 42, None), folded(0, 40, Some("a1"))]);
        assert_eq!(message.changes[0].version, Version::new(3, 11));
        let mut collected = MovedTotals::default();
        collected.set(Counter::NoteCollects, 2);
        assert_eq!(message.changes[0].totals, Some(collected));
        assert_eq!(message.changes[1].totals, None);
    }

    /// The content of a message, as `tests/golden/messages.txt` writes it.
    fn told(message: &ShardMessage) -> Vec<String> {
        let head = format!("epoch {}, changes {} to {}", message.epoch, message.before, message.after);
        let changes = message.changes.iter().map(|CountsChange { entity, version, totals, row_changed }| {
            let change = version.get() - Version::new(version.epoch(), 0).get();
            let what = match totals {
                Some(totals) => {
                    let mut counts = Counts::from_values([i64::MIN; MAX_COUNTERS]);
                    totals.apply_to(&mut counts);
                    let told = counts.values(entity.kind).iter().filter(|count| **count != i64::MIN);
                    format!("{} counters", told.count())
                }
                None if *row_changed => "read it again, and its row".to_owned(),
                None => "read it again".to_owned(),
            };
            format!("{entity} {change}: {what}")
        });
        let folded = message.folded.iter().map(|FoldedLog { source, to, confirmed_in }| {
            let replication_id = confirmed_in.as_ref();
            let replicas =
                replication_id.map(|id| format!(", which replicas of {id} have")).unwrap_or_default();
            format!("shard {} folded to {to}{replicas}", source.0)
        });
        std::iter::once(head).chain(changes).chain(folded).collect()
    }

    #[test]
    fn messages_of_all_releases_tell_what_they_told() {
        let golden = include_str!("../../../../tests/golden/messages.txt");
        let mut complete = BTreeSet::new();
        for block in golden.split("\n\n").skip(1) {
            let (expected, text): (Vec<&str>, Vec<&str>) =
                block.lines().partition(|line| line.starts_with("=> "));
            let message = ShardMessage::decode(ShardId::first(0), &text.join("\n")).unwrap();
            let expected: Vec<&str> = expected.iter().map(|line| &line[3..]).collect();
            assert_eq!(told(&message), expected);
            let whole = |change: &&CountsChange| {
                change.totals.is_some_and(|totals| totals.complete(change.entity.kind).is_some())
            };
            complete.extend(message.changes.iter().filter(whole).map(|change| change.entity.kind));
        }
        let lacking: Vec<_> = EntityKind::ALL.iter().filter(|kind| !complete.contains(kind)).collect();
        assert!(
            lacking.is_empty(),
            "tests/golden/messages.txt: append a message with all counters of {lacking:?}"
        );
    }

    #[test]
    fn counts_may_be_unknown_while_what_is_cached_of_the_row_is_right() {
        let text = "3 10 13\nuser_9 11 ?\nnote_5 12 counts\nnote_6 13 likes=1";
        let message = ShardMessage::decode(ShardId::first(0), text).unwrap();
        let unknown = message.changes.iter().map(|change| change.totals.is_none());
        assert_eq!(unknown.collect::<Vec<_>>(), [true, true, false]);
        assert_eq!(message.changed_rows().map(|entity| entity.to_string()).collect::<Vec<_>>(), ["user_9"]);
    }

    #[test]
    fn kinds_and_counters_of_another_release_do_not_disturb() {
        let message = ShardMessage::decode(
            ShardId::first(0),
            "3 10 13\ncat_5 11 x=1\nnote_5 12 likes=1 x=2\nuser_9 13 ?",
        )
        .unwrap();
        let changes: Vec<_> = message.changes.iter().map(|c| (c.entity.to_string(), c.totals)).collect();
        assert_eq!(changes, [("note_5".to_owned(), None), ("user_9".to_owned(), None)]);
    }

    #[test]
    fn nonsense_is_an_error_and_not_a_panic() {
        for text in [
            "",
            "x",
            "1 2",
            "1 2 3 4",
            "1 2 3\nnote_5",
            "1 2 3\nnote_5 9 likes=x",
            "1 2 3\nnote_5 x likes=1",
            "1 2 3\nfolded 1",
        ] {
            assert!(ShardMessage::decode(ShardId::first(0), text).is_err(), "{text:?}");
        }
    }
}
