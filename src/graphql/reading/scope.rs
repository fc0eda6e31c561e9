//! Request scope: the data that one request has read, and its loaders.

use std::{collections::HashMap, hash::Hash, sync::Arc};

use async_graphql::Context;

use super::loaders::{Loaders, OwnEdge, ThreadKey, load};
use plaudit_token_auth::Role;

use crate::{
    catalogue::{Counter, EdgeKind, Entity},
    domain::{Comment, CommentSort, CommentThread, Group, Note, Plaudit, ThreadPage, User},
    graphql::{
        errors::{ApiError, ApiResult},
        request::{
            scalars::{Count, CountsVersion},
            viewer::Viewer,
        },
    },
    hub::CountsAt,
    primitives::{CommentId, GroupId, Id, NoteId, PageRequest, Ranked, UserId},
};

/// Every object that a resolver returns carries its scope and reads its fields from it: first from prefetched data,
/// then from the loaders. Within one scope an entity has one version of its counts.
///
/// Cheap to clone.
#[derive(Clone)]
pub struct Scope(Arc<ScopeData>);

struct ScopeData {
    plaudit: Plaudit,
    viewer: Viewer,
    /// The objects of this scope are shown to all viewers, so they must not depend on one.
    is_shared: bool,
    loaders: Arc<Loaders>,
    prefetched: Prefetched,
}

/// Data that was read before fields need it. Keys and values are those of the [`Loaders`].
#[derive(Default)]
pub struct Prefetched {
    pub counts: HashMap<Entity, Option<CountsAt>>,
    pub own_edges: HashMap<OwnEdge, bool>,
    pub users: HashMap<UserId, Option<Arc<User>>>,
    pub notes: HashMap<NoteId, Option<Arc<Note>>>,
    pub comments: HashMap<CommentId, Option<Arc<Comment>>>,
    pub groups: HashMap<GroupId, Option<Arc<Group>>>,
}

impl Scope {
    /// A scope that has read nothing yet.
    pub fn new(plaudit: Plaudit, viewer: Viewer) -> Self {
        let loaders = Arc::new(Loaders::new(&plaudit, &viewer));
        Self(Arc::new(ScopeData {
            plaudit,
            viewer,
            is_shared: false,
            loaders,
            prefetched: Prefetched::default(),
        }))
    }

    /// A scope without a viewer, for objects that are shown to all viewers.
    pub fn shared(plaudit: Plaudit) -> Self {
        let viewer = Viewer::default();
        let loaders = Arc::new(Loaders::new(&plaudit, &viewer));
        Self(Arc::new(ScopeData {
            plaudit,
            viewer,
            is_shared: true,
            loaders,
            prefetched: Prefetched::default(),
        }))
    }

