use tokio::time::Instant;

use super::*;
use plaudit_catalogue::{primitives::ShardCount, settings::RateSettings};

fn settings(user: PerClass, address: PerClass) -> RateSettings {
    RateSettings {
        rate_window: Duration::from_hours(1),
        rate_user_reads: user.0[0],
        rate_user_writes: user.0[1],
        rate_user_creations: user.0[2],
        rate_address_reads: address.0[0],
        rate_address_writes: address.0[1],
        rate_address_creations: address.0[2],
    }
}

fn rates(user: PerClass, address: PerClass) -> Rates {
    rates_of(Payers::new(&settings(user, address), 1 << 20))
}

fn rates_of(payers: Payers) -> Rates {
    Rates::new(payers, Redis::new("redis://127.0.0.1:1", ShardCount::new(2).unwrap()).unwrap())
}

fn reads(reads: u32) -> PerClass {
    PerClass::of_reads(reads)
}

fn payer(payers: &Payers, subject: Option<&str>, address: &str) -> Arc<Payer> {
    Arc::new(payers.payer(Some(Requester { subject, address: Some(address.parse().unwrap()) })))
}

fn ask(rates: &Rates, subject: Option<&str>, address: &str, class: RateClass) -> Option<RateClass> {
    match rates.admit(&payer(rates.payers(), subject, address), &PerClass::one(class)) {
        Err(DomainError::RateLimited { class, retry_after }) => {
            assert!(retry_after > Duration::ZERO && retry_after <= Duration::from_hours(2));
            Some(class)
        }
        _ => None,
    }
}

#[tokio::test]
async fn each_user_each_address_and_each_class_has_a_limit_of_its_own() {
    let rates = rates(PerClass([2, 1, 0]), PerClass([4, 1, 0]));
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
    let rates = rates(PerClass::default(), reads(2));
    let ask = |host: u16| ask(&rates, None, &format!("2001:db8:1:{host:x}::1"), RateClass::Read);
    for host in 0..10 {
        assert_eq!([ask(host), ask(host), ask(host)], [None, None, Some(RateClass::Read)]);
    }
    assert_eq!(ask(10), Some(RateClass::Read), "20 of the site");
    assert_eq!(super::tests::ask(&rates, None, "2001:db8:2::1", RateClass::Read), None);
}

#[tokio::test]
async fn who_is_limited_is_remembered_however_many_others_come() {
    let limited = (Some(RateClass::Read), Some(RateClass::Read));
    let rates = rates_of(Payers::bounded(&settings(reads(3), reads(3)), 1 << 20, 2_000));
    let asks = || {
        let by_name = ask(&rates, Some("ann"), "198.51.100.1", RateClass::Read);
        (by_name, ask(&rates, None, "2001:db8:1::1", RateClass::Read))
    };
    for _ in 0..3 {
        assert_eq!(asks(), (None, None));
    }
    assert_eq!(asks(), limited);
    for n in 0..20_000_u32 {
        let address = std::net::Ipv4Addr::from(n).to_string();
        assert_eq!(ask(&rates, Some(&n.to_string()), &address, RateClass::Read), None);
        if n % 500 == 0 {
            // What waits for an exchange is remembered until then.
            rates.exchange().await;
        }
    }
    assert_eq!(asks(), limited);
    let remembered = rates.payers().busiest(usize::MAX).len();
    assert!((1_000..=2 * 2_200).contains(&remembered), "{remembered} users and addresses");
}

#[tokio::test]
async fn who_holds_something_is_remembered_and_who_has_nothing_left_is_not() {
    let most = Most { in_all: 9, of_one: 1 };
    let payers = Payers::bounded(&settings(PerClass::default(), reads(100)), 1 << 20, 160);
    let connect = || Arc::new(payers.payer_of_address(Some("192.0.2.1".parse().unwrap())));
    let mut held = connect().take(Holding::Sockets, 1, most).unwrap();
    for n in 0..5_000_u32 {
        payer(&payers, None, &std::net::Ipv4Addr::from(n).to_string());
    }
    let full = Full::OfNetwork("192.0.2.1/32".parse().unwrap(), 1);
    assert_eq!(connect().take(Holding::Sockets, 1, most).err(), Some(full));
    assert!(payers.number() <= 2_000, "of 5,000 that asked nothing");
    // A socket that counts only in all.
    held.leave_accounts();
    let others: Vec<_> = (0..9)
        .map_while(|_| {
            let mut held = connect().take(Holding::Sockets, 1, most).ok()?;
            held.leave_accounts();
            Some(held)
        })
        .collect();
    assert_eq!(others.len(), 8);
    assert_eq!(connect().take(Holding::Sockets, 1, most).err(), Some(Full::InAll));
    drop(held);
    assert!(connect().take(Holding::Sockets, 1, most).is_ok());
}

