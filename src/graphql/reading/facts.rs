//! Facts: what the fields of an entity show. A level of a plan reads the facts of all its entities at once; the engine
//! reads them through the loaders. Both read by [`read`], and compute fields from a [`View`].

use std::{collections::HashMap, sync::Arc};

use foldhash::fast::RandomState;
use futures_util::TryFutureExt;
use plaudit_token_auth::Role;

use crate::{
    catalogue::{EdgeKind, Entity, EntityKind},
    domain::{
        Comment, DomainError, EdgeStates, Group, Note, Plaudit, User,
        entity_cache::{CachedEntity, EntityCache},
    },
    graphql::{
        errors::{ApiError, ApiResult},
        request::viewer::Viewer,
    },
    hub::CountsAt,
    primitives::{CommentId, GroupId, Id, NoteId, UserId},
};

/// Which facts a set of fields needs.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub struct Reads {
    pub row: bool,
    pub counts: bool,
    /// The viewer's rating of a note.
    pub rating: bool,
    /// The viewer's edges to the entity.
    pub own: Edges,
}

/// A set of edge kinds.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub struct Edges(u8);

impl Edges {
    pub const fn one(kind: EdgeKind) -> Self {
        Self(1 << kind as u8)
    }

    pub const fn has(self, kind: EdgeKind) -> bool {
        self.0 & Self::one(kind).0 != 0
    }

    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    fn kinds(self) -> impl Iterator<Item = EdgeKind> {
        EdgeKind::ALL.iter().copied().filter(move |kind| self.has(*kind))
    }
}

impl Reads {
    pub const NOTHING: Self = Self { row: false, counts: false, rating: false, own: Edges(0) };
    pub const ROW: Self = Self { row: true, ..Self::NOTHING };
    pub const COUNTS: Self = Self { counts: true, ..Self::NOTHING };
    pub const RATING: Self = Self { rating: true, ..Self::NOTHING };

    pub const fn own(kind: EdgeKind) -> Self {
        Self { own: Edges::one(kind), ..Self::NOTHING }
    }

    /// Whether it depends on the viewer.
    pub const fn is_own(self) -> bool {
        self.rating || self.own.0 != 0
    }

    /// Without what depends on the viewer.
    const fn without_own(self) -> Self {
        Self { rating: false, own: Edges(0), ..self }
    }

    pub const fn with(self, other: Self) -> Self {
        Self {
            row: self.row || other.row,
            counts: self.counts || other.counts,
            rating: self.rating || other.rating,
            own: self.own.with(other.own),
        }
    }
}

/// The stored texts of an entity.
#[derive(Clone, Debug)]
pub enum Row {
    User(Arc<User>),
    Note(Arc<Note>),
    Comment(Arc<Comment>),
    Group(Arc<Group>),
}

impl Row {
    pub fn entity(&self) -> Entity {
        match self {
            Self::User(user) => user.id.into(),
            Self::Note(note) => note.id.into(),
            Self::Comment(comment) => comment.id.into(),
            Self::Group(group) => group.id.into(),
        }
    }
}

/// The facts of one entity that were read, each with the error if its read failed. Within one request an entity has one
/// version of its counts.
#[derive(Clone, Default, Debug)]
pub struct Facts {
    row: Option<Fact<Option<Row>>>,
    counts: Option<Fact<Option<CountsAt>>>,
    rating: Option<Fact<Option<i16>>>,
    own_read: Edges,
    own_on: Edges,
    own_failed: Option<Arc<ApiError>>,
}

/// What was read, or why not. All facts of one failed read share its error.
type Fact<T> = Result<T, Arc<ApiError>>;

/// Facts by entity.
pub type FactsMap = HashMap<Entity, Facts, RandomState>;

impl Facts {
    /// Nothing was read.
    pub const NONE: Self = Self {
        row: None,
        counts: None,
        rating: None,
        own_read: Edges(0),
        own_on: Edges(0),
        own_failed: None,
    };

    /// A row that somebody else has read. A row that was read before stays.
    pub fn give_row(&mut self, row: Row) {
        self.row.get_or_insert(Ok(Some(row)));
    }

