//! The checker finds a planted bug of each class, and nothing in histories of a server that keeps its promises.

#![expect(clippy::unwrap_used, reason = "a panic fails the test, as it should")]

mod by_hand;
mod correct;
mod planted;
mod simulation;
