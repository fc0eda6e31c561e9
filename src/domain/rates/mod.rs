//! How often somebody may ask: requests are counted per user and per address, in a window that slides.
//!
//! Each instance decides by itself, at once, by what it knows; every [`EXCHANGE`] the instances tell each
//! other through Redis what they counted. So a limit costs a request no round trip, and holds without Redis,
//! then for each instance alone. Together `n` instances let through more than the limit, at most what `n - 1`
//! of them take within an exchange and a [`SHARED_FROM`]th of the limit each.

mod window;

use std::{net::IpAddr, sync::Arc, time::Duration};

use moka::{policy::EvictionPolicy, sync::Cache};
use parking_lot::Mutex;
use sha2::{Digest, Sha256};
use tokio_util::sync::CancellationToken;

use self::window::{Counts, Moment};
use super::{DomainError, DomainResult, edges::now};
use crate::{
    primitives::network_of,
    settings::RateSettings,
    store::redis::{RateAsker, RateShare, Redis},
};

/// How often instances tell each other.
const EXCHANGE: Duration = Duration::from_millis(200);
/// Who has asked for less than this part of a limit since the last exchange is not worth telling of: most
/// users never are.
const SHARED_FROM: u64 = 50;
/// Users, and as many addresses, that are counted at the same time; beyond it who has not asked for longest is
/// forgotten. Some 300 bytes each.
const MOST_ASKERS: u64 = 100_000;

/// What a request is to the limits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RateClass {
    Read,
    Write,
    /// A write that makes something new which others see.
    Creation,
}

/// A number for each class: what a request costs, or what is allowed in a window.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PerClass {
    pub reads: u32,
    pub writes: u32,
    pub creations: u32,
}

/// Whom a request counts for.
#[derive(Clone, Copy, Debug)]
pub struct Asking<'a> {
    /// Of the token, if there is one.
    pub subject: Option<&'a str>,
    pub address: IpAddr,
}

impl RateClass {
    pub const ALL: [Self; 3] = [Self::Read, Self::Write, Self::Creation];

    /// For metrics, and in messages.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Read => "reads",
            Self::Write => "writes",
            Self::Creation => "creations",
        }
    }

    const fn index(self) -> usize {
        self as usize
    }
}

impl PerClass {
    /// One of a class.
    pub fn one(class: RateClass) -> Self {
        let mut one = Self::default();
        *one.of_mut(class) = 1;
        one
    }

    pub const fn of(&self, class: RateClass) -> u32 {
        match class {
            RateClass::Read => self.reads,
            RateClass::Write => self.writes,
            RateClass::Creation => self.creations,
        }
    }

    const fn of_mut(&mut self, class: RateClass) -> &mut u32 {
        match class {
            RateClass::Read => &mut self.reads,
            RateClass::Write => &mut self.writes,
            RateClass::Creation => &mut self.creations,
        }
    }

    #[must_use]
    pub fn plus(mut self, other: Self) -> Self {
        for class in RateClass::ALL {
            *self.of_mut(class) = self.of(class).saturating_add(other.of(class));
        }
        self
    }

    fn is_zero(&self) -> bool {
        *self == Self::default()
    }
}

/// The requests that this process has seen lately, and what it knows of others.
pub(super) struct Rates {
    window: Duration,
    /// What a user may ask for in a window; 0 for no limit.
    per_user: PerClass,
    /// The same for an address.
    per_address: PerClass,
    users: Cache<String, Arc<Asker>>,
    addresses: Cache<IpAddr, Arc<Asker>>,
    /// Of whom the other instances are to hear.
    to_share: Mutex<Vec<Arc<Asker>>>,
    redis: Redis,
}

struct Asker {
    id: RateAsker,
    allowed: PerClass,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    counts: Counts,
    /// Whether it waits in `to_share`.
    is_queued: bool,
}