    pub fn give_counts(&mut self, counts: CountsAt) {
        self.counts = Some(Ok(Some(counts)));
    }

    pub fn into_row(self) -> ApiResult<Option<Row>> {
        self.row.map_or_else(|| Err(unread("row")), |row| row.map_err(own_copy))
    }

    pub const fn is_row_known(&self) -> bool {
        self.row.is_some()
    }

    /// Whether the row was read, and there is none.
    pub const fn is_gone(&self) -> bool {
        matches!(self.row, Some(Ok(None)))
    }

    /// What of `reads` is not known yet.
    const fn missing(&self, reads: Reads) -> Reads {
        Reads {
            row: reads.row && self.row.is_none(),
            counts: reads.counts && self.counts.is_none(),
            rating: reads.rating && self.rating.is_none(),
            own: reads.own.without(self.own_read),
        }
    }

    fn learn_edge(&mut self, kind: EdgeKind, state: Result<bool, &Arc<ApiError>>) {
        self.own_read = self.own_read.with(Edges::one(kind));
        match state {
            Ok(true) => self.own_on = self.own_on.with(Edges::one(kind)),
            Ok(false) => {}
            Err(error) => self.own_failed = Some(Arc::clone(error)),
        }
    }
}

/// An entity and its facts, as its fields see them.
#[derive(Clone, Copy)]
pub struct View<'a> {
    pub entity: Entity,
    pub facts: &'a Facts,
    pub is_signed_in: bool,
}

impl<'a> View<'a> {
    fn row(&self) -> ApiResult<&'a Row> {
        match self.facts.row.as_ref() {
            Some(Ok(Some(row))) => Ok(row),
            Some(Ok(None)) => Err(ApiError::not_found(self.entity.kind.name())),
            Some(Err(error)) => Err(own_copy(error)),
            None => Err(unread("row")),
        }
    }

    /// Whether there is such an entity.
    pub fn exists(&self) -> ApiResult<bool> {
        match self.facts.row.as_ref() {
            Some(Ok(row)) => Ok(row.is_some()),
            Some(Err(error)) => Err(own_copy(error)),
            None => Err(unread("row")),
        }
    }

    pub fn user(&self) -> ApiResult<&'a User> {
        if let Row::User(user) = self.row()? { Ok(user) } else { Err(unread("user")) }
    }

    pub fn note(&self) -> ApiResult<&'a Note> {
        if let Row::Note(note) = self.row()? { Ok(note) } else { Err(unread("note")) }
    }

    pub fn comment(&self) -> ApiResult<&'a Comment> {
        if let Row::Comment(comment) = self.row()? { Ok(comment) } else { Err(unread("comment")) }
    }

    pub fn group(&self) -> ApiResult<&'a Group> {
        if let Row::Group(group) = self.row()? { Ok(group) } else { Err(unread("group")) }
    }

    /// All counts of the entity, of one version.
    pub fn counted(&self) -> ApiResult<&'a CountsAt> {
        match self.facts.counts.as_ref() {
            Some(Ok(Some(counted))) => Ok(counted),
            Some(Ok(None)) => Err(ApiError::not_found(self.entity.kind.name())),
            Some(Err(error)) => Err(own_copy(error)),
            None => Err(unread("counts")),
        }
    }

    /// Whether an edge of the viewer to the entity is on; `None` without a token.
    pub fn own_edge(&self, kind: EdgeKind) -> ApiResult<Option<bool>> {
        if !self.is_signed_in {
            return Ok(None);
        }
        match &self.facts.own_failed {
            Some(error) => Err(own_copy(error)),
            None if self.facts.own_read.has(kind) => Ok(Some(self.facts.own_on.has(kind))),
            None => Err(unread("edge")),
        }
    }

    /// The viewer's rating; `None` without a token, and without a rating.
    pub fn own_rating(&self) -> ApiResult<Option<i16>> {
        if !self.is_signed_in {
            return Ok(None);
        }
        match &self.facts.rating {
            Some(rating) => rating.as_ref().copied().map_err(own_copy),
            None => Err(unread("rating")),
        }
    }
}

fn own_copy(error: impl AsRef<ApiError>) -> ApiError {
    error.as_ref().clone()
}

