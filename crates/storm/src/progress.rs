//! A running storm, and its progress reports.

use std::{collections::VecDeque, time::Duration};

use serde::Serialize;
use tokio::time::{Instant, Interval, MissedTickBehavior, interval};

use super::{StormApi, crowd::Crowd, targets::TargetNotes};

/// Time between two reports.
const REPORT_INTERVAL: Duration = Duration::from_millis(250);

/// The rate covers this many reports: one second.
const REPORTS_PER_RATE: usize = 4;

/// Actions of the users since the storm began.
#[derive(Serialize, Debug)]
#[serde(rename_all = "camelCase")]
pub struct Progress {
    pub elapsed_ms: u64,
    /// Actions that succeeded.
    pub acted: u64,
    /// Actions that were refused or failed.
    pub failed: u64,
    /// Successful actions in the last second.
    pub per_second: u64,
    /// True in the last report.
    pub done: bool,
}

/// A running storm. Dropping it stops its users.
pub struct Storm {
    crowd: Crowd,
    start: Instant,
    ticks: Interval,
    /// Elapsed milliseconds and actions of the last reports.
    last: VecDeque<(u64, u64)>,
    is_done: bool,
}

impl Storm {
    /// Users `storm.001`, `storm.002` and so on act for `time`.
    pub fn begin<A: StormApi>(api: A, targets: TargetNotes, users: u16, time: Duration) -> Self {
        let mut ticks = interval(REPORT_INTERVAL);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Self {
            crowd: Crowd::begin(api, targets, users, time),
            start: Instant::now(),
            ticks,
            last: VecDeque::with_capacity(REPORTS_PER_RATE + 1),
            is_done: false,
        }
    }

    /// The next report; `None` after the last one.
    pub async fn next(&mut self) -> Option<Progress> {
        if self.is_done {
            return None;
        }
        tokio::select! {
            () = self.crowd.finish() => self.is_done = true,
            _ = self.ticks.tick() => {}
        }
        Some(self.progress())
    }

    fn progress(&mut self) -> Progress {
        let elapsed_ms = self.start.elapsed().as_millis() as u64;
        let (acted, failed) = self.crowd.counts();
        let (earlier_ms, earlier_acted) = self.last.front().copied().unwrap_or_default();
        let per_second = (acted - earlier_acted) * 1_000 / (elapsed_ms - earlier_ms).max(1);
        self.last.push_back((elapsed_ms, acted));
        if self.last.len() > REPORTS_PER_RATE {
            self.last.pop_front();
        }
        Progress { elapsed_ms, acted, failed, per_second, done: self.is_done }
    }
}
