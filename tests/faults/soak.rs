//! Soak test: schedules for a given time (`make soak`).

use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

use crate::{cluster, in_process, processes};

/// Schedules between two checks of the time.
const ROUND: u64 = 10;

/// Variables: `FOR` (a time, default 1h) or `SCHEDULES` (a number) limits the run; `FIRST` (default 1000) is the first
/// seed; `KIND` is `in_process`, `processes` or `cluster`, by default all in turn.
#[test]
#[ignore = "takes an hour: make soak"]
fn soak() {
    let (bounds, kind) = (Bounds::read(), variable("KIND"));
    let bar = ProgressBar::new(bounds.schedules.unwrap_or(0));
    bar.set_style(ProgressStyle::with_template("{elapsed_precise} {pos} schedules, {msg}").unwrap());
    let (start, mut done, mut failures) = (Instant::now(), [0; 3], Vec::new());
    let kinds: Vec<usize> = match kind.as_deref() {
        Some("in_process") => vec![0],
        Some("processes") => vec![1],
        Some("cluster") => vec![2],
        None => vec![0, 1, 2],
        Some(other) => panic!("KIND is in_process, processes or cluster, not {other}"),
    };
    let mut next = bounds.first;
    while !bounds.are_reached(done.iter().sum(), start.elapsed()) {
        let count = bounds.schedules.map_or(ROUND, |all| ROUND.min(all - done.iter().sum::<u64>()));
        let seeds: Vec<u64> = (next..next + count).collect();
        for kind in &kinds {
            let before: u64 = done.iter().sum();
            let failure = round(*kind, seeds.clone(), |now| bar.set_position(before + now as u64));
            failure.iter().for_each(|message| println!("{message}"));
            failures.extend(failure);
            done[*kind] += count;
            bar.set_message(format!("{} rounds with a failure", failures.len()));
        }
        next += count;
    }
    bar.finish();
    println!(
        "{} schedules in one process, {} with real kills and {} on a cluster in {:.0?}, from seed {}: {} rounds with a failure",
        done[0],
        done[1],
        done[2],
        start.elapsed(),
        bounds.first,
        failures.len()
    );
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}

/// Returns the failure, if there is one.
fn round(kind: usize, seeds: Vec<u64>, mut progress: impl FnMut(usize)) -> Option<String> {
    let run = std::panic::AssertUnwindSafe(|| match kind {
        0 => in_process::run_all(seeds, &mut progress),
        1 => tokio::runtime::Runtime::new().unwrap().block_on(processes::run_all(seeds, &mut progress)),
        _ => tokio::runtime::Runtime::new().unwrap().block_on(cluster::run_all(seeds, &mut progress)),
    });
    let panic = std::panic::catch_unwind(run).err()?;
    Some(in_process::message_of(&*panic))
}

struct Bounds {
    first: u64,
    schedules: Option<u64>,
    time: Duration,
}

impl Bounds {
    fn read() -> Self {
        let number = |name| variable(name).map(|text| text.parse().expect("a number"));
        let time = variable("FOR").map(|text| humantime::parse_duration(&text).expect("a time, such as 1h"));
        let time = time.unwrap_or(Duration::from_hours(1));
        Self { first: number("FIRST").unwrap_or(1_000), schedules: number("SCHEDULES"), time }
    }

    fn are_reached(&self, done: u64, elapsed: Duration) -> bool {
        self.schedules.map_or(elapsed >= self.time, |all| done >= all)
    }
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|text| !text.is_empty())
}
