//! Pushes: the events of subscriptions are paid by those who watch, in equal parts. Who has paid too much gets
//! them more slowly; the subscription that costs most is slowed first, and no request is refused for it. Their
//! memory is counted, too.

use std::{collections::HashMap, sync::Arc, time::Duration};

use parking_lot::Mutex;
use tokio::time::Instant;

use super::{
    RequestSource,
    memory::{Kept, Memories, Memory},
    work::Cost,
};
use plaudit_catalogue::{primitives::limited_networks, settings::RateSettings};

/// What one subscription may cost, as a part of what its user or its address may cost.
const PART_OF_ONE: u32 = 5;
/// Events are not slowed before somebody has paid for so long in advance.
const IN_ADVANCE: Duration = Duration::from_secs(5);
/// Nobody pays for longer in advance: events that others can pay for go on.
const MOST_IN_ADVANCE: Duration = Duration::from_mins(1);

/// All who pay for pushes at the moment.
pub struct Pushes {
    window: Duration,
    per_user: u32,
    per_address: u32,
    payers: Mutex<Payers>,
    /// Of all subscriptions.
    memory: Arc<Memory>,
}

#[derive(Default)]
struct Payers {
    by_name: HashMap<String, Arc<Payer>>,
    /// How many there were after those that owe nothing were removed last.
    left: usize,
}

/// A user, an address or an IPv6 site.
struct Payer {
    /// For how long a thousandth of a unit is paid: a unit is a read.
    each: Duration,
    paid_until: Mutex<Instant>,
    /// Of its subscriptions.
    memory: Arc<Memory>,
}

/// Those who pay for one subscription: its user and its address, if their reads are limited.
pub struct PushAccount {
    payers: Vec<Arc<Payer>>,
    memories: Memories,
}

impl Pushes {
    /// `memory`: most bytes of all subscriptions.
    pub fn new(settings: &RateSettings, memory: u64) -> Self {
        Self {
            window: settings.rate_window,
            per_user: settings.rate_user_reads,
            per_address: settings.rate_address_reads,
            payers: Mutex::default(),
            memory: Arc::new(Memory::new(memory)),
        }
    }

    /// The account of a subscription. Subscriptions of the same user and address pay together; those of services pay
    /// nothing.
    pub fn account(&self, source: Option<RequestSource<'_>>) -> PushAccount {
        let user = source.and_then(|source| source.subject);
        let user = user.map(|subject| (format!("user:{subject}"), self.per_user, 1));
        let address = source.and_then(|source| source.address);
        let networks = limited_networks(address)
            .map(|(network, times)| (format!("address:{network}"), self.per_address, times));
        let limited = user.into_iter().chain(networks).filter(|(_, limit, _)| *limit > 0);
        let payers: Vec<Arc<Payer>> =
            limited.map(|(name, limit, times)| self.payer(name, limit, times)).collect();
        let own = payers.iter().map(|payer| Arc::clone(&payer.memory));
        let memories = own.chain([Arc::clone(&self.memory)]).collect();
        PushAccount { payers, memories }
    }

    /// `times`: how many times the limit it has.
    fn payer(&self, name: String, limit: u32, times: u32) -> Arc<Payer> {
        let mut payers = self.payers.lock();
        if let Some(payer) = payers.by_name.get(&name) {
            return Arc::clone(payer);
        }
        let now = Instant::now();
        if payers.by_name.len() > 2 * payers.left + 100 {
            let is_used =
                |payer: &Arc<Payer>| Arc::strong_count(payer) > 1 || Arc::strong_count(&payer.memory) > 1;
            payers.by_name.retain(|_, payer| is_used(payer) || *payer.paid_until.lock() > now);
            payers.left = payers.by_name.len();
        }
        let each = self.window / limit / 1_000 / times;
        let memory = Arc::new(self.memory.part(times));
        let payer = Arc::new(Payer { each, paid_until: Mutex::new(now), memory });
        payers.by_name.insert(name, Arc::clone(&payer));
        payer
    }
}

impl PushAccount {
    /// Pays for an event. Returns how long the subscription should wait until its next one.
    pub fn pay(&self, cost: Cost, now: Instant) -> Duration {
        self.payers.iter().map(|payer| payer.pay(cost, now)).max().unwrap_or_default()
    }

    /// Counts bytes that are kept for the subscription. `None` if they are too many for its user, for its
    /// address or for this process.
    pub fn keep(&self, bytes: usize) -> Option<Kept> {
        Kept::of(&self.memories, bytes)
    }

    /// The most bytes that may be kept for its user or address; `None` if only those of all are limited.
    pub fn memory_of_one(&self) -> Option<u64> {
        self.payers.first().map(|payer| payer.memory.most())
    }
}

