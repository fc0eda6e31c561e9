//! One Redis process: its connections, its breaker, its scripts. No script runs on a process on which the shards that
//! it has are not recovered.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use futures_util::future::BoxFuture;
use metrics::Histogram;
use parking_lot::RwLock;
use redis::{
    Cmd, Pipeline, Value,
    aio::{ConnectionLike, ConnectionManager, ConnectionManagerConfig, MultiplexedConnection},
};
use tokio::sync::Mutex;

use super::{
    link::{CONNECT_TIMEOUT, within},
    log_connection::LogConnection,
    sync,
};
use crate::{
    StoreError, StoreResult,
    breaker::{Breaker, WaitPolicy},
    redis::{keys, reply::info_line, scripts},
    tally,
};
use plaudit_catalogue::primitives::ShardId;

/// Time limit of a command. Redis may have executed a command that timed out.
const RESPONSE_TIMEOUT: Duration = Duration::from_millis(800);

/// Unanswered commands in a row after which the connection is replaced: its host may have vanished without closing it.
const UNANSWERED: u32 = 3;

/// How many times scripts are loaded for one call: they may be flushed again before the call is repeated.
const LOADS: u32 = 5;

/// Who calls: what its calls do while Redis does not answer, and where their durations are recorded.
#[derive(Clone)]
pub struct RedisCaller {
    pub policy: WaitPolicy,
    /// Duration of round trips.
    pub seconds: Histogram,
}

/// A Redis process at an address. All calls share one multiplexed connection.
pub struct Node {
    client: redis::Client,
    commands: RwLock<ConnectionManager>,
    /// For reads of logs, once there was one.
    logs: Mutex<Option<Arc<LogConnection>>>,
    unanswered: AtomicU32,
    breaker: Breaker,
    /// Locked while scripts are being loaded. The value is the number of the last completed load.
    loading: Mutex<u64>,
    /// Number of the last load that was started.
    loads: AtomicU64,
    /// Whether Redis syncs before each reply, as last read.
    syncs: AtomicBool,
}

impl Node {
    /// Connects lazily: if Redis is unreachable, the first command fails.
    pub fn new(client: redis::Client) -> StoreResult<Self> {
        Ok(Self {
            commands: RwLock::new(connect(&client)?),
            client,
            logs: Mutex::default(),
            unanswered: AtomicU32::default(),
            breaker: Breaker::new("Redis"),
            loading: Mutex::default(),
            loads: AtomicU64::default(),
            syncs: AtomicBool::default(),
        })
    }

    /// `host:port`, or the path of a socket.
    pub fn address(&self) -> String {
        self.client.get_connection_info().addr().to_string()
    }

    pub const fn client(&self) -> &redis::Client {
        &self.client
    }

    /// Records an answer on another connection.
    pub fn answered(&self) {
        self.breaker.answered();
    }

    /// The connection for reads of logs.
    pub async fn logs(&self) -> StoreResult<Arc<LogConnection>> {
        let mut logs = self.logs.lock().await;
        if let Some(logs) = &*logs {
            return Ok(Arc::clone(logs));
        }
        let opened = Arc::new(LogConnection::open(&self.client).await?);
        *logs = Some(Arc::clone(&opened));
        Ok(opened)
    }

    /// The result of a call on a connection for logs. One that has failed is not used again: the next call
    /// opens another.
    pub async fn checked<T>(&self, used: &Arc<LogConnection>, result: StoreResult<T>) -> StoreResult<T> {
        if matches!(&result, Err(error) if error.is_silence()) {
            self.logs.lock().await.take_if(|current| Arc::ptr_eq(current, used));
        }
        result
    }

    /// A dedicated connection, for calls that must all reach the same Redis process.
    pub async fn dedicated(&self) -> StoreResult<MultiplexedConnection> {
        let config = redis::AsyncConnectionConfig::new()
            .set_connection_timeout(Some(CONNECT_TIMEOUT))
            .set_response_timeout(None);
        Ok(self.client.get_multiplexed_async_connection_with_config(&config).await?)
    }

