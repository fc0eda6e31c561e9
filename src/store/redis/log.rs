//! Reading and trimming a shard's log.

use std::time::Duration;

use redis::{
    RedisError, Value,
    aio::MultiplexedConnection,
    streams::{StreamRangeReply, StreamReadReply},
};

use super::{
    connection::{Redis, within},
    keys,
    reply::{parse, read},
};
use crate::{
    catalogue::Entity,
    event_log::{Entry, Event, GENESIS},
    primitives::{Offset, ShardId},
    store::{StoreError, StoreResult},
};

/// A read that does not wait must be answered within this time.
const READ_TIMEOUT: Duration = Duration::from_secs(5);
/// How long a replica may take to confirm that it has what was read.
const REPLICA_TIMEOUT: Duration = Duration::from_secs(1);

/// Reads one shard's log on a connection of its own, because waiting for entries blocks it.
pub struct LogReader {
    connection: MultiplexedConnection,
    shard: ShardId,
    /// How many replicas must have an entry before it may be used.
    replicas: u32,
}

impl Redis {
    pub async fn log_reader(&self, shard: ShardId, replicas: u32) -> StoreResult<LogReader> {
        Ok(LogReader { connection: self.dedicated().await?, shard, replicas })
    }

    /// Place of the newest entry ever; `None` when there is no log.
    pub async fn log_end(&self, shard: ShardId) -> StoreResult<Option<Offset>> {
        let mut cmd = redis::cmd("XINFO");
        cmd.arg("STREAM").arg(keys::log(shard));
        match self.command(&cmd).await {
            Ok(reply) => {
                let fields: std::collections::HashMap<String, Value> = read(reply)?;
                let last = fields.get("last-generated-id").cloned().unwrap_or(Value::Nil);
                Ok(Some(parse(&read::<String>(last)?)?))
            }
            Err(StoreError::Unexpected(why)) if why.contains("no such key") => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The entry that follows `from`, if there is one.
    pub async fn first_after(&self, shard: ShardId, from: Offset) -> StoreResult<Option<Entry>> {
        let mut cmd = redis::cmd("XRANGE");
        cmd.arg(keys::log(shard)).arg(format!("({from}")).arg("+").arg("COUNT").arg(1);
        let found: StreamRangeReply = read(self.command(&cmd).await?)?;
        found.ids.into_iter().next().map(entry).transpose()
    }

    /// The newest entries, the oldest of them first: place, text, and which entities they move.
    pub async fn log_tail(
        &self,
        shard: ShardId,
        most: usize,
    ) -> StoreResult<Vec<(Offset, String, Vec<Entity>)>> {
        let mut cmd = redis::cmd("XREVRANGE");
        cmd.arg(keys::log(shard)).arg("+").arg("-").arg("COUNT").arg(most);
        let reply: StreamRangeReply = read(self.command(&cmd).await?)?;
        let told = |id| {
            let Entry { offset, event } = entry(id)?;
            let moved = event.deltas().map(|(entity, ..)| entity).collect();
            Ok((offset, event.to_string(), moved))
        };
        reply.ids.into_iter().rev().map(told).collect()
    }

    /// Begins a generation. Harmless when the log has got there already.
    pub async fn append_genesis(&self, shard: ShardId, generation: u64) -> StoreResult<()> {
        let mut cmd = redis::cmd("XADD");
        cmd.arg(keys::log(shard)).arg(Offset::genesis(generation).to_string()).arg("e").arg(GENESIS);
        match self.command(&cmd).await {
            Err(StoreError::Unexpected(why)) if why.contains("equal or smaller") => Ok(()),
            result => result.map(drop),
        }
    }

    /// Ends the life of entries before `offset`.
    pub async fn trim_log(&self, shard: ShardId, offset: Offset) -> StoreResult<()> {
        let mut cmd = redis::cmd("XTRIM");
        cmd.arg(keys::log(shard)).arg("MINID").arg("~").arg(offset.to_string());
        self.command(&cmd).await.map(drop)
    }
}

impl LogReader {
    /// The next entries after `from`, in order and without a gap; waits up to `wait` for the first one.
    /// Empty when none came.
    pub async fn read(&mut self, from: Offset, most: usize, wait: Duration) -> StoreResult<Vec<Entry>> {
        let mut cmd = redis::cmd("XREAD");
        cmd.arg("COUNT").arg(most);
        if !wait.is_zero() {
            cmd.arg("BLOCK").arg(wait.as_millis() as u64);
        }
        cmd.arg("STREAMS").arg(keys::log(self.shard)).arg(from.to_string());
        let reply: Option<StreamReadReply> = within(wait + READ_TIMEOUT, async {
            cmd.query_async(&mut self.connection).await.map_err(StoreError::from)
        })
        .await?;
        let ids = reply.into_iter().flat_map(|reply| reply.keys).flat_map(|key| key.ids);
        let entries = ids.map(entry).collect::<StoreResult<Vec<_>>>()?;
        check_contiguous(from, &entries)?;
        self.wait_for_replicas(&entries).await?;
        Ok(entries)
    }

    /// Entries after `from` and up to `to`, whatever is left of them.
    pub async fn range(&mut self, from: Offset, to: Offset, most: usize) -> StoreResult<Vec<Entry>> {
        let mut cmd = redis::cmd("XRANGE");
        cmd.arg(keys::log(self.shard)).arg(format!("({from}")).arg(to.to_string()).arg("COUNT").arg(most);
        let reply: StreamRangeReply = within(READ_TIMEOUT, async {
            cmd.query_async(&mut self.connection).await.map_err(StoreError::from)
        })
        .await?;
        reply.ids.into_iter().map(entry).collect()
    }

    /// A failover must not take back what was counted: only what a replica has is used. `WAIT` covers
    /// writes of this connection alone, so a write goes before it.
    async fn wait_for_replicas(&mut self, entries: &[Entry]) -> StoreResult<()> {
        if self.replicas == 0 || entries.is_empty() {
            return Ok(());
        }
        let mut pipeline = redis::pipe();
        pipeline.cmd("HINCRBY").arg(keys::meta(self.shard)).arg("replicated").arg(1).ignore();
        pipeline.cmd("WAIT").arg(self.replicas).arg(REPLICA_TIMEOUT.as_millis() as u64);
        let (confirmed,): (u32,) = within(READ_TIMEOUT, async {
            pipeline.query_async(&mut self.connection).await.map_err(StoreError::from)
        })
        .await?;
        if confirmed >= self.replicas {
            Ok(())
        } else {
            let why =
                std::io::Error::new(std::io::ErrorKind::TimedOut, "too few replicas have the log's end");
            Err(StoreError::RedisUnreachable(RedisError::from(why)))
        }
    }
}

fn entry(id: redis::streams::StreamId) -> StoreResult<Entry> {
    let text: String = id.get("e").unwrap_or_default();
    Ok(Entry { offset: parse(&id.id)?, event: Event::decode(&text) })
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
