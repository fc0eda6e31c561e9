//! The accounts that a request, a subscription, a connection or a socket counts for, and what it holds of them.

use std::{sync::Arc, time::Duration};

use ipnet::IpNet;
use parking_lot::MutexGuard;
use tokio::time::Instant;

use super::{
    account::{AccountState, Holding, Holdings, PayerAccount},
    work::Cost,
};

/// The part of the memory of all subscriptions that one user or address may take.
const PART: u64 = 32;

/// How much may be held.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Most {
    pub in_all: u64,
    /// By one user or address.
    pub of_one: u64,
}

/// The limit that does not allow more.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Full {
    InAll,
    OfUser,
    /// How much this network may hold.
    OfNetwork(IpNet, u64),
}

/// The accounts of the user, of the network of the address, and of its IPv6 site, as far as they have limits; and the
/// account of the process. Cheap to clone.
#[derive(Clone)]
pub struct Payer {
    /// In this order they are locked.
    accounts: [Option<Arc<PayerAccount>>; 3],
    process: Arc<Holdings>,
    /// Most bytes of all subscriptions.
    memory: u64,
}

/// What a payer holds until this is dropped.
pub struct Held {
    payer: Arc<Payer>,
    what: Holding,
    number: u64,
}

impl Payer {
    pub(super) const fn new(
        accounts: [Option<Arc<PayerAccount>>; 3],
        process: Arc<Holdings>,
        memory: u64,
    ) -> Self {
        Self { accounts, process, memory }
    }

    fn accounts(&self) -> impl Iterator<Item = &Arc<PayerAccount>> {
        self.accounts.iter().flatten()
    }

    /// Whether nobody's limits hold.
    pub(super) fn is_unlimited(&self) -> bool {
        self.accounts().next().is_none()
    }

    /// The accounts, locked always in the same order.
    pub(super) fn locked(&self) -> [Option<(&Arc<PayerAccount>, MutexGuard<'_, AccountState>)>; 3] {
        self.accounts
            .each_ref()
            .map(|account| account.as_ref().map(|account| (account, account.state.lock())))
    }

    /// Pays for an event. Returns how long the subscription should wait until its next one. No request is refused
    /// for events.
    pub fn pay(&self, cost: Cost, now: Instant) -> Duration {
        self.accounts().map(|account| account.pay(cost, now)).max().unwrap_or_default()
    }

    /// Counts bytes that are kept for a subscription. `None` if they are too many for its user, for its address or for
    /// this process.
    pub fn keep(self: &Arc<Self>, bytes: usize) -> Option<Held> {
        let most = Most { in_all: self.memory, of_one: self.memory / PART };
        self.take(Holding::Memory, bytes as u64, most).ok()
    }

    /// The most bytes that may be kept for its user or address; `None` if only all payers together are limited.
    pub fn memory_of_one(&self) -> Option<u64> {
        let most = |account: &Arc<PayerAccount>| account.most(Holding::Memory, self.memory / PART);
        self.accounts().map(most).find(|most| *most < u64::MAX)
    }

    /// Counts so much as held by each account and in all.
    ///
    /// # Errors
    /// There is no room. An account that is full comes first: room in all would not help it.
    pub fn take(self: &Arc<Self>, what: Holding, number: u64, most: Most) -> Result<Held, Full> {
        let give_back =
            |taken| self.accounts().take(taken).for_each(|account| account.held.give_back(what, number));
        for (taken, account) in self.accounts().enumerate() {
            let most = account.most(what, most.of_one);
            if !account.held.take(what, number, most) {
                give_back(taken);
                return Err(account.network.map_or(Full::OfUser, |network| Full::OfNetwork(network, most)));
            }
        }
        if !self.process.take(what, number, most.in_all) {
            give_back(self.accounts.len());
            return Err(Full::InAll);
        }
        Ok(Held { payer: Arc::clone(self), what, number })
    }
}

impl Held {
    /// From now on only all together hold it.
    pub fn leave_accounts(&mut self) {
        let left = Payer { accounts: Default::default(), ..(*self.payer).clone() };
        let payer = std::mem::replace(&mut self.payer, Arc::new(left));
        payer.accounts().for_each(|account| account.held.give_back(self.what, self.number));
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let held = self.payer.accounts().map(|account| &account.held);
        held.chain([&*self.payer.process]).for_each(|held| held.give_back(self.what, self.number));
    }
}
