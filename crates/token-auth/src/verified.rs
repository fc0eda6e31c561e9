//! Cache of verified tokens.
//!
//! A signature by a public key takes much longer to verify than a request takes to be answered, and a client
//! sends the same token with each request.

use chrono::{DateTime, Utc};
use moka::sync::Cache;

use super::{claims::LEEWAY_S, identity::Identity};

/// Capacity in bytes of tokens: about 20,000 tokens.
const MAX_BYTES: u64 = 16 * 1024 * 1024;

/// Holds valid tokens only, compared in full, and only for the key version that verified them.
pub(super) struct Verified(Cache<String, Known>);

#[derive(Clone)]
struct Known {
    identity: Identity,
    /// Version of the keys.
    keys: u64,
}

impl Verified {
    pub fn new() -> Self {
        let weigh = |token: &String, _: &Known| token.len().try_into().unwrap_or(u32::MAX);
        Self(Cache::builder().max_capacity(MAX_BYTES).weigher(weigh).build())
    }

    pub fn get(&self, token: &str, keys: u64) -> Option<Identity> {
        let known = self.0.get(token)?;
        let is_good = known.keys == keys && !has_ended(known.identity.expires_at);
        is_good.then_some(known.identity)
    }

    pub fn keep(&self, token: &str, keys: u64, identity: Identity) {
        self.0.insert(token.to_owned(), Known { identity, keys });
    }
}

fn has_ended(expires_at: DateTime<Utc>) -> bool {
    Utc::now().timestamp() > expires_at.timestamp().saturating_add_unsigned(LEEWAY_S)
}
