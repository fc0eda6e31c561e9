//! TLS to the stores: what a failed handshake means, and how to correct it.

use std::{error::Error, io, sync::Arc};

use rustls::{AlertDescription, CertificateError};

/// Where the settings of a store name its certificates.
pub(super) struct TlsSettings {
    pub store: &'static str,
    pub ca: &'static str,
    pub client: &'static str,
    /// What the URL says for a connection without TLS.
    pub plain: &'static str,
}

pub(super) const REDIS: TlsSettings = TlsSettings {
    store: "Redis",
    ca: "redis_ca",
    client: "redis_client_certificate and redis_client_key",
    plain: "redis:// in redis_url",
};

pub(super) const POSTGRESQL: TlsSettings = TlsSettings {
    store: "PostgreSQL",
    ca: "sslrootcert in its URL",
    client: "sslcert and sslkey in its URL",
    plain: "sslmode=disable in its URL",
};

/// What was wrong with TLS, if that is why a call failed.
pub(super) fn explain(error: &(dyn Error + 'static), settings: &TlsSettings) -> Option<String> {
    Some(match rustls_error(error)? {
        rustls::Error::InvalidCertificate(reason) => of_certificate(reason, settings),
        rustls::Error::AlertReceived(alert) => of_alert(*alert, settings),
        rustls::Error::InvalidMessage(_) => format!(
            "the server does not speak TLS there: name the port where it does, or set {}",
            settings.plain
        ),
        other => other.to_string(),
    })
}

/// The message of a store, with advice if it is about TLS.
pub(super) fn with_advice(message: &str, settings: &TlsSettings) -> String {
    if message.contains("client certificate") {
        format!("{message}: name one by {}", settings.client)
    } else if message.contains("not support TLS") {
        format!("{message}: turn TLS on there, or set {}", settings.plain)
    } else {
        message.to_owned()
    }
}

fn of_certificate(reason: &CertificateError, settings: &TlsSettings) -> String {
    match reason {
        CertificateError::UnknownIssuer => format!(
            "nobody who is trusted here has signed the server's certificate: name the certificate of its CA by {}",
            settings.ca
        ),
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
            "the server's certificate has expired: renew it there, or set the clock of this machine"
                .to_owned()
        }
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            "the server's certificate is not valid yet: set the clock of this machine".to_owned()
        }
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            format!(
                "the server's certificate is for another host ({reason}): name the host as the certificate does"
            )
        }
        other => format!("the server's certificate cannot be used: {other}"),
    }
}

fn of_alert(alert: AlertDescription, settings: &TlsSettings) -> String {
    match alert {
        AlertDescription::CertificateRequired | AlertDescription::HandshakeFailure => {
            format!("the server wants a certificate of its client: name it by {}", settings.client)
        }
        other => format!("the server refuses the connection ({other:?}): check {}", settings.client),
    }
}

/// The error of rustls that caused this one. The stores' errors hold it in errors of the system, whose `source` skips
/// what they hold.
fn rustls_error<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a rustls::Error> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(found) = error.downcast_ref() {
            return Some(found);
        }
        next = if let Some(shared) = error.downcast_ref::<Arc<dyn Error + Send + Sync>>() {
            Some(shared.as_ref())
        } else if let Some(io) = error.downcast_ref::<io::Error>() {
            io.get_ref().map(|inner| inner as &(dyn Error + 'static))
        } else {
            error.source()
        };
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failed(error: rustls::Error) -> io::Error {
        io::Error::new(io::ErrorKind::InvalidData, error)
    }

    #[test]
    fn the_cause_is_found_in_the_errors_of_both_stores() {
        let expired = || failed(CertificateError::Expired.into());
        let redis = redis::RedisError::from(expired());
        assert!(explain(&redis, &REDIS).unwrap().contains("expired"));
        let sql = sqlx::Error::Io(expired());
        assert!(explain(&sql, &POSTGRESQL).unwrap().contains("expired"));
        assert_eq!(explain(&sqlx::Error::PoolTimedOut, &POSTGRESQL), None);
    }

    #[test]
    fn an_explanation_names_the_setting_to_change() {
        let unknown = failed(CertificateError::UnknownIssuer.into());
        assert!(explain(&unknown, &REDIS).unwrap().contains("redis_ca"));
        assert!(explain(&unknown, &POSTGRESQL).unwrap().contains("sslrootcert"));
        let required = failed(rustls::Error::AlertReceived(AlertDescription::CertificateRequired));
        assert!(explain(&required, &REDIS).unwrap().contains("redis_client_certificate"));
        assert!(explain(&required, &POSTGRESQL).unwrap().contains("sslcert"));
    }
}
