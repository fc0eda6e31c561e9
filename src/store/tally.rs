//! Cost accounting per request: round trips to Redis with their commands, statements to PostgreSQL. Clients see
//! it in the `Server-Timing` header, and tests check the numbers that the documentation guarantees. Where
//! requests are traced, each is a part of the request's trace.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering::Relaxed},
    },
    time::Instant,
};

use plaudit_traces::{LogOffset, RoundTrip, Store, Trace};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use plaudit_catalogue::primitives::{Offset, ShardId};

tokio::task_local! {
    static TALLY: Arc<Tally>;
    /// Spawned work does not inherit them: others may wait for it, too.
    static STATEMENTS_AT_ONCE: Arc<Semaphore>;
}

/// Calls to stores that one request has made so far.
#[derive(Default, Debug)]
pub struct Tally {
    redis_round_trips: AtomicU32,
    redis_commands: AtomicU32,
    redis_scripts: AtomicU32,
    sql_statements: AtomicU32,
    /// The request's trace, if it is recorded.
    trace: Option<Arc<Trace>>,
}

impl Tally {
    /// The tally of the caller's work, if it has one.
    pub fn current() -> Option<Arc<Self>> {
        TALLY.try_with(Arc::clone).ok()
    }

    /// The tally of a request.
    pub fn of_request(trace: Option<Arc<Trace>>) -> Self {
        Self { trace, ..Self::default() }
    }

    pub fn redis_round_trips(&self) -> u32 {
        self.redis_round_trips.load(Relaxed)
    }

    /// Other than calls of scripts.
    pub fn redis_commands(&self) -> u32 {
        self.redis_commands.load(Relaxed)
    }

    pub fn redis_scripts(&self) -> u32 {
        self.redis_scripts.load(Relaxed)
    }

    pub fn sql_statements(&self) -> u32 {
        self.sql_statements.load(Relaxed)
    }

    /// Runs `work` so that its costs are added to this tally.
    pub async fn observe<F: Future>(self: Arc<Self>, work: F) -> F::Output {
        TALLY.scope(self, work).await
    }
}

/// Spawns `work` in its own task, with its costs on the caller's tally.
pub fn spawn<F>(work: F) -> tokio::task::JoinHandle<F::Output>
where
    F: Future<Output: Send> + Send + 'static,
{
    match TALLY.try_with(Arc::clone) {
        Ok(tally) => tokio::spawn(tally.observe(work)),
        Err(_) => tokio::spawn(work),
    }
}

pub(super) fn redis_round_trip(cmds: &[&redis::Cmd], is_script: impl Fn(&redis::Cmd) -> bool) {
    let _ = TALLY.try_with(|tally| {
        let scripts = cmds.iter().filter(|cmd| is_script(cmd)).count();
        tally.redis_round_trips.fetch_add(1, Relaxed);
        tally.redis_scripts.fetch_add(scripts as u32, Relaxed);
        tally.redis_commands.fetch_add((cmds.len() - scripts) as u32, Relaxed);
    });
}

/// Runs `work` so that its statements wait for these permits, as the statements of all other work with the same ones.
pub async fn limited<F: Future>(statements_at_once: Arc<Semaphore>, work: F) -> F::Output {
    STATEMENTS_AT_ONCE.scope(statements_at_once, work).await
}

/// Waits until a statement of the caller's work may be sent. It ends before the result is dropped.
pub(super) async fn turn_of_statement() -> Option<OwnedSemaphorePermit> {
    let permits = STATEMENTS_AT_ONCE.try_with(Arc::clone).ok()?;
    permits.acquire_owned().await.ok()
}

pub(super) fn sql_statement() {
    let _ = TALLY.try_with(|tally| tally.sql_statements.fetch_add(1, Relaxed));
}

/// A round trip to Redis ends: a command, or a pipeline of several.
pub(super) fn redis_answered(
    cmds: &[&redis::Cmd],
    name: impl Fn(&redis::Cmd) -> String,
    began: Instant,
    is_failed: bool,
) {
    in_trace(|trace| {
        let name = if let [cmd] = cmds { Some(name(cmd)) } else { None };
        let (store, name, commands) = (Store::Redis, name.as_deref(), cmds.len());
        trace.round_trip(&RoundTrip { store, began, name, commands, is_failed });
    });
}

/// A statement ends.
pub(super) fn sql_answered(began: Instant, is_failed: bool) {
    in_trace(|trace| {
        let (store, commands) = (Store::PostgreSql, 1);
        trace.round_trip(&RoundTrip { store, began, name: None, commands, is_failed });
    });
}

/// The caller's work has appended an event to a log.
pub(super) fn event_at(shard: ShardId, offset: Offset) {
    in_trace(|trace| {
        let offset = (offset.generation, offset.number);
        trace.event_at(LogOffset { shard: shard.0, offset });
    });
}

/// Costs nothing where no requests are traced.
fn in_trace(tell: impl FnOnce(&Trace)) {
    if plaudit_traces::is_on() {
        let _ = TALLY.try_with(|tally| tally.trace.as_deref().map(tell));
    }
}
