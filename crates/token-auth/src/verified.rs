//! Cache of verified tokens.
//!
//! A client sends the same token with each request. Verifying a public-key signature takes much longer than answering a
//! request; reading the claims of a token that a secret signed takes 5 % of a like.

use chrono::{DateTime, Utc};
use moka::sync::Cache;

use super::{claims::LEEWAY_S, identity::Identity};

/// Capacity in bytes: 13,000 tokens of 1 KiB, or 30,000 that a secret signed.
const MAX_BYTES: u64 = 16 * 1024 * 1024;
/// Bytes of an entry beside its token: identity, and what the cache itself needs for it.
const ENTRY: usize = 300;

/// Contains valid tokens only. An entry matches the whole token, and the issuer and the version of its keys that
/// verified it.
pub(super) struct VerifiedTokens(Cache<String, CacheEntry>);

#[derive(Clone)]
struct CacheEntry {
    identity: Identity,
    keys: KeysUsed,
}

/// The keys that verified a token.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct KeysUsed {
    /// Position of the issuer.
    pub issuer: usize,
    pub version: u64,
}

impl VerifiedTokens {
    pub fn new() -> Self {
        let weigh = |token: &String, _: &CacheEntry| (token.len() + ENTRY).try_into().unwrap_or(u32::MAX);
        Self(Cache::builder().max_capacity(MAX_BYTES).weigher(weigh).build())
    }

    /// The identity of a token, if `are_current` holds for the keys that verified it.
    pub fn get(&self, token: &str, are_current: impl Fn(KeysUsed) -> bool) -> Option<Identity> {
        let entry = self.0.get(token)?;
        let is_valid = are_current(entry.keys) && !has_expired(entry.identity.expires_at);
        is_valid.then_some(entry.identity)
    }

    pub fn insert(&self, token: &str, keys: KeysUsed, identity: Identity) {
        self.0.insert(token.to_owned(), CacheEntry { identity, keys });
    }
}

fn has_expired(expires_at: DateTime<Utc>) -> bool {
    Utc::now().timestamp() > expires_at.timestamp().saturating_add_unsigned(LEEWAY_S)
}
