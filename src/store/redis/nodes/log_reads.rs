//! Reads of the logs of a node that are wanted at the same time are sent together: one command for all logs on one
//! server, a pipeline in a cluster. Those that are wanted meanwhile are sent after the answer.

use std::{collections::HashMap, time::Duration};

use redis::{
    Cmd, Pipeline, Value,
    aio::{ConnectionLike, MultiplexedConnection},
};
use tokio::sync::{mpsc, oneshot};

use crate::{
    StoreError, StoreResult,
    redis::{keys, nodes::link::within, reply::read},
};
use plaudit_catalogue::primitives::{Offset, ShardId};

/// An entry as Redis returns it: its id, and names and values of its fields. (The crate's own reply type builds a map
/// for each entry, which takes twice as long.)
pub type RawEntry = (String, Vec<Value>);

/// Reads that wait to be sent. Each reader has one at a time.
const MOST_WAITING: usize = 4096;

/// Reads entries after `from`, at most `most`.
#[derive(Clone, Copy, Debug)]
pub struct LogRead {
    pub shard: ShardId,
    pub from: Offset,
    pub most: usize,
    /// One command may read this log only: logs of a cluster are in different slots.
    pub is_alone: bool,
}

/// A read, and who waits for its entries.
struct Waiting {
    read: LogRead,
    answer: oneshot::Sender<StoreResult<Vec<RawEntry>>>,
}

/// Reads of one connection.
pub struct LogReads(mpsc::Sender<Waiting>);

impl LogReads {
    /// Reads until this is dropped. `limit`: how long an answer may take.
    pub fn on(connection: MultiplexedConnection, limit: Duration) -> Self {
        let (sender, receiver) = mpsc::channel(MOST_WAITING);
        tokio::spawn(read_for_all(connection, limit, receiver));
        Self(sender)
    }

    /// The next entries. Afterwards the next change of the log is pushed to the connection.
    pub async fn read(&self, read: LogRead) -> StoreResult<Vec<RawEntry>> {
        let (answer, entries) = oneshot::channel();
        let ended = || StoreError::RedisUnready("the connection for logs has ended".into());
        self.0.send(Waiting { read, answer }).await.map_err(|_| ended())?;
        entries.await.map_err(|_| ended())?
    }
}

async fn read_for_all(
    mut connection: MultiplexedConnection,
    limit: Duration,
    mut receiver: mpsc::Receiver<Waiting>,
) {
    let mut waiting = Vec::new();
    while receiver.recv_many(&mut waiting, MOST_WAITING).await > 0 {
        // Those that were woken at the same moment.
        tokio::task::yield_now().await;
        while let Ok(another) = receiver.try_recv() {
            waiting.push(another);
        }
        let together = commands(std::mem::take(&mut waiting));
        match within(limit, answers(&mut connection, &together)).await {
            Ok(answers) => {
                together.into_iter().zip(answers).for_each(|(waiting, answer)| give(waiting, Ok(answer)))
            }
            Err(error) => together.into_iter().for_each(|waiting| give(waiting, Err(error.clone()))),
        }
    }
}

/// Divides reads into those that one command does.
fn commands(waiting: Vec<Waiting>) -> Vec<Vec<Waiting>> {
    let mut commands: Vec<Vec<Waiting>> = Vec::new();
    for one in waiting {
        let fits = |command: &&mut Vec<Waiting>| {
            command.iter().all(|other| {
                let (one, other) = (&one.read, &other.read);
                !one.is_alone && one.most == other.most && one.shard != other.shard
            })
        };
        match commands.iter_mut().find(fits) {
            Some(command) => command.push(one),
            None => commands.push(vec![one]),
        }
    }
    commands
}

async fn answers(
    connection: &mut MultiplexedConnection,
    together: &[Vec<Waiting>],
) -> StoreResult<Vec<Value>> {
    let mut pipeline = Pipeline::with_capacity(2 * together.len());
    for waiting in together {
        pipeline.cmd("CLIENT").arg("CACHING").arg("YES");
        pipeline.add_command(command(waiting.iter().map(|one| one.read)));
    }
    let values = connection.req_packed_commands(&pipeline, 0, 2 * together.len()).await?;
    Ok(values.into_iter().skip(1).step_by(2).collect())
}

fn command(reads: impl Iterator<Item = LogRead> + Clone) -> Cmd {
    let mut cmd = redis::cmd("XREAD");
    cmd.arg("COUNT").arg(reads.clone().map(|read| read.most).max()).arg("STREAMS");
    reads.clone().for_each(|read| {
        cmd.arg(keys::log(read.shard));
    });
    reads.for_each(|read| {
        cmd.arg(read.from.to_string());
    });
    cmd
}

/// Gives each its entries, out of the answer to one command.
fn give(waiting: Vec<Waiting>, answer: StoreResult<Value>) {
    match answer.and_then(entries_by_log) {
        Ok(mut logs) => {
            for Waiting { read, answer } in waiting {
                let _ = answer.send(Ok(logs.remove(&keys::log(read.shard).name).unwrap_or_default()));
            }
        }
        Err(error) => {
            for Waiting { answer, .. } in waiting {
                let _ = answer.send(Err(error.clone()));
            }
        }
    }
}

fn entries_by_log(answer: Value) -> StoreResult<HashMap<String, Vec<RawEntry>>> {
    if let Value::ServerError(error) = answer {
        return Err(redis::RedisError::from(error).into());
    }
    let logs: Option<Vec<(String, Vec<RawEntry>)>> = read(answer)?;
    Ok(logs.into_iter().flatten().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The shards of each command.
    fn divided(reads: &[(u16, usize, bool)]) -> Vec<Vec<u16>> {
        let waiting = reads.iter().map(|(shard, most, is_alone)| {
            let (shard, from) = (ShardId::first(*shard), Offset::default());
            Waiting {
                read: LogRead { shard, from, most: *most, is_alone: *is_alone },
                answer: oneshot::channel().0,
            }
        });
        let shards = |command: Vec<Waiting>| command.iter().map(|one| one.read.shard.0).collect();
        commands(waiting.collect()).into_iter().map(shards).collect()
    }

    #[test]
    fn one_command_reads_each_log_once_and_as_many_entries_of_each() {
        let reads = [(0, 10, false), (1, 10, false), (0, 10, false), (2, 50, false), (3, 10, false)];
        assert_eq!(divided(&reads), [vec![0, 1, 3], vec![0], vec![2]]);
        assert_eq!(divided(&[(0, 10, true), (1, 10, true)]), [[0], [1]]);
    }
}
