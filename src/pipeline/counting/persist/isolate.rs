//! Persisting entries of which PostgreSQL may refuse some for good.
//!
//! What is refused is tried five times per cause, then halved until the event that it is about stands alone.
//! That one goes into `dead_event`, in the transaction that moves the log's offset past it. The order of the log is
//! kept: each part is a transaction of its own, with its own step of the offset. So a kill at any moment leaves
//! the parts before it persisted, and the next owner goes on from there.

use std::{collections::HashMap, time::Duration};

use backon::ExponentialBackoff;
use metrics::counter;

use super::write::{bury, write_batch};
use crate::{
    event_log::Entry,
    pipeline::leadership::{Context, retry::delays},
    primitives::Offset,
    store::{SqlRefusal, StoreError, StoreResult, sql::Lease},
};

/// Tries per cause before what is refused is halved.
const TRIES: u32 = 5;

/// Persists the entries after `from`, whatever PostgreSQL refuses of them. Returns the new offset.
///
/// # Errors
/// As [`write_batch`], but for [`StoreError::Refused`].
pub async fn write(context: &Context, lease: Lease, from: Offset, entries: &[Entry]) -> StoreResult<Offset> {
    let (mut at, mut rest, mut patience) = (from, vec![entries], Patience::default());
    let mut dead = Vec::new();
    while let Some(part) = rest.pop() {
        let refusal = match write_batch(context, lease, at, part).await {
            Ok(to) => {
                at = to;
                continue;
            }
            Err(StoreError::Refused(refusal)) => refusal,
            Err(error) => return Err(error),
        };
        if patience.is_new() {
            tracing::warn!(shard = lease.shard.0, %refusal, "a batch is refused; looking for the event");
        }
        match (patience.pause(&refusal), part) {
            (Some(pause), _) => {
                counter!("plaudit_persist_retries_total", "shard" => lease.shard.to_string()).increment(1);
                tokio::time::sleep(pause).await;
                rest.push(part);
            }
            (None, [alone]) => {
                at = bury(context, lease, at, alone, &refusal, patience.tries(&refusal)).await?;
                dead.push(alone.offset);
            }
            (None, _) => {
                let (first, second) = part.split_at(part.len() / 2);
                rest.extend([second, first]);
            }
        }
    }
    if let (Some(first), Some(last)) = (dead.first(), dead.last()) {
        let (shard, events) = (lease.shard.0, dead.len());
        tracing::error!(shard, events, %first, %last, "gave up events that PostgreSQL refuses: plaudit dead list");
    }
    Ok(at)
}

/// A refusal is of the same cause as another one by its code and constraint.
type Cause = (String, Option<String>);

/// The tries of one batch, per cause: all its events share them.
#[derive(Default)]
struct Patience {
    causes: HashMap<Cause, (u32, ExponentialBackoff)>,
}

impl Patience {
    fn is_new(&self) -> bool {
        self.causes.is_empty()
    }

    /// Counts a try. Returns how long to wait before the next one, if there is to be one with the same events.
    fn pause(&mut self, refusal: &SqlRefusal) -> Option<Duration> {
        let (tries, delays) = self.causes.entry(cause(refusal)).or_insert_with(|| (0, delays()));
        *tries += 1;
        if *tries < TRIES { delays.next() } else { None }
    }

    fn tries(&self, refusal: &SqlRefusal) -> u32 {
        self.causes.get(&cause(refusal)).map_or(0, |(tries, _)| *tries)
    }
}

fn cause(refusal: &SqlRefusal) -> Cause {
    (refusal.code.clone(), refusal.constraint.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(code: &str, constraint: Option<&str>, message: &str) -> SqlRefusal {
        let constraint = constraint.map(str::to_owned);
        SqlRefusal { code: code.to_owned(), constraint, message: message.to_owned() }
    }

    #[test]
    fn there_are_five_tries_per_cause_and_then_no_more() {
        let mut patience = Patience::default();
        assert!(patience.is_new());
        let check = |row: u32| refusal("23514", Some("positive"), &format!("row {row}"));
        let pauses: Vec<_> = (0..7).map(|row| patience.pause(&check(row))).collect();
        assert_eq!(
            pauses.iter().map(Option::is_some).collect::<Vec<_>>(),
            [true, true, true, true, false, false, false]
        );
        assert!(
            pauses[3] >= Some(Duration::from_millis(80)) && pauses[3] <= Some(Duration::from_millis(160))
        );
        assert_eq!(patience.tries(&check(0)), 7);
    }

    #[test]
    fn another_code_or_constraint_is_another_cause() {
        let mut patience = Patience::default();
        let all = [
            refusal("23514", Some("positive"), ""),
            refusal("23514", Some("small"), ""),
            refusal("P0001", None, ""),
        ];
        for round in 1..=5 {
            for refusal in &all {
                assert_eq!(patience.pause(refusal).is_some(), round < 5);
            }
        }
    }
}
