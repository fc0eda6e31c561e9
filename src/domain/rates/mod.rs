//! Rate limits: requests are counted per user and per address in a sliding window.
//!
//! Each instance decides from its own copy of the counts, so a limit costs no round trip; every [`EXCHANGE`] the
//! instances exchange what they counted through Redis. Without Redis each instance enforces the limits alone.
//! The error with `n` instances is at most what `n - 1` of them admit between two exchanges, plus
//! `(n - 1) / `[`SHARED_FROM`](requester::SHARED_FROM) of the limit.

pub mod busiest;
pub mod memory;
pub mod pushes;
pub mod refused_tokens;
pub mod requester;
pub mod window;
pub mod work;

use std::{net::IpAddr, sync::Arc, time::Duration};

use ipnet::IpNet;
use moka::{policy::EvictionPolicy, sync::Cache};
use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

pub use busiest::BusyAccount;
pub use memory::Kept;
pub use pushes::PushAccount;
pub use work::{Cost, CostMeters, Work};

use self::{
    busiest::Busiest,
    pushes::Pushes,
    requester::{Excess, Requester, RequesterState, longest},
    window::WindowMoment,
};
use super::{DomainError, DomainResult, PerClass, RateClass};
use plaudit_catalogue::{
    primitives::{limited_networks, now},
    settings::RateSettings,
};
use plaudit_store::redis::{RateShare, Redis, entities::rates};

/// Interval between exchanges.
const EXCHANGE: Duration = Duration::from_millis(200);
/// Most users, and most addresses, that are counted at the same time, some 300 bytes each. Beyond it the least
/// recently used one is evicted, unless it is one of the [`Busiest`]: none that has used a limit.
const MOST_REQUESTERS: u64 = 100_000;

/// The user and the address that a request counts for.
#[derive(Clone, Copy, Debug)]
pub struct RequestSource<'a> {
    /// Subject of the token, if there is one.
    pub subject: Option<&'a str>,
    /// `None` for a gateway, which asks for many clients, and if a service acts for the user: its address is
    /// that of the app's server.
    pub address: Option<IpAddr>,
}

/// What becomes of a request.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Counting {
    Always,
    WithinLimits,
    /// It is only asked whether it is within the limits.
    Never,
}

/// Recent requests, as counted by this process and learnt from the others.
pub struct Rates {
    window: Duration,
    /// Limit of a user per window; 0 means no limit.
    per_user: PerClass,
    /// Limit of an address. An IPv6 site has ten times as much.
    per_address: PerClass,
    users: Cache<String, Arc<Requester>>,
    networks: Cache<IpNet, Arc<Requester>>,
    /// Those whose counts the next exchange sends.
    to_share: Mutex<Vec<Arc<Requester>>>,
    busiest: Busiest,
    pushes: Pushes,
    redis: Redis,
}

impl Rates {
    /// `memory`: most bytes of all subscriptions.
    pub fn new(settings: &RateSettings, memory: u64, redis: Redis) -> Self {
        for class in RateClass::ALL {
            limited_total(class).increment(0);
        }
        Self {
            window: settings.rate_window,
            per_user: PerClass {
                reads: settings.rate_user_reads,
                writes: settings.rate_user_writes,
                creations: settings.rate_user_creations,
            },
            per_address: PerClass {
                reads: settings.rate_address_reads,
                writes: settings.rate_address_writes,
                creations: settings.rate_address_creations,
            },
            users: cache(settings.rate_window),
            networks: cache(settings.rate_window),
            to_share: Mutex::default(),
            busiest: Busiest::default(),
            pushes: Pushes::new(settings, memory),
            redis,
        }
    }

    /// Checks the limits, and counts the request if it is admitted.
    ///
    /// # Errors
    /// [`DomainError::RateLimited`] beyond a limit; then it is not counted.
    pub fn admit(&self, source: RequestSource<'_>, cost: &PerClass) -> DomainResult<()> {
        self.decide(source, cost, Counting::WithinLimits)
    }

