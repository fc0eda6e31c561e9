//! The account of one payer: its budgets of requests and of pushes, and what it holds at the same time.

use std::{
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    time::Duration,
};

use ipnet::IpNet;
use parking_lot::Mutex;
use sha2::{Digest, Sha256};
use tokio::time::Instant;

use super::{
    PerClass, RateClass,
    refused_tokens::RefusedTokens,
    window::{RequestCounts, WindowMoment},
    work::Cost,
};
use plaudit_store::redis::{RateAsker, RateUse};

/// A count below this fraction (1 / SHARED_FROM) of its limit is not exchanged; most users stay below it.
pub const SHARED_FROM: u64 = 50;
/// What one subscription may cost, as a part of what its user or its address may cost.
const PART_OF_ONE: u32 = 5;
/// Events are not slowed before somebody has paid for so long in advance.
const IN_ADVANCE: Duration = Duration::from_secs(5);
/// Nobody pays for longer in advance: events that others can pay for go on.
const MOST_IN_ADVANCE: Duration = Duration::from_mins(1);

/// What accounts hold at the same time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Holding {
    /// Bytes that are kept for subscriptions.
    Memory,
    /// Connections that are no sockets.
    Connections,
    /// WebSockets and event streams.
    Sockets,
}

impl Holding {
    pub const ALL: [Self; 3] = [Self::Memory, Self::Connections, Self::Sockets];
}

/// What is held, by [`Holding`].
#[derive(Default)]
pub struct Holdings([AtomicU64; Holding::ALL.len()]);

/// Of a user, of the network of an address, or of an IPv6 site.
pub struct PayerAccount {
    /// Names it while this process runs, and means nothing elsewhere.
    pub key: u64,
    /// Names it for all processes.
    pub id: RateAsker,
    /// `None` for a user.
    pub network: Option<IpNet>,
    /// How many times the limits of one address it has.
    times: u32,
    /// 0 for no limit.
    pub allowed: PerClass,
    /// For how long a thousandth of a unit of events is paid: a unit is a read. Zero without a limit.
    each: Duration,
    pub state: Mutex<AccountState>,
    pub held: Holdings,
}

/// The identity of a payer.
#[derive(Clone, Copy, Hash)]
pub enum PayerName<'a> {
    User(&'a str),
    /// A network, and how many times the limits of an address it has.
    Network(IpNet, u32),
}

#[derive(Default)]
pub struct AccountState {
    pub counts: RequestCounts,
    /// Whether the next exchange sends its counts.
    pub is_queued: bool,
    pub refused_tokens: RefusedTokens,
    /// Until when events are paid.
    paid_until: Option<Instant>,
}

impl PayerAccount {
    /// `allowed`: of one user or address in a `window`.
    pub fn new(key: u64, name: PayerName<'_>, allowed: PerClass, window: Duration) -> Self {
        let (network, times, text) = match name {
            PayerName::User(subject) => (None, 1, format!("user:{subject}")),
            PayerName::Network(network, times) => (Some(network), times, format!("network:{network}")),
        };
        let mut id = [0; 16];
        id.copy_from_slice(&Sha256::digest(text)[..16]);
        let allowed = allowed.times(times);
        let each = window.checked_div(allowed.of(RateClass::Read)).unwrap_or_default() / 1_000;
        let (state, held) = Default::default();
        Self { key, id: RateAsker(id), network, times, allowed, each, state, held }
    }

