//! Users, what only concerns them, and what hiding and erasing one changes.

pub mod coins;
pub mod erasure;
pub mod export;
pub mod hiding;
pub mod users;
