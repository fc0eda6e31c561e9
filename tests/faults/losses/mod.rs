//! What is lost when a store fails over or its power is cut, measured: `cargo test --test faults table_of_losses --
//! --ignored --nocapture` prints the figures of docs/results.md. Replicas and standbys are 20 ms away.

mod likes;
mod postgres;
mod power;
mod redis;

use std::fmt;

use self::redis::{AppendFsync, Blow, RedisCase};

/// What happened in one case.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// Acknowledged actions.
    acknowledged: usize,
    /// The sum of the counts that a subscriber was shown before the fault, if the case has counts.
    published: Option<i64>,
    /// Acknowledged, and not in rows in the end.
    lost: usize,
    /// What counts fell by after they were published.
    taken_back: i64,
    /// By `plaudit_lost_events_total`. `None`: nothing tells.
    told: Option<i64>,
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = |number: Option<i64>| number.map_or_else(|| "–".to_owned(), |number| number.to_string());
        let Self { acknowledged, published, lost, taken_back, told } = self;
        write!(f, "{acknowledged} | {} | {lost} | {taken_back} | {} |", number(*published), number(*told))
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes minutes, and is for docs/results.md"]
async fn table_of_losses() {
    println!("| Fault | Acknowledged | Published | Lost | Taken back | Told |\n|---|---|---|---|---|---|");
    for blow in [Blow::Failover, Blow::PowerCut] {
        for replicas in 0..=2 {
            for fsync in [AppendFsync::EverySecond, AppendFsync::Always] {
                // With replicas a power cut of the master is a failover.
                let is_asked = match blow {
                    Blow::Failover => fsync == AppendFsync::EverySecond || replicas == 0,
                    Blow::PowerCut => replicas == 0,
                };
                for postgres_is_away in [false, true].into_iter().filter(|_| is_asked) {
                    let case = RedisCase { blow, replicas, fsync, postgres_is_away };
                    println!("| {case} | {}", case.run().await);
                }
            }
        }
    }
    for is_synchronous in [false, true] {
        let kind = if is_synchronous { "a synchronous" } else { "an asynchronous" };
        let [likes, notes] = postgres::run(is_synchronous).await;
        println!("| PostgreSQL fails over to {kind} standby: likes | {likes}");
        println!("| the same: new notes | {notes}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failover_of_redis_with_redis_replicas_1_loses_nothing_also_while_postgresql_is_away() {
    let case = RedisCase {
        blow: Blow::Failover,
        replicas: 1,
        fsync: AppendFsync::EverySecond,
        postgres_is_away: true,
    };
    let row = case.run().await;
    assert!(row.acknowledged > 0 && row.published > Some(0), "{row:?}");
    assert_eq!((row.lost, row.taken_back), (0, 0), "{row:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_failover_of_redis_loses_with_redis_replicas_0_is_told() {
    let case = RedisCase {
        blow: Blow::Failover,
        replicas: 0,
        fsync: AppendFsync::EverySecond,
        postgres_is_away: true,
    };
    // Which likes a replica lacks is chance, and whether anybody had seen them.
    for _ in 0..8 {
        let row = case.run().await;
        let (published, told) = (row.published.unwrap_or_default(), row.told.unwrap_or_default());
        let unseen = row.acknowledged as i64 - published;
        assert!(row.lost as i64 <= told + unseen, "{row:?}");
        if told > 0 {
            return;
        }
    }
    panic!("no failover lost anything that the owner had seen");
}