impl Payer {
    fn pay(&self, cost: Cost, now: Instant) -> Duration {
        let time = self.each.saturating_mul(u32::try_from(cost.0).unwrap_or(u32::MAX));
        let mut paid_until = self.paid_until.lock();
        *paid_until = ((*paid_until).max(now) + time).min(now + MOST_IN_ADVANCE);
        let in_advance = paid_until.duration_since(now).saturating_sub(IN_ADVANCE);
        in_advance.max(time * PART_OF_ONE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A user may read 60 times a second, an address 600 times.
    fn pushes() -> Pushes {
        let settings = RateSettings {
            rate_window: Duration::from_mins(1),
            rate_user_reads: 3_600,
            rate_address_reads: 36_000,
            ..RateSettings::unlimited()
        };
        Pushes::new(&settings, 3_200)
    }

    fn account(pushes: &Pushes, subject: Option<&str>) -> PushAccount {
        pushes.account(Some(RequestSource { subject, address: Some("192.0.2.1".parse().unwrap()) }))
    }

    #[test]
    fn a_subscription_that_costs_much_is_slowed_before_others_of_the_same_user() {
        let (pushes, now) = (pushes(), Instant::now());
        let mine = account(&pushes, Some("ann"));
        let millis = |cost, now| mine.pay(Cost(cost), now).as_millis();
        // A fifth of 60 units a second: 12, so 10 thousandths of a unit take a millisecond, rounded.
        assert_eq!((millis(120, now), millis(12_000, now)), (9, 999));
        assert_eq!(millis(120, now), 9, "the cheap one is not slowed");
        // More than 5 s in advance.
        assert!(millis(600_000, now) >= 49_000);
        let waited = account(&pushes, Some("ann")).pay(Cost(0), now).as_millis();
        assert!((5_000..6_000).contains(&waited), "{waited} ms, also for another subscription");
        assert_eq!(millis(0, now + Duration::from_secs(20)), 0);
    }

    #[test]
    fn users_do_not_pay_for_each_other_and_without_a_limit_nobody_pays() {
        let (pushes, now) = (pushes(), Instant::now());
        assert!(account(&pushes, Some("ann")).pay(Cost(600_000), now) > Duration::from_secs(5));
        assert_eq!(account(&pushes, Some("bob")).pay(Cost(0), now), Duration::ZERO);
        let unlimited = Pushes::new(&RateSettings::unlimited(), 3_200);
        assert_eq!(account(&unlimited, Some("ann")).pay(Cost(u64::MAX), now), Duration::ZERO);
    }

    #[test]
    fn memory_counts_for_the_user_and_the_address_also_after_the_subscription() {
        let pushes = pushes();
        let kept = account(&pushes, Some("ann")).keep(60).unwrap();
        assert!(account(&pushes, Some("ann")).keep(60).is_none(), "100 bytes each");
        assert!(account(&pushes, Some("bob")).keep(60).is_none(), "of the same address");
        assert!(pushes.account(None).keep(600).is_some(), "a service has only the limit of all");
        drop(kept);
        assert!(account(&pushes, Some("bob")).keep(60).is_some());
    }

    #[test]
    fn an_ipv6_site_has_ten_times_the_memory_and_the_rate_of_an_address() {
        let (pushes, now) = (pushes(), Instant::now());
        let of_host = |host: u16| {
            let address = Some(format!("2001:db8:1:{host:x}::1").parse().unwrap());
            pushes.account(Some(RequestSource { subject: None, address }))
        };
        let kept: Vec<_> = (0..20).map_while(|host| of_host(host).keep(100)).collect();
        assert_eq!(kept.len(), 10);
        // Half a minute in advance for each host is three seconds of the site.
        for host in 0..3 {
            of_host(host).pay(Cost(18_000_000), now);
        }
        assert!(of_host(9).pay(Cost(0), now) > Duration::from_secs(3), "after 9 s in advance");
        assert_eq!(of_host(9).pay(Cost(0), now + Duration::from_secs(9)), Duration::ZERO);
    }

    #[test]
    fn who_watches_nothing_more_is_forgotten_once_all_is_paid() {
        let pushes = pushes();
        let kept = account(&pushes, Some("kept"));
        for n in 0..1_000 {
            account(&pushes, Some(&n.to_string()));
        }
        assert!(pushes.payers.lock().by_name.len() <= 2 * 2 + 101);
        kept.pay(Cost(600_000), Instant::now());
        drop(kept);
        for n in 0..1_000 {
            account(&pushes, Some(&n.to_string()));
        }
        assert!(account(&pushes, Some("kept")).pay(Cost(0), Instant::now()) > Duration::ZERO);
    }
}
