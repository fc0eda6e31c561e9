//! Reading and trimming a shard's log.

use std::{collections::HashMap, sync::Arc};

use redis::Value;
use tokio::{sync::watch, time::Instant};

use crate::{
    StoreError, StoreResult,
    redis::{
        Redis, ReplicationId,
        call::RedisCall,
        keys,
        nodes::{
            log_connection::LogConnection,
            log_reads::{LogRead, RawEntry},
        },
        reply::{Reply, info_line, parse, read},
        results::SetLimitsResult,
        scripts,
    },
};
use plaudit_catalogue::{
    Entity,
    event_log::{Entry, EntryDigest, GENESIS},
    primitives::{Offset, ShardId},
};

/// Reads one shard's log, on the [connection](LogConnection) of its node that all logs share.
///
/// Each read begins with the entry that was read last: if it is another one, others have overwritten the log's end.
pub struct LogReader {
    redis: Redis,
    shard: ShardId,
    /// How many replicas must have an entry before it may be used.
    replicas: u32,
    /// The replication id of the Redis whose replicas had the entries that were read last.
    confirmed_in: Option<ReplicationId>,
    /// The entry that was read last.
    last: Option<(Offset, EntryDigest)>,
    /// Since the last read, while that had no more entries.
    waits_on: Option<Listening>,
}

/// The connection of the last read, and what it has heard of the log since.
struct Listening {
    _logs: Arc<LogConnection>,
    changes: watch::Receiver<()>,
    /// The end of the log then.
    end: Offset,
}

/// How long a shard's log is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LogExtent {
    pub entries: u64,
    /// Offset of the newest entry ever.
    pub end: Offset,
}

/// How exactly a log is trimmed. Redis keeps about a hundred entries of a log in one page.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pages {
    Whole,
    Cut,
}

pub fn log_reader(redis: &Redis, shard: ShardId, replicas: u32) -> LogReader {
    LogReader { redis: redis.clone(), shard, replicas, confirmed_in: None, last: None, waits_on: None }
}

/// Offset of the newest entry ever; `None` when there is no log.
pub async fn log_end(redis: &Redis, shard: ShardId) -> StoreResult<Option<Offset>> {
    Ok(log_extent(redis, shard).await?.map(|extent| extent.end))
}

/// [`log_end`] of each shard's log, in one round trip.
pub async fn log_ends(redis: &Redis) -> StoreResult<Vec<Option<Offset>>> {
    let cmds: Vec<RedisCall> = redis.shards().all().map(extent_command).collect();
    let end = |reply| Ok(extent(reply)?.map(|extent| extent.end));
    redis.pipeline(&cmds).await?.into_iter().map(end).collect()
}

/// Waits until enough replicas have everything that was written to the Redis of the shard before. Returns
/// the replication id of that Redis.
///
/// # Errors
/// [`StoreError::NotReplicated`] if they have not confirmed it within a second.
pub async fn wait_for_replicas(redis: &Redis, shard: ShardId, replicas: u32) -> StoreResult<ReplicationId> {
    let node = redis.node_of(shard).await?;
    let logs = node.logs().await?;
    node.checked(&logs, logs.wait_for_replicas(shard, replicas).await).await
}

/// Length and end of a log; `None` if there is none. Only a recovery creates a log: an append does not recreate a
/// deleted one.
pub async fn log_extent(redis: &Redis, shard: ShardId) -> StoreResult<Option<LogExtent>> {
    extent(redis.command(&extent_command(shard)).await)
}

/// Memory that a log takes, estimated by Redis from a few of its nodes, in bytes.
pub async fn log_bytes(redis: &Redis, shard: ShardId) -> StoreResult<u64> {
    let cmd = RedisCall::new("MEMORY USAGE", &keys::log(shard));
    Ok(read::<Option<u64>>(redis.command(&cmd).await?)?.unwrap_or_default())
}

/// Memory limit of the shard's node in bytes: its `maxmemory`, or the memory of its machine where that is not set;
/// and the number of shards that share it.
pub async fn memory(redis: &Redis, shard: ShardId) -> StoreResult<(u64, u64)> {
    let shards = redis.nodes().map().await?.of(shard)?.shards.len() as u64;
    let info: String = read(redis.command(&RedisCall::about(shard, "INFO memory")).await?)?;
    let memory = match parse(&info_line(&info, "maxmemory")?)? {
        0 => parse(&info_line(&info, "total_system_memory")?)?,
        most => most,
    };
    Ok((memory, shards))
}

/// Sets the number up to which events may be appended, 0 for none: later events are refused with
/// [`StoreError::LogFull`]. And the bytes that the shard's texts may take.
pub async fn set_limits(
    redis: &Redis,
    shard: ShardId,
    fence: u64,
    limit: u64,
    texts: u64,
) -> StoreResult<()> {
    let mut cmd = scripts::SET_LIMITS.call(&[keys::meta(shard)]);
    cmd.arg(shard.0).arg(fence).arg(limit).arg(texts);
    let SetLimitsResult::Done = Reply::read(redis.command(&cmd).await?)?.result()?;
    Ok(())
}