impl Rates {
    pub fn new(settings: &RateSettings, redis: Redis) -> Self {
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
            addresses: cache(settings.rate_window),
            to_share: Mutex::default(),
            redis,
        }
    }

    /// Counts a request, or refuses it; then it does not count.
    fn admit(&self, asking: Asking<'_>, cost: &PerClass) -> DomainResult<()> {
        let user = asking.subject.and_then(|subject| self.user(subject));
        let address = self.address(asking.address);
        let now = Moment::at(now(), self.window);
        // Both are held while both are asked, always in this order.
        let askers: Vec<&Arc<Asker>> = [user.as_ref(), address.as_ref()].into_iter().flatten().collect();
        let mut states: Vec<_> = askers.iter().map(|asker| asker.state.lock()).collect();
        let mut refused = None;
        for (asker, state) in askers.iter().zip(&mut states) {
            state.counts.roll(&now);
            refused = longest(refused, asker.refusal(&state.counts, &now, cost));
        }
        for (asker, state) in askers.iter().zip(&mut states) {
            if refused.is_none() {
                asker.count(state, cost);
            }
            if !state.is_queued && (refused.is_some() || asker.is_worth_telling(&state.counts)) {
                state.is_queued = true;
                self.to_share.lock().push(Arc::clone(asker));
            }
        }
        match refused {
            None => Ok(()),
            Some((class, retry_after)) => {
                limited_total(class).increment(1);
                Err(DomainError::RateLimited { class, retry_after })
            }
        }
    }

    fn user(&self, subject: &str) -> Option<Arc<Asker>> {
        let allowed = self.per_user;
        let asker = || Arc::new(Asker::new(&format!("user:{subject}"), allowed));
        (!allowed.is_zero()).then(|| self.users.get_with_by_ref(subject, asker))
    }

    fn address(&self, address: IpAddr) -> Option<Arc<Asker>> {
        let allowed = self.per_address;
        let network = network_of(address);
        let asker = || Arc::new(Asker::new(&format!("address:{network}"), allowed));
        (!allowed.is_zero()).then(|| self.addresses.get_with(network, asker))
    }

    /// Tells the other instances, and hears of them, until `stop`. Redis may be away meanwhile.
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
        let askers = std::mem::take(&mut *self.to_share.lock());
        if askers.is_empty() {
            return;
        }
        let shares: Vec<RateShare> = askers.iter().map(|asker| asker.share()).collect();
        match self.redis.exchange_rates(&shares, 2 * self.window + EXCHANGE).await {
            Ok(totals) => {
                for ((asker, share), totals) in askers.iter().zip(&shares).zip(&totals) {
                    asker.state.lock().counts.take_in(share.window, &share.add, totals);
                }
            }
            // Nothing is lost here. What Redis took of it, if it did, may count twice: for a window.
            Err(error) => tracing::debug!(%error, "cannot share counts of requests"),
        }
    }
}

impl Asker {
    fn new(name: &str, allowed: PerClass) -> Self {
        let digest = Sha256::digest(name.as_bytes());
        let mut id = [0; 16];
        id.copy_from_slice(&digest[..16]);
        Self { id: RateAsker(id), allowed, state: Mutex::default() }
    }

    /// The class of which there would be too many for longest.
    fn refusal(&self, counts: &Counts, now: &Moment, cost: &PerClass) -> Option<Refusal> {
        let refusals = self.limited(cost).map(|(class, cost)| {
            let wait = counts.wait(now, class.index(), self.allowed.of(class).into(), cost.into())?;
            Some((class, wait))
        });
        refusals.fold(None, longest)
    }

    fn count(&self, state: &mut State, cost: &PerClass) {
        for (class, cost) in self.limited(cost) {
            state.counts.add(class.index(), cost.into());
        }
    }

    /// What of a cost there is a limit for.
    fn limited(&self, cost: &PerClass) -> impl Iterator<Item = (RateClass, u32)> {
        let counted = |class: &(RateClass, u32)| class.1 > 0 && self.allowed.of(class.0) > 0;
        RateClass::ALL.map(|class| (class, cost.of(class))).into_iter().filter(counted)
    }

