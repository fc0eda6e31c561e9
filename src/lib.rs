pub mod catalogue;
pub mod domain;
pub mod embedded;
pub mod event_log;
pub mod hub;
pub mod pipeline;
pub mod primitives;
pub mod store;
