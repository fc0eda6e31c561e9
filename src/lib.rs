pub mod catalogue;
pub mod event_log;
pub mod primitives;
pub mod store;
