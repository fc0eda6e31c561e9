//! DataLoaders: reads that several fields request at the same moment become one batch.
//!
//! They cache their results, so they live as long as one request, or one event of a subscription.

use std::{
    collections::{BTreeMap, HashMap},
    fmt::Debug,
    hash::Hash,
    sync::Arc,
};

use dataloader::{BatchFn, cached::Loader};

use crate::{
    catalogue::{EdgeKind, Entity},
    domain::{
        Comment, CommentSort, CommentThread, DomainError, Group, Note, Plaudit, ThreadPage, User,
        entity_cache::{CachedEntity, EntityCache},
    },
    graphql::{
        errors::{ApiError, ApiResult},
        request::viewer::Viewer,
    },
    hub::CountsAt,
    primitives::{CommentId, GroupId, Id, NoteId, PageRequest, UserId},
};

/// An edge of the viewer: kind and target.
pub type OwnEdge = (EdgeKind, Id);

/// The first page of a thread.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ThreadKey {
    pub thread: CommentThread,
    pub sort: CommentSort,
    pub first: usize,
}

/// More keys than a page needs, so that a page is one batch.
const MAX_BATCH: usize = 2_000;

type LoaderOf<K, V, F> = Loader<K, ApiResult<V>, F>;

/// `None` means that the object does not exist.
pub struct Loaders {
    pub counts: LoaderOf<Entity, Option<CountsAt>, CountsBatch>,
    /// Whether edges of the viewer are on.
    pub own_edges: LoaderOf<OwnEdge, bool, OwnEdgesBatch>,
    pub own_ratings: LoaderOf<NoteId, Option<i16>, OwnRatingsBatch>,
    pub threads: LoaderOf<ThreadKey, Arc<ThreadPage>, ThreadsBatch>,
    pub users: LoaderOf<UserId, Option<Arc<User>>, EntityBatch<User>>,
    pub notes: LoaderOf<NoteId, Option<Arc<Note>>, EntityBatch<Note>>,
    pub comments: LoaderOf<CommentId, Option<Arc<Comment>>, EntityBatch<Comment>>,
    pub groups: LoaderOf<GroupId, Option<Arc<Group>>, EntityBatch<Group>>,
}

