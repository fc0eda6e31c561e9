//! Coin ledger of a few users; each balance is the sum of its lines.

use rand::{Rng, RngExt};

use super::{
    deck::Deck,
    library::COIN_REASONS,
    people::Person,
    timeline::{EpochMillis, Timeline},
};

/// The share of users who have, or had, coins. The first user is one of them.
const OWNERS: f64 = 0.04;

/// The share of ledger lines that spend coins, where there are enough.
const SPENT: f64 = 0.35;

/// The lowest and the highest price.
const PRICES: (i64, i64) = (5, 60);

/// A line of the ledger. The user is a position.
#[derive(Clone, PartialEq, Debug)]
pub struct LedgerLine {
    pub user: usize,
    /// Negative when coins are spent.
    pub amount: i64,
    pub balance_after: i64,
    pub reason: &'static str,
    pub at: EpochMillis,
}

/// All lines, in order of time.
pub fn ledger(rng: &mut impl Rng, people: &[Person], timeline: Timeline) -> Vec<LedgerLine> {
    let (mut gifts, mut purchases) = (Deck::new(&COIN_REASONS.gifts), Deck::new(&COIN_REASONS.purchases));
    let mut ledger = Vec::new();
    for (user, person) in people.iter().enumerate() {
        if user > 0 && (person.activity == 0.0 || !rng.random_bool(OWNERS)) {
            continue;
        }
        let mut balance_after = 0;
        for at in moments(rng, person, timeline) {
            let spends = balance_after >= PRICES.0 && rng.random_bool(SPENT);
            let amount = if spends { -price(rng, balance_after) } else { 10 * rng.random_range(1..=10) };
            balance_after += amount;
            let reason = if spends { &mut purchases } else { &mut gifts }.deal(rng, |_| true);
            ledger.push(LedgerLine { user, amount, balance_after, reason, at });
        }
    }
    ledger.sort_by_key(|grant| grant.at);
    ledger
}

fn moments(rng: &mut impl Rng, person: &Person, timeline: Timeline) -> Vec<EpochMillis> {
    let count = rng.random_range(2..=7);
    let mut moments: Vec<_> = (0..count).map(|_| timeline.reaction_to(rng, person.joined_at)).collect();
    moments.sort_unstable();
    moments
}

/// A price that this balance can pay.
fn price(rng: &mut impl Rng, balance: i64) -> i64 {
    rng.random_range(PRICES.0..=balance.min(PRICES.1))
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use rand::{SeedableRng, rngs::StdRng};

    use super::*;
    use crate::people::people;

    #[test]
    fn a_few_users_have_coins_and_every_balance_is_the_sum_of_its_lines() {
        let (rng, timeline) = (&mut StdRng::seed_from_u64(1), Timeline::ending(1_800_000_000_000));
        let people = people(rng, 1_000, timeline);
        let ledger = ledger(rng, &people, timeline);
        let mut balances = HashMap::new();
        for grant in &ledger {
            let balance = balances.entry(grant.user).or_insert(0);
            *balance += grant.amount;
            assert!(grant.amount != 0 && *balance >= 0 && *balance == grant.balance_after);
            assert!(!grant.reason.is_empty() && grant.at >= people[grant.user].joined_at);
        }
        assert!(balances.contains_key(&0) && (10..100).contains(&balances.len()), "{}", balances.len());
        assert!(ledger.is_sorted_by_key(|grant| grant.at) && ledger.iter().any(|grant| grant.amount < 0));
    }
}
