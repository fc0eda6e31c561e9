//! Rate limits of users and addresses.

use std::time::Duration;

use clap::Args;

use super::values::{duration, whole};

/// The most requests in any `rate_window`, by class, and their cost; 0: no limit. Creations are mutations that make
/// something new.
#[derive(Args, Clone, Copy, PartialEq, Eq, Debug)]
#[command(next_help_heading = "Rates")]
pub struct RateSettings {
    /// The sliding window in which requests are counted, 1s to 1h
    #[arg(long, value_name = "DURATION", default_value = "1m")]
    #[arg(value_parser = duration(Duration::from_secs(1)..=Duration::from_hours(1)))]
    pub rate_window: Duration,

    /// Cost of one user's queries and subscriptions in a window, in units; 0 for no limit
    ///
    /// A request costs one unit, and more if it is much work. Events of subscriptions are paid apart, at the same rate.
    #[arg(long, value_name = "COUNT", default_value = "3000", value_parser = rate())]
    pub rate_user_reads: u32,

    /// Mutations of one user in a window, except creations; 0 for no limit
    #[arg(long, value_name = "COUNT", default_value = "600", value_parser = rate())]
    pub rate_user_writes: u32,

    /// Notes, comments, groups and reports that one user creates in a window; 0 for no limit
    #[arg(long, value_name = "COUNT", default_value = "60", value_parser = rate())]
    pub rate_user_creations: u32,

    /// Cost of one address' (IPv6: one /64 network) queries and subscriptions in a window; 0 for no limit
    ///
    /// 0 also ends the limits of its events, and of its executions at the same time.
    #[arg(long, value_name = "COUNT", default_value = "15000", value_parser = rate())]
    pub rate_address_reads: u32,

    /// Mutations of one address in a window, except creations; 0 for no limit
    #[arg(long, value_name = "COUNT", default_value = "3000", value_parser = rate())]
    pub rate_address_writes: u32,

    /// Notes, comments, groups and reports created from one address in a window; 0 for no limit
    #[arg(long, value_name = "COUNT", default_value = "300", value_parser = rate())]
    pub rate_address_creations: u32,
}

impl RateSettings {
    /// No limits.
    pub fn unlimited() -> Self {
        Self {
            rate_user_reads: 0,
            rate_user_writes: 0,
            rate_user_creations: 0,
            rate_address_reads: 0,
            rate_address_writes: 0,
            rate_address_creations: 0,
            ..Self::default()
        }
    }
}

fn rate() -> impl Fn(&str) -> Result<u32, super::ValueError> + Clone + Send + Sync + 'static {
    whole(0..=100_000_000, Some)
}