/// The entry that follows `from`, if there is one.
pub async fn first_after(redis: &Redis, shard: ShardId, from: Offset) -> StoreResult<Option<Entry>> {
    first_from(redis, shard, format!("({from}")).await
}

/// The entry at `offset`, or the next one if the log has none there.
pub async fn first_at_or_after(redis: &Redis, shard: ShardId, offset: Offset) -> StoreResult<Option<Entry>> {
    first_from(redis, shard, offset.to_string()).await
}

async fn first_from(redis: &Redis, shard: ShardId, begin: String) -> StoreResult<Option<Entry>> {
    let mut cmd = RedisCall::new("XRANGE", &keys::log(shard));
    cmd.arg(begin).arg("+").arg("COUNT").arg(1);
    let found: Vec<RawEntry> = read(redis.command(&cmd).await?)?;
    found.into_iter().next().map(entry).transpose()
}

/// Entries after `from` and up to `to`, in order and without a gap: at most `most` of them.
///
/// # Errors
/// [`StoreError::LogGap`], also if the last entries are missing.
pub async fn log_range(
    redis: &Redis,
    shard: ShardId,
    from: Offset,
    to: Offset,
    most: usize,
) -> StoreResult<Vec<Entry>> {
    let found: Vec<RawEntry> = read(redis.command(&range_command(shard, from, to, most)).await?)?;
    whole(from, to, most, found.into_iter().map(entry).collect::<StoreResult<_>>()?)
}

/// The newest entries, oldest first: offset, text, and the entities whose counters they move.
pub async fn log_tail(
    redis: &Redis,
    shard: ShardId,
    most: usize,
) -> StoreResult<Vec<(Offset, String, Vec<Entity>)>> {
    let mut cmd = RedisCall::new("XREVRANGE", &keys::log(shard));
    cmd.arg("+").arg("-").arg("COUNT").arg(most);
    let found: Vec<RawEntry> = read(redis.command(&cmd).await?)?;
    let describe = |raw| {
        let Entry { offset, event, .. } = entry(raw)?;
        let moved = event.deltas().map(|(entity, ..)| entity).collect();
        Ok((offset, event.to_string(), moved))
    };
    found.into_iter().rev().map(describe).collect()
}

/// Begins a generation. Has no effect if the log has already reached it.
pub async fn append_genesis(redis: &Redis, shard: ShardId, generation: u64) -> StoreResult<()> {
    let mut cmd = RedisCall::new("XADD", &keys::log(shard));
    cmd.arg(Offset::genesis(generation).to_string()).arg("e").arg(GENESIS);
    match redis.command(&cmd).await {
        Err(StoreError::EntryTooOld) => Ok(()),
        result => result.map(drop),
    }
}

/// Deletes entries before `offset`: all of them, or only whole pages, which costs less.
pub async fn trim_log(redis: &Redis, shard: ShardId, offset: Offset, pages: Pages) -> StoreResult<()> {
    let mut cmd = RedisCall::new("XTRIM", &keys::log(shard));
    cmd.arg("MINID");
    if pages == Pages::Whole {
        cmd.arg("~");
    }
    cmd.arg(offset.to_string());
    redis.command(&cmd).await.map(drop)
}

impl LogReader {
    /// Says which entry others have read at `offset`: a read from there compares it.
    pub const fn go_on_after(&mut self, offset: Offset, digest: EntryDigest) {
        self.last = Some((offset, digest));
    }

    /// The replication id of the Redis whose replicas have the entries of the last read; `None` if none were asked.
    pub fn confirmed_in(&self) -> Option<ReplicationId> {
        self.confirmed_in.clone()
    }

    /// Waits until the log may have entries after `from`, at most until `deadline`. Returns whether it may.
    pub async fn changed(&mut self, from: Offset, deadline: Instant) -> bool {
        match &mut self.waits_on {
            Some(Listening { changes, end, .. }) if *end == from => {
                tokio::time::timeout_at(deadline, changes.changed()).await.is_ok()
            }
            _ => true,
        }
    }

