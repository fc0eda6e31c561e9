//! Draws without visible repeats.

use std::collections::VecDeque;

use rand::{Rng, RngExt};

/// Deals from the front half and puts what it dealt at the back: no card comes again before half of the
/// others were dealt.
pub(super) struct Deck(VecDeque<&'static str>);

impl Deck {
    pub fn new(cards: &'static [String]) -> Self {
        Self(cards.iter().map(String::as_str).collect())
    }

    /// An empty deck deals empty text.
    pub fn deal(&mut self, rng: &mut impl Rng) -> &'static str {
        let position = rng.random_range(0..=self.0.len() / 2);
        let card = self.0.remove(position).unwrap_or_default();
        self.0.push_back(card);
        card
    }
}

#[cfg(test)]
mod tests {
    use std::{collections::HashSet, sync::LazyLock};

    use rand::{SeedableRng, rngs::StdRng};

    use super::*;

    static CARDS: LazyLock<Vec<String>> = LazyLock::new(|| (0..20).map(|n| n.to_string()).collect());

    #[test]
    fn a_card_does_not_come_again_soon() {
        let mut rng = StdRng::seed_from_u64(1);
        let mut deck = Deck::new(&CARDS);
        let dealt: Vec<_> = (0..1_000).map(|_| deck.deal(&mut rng)).collect();
        for neighbours in dealt.windows(9) {
            assert_eq!(neighbours.iter().collect::<HashSet<_>>().len(), neighbours.len());
        }
    }
}
