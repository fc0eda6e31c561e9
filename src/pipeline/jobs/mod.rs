//! Jobs beside the counting. Of each shard:
//!
//! - [`invalidations`]: Redis forgets what PostgreSQL has changed;
//! - [`backfill`]: recounts, page by page, what a removal or a hiding left behind;
//! - [`rankings`]: begins the heat of notes, and rebuilds it after a loss;
//! - [`lag`]: measures how far fold and persister are behind the log.
//!
//! Singleton jobs, which only the owner of shard 0 runs for the whole installation:
//!
//! - [`moderation`]: has waiting comments judged;
//! - [`reconcile`]: recounts samples, and each night everything;
//! - [`housekeeping`]: drops old history, keys and records;
//! - [`waiting`]: counts what waits for a decision.
//!
//! [`announcements`] wakes jobs when PostgreSQL announces work for them.

pub mod announcements;
pub mod backfill;
pub mod housekeeping;
pub mod invalidations;
pub mod lag;
pub mod moderation;
pub mod rankings;
pub mod reconcile;
pub mod waiting;
