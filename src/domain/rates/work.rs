//! Prices: what the work for a request or an event costs. A unit is about a millisecond of the server and its
//! stores, and counts as one read.

use std::ops::Add;

use metrics::{Counter, counter};

/// Prices in thousandths of a unit. A token is parsed and validated; in a document that is refused it takes most.
const TOKEN: u64 = 4;
const FIELD: u64 = 4;
const ROUND_TRIP: u64 = 40;
const COMMAND: u64 = 10;
const SCRIPT: u64 = 40;
const STATEMENT: u64 = 500;
const TOPIC: u64 = 100;
/// Bytes of an answer, and of what a mutation writes, for a thousandth of a unit.
const BYTES: u64 = 64;
const WRITTEN: u64 = 16;

/// Kinds of work, as metrics name them.
const KINDS: [&str; 7] = ["tokens", "fields", "bytes", "written", "redis", "sql", "topics"];

/// Work that was done, or may be done.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Work {
    /// Tokens of a document that was parsed.
    pub tokens: u64,
    /// Fields of the answer.
    pub fields: u64,
    /// Bytes of the answer.
    pub bytes: u64,
    /// Bytes of a mutation's document and variables, which it may write.
    pub written: u64,
    /// Round trips to Redis.
    pub round_trips: u64,
    /// Commands in them other than calls of scripts.
    pub commands: u64,
    /// Calls of scripts in them.
    pub scripts: u64,
    /// Statements of PostgreSQL.
    pub statements: u64,
    /// Objects that a subscription begins to watch.
    pub topics: u64,
}

/// An amount in thousandths of a unit.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Debug)]
pub struct Cost(pub u64);

impl Work {
    pub fn cost(&self) -> Cost {
        Cost(self.parts().into_iter().fold(0, u64::saturating_add))
    }

    /// The costs in the order of [`KINDS`].
    const fn parts(&self) -> [u64; KINDS.len()] {
        [
            self.tokens.saturating_mul(TOKEN),
            self.fields.saturating_mul(FIELD),
            self.bytes / BYTES,
            self.written / WRITTEN,
            self.round_trips
                .saturating_mul(ROUND_TRIP)
                .saturating_add(self.commands.saturating_mul(COMMAND))
                .saturating_add(self.scripts.saturating_mul(SCRIPT)),
            self.statements.saturating_mul(STATEMENT),
            self.topics.saturating_mul(TOPIC),
        ]
    }
}

/// What was paid for requests, or for events, by kind of work.
pub struct CostMeters([Counter; KINDS.len()]);

impl CostMeters {
    /// `of`: `requests` or `events`.
    pub fn new(of: &'static str) -> Self {
        Self(KINDS.map(|kind| {
            let counter = counter!("plaudit_cost_total", "for" => of, "work" => kind);
            counter.increment(0);
            counter
        }))
    }

    pub fn add(&self, work: &Work) {
        for (counter, part) in self.0.iter().zip(work.parts()) {
            counter.increment(part);
        }
    }
}

impl Cost {
    /// Whole units; what is done at all costs at least one.
    pub fn units(self) -> u32 {
        u32::try_from(self.0 / 1_000).unwrap_or(u32::MAX).max(1)
    }

    /// The part of each of so many payers.
    pub const fn shared_by(self, payers: usize) -> Self {
        match self.0.checked_div(payers as u64) {
            Some(part) => Self(part),
            None => self,
        }
    }
}

impl Add for Cost {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn little_work_costs_a_unit_and_much_work_its_price() {
        assert_eq!(Work::default().cost().units(), 1);
        let page = Work { fields: 200, bytes: 8_000, round_trips: 1, commands: 1, ..Work::default() };
        assert_eq!((page.cost(), page.cost().units()), (Cost(975), 1));
        // Nothing of it is in the process: the rows and counts of 40 objects from Redis, on 2 shards.
        let cold = Work { round_trips: 3, commands: 81, scripts: 2, ..page };
        assert_eq!(cold.cost().units(), 1);
        let pages = Work { tokens: 500, fields: 5_000, bytes: 4 << 20, statements: 24, ..page };
        assert_eq!(pages.cost().units(), 2 + 20 + 65 + 12);
        // A hundred ids that nothing has, between others: rows and counts are looked for in both stores.
        let absent =
            Work { fields: 200, round_trips: 2, commands: 200, scripts: 2, statements: 3, ..Work::default() };
        assert_eq!(absent.cost().units(), 4);
        let edit = Work { fields: 3, written: 40_000, ..Work::default() };
        assert_eq!(edit.cost(), Cost(12 + 2_500));
        assert_eq!(Work { topics: 100, ..Work::default() }.cost().units(), 10);
        assert_eq!(Work { tokens: 990, ..Work::default() }.cost().units(), 3);
    }

    #[test]
    fn equal_parts_are_paid_by_all() {
        assert_eq!(Cost(1_000).shared_by(8), Cost(125));
        assert_eq!(Cost(3).shared_by(8), Cost(0));
        assert_eq!(Cost(3).shared_by(0), Cost(3));
    }
}
