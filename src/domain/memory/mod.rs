//! What a process remembers beside entities and rates: users by subject, ids by key, sets that were renewed, rankings,
//! views that are not appended, signals.

pub mod accounts;
pub mod app_keys;
pub mod memberships;
pub mod rankings;
pub mod signals;
pub mod token_profiles;
pub mod view_window;
pub mod views;