    /// Runs one command. `has`: the shards of this node, for scripts that it lacks.
    ///
    /// # Errors
    /// At once while Redis does not answer and the caller's policy is to fail fast.
    pub async fn command(&self, caller: &RedisCaller, cmd: &Cmd, has: &[ShardId]) -> StoreResult<Value> {
        let admitted = self.breaker.admit(caller.policy)?;
        admitted.ended(self.send(caller, cmd, has).await)
    }

    async fn send(&self, caller: &RedisCaller, cmd: &Cmd, has: &[ShardId]) -> StoreResult<Value> {
        tally::redis_round_trip(&[cmd], scripts::is_call);
        let mut connection = self.connection();
        let began = Instant::now();
        let mut value = self.record(caller, began, &[cmd], connection.req_packed_command(cmd).await)?;
        for _ in 0..LOADS {
            if !is_no_script(&value) {
                break;
            }
            self.load_scripts(has).await?;
            let began = Instant::now();
            value = self.record(caller, began, &[cmd], connection.req_packed_command(cmd).await)?;
        }
        into_result(value)
    }

    /// Runs commands in one round trip, not atomically. Each has its own result.
    ///
    /// # Errors
    /// As [`Self::command`].
    pub async fn pipeline(
        &self,
        caller: &RedisCaller,
        cmds: &[&Cmd],
        has: &[ShardId],
    ) -> StoreResult<Vec<StoreResult<Value>>> {
        let admitted = self.breaker.admit(caller.policy)?;
        admitted.ended(self.send_all(caller, cmds, has).await)
    }

    async fn send_all(
        &self,
        caller: &RedisCaller,
        cmds: &[&Cmd],
        has: &[ShardId],
    ) -> StoreResult<Vec<StoreResult<Value>>> {
        let mut values = self.send_all_once(caller, cmds).await?;
        for _ in 0..LOADS {
            // Repeats only the refused commands, because Redis has executed the others.
            let refused: Vec<usize> = values
                .iter()
                .enumerate()
                .filter(|(_, value)| is_no_script(value))
                .map(|(at, _)| at)
                .collect();
            if refused.is_empty() {
                break;
            }
            self.load_scripts(has).await?;
            let again: Vec<&Cmd> = refused.iter().map(|at| cmds[*at]).collect();
            for (at, value) in refused.into_iter().zip(self.send_all_once(caller, &again).await?) {
                values[at] = value;
            }
        }
        Ok(values.into_iter().map(into_result).collect())
    }

    async fn send_all_once(&self, caller: &RedisCaller, cmds: &[&Cmd]) -> StoreResult<Vec<Value>> {
        if cmds.is_empty() {
            return Ok(Vec::new());
        }
        tally::redis_round_trip(cmds, scripts::is_call);
        let mut pipeline = Pipeline::with_capacity(cmds.len());
        for cmd in cmds {
            pipeline.add_command((*cmd).clone());
        }
        let began = Instant::now();
        let answer = self.connection().req_packed_commands(&pipeline, 0, cmds.len()).await;
        self.record(caller, began, cmds, answer)
    }

    /// Runs a script. Also returns whether everything that it has written or read was on disk before the reply.
    ///
    /// Where Redis is known to sync before each reply, the question whether it still does travels behind the script, in
    /// the same round trip; elsewhere nothing is asked.
    pub async fn command_on_disk(
        &self,
        caller: &RedisCaller,
        cmd: &Cmd,
        has: &[ShardId],
    ) -> StoreResult<(Value, bool)> {
        if !self.syncs.load(Relaxed) {
            return Ok((self.command(caller, cmd, has).await?, false));
        }
        let loads = self.loads.load(Relaxed);
        let question = sync::question();
        let mut replies = self.pipeline(caller, &[cmd, &question], has).await?.into_iter();
        let (Some(reply), Some(answer)) = (replies.next(), replies.next()) else {
            return Err(StoreError::Unexpected("a pipeline without replies".into()));
        };
        let syncs = answer.is_ok_and(sync::is_yes);
        if !syncs {
            self.syncs.store(false, Relaxed);
        }
        // If scripts were loaded meanwhile, this one may have run after the question.
        Ok((reply?, syncs && self.loads.load(Relaxed) == loads))
    }

