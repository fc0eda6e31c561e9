//! Cache of verified tokens.
//!
//! Verifying a public-key signature takes much longer than answering a request, and a client sends the same
//! token with each request.

use chrono::{DateTime, Utc};
use moka::sync::Cache;

use super::{claims::LEEWAY_S, identity::Identity};

/// Capacity in bytes of tokens: about 20,000 tokens.
const MAX_BYTES: u64 = 16 * 1024 * 1024;

/// Contains valid tokens only. An entry matches the whole token and the key version that verified it.
pub(super) struct VerifiedTokens(Cache<String, CacheEntry>);

#[derive(Clone)]
struct CacheEntry {
    identity: Identity,
    /// Version of the keys that verified the token.
    key_version: u64,
}

impl VerifiedTokens {
    pub fn new() -> Self {
        let weigh = |token: &String, _: &CacheEntry| token.len().try_into().unwrap_or(u32::MAX);
        Self(Cache::builder().max_capacity(MAX_BYTES).weigher(weigh).build())
    }

    pub fn get(&self, token: &str, key_version: u64) -> Option<Identity> {
        let entry = self.0.get(token)?;
        let is_valid = entry.key_version == key_version && !has_expired(entry.identity.expires_at);
        is_valid.then_some(entry.identity)
    }

    pub fn insert(&self, token: &str, key_version: u64, identity: Identity) {
        self.0.insert(token.to_owned(), CacheEntry { identity, key_version });
    }
}

fn has_expired(expires_at: DateTime<Utc>) -> bool {
    Utc::now().timestamp() > expires_at.timestamp().saturating_add_unsigned(LEEWAY_S)
}