    /// Checks the limits before anything is done to understand a request, and does not count it yet.
    ///
    /// # Errors
    /// [`DomainError::RateLimited`] beyond a limit.
    pub fn check(&self, source: RequestSource<'_>, cost: &PerClass) -> DomainResult<()> {
        self.decide(source, cost, Counting::Never)
    }

    /// Counts work that was done for an admitted request beyond what was known before. The next requests wait for it.
    pub fn charge(&self, source: RequestSource<'_>, cost: &PerClass) {
        self.count(source, cost, Counting::Always);
    }

    fn decide(&self, source: RequestSource<'_>, cost: &PerClass, counting: Counting) -> DomainResult<()> {
        match self.count(source, cost, counting) {
            None => Ok(()),
            Some((class, retry_after)) => {
                limited_total(class).increment(1);
                Err(DomainError::RateLimited { class, retry_after })
            }
        }
    }

    /// Whether a token may be examined. `is_verified`: whether this process has verified it before.
    ///
    /// # Errors
    /// [`DomainError::RateLimited`] for another one, if the address has spent its reads and sends tokens that are
    /// refused.
    pub fn admit_token(&self, address: IpAddr, is_verified: impl FnOnce() -> bool) -> DomainResult<()> {
        let now = WindowMoment::at(now(), self.window);
        let read = PerClass::one(RateClass::Read);
        let excesses = self.networks(address).map(|requester| {
            let mut state = requester.state.lock();
            state.counts.roll(&now);
            let are_recent = state.refused_tokens.are_recent(&now);
            requester.excess(&state.counts, &now, &read).filter(|_| are_recent)
        });
        match excesses.fold(None, longest) {
            Some((class, retry_after)) if !is_verified() => {
                limited_total(class).increment(1);
                Err(DomainError::RateLimited { class, retry_after })
            }
            _ => Ok(()),
        }
    }

    /// Counts a token that was refused.
    pub fn charge_refused_token(&self, address: IpAddr) {
        let now = WindowMoment::at(now(), self.window);
        for requester in self.networks(address) {
            let mut state = requester.state.lock();
            state.counts.roll(&now);
            let reads = state.refused_tokens.add(&now);
            requester.count(&mut state, &PerClass { reads, ..PerClass::default() });
            self.share_if_much(&requester, &mut state);
        }
    }

    /// Counts a request. Returns the limit that it exceeds.
    fn count(&self, source: RequestSource<'_>, cost: &PerClass, counting: Counting) -> Option<Excess> {
        let user = source.subject.and_then(|subject| self.user(subject));
        let networks = source.address.into_iter().flat_map(|address| self.networks(address));
        let requesters: Vec<Arc<Requester>> = user.into_iter().chain(networks).collect();
        let now = WindowMoment::at(now(), self.window);
        // All locks are held until the decision, always taken in this order.
        let mut states: Vec<_> = requesters.iter().map(|requester| requester.state.lock()).collect();
        let mut excess = None;
        for (requester, state) in requesters.iter().zip(&mut states) {
            state.counts.roll(&now);
            if counting != Counting::Always {
                excess = longest(excess, requester.excess(&state.counts, &now, cost));
            }
        }
        for (requester, state) in requesters.iter().zip(&mut states) {
            if excess.is_some() {
                self.share(requester, state);
                continue;
            }
            if counting != Counting::Never {
                requester.count(state, cost);
            }
            self.share_if_much(requester, state);
        }
        excess
    }

    fn share_if_much(&self, requester: &Arc<Requester>, state: &mut RequesterState) {
        if requester.should_be_shared(&state.counts) {
            self.share(requester, state);
        }
    }

    /// The next exchange sends its counts, and it is remembered.
    fn share(&self, requester: &Arc<Requester>, state: &mut RequesterState) {
        if !state.is_queued {
            state.is_queued = true;
            self.to_share.lock().push(Arc::clone(requester));
        }
    }

