//! What a payer may use: a user, the network of an address, or an IPv6 site has one account.
//!
//! - [`account`]: budgets of requests, counted in a sliding window, and of pushes, paid in advance; and what is held at
//!   the same time: memory of subscriptions, connections, sockets
//! - [`payers`]: all accounts; [`payer`]: those that one request, subscription or connection counts for
//! - prices: [`work`]
//!
//! Each instance decides from its own copy of the counts, so a limit costs no round trip; every [`EXCHANGE`] the
//! instances exchange what they counted through Redis. Without Redis each instance enforces the limits alone.
//! The error with `n` instances is at most what `n - 1` of them admit between two exchanges, plus `n - 1` parts of the
//! limit of which nothing is exchanged ([`account::SHARED_FROM`]).

mod account;
mod payer;
mod payers;
mod refused_tokens;
mod window;
mod work;

use std::{net::IpAddr, sync::Arc, time::Duration};

use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

pub use account::Holding;
pub use payer::{Full, Held, Most, Payer};
pub use payers::{BusyAccount, Payers};
pub use work::{Cost, CostMeters, Work};

use self::account::{AccountState, Excess, PayerAccount, longest};
use super::{DomainError, DomainResult, PerClass, RateClass};
use plaudit_store::redis::{RateUse, Redis, entities::rates};

/// Interval between exchanges.
const EXCHANGE: Duration = Duration::from_millis(200);

/// The user and the address that a request counts for.
#[derive(Clone, Copy, Debug)]
pub struct Requester<'a> {
    /// Subject of the token, if there is one.
    pub subject: Option<&'a str>,
    /// `None` for a gateway, which asks for many clients, and if a service acts for the user: its address is
    /// the app's server.
    pub address: Option<IpAddr>,
}

impl Requester<'_> {
    /// A request of nobody who is signed in.
    pub const fn of_address(address: Option<IpAddr>) -> Self {
        Self { subject: None, address }
    }
}

/// What becomes of a request.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Counting {
    Always,
    WithinLimits,
    /// It is only asked whether it is within the limits.
    Never,
}

/// Decides about requests by their payers, and exchanges these with the other instances.
pub struct Rates {
    payers: Arc<Payers>,
    /// Those whose counts the next exchange sends.
    to_share: Mutex<Vec<Arc<PayerAccount>>>,
    redis: Redis,
}

impl Rates {
    pub fn new(payers: Payers, redis: Redis) -> Self {
        for class in RateClass::ALL {
            limited_total(class).increment(0);
        }
        Self { payers: Arc::new(payers), to_share: Mutex::default(), redis }
    }

    pub const fn payers(&self) -> &Arc<Payers> {
        &self.payers
    }

    /// The accounts that pay for a request, and for the messages of a subscription.
    pub fn payer(&self, source: Option<Requester<'_>>) -> Payer {
        self.payers.payer(source)
    }

    /// Checks the limits, and counts the request if it is admitted.
    ///
    /// # Errors
    /// [`DomainError::RateLimited`] beyond a limit; then it is not counted.
    pub fn admit(&self, payer: &Payer, cost: &PerClass) -> DomainResult<()> {
        within(self.count(payer, cost, Counting::WithinLimits))
    }

    /// Checks the limits before anything is done to understand a request, and does not count it yet.
    ///
    /// # Errors
    /// [`DomainError::RateLimited`] beyond a limit.
    pub fn check(&self, payer: &Payer, cost: &PerClass) -> DomainResult<()> {
        within(self.count(payer, cost, Counting::Never))
    }

    /// Counts work that was done for an admitted request beyond what was known before. The next requests wait for it.
    pub fn charge(&self, payer: &Payer, cost: &PerClass) {
        self.count(payer, cost, Counting::Always);
    }

    /// Whether a token may be examined. `is_verified`: whether this process has verified it before.
    ///
    /// # Errors
    /// [`DomainError::RateLimited`] for another one, if the address has spent its reads and sends tokens that are
    /// refused.
    pub fn admit_token(&self, payer: &Payer, is_verified: impl FnOnce() -> bool) -> DomainResult<()> {
        let now = self.payers.moment();
        let read = PerClass::one(RateClass::Read);
        let mut excess = None;
        for (account, mut state) in payer.locked().into_iter().flatten() {
            state.counts.roll(&now);
            if state.refused_tokens.are_recent(&now) {
                excess = longest(excess, account.excess(&state.counts, &now, &read));
            }
        }
        within(excess.filter(|_| !is_verified()))
    }

    /// Counts a token that was refused.
    pub fn charge_refused_token(&self, payer: &Payer) {
        let now = self.payers.moment();
        for (account, mut state) in payer.locked().into_iter().flatten() {
            state.counts.roll(&now);
            let reads = state.refused_tokens.add(&now);
            account.count(&mut state, &PerClass::of_reads(reads));
            self.share_if_much(account, &mut state);
        }
    }

    /// Counts a request. Returns the limit that it exceeds.
    fn count(&self, payer: &Payer, cost: &PerClass, counting: Counting) -> Option<Excess> {
        if payer.is_unlimited() {
            return None;
        }
        let now = self.payers.moment();
        // All locks are held until the decision.
        let mut states = payer.locked();
        let mut excess = None;
        for (account, state) in states.iter_mut().flatten() {
            state.counts.roll(&now);
            if counting != Counting::Always {
                excess = longest(excess, account.excess(&state.counts, &now, cost));
            }
        }
        for (account, state) in states.iter_mut().flatten() {
            if excess.is_some() {
                self.share(account, state);
                continue;
            }
            if counting != Counting::Never {
                account.count(state, cost);
            }
            self.share_if_much(account, state);
        }
        excess
    }

    fn share_if_much(&self, account: &Arc<PayerAccount>, state: &mut AccountState) {
        if account.should_be_shared(&state.counts) {
            self.share(account, state);
        }
    }

    /// The next exchange sends its counts.
    fn share(&self, account: &Arc<PayerAccount>, state: &mut AccountState) {
        if !state.is_queued {
            state.is_queued = true;
            self.to_share.lock().push(Arc::clone(account));
        }
    }

    /// Exchanges counts with the other instances until `stop`. Redis may be unavailable meanwhile.
    pub async fn run(&self, stop: &CancellationToken) {
        let exchanging = async {
            loop {
                tokio::time::sleep(EXCHANGE).await;
                self.exchange().await;
            }
        };
        let _: Option<()> = stop.run_until_cancelled(exchanging).await;
    }

    async fn exchange(&self) {
        let payers = std::mem::take(&mut *self.to_share.lock());
        if payers.is_empty() {
            return;
        }
        let shares: Vec<RateUse> = payers.iter().map(|account| account.share()).collect();
        match rates::exchange_rates(&self.redis, &shares, 2 * self.payers.window() + EXCHANGE).await {
            Ok(totals) => {
                for ((account, share), totals) in payers.iter().zip(&shares).zip(&totals) {
                    account.state.lock().counts.take_in(share.window, &share.add, totals);
                }
            }
            // Nothing is lost. If Redis did add the counts, they count twice until the window ends.
            Err(error) => tracing::debug!(%error, "cannot exchange request counts"),
        }
    }
}

fn within(excess: Option<Excess>) -> DomainResult<()> {
    let Some((class, retry_after)) = excess else { return Ok(()) };
    limited_total(class).increment(1);
    Err(DomainError::RateLimited { class, retry_after })
}

fn limited_total(class: RateClass) -> metrics::Counter {
    metrics::counter!("plaudit_rate_limited_total", "class" => class.name())
}

#[cfg(test)]
mod tests;