#[tokio::test]
async fn refused_tokens_are_charged_in_tenths_and_spend_the_rate_of_their_address() {
    let rates = rates(reads(9), reads(3));
    let [attacker, other] = ["192.0.2.1", "192.0.2.2"].map(|address| payer(rates.payers(), None, address));
    let refuse = |times: usize| (0..times).for_each(|_| rates.charge_refused_token(&attacker));
    refuse(29);
    assert!(rates.admit_token(&attacker, || false).is_ok());
    assert_eq!(ask(&rates, None, "192.0.2.1", RateClass::Read), None, "two units of three are spent");
    assert!(rates.admit_token(&attacker, || false).is_err());
    assert!(rates.admit_token(&attacker, || true).is_ok(), "a token that was verified before");
    assert_eq!(ask(&rates, Some("ann"), "192.0.2.1", RateClass::Read), Some(RateClass::Read));
    // An address that has only read too much has its tokens examined: a token of a service has no limits.
    assert_eq!([0; 3].map(|_| ask(&rates, None, "192.0.2.2", RateClass::Read)), [None; 3]);
    assert_eq!(ask(&rates, None, "192.0.2.2", RateClass::Read), Some(RateClass::Read));
    assert!(rates.admit_token(&other, || false).is_ok());
}

#[tokio::test]
async fn the_busiest_are_those_nearest_to_a_limit_and_have_no_names() {
    let rates = rates(PerClass([100, 10, 0]), reads(1_000));
    let address: &str = "192.0.2.1";
    for (subject, class, times) in
        [("ann", RateClass::Read, 30), ("bob", RateClass::Write, 4), ("cleo", RateClass::Read, 1)]
    {
        for _ in 0..times {
            assert_eq!(ask(&rates, Some(subject), address, class), None);
        }
    }
    let top = rates.payers().busiest(2);
    let shown: Vec<_> =
        top.iter().map(|account| (account.kind, account.used.0[0], account.used.0[1])).collect();
    assert_eq!(shown, [("user", 0, 4), ("user", 30, 0)]);
    assert!(top.iter().all(|account| account.name.len() == 6 && account.name != top[0].kind), "{top:?}");
    assert_eq!(rates.payers().busiest(9).len(), 3, "and the address");
}

#[tokio::test]
async fn only_large_counts_are_shared_and_each_is_queued_once() {
    let rates = rates(reads(200), PerClass::default());
    let ask = |times: usize| {
        for _ in 0..times {
            assert_eq!(super::tests::ask(&rates, Some("ann"), "192.0.2.1", RateClass::Read), None);
        }
        rates.to_share.lock().len()
    };
    assert_eq!((ask(3), ask(1), ask(50)), (0, 1, 1));
    let queued = Arc::clone(&rates.to_share.lock()[0]);
    // Redis is unavailable: the counts are shared by the next exchange, and count meanwhile.
    rates.exchange().await;
    assert_eq!(rates.to_share.lock().len(), 0);
    assert_eq!(queued.share().add, [54, 0, 0]);
}

/// A user may read 60 times a second, an address 600 times.
fn pushes() -> Payers {
    let settings = RateSettings {
        rate_window: Duration::from_mins(1),
        rate_user_reads: 3_600,
        rate_address_reads: 36_000,
        ..RateSettings::unlimited()
    };
    Payers::new(&settings, 3_200)
}

fn watcher(payers: &Payers, subject: &str) -> Arc<Payer> {
    payer(payers, Some(subject), "192.0.2.1")
}

#[test]
fn a_subscription_that_costs_much_is_slowed_before_others_of_the_same_user() {
    let (pushes, now) = (pushes(), Instant::now());
    let mine = watcher(&pushes, "ann");
    let millis = |cost, now| mine.pay(Cost(cost), now).as_millis();
    // A fifth of 60 units a second: 12, so 10 thousandths of a unit take a millisecond, rounded.
    assert_eq!((millis(120, now), millis(12_000, now)), (9, 999));
    assert_eq!(millis(120, now), 9, "the cheap one is not slowed");
    // More than 5 s in advance.
    assert!(millis(600_000, now) >= 49_000);
    let waited = watcher(&pushes, "ann").pay(Cost(0), now).as_millis();
    assert!((5_000..6_000).contains(&waited), "{waited} ms, also for another subscription");
    assert_eq!(millis(0, now + Duration::from_secs(20)), 0);
}

