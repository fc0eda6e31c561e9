//! Integration tests: users' actions over HTTP and WebSocket against the real program, Redis and PostgreSQL.

#![expect(clippy::unwrap_used, reason = "a panic fails the test, as it should")]

#[expect(dead_code, reason = "shared helpers; these tests do not need all of them")]
#[path = "../support/mod.rs"]
mod support;

mod carried;
mod cluster_script;
mod demo_data;
mod domain {
    mod absence;
    mod app_keys;
    mod coins;
    mod comments;
    mod concurrency;
    mod durability;
    mod edges;
    mod editing;
    mod erasure;
    mod erasure_late;
    mod event_subscription;
    mod events;
    mod feed;
    mod follows;
    mod group_moderation;
    mod group_removal;
    mod hiding;
    mod history;
    mod hottest_notes;
    mod inbox;
    mod inbox_entries;
    mod inbox_lasting;
    mod inbox_owner;
    mod likes;
    mod lists;
    mod membership;
    mod moderation;
    mod never_negative;
    mod notes;
    mod old_times;
    mod plans;
    mod private_subjects;
    mod rankings;
    mod reports;
    mod retention;
    mod search;
    mod suspension;
    mod upserts;
    mod upserts_cut_off;
    mod view_window;
    mod viewer;
    mod views;
    mod visibility;
}
mod embedded;
mod export;
mod graphql {
    mod access;
    mod answer_size;
    mod bad_input;
    mod comment_changes;
    mod costs;
    mod documents;
    mod fanout;
    mod federation;
    mod fuzz;
    mod id_arguments;
    mod list_changes;
    mod live;
    mod plans;
    mod schema;
    pub mod schema_types;
    mod subscription_memory;
}
mod http {
    mod act_as;
    mod browsers;
    mod configuration;
    mod connections;
    mod dev;
    mod limits;
    mod log;
    mod metrics;
    mod operators;
    mod pages;
    mod providers;
    mod rates;
    mod requests;
    mod roles;
    mod security;
    mod slow_clients;
    mod socket;
    mod socket_limits;
    mod sse;
    mod token_profiles;
    mod tokens;
}
mod ops;
#[cfg(feature = "otlp")]
mod otlp;
mod packages;
mod pipeline {
    mod backlog;
    mod balancer;
    mod cluster;
    mod cluster_waits;
    mod crashes;
    mod dead;
    mod event_order;
    mod explain;
    mod failback;
    mod failover;
    mod handovers;
    mod lasting_outages;
    mod mismatches;
    mod outages;
    mod overflow;
    mod overwritten;
    mod races;
    mod reconcile;
    mod recovery;
    mod resharding;
    mod sentinel;
    mod shards;
    mod sharing;
    mod shutdown;
    mod slots;
    mod storm;
    mod transactions;
    mod waiting;
    mod webhook;
    mod without_redis;
}
mod import;
mod import_guide;
mod reference;
mod stores {
    mod backup;
    mod check;
    mod connections;
    mod full_disk;
    mod one_redis;
    mod pooler;
    mod replica;
    mod schema;
    mod standby;
    mod tls;
    mod unsuitable;
    mod upgrade;
}
