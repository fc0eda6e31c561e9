//! When things happened: sixty days that end now.

use rand::{Rng, RngExt};

use crate::catalogue::UnixMillis;

const LENGTH: UnixMillis = 60 * 24 * 60 * 60 * 1_000;

/// The share of the time that passes before the second user joins, so that somebody can write first.
const PRELUDE: f64 = 0.01;

/// The time that the demo data covers.
#[derive(Clone, Copy)]
pub(super) struct History {
    now: UnixMillis,
}

impl History {
    pub const fn ending(now: UnixMillis) -> Self {
        Self { now }
    }

    pub const fn start(self) -> UnixMillis {
        self.now - LENGTH
    }

    /// Moments in rising order. The higher the exponent, the more of them are early; 1 spreads them evenly.
    pub fn rising(self, rng: &mut impl Rng, count: usize, exponent: f64) -> Vec<UnixMillis> {
        let mut moments: Vec<_> = (0..count)
            .map(|_| {
                let passed = PRELUDE + (1.0 - PRELUDE) * rng.random::<f64>().powf(exponent);
                self.start() + (LENGTH as f64 * passed) as UnixMillis
            })
            .collect();
        moments.sort_unstable();
        moments
    }

    /// A moment after `earliest`, most likely soon.
    pub fn soon_after(self, rng: &mut impl Rng, earliest: UnixMillis) -> UnixMillis {
        earliest + ((self.now - earliest) as f64 * rng.random::<f64>().powi(3)) as UnixMillis
    }

    /// From 0 for the oldest moment to 1 for now.
    pub fn newness(self, moment: UnixMillis) -> f64 {
        (moment - self.start()) as f64 / LENGTH as f64
    }
}