#[test]
fn users_do_not_pay_for_each_other_and_without_a_limit_nobody_pays() {
    let (pushes, now) = (pushes(), Instant::now());
    assert!(watcher(&pushes, "ann").pay(Cost(600_000), now) > Duration::from_secs(5));
    assert_eq!(watcher(&pushes, "bob").pay(Cost(0), now), Duration::ZERO);
    let unlimited = Payers::new(&RateSettings::unlimited(), 3_200);
    assert_eq!(watcher(&unlimited, "ann").pay(Cost(u64::MAX), now), Duration::ZERO);
}

#[test]
fn memory_counts_for_the_user_and_the_address_also_after_the_subscription() {
    let pushes = pushes();
    let kept = watcher(&pushes, "ann").keep(60).unwrap();
    assert!(watcher(&pushes, "ann").keep(60).is_none(), "100 bytes each");
    assert!(watcher(&pushes, "bob").keep(60).is_none(), "of the same address");
    assert!(Arc::new(pushes.payer(None)).keep(600).is_some(), "a service has only the limit of all");
    drop(kept);
    assert!(watcher(&pushes, "bob").keep(60).is_some());
}

#[test]
fn bytes_count_for_all_accounts_or_for_none_and_until_they_are_dropped() {
    let payers = Payers::new(&settings(reads(9), PerClass::default()), 320);
    let [ann, bob] = ["ann", "bob"].map(|subject| watcher(&payers, subject));
    let nobody = Arc::new(payers.payer(None));
    let kept = ann.keep(10).unwrap();
    assert!(ann.keep(1).is_none(), "a thirty-second of all");
    let most: Vec<_> = (0..99).map_while(|_| nobody.keep(10)).collect();
    assert_eq!(most.len(), 31);
    assert!(bob.keep(1).is_none(), "all is full");
    drop(kept);
    assert!(bob.keep(10).is_some());
    drop(most);
    assert!(nobody.keep(320).is_some(), "all was given back");
    assert!(ann.keep(usize::MAX).is_none());
}

#[test]
fn an_ipv6_site_has_ten_times_the_memory_and_the_rate_of_an_address() {
    let (pushes, now) = (pushes(), Instant::now());
    let of_host = |host: u16| payer(&pushes, None, &format!("2001:db8:1:{host:x}::1"));
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
    watcher(&pushes, "kept").pay(Cost(600_000), Instant::now());
    for n in 0..5_000 {
        watcher(&pushes, &n.to_string());
    }
    assert!(pushes.number() <= 2_000);
    assert!(watcher(&pushes, "kept").pay(Cost(0), Instant::now()) > Duration::ZERO);
}

fn hold(payers: &Payers, address: &str, most: Most) -> Result<Held, Full> {
    Arc::new(payers.payer_of_address(Some(address.parse().unwrap()))).take(Holding::Connections, 1, most)
}

#[test]
fn connections_are_limited_per_network_and_in_all_and_closed_ones_do_not_count() {
    let most = Most { in_all: 3, of_one: 2 };
    let payers = Payers::new(&RateSettings::unlimited(), 0);
    let [a, b, c] = ["10.0.0.1", "10.0.0.2", "10.0.0.3"].map(|address| || hold(&payers, address, most));
    for _ in 0..2 {
        let [one, two] = [a().unwrap(), a().unwrap()];
        let of_a = Some(Full::OfNetwork("10.0.0.1/32".parse().unwrap(), 2));
        assert_eq!(a().err(), of_a);
        let three = b().unwrap();
        assert_eq!(c().err(), Some(Full::InAll));
        assert_eq!(a().err(), of_a, "also if no more may be open in all");
        drop(one);
        let four = c().unwrap();
        drop((two, three, four));
    }
}

#[test]
fn the_owner_of_an_ipv6_site_has_ten_times_the_limit_of_an_address() {
    let most = Most { in_all: 1_000, of_one: 2 };
    let payers = Payers::new(&RateSettings::unlimited(), 0);
    let of_site = |host: u16| hold(&payers, &format!("2001:db8:1:{host:x}::1"), most);
    let mut open: Vec<_> =
        (0..10).flat_map(|host| [of_site(host).unwrap(), of_site(host).unwrap()]).collect();
    let full = Full::OfNetwork("2001:db8:1::/48".parse().unwrap(), 20);
    assert_eq!(of_site(10).err(), Some(full));
    assert!(hold(&payers, "2001:db8:2::1", most).is_ok());
    open.remove(3);
    assert!(of_site(10).is_ok());
}
