//! Skewed random draws (Zipf's law).

use rand::{Rng, RngExt, seq::SliceRandom};
use rand_distr::weighted::WeightedAliasIndex;

/// Offset of the ranks, which makes the first ones about equal; without it the first would get far too much.
const SUMMIT: f64 = 8.0;

/// A weight for each of `count` items, by Zipf's law over a random order of them. The higher the exponent,
/// the more unequal the weights.
pub fn zipf(rng: &mut impl Rng, count: usize, exponent: f64) -> Vec<f64> {
    let mut weights: Vec<f64> = (0..count).map(|rank| (rank as f64 + SUMMIT).powf(-exponent)).collect();
    weights.shuffle(rng);
    weights
}

/// Draws positions by weight.
pub struct Chances(Option<WeightedAliasIndex<f64>>);

impl Chances {
    pub fn new(weights: impl IntoIterator<Item = f64>) -> Self {
        Self(WeightedAliasIndex::new(weights.into_iter().collect()).ok())
    }

    /// `None` if there are no items, or none with a weight.
    pub fn draw(&self, rng: &mut impl Rng) -> Option<usize> {
        self.0.as_ref().map(|index| rng.sample(index))
    }
}

#[cfg(test)]
mod tests {
    use rand::{SeedableRng, rngs::StdRng};

    use super::*;

    #[test]
    fn items_without_weight_are_never_drawn() {
        let mut rng = StdRng::seed_from_u64(1);
        let chances = Chances::new([0.0, 1.0, 0.0]);
        assert!((0..100).all(|_| chances.draw(&mut rng) == Some(1)));
        assert_eq!(Chances::new([]).draw(&mut rng), None);
        assert_eq!(Chances::new([0.0]).draw(&mut rng), None);
    }

    #[test]
    fn the_best_tenth_has_more_than_its_share() {
        let mut weights = zipf(&mut StdRng::seed_from_u64(1), 1_000, 0.8);
        weights.sort_by(|a, b| b.total_cmp(a));
        assert!(weights[..100].iter().sum::<f64>() > 0.4 * weights.iter().sum::<f64>());
    }
}
