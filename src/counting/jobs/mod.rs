//! Jobs beside the counting. Of a process, for all shards that it leads:
//!
//! - [`invalidations`]: Redis drops its copies of entities that PostgreSQL changed;
//! - [`backfill`]: recounts rows, page by page, after a removal or a hiding.
//!
//! Of each shard:
//!
//! - [`rankings`]: begins the heat of notes, and rebuilds it after a loss;
//!
//! Singleton jobs, which only the owner of shard 0 runs for the whole installation:
//!
//! - [`hot_notes`]: makes the rankings that all processes show;
//! - [`moderation`]: has waiting comments judged;
//! - [`reconcile`]: compares samples, and each night everything, with PostgreSQL's rows;
//! - [`housekeeping`]: deletes what is older than its retention;
//! - [`rehoming`]: gives work of shards that are no more to owners;
//! - [`waiting`]: counts comments and dead events that wait for a decision;
//! - [`webhook`]: delivers the stream of events.
//!
//! [`announcements`] wakes jobs when PostgreSQL announces work for them.

pub mod announcements;
pub mod backfill;
mod backfill_page;
mod erasing;
mod hiding;
pub mod hot_notes;
pub mod housekeeping;
pub mod invalidations;
pub mod moderation;
pub mod rankings;
pub mod reconcile;
pub mod rehoming;
mod removing;
pub mod waiting;
pub mod webhook;