/// A field shows a fact that its line in the schema does not name.
fn unread(what: &'static str) -> ApiError {
    tracing::error!(what, "a field shows a fact that was not read");
    ApiError::internal()
}

/// What is to be read, by kind of data. Each entity once.
#[derive(Default)]
struct PendingReads {
    counts: Vec<Entity>,
    own_edges: Vec<(EdgeKind, Id)>,
    ratings: Vec<NoteId>,
    users: Vec<UserId>,
    notes: Vec<NoteId>,
    comments: Vec<CommentId>,
    groups: Vec<GroupId>,
}

impl PendingReads {
    fn add(&mut self, entity: Entity, reads: Reads) {
        if reads.counts {
            self.counts.push(entity);
        }
        self.own_edges.extend(reads.own.kinds().map(|kind| (kind, entity.id)));
        match entity.kind {
            EntityKind::User if reads.row => self.users.push(UserId(entity.id)),
            EntityKind::Comment if reads.row => self.comments.push(CommentId(entity.id)),
            EntityKind::Group if reads.row => self.groups.push(GroupId(entity.id)),
            EntityKind::Note if reads.row => self.notes.push(NoteId(entity.id)),
            _ => {}
        }
        if reads.rating {
            self.ratings.push(NoteId(entity.id));
        }
    }
}

/// Who reads, and from where. Cheap to clone.
#[derive(Clone)]
pub struct FactsReader {
    pub plaudit: Plaudit,
    viewer: Viewer,
    /// What is read is shown to all viewers, so it must not depend on one.
    is_shared: bool,
}

impl FactsReader {
    pub const fn new(plaudit: Plaudit, viewer: Viewer) -> Self {
        Self { plaudit, viewer, is_shared: false }
    }

    /// For objects that are shown to all viewers.
    pub fn shared(plaudit: Plaudit) -> Self {
        Self { plaudit, viewer: Viewer::default(), is_shared: true }
    }

    pub fn viewer(&self) -> &Viewer {
        // If this fails, the line of a field in the schema claims wrongly that it is the same for all viewers.
        debug_assert!(!self.is_shared, "a field that all viewers share depends on the viewer");
        &self.viewer
    }

    /// Whether the viewer can have edges and ratings.
    pub const fn may_own(&self) -> bool {
        !self.is_shared && self.viewer.is_signed_in()
    }

    /// Whether the viewer may see a comment: everybody, if it is public; else its author and moderators.
    async fn may_see(&self, comment: &Comment) -> ApiResult<bool> {
        if comment.is_public() {
            return Ok(true);
        }
        let viewer = self.viewer().user(&self.plaudit).await?;
        Ok(comment.is_visible_to(viewer) || self.viewer().has_role(Role::Moderator))
    }
}

/// Reads what is not known yet, with one batch per kind of data, all at the same time. An entity may be wanted several
/// times.
pub async fn read(reader: &FactsReader, known: &mut FactsMap, mut wanted: Vec<(Entity, Reads)>) {
    wanted.sort_unstable_by_key(|(entity, _)| *entity);
    wanted.dedup_by(|(entity, reads), (before, all)| {
        let is_same = entity == before;
        if is_same {
            *all = all.with(*reads);
        }
        is_same
    });
    known.reserve(wanted.len());
    let (mut batch, mut comments) = (PendingReads::default(), Vec::new());
    for (entity, reads) in wanted {
        if entity.kind == EntityKind::Comment && reads.row {
            comments.push(entity);
        }
        let facts = known.entry(entity).or_default();
        let reads = if reader.may_own() { reads } else { reads.without_own() };
        batch.add(entity, facts.missing(reads));
    }
    // On the heap: this future holds a connection's state per kind, 6 KB, and each layer around it would be copied with it.
    Box::pin(batch.read(reader, known)).await;
    hide_comments(reader, known, &comments).await;
}

