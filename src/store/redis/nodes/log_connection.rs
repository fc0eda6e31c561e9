//! The connection on which a process reads the logs of a node: one for all shards.
//!
//! A reader waits without a blocked connection: Redis remembers that the log was read (`CLIENT TRACKING`, by `CLIENT
//! CACHING YES` only for such a read) and pushes one message when the log changes. The logs of other shards may be
//! read meanwhile. Slots of a cluster are read the same way, which one blocking `XREAD` of several logs could not.

use std::{collections::HashMap, convert::Infallible, sync::Arc, time::Duration};

use parking_lot::Mutex;
use redis::{
    AsyncConnectionConfig, Cmd, FromRedisValue, PushInfo, PushKind, Value, aio::MultiplexedConnection,
};
use tokio::sync::watch;

use super::{
    link::{CONNECT_TIMEOUT, resp3, within},
    log_reads::{LogRead, LogReads, RawEntry},
};
use crate::{
    StoreError, StoreResult,
    redis::{
        keys,
        reply::{info_line, read},
    },
};
use plaudit_catalogue::primitives::ShardId;

/// Time limit of a read, which may wait for reads of other shards.
const READ_TIMEOUT: Duration = Duration::from_secs(5);
/// How long a replica may take to confirm that it has the entries.
const REPLICA_TIMEOUT: Duration = Duration::from_secs(1);

/// A replication id (`master_replid`): of one server from its start or promotion on, and of the replicas that
/// follow it.
pub type ReplicationId = Arc<str>;

/// To one process of Redis: it does not connect again.
pub struct LogConnection {
    connection: MultiplexedConnection,
    reads: LogReads,
    changes: LogChanges,
    replicas: tokio::sync::Mutex<Confirmation>,
    /// Number of the last confirmation that was begun.
    begun: std::sync::atomic::AtomicU64,
}

/// The last confirmation of replicas.
#[derive(Default)]
struct Confirmation {
    number: u64,
    /// How many replicas have confirmed.
    replicas: u32,
    /// The replication id of the server afterwards.
    replication_id: ReplicationId,
}

/// By the log's key.
#[derive(Clone, Default)]
struct LogChanges(Arc<Mutex<HashMap<String, watch::Sender<()>>>>);

impl LogConnection {
    pub async fn open(client: &redis::Client) -> StoreResult<Self> {
        let changes = LogChanges::default();
        let of_pushes = changes.clone();
        let config = AsyncConnectionConfig::new()
            .set_push_sender(move |push| {
                of_pushes.receive(push);
                Ok::<(), Infallible>(())
            })
            .set_connection_timeout(Some(CONNECT_TIMEOUT))
            .set_response_timeout(None);
        let mut connection = resp3(client)?.get_multiplexed_async_connection_with_config(&config).await?;
        let mut track = redis::cmd("CLIENT");
        track.arg("TRACKING").arg("ON").arg("OPTIN");
        let tracked = async { track.exec_async(&mut connection).await.map_err(StoreError::from) };
        within(READ_TIMEOUT, tracked).await?;
        let reads = LogReads::on(connection.clone(), READ_TIMEOUT);
        Ok(Self { connection, reads, changes, replicas: Default::default(), begun: Default::default() })
    }

    /// Runs a command that reads.
    pub async fn read<T: FromRedisValue>(&self, cmd: &Cmd) -> StoreResult<T> {
        let mut connection = self.connection.clone();
        within(READ_TIMEOUT, async { cmd.query_async(&mut connection).await.map_err(StoreError::from) }).await
    }

    /// The next entries of a log, together with reads of other logs. Afterwards the next change of the log is
    /// noticed.
    pub async fn next_entries(&self, read: LogRead) -> StoreResult<Vec<RawEntry>> {
        self.reads.read(read).await
    }

    /// Is notified when the shard's log changes after a tracked read, and when the connection ends.
    pub fn changes(&self, shard: ShardId) -> watch::Receiver<()> {
        self.changes.of(shard)
    }

    /// Waits until so many replicas have everything that was read on this connection before. Returns the
    /// server's replication id after that: what was read is of that one or of an earlier one. Callers that wait at the
    /// same time share one confirmation.
    ///
    /// # Errors
    /// [`StoreError::NotReplicated`] if they have not confirmed it within a second.
    pub async fn wait_for_replicas(&self, shard: ShardId, replicas: u32) -> StoreResult<ReplicationId> {
        use std::sync::atomic::Ordering::Relaxed;

        let begun = self.begun.load(Relaxed);
        let mut last = self.replicas.lock().await;
        if last.number <= begun {
            // Otherwise another caller's confirmation began later than this call.
            let number = self.begun.fetch_add(1, Relaxed) + 1;
            let (confirmed, replication_id) = self.count_replicas(shard, replicas).await?;
            let outcome = if confirmed >= replicas { "confirmed" } else { "missing" };
            metrics::counter!("plaudit_replica_waits_total", "outcome" => outcome).increment(1);
            *last = Confirmation { number, replicas: confirmed, replication_id };
        }
        if last.replicas >= replicas {
            return Ok(Arc::clone(&last.replication_id));
        }
        Err(StoreError::NotReplicated)
    }

    /// `WAIT` covers only writes of its connection, so a write precedes it. The server is asked last: no id
    /// comes again, so it has had that one since the read.
    async fn count_replicas(&self, shard: ShardId, replicas: u32) -> StoreResult<(u32, ReplicationId)> {
        let mut connection = self.connection.clone();
        let mut pipeline = redis::pipe();
        pipeline.cmd("HINCRBY").arg(keys::meta(shard)).arg("replicated").arg(1).ignore();
        pipeline.cmd("WAIT").arg(replicas).arg(REPLICA_TIMEOUT.as_millis() as u64);
        pipeline.cmd("INFO").arg("replication");
        let reply = async { pipeline.query_async(&mut connection).await.map_err(StoreError::from) };
        let (confirmed, info): (u32, String) = within(READ_TIMEOUT, reply).await?;
        Ok((confirmed, info_line(&info, "master_replid")?.into()))
    }
}

impl LogChanges {
    fn of(&self, shard: ShardId) -> watch::Receiver<()> {
        self.0.lock().entry(keys::log(shard).name).or_default().subscribe()
    }

    fn receive(&self, push: PushInfo) {
        match push.kind {
            PushKind::Invalidate => match push.data.into_iter().next() {
                Some(Value::Array(logs)) => logs.into_iter().for_each(|log| self.changed(log)),
                _ => self.all_changed(), // the database was flushed
            },
            PushKind::Disconnection => self.all_changed(),
            _ => {}
        }
    }

    fn changed(&self, log: Value) {
        let Ok(log) = read::<String>(log) else { return };
        if let Some(changes) = self.0.lock().get(&log) {
            changes.send_replace(());
        }
    }

    fn all_changed(&self) {
        self.0.lock().values().for_each(|changes| changes.send_replace(()));
    }
}
