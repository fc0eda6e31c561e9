//! Card deck: random draws of texts without visible repetition.

use std::collections::VecDeque;

use rand::{Rng, RngExt};

/// Draws a card from the front half and puts it at the back, so that it is not repeated soon.
pub struct Deck(VecDeque<&'static str>);

impl Deck {
    pub fn new(cards: &'static [String]) -> Self {
        Self(cards.iter().map(String::as_str).collect())
    }

    /// Draws a card that fits, or any card if none fits; from an empty deck, an empty text.
    pub fn deal(&mut self, rng: &mut impl Rng, fits: impl Fn(&str) -> bool) -> &'static str {
        let mut places: Vec<usize> = (0..self.0.len()).filter(|place| fits(self.0[*place])).collect();
        if places.is_empty() {
            places = (0..self.0.len()).collect();
        }
        let place = places.get(rng.random_range(0..=places.len() / 2));
        let card = place.and_then(|place| self.0.remove(*place));
        self.0.extend(card);
        card.unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use std::{collections::HashSet, sync::LazyLock};

    use rand::{SeedableRng, rngs::StdRng};

    use super::*;

    static CARDS: LazyLock<Vec<String>> = LazyLock::new(|| (0..20).map(|n| n.to_string()).collect());

    #[test]
    fn a_card_is_not_repeated_soon() {
        let mut rng = StdRng::seed_from_u64(1);
        let mut deck = Deck::new(&CARDS);
        let dealt: Vec<_> = (0..1_000).map(|_| deck.deal(&mut rng, |_| true)).collect();
        for neighbours in dealt.windows(9) {
            assert_eq!(neighbours.iter().collect::<HashSet<_>>().len(), neighbours.len());
        }
    }

    #[test]
    fn a_card_that_fits_is_preferred() {
        let (mut rng, mut deck) = (StdRng::seed_from_u64(1), Deck::new(&CARDS));
        assert!((0..100).all(|_| ["7", "17"].contains(&deck.deal(&mut rng, |card| card.ends_with('7')))));
        assert!(CARDS.contains(&deck.deal(&mut rng, |_| false).to_owned()));
        assert_eq!(Deck::new(&[]).deal(&mut rng, |_| true), "");
    }
}
