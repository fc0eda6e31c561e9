//! Documents that are known to be good, by their text.

use std::sync::Arc;

use moka::{policy::EvictionPolicy, sync::Cache};

use super::document::Document;

/// Bounded by memory. A text that comes once does not push out one that comes often (TinyLFU), so sending
/// good documents in many spellings gains nothing.
pub struct Documents(Cache<Arc<str>, Arc<Document>>);

impl Documents {
    /// `size`: bytes.
    pub fn new(size: u64) -> Self {
        let weigh = |_: &Arc<str>, document: &Arc<Document>| document.size();
        let cache = Cache::builder()
            .max_capacity(size)
            .weigher(weigh)
            .eviction_policy(EvictionPolicy::tiny_lfu())
            .build();
        Self(cache)
    }

    pub fn find(&self, text: &str) -> Option<Arc<Document>> {
        self.0.get(text)
    }

    pub fn keep(&self, document: &Arc<Document>) {
        if !self.0.contains_key(&**document.text()) {
            self.0.insert(Arc::clone(document.text()), Arc::clone(document));
        }
    }
}
