//! Plaudit counts what people do in a social app and shows the counts live.
//!
//! Each crate uses only those below it, as Cargo ensures; a folder of `src` with a `Cargo.toml` is a crate.
//!
//! | crate | what it is |
//! |---|---|
//! | this one | [`cli`]: commands; [`app`]: puts the parts together; [`http`]: router, transports, pages, health |
//! | [`plaudit_tools`] | import of an app's past, demo data |
//! | [`plaudit_graphql`] | schema, plans, live subscriptions |
//! | [`plaudit_domain`] | the rules: functions of a module for each subject, which take [`plaudit_domain::Plaudit`] |
//! | [`plaudit_counting`] | from the log to counters and rows; live counts of this instance; recounts and repairs |
//! | [`plaudit_store`] | Redis and PostgreSQL: a function for each script and statement |
//! | [`plaudit_catalogue`] | entities, counters and edges; ids, offsets, shards; events of the log; settings |
//!
//! Crates of `crates/` know none of these: [`plaudit_token_auth`], [`plaudit_moderation`] (automatic moderators),
//! [`plaudit_embedded_stores`] (private servers), [`plaudit_demo_data`], [`plaudit_storm`] (simulated users).
//!
//! The way of a like:
//!
//! ```text
//! graphql/mutations/likes.rs → domain/edges/likes.rs → domain/edges/switch.rs
//!                            → store/redis/members/flip.rs → lua/flip_edge.lua    accepted
//! counting/pipeline/fold/ → store/redis/log/batches.rs → lua/fold.lua             counted in Redis, pushed
//! counting/pipeline/persist/write.rs → store/sql/counting/                        counted in PostgreSQL
//! counting/hub/view/ → graphql/live/ → http/socket/                               seen
//! ```
//!
//! One line of `src/catalogue/edges.rs` defines the counters that a like moves.

pub mod app;
pub mod cli;
#[doc(hidden)]
pub mod fuzzing;
pub mod http;
