//! Key ring: public keys that are refreshed periodically, and when a token names an unknown key.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use backon::{ConstantBuilder, Retryable};
use parking_lot::RwLock;
use tokio::sync::{Notify, Semaphore, watch};

use super::{
    claims::ExpectedClaims,
    jwks::{JwksLocation, Reader},
    keys::KeySet,
};

/// Minimum time between two refreshes for unknown keys. Within it, tokens with unknown keys are refused at
/// once.
const MIN_REFRESH_INTERVAL: Duration = Duration::from_secs(5);
/// How long a token waits for a refresh, and how many tokens wait concurrently; others are refused.
const MAX_WAIT: Duration = Duration::from_secs(3);
const MAX_WAITING: usize = 1_000;
/// Retries at startup, and the pause between them.
const STARTUP_RETRIES: usize = 4;
const STARTUP_PAUSE: Duration = Duration::from_millis(500);

/// The keys could not be read at startup.
#[derive(Debug, thiserror::Error)]
#[error("cannot use the keys of {source_name}: {reason}")]
pub struct JwksError {
    source_name: String,
    reason: String,
}

/// The current keys. A failed refresh keeps them: an outage of the identity provider signs nobody out.
pub(super) struct KeyRing {
    current: RwLock<CurrentKeys>,
    reader: Reader,
    /// For the log.
    source_name: String,
    expected: ExpectedClaims,
    /// Notified when a token names an unknown key.
    refresh_request: Notify,
    /// When the last refresh ended, successful or not.
    last_refresh: watch::Sender<Option<Instant>>,
    waiting: Semaphore,
}

#[derive(Clone)]
struct CurrentKeys {
    keys: Arc<KeySet>,
    text: Arc<Vec<u8>>,
    version: u64,
}

impl KeyRing {
    /// Reads the keys now, and then every `refresh` for the lifetime of the process.
    ///
    /// # Errors
    /// The keys cannot be read. The startup fails, as for an unreachable store: without keys the service would
    /// refuse every token.
    pub async fn open(
        source: JwksLocation,
        refresh: Duration,
        expected: ExpectedClaims,
    ) -> Result<Arc<Self>, JwksError> {
        let source_name = source.to_string();
        let failed = |reason| JwksError { source_name: source_name.clone(), reason };
        let reader = Reader::new(source).map_err(failed)?;
        let pauses = ConstantBuilder::default().with_delay(STARTUP_PAUSE).with_max_times(STARTUP_RETRIES);
        let text = (|| reader.read()).retry(pauses).await.map_err(failed)?;
        let keys = KeySet::parse(&text, &expected).map_err(|error| failed(error.to_string()))?;
        log_keys(&keys, &source_name, "token verification keys loaded");
        let current = CurrentKeys { keys: Arc::new(keys), text: Arc::new(text), version: 0 };
        let ring = Arc::new(Self {
            current: RwLock::new(current),
            reader,
            source_name,
            expected,
            refresh_request: Notify::new(),
            last_refresh: watch::Sender::new(None),
            waiting: Semaphore::new(MAX_WAITING),
        });
        tokio::spawn(Arc::clone(&ring).run_refreshes(refresh));
        Ok(ring)
    }

    /// The keys and their version.
    pub fn keys(&self) -> (Arc<KeySet>, u64) {
        let current = self.current.read();
        (Arc::clone(&current.keys), current.version)
    }

    /// Requests a refresh of the keys and waits for it. Returns false at once if the last one was recent.
    pub async fn wait_for_refresh(&self) -> bool {
        let mut last = self.last_refresh.subscribe();
        if is_recent(*last.borrow_and_update()) {
            return false;
        }
        let Ok(_place) = self.waiting.try_acquire() else { return false };
        self.refresh_request.notify_one();
        tokio::time::timeout(MAX_WAIT, last.changed()).await.is_ok_and(|changed| changed.is_ok())
    }

    /// Runs one refresh at a time; independent of the tokens that wait for it.
    async fn run_refreshes(self: Arc<Self>, refresh: Duration) {
        let mut is_failing = false;
        loop {
            let was_requested = tokio::time::timeout(refresh, self.refresh_request.notified()).await.is_ok();
            if was_requested && is_recent(*self.last_refresh.borrow()) {
                continue; // requested during the last refresh
            }
            let outcome = self.refresh().await;
            self.last_refresh.send_replace(Some(Instant::now()));
            match &outcome {
                Err(reason) if !is_failing => {
                    tracing::warn!(
                        reason,
                        source = self.source_name,
                        "cannot refresh the token verification keys; the current ones stay valid"
                    );
                }
                Ok(()) if is_failing => {
                    tracing::info!(
                        source = self.source_name,
                        "token verification keys can be refreshed again"
                    );
                }
                _ => {}
            }
            is_failing = outcome.is_err();
        }
    }

