//! Reads facts. A level of a plan reads the facts of all its entities at once; resolvers read the facts of one entity
//! through the loaders.

use std::sync::Arc;

use futures_util::TryFutureExt;
use plaudit_token_auth::Role;

use super::facts::{Fact, Facts, FactsMap, FactsNumber, Reads, Row};
use crate::{
    errors::{ApiError, ApiResult},
    request::viewer::Viewer,
};
use plaudit_catalogue::{
    EdgeKind, Entity, EntityKind,
    primitives::{CommentId, GroupId, Id, NoteId, UserId},
};
use plaudit_counting::hub::CountsAt;
use plaudit_domain::{
    DomainError, Plaudit,
    content::ratings,
    edges::membership,
    entity_cache::{CachedEntity, EntityCache},
};

/// Who reads, and from where. Cheap to clone.
#[derive(Clone)]
pub struct FactsReader {
    pub plaudit: Plaudit,
    viewer: Viewer,
    /// What is read is shown to all viewers, so it must not depend on one.
    is_shared: bool,
    /// While Redis is away, counts may be older ones.
    may_be_stale: bool,
}

impl FactsReader {
    pub const fn new(plaudit: Plaudit, viewer: Viewer) -> Self {
        Self { plaudit, viewer, is_shared: false, may_be_stale: false }
    }

    /// For objects that are shown to all viewers.
    pub fn shared(plaudit: Plaudit) -> Self {
        Self { plaudit, viewer: Viewer::default(), is_shared: true, may_be_stale: false }
    }

    /// What a mutation shows is never stale.
    #[must_use]
    pub fn for_mutation(self) -> Self {
        Self { may_be_stale: false, ..self }
    }

    /// For a request, and not for a subscription.
    #[must_use]
    pub fn for_request(self) -> Self {
        Self { may_be_stale: true, ..self }
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

    /// Whether the viewer may see that a user has this subject.
    pub fn may_see_subject(&self, subject: &str) -> bool {
        if !self.plaudit.settings().private_subjects {
            return true;
        }
        let viewer = &self.viewer;
        self.may_own()
            && (viewer.has_role(Role::Service)
                || viewer.has_role(Role::Moderator)
                || viewer.subject().is_some_and(|own| own.as_str() == subject))
    }

    /// Whether `user:<subject>` names a user to the sender: also to a service that acts for somebody, which
    /// names users as its app does.
    pub fn may_name_by_subject(&self, subject: &str) -> bool {
        self.may_see_subject(subject) || (self.may_own() && self.viewer.is_sent_by_service())
    }

    /// What this process has cached of an entity that everybody may see; `Some(None)` if it is known not to exist.
    pub fn cached_row(&self, entity: Entity) -> Option<Option<Row>> {
        let row = cached_row(&self.plaudit, entity)?;
        row.as_ref().is_none_or(|row| private_to(row).is_none()).then_some(row)
    }

    /// Whether the viewer is this user or a moderator.
    pub async fn is_user_or_moderator(&self, user: UserId) -> ApiResult<bool> {
        if !self.may_own() {
            return Ok(false);
        }
        let viewer = self.viewer().user(&self.plaudit).await?;
        Ok(viewer == Some(user) || self.viewer().has_role(Role::Moderator))
    }

    /// A row as the viewer may see it.
    async fn visible(&self, row: Row) -> ApiResult<Option<Row>> {
        match private_to(&row) {
            Some(author) if !self.is_user_or_moderator(author).await? => Ok(placeholder(row)),
            _ => Ok(Some(row)),
        }
    }
}

/// Reads what is not known yet, with one batch per kind of data, all at the same time. An entity may be wanted several
/// times.
pub async fn read(reader: &FactsReader, known: &mut FactsMap, mut wanted: Vec<(FactsNumber, Reads)>) {
    merge(&mut wanted);
    let (mut batch, mut authored) = (PendingReads::default(), Vec::new());
    for (number, reads) in wanted {
        let entity = known.entity(number);
        if matches!(entity.kind, EntityKind::Note | EntityKind::Comment) && reads.row {
            authored.push(number);
        }
        let reads = if reader.may_own() { reads } else { reads.without_own() };
        let facts = known.of_mut(number);
        let reads = learn_cached(&reader.plaudit, facts, entity, facts.missing(reads));
        if reads != Reads::NOTHING {
            batch.add(number, entity, reads);
        }
    }
    if !batch.is_empty() {
        // On the heap: this future holds a connection's state per kind, 6 KB, and each layer around it would be copied
        // with it.
        Box::pin(batch.read(reader, known)).await;
    }
    hide_private(reader, known, &authored).await;
}

/// Leaves each entity once.
fn merge(wanted: &mut Vec<(FactsNumber, Reads)>) {
    wanted.sort_unstable_by_key(|(number, _)| *number);
    wanted.dedup_by(|(number, reads), (before, all)| {
        let is_same = number == before;
        if is_same {
            *all = all.with(*reads);
        }
        is_same
    });
}

/// Learns what this process has cached. Returns what is left to read.
fn learn_cached(plaudit: &Plaudit, facts: &mut Facts, entity: Entity, mut reads: Reads) -> Reads {
    if reads.counts
        && let Some(counts) = plaudit.hub().cached(entity)
    {
        facts.give_counts(counts);
        reads.counts = false;
    }
    if reads.row
        && let Some(row) = cached_row(plaudit, entity)
    {
        facts.row = Some(Ok(row));
        reads.row = false;
    }
    reads
}

/// `Some(None)` if it is known not to exist.
fn cached_row(plaudit: &Plaudit, Entity { kind, id }: Entity) -> Option<Option<Row>> {
    match kind {
        EntityKind::User => plaudit.users().cached(UserId(id)).map(|user| user.map(Row::User)),
        EntityKind::Note => plaudit.notes().cached(NoteId(id)).map(|note| note.map(Row::Note)),
        EntityKind::Comment => {
            plaudit.comments().cached(CommentId(id)).map(|comment| comment.map(Row::Comment))
        }
        EntityKind::Group => plaudit.groups().cached(GroupId(id)).map(|group| group.map(Row::Group)),
        EntityKind::Inbox => None,
    }
}

/// What is to be read, by kind of data. Each entity once.
#[derive(Default)]
struct PendingReads {
    counts: KeyBatch<Entity>,
    own_edges: KeyBatch<(EdgeKind, Id)>,
    ratings: KeyBatch<NoteId>,
    users: KeyBatch<UserId>,
    notes: KeyBatch<NoteId>,
    comments: KeyBatch<CommentId>,
    groups: KeyBatch<GroupId>,
}

/// The keys of one read, and the entities that they belong to.
struct KeyBatch<K> {
    numbers: Vec<FactsNumber>,
    keys: Vec<K>,
}

impl<K> Default for KeyBatch<K> {
    fn default() -> Self {
        Self { numbers: Vec::new(), keys: Vec::new() }
    }
}

impl<K> KeyBatch<K> {
    fn add(&mut self, number: FactsNumber, key: K) {
        self.numbers.push(number);
        self.keys.push(key);
    }

