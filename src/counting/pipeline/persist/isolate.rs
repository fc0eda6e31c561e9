//! Isolation of events that PostgreSQL permanently refuses, by bisection.
//!
//! A refused batch is attempted five times per cause, then halved until the refused event stands alone. That event
//! goes into the dead-event table, in the transaction that moves the log's offset past it. The order of the log is
//! preserved: each part is a transaction with its own step of the offset. After a kill the parts before it are
//! persisted, and the next owner continues from there.

use std::{collections::HashMap, time::Duration};

use metrics::counter;

use super::{dead, write::write_batch};
use crate::leadership::{Context, retry::delays};
use plaudit_catalogue::{
    event_log::Entry,
    primitives::{Offset, RetryDelays},
};
use plaudit_store::{SqlRefusal, StoreError, StoreResult, sql::ownership::shards::Lease};

/// Attempts per cause before a refused batch is halved.
const ATTEMPTS: u32 = 5;

/// Persists the entries after `from`; those that PostgreSQL refuses become dead events. Returns the new offset.
///
/// # Errors
/// As [`write_batch`], but for [`StoreError::Refused`].
pub async fn write(context: &Context, lease: Lease, from: Offset, entries: &[Entry]) -> StoreResult<Offset> {
    let (mut at, mut rest, mut attempts) = (from, vec![entries], RefusalAttempts::default());
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
        if attempts.is_first() {
            tracing::warn!(shard = lease.shard.0, %refusal, "PostgreSQL refused a batch; isolating the event");
        }
        match (attempts.delay(&refusal), part) {
            (Some(delay), _) => {
                counter!("plaudit_persist_retries_total", "shard" => lease.shard.to_string()).increment(1);
                tokio::time::sleep(delay).await;
                rest.push(part);
            }
            (None, [alone]) => {
                // Nothing else is in the batch, so it is this event that PostgreSQL refuses.
                at = dead::make_dead(context, lease, at, alone, &refusal, attempts.count(&refusal)).await?;
                dead.push(alone.offset);
            }
            (None, _) => {
                // The first half on top of the stack: events are written in the order of the log.
                let (first, second) = part.split_at(part.len() / 2);
                rest.extend([second, first]);
            }
        }
    }
    if let (Some(first), Some(last)) = (dead.first(), dead.last()) {
        let (shard, events) = (lease.shard.0, dead.len());
        tracing::error!(shard, events, %first, %last, "PostgreSQL refuses events; see: plaudit dead list");
    }
    Ok(at)
}

/// Refusals with the same code and constraint have the same cause.
type RefusalCause = (String, Option<String>);

/// Attempts to write one batch, per cause of its refusals. All its parts share them.
#[derive(Default)]
struct RefusalAttempts {
    causes: HashMap<RefusalCause, (u32, RetryDelays)>,
}

impl RefusalAttempts {
    fn is_first(&self) -> bool {
        self.causes.is_empty()
    }

    /// Counts an attempt. Returns the delay before the next one with the same events; `None` after the last.
    fn delay(&mut self, refusal: &SqlRefusal) -> Option<Duration> {
        let (attempts, delays) = self.causes.entry(cause(refusal)).or_insert_with(|| (0, delays()));
        *attempts += 1;
        (*attempts < ATTEMPTS).then(|| delays.next_delay())
    }

    fn count(&self, refusal: &SqlRefusal) -> u32 {
        self.causes.get(&cause(refusal)).map_or(0, |(attempts, _)| *attempts)
    }
}

fn cause(refusal: &SqlRefusal) -> RefusalCause {
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
    fn a_cause_has_five_attempts() {
        let mut attempts = RefusalAttempts::default();
        assert!(attempts.is_first());
        let check = |row: u32| refusal("23514", Some("positive"), &format!("row {row}"));
        let delays: Vec<_> = (0..7).map(|row| attempts.delay(&check(row))).collect();
        assert_eq!(
            delays.iter().map(Option::is_some).collect::<Vec<_>>(),
            [true, true, true, true, false, false, false]
        );
        assert!(
            delays[3] >= Some(Duration::from_millis(80)) && delays[3] <= Some(Duration::from_millis(160))
        );
        assert_eq!(attempts.count(&check(0)), 7);
    }

    #[test]
    fn another_code_or_constraint_is_another_cause() {
        let mut attempts = RefusalAttempts::default();
        let all = [
            refusal("23514", Some("positive"), ""),
            refusal("23514", Some("small"), ""),
            refusal("P0001", None, ""),
        ];
        for round in 1..=5 {
            for refusal in &all {
                assert_eq!(attempts.delay(refusal).is_some(), round < 5);
            }
        }
    }
}