    /// `user`, `address`, or `network` for an IPv6 site.
    pub const fn kind(&self) -> &'static str {
        match (self.network, self.times) {
            (None, _) => "user",
            (Some(_), 1) => "address",
            _ => "network",
        }
    }

    /// The exceeded class with the longest wait.
    pub fn excess(&self, counts: &RequestCounts, now: &WindowMoment, cost: &PerClass) -> Option<Excess> {
        let excesses = self.limited(cost).map(|(class, cost)| {
            let wait = counts.wait(now, class as usize, self.allowed.of(class).into(), cost.into())?;
            Some((class, wait))
        });
        excesses.fold(None, longest)
    }

    pub fn count(&self, state: &mut AccountState, cost: &PerClass) {
        for (class, cost) in self.limited(cost) {
            state.counts.add(class as usize, cost.into());
        }
    }

    /// The parts of a cost that have a limit.
    fn limited(&self, cost: &PerClass) -> impl Iterator<Item = (RateClass, u32)> {
        let counted = |class: &(RateClass, u32)| class.1 > 0 && self.allowed.of(class.0) > 0;
        RateClass::ALL.map(|class| (class, cost.of(class))).into_iter().filter(counted)
    }

    pub fn should_be_shared(&self, counts: &RequestCounts) -> bool {
        let (_, unshared) = counts.unshared();
        let is_much = |class: RateClass| {
            let count = unshared[class as usize];
            count > 0 && count * SHARED_FROM >= self.allowed.of(class).into()
        };
        RateClass::ALL.into_iter().any(is_much)
    }

    /// What counts in the window so far.
    pub fn used(&self, now: &WindowMoment) -> PerClass {
        let mut state = self.state.lock();
        state.counts.roll(now);
        let used = |class| state.counts.used(now, class as usize).try_into().unwrap_or(u32::MAX);
        PerClass(RateClass::ALL.map(used))
    }

    pub fn share(&self) -> RateUse {
        let mut state = self.state.lock();
        state.is_queued = false;
        let (window, add) = state.counts.unshared();
        RateUse { asker: self.id, window, add }
    }

    /// Pays for an event. Returns how long the subscription should wait until its next one: the one that costs most
    /// is slowed first.
    pub fn pay(&self, cost: Cost, now: Instant) -> Duration {
        if self.each.is_zero() {
            return Duration::ZERO;
        }
        let time = self.each.saturating_mul(u32::try_from(cost.0).unwrap_or(u32::MAX));
        let mut state = self.state.lock();
        let paid_until = (state.paid_until.max(Some(now)).unwrap_or(now) + time).min(now + MOST_IN_ADVANCE);
        state.paid_until = Some(paid_until);
        let in_advance = paid_until.duration_since(now).saturating_sub(IN_ADVANCE);
        in_advance.max(time * PART_OF_ONE)
    }

    /// The most that it may hold, if one address may hold so much. Who may read without a limit has memory without one.
    pub fn most(&self, what: Holding, of_one: u64) -> u64 {
        let is_unlimited = what == Holding::Memory && self.allowed.of(RateClass::Read) == 0;
        if is_unlimited { u64::MAX } else { of_one.saturating_mul(self.times.into()) }
    }

    /// The greatest part of a limit that is used.
    pub fn fraction(&self, now: &WindowMoment) -> f64 {
        let used = self.used(now);
        let limited = RateClass::ALL.into_iter().filter(|class| self.allowed.of(*class) > 0);
        limited.map(|class| f64::from(used.of(class)) / f64::from(self.allowed.of(class))).fold(0.0, f64::max)
    }

    /// Whether an account that is made again would know less, although it holds nothing.
    pub fn matters(&self, now: &WindowMoment) -> bool {
        let is_used = self.fraction(now) > 0.0;
        let state = self.state.lock();
        is_used || state.refused_tokens.are_recent(now) || state.paid_until > Some(Instant::now())
    }
}

impl Holdings {
    /// Whether there was room for so much, which is counted then.
    pub fn take(&self, what: Holding, number: u64, most: u64) -> bool {
        let sum = |held: u64| held.checked_add(number).filter(|sum| *sum <= most);
        self.0[what as usize].fetch_update(Relaxed, Relaxed, sum).is_ok()
    }

    pub fn give_back(&self, what: Holding, number: u64) {
        self.0[what as usize].fetch_sub(number, Relaxed);
    }

    pub fn is_something(&self) -> bool {
        self.0.iter().any(|held| held.load(Relaxed) > 0)
    }
}

/// An exceeded class, and how long to wait.
pub type Excess = (RateClass, Duration);

/// After the longer wait no other limit rejects the request.
pub fn longest(one: Option<Excess>, other: Option<Excess>) -> Option<Excess> {
    one.into_iter().chain(other).max_by_key(|(_, wait)| *wait)
}