    const fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// The value of each entity, or the error of the read that failed as a whole.
    fn with<V>(&self, values: Fact<Vec<V>>, mut learn: impl FnMut(FactsNumber, &K, Fact<V>)) {
        let of = self.numbers.iter().zip(&self.keys);
        match values {
            Ok(values) => of.zip(values).for_each(|((number, key), value)| learn(*number, key, Ok(value))),
            Err(error) => of.for_each(|(number, key)| learn(*number, key, Err(Arc::clone(&error)))),
        }
    }
}

impl PendingReads {
    fn add(&mut self, number: FactsNumber, Entity { kind, id }: Entity, reads: Reads) {
        if reads.counts {
            self.counts.add(number, Entity { kind, id });
        }
        for edge in reads.own.kinds() {
            self.own_edges.add(number, (edge, id));
        }
        match kind {
            EntityKind::User if reads.row => self.users.add(number, UserId(id)),
            EntityKind::Comment if reads.row => self.comments.add(number, CommentId(id)),
            EntityKind::Group if reads.row => self.groups.add(number, GroupId(id)),
            EntityKind::Note if reads.row => self.notes.add(number, NoteId(id)),
            _ => {}
        }
        if reads.rating {
            self.ratings.add(number, NoteId(id));
        }
    }

    const fn is_empty(&self) -> bool {
        self.counts.is_empty()
            && self.own_edges.is_empty()
            && self.ratings.is_empty()
            && self.users.is_empty()
            && self.notes.is_empty()
            && self.comments.is_empty()
            && self.groups.is_empty()
    }

    async fn read(&self, reader: &FactsReader, known: &mut FactsMap) {
        let plaudit = &reader.plaudit;
        let (counts, own, ratings, users, notes, comments, groups) = tokio::join!(
            counts(reader, &self.counts.keys),
            own_edges(reader, &self.own_edges.keys).map_err(Arc::new),
            own_ratings(reader, &self.ratings.keys).map_err(Arc::new),
            rows(plaudit.users(), &self.users.keys, Row::User),
            rows(plaudit.notes(), &self.notes.keys, Row::Note),
            rows(plaudit.comments(), &self.comments.keys, Row::Comment),
            rows(plaudit.groups(), &self.groups.keys, Row::Group),
        );
        for (number, counts) in self.counts.numbers.iter().zip(counts) {
            known.of_mut(*number).counts = Some(counts);
        }
        self.own_edges.with(own, |number, (kind, _), is_on| known.of_mut(number).learn_edge(*kind, is_on));
        self.ratings.with(ratings, |number, _, rating| known.of_mut(number).rating = Some(rating));
        self.users.with(users, |number, _, row| known.of_mut(number).row = Some(row.and_then(|row| row)));
        self.notes.with(notes, |number, _, row| known.of_mut(number).row = Some(row.and_then(|row| row)));
        self.comments
            .with(comments, |number, _, row| known.of_mut(number).row = Some(row.and_then(|row| row)));
        self.groups.with(groups, |number, _, row| known.of_mut(number).row = Some(row.and_then(|row| row)));
        self.read_counts_of_new(reader, known).await;
    }

