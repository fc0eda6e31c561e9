//! Plaudit counts what people do in a social app and shows the counts live.
//!
//! Each layer uses only those below it (a test checks this):
//!
//! | layer | what it is |
//! |---|---|
//! | [`app`], [`cli`] | the command, putting the parts together |
//! | [`http`] | router, transports, pages, health |
//! | [`graphql`] | schema, plans, live subscriptions |
//! | [`domain`] | the rules: functions of a module for each subject, which take [`domain::Plaudit`] |
//! | [`hub`] | live counts of this instance |
//! | [`reconcile`] | recounts from rows, compares both stores, repairs |
//! | [`pipeline`] | from the log to counters and rows; beside domain and hub, knows neither |
//! | [`store`] | Redis and PostgreSQL: a function for each script and statement |
//! | [`event_log`] | entries of the event log |
//! | [`catalogue`] | entities, counters and edges |
//! | [`settings`] | every setting with its default, read by the layers that it configures |
//! | [`primitives`] | ids, offsets, shards, versions, pages |
//!
//! Also: [`seed`] (writes the demo data) and [`import`] (an app's history). Separate crates, which do not
//! depend on this one: [`plaudit_token_auth`], [`plaudit_moderation`] (automatic moderators),
//! [`plaudit_embedded_stores`] (private servers), [`plaudit_demo_data`], [`plaudit_storm`] (simulated users).
//!
//! The way of a like:
//!
//! ```text
//! graphql/mutations/likes.rs → domain/edges/likes.rs → domain/edges/switch.rs
//!                            → store/redis/members/flip.rs → lua/flip_edge.lua    accepted
//! pipeline/counting/fold/ → store/redis/log/batches.rs → lua/fold.lua             counted in Redis, pushed
//! pipeline/counting/persist/write.rs → store/sql/counting/                        counted in PostgreSQL
//! hub/view/ → graphql/live/ → http/socket/                                        seen
//! ```
//!
//! One line of `src/catalogue/edges.rs` defines the counters that a like moves.

pub mod app;
pub mod catalogue;
pub mod cli;
pub mod domain;
pub mod event_log;
#[doc(hidden)]
pub mod fuzzing;
pub mod graphql;
pub mod http;
pub mod hub;
pub mod import;
pub mod pipeline;
pub mod primitives;
pub mod reconcile;
pub mod seed;
pub mod settings;
pub mod store;
