//! The users and addresses that have used most of what they may: remembered however many others come, and shown without
//! their names.

use std::{
    collections::HashMap,
    hash::{BuildHasher, RandomState},
    sync::Arc,
};

use parking_lot::Mutex;

use super::{PerClass, RateClass, requester::Requester, window::WindowMoment};
use plaudit_store::redis::RateAsker;

/// Most that are remembered, some 4 MB. Beyond it those who have used the smallest parts are forgotten, a tenth
/// at once.
const MOST: usize = 10_000;

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
    /// `user`, `address`, or `network` for an IPv6 site.
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
            let part = |requester: &Arc<Requester>| part(&requester.used(now), &requester.allowed);
            let mut parts: Vec<(f64, RateAsker)> =
                all.values().map(|requester| (part(requester), requester.id)).collect();
            parts.sort_unstable_by(|(one, _), (other, _)| other.total_cmp(one));
            for (_, id) in &parts[MOST * 9 / 10..] {
                all.remove(id);
            }
        }
    }

    pub fn get(&self, id: RateAsker) -> Option<Arc<Requester>> {
        self.requesters.lock().get(&id).cloned()
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
        let part = |account: &BusyAccount| part(&account.used, &account.allowed);
        accounts.sort_by(|one, other| part(other).total_cmp(&part(one)));
        accounts.truncate(number);
        accounts
    }
}

/// The greatest part of a limit that is used.
fn part(used: &PerClass, allowed: &PerClass) -> f64 {
    let limited = RateClass::ALL.into_iter().filter(|class| allowed.of(*class) > 0);
    limited.map(|class| f64::from(used.of(class)) / f64::from(allowed.of(class))).fold(0.0, f64::max)
}
