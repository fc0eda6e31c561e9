//! What one request knows, and how it comes to know more.

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

/// Every object that a resolver returns carries its scope and reads its fields from it: first from what
/// was read ahead, then from the loaders. Within one scope an entity has one version of its counts.
///
/// Cheap to clone.
#[derive(Clone)]
pub struct Scope(Arc<Inner>);

struct Inner {
    plaudit: Plaudit,
    viewer: Viewer,
    /// What is made here is shown to all viewers, so nobody's state may be asked for.
    is_shared: bool,
    loaders: Arc<Loaders>,
    known: Known,
}

/// What was read before the fields asked for it. Keys and values are those of the [`Loaders`].
#[derive(Default)]
pub struct Known {
    pub counts: HashMap<Entity, Option<CountsAt>>,
    pub own_edges: HashMap<OwnEdge, bool>,
    pub users: HashMap<UserId, Option<Arc<User>>>,
    pub notes: HashMap<NoteId, Option<Arc<Note>>>,
    pub comments: HashMap<CommentId, Option<Arc<Comment>>>,
    pub groups: HashMap<GroupId, Option<Arc<Group>>>,
}

impl Scope {
    /// A scope that knows nothing yet.
    pub fn new(plaudit: Plaudit, viewer: Viewer) -> Self {
        let loaders = Arc::new(Loaders::new(&plaudit, &viewer));
        Self(Arc::new(Inner { plaudit, viewer, is_shared: false, loaders, known: Known::default() }))
    }

    /// The same, for what is shown to all viewers: nobody asks.
    pub fn shared(plaudit: Plaudit) -> Self {
        let viewer = Viewer::default();
        let loaders = Arc::new(Loaders::new(&plaudit, &viewer));
        Self(Arc::new(Inner { plaudit, viewer, is_shared: true, loaders, known: Known::default() }))
    }

    /// The scope of the request that is being executed; the engine gives it one.
    pub fn of<'a>(ctx: &Context<'a>) -> &'a Self {
        ctx.data_unchecked()
    }

    /// The same viewer, but everything is read anew: after an action.
    pub fn renewed(&self) -> Self {
        Self::new(self.plaudit().clone(), self.viewer().clone())
    }

    /// The same request, for objects of which this is known.
    pub fn knowing(&self, known: Known) -> Self {
        let Inner { plaudit, viewer, is_shared, loaders, .. } = &*self.0;
        let (plaudit, viewer, loaders) = (plaudit.clone(), viewer.clone(), Arc::clone(loaders));
        Self(Arc::new(Inner { plaudit, viewer, is_shared: *is_shared, loaders, known }))
    }

    pub fn plaudit(&self) -> &Plaudit {
        &self.0.plaudit
    }

    pub fn viewer(&self) -> &Viewer {
        // Whoever fails here belongs into the list of what differs between viewers: `fanout/viewers.rs`.
        debug_assert!(!self.0.is_shared, "what all viewers are shown depends on the viewer");
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
        let counted = match held(&self.0.known.counts, entity) {
            Some(counted) => counted,
            None => load(&self.0.loaders.counts, entity).await?,
        };
        counted.ok_or_else(|| ApiError::not_found(entity.kind.name()))
    }

    /// Whether an edge of the viewer is on; `None` without token.
    pub async fn own_edge(&self, kind: EdgeKind, target: Id) -> ApiResult<Option<bool>> {
        if !self.viewer().is_signed_in() {
            return Ok(None);
        }
        match held(&self.0.known.own_edges, (kind, target)) {
            Some(is_on) => Ok(Some(is_on)),
            None => load(&self.0.loaders.own_edges, (kind, target)).await.map(Some),
        }
    }

    /// `None` for a user that does not exist; the same for notes, comments and groups.
    pub async fn user(&self, id: UserId) -> ApiResult<Option<Arc<User>>> {
        match held(&self.0.known.users, id) {
            Some(user) => Ok(user),
            None => load(&self.0.loaders.users, id).await,
        }
    }

    pub async fn note(&self, id: NoteId) -> ApiResult<Option<Arc<Note>>> {
        match held(&self.0.known.notes, id) {
            Some(note) => Ok(note),
            None => load(&self.0.loaders.notes, id).await,
        }
    }

    /// One that is not approved is there for its author only.
    pub async fn comment(&self, id: CommentId) -> ApiResult<Option<Arc<Comment>>> {
        let comment = match held(&self.0.known.comments, id) {
            Some(comment) => comment,
            None => load(&self.0.loaders.comments, id).await?,
        };
        match comment {
            Some(comment) if !comment.is_public() && !self.may_see(&comment).await? => Ok(None),
            comment => Ok(comment),
        }
    }

    /// Moderators see what they are to judge.
    async fn may_see(&self, comment: &Comment) -> ApiResult<bool> {
        let viewer = self.viewer().user(self.plaudit()).await?;
        Ok(comment.is_visible_to(viewer) || self.viewer().has_role(Role::Moderator))
    }

    /// A page of a thread. First pages of several threads that are asked for at once are one statement.
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
        match held(&self.0.known.groups, id) {
            Some(group) => Ok(group),
            None => load(&self.0.loaders.groups, id).await,
        }
    }
}

fn held<K: Eq + Hash, V: Clone>(known: &HashMap<K, V>, key: K) -> Option<V> {
    known.get(&key).cloned()
}
