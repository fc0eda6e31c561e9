//! A running storm, and its progress reports.

use std::{collections::VecDeque, time::Duration};

use serde::Serialize;
use tokio::time::{Instant, Interval, MissedTickBehavior, interval};

use super::{StormApi, crowd::Crowd, targets::TargetNotes};

/// Between two reports.
const REPORTS: Duration = Duration::from_millis(250);

/// The rate is that of the last second: of this many reports.
const RATED: usize = 4;

/// What the users have done since the storm began.
#[derive(Serialize, Debug)]
#[serde(rename_all = "camelCase")]
pub struct Progress {
    pub elapsed_ms: u64,
    /// Actions that succeeded.
    pub acted: u64,
    /// Actions that were refused or failed.
    pub failed: u64,
    /// Successful actions per second, in the last one.
    pub per_second: u64,
    /// In the last report.
    pub done: bool,
}

/// Simulated users who act. They stop when this is dropped.
pub struct Storm {
    crowd: Crowd,
    began: Instant,
    ticks: Interval,
    /// Milliseconds and actions of the last reports.
    last: VecDeque<(u64, u64)>,
    is_done: bool,
}

impl Storm {
    /// Users `storm.001`, `storm.002` and so on act for `time`.
    pub fn begin<A: StormApi>(api: A, targets: TargetNotes, users: u16, time: Duration) -> Self {
        let mut ticks = interval(REPORTS);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Self {
            crowd: Crowd::begin(api, targets, users, time),
            began: Instant::now(),
            ticks,
            last: VecDeque::with_capacity(RATED + 1),
            is_done: false,
        }
    }

    /// The next report; `None` after the last one.
    pub async fn next(&mut self) -> Option<Progress> {
        if self.is_done {
            return None;
        }
        tokio::select! {
            () = self.crowd.ended() => self.is_done = true,
            _ = self.ticks.tick() => {}
        }
        Some(self.progress())
    }

    fn progress(&mut self) -> Progress {
        let elapsed_ms = self.began.elapsed().as_millis() as u64;
        let (acted, failed) = self.crowd.counts();
        let (then_ms, acted_then) = self.last.front().copied().unwrap_or_default();
        let per_second = (acted - acted_then) * 1_000 / (elapsed_ms - then_ms).max(1);
        self.last.push_back((elapsed_ms, acted));
        if self.last.len() > RATED {
            self.last.pop_front();
        }
        Progress { elapsed_ms, acted, failed, per_second, done: self.is_done }
    }
}
