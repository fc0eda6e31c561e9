//! Parsers of single values; an error says which values are possible.

use std::{
    fmt,
    net::{IpAddr, SocketAddr},
    ops::RangeInclusive,
    str::FromStr,
    time::Duration,
};

use chrono::NaiveTime;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use http::uri::Authority;
use humantime::{format_duration, parse_duration};
use ipnet::IpNet;
use plaudit_embedded_stores::AppendFsync;
use tracing_subscriber::{EnvFilter, filter::ParseError};

use crate::primitives::ShardCount;

/// Address of a store. It may hold a password, so it does not print.
#[derive(Clone, PartialEq, Eq)]
pub struct StoreUrl(String);

/// Name or address of a host, without a port.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HostName(String);

/// A (UTC) time of day; `None`: never.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NightlyAt(pub Option<NaiveTime>);

/// What is wrong with a value. The caller adds the setting's name and origin.
#[derive(Clone, Debug, thiserror::Error)]
pub enum ValueError {
    #[error("an IP address and a port are needed, such as 127.0.0.1:8080 or [::]:8080")]
    Address,
    #[error("it must be a whole number from {} to {}", .0.start(), .0.end())]
    Whole(RangeInclusive<u32>),
    #[error(transparent)]
    Duration(#[from] humantime::DurationError),
    #[error("it must be from {} to {}", format_duration(*.0.start()), format_duration(*.0.end()))]
    DurationOutOfRange(RangeInclusive<Duration>),
    #[error("a time of day in UTC such as 02:00 is needed, or off")]
    TimeOfDay,
    #[error("an IP address or a network such as 10.0.0.0/8 is needed")]
    Network,
    #[error(
        "it would believe everybody, also a client that claims another's address: name the networks of the proxies, such as \
         10.0.0.0/8"
    )]
    AllNetworks,
    #[error("the name or address of a host is needed, such as my-laptop.local, without scheme and port")]
    Host,
    #[error("an address such as redis://host:6379 or postgres://user:password@host/database is needed")]
    Url,
    #[error(
        "an origin as browsers spell it is needed, such as https://app.example.com, without wildcard or path"
    )]
    Origin,
}

impl StoreUrl {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl HostName {
    /// Compares without regard to case, as names of hosts are.
    pub fn is(&self, host: &str) -> bool {
        self.0.eq_ignore_ascii_case(host)
    }
}

impl FromStr for HostName {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        let authority: Authority = text.parse().map_err(|_| ValueError::Host)?;
        if authority.host() == text { Ok(Self(text.to_owned())) } else { Err(ValueError::Host) }
    }
}

impl FromStr for StoreUrl {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        if text.contains("://") { Ok(Self(text.to_owned())) } else { Err(ValueError::Url) }
    }
}

impl fmt::Debug for StoreUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("StoreUrl(hidden)")
    }
}

pub(super) fn socket_address(text: &str) -> Result<SocketAddr, ValueError> {
    text.parse().map_err(|_| ValueError::Address)
}

/// Reads `10.0.0.0/8`, or one address; not all of them.
pub(super) fn network(text: &str) -> Result<IpNet, ValueError> {
    let one = |text: &str| text.parse::<IpAddr>().map(IpNet::from);
    let network = text.parse().or_else(|_| one(text)).map_err(|_| ValueError::Network)?;
    if network.prefix_len() == 0 { Err(ValueError::AllNetworks) } else { Ok(network) }
}

/// Reads `02:00`, or `off`.
pub(super) fn nightly_at(text: &str) -> Result<NightlyAt, ValueError> {
    if text == "off" {
        return Ok(NightlyAt(None));
    }
    NaiveTime::parse_from_str(text, "%H:%M").map(|at| NightlyAt(Some(at))).map_err(|_| ValueError::TimeOfDay)
}

/// Unlike the filter's own `FromStr`, refuses invalid directives.
pub(super) fn log_filter(text: &str) -> Result<EnvFilter, ParseError> {
    EnvFilter::try_new(text)
}

/// Reads whole numbers within bounds, converted by `make`, which may refuse further ones.
pub fn whole<T>(
    allowed: RangeInclusive<u32>,
    make: impl Fn(u32) -> Option<T> + Clone + Send + Sync + 'static,
) -> impl Fn(&str) -> Result<T, ValueError> + Clone + Send + Sync + 'static {
    move |text| {
        let number = text.parse().ok().filter(|number| allowed.contains(number));
        number.and_then(&make).ok_or_else(|| ValueError::Whole(allowed.clone()))
    }
}

