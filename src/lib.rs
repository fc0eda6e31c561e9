pub mod catalogue;
pub mod domain;
pub mod event_log;
pub mod hub;
pub mod primitives;
pub mod store;
