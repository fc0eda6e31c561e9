//! Limits of HTTP requests: size, time, origins.

use std::{path::PathBuf, str::FromStr, time::Duration};

use clap::{Args, builder::BoolishValueParser};
use http::HeaderValue;
use ipnet::IpNet;
use url::Url;

use super::values::{ValueError, duration, kibibytes, network, whole};

/// Limits of requests, and which pages may send them.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Requests")]
pub struct RequestSettings {
    /// Connections of clients that one process holds open, 10 to 1000000; two thirds of them may be sockets
    ///
    /// Less if files are limited. One more takes the place of an idle one, or is refused with 503.
    #[arg(long, value_name = "CONNECTIONS", default_value = "30000", value_parser = whole(10..=1_000_000, Some))]
    pub connections: u32,

    /// Size of a request's body in KiB, 1 to 10240
    ///
    /// A larger one is refused with 413.
    #[arg(long, value_name = "KIB", default_value = "256", value_parser = whole(1..=10_240, kibibytes))]
    pub max_body: usize,

    /// How long a client may take to send a head, a body or connection_init, 100ms to 5m
    ///
    /// Also how long it may read nothing of a WebSocket; of an answer three times as long.
    #[arg(long, value_name = "DURATION", default_value = "10s")]
    #[arg(value_parser = duration(Duration::from_millis(100)..=Duration::from_mins(5)))]
    pub client_timeout: Duration,

    /// How long a connection is kept between two requests, 100ms to 1h
    ///
    /// Behind a proxy, set it longer than the proxy keeps connections.
    #[arg(long, value_name = "DURATION", default_value = "75s")]
    #[arg(value_parser = duration(Duration::from_millis(100)..=Duration::from_hours(1)))]
    pub idle_timeout: Duration,

    /// Origins whose pages may send requests, such as https://app.example.com; default: only pages from here
    ///
    /// Without wildcards. With the generated secret also origins of this machine, such as http://localhost:5173.
    #[arg(long, value_name = "ORIGINS", value_delimiter = ',')]
    pub cors_origins: Vec<PageOrigin>,

    /// Whether pages of this machine may send requests, too; decided by [`super::Settings::complete`].
    #[arg(skip)]
    pub loopback_pages: bool,

    /// Proxies whose X-Forwarded-For is believed, as addresses or networks such as 10.0.0.0/8
    #[arg(long, value_name = "NETWORKS", value_delimiter = ',', value_parser = network)]
    pub trusted_proxies: Vec<IpNet>,

    /// Be a subgraph of Apollo Federation v2
    ///
    /// A request of one of `trusted_proxies` that has no X-Forwarded-For is then a gateway's: no limits of an address.
    #[arg(long, value_name = "BOOL", default_value = "false", value_parser = BoolishValueParser::new())]
    #[arg(num_args = 0..=1, default_missing_value = "true")]
    pub federation: bool,
}

impl RequestSettings {
    /// How many of the connections may be WebSockets and event streams: requests have the others.
    pub const fn sockets(&self) -> u32 {
        self.connections / 3 * 2
    }

    /// How long a client may read nothing of an answer.
    pub fn send_timeout(&self) -> Duration {
        self.client_timeout * 3
    }
}

/// Trusted documents and automatic persisted queries.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Documents")]
pub struct DocumentSettings {
    /// Manifest of documents that clients name by documentId: a JSON file, { "<id>": "<document>" }
    #[arg(long, value_name = "FILE")]
    pub trusted_documents: Option<PathBuf>,

    /// Execute only the trusted documents
    #[arg(long, value_name = "BOOL", default_value = "false", value_parser = BoolishValueParser::new())]
    #[arg(num_args = 0..=1, default_missing_value = "true")]
    pub only_trusted_documents: bool,
}

/// The origin of a page, as browsers spell it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PageOrigin(pub HeaderValue);

impl FromStr for PageOrigin {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        let url = Url::parse(text).ok().filter(|url| matches!(url.scheme(), "http" | "https"));
        let origin = url.map(|url| url.origin().ascii_serialization());
        let origin = origin.filter(|origin| origin == text && !text.contains('*'));
        origin.and_then(|origin| HeaderValue::try_from(origin).ok()).map(Self).ok_or(ValueError::Origin)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_origin_is_spelled_as_browsers_spell_it() {
        for good in ["https://app.example.com", "http://localhost:5173", "https://xn--bcher-kva.example"] {
            assert_eq!(good.parse::<PageOrigin>().unwrap().0, good);
        }
        for bad in [
            "*",
            "null",
            "",
            "app.example.com",
            "https://app.example.com/",
            "https://app.example.com:443",
            "https://*.example.com",
            "https://App.example.com",
            "https://user@app.example.com",
            "ws://app.example.com",
            "https://a.example\r\nx: y",
        ] {
            assert!(bad.parse::<PageOrigin>().is_err(), "{bad}");
        }
    }
}
