//! Scope: what a run of the model includes. Everything together would have too many states, so a run omits what its
//! faults do not affect.

use std::fmt;

use super::{Fault, Faults, Guard};

#[derive(Clone, Copy, Debug)]
pub struct Scope {
    pub faults: Faults,
    /// Guards that are omitted, as bits.
    pub without: u64,
    /// Whether the owner of log 0 reads a batch in one step and sends it in another, so that other steps may happen in
    /// between. Otherwise both are one step, as always for log 1: its owner follows the same rules, so small steps of
    /// one owner find their errors.
    pub in_small_steps: bool,
    /// Whether a hub and its client receive the changes. Versions are counted only then.
    pub with_hub: bool,
    /// Whether there is one direct change of the total, at any time.
    pub with_direct_change: bool,
    /// Events in each log. The logs have them from the start: an event that is folded later is equivalent to an event
    /// that is appended later.
    pub events: [u8; 2],
}

impl Scope {
    pub fn new(faults: &[Fault]) -> Self {
        Self {
            faults: Faults::of(faults),
            without: 0,
            in_small_steps: false,
            with_hub: false,
            with_direct_change: false,
            events: [2, 2],
        }
    }

    pub const fn in_small_steps(self) -> Self {
        Self { in_small_steps: true, ..self }
    }

    pub const fn with_hub(self) -> Self {
        Self { with_hub: true, ..self }
    }

    pub const fn with_direct_change(self) -> Self {
        Self { with_direct_change: true, ..self }
    }

    pub const fn events(self, first: u8, second: u8) -> Self {
        Self { events: [first, second], ..self }
    }

    pub fn without(self, guards: &[Guard]) -> Self {
        let without = guards.iter().fold(self.without, |all, guard| all | 1 << *guard as u64);
        Self { without, ..self }
    }

    pub const fn has(&self, guard: Guard) -> bool {
        self.without & 1 << guard as u64 == 0
    }

    /// Whether one Redis holds the target and log 0.
    pub const fn shares_redis(&self) -> bool {
        let faults = self.faults;
        faults.has(Fault::RedisFailover)
            || faults.has(Fault::Failback)
            || faults.has(Fault::ReplicaAttached)
            || faults.has(Fault::BacklogFreed)
            || faults.has(Fault::PlannedFailover)
            || faults.has(Fault::SlotMoved)
            || faults.has(Fault::SlotMovedPartly)
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let faults: Vec<&Fault> = Fault::ALL.iter().filter(|fault| self.faults.has(**fault)).collect();
        write!(f, "{faults:?}, {:?} events", self.events)?;
        let parts = [
            (self.in_small_steps, "in small steps"),
            (self.with_hub, "with a hub"),
            (self.with_direct_change, "with a direct change"),
        ];
        parts.iter().filter(|(is_in, _)| *is_in).try_for_each(|(_, name)| write!(f, ", {name}"))
    }
}
