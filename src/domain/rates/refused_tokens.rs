//! Tokens that were refused: each costs its address a part of a unit.

use super::window::WindowMoment;

/// Tokens that are refused for one unit.
const PER_UNIT: u32 = 10;

/// The refused tokens of one address.
#[derive(Default)]
pub struct RefusedTokens {
    /// The window of the latest.
    window: u64,
    /// Those that are not charged yet.
    uncharged: u32,
}

impl RefusedTokens {
    /// Adds one. Returns the units to charge.
    pub fn add(&mut self, now: &WindowMoment) -> u32 {
        self.window = now.window;
        self.uncharged += 1;
        let units = self.uncharged / PER_UNIT;
        self.uncharged %= PER_UNIT;
        units
    }

    /// Whether there was one in this window or in the one before.
    pub const fn are_recent(&self, now: &WindowMoment) -> bool {
        self.window + 1 >= now.window
    }
}
