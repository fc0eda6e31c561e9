//! The accounts of all payers of a process. Their number is bounded: those that have used least are forgotten first,
//! and none that holds something.

use std::{
    collections::HashMap,
    hash::{BuildHasher, RandomState},
    net::IpAddr,
    sync::Arc,
    time::Duration,
};

use parking_lot::Mutex;

use super::{
    PerClass, Requester,
    account::{Holdings, PayerAccount, PayerName, SHARED_FROM},
    payer::Payer,
    window::WindowMoment,
};
use plaudit_catalogue::{
    primitives::{limited_networks, now},
    settings::RateSettings,
};

/// Most users and networks that hold nothing, some 300 bytes each.
const MOST: usize = 200_000;
/// Parts of them, each with a lock.
const PARTITIONS: usize = 16;
/// A partition has so many before it is looked through for the first time.
const FEW: usize = 64;

/// The account of each user and each network.
pub struct Payers {
    window: Duration,
    /// Limit of a user per window; 0 means no limit.
    per_user: PerClass,
    /// Limit of an address. An IPv6 site has ten times as much.
    per_address: PerClass,
    /// Most bytes of all subscriptions.
    memory: u64,
    partitions: [Mutex<Partition>; PARTITIONS],
    /// Most accounts of a partition that hold nothing.
    most: usize,
    /// Makes the two halves of keys.
    hashers: [RandomState; 2],
    process: Arc<Holdings>,
}

/// Accounts by the hashes of their names: no two names have the same two, since nobody knows how they are made.
#[derive(Default)]
struct Partition {
    accounts: HashMap<[u64; 2], Arc<PayerAccount>>,
    /// When it has so many, those that do not matter any more are removed.
    full_at: usize,
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

impl Payers {
    /// `memory`: most bytes of all subscriptions.
    pub fn new(settings: &RateSettings, memory: u64) -> Self {
        Self::bounded(settings, memory, MOST)
    }

    pub(super) fn bounded(settings: &RateSettings, memory: u64, most: usize) -> Self {
        let per_user = [settings.rate_user_reads, settings.rate_user_writes, settings.rate_user_creations];
        let per_address =
            [settings.rate_address_reads, settings.rate_address_writes, settings.rate_address_creations];
        Self {
            window: settings.rate_window,
            per_user: PerClass(per_user),
            per_address: PerClass(per_address),
            memory,
            partitions: Default::default(),
            most: most / PARTITIONS,
            hashers: Default::default(),
            process: Arc::default(),
        }
    }

    pub(super) fn moment(&self) -> WindowMoment {
        WindowMoment::at(now(), self.window)
    }

    pub(super) const fn window(&self) -> Duration {
        self.window
    }

    /// Those who pay for a request or a subscription: with limits of their own. Without a source nobody, as for
    /// services.
    pub fn payer(&self, source: Option<Requester<'_>>) -> Payer {
        let user = source.and_then(|source| source.subject).filter(|_| !self.per_user.is_zero());
        let address = source.and_then(|source| source.address).filter(|_| !self.per_address.is_zero());
        let user = user.map(|subject| self.account(PayerName::User(subject), self.per_user));
        self.payer_of(user, address)
    }

    /// Those who hold a connection or a socket of this address; `None`: nobody.
    pub fn payer_of_address(&self, address: Option<IpAddr>) -> Payer {
        self.payer_of(None, address)
    }

    /// The user, the network of the address, and the IPv6 site that it is in.
    fn payer_of(&self, user: Option<Arc<PayerAccount>>, address: Option<IpAddr>) -> Payer {
        let mut networks = limited_networks(address)
            .map(|(network, times)| self.account(PayerName::Network(network, times), self.per_address));
        Payer::new([user, networks.next(), networks.next()], Arc::clone(&self.process), self.memory)
    }

    fn account(&self, name: PayerName<'_>, allowed: PerClass) -> Arc<PayerAccount> {
        let key = self.hashers.each_ref().map(|hasher| hasher.hash_one(name));
        let mut partition = self.partitions[key[0] as usize % PARTITIONS].lock();
        if let Some(known) = partition.accounts.get(&key) {
            return Arc::clone(known);
        }
        if partition.accounts.len() >= partition.full_at.max(FEW) {
            partition.forget(self.most, &self.moment());
        }
        let account = Arc::new(PayerAccount::new(key[1], name, allowed, self.window));
        partition.accounts.insert(key, Arc::clone(&account));
        account
    }

    fn all(&self) -> impl Iterator<Item = Arc<PayerAccount>> {
        self.partitions
            .iter()
            .flat_map(|partition| partition.lock().accounts.values().cloned().collect::<Vec<_>>())
    }

    #[cfg(test)]
    pub(super) fn number(&self) -> usize {
        self.all().count()
    }

    /// The users and addresses that have used the greatest fraction of a limit, at most `number`, without their names.
    pub fn busiest(&self, number: usize) -> Vec<BusyAccount> {
        let now = self.moment();
        let mut busy: Vec<_> = self.all().map(|account| (account.fraction(&now), account)).collect();
        busy.retain(|(fraction, _)| fraction * SHARED_FROM as f64 >= 1.0);
        busy.sort_by(|(one, _), (other, _)| other.total_cmp(one));
        let shown = busy.into_iter().take(number).map(|(_, account)| BusyAccount {
            kind: account.kind(),
            name: format!("{:06x}", account.key & 0xff_ffff),
            used: account.used(&now),
            allowed: account.allowed,
        });
        shown.collect()
    }
}

impl Partition {
    /// Removes what does not matter. If more than `most` are left, also a tenth of them: those that have used the
    /// smallest fractions of their limits and hold nothing.
    fn forget(&mut self, most: usize, now: &WindowMoment) {
        let is_held =
            |account: &Arc<PayerAccount>| Arc::strong_count(account) > 1 || account.held.is_something();
        self.accounts.retain(|_, account| is_held(account) || account.matters(now));
        if self.accounts.len() >= most {
            let free = self.accounts.iter().filter(|(_, account)| !is_held(account));
            let mut fractions: Vec<_> = free.map(|(key, account)| (account.fraction(now), *key)).collect();
            fractions.sort_by(|(one, _), (other, _)| one.total_cmp(other));
            for (_, key) in fractions.into_iter().take(most / 10 + 1) {
                self.accounts.remove(&key);
            }
        }
        let left = self.accounts.len();
        self.full_at = (2 * left).min(most).max(left + left / 10);
    }
}