    /// The scope of the request that is being executed. The engine sets it.
    pub fn of<'a>(ctx: &Context<'a>) -> &'a Self {
        ctx.data_unchecked()
    }

    /// A scope of the same viewer that has read nothing: after a write, everything is read again.
    pub fn renewed(&self) -> Self {
        Self::new(self.plaudit().clone(), self.viewer().clone())
    }

    /// The scope of the same request, for objects whose data was prefetched.
    pub fn with_prefetched(&self, prefetched: Prefetched) -> Self {
        let ScopeData { plaudit, viewer, is_shared, loaders, .. } = &*self.0;
        let (plaudit, viewer, loaders) = (plaudit.clone(), viewer.clone(), Arc::clone(loaders));
        Self(Arc::new(ScopeData { plaudit, viewer, is_shared: *is_shared, loaders, prefetched }))
    }

    pub fn plaudit(&self) -> &Plaudit {
        &self.0.plaudit
    }

    pub fn viewer(&self) -> &Viewer {
        // If this fails, the field belongs into the list `DIFFERENT` of `live/viewers.rs`.
        debug_assert!(!self.0.is_shared, "a field that all viewers share depends on the viewer");
        &self.0.viewer
    }

    pub fn loaders(&self) -> &Loaders {
        &self.0.loaders
    }

    pub async fn count(&self, of: impl Into<Entity>, counter: Counter) -> ApiResult<Count> {
        Ok(self.counted(of).await?.counts.get(counter).into())
    }

    pub async fn counts_version(&self, of: impl Into<Entity>) -> ApiResult<CountsVersion> {
        Ok(self.counted(of).await?.version.into())
    }

    /// All counts of one entity, of one version.
    pub async fn counted(&self, of: impl Into<Entity>) -> ApiResult<CountsAt> {
        let entity = of.into();
        let counted = match prefetched(&self.0.prefetched.counts, entity) {
            Some(counted) => counted,
            None => load(&self.0.loaders.counts, entity).await?,
        };
        counted.ok_or_else(|| ApiError::not_found(entity.kind.name()))
    }

    /// Whether an edge of the viewer is on; `None` without a token.
    pub async fn own_edge(&self, kind: EdgeKind, target: Id) -> ApiResult<Option<bool>> {
        if !self.viewer().is_signed_in() {
            return Ok(None);
        }
        match prefetched(&self.0.prefetched.own_edges, (kind, target)) {
            Some(is_on) => Ok(Some(is_on)),
            None => load(&self.0.loaders.own_edges, (kind, target)).await.map(Some),
        }
    }

    /// `None` for a user that does not exist; the same for notes, comments and groups.
    pub async fn user(&self, id: UserId) -> ApiResult<Option<Arc<User>>> {
        match prefetched(&self.0.prefetched.users, id) {
            Some(user) => Ok(user),
            None => load(&self.0.loaders.users, id).await,
        }
    }

    pub async fn note(&self, id: NoteId) -> ApiResult<Option<Arc<Note>>> {
        match prefetched(&self.0.prefetched.notes, id) {
            Some(note) => Ok(note),
            None => load(&self.0.loaders.notes, id).await,
        }
    }

    /// `None` also for a comment that is not approved, unless the viewer is its author or a moderator.
    pub async fn comment(&self, id: CommentId) -> ApiResult<Option<Arc<Comment>>> {
        let comment = match prefetched(&self.0.prefetched.comments, id) {
            Some(comment) => comment,
            None => load(&self.0.loaders.comments, id).await?,
        };
        match comment {
            Some(comment) if !comment.is_public() && !self.may_see(&comment).await? => Ok(None),
            comment => Ok(comment),
        }
    }

    /// Whether the viewer may see a comment that is not public: its author and moderators may.
    async fn may_see(&self, comment: &Comment) -> ApiResult<bool> {
        let viewer = self.viewer().user(self.plaudit()).await?;
        Ok(comment.is_visible_to(viewer) || self.viewer().has_role(Role::Moderator))
    }

    /// A page of a thread. First pages of several threads that are requested together are one statement.
    pub async fn thread(
        &self,
        thread: CommentThread,
        sort: CommentSort,
        request: &PageRequest<Ranked>,
    ) -> ApiResult<Arc<ThreadPage>> {
        if request.after.is_none() {
            return load(&self.0.loaders.threads, ThreadKey { thread, sort, first: request.first }).await;
        }
        let mut pages = self.plaudit().threads(&[thread], sort, request).await?;
        Ok(Arc::new(pages.remove(&thread).unwrap_or_default()))
    }

    /// The viewer's rating of a note; `None` without one.
    pub async fn own_rating(&self, note: NoteId) -> ApiResult<Option<i32>> {
        if !self.viewer().is_signed_in() {
            return Ok(None);
        }
        Ok(load(&self.0.loaders.own_ratings, note).await?.map(i32::from))
    }

    pub async fn group(&self, id: GroupId) -> ApiResult<Option<Arc<Group>>> {
        match prefetched(&self.0.prefetched.groups, id) {
            Some(group) => Ok(group),
            None => load(&self.0.loaders.groups, id).await,
        }
    }
}

fn prefetched<K: Eq + Hash, V: Clone>(values: &HashMap<K, V>, key: K) -> Option<V> {
    values.get(&key).cloned()
}