/// Reads durations such as `50ms`, `10s` or `1h 30m`, within bounds.
pub fn duration(
    allowed: RangeInclusive<Duration>,
) -> impl Fn(&str) -> Result<Duration, ValueError> + Clone + Send + Sync + 'static {
    move |text| {
        let duration = parse_duration(text)?;
        if allowed.contains(&duration) {
            Ok(duration)
        } else {
            Err(ValueError::DurationOutOfRange(allowed.clone()))
        }
    }
}

pub fn as_usize(number: u32) -> Option<usize> {
    number.try_into().ok()
}

/// As bytes.
pub(super) fn kibibytes(number: u32) -> Option<usize> {
    as_usize(number)?.checked_mul(1024)
}

/// As bytes.
pub(super) fn mebibytes_in_memory(number: u32) -> Option<usize> {
    as_usize(number)?.checked_mul(1 << 20)
}

/// As bytes.
pub(super) fn mebibytes(number: u32) -> Option<u64> {
    Some(u64::from(number) << 20)
}

pub fn shard_count() -> impl TypedValueParser<Value = ShardCount> {
    whole(1..=ShardCount::MAX.into(), |count| ShardCount::new(count.try_into().ok()?))
}

pub(super) fn append_fsync() -> impl TypedValueParser<Value = AppendFsync> {
    PossibleValuesParser::new(["everysec", "always"]).map(|name| match name.as_str() {
        "always" => AppendFsync::Always,
        _ => AppendFsync::EverySec,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_whole_number_stays_within_its_bounds() {
        let parse = whole(1..=5000, Some);
        assert_eq!(parse("5000").unwrap(), 5000);
        for bad in ["0", "5001", "-1", "1.5", "many", ""] {
            assert_eq!(parse(bad).unwrap_err().to_string(), "it must be a whole number from 1 to 5000");
        }
    }

    #[test]
    fn a_time_of_day_has_hours_and_minutes_or_is_off() {
        assert_eq!(nightly_at("02:05").unwrap(), NightlyAt(NaiveTime::from_hms_opt(2, 5, 0)));
        assert_eq!(nightly_at("off").unwrap(), NightlyAt(None));
        for bad in ["", "2", "24:00", "02:60", "02:00:00", "Off"] {
            assert!(nightly_at(bad).unwrap_err().to_string().contains("02:00"), "{bad}");
        }
    }

    #[test]
    fn a_network_is_an_address_or_has_a_length() {
        assert_eq!(network("10.0.0.0/8").unwrap().to_string(), "10.0.0.0/8");
        assert_eq!(network("::1").unwrap().to_string(), "::1/128");
        for bad in ["", "10.0.0.0/33", "proxy", "10.0.0"] {
            assert!(network(bad).unwrap_err().to_string().contains("10.0.0.0/8"), "{bad}");
        }
        for all in ["0.0.0.0/0", "::/0", "10.0.0.0/0"] {
            assert!(network(all).unwrap_err().to_string().contains("believe everybody"), "{all}");
        }
    }

    #[test]
    fn a_host_has_neither_scheme_nor_port() {
        for good in ["my-laptop.local", "192.0.2.7", "[2001:db8::7]"] {
            assert!(good.parse::<HostName>().unwrap().is(&good.to_uppercase()), "{good}");
        }
        for bad in ["", "my-laptop.local:8080", "http://my-laptop.local", "a b", "ann@my-laptop.local", "a/b"]
        {
            assert!(bad.parse::<HostName>().unwrap_err().to_string().contains("my-laptop.local"), "{bad}");
        }
    }

    #[test]
    fn a_log_filter_that_is_only_half_understood_is_refused() {
        assert!(log_filter("info,plaudit_counting::hub=debug").is_ok());
        assert!(log_filter("info,plaudit_counting::hub=loud").is_err());
    }

    #[test]
    fn a_duration_has_a_unit_and_stays_within_its_bounds() {
        let parse = duration(Duration::from_secs(1)..=Duration::from_hours(1));
        assert_eq!(parse("1m 30s").unwrap(), Duration::from_secs(90));
        for (bad, reason) in
            [("10", "unit"), ("999ms", "from 1s to 1h"), ("61m", "from 1s to 1h"), ("soon", "number")]
        {
            let error = parse(bad).unwrap_err().to_string();
            assert!(error.contains(reason), "{bad}: {error}");
        }
    }

    #[test]
    fn a_store_url_has_a_scheme_and_does_not_print() {
        let url: StoreUrl = "postgres://app:hunter2@db/plaudit".parse().unwrap();
        assert_eq!(url.as_str(), "postgres://app:hunter2@db/plaudit");
        assert!(!format!("{url:?}").contains("hunter2"));
        assert!("localhost:6379".parse::<StoreUrl>().is_err());
    }
}
