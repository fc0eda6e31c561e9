//! Cache of valid documents, by their text.

use std::sync::Arc;

use moka::{policy::EvictionPolicy, sync::Cache};

use super::document::Document;

/// Bounded by memory. A document that is sent once does not evict one that is sent often (TinyLFU), so sending one
/// document in many spellings does not empty the cache.
pub struct DocumentCache(Cache<Arc<str>, Arc<Document>>);

impl DocumentCache {
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
