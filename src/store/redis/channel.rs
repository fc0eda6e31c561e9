//! What shards say on their channels (`lua/lib/changes.lua` writes it), and hearing it.

use redis::{AsyncConnectionConfig, PushInfo, PushKind, aio::MultiplexedConnection};
use tokio::sync::mpsc;
use tokio_stream::{Stream, StreamExt, wrappers::UnboundedReceiverStream};

use super::{connection::Redis, keys, reply::parse};
use crate::{
    catalogue::{Counts, Entity},
    primitives::{Offset, ShardId, Version},
    store::{StoreError, StoreResult},
};

/// One message of a shard.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ShardMessage {
    pub shard: ShardId,
    pub epoch: u64,
    /// The change that the message before it ended with.
    pub before: u64,
    /// The change that it ends with.
    pub after: u64,
    pub changes: Vec<CountsChange>,
    /// Logs and how far they are folded.
    pub folded: Vec<(ShardId, Offset)>,
}

/// New counts of one entity; `None`: not known, read them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CountsChange {
    pub entity: Entity,
    pub version: Version,
    pub counts: Option<Counts>,
}

impl ShardMessage {
    /// Entities that changed in PostgreSQL. A fold, too, says "unknown": of counters that nobody has loaded.
    pub fn invalidated(&self) -> impl Iterator<Item = Entity> + '_ {
        let is_fold = !self.folded.is_empty();
        self.changes
            .iter()
            .filter(move |change| !is_fold && change.counts.is_none())
            .map(|change| change.entity)
    }

    pub fn decode(shard: ShardId, text: &str) -> StoreResult<Self> {
        let malformed = || StoreError::Unexpected(format!("message {text:?}"));
        let mut lines = text.lines();
        let head: Vec<&str> = lines.next().unwrap_or_default().split(' ').collect();
        let [epoch, before, after, source, to] = head[..] else {
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
        if source != "-" {
            message.folded.push((ShardId(parse(source)?), parse(to)?));
        }
        for line in lines {
            let (subject, rest) = line.split_once(' ').ok_or_else(malformed)?;
            if subject == "folded" {
                let (source, to) = rest.split_once(' ').ok_or_else(malformed)?;
                message.folded.push((ShardId(parse(source)?), parse(to)?));
            } else if let Ok(entity) = subject.parse() {
                message.changes.push(change(message.epoch, entity, rest)?);
            } // else of a kind that only a later release knows
        }
        Ok(message)
    }
}

fn change(epoch: u64, entity: Entity, rest: &str) -> StoreResult<CountsChange> {
    let (number, values) = rest
        .split_once(' ')
        .ok_or_else(|| StoreError::Unexpected(format!("change of {entity}: {rest:?}")))?;
    let counts = match values {
        "?" => None,
        values => {
            let values = values.split(' ').map(parse).collect::<StoreResult<Vec<i64>>>()?;
            // Another release has other counters: then this one reads its own.
            let same_counters = values.len() == entity.kind.counters().len();
            same_counters.then(|| Counts::from_values(values))
        }
    };
    Ok(CountsChange { entity, version: Version::new(epoch, parse(number)?), counts })
}

/// Hears the channels of all shards on one connection.
pub struct ChangeListener {
    pushes: mpsc::UnboundedReceiver<PushInfo>,
    connection: MultiplexedConnection,
    channels: Vec<(String, ShardId)>,
}

impl Redis {
    /// Returns when all channels are subscribed to.
    pub async fn listen(&self) -> StoreResult<ChangeListener> {
        let (sender, pushes) = mpsc::unbounded_channel();
        let config = AsyncConnectionConfig::new()
            .set_push_sender(sender)
            .set_connection_timeout(Some(std::time::Duration::from_secs(1)))
            .set_response_timeout(Some(std::time::Duration::from_secs(2)));
        let mut connection =
            resp3(self.client())?.get_multiplexed_async_connection_with_config(&config).await?;
        let channels: Vec<_> = self.shards().all().map(|shard| (keys::changes(shard), shard)).collect();
        for (channel, _) in &channels {
            let mut subscribe = redis::cmd("SSUBSCRIBE");
            subscribe.arg(channel);
            connection.send_packed_command(&subscribe).await?;
        }
        self.answered();
        Ok(ChangeListener { pushes, connection, channels })
    }
}

