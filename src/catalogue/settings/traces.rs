//! Where traces are sent.

use std::{fmt, str::FromStr};

use clap::Args;
use plaudit_outgoing_http::is_encrypted_or_private;
use url::Url;

/// Traces of requests, for builds that have them.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Traces")]
pub struct TraceSettings {
    /// Collector that gets traces by OTLP over HTTP, such as http://127.0.0.1:4318
    ///
    /// An https URL; plain http only for private and loopback addresses. Needs the feature `otlp`, which packages have.
    #[arg(long, value_name = "URL")]
    pub otlp_endpoint: Option<OtlpEndpoint>,

    /// Which part of the requests is traced, 0 to 1, where no proxy or service decides it by traceparent
    #[arg(long, value_name = "PART", default_value = "0.01", value_parser = part)]
    pub otlp_sample: f64,
}

/// URL of a collector. It may contain a password, so `Debug` hides it.
#[derive(Clone, PartialEq, Eq)]
pub struct OtlpEndpoint(Url);

#[derive(Clone, Debug, thiserror::Error)]
#[error(
    "must be an https URL, or an http URL of a private or loopback address, such as http://127.0.0.1:4318"
)]
pub struct BadOtlpEndpoint;

#[derive(Clone, Debug, thiserror::Error)]
#[error("it must be a number from 0 to 1, such as 0.01")]
pub struct BadRatio;

impl OtlpEndpoint {
    pub const fn url(&self) -> &Url {
        &self.0
    }
}

impl FromStr for OtlpEndpoint {
    type Err = BadOtlpEndpoint;

    fn from_str(text: &str) -> Result<Self, BadOtlpEndpoint> {
        let url: Url = text.parse().map_err(|_| BadOtlpEndpoint)?;
        let has_only_a_path = url.query().is_none() && url.fragment().is_none();
        if is_encrypted_or_private(&url) && has_only_a_path { Ok(Self(url)) } else { Err(BadOtlpEndpoint) }
    }
}

impl fmt::Debug for OtlpEndpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OtlpEndpoint(hidden)")
    }
}

fn part(text: &str) -> Result<f64, BadRatio> {
    text.parse().ok().filter(|part| (0.0..=1.0).contains(part)).ok_or(BadRatio)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn traces_go_encrypted_or_to_a_private_address() {
        for good in [
            "https://otel.example",
            "https://otel.example/otlp",
            "http://127.0.0.1:4318",
            "http://otel:4318/",
        ] {
            assert!(good.parse::<OtlpEndpoint>().is_ok(), "{good}");
        }
        for bad in
            ["", "127.0.0.1:4318", "http://8.8.8.8:4318", "grpc://otel:4317", "https://otel.example/?key=1"]
        {
            assert!(bad.parse::<OtlpEndpoint>().is_err(), "{bad}");
        }
    }

    #[test]
    fn a_part_is_from_0_to_1() {
        for (text, value) in [("0", 0.0), ("1", 1.0), ("0.01", 0.01)] {
            assert_eq!(part(text).unwrap(), value);
        }
        for bad in ["", "-0.1", "1.1", "NaN", "1 %"] {
            assert!(part(bad).unwrap_err().to_string().contains("0 to 1"), "{bad}");
        }
    }
}