    async fn refresh(&self) -> Result<(), String> {
        let text = self.reader.read().await?;
        if *self.current.read().text == text {
            return Ok(());
        }
        let keys = KeySet::parse(&text, &self.expected).map_err(|error| error.to_string())?;
        log_keys(&keys, &self.source_name, "token verification keys have changed");
        let mut current = self.current.write();
        *current = CurrentKeys { keys: Arc::new(keys), text: Arc::new(text), version: current.version + 1 };
        Ok(())
    }
}

fn is_recent(refresh: Option<Instant>) -> bool {
    refresh.is_some_and(|at| at.elapsed() < MIN_REFRESH_INTERVAL)
}

fn log_keys(keys: &KeySet, source: &str, event: &'static str) {
    tracing::info!(keys = keys.len(), source, "{event}");
    for why in &keys.ignored {
        tracing::warn!(source, "{why}");
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::{
        Issuer, IssuerKeys, TokenError, TokenVerifier,
        samples::{ED25519, P256, RSA, RSA_OTHER, Sample},
    };

    const LONG_INTERVAL: Duration = Duration::from_secs(3_600);

    struct KeyFile(tempfile::TempDir);

    impl KeyFile {
        fn with(keys: &[Value]) -> Self {
            let file = Self(tempfile::tempdir().unwrap());
            file.write(keys);
            file
        }

        fn write(&self, keys: &[Value]) {
            std::fs::write(self.0.path().join("keys"), json!({ "keys": keys }).to_string()).unwrap();
        }

        fn source(&self) -> JwksLocation {
            JwksLocation::File(self.0.path().join("keys"))
        }

        async fn verifier(&self) -> TokenVerifier {
            let issuer = Issuer::new(IssuerKeys::Public(self.source()), ExpectedClaims::default());
            TokenVerifier::open(&issuer.into(), LONG_INTERVAL).await.unwrap()
        }
    }

    #[tokio::test]
    async fn tokens_of_each_kind_of_key_are_accepted_repeatedly() {
        let kinds: [(&str, Sample); 3] = [("r", RSA), ("e", P256), ("d", ED25519)];
        let file = KeyFile::with(&kinds.each_ref().map(|(kid, sample)| sample.public(kid)));
        let verifier = file.verifier().await;
        for (kid, sample) in &kinds {
            for token in [sample.token(Some(kid)), sample.token(None)] {
                for _ in 0..2 {
                    assert_eq!(verifier.verify(&token).await.unwrap().subject.as_str(), "ana", "{kid}");
                }
                let (signed, signature) = token.rsplit_once('.').unwrap();
                let other = if signature.starts_with('A') { "B" } else { "A" };
                let forged = format!("{signed}.{other}{}", &signature[1..]);
                assert_eq!(verifier.verify(&forged).await, Err(TokenError::BadSignature), "{kid}");
            }
        }
        let other = RSA_OTHER.token(Some("r"));
        assert_eq!(verifier.verify(&other).await, Err(TokenError::BadSignature));
    }

    #[tokio::test]
    async fn an_unknown_key_triggers_only_one_refresh_per_interval() {
        let file = KeyFile::with(&[RSA.public("old")]);
        let verifier = file.verifier().await;
        let (old, new) = (RSA.token(Some("old")), P256.token(Some("new")));
        assert!(verifier.verify(&old).await.is_ok());
        file.write(&[P256.public("new")]);
        assert!(verifier.verify(&new).await.is_ok());
        // A removed key verifies no tokens, not even those that it verified before.
        for _ in 0..2 {
            assert_eq!(verifier.verify(&old).await, Err(TokenError::UnknownKey));
        }
        file.write(&[RSA.public("old")]);
        assert_eq!(verifier.verify(&old).await, Err(TokenError::UnknownKey));
        assert!(verifier.verify(&new).await.is_ok());
    }

    #[tokio::test]
    async fn keys_stay_valid_when_a_refresh_fails() {
        let file = KeyFile::with(&[RSA.public("a")]);
        let verifier = file.verifier().await;
        std::fs::remove_file(file.0.path().join("keys")).unwrap();
        assert_eq!(verifier.verify(&RSA.token(Some("b"))).await, Err(TokenError::UnknownKey));
        assert!(verifier.verify(&RSA.token(Some("a"))).await.is_ok());
    }

    #[tokio::test]
    async fn a_start_without_usable_keys_fails_with_the_name_of_the_setting() {
        let file = KeyFile::with(&[]);
        for text in ["", "{\"keys\":[]}", &" ".repeat(300_000)] {
            std::fs::write(file.0.path().join("keys"), text).unwrap();
            let opened = KeyRing::open(file.source(), LONG_INTERVAL, ExpectedClaims::default()).await;
            let error = opened.err().unwrap().to_string();
            assert!(error.contains("jwks_file"), "{error}");
        }
    }
}