impl Loaders {
    pub fn new(plaudit: &Plaudit, viewer: &Viewer) -> Self {
        let own_edges = OwnEdgesBatch { plaudit: plaudit.clone(), viewer: viewer.clone() };
        Self {
            counts: loader(CountsBatch(plaudit.clone())),
            own_edges: loader(own_edges),
            own_ratings: loader(OwnRatingsBatch { plaudit: plaudit.clone(), viewer: viewer.clone() }),
            threads: loader(ThreadsBatch(plaudit.clone())),
            users: loader(EntityBatch { plaudit: plaudit.clone(), cache: Plaudit::users }),
            notes: loader(EntityBatch { plaudit: plaudit.clone(), cache: Plaudit::notes }),
            comments: loader(EntityBatch { plaudit: plaudit.clone(), cache: Plaudit::comments }),
            groups: loader(EntityBatch { plaudit: plaudit.clone(), cache: Plaudit::groups }),
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

/// Loads many keys in one batch. Keys that failed are missing: the loader keeps their errors.
pub async fn load_many<K, V, F>(loader: &LoaderOf<K, V, F>, keys: Vec<K>) -> HashMap<K, V>
where
    K: Copy + Eq + Hash + Debug,
    V: Clone,
    F: BatchFn<K, ApiResult<V>>,
{
    if keys.is_empty() {
        return HashMap::new();
    }
    let loaded = loader.try_load_many(keys).await.unwrap_or_default();
    loaded.into_iter().filter_map(|(key, value)| Some((key, value.ok()?))).collect()
}

/// Every batch answers all of its keys, so this happens only if the future that drove the batch was dropped.
fn unanswered(error: &std::io::Error) -> ApiError {
    tracing::error!(%error, "a loader got no answer");
    ApiError::internal()
}

/// Counts of entities: at most one round trip if Redis has them.
pub struct CountsBatch(Plaudit);

impl BatchFn<Entity, ApiResult<Option<CountsAt>>> for CountsBatch {
    async fn load(&mut self, entities: &[Entity]) -> HashMap<Entity, ApiResult<Option<CountsAt>>> {
        let (found, outcome) = self.0.hub().counts(entities).await;
        let rest = outcome.map(|()| None).map_err(DomainError::from).map_err(ApiError::from);
        let answer = |entity| found.get(entity).map_or_else(|| rest.clone(), |counted| Ok(Some(*counted)));
        entities.iter().map(|entity| (*entity, answer(entity))).collect()
    }
}

/// The viewer's own edges: one round trip if Redis has them.
pub struct OwnEdgesBatch {
    plaudit: Plaudit,
    viewer: Viewer,
}

impl OwnEdgesBatch {
    /// Missing edges are off. A viewer without a user has no edges.
    async fn states(&self, edges: &[OwnEdge]) -> ApiResult<HashMap<OwnEdge, bool>> {
        match self.viewer.user(&self.plaudit).await? {
            Some(actor) => Ok(self.plaudit.membership(actor, edges).await?),
            None => Ok(HashMap::new()),
        }
    }
}

impl BatchFn<OwnEdge, ApiResult<bool>> for OwnEdgesBatch {
    async fn load(&mut self, edges: &[OwnEdge]) -> HashMap<OwnEdge, ApiResult<bool>> {
        let states = self.states(edges).await;
        answer_each(edges, states, |states, edge| states.get(edge).copied().unwrap_or(false))
    }
}

/// The viewer's ratings: one statement.
pub struct OwnRatingsBatch {
    plaudit: Plaudit,
    viewer: Viewer,
}

impl BatchFn<NoteId, ApiResult<Option<i16>>> for OwnRatingsBatch {
    async fn load(&mut self, notes: &[NoteId]) -> HashMap<NoteId, ApiResult<Option<i16>>> {
        let ratings = async {
            match self.viewer.user(&self.plaudit).await? {
                Some(user) => Ok(self.plaudit.ratings_of(user, notes).await?),
                None => Ok(HashMap::new()),
            }
        };
        answer_each(notes, ratings.await, |ratings, note| ratings.get(note).copied())
    }
}

/// First pages of threads: one statement for all of one kind, order and length.
pub struct ThreadsBatch(Plaudit);

impl BatchFn<ThreadKey, ApiResult<Arc<ThreadPage>>> for ThreadsBatch {
    async fn load(&mut self, keys: &[ThreadKey]) -> HashMap<ThreadKey, ApiResult<Arc<ThreadPage>>> {
        let mut groups = BTreeMap::<(CommentSort, usize), Vec<CommentThread>>::new();
        for key in keys {
            groups.entry((key.sort, key.first)).or_default().push(key.thread);
        }
        let mut answers = HashMap::with_capacity(keys.len());
        for ((sort, first), threads) in groups {
            let pages = self.0.threads(&threads, sort, &PageRequest { first, after: None }).await;
            let mut pages = pages.map_err(ApiError::from);
            for thread in threads {
                let page = match &mut pages {
                    Ok(pages) => Ok(Arc::new(pages.remove(&thread).unwrap_or_default())),
                    Err(error) => Err(error.clone()),
                };
                answers.insert(ThreadKey { thread, sort, first }, page);
            }
        }
        answers
    }
}

/// Texts of entities of one kind: no round trip if the entity cache has them.
pub struct EntityBatch<T: CachedEntity> {
    plaudit: Plaudit,
    cache: fn(&Plaudit) -> &EntityCache<T>,
}

impl<T: CachedEntity<Id: Debug>> BatchFn<T::Id, ApiResult<Option<Arc<T>>>> for EntityBatch<T> {
    async fn load(&mut self, ids: &[T::Id]) -> HashMap<T::Id, ApiResult<Option<Arc<T>>>> {
        let found = (self.cache)(&self.plaudit).get_many(ids).await.map_err(ApiError::from);
        answer_each(ids, found, |found, id| found.get(id).cloned())
    }
}

/// Splits the answer to a batch into one answer per key.
fn answer_each<K: Copy + Eq + Hash, A, V>(
    keys: &[K],
    answer: ApiResult<A>,
    pick: impl Fn(&A, &K) -> V,
) -> HashMap<K, ApiResult<V>> {
    let of = |key: &K| answer.as_ref().map(|answer| pick(answer, key)).map_err(ApiError::clone);
    keys.iter().map(|key| (*key, of(key))).collect()
}
