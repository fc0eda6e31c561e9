//! `plaudit ready`: whether the server with these settings is ready, for health checks where there is no shell.

use std::{
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    time::Duration,
};

use clap::Args;

use crate::app::AppError;
use plaudit_catalogue::settings::{LocationSettings, ServerSettings};

/// For the whole answer. The server answers a probe from what it knows.
const TIMEOUT: Duration = Duration::from_secs(3);
/// Characters of an answer that are shown.
const SHOWN: usize = 500;

#[derive(Args, Clone, Debug)]
pub struct ReadyArgs {
    #[command(flatten)]
    pub location: LocationSettings,
    #[command(flatten)]
    pub server: ServerSettings,
}

/// Asks `/readyz` at the address that the settings name. Returns the line to print.
///
/// # Errors
/// [`AppError::NotReady`] says why.
pub async fn run(args: &ReadyArgs) -> Result<String, AppError> {
    let not_ready = |reason: String| Err(AppError::NotReady { reason });
    let address = reachable(args.server.listen);
    if address.port() == 0 {
        return not_ready("listen has port 0, which is any free one: name the port".to_owned());
    }
    let url = format!("http://{address}/readyz");
    match ask(&url).await {
        Err(error) => not_ready(format!("{url} does not answer: {}", root_cause(&error))),
        Ok((status, _)) if status.is_success() => Ok(format!("ready: {url} answers {status}\n")),
        Ok((status, body)) => {
            let shown: String = body.chars().take(SHOWN).collect();
            not_ready(format!("{url} answers {status}: {}", shown.trim()))
        }
    }
}

async fn ask(url: &str) -> Result<(reqwest::StatusCode, String), reqwest::Error> {
    // A proxy of the environment is for other hosts.
    let client = reqwest::Client::builder().no_proxy().timeout(TIMEOUT).build()?;
    let answer = client.get(url).send().await?;
    Ok((answer.status(), answer.text().await?))
}

/// An address that listens on all interfaces, as this machine reaches it.
fn reachable(listen: SocketAddr) -> SocketAddr {
    let ip = match listen.ip() {
        ip if !ip.is_unspecified() => ip,
        IpAddr::V4(_) => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(_) => Ipv6Addr::LOCALHOST.into(),
    };
    SocketAddr::new(ip, listen.port())
}

fn root_cause(error: &dyn std::error::Error) -> String {
    let mut last = error;
    while let Some(source) = last.source() {
        last = source;
    }
    last.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_of_all_interfaces_is_asked_on_the_loopback_one() {
        for (listen, asked) in [
            ("0.0.0.0:8080", "127.0.0.1:8080"),
            ("[::]:8080", "[::1]:8080"),
            ("192.0.2.7:80", "192.0.2.7:80"),
        ] {
            assert_eq!(reachable(listen.parse().unwrap()), asked.parse().unwrap());
        }
    }
}