    fn user(&self, subject: &str) -> Option<Arc<Requester>> {
        let allowed = self.per_user;
        let requester = || self.known(Requester::new("user", subject, allowed));
        (!allowed.is_zero()).then(|| self.users.get_with_by_ref(subject, requester))
    }

    /// The address, and the IPv6 site that it is a part of.
    fn networks(&self, address: IpAddr) -> impl Iterator<Item = Arc<Requester>> {
        let limited = limited_networks(address).filter(|_| !self.per_address.is_zero());
        limited.map(|(network, times)| {
            let kind = if times == 1 { "address" } else { "network" };
            let allowed = self.per_address.times(times);
            let requester = || self.known(Requester::new(kind, &network.to_string(), allowed));
            self.networks.get_with(network, requester)
        })
    }

    /// As it is remembered, if the cache has evicted it.
    fn known(&self, new: Requester) -> Arc<Requester> {
        self.busiest.get(new.id).unwrap_or_else(|| Arc::new(new))
    }

    /// The users and addresses that have used the greatest part of a limit, at most `number`.
    pub fn busiest(&self, number: usize) -> Vec<BusyAccount> {
        self.busiest.top(number, &WindowMoment::at(now(), self.window))
    }

    /// The account that pays for the events of a subscription; without a source, of a service's subscription.
    pub fn push_account(&self, source: Option<RequestSource<'_>>) -> PushAccount {
        self.pushes.account(source)
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
        let requesters = std::mem::take(&mut *self.to_share.lock());
        if requesters.is_empty() {
            return;
        }
        self.busiest.add(&requesters, &WindowMoment::at(now(), self.window));
        let shares: Vec<RateShare> = requesters.iter().map(|requester| requester.share()).collect();
        match rates::exchange_rates(&self.redis, &shares, 2 * self.window + EXCHANGE).await {
            Ok(totals) => {
                for ((requester, share), totals) in requesters.iter().zip(&shares).zip(&totals) {
                    requester.state.lock().counts.take_in(share.window, &share.add, totals);
                }
            }
            // Nothing is lost. If Redis did add the counts, they count twice until the window ends.
            Err(error) => tracing::debug!(%error, "cannot exchange request counts"),
        }
    }
}

/// Entries expire two windows after their last request, when it no longer counts.
fn cache<K: std::hash::Hash + Eq + Send + Sync + 'static>(window: Duration) -> Cache<K, Arc<Requester>> {
    let builder = Cache::builder().max_capacity(MOST_REQUESTERS).time_to_idle(2 * window);
    builder.eviction_policy(EvictionPolicy::lru()).build()
}

fn limited_total(class: RateClass) -> metrics::Counter {
    metrics::counter!("plaudit_rate_limited_total", "class" => class.name())
}

#[cfg(test)]
mod tests {
    use super::*;
    use plaudit_catalogue::primitives::ShardCount;

    fn rates(user: PerClass, address: PerClass) -> Rates {
        let redis = Redis::new("redis://127.0.0.1:1", ShardCount::new(2).unwrap()).unwrap();
        let settings = RateSettings {
            rate_window: Duration::from_hours(1),
            rate_user_reads: user.reads,
            rate_user_writes: user.writes,
            rate_user_creations: user.creations,
            rate_address_reads: address.reads,
            rate_address_writes: address.writes,
            rate_address_creations: address.creations,
        };
        Rates::new(&settings, 1 << 20, redis)
    }

    fn ask(rates: &Rates, subject: Option<&str>, address: &str, class: RateClass) -> Option<RateClass> {
        let source = RequestSource { subject, address: Some(address.parse().unwrap()) };
        match rates.admit(source, &PerClass::one(class)) {
            Err(DomainError::RateLimited { class, retry_after }) => {
                assert!(retry_after > Duration::ZERO && retry_after <= Duration::from_hours(2));
                Some(class)
            }
            _ => None,
        }
    }

