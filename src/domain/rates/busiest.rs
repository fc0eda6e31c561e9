//! The users and addresses that have used most of what they may, without their names.

use std::{
    collections::HashMap,
    hash::{BuildHasher, RandomState},
    sync::Arc,
};

use parking_lot::Mutex;

use super::{PerClass, RateClass, requester::Requester, window::WindowMoment};
use crate::store::redis::RateAsker;

/// Most that are remembered.
const MOST: usize = 1_000;

/// Those who have used a part of a limit that is exchanged between instances.
#[derive(Default)]
pub(super) struct Busiest {
    requesters: Mutex<HashMap<RateAsker, Arc<Requester>>>,
    /// Names are stable while the process runs, and tell nothing to anybody else.
    names: RandomState,
}

/// What a user or an address has used in the sliding window.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BusyAccount {
    /// `user` or `address`.
    pub kind: &'static str,
    /// Six hexadecimal digits, which name the account while this process runs.
    pub name: String,
    pub used: PerClass,
    /// 0 for no limit.
    pub allowed: PerClass,
}

impl Busiest {
    pub fn add(&self, requesters: &[Arc<Requester>], now: &WindowMoment) {
        let mut all = self.requesters.lock();
        all.extend(requesters.iter().map(|requester| (requester.id, Arc::clone(requester))));
        if all.len() > MOST {
            all.retain(|_, requester| requester.used(now) != PerClass::default());
            let surplus: Vec<RateAsker> = all.keys().skip(MOST).copied().collect();
            for id in surplus {
                all.remove(&id);
            }
        }
    }

    /// The `number` with the greatest part of a limit.
    pub fn top(&self, number: usize, now: &WindowMoment) -> Vec<BusyAccount> {
        let mut all = self.requesters.lock();
        all.retain(|_, requester| requester.used(now) != PerClass::default());
        let account = |requester: &Arc<Requester>| BusyAccount {
            kind: requester.kind,
            name: format!("{:06x}", self.names.hash_one(requester.id) & 0xff_ffff),
            used: requester.used(now),
            allowed: requester.allowed,
        };
        let mut accounts: Vec<BusyAccount> = all.values().map(account).collect();
        drop(all);
        accounts.sort_by(|one, other| other.part().total_cmp(&one.part()));
        accounts.truncate(number);
        accounts
    }
}

impl BusyAccount {
    /// The greatest part of a limit that is used.
    fn part(&self) -> f64 {
        let limited = RateClass::ALL.into_iter().filter(|class| self.allowed.of(*class) > 0);
        let parts = limited.map(|class| f64::from(self.used.of(class)) / f64::from(self.allowed.of(class)));
        parts.fold(0.0, f64::max)
    }
}
