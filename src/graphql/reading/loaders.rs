//! DataLoaders: reads that several fields request at the same moment become one batch.
//!
//! They cache their results, so they live as long as one request, or one message of a subscription.

use std::{
    collections::{BTreeMap, HashMap},
    fmt::Debug,
    hash::Hash,
    sync::Arc,
};

use dataloader::{BatchFn, cached::Loader};

use super::{
    facts::{Facts, FactsMap, Reads},
    reader::{FactsReader, read},
};
use crate::errors::{ApiError, ApiResult};
use plaudit_catalogue::{
    Entity,
    primitives::{PageRequest, UserId},
};
use plaudit_domain::{
    ActorsOf, CommentOrder, CommentThread, Plaudit, ThreadPage, content::comments, people::inbox,
};

/// The first page of a thread.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ThreadKey {
    pub thread: CommentThread,
    pub order: CommentOrder,
    pub first: usize,
}

/// More keys than a page needs, so that a page is one batch.
const MAX_BATCH: usize = 2_000;

type LoaderOf<K, V, F> = Loader<K, ApiResult<V>, F>;

pub struct Loaders {
    /// One kind of fact of an entity at a time, so that each is read once.
    pub facts: LoaderOf<(Entity, Reads), Facts, FactsBatch>,
    pub threads: LoaderOf<ThreadKey, Arc<ThreadPage>, ThreadsBatch>,
    pub inbox_actors: LoaderOf<ActorsOf, Arc<Vec<UserId>>, InboxActorsBatch>,
}

impl Loaders {
    pub fn new(reader: &FactsReader) -> Self {
        Self {
            facts: loader(FactsBatch(reader.clone())),
            threads: loader(ThreadsBatch(reader.plaudit.clone())),
            inbox_actors: loader(InboxActorsBatch(reader.plaudit.clone())),
        }
    }
}

fn loader<K, V, F>(batch: F) -> LoaderOf<K, V, F>
where
    K: Copy + Eq + Hash + Debug,
    V: Clone,
    F: BatchFn<K, ApiResult<V>>,
{
    Loader::new(batch).with_max_batch_size(MAX_BATCH)
}

/// Loads one key, in one batch with all keys that are requested at this moment.
pub async fn load<K, V, F>(loader: &LoaderOf<K, V, F>, key: K) -> ApiResult<V>
where
    K: Copy + Eq + Hash + Debug,
    V: Clone,
    F: BatchFn<K, ApiResult<V>>,
{
    loader.try_load(key).await.unwrap_or_else(|error| Err(unanswered(&error)))
}

/// Every batch answers all of its keys, so this happens only if the future that drove the batch was dropped.
fn unanswered(error: &std::io::Error) -> ApiError {
    tracing::error!(%error, "a loader got no answer");
    ApiError::internal()
}

/// Facts of entities: one batch per kind of data.
pub struct FactsBatch(FactsReader);

impl BatchFn<(Entity, Reads), ApiResult<Facts>> for FactsBatch {
    async fn load(&mut self, keys: &[(Entity, Reads)]) -> HashMap<(Entity, Reads), ApiResult<Facts>> {
        let mut known = FactsMap::default();
        let wanted: Vec<_> = keys.iter().map(|(entity, reads)| (known.number(*entity), *reads)).collect();
        read(&self.0, &mut known, wanted.clone()).await;
        keys.iter().zip(wanted).map(|(key, (number, _))| (*key, Ok(known.of(number).clone()))).collect()
    }
}

/// First pages of threads: one statement for all of one kind, order and length.
pub struct ThreadsBatch(Plaudit);

impl BatchFn<ThreadKey, ApiResult<Arc<ThreadPage>>> for ThreadsBatch {
    async fn load(&mut self, keys: &[ThreadKey]) -> HashMap<ThreadKey, ApiResult<Arc<ThreadPage>>> {
        let mut groups = BTreeMap::<(CommentOrder, usize), Vec<CommentThread>>::new();
        for key in keys {
            groups.entry((key.order, key.first)).or_default().push(key.thread);
        }
        let mut answers = HashMap::with_capacity(keys.len());
        for ((order, first), threads) in groups {
            let pages =
                comments::threads(&self.0, &threads, order, &PageRequest { first, after: None }).await;
            let mut pages = pages.map_err(ApiError::from);
            for thread in threads {
                let page = match &mut pages {
                    Ok(pages) => Ok(Arc::new(pages.remove(&thread).unwrap_or_default())),
                    Err(error) => Err(error.clone()),
                };
                answers.insert(ThreadKey { thread, order, first }, page);
            }
        }
        answers
    }
}

/// Actors of inbox entries: one statement for all.
pub struct InboxActorsBatch(Plaudit);

impl BatchFn<ActorsOf, ApiResult<Arc<Vec<UserId>>>> for InboxActorsBatch {
    async fn load(&mut self, keys: &[ActorsOf]) -> HashMap<ActorsOf, ApiResult<Arc<Vec<UserId>>>> {
        let mut actors = inbox::inbox_actors(&self.0, keys).await.map_err(ApiError::from);
        let of_entry = |key: &ActorsOf| match &mut actors {
            Ok(actors) => (*key, Ok(Arc::new(actors.remove(key).unwrap_or_default()))),
            Err(error) => (*key, Err(error.clone())),
        };
        keys.iter().map(of_entry).collect()
    }
}