    #[tokio::test]
    async fn each_user_each_address_and_each_class_has_a_limit_of_its_own() {
        let limit = PerClass { reads: 2, writes: 1, creations: 0 };
        let rates = rates(limit, PerClass { reads: 4, ..limit });
        use RateClass::{Creation, Read, Write};
        let (one, two) = ("192.0.2.1", "192.0.2.2");
        assert_eq!([0; 3].map(|_| ask(&rates, Some("ann"), one, Read)), [None, None, Some(Read)]);
        assert_eq!(ask(&rates, Some("ann"), two, Read), Some(Read));
        assert_eq!([0; 3].map(|_| ask(&rates, None, one, Read)), [None, None, Some(Read)]);
        assert_eq!(ask(&rates, Some("bob"), one, Read), Some(Read));
        // Rejected requests are not counted.
        assert_eq!([0; 3].map(|_| ask(&rates, Some("bob"), two, Read)), [None, None, Some(Read)]);
        assert_eq!([0; 2].map(|_| ask(&rates, Some("ann"), two, Write)), [None, Some(Write)]);
        assert_eq!([0; 9].map(|_| ask(&rates, Some("ann"), two, Creation)), [None; 9]);
    }

    #[tokio::test]
    async fn an_ipv6_network_is_counted_as_one_address() {
        let rates = rates(PerClass::default(), PerClass::one(RateClass::Read));
        assert_eq!(ask(&rates, None, "2001:db8::1", RateClass::Read), None);
        assert_eq!(ask(&rates, None, "2001:db8::2", RateClass::Read), Some(RateClass::Read));
        assert_eq!(ask(&rates, None, "2001:db8:0:1::1", RateClass::Read), None);
        assert_eq!(ask(&rates, None, "::ffff:192.0.2.1", RateClass::Read), None);
        assert_eq!(ask(&rates, None, "192.0.2.1", RateClass::Read), Some(RateClass::Read));
    }

    #[tokio::test]
    async fn an_ipv6_site_has_ten_times_the_limit_of_an_address() {
        let rates = rates(PerClass::default(), PerClass { reads: 2, ..PerClass::default() });
        let ask = |host: u16| ask(&rates, None, &format!("2001:db8:1:{host:x}::1"), RateClass::Read);
        for host in 0..10 {
            assert_eq!([ask(host), ask(host), ask(host)], [None, None, Some(RateClass::Read)]);
        }
        assert_eq!(ask(10), Some(RateClass::Read), "20 of the site");
        assert_eq!(super::tests::ask(&rates, None, "2001:db8:2::1", RateClass::Read), None);
    }

    #[tokio::test]
    async fn who_is_limited_is_remembered_however_many_others_come() {
        let rates =
            rates(PerClass { reads: 3, ..PerClass::default() }, PerClass { reads: 3, ..PerClass::default() });
        let asks = || {
            let by_name = ask(&rates, Some("ann"), "198.51.100.1", RateClass::Read);
            (by_name, ask(&rates, None, "2001:db8:1::1", RateClass::Read))
        };
        for _ in 0..3 {
            assert_eq!(asks(), (None, None));
        }
        let limited = (Some(RateClass::Read), Some(RateClass::Read));
        assert_eq!(asks(), limited);
        rates.exchange().await;
        // As if so many others had come that the caches hold only them.
        rates.users.invalidate_all();
        rates.networks.invalidate_all();
        assert_eq!(asks(), limited);
    }