/// The same server, spoken to in the protocol version that has push messages.
fn resp3(client: &redis::Client) -> StoreResult<redis::Client> {
    let info = client.get_connection_info().clone();
    let redis = info.redis_settings().clone().set_protocol(redis::ProtocolVersion::RESP3);
    Ok(redis::Client::open(info.set_redis_settings(redis))?)
}

impl ChangeListener {
    /// Every message, until the connection ends: whoever reads then must assume to have missed something.
    pub fn into_messages(self) -> impl Stream<Item = StoreResult<ShardMessage>> + Send {
        let Self { pushes, connection, channels } = self;
        UnboundedReceiverStream::new(pushes)
            .take_while(|push| push.kind != PushKind::Disconnection)
            .filter_map(move |push| {
                let _subscribed_as_long_as = &connection;
                (push.kind == PushKind::SMessage).then(|| decode(&channels, push))
            })
    }
}

fn decode(channels: &[(String, ShardId)], push: PushInfo) -> StoreResult<ShardMessage> {
    let mut data = push.data.into_iter();
    let mut text = || super::reply::read::<String>(data.next().unwrap_or(redis::Value::Nil));
    let (channel, payload) = (text()?, text()?);
    let shard = channels
        .iter()
        .find(|(name, _)| *name == channel)
        .map(|(_, shard)| *shard)
        .ok_or_else(|| StoreError::Unexpected(format!("message on {channel}")))?;
    ShardMessage::decode(shard, &payload)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::Counter;

    #[test]
    fn a_message_tells_counts_unknowns_and_how_far_logs_are_folded() {
        let text = "3 10 12 1 7-42\nnote:5 11 1 2 3 4 5 6\nuser:9 12 ?\nfolded 0 7-40";
        let message = ShardMessage::decode(ShardId(0), text).unwrap();
        assert_eq!((message.epoch, message.before, message.after), (3, 10, 12));
        assert_eq!(message.folded, [(ShardId(1), Offset::new(7, 42)), (ShardId(0), Offset::new(7, 40))]);
        assert_eq!(message.changes[0].version, Version::new(3, 11));
        assert_eq!(message.changes[0].counts.unwrap().get(Counter::NoteCollects), 2);
        assert_eq!(message.changes[1].counts, None);
    }

    #[test]
    fn a_correction_tells_what_changed_in_postgresql_and_a_fold_does_not() {
        let corrected = |text| {
            ShardMessage::decode(ShardId(0), text)
                .unwrap()
                .invalidated()
                .map(|e| e.to_string())
                .collect::<Vec<_>>()
        };
        assert_eq!(corrected("3 10 11 - -\nuser:9 11 ?"), ["user:9"]);
        assert_eq!(corrected("3 10 11 1 7-42\nuser:9 11 ?"), [""; 0]);
    }

    #[test]
    fn kinds_and_counters_of_another_release_do_not_disturb() {
        let message =
            ShardMessage::decode(ShardId(0), "3 10 13 - -\ncat:5 11 1\nnote:5 12 1 2 3\nuser:9 13 ?")
                .unwrap();
        let changes: Vec<_> = message.changes.iter().map(|c| (c.entity.to_string(), c.counts)).collect();
        assert_eq!(changes, [("note:5".to_owned(), None), ("user:9".to_owned(), None)]);
    }

    #[test]
    fn nonsense_is_an_error_and_not_a_panic() {
        for text in ["", "x", "1 2 3", "1 2 3 - -\nnote:5", "1 2 3 - -\nnote:5 9 1 x"] {
            assert!(ShardMessage::decode(ShardId(0), text).is_err(), "{text:?}");
        }
    }
}
