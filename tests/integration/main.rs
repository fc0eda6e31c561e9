//! Integration tests: users' actions over HTTP and WebSocket against the real program, Redis and PostgreSQL.

#![expect(clippy::unwrap_used, reason = "a panic fails the test, as it should")]

mod carried;
mod cluster_script;
mod demo_data;
mod domain {
    mod content {
        mod absence;
        mod activity;
        mod app_keys;
        mod comments;
        mod editing;
        mod feed;
        mod group_moderation;
        mod group_removal;
        mod hottest_notes;
        mod notes;
        mod old_times;
        mod rankings;
        mod search;
        mod upserts;
        mod upserts_cut_off;
        mod view_window;
        mod views;
    }
    mod edges {
        mod concurrency;
        mod durability;
        mod every_edge;
        mod follows;
        mod likes;
        mod lists;
        mod membership;
        mod never_negative;
    }
    mod moderation;
    mod people {
        mod coins;
        pub mod erasure;
        mod erasure_late;
        mod hiding;
        mod inbox;
        mod inbox_entries;
        mod inbox_lasting;
        mod inbox_owner;
        mod private_subjects;
        mod suspension;
        mod viewer;
        mod visibility;
    }
    mod plans;
    mod reports;
    mod stream {
        mod event_subscription;
        mod events;
        mod retention;
    }
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
    mod id_arguments;
    mod list_changes;
    mod live;
    mod plans;
    pub mod rights;
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
mod otlp;
mod packages;
mod pipeline {
    mod backlog;
    mod crashes;
    mod dead;
    mod explain;
    mod lasting_outages;
    mod mismatches;
    mod nodes {
        mod balancer;
        mod cluster;
        mod cluster_waits;
        mod failback;
        mod failover;
        mod handovers;
        mod sentinel;
        mod slots;
    }
    mod outages;
    mod overwritten;
    mod races;
    mod reconcile;
    mod recovery;
    mod resharding;
    mod shards;
    mod sharing;
    mod shutdown;
    mod storm;
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
