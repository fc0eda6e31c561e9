//! Users: their accounts, profiles, inboxes and coins, and who is suspended, hidden or erased.

pub mod accounts;
pub mod coins;
pub mod erasure;
pub mod inbox;
pub mod profiles;
pub mod suspension;
pub mod visibility;