impl PendingReads {
    async fn read(&self, reader: &FactsReader, known: &mut FactsMap) {
        let plaudit = &reader.plaudit;
        let (counts, own, ratings, users, notes, comments, groups) = tokio::join!(
            counts(reader, &self.counts),
            own_edges(reader, &self.own_edges).map_err(Arc::new),
            own_ratings(reader, &self.ratings).map_err(Arc::new),
            rows(plaudit.users(), &self.users),
            rows(plaudit.notes(), &self.notes),
            rows(plaudit.comments(), &self.comments),
            rows(plaudit.groups(), &self.groups),
        );
        for (entity, counts) in self.counts.iter().zip(counts) {
            known.entry(*entity).or_default().counts = Some(counts);
        }
        for (kind, id) in &self.own_edges {
            let facts = known.entry(Entity::new(kind.target(), *id)).or_default();
            facts.learn_edge(*kind, own.as_ref().map(|on| on.get(&(*kind, *id)).copied().unwrap_or(false)));
        }
        for note in &self.ratings {
            let rating = ratings.as_ref().map(|ratings| ratings.get(note).copied()).map_err(Arc::clone);
            known.entry((*note).into()).or_default().rating = Some(rating);
        }
        learn_rows(known, &self.users, users, Row::User);
        learn_rows(known, &self.notes, notes, Row::Note);
        learn_rows(known, &self.comments, comments, Row::Comment);
        learn_rows(known, &self.groups, groups, Row::Group);
    }
}

fn learn_rows<T: CachedEntity>(
    known: &mut FactsMap,
    ids: &[T::Id],
    rows: Fact<HashMap<T::Id, Arc<T>>>,
    row: fn(Arc<T>) -> Row,
) {
    for id in ids {
        let found = rows.as_ref().map(|rows| rows.get(id).cloned().map(row)).map_err(Arc::clone);
        known.entry((*id).into()).or_default().row = Some(found);
    }
}

/// Counts in the order of the entities: at most one round trip if Redis has them.
async fn counts(reader: &FactsReader, entities: &[Entity]) -> Vec<Fact<Option<CountsAt>>> {
    if entities.is_empty() {
        return Vec::new();
    }
    let (found, outcome) = reader.plaudit.hub().counts(entities).await;
    let rest = outcome.map(|()| None).map_err(DomainError::from).map_err(ApiError::from).map_err(Arc::new);
    let answer = |entity| found.get(entity).map_or_else(|| rest.clone(), |counted| Ok(Some(*counted)));
    entities.iter().map(answer).collect()
}

/// The viewer's edges that are known: others are off. One round trip if Redis has them.
async fn own_edges(reader: &FactsReader, edges: &[(EdgeKind, Id)]) -> ApiResult<EdgeStates> {
    if edges.is_empty() {
        return Ok(EdgeStates::new());
    }
    match reader.viewer().user(&reader.plaudit).await? {
        Some(actor) => Ok(reader.plaudit.membership(actor, edges).await?),
        None => Ok(EdgeStates::new()),
    }
}

/// The viewer's ratings: one statement.
async fn own_ratings(reader: &FactsReader, notes: &[NoteId]) -> ApiResult<HashMap<NoteId, i16>> {
    if notes.is_empty() {
        return Ok(HashMap::new());
    }
    match reader.viewer().user(&reader.plaudit).await? {
        Some(user) => Ok(reader.plaudit.ratings_of(user, notes).await?),
        None => Ok(HashMap::new()),
    }
}

/// No round trip if the entity cache has them.
async fn rows<T: CachedEntity>(cache: &EntityCache<T>, ids: &[T::Id]) -> Fact<HashMap<T::Id, Arc<T>>> {
    if ids.is_empty() {
        return Ok(HashMap::new());
    }
    cache.get_many(ids).await.map_err(|error| Arc::new(error.into()))
}

/// A comment that is not public exists only for its author and for moderators.
async fn hide_comments(reader: &FactsReader, known: &mut FactsMap, comments: &[Entity]) {
    for comment in comments {
        let facts = known.entry(*comment).or_default();
        if let Some(Ok(Some(Row::Comment(comment)))) = &facts.row {
            match reader.may_see(comment).await {
                Ok(true) => {}
                Ok(false) => facts.row = Some(Ok(None)),
                Err(error) => facts.row = Some(Err(Arc::new(error))),
            }
        }
    }
}