    fn is_worth_telling(&self, counts: &Counts) -> bool {
        let (_, unshared) = counts.unshared();
        let is_much = |class: RateClass| {
            let count = unshared[class.index()];
            count > 0 && count * SHARED_FROM >= self.allowed.of(class).into()
        };
        RateClass::ALL.into_iter().any(is_much)
    }

    fn share(&self) -> RateShare {
        let mut state = self.state.lock();
        state.is_queued = false;
        let (window, add) = state.counts.unshared();
        RateShare { asker: self.id, window, add }
    }
}

/// What there is too much of, and how long.
type Refusal = (RateClass, Duration);

/// Whoever comes back must not be refused for the other reason then.
fn longest(one: Option<Refusal>, other: Option<Refusal>) -> Option<Refusal> {
    one.into_iter().chain(other).max_by_key(|(_, wait)| *wait)
}

impl super::Plaudit {
    /// Whether this may be asked for now. Counts it, if so.
    ///
    /// # Errors
    /// [`DomainError::RateLimited`]; nothing was done or counted.
    pub fn admit(&self, asking: Asking<'_>, cost: &PerClass) -> DomainResult<()> {
        self.inner.rates.admit(asking, cost)
    }
}

/// Two windows after somebody's last request nothing of it counts.
fn cache<K: std::hash::Hash + Eq + Send + Sync + 'static>(window: Duration) -> Cache<K, Arc<Asker>> {
    let builder = Cache::builder().max_capacity(MOST_ASKERS).time_to_idle(2 * window);
    builder.eviction_policy(EvictionPolicy::lru()).build()
}

fn limited_total(class: RateClass) -> metrics::Counter {
    metrics::counter!("plaudit_rate_limited_total", "class" => class.name())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::primitives::ShardCount;

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
        Rates::new(&settings, redis)
    }

    fn ask(rates: &Rates, subject: Option<&str>, address: &str, class: RateClass) -> Option<RateClass> {
        let asking = Asking { subject, address: address.parse().unwrap() };
        match rates.admit(asking, &PerClass::one(class)) {
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
        // What was refused counts for nobody.
        assert_eq!([0; 3].map(|_| ask(&rates, Some("bob"), two, Read)), [None, None, Some(Read)]);
        assert_eq!([0; 2].map(|_| ask(&rates, Some("ann"), two, Write)), [None, Some(Write)]);
        assert_eq!([0; 9].map(|_| ask(&rates, Some("ann"), two, Creation)), [None; 9]);
    }

    #[tokio::test]
    async fn a_network_of_version_6_is_one_asker() {
        let rates = rates(PerClass::default(), PerClass::one(RateClass::Read));
        assert_eq!(ask(&rates, None, "2001:db8::1", RateClass::Read), None);
        assert_eq!(ask(&rates, None, "2001:db8::2", RateClass::Read), Some(RateClass::Read));
        assert_eq!(ask(&rates, None, "2001:db8:0:1::1", RateClass::Read), None);
        assert_eq!(ask(&rates, None, "::ffff:192.0.2.1", RateClass::Read), None);
        assert_eq!(ask(&rates, None, "192.0.2.1", RateClass::Read), Some(RateClass::Read));
    }

    #[tokio::test]
    async fn only_who_asks_for_much_is_told_of_and_the_list_has_each_once() {
        let rates = rates(PerClass { reads: 200, ..PerClass::default() }, PerClass::default());
        let ask = |times: usize| {
            for _ in 0..times {
                assert_eq!(super::tests::ask(&rates, Some("ann"), "192.0.2.1", RateClass::Read), None);
            }
            rates.to_share.lock().len()
        };
        assert_eq!((ask(3), ask(1), ask(50)), (0, 1, 1));
        // Redis is away: what was not told is told the next time, and counts meanwhile.
        rates.exchange().await;
        assert_eq!(rates.to_share.lock().len(), 0);
        let told = || rates.users.get("ann").unwrap().share().add;
        assert_eq!(told(), [54, 0, 0]);
    }
}
