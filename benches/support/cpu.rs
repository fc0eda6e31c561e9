//! CPU time of the processes that a benchmark has started.

use std::{collections::BTreeMap, fs};

use crate::support::Outcome;

/// CPU time of the descendants of this process, in microseconds by process name.
pub struct CpuTimes(BTreeMap<String, u64>);

impl CpuTimes {
    /// Linux counts in hundredths of a second.
    const TICK: u64 = 10_000;

    pub fn now() -> Outcome<Self> {
        Self::of(u64::from(std::process::id()))
    }

    /// Of a process and its descendants; of this one without itself.
    pub fn of(ancestor: u64) -> Outcome<Self> {
        let mut processes = BTreeMap::new();
        for entry in fs::read_dir("/proc")? {
            let stat = fs::read_to_string(entry?.path().join("stat")).unwrap_or_default();
            let Some((start, fields)) = stat.rsplit_once(") ") else { continue };
            let Some((pid, name)) = start.split_once(" (") else { continue };
            let fields: Vec<u64> = fields.split(' ').map(|field| field.parse().unwrap_or(0)).collect();
            // User and system time of the process and of its ended children.
            let ticks: u64 = fields[11..15].iter().sum();
            processes.insert(pid.parse::<u64>()?, (fields[1], name.to_owned(), ticks));
        }
        let mut times = BTreeMap::new();
        for pid in processes.keys() {
            let mut parents =
                std::iter::successors(Some(*pid), |pid| processes.get(pid).map(|(parent, ..)| *parent))
                    .skip(usize::from(ancestor == u64::from(std::process::id())));
            if parents.any(|pid| pid == ancestor) {
                let (_, name, ticks) = &processes[pid];
                *times.entry(name.clone()).or_default() += ticks * Self::TICK;
            }
        }
        Ok(Self(times))
    }

    /// Microseconds by process name.
    pub fn all(self) -> BTreeMap<String, u64> {
        self.0
    }

    /// Microseconds since `self` was measured, by process name.
    pub fn used(&self) -> Outcome<BTreeMap<String, u64>> {
        let since = |(name, time): (String, u64)| {
            let used = time.saturating_sub(self.0.get(&name).copied().unwrap_or_default());
            (name, used)
        };
        Ok(Self::now()?.0.into_iter().map(since).collect())
    }

    /// CPU time per unit of work since `self` was measured, in words.
    pub fn since(&self, count: u64, unit: &str) -> Outcome<String> {
        let used = self.used()?;
        let per_unit = |used: u64| used as f64 / count as f64;
        let parts: Vec<String> =
            used.iter().map(|(name, used)| format!("{name} {:.1}", per_unit(*used))).collect();
        Ok(format!("{:.1} µs per {unit} ({})", per_unit(used.values().sum()), parts.join(", ")))
    }
}
