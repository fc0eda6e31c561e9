//! Users: their accounts, profiles, inboxes and coins, and who is suspended, hidden or erased.

pub(super) mod accounts;
pub(super) mod coins;
pub(super) mod erasure;
pub(super) mod inbox;
pub(super) mod profiles;
pub(super) mod standings;
pub(super) mod suspension;
pub(super) mod visibility;