    /// Reads once more the counts of what was created after they were read and before its row was.
    async fn read_counts_of_new(&self, reader: &FactsReader, known: &mut FactsMap) {
        let all = self.counts.numbers.iter().zip(&self.counts.keys);
        let new = all.filter(|(number, _)| known.of(**number).has_row_without_counts());
        let (numbers, entities): (Vec<FactsNumber>, Vec<Entity>) = new.unzip();
        for (number, counts) in numbers.iter().zip(counts(reader, &entities).await) {
            known.of_mut(*number).counts = Some(counts);
        }
    }
}

/// Counts in the order of the entities: at most one round trip if Redis has them.
async fn counts(reader: &FactsReader, entities: &[Entity]) -> Vec<Fact<Option<CountsAt>>> {
    if entities.is_empty() {
        return Vec::new();
    }
    let hub = reader.plaudit.hub();
    let (found, outcome) =
        if reader.may_be_stale { hub.counts_or_stale(entities).await } else { hub.counts(entities).await };
    let error = outcome.err().map(|error| Arc::new(ApiError::from(DomainError::from(error))));
    let answer = |counts: Option<CountsAt>| match (&error, counts) {
        (Some(error), None) => Err(Arc::clone(error)),
        _ => Ok(counts),
    };
    found.into_iter().map(answer).collect()
}

/// Whether the viewer's edges are on, in their order. One round trip if Redis has them.
async fn own_edges(reader: &FactsReader, edges: &[(EdgeKind, Id)]) -> ApiResult<Vec<bool>> {
    if edges.is_empty() {
        return Ok(Vec::new());
    }
    match reader.viewer().user(&reader.plaudit).await? {
        Some(actor) if reader.may_be_stale => {
            Ok(membership::membership_or_stale(&reader.plaudit, actor, edges).await?)
        }
        Some(actor) => Ok(membership::membership(&reader.plaudit, actor, edges).await?),
        None => Ok(vec![false; edges.len()]),
    }
}

/// The viewer's ratings in the order of the notes: one statement.
async fn own_ratings(reader: &FactsReader, notes: &[NoteId]) -> ApiResult<Vec<Option<i16>>> {
    if notes.is_empty() {
        return Ok(Vec::new());
    }
    match reader.viewer().user(&reader.plaudit).await? {
        Some(user) => {
            let ratings = ratings::ratings_of(&reader.plaudit, user, notes).await?;
            Ok(notes.iter().map(|note| ratings.get(note).copied()).collect())
        }
        None => Ok(vec![None; notes.len()]),
    }
}

/// In the order of the ids, each with its own error. No round trip if the entity cache has them.
async fn rows<T: CachedEntity>(
    cache: &Arc<EntityCache<T>>,
    ids: &[T::Id],
    row: fn(Arc<T>) -> Row,
) -> Fact<Vec<Fact<Option<Row>>>> {
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let shared = |error: DomainError| Arc::new(ApiError::from(error));
    let found = cache.get_each(ids).await.map_err(shared)?;
    Ok(found.into_iter().map(|found| found.map(|found| found.map(row)).map_err(shared)).collect())
}

/// The author of a row that only the author and moderators may see.
fn private_to(row: &Row) -> Option<UserId> {
    match row {
        Row::Comment(comment) => (!comment.is_public()).then_some(comment.author),
        Row::Note(note) => (!note.is_public()).then_some(note.author),
        Row::User(_) | Row::Group(_) => None,
    }
}

/// What others see of a private row: nothing, or a placeholder of a comment that has replies.
fn placeholder(row: Row) -> Option<Row> {
    match row {
        Row::Comment(comment) if comment.is_placeholder => Some(Row::Comment(Arc::new(comment.as_removed()))),
        _ => None,
    }
}

/// Leaves of notes and comments what the viewer may see.
async fn hide_private(reader: &FactsReader, known: &mut FactsMap, authored: &[FactsNumber]) {
    for number in authored {
        let facts = known.of_mut(*number);
        if let Some(Ok(Some(row))) = &facts.row
            && private_to(row).is_some()
        {
            facts.row = Some(reader.visible(row.clone()).await.map_err(Arc::new));
        }
    }
}
