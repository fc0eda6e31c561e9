//! Beside the service: an app's past is imported, and demo data is written.

pub mod import;
pub mod seed;