    /// Reads whether Redis syncs before each reply: at the start, and when another process of Redis answers.
    pub async fn read_sync(&self, connection: &mut MultiplexedConnection) {
        let answer = sync::question().query_async(connection).await;
        self.syncs.store(answer.is_ok_and(sync::is_yes), Relaxed);
    }

    fn connection(&self) -> ConnectionManager {
        self.commands.read().clone()
    }

    /// Records how long the round trip took, and whether there was an answer. While the breaker is open, each
    /// unanswered call replaces the connection: the next call then connects itself instead of getting the last
    /// connection error.
    fn record<T>(
        &self,
        caller: &RedisCaller,
        began: Instant,
        cmds: &[&Cmd],
        result: redis::RedisResult<T>,
    ) -> StoreResult<T> {
        caller.seconds.record(began.elapsed());
        tally::redis_answered(cmds, scripts::name_of, began, result.is_err());
        let result = result.map_err(StoreError::from);
        let is_silent = matches!(&result, Err(error) if error.is_silence());
        if !is_silent {
            self.unanswered.store(0, Relaxed);
        } else if self.unanswered.fetch_add(1, Relaxed) + 1 >= UNANSWERED || self.breaker.is_open() {
            self.unanswered.store(0, Relaxed);
            *self.commands.write() = connect(&self.client)?;
        }
        result
    }

    /// Loads the scripts into the Redis process that answers, if every shard of `has` was recovered in the
    /// replication id that it has, so that only its script cache was flushed. Uses one connection, so that it
    /// reaches one process. A burst of NOSCRIPT answers causes one load. Boxed: it is rarely needed, and
    /// otherwise takes stack space in every call.
    pub fn load_scripts<'a>(&'a self, has: &'a [ShardId]) -> BoxFuture<'a, StoreResult<()>> {
        Box::pin(async move {
            let started = self.loads.load(Relaxed);
            let mut done = self.loading.lock().await;
            if *done > started {
                return Ok(()); // another caller's load started later than this call
            }
            let number = self.loads.fetch_add(1, Relaxed) + 1;
            within(RESPONSE_TIMEOUT, self.load_scripts_once(has)).await?;
            *done = number;
            Ok(())
        })
    }

    async fn load_scripts_once(&self, has: &[ShardId]) -> StoreResult<()> {
        let mut connection = self.dedicated().await?;
        let history = info_field(&mut connection, "replication", "master_replid").await?;
        let mut asking = redis::pipe();
        for shard in has {
            asking.cmd("HGET").arg(keys::meta(*shard)).arg("redis_history");
        }
        let recovered_in: Vec<Option<String>> = asking.query_async(&mut connection).await?;
        if recovered_in.iter().any(|recovered_in| recovered_in.as_ref() != Some(&history)) {
            return Err(StoreError::NotRecovered);
        }
        self.read_sync(&mut connection).await;
        let mut loading = redis::pipe();
        for script in scripts::loaded() {
            tracing::debug!(script = script.name, "a script is loaded");
            loading.cmd("SCRIPT").arg("LOAD").arg(script.source).ignore();
        }
        let () = loading.query_async(&mut connection).await?;
        Ok(())
    }
}

fn connect(client: &redis::Client) -> StoreResult<ConnectionManager> {
    // Retries once, quickly: callers need an early error more than a wait for the end of an outage.
    let config = ConnectionManagerConfig::new()
        .set_number_of_retries(1)
        .set_max_delay(Duration::from_millis(100))
        .set_connection_timeout(Some(CONNECT_TIMEOUT))
        .set_response_timeout(Some(RESPONSE_TIMEOUT));
    Ok(ConnectionManager::new_lazy_with_config(client.clone(), config)?)
}

/// One line of `INFO <section>`.
pub async fn info_field(
    connection: &mut MultiplexedConnection,
    section: &str,
    field: &str,
) -> StoreResult<String> {
    let info: String = redis::cmd("INFO").arg(section).query_async(connection).await?;
    info_line(&info, field)
}

fn is_no_script(value: &Value) -> bool {
    matches!(value, Value::ServerError(error) if error.code() == "NOSCRIPT")
}

fn into_result(value: Value) -> StoreResult<Value> {
    match value {
        Value::ServerError(error) => Err(redis::RedisError::from(error).into()),
        value => Ok(value),
    }
}
