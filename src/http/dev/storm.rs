//! Hundreds of simulated users who act for some seconds, through the API as everybody does, so that one sees
//! the numbers under load. One storm at a time; it ends early when nobody listens any more.

use std::{collections::VecDeque, convert::Infallible, sync::Arc, time::Duration};

use axum::{
    body::Body,
    extract::Request,
    http::{StatusCode, header},
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use futures_util::{Stream, StreamExt, stream};
use serde::{Deserialize, Serialize};
use tokio::{
    sync::OwnedSemaphorePermit,
    time::{Instant, Interval, MissedTickBehavior, interval},
};

use super::{Refusal, State, bad_request, crowd::Crowd, targets::Targets};
use crate::{
    graphql::{ApiError, Code},
    http::{body, event_stream::UNBUFFERED},
};

const USERS: std::ops::RangeInclusive<i64> = 1..=500;
const SECONDS: std::ops::RangeInclusive<i64> = 1..=30;
const MAX_NOTES: usize = 100;

/// Between two lines.
const LINES: Duration = Duration::from_millis(250);

/// Lines back to which the rate is reckoned: a second.
const RATED: usize = 4;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
struct Asked {
    users: i64,
    seconds: i64,
    /// Notes to act on; none: those that visitors see when they come.
    note_ids: Vec<String>,
}

impl Default for Asked {
    fn default() -> Self {
        Self { users: 300, seconds: 10, note_ids: Vec::new() }
    }
}

/// A line of the answer.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Line {
    elapsed_ms: u64,
    /// Actions that were taken.
    acted: u64,
    /// Actions that were refused or failed.
    failed: u64,
    /// Actions taken per second, in the last one.
    per_second: u64,
    done: bool,
}

struct Storm {
    crowd: Crowd,
    began: Instant,
    ticks: Interval,
    /// Milliseconds and actions of the last lines.
    last: VecDeque<(u64, u64)>,
    is_done: bool,
    _only_one: OwnedSemaphorePermit,
}

/// `POST /dev/storm`: a line of JSON four times a second, the last one with `done`.
pub async fn begin(state: State, request: Request) -> Result<Response, Refusal> {
    let (parts, body) = request.into_parts();
    let asked = Asked::read(&body::read(&parts.headers, body, &state.requests).await?)?;
    let only_one = Arc::clone(&state.storms).try_acquire_owned().map_err(|_| one_at_a_time())?;
    let targets = Targets::find(&state.engine, &asked.note_ids).await?;
    let time = Duration::from_secs(asked.seconds.unsigned_abs());
    let crowd = Crowd::begin(state.engine.clone(), targets, asked.users as u16, time);
    let lines = lines(Storm::new(crowd, only_one)).take_until(state.sockets.stopping());
    let headers = [(header::CONTENT_TYPE, "application/x-ndjson")];
    Ok((headers, [UNBUFFERED], Body::from_stream(lines)).into_response())
}

impl Asked {
    fn read(body: &[u8]) -> Result<Self, Refusal> {
        let asked: Self = serde_json::from_slice(body).map_err(|why| bad_request(why.to_string()))?;
        within("users", asked.users, USERS)?;
        within("seconds", asked.seconds, SECONDS)?;
        let notes = asked.note_ids.len();
        if notes > MAX_NOTES {
            return Err(bad_request(format!("noteIds may have {MAX_NOTES} ids at most, not {notes}")));
        }
        Ok(asked)
    }
}

fn within(name: &str, value: i64, bounds: std::ops::RangeInclusive<i64>) -> Result<(), Refusal> {
    if bounds.contains(&value) {
        return Ok(());
    }
    Err(bad_request(format!("{name} must be {} to {}, not {value}", bounds.start(), bounds.end())))
}

fn one_at_a_time() -> Refusal {
    let message = "there is a storm already; wait until it has ended";
    Refusal::new(StatusCode::CONFLICT, ApiError::new(Code::RetryLater, message))
}

impl Storm {
    fn new(crowd: Crowd, only_one: OwnedSemaphorePermit) -> Self {
        let mut ticks = interval(LINES);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let (began, last) = (Instant::now(), VecDeque::with_capacity(RATED + 1));
        Self { crowd, began, ticks, last, is_done: false, _only_one: only_one }
    }

    async fn next(&mut self) -> Option<Line> {
        if self.is_done {
            return None;
        }
        tokio::select! {
            () = self.crowd.ended() => self.is_done = true,
            _ = self.ticks.tick() => {}
        }
        Some(self.line())
    }

    fn line(&mut self) -> Line {
        let elapsed_ms = self.began.elapsed().as_millis() as u64;
        let (acted, failed) = self.crowd.counts();
        let (then_ms, acted_then) = self.last.front().copied().unwrap_or_default();
        let per_second = (acted - acted_then) * 1_000 / (elapsed_ms - then_ms).max(1);
        self.last.push_back((elapsed_ms, acted));
        if self.last.len() > RATED {
            self.last.pop_front();
        }
        Line { elapsed_ms, acted, failed, per_second, done: self.is_done }
    }
}

/// Ends the storm when it is dropped.
fn lines(storm: Storm) -> impl Stream<Item = Result<Bytes, Infallible>> {
    stream::unfold(storm, async |mut storm| {
        let mut line = serde_json::to_vec(&storm.next().await?).ok()?;
        line.push(b'\n');
        Some((Ok(line.into()), storm))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_said_has_a_default() {
        let asked = Asked::read(b"{}").ok().unwrap();
        assert_eq!((asked.users, asked.seconds, asked.note_ids.len()), (300, 10, 0));
        let asked = Asked::read(br#"{ "users": 500, "seconds": 1, "noteIds": ["note_1"] }"#).ok().unwrap();
        assert_eq!((asked.users, asked.seconds, asked.note_ids.len()), (500, 1, 1));
    }
}