    /// The next entries after `from`, in order and without a gap. Empty if there are none.
    ///
    /// # Errors
    /// [`StoreError::LogOverwritten`] if `from` is where the last read ended, and has another entry now.
    pub async fn read(&mut self, from: Offset, most: usize) -> StoreResult<Vec<Entry>> {
        self.waits_on = None;
        let node = self.redis.node_of(self.shard).await?;
        let logs = node.logs().await?;
        let changes = logs.changes(self.shard); // from now on: an earlier change is in the answer
        let known = self.last.filter(|(at, _)| *at == from).map(|(_, digest)| digest);
        // The entry that is known already is read once more: if another program, or a failover, has put another
        // one there, everything after it is of another log.
        let (after, count) = if known.is_some() { (before(from), most + 1) } else { (from, most) };
        // In a cluster a command has keys of one slot; elsewhere one command reads the logs of all shards.
        let is_alone = !self.redis.nodes().shards_share_commands();
        let read = LogRead { shard: self.shard, from: after, most: count, is_alone };
        let entries = async {
            let entries = after_known(decode(logs.next_entries(read).await?)?, from, known, most)?;
            if self.replicas > 0 && !entries.is_empty() {
                // On the connection that has read: another may lead to another process. So that a failover cannot undo
                // counted events.
                self.confirmed_in = Some(logs.wait_for_replicas(self.shard, self.replicas).await?);
            }
            Ok(entries)
        };
        let entries = node.checked(&logs, entries.await).await?;
        // A full read means that there may be more: the next one must not wait.
        if entries.len() < most {
            let end = entries.last().map_or(from, |last| last.offset);
            self.waits_on = Some(Listening { _logs: logs, changes, end });
        }
        check_contiguous(from, &entries)?;
        if let Some(last) = entries.last() {
            self.last = Some((last.offset, last.digest));
        }
        Ok(entries)
    }

    /// Like `reading::log_range`, on the connection of logs.
    pub async fn range(&self, from: Offset, to: Offset, most: usize) -> StoreResult<Vec<Entry>> {
        whole(from, to, most, self.survivors(from, to, most).await?)
    }

    /// The surviving entries after `from` and up to `to`, even with gaps between them.
    pub async fn survivors(&self, from: Offset, to: Offset, most: usize) -> StoreResult<Vec<Entry>> {
        let node = self.redis.node_of(self.shard).await?;
        let logs = node.logs().await?;
        let found = logs.read(&range_command(self.shard, from, to, most)).await;
        let found: Vec<RawEntry> = node.checked(&logs, found).await?;
        decode(found)
    }
}

fn extent_command(shard: ShardId) -> RedisCall {
    RedisCall::new("XINFO STREAM", &keys::log(shard))
}

fn extent(reply: StoreResult<Value>) -> StoreResult<Option<LogExtent>> {
    match reply {
        Ok(reply) => {
            let mut fields: HashMap<String, Value> = read(reply)?;
            let mut field = |name: &str| fields.remove(name).unwrap_or(Value::Nil);
            let end: Offset = parse(&read::<String>(field("last-generated-id"))?)?;
            Ok(Some(LogExtent { entries: read(field("length"))?, end }))
        }
        Err(StoreError::NoSuchKey) => Ok(None),
        Err(error) => Err(error),
    }
}

fn decode(found: Vec<RawEntry>) -> StoreResult<Vec<Entry>> {
    found.into_iter().map(entry).collect()
}

/// Without the entry at `from`, and at most `most`. `known`: that entry's digest, if the read begins with it. A
/// log that has none there was trimmed, which says nothing.
fn after_known(
    mut entries: Vec<Entry>,
    from: Offset,
    known: Option<EntryDigest>,
    most: usize,
) -> StoreResult<Vec<Entry>> {
    if entries.first().is_some_and(|first| first.offset == from) {
        let first = entries.remove(0);
        if known.is_some_and(|known| known != first.digest) {
            return Err(StoreError::LogOverwritten { at: from });
        }
    }
    entries.truncate(most);
    Ok(entries)
}

/// The highest offset before this one.
const fn before(offset: Offset) -> Offset {
    if offset.number > 0 {
        Offset::new(offset.generation, offset.number - 1)
    } else {
        Offset::new(offset.generation.saturating_sub(1), u64::MAX)
    }
}

/// An entry without exactly one text field was not written by this program; it is an unreadable event.
fn entry((id, fields): RawEntry) -> StoreResult<Entry> {
    let text = <[Value; 2]>::try_from(fields).ok().and_then(|[_, text]| read::<String>(text).ok());
    Ok(Entry::read(parse(&id)?, &text.unwrap_or_default()))
}

fn range_command(shard: ShardId, from: Offset, to: Offset, most: usize) -> RedisCall {
    let mut cmd = RedisCall::new("XRANGE", &keys::log(shard));
    cmd.arg(format!("({from}")).arg(to.to_string()).arg("COUNT").arg(most);
    cmd
}

/// The entries, if they follow `from` without a gap and, unless there are more than `most`, end at `to`.
fn whole(from: Offset, to: Offset, most: usize, entries: Vec<Entry>) -> StoreResult<Vec<Entry>> {
    check_contiguous(from, &entries)?;
    let last = entries.last().map_or(from, |entry| entry.offset);
    // Also entries that are missing at the end are a gap: the caller knows that `to` was there.
    if entries.len() < most && last != to {
        return Err(StoreError::LogGap { after: last, found: to });
    }
    Ok(entries)
}

fn check_contiguous(from: Offset, entries: &[Entry]) -> StoreResult<()> {
    let mut after = from;
    for entry in entries {
        if !after.is_followed_by(entry.offset) {
            return Err(StoreError::LogGap { after, found: entry.offset });
        }
        after = entry.offset;
    }
    Ok(())
}
