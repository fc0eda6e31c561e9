//! The counts of a user or an address against their limits.

use std::time::Duration;

use parking_lot::Mutex;
use sha2::{Digest, Sha256};

use super::{
    PerClass, RateClass,
    refused_tokens::RefusedTokens,
    window::{RequestCounts, WindowMoment},
};
use plaudit_store::redis::{RateAsker, RateShare};

/// A count below this fraction (1 / SHARED_FROM) of its limit is not exchanged; most users stay below it.
pub const SHARED_FROM: u64 = 50;

/// A user, an address or an IPv6 site.
pub struct Requester {
    /// `user`, `address`, or `network` for an IPv6 site.
    pub kind: &'static str,
    pub id: RateAsker,
    pub allowed: PerClass,
    pub state: Mutex<RequesterState>,
}

#[derive(Default)]
pub struct RequesterState {
    pub counts: RequestCounts,
    /// Whether the next exchange sends its counts.
    pub is_queued: bool,
    pub refused_tokens: RefusedTokens,
}

impl Requester {
    pub fn new(kind: &'static str, name: &str, allowed: PerClass) -> Self {
        let digest = Sha256::digest(format!("{kind}:{name}"));
        let mut id = [0; 16];
        id.copy_from_slice(&digest[..16]);
        Self { kind, id: RateAsker(id), allowed, state: Mutex::default() }
    }

    /// The exceeded class with the longest wait.
    pub fn excess(&self, counts: &RequestCounts, now: &WindowMoment, cost: &PerClass) -> Option<Excess> {
        let excesses = self.limited(cost).map(|(class, cost)| {
            let wait = counts.wait(now, class.index(), self.allowed.of(class).into(), cost.into())?;
            Some((class, wait))
        });
        excesses.fold(None, longest)
    }

    pub fn count(&self, state: &mut RequesterState, cost: &PerClass) {
        for (class, cost) in self.limited(cost) {
            state.counts.add(class.index(), cost.into());
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
            let count = unshared[class.index()];
            count > 0 && count * SHARED_FROM >= self.allowed.of(class).into()
        };
        RateClass::ALL.into_iter().any(is_much)
    }

    /// What counts in the window so far.
    pub fn used(&self, now: &WindowMoment) -> PerClass {
        let mut state = self.state.lock();
        state.counts.roll(now);
        let mut used = PerClass::default();
        for class in RateClass::ALL {
            *used.of_mut(class) = state.counts.used(now, class.index()).try_into().unwrap_or(u32::MAX);
        }
        used
    }

    pub fn share(&self) -> RateShare {
        let mut state = self.state.lock();
        state.is_queued = false;
        let (window, add) = state.counts.unshared();
        RateShare { asker: self.id, window, add }
    }
}

/// An exceeded class, and how long to wait.
pub type Excess = (RateClass, Duration);

/// After the longer wait no other limit rejects the request.
pub fn longest(one: Option<Excess>, other: Option<Excess>) -> Option<Excess> {
    one.into_iter().chain(other).max_by_key(|(_, wait)| *wait)
}