    #[tokio::test]
    async fn of_the_busiest_those_who_have_used_least_are_forgotten_first() {
        let rates = rates(PerClass { reads: 100, ..PerClass::default() }, PerClass::default());
        let ask = |subject: &str, times: usize| {
            for _ in 0..times {
                assert_eq!(super::tests::ask(&rates, Some(subject), "192.0.2.1", RateClass::Read), None);
            }
        };
        ask("ann", 100);
        for n in 0..12_000 {
            ask(&n.to_string(), 2);
            if n % 4_000 == 0 {
                rates.exchange().await;
            }
        }
        rates.exchange().await;
        rates.users.invalidate_all();
        assert_eq!(
            super::tests::ask(&rates, Some("ann"), "192.0.2.1", RateClass::Read),
            Some(RateClass::Read)
        );
        assert!(rates.busiest(usize::MAX).len() <= 10_000);
    }

    #[tokio::test]
    async fn refused_tokens_are_charged_in_tenths_and_spend_the_rate_of_their_address() {
        let rates =
            rates(PerClass { reads: 9, ..PerClass::default() }, PerClass { reads: 3, ..PerClass::default() });
        let [attacker, other]: [IpAddr; 2] = ["192.0.2.1", "192.0.2.2"].map(|text| text.parse().unwrap());
        let refuse = |times: usize| (0..times).for_each(|_| rates.charge_refused_token(attacker));
        refuse(29);
        assert!(rates.admit_token(attacker, || false).is_ok());
        assert_eq!(ask(&rates, None, "192.0.2.1", RateClass::Read), None, "two units of three are spent");
        assert!(rates.admit_token(attacker, || false).is_err());
        assert!(rates.admit_token(attacker, || true).is_ok(), "a token that was verified before");
        assert_eq!(ask(&rates, Some("ann"), "192.0.2.1", RateClass::Read), Some(RateClass::Read));
        // Whoever has only read too much has tokens examined: one may be that of a service, which has no limits.
        assert_eq!([0; 3].map(|_| ask(&rates, None, "192.0.2.2", RateClass::Read)), [None; 3]);
        assert_eq!(ask(&rates, None, "192.0.2.2", RateClass::Read), Some(RateClass::Read));
        assert!(rates.admit_token(other, || false).is_ok());
    }

    #[tokio::test]
    async fn the_busiest_are_those_nearest_to_a_limit_and_have_no_names() {
        let limit = PerClass { reads: 100, writes: 10, creations: 0 };
        let rates = rates(limit, PerClass { reads: 1_000, ..PerClass::default() });
        let address: &str = "192.0.2.1";
        for (subject, class, times) in
            [("ann", RateClass::Read, 30), ("bob", RateClass::Write, 4), ("cleo", RateClass::Read, 1)]
        {
            for _ in 0..times {
                assert_eq!(ask(&rates, Some(subject), address, class), None);
            }
        }
        rates.exchange().await;
        let top = rates.busiest(2);
        let shown: Vec<_> =
            top.iter().map(|account| (account.kind, account.used.reads, account.used.writes)).collect();
        assert_eq!(shown, [("user", 0, 4), ("user", 30, 0)]);
        assert!(top.iter().all(|account| account.name.len() == 6 && account.name != top[0].kind), "{top:?}");
        assert_eq!(rates.busiest(9).len(), 3, "and the address");
    }

    #[tokio::test]
    async fn only_large_counts_are_shared_and_each_is_queued_once() {
        let rates = rates(PerClass { reads: 200, ..PerClass::default() }, PerClass::default());
        let ask = |times: usize| {
            for _ in 0..times {
                assert_eq!(super::tests::ask(&rates, Some("ann"), "192.0.2.1", RateClass::Read), None);
            }
            rates.to_share.lock().len()
        };
        assert_eq!((ask(3), ask(1), ask(50)), (0, 1, 1));
        // Redis is unavailable: the counts are shared by the next exchange, and count meanwhile.
        rates.exchange().await;
        assert_eq!(rates.to_share.lock().len(), 0);
        let shared = || rates.users.get("ann").unwrap().share().add;
        assert_eq!(shared(), [54, 0, 0]);
    }
}
