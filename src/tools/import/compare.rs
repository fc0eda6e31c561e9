//! A comparison of lines with Plaudit: what it lacks, and what it has otherwise. Rows that are missing from the lines
//! are not reported.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    io::{self, Write},
    sync::atomic::Ordering::Relaxed,
};

use super::{
    barrier::{Barrier, NotPersisted},
    batch_writer::ParsedLine,
    batches::{Batches, Reading},
    carried::{Carrier, carrier},
    line::{CarriedLine, CommentLine, EdgeLine, GroupLine, Line, NoteLine, RatingLine, UserLine},
    names::Names,
    run::Progress,
    source::Source,
    write::without_erased,
};
use plaudit_catalogue::{
    Counter, EdgeKind, Entity, EntityKind, UnixMillis,
    primitives::{CommentId, GroupId, Id, NoteId, UserId},
};
use plaudit_store::{
    StoreError, StoreResult,
    redis::Redis,
    sql::{
        Db, Tx,
        counting::carried::{self, CarriedNumber},
        import::stored::{self, StoredComment, StoredGroup, StoredNote, StoredUser},
    },
};

#[derive(Debug, thiserror::Error)]
pub enum CompareError {
    #[error("cannot read {name}: {source}")]
    Read { name: String, source: io::Error },
    #[error("cannot write the differences: {0}")]
    Write(io::Error),
    #[error(transparent)]
    NotPersisted(#[from] NotPersisted),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Numbers of lines.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Compared {
    pub lines: u64,
    /// Plaudit has nothing of them.
    pub missing: u64,
    /// Plaudit has other texts, or an older edge or rating that says otherwise.
    pub otherwise: u64,
    /// What Plaudit has came later: a removal, an erasure, an edge or rating. An import changes nothing of it.
    pub later: u64,
}

/// What a comparison of a file has found.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Comparison {
    /// By the types of lines.
    pub types: BTreeMap<&'static str, Compared>,
    /// Lines that say nothing that could be compared. An import rejects them.
    pub wrong: u64,
}

impl Comparison {
    pub fn all(&self) -> Compared {
        self.types.values().fold(Compared::default(), |all, of| Compared {
            lines: all.lines + of.lines,
            missing: all.missing + of.missing,
            otherwise: all.otherwise + of.otherwise,
            later: all.later + of.later,
        })
    }

    /// Whether Plaudit has what the lines say, or what came later.
    pub fn is_equal(&self) -> bool {
        let all = self.all();
        all.missing + all.otherwise + self.wrong == 0
    }

    fn count(&mut self, line: &Line, finding: LineFinding) {
        let of_type = self.types.entry(line.type_name()).or_default();
        of_type.lines += 1;
        match finding {
            LineFinding::Same => {}
            LineFinding::Missing => of_type.missing += 1,
            LineFinding::Otherwise => of_type.otherwise += 1,
            LineFinding::Later => of_type.later += 1,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum LineFinding {
    Same,
    Missing,
    Otherwise,
    Later,
}

/// Compares one source after the other, in batches.
pub struct Comparer {
    db: Db,
    barrier: Barrier,
    names: Names,
}

impl Comparer {
    pub fn new(redis: Redis, db: Db) -> Self {
        Self { barrier: Barrier::new(redis, db.clone()), db, names: Names::default() }
    }

    /// Writes the lines that are missing or otherwise to `differences`, in their order.
    ///
    /// # Errors
    /// [`CompareError`].
    pub async fn compare(
        &mut self,
        source: &Source,
        differences: &mut Option<impl Write>,
        progress: &Progress,
    ) -> Result<Comparison, CompareError> {
        let reading = |error: io::Error| CompareError::Read { name: source.name(), source: error };
        let mut batches = Batches::of(source.open().map_err(reading)?, progress.bytes.clone());
        let mut comparison = Comparison::default();
        while let Some(batch) = batches.next(Reading::AHEAD).await {
            let batch = batch.map_err(reading)?;
            if let Some(newest) = batch.lines.iter().filter_map(|parsed| parsed.line.edge_time()).max() {
                self.barrier.wait(newest).await??;
            }
            self.names.shrink_unless(false);
            comparison.wrong += batch.rejected.len() as u64;
            for (parsed, finding) in batch.lines.iter().zip(self.find(&batch.lines).await?) {
                comparison.count(&parsed.line, finding);
                if let (LineFinding::Missing | LineFinding::Otherwise, Some(out)) =
                    (finding, &mut *differences)
                {
                    writeln!(out, "{}", parsed.text).map_err(CompareError::Write)?;
                }
            }
            progress.lines.fetch_add(batch.lines.len() as u64, Relaxed);
        }
        Ok(comparison)
    }

    /// Findings in the order of the lines.
    async fn find(&mut self, lines: &[ParsedLine]) -> StoreResult<Vec<LineFinding>> {
        let (mut tx, names) = (self.db.begin().await?, &mut self.names);
        let all = || lines.iter().map(|parsed| &parsed.line);
        names.load_users(&mut tx, all()).await?;
        names.load_groups(&mut tx, all()).await?;
        names.load_notes(&mut tx, all()).await?;
        names.load_comments(&mut tx, all()).await?;
        names.load_installation(&mut tx, all()).await?;
        let (_, erased) = without_erased(&mut tx, lines).await?;
        let stored = Stored::read(&mut tx, names, lines).await?;
        let finding = |parsed: &ParsedLine| match erased.contains_key(&parsed.number) {
            true => LineFinding::Later,
            false => stored.finding(&parsed.line),
        };
        Ok(lines.iter().map(finding).collect())
    }
}

/// What Plaudit has of a batch.
struct Stored<'a> {
    names: &'a Names,
    users: HashMap<UserId, StoredUser>,
    groups: HashMap<GroupId, StoredGroup>,
    notes: HashMap<NoteId, StoredNote>,
    comments: HashMap<CommentId, StoredComment>,
    edges: HashMap<(EdgeKind, UserId, Id), (bool, UnixMillis)>,
    ratings: HashMap<(UserId, NoteId), (i16, UnixMillis)>,
    carried: HashMap<(Entity, Counter), i64>,
}

impl<'a> Stored<'a> {
    async fn read(tx: &mut Tx, names: &'a Names, lines: &[ParsedLine]) -> StoreResult<Self> {
        let (mut users, mut groups) = (HashSet::new(), HashSet::new());
        let (mut notes, mut comments) = (HashSet::new(), HashSet::new());
        let (mut edges, mut ratings) = (BTreeMap::<EdgeKind, HashSet<_>>::new(), HashSet::new());
        let mut carriers = HashSet::new();
        for parsed in lines {
            match &parsed.line {
                Line::User(line) => users.extend(names.user(&line.subject)),
                Line::Group(line) => groups.extend(names.group(&line.key).map(|group| group.id)),
                Line::Note(line) => notes.extend(names.note(&line.key).map(|note| note.id)),
                Line::Comment(line) => comments.extend(names.comment(&line.key).map(|comment| comment.id)),
                Line::Edge(line) => edges.entry(line.kind).or_default().extend(edge(names, line)),
                Line::Rating(line) => ratings.extend(rating(names, line)),
                Line::Carried(line) => carriers.extend(carrier(names, line).map(|of| of.entity)),
            }
        }
        let mut stored_edges = HashMap::new();
        for (kind, edges) in edges {
            let rows = stored::stored_edges(tx, kind, &edges.into_iter().collect::<Vec<_>>()).await?;
            stored_edges
                .extend(rows.into_iter().map(|((actor, target), state)| ((kind, actor, target), state)));
        }
        let mut carried = HashMap::new();
        for kind in [EntityKind::User, EntityKind::Note] {
            let of_kind = carriers.iter().filter(|of: &&Entity| of.kind == kind);
            let numbers = carried::carried_of(tx, kind, &of_kind.map(|of| of.id).collect::<Vec<_>>()).await?;
            let number = |of: CarriedNumber| ((Entity::new(kind, of.id), of.counter), of.value);
            carried.extend(numbers.into_iter().map(number));
        }
        let users = stored::stored_users(tx, &users.into_iter().collect::<Vec<_>>()).await?;
        let groups = stored::stored_groups(tx, &groups.into_iter().collect::<Vec<_>>()).await?;
        let notes = stored::stored_notes(tx, &notes.into_iter().collect::<Vec<_>>()).await?;
        let comments = stored::stored_comments(tx, &comments.into_iter().collect::<Vec<_>>()).await?;
        let ratings = stored::stored_ratings(tx, &ratings.into_iter().collect::<Vec<_>>()).await?;
        Ok(Self {
            names,
            users: users.into_iter().map(|user| (user.id, user)).collect(),
            groups: groups.into_iter().map(|group| (group.id, group)).collect(),
            notes: notes.into_iter().map(|note| (note.id, note)).collect(),
            comments: comments.into_iter().map(|comment| (comment.id, comment)).collect(),
            edges: stored_edges,
            ratings: ratings.into_iter().collect(),
            carried,
        })
    }

    fn finding(&self, line: &Line) -> LineFinding {
        match line {
            Line::User(line) => self.user(line),
            Line::Group(line) => self.group(line),
            Line::Note(line) => self.note(line),
            Line::Comment(line) => self.comment(line),
            Line::Edge(line) => self.edge(line),
            Line::Rating(line) => self.rating(line),
            Line::Carried(line) => self.carried(line),
        }
    }

    fn user(&self, line: &UserLine) -> LineFinding {
        let user = self.names.user(&line.subject).and_then(|id| self.users.get(&id));
        user.map_or(LineFinding::Missing, |user| {
            same(user.name == line.name && is_said(&line.avatar_url, &user.avatar_url))
        })
    }

    fn group(&self, line: &GroupLine) -> LineFinding {
        let Some(named) = self.names.group(&line.key) else { return LineFinding::Missing };
        let Some(group) = self.groups.get(&named.id).filter(|_| !named.is_removed) else {
            return LineFinding::Later;
        };
        let owner = self.names.user(&line.owner);
        same(owner == Some(named.owner) && group.name == line.name && group.description == line.description)
    }

    fn note(&self, line: &NoteLine) -> LineFinding {
        let Some(named) = self.names.note(&line.key) else { return LineFinding::Missing };
        let Some(note) = self.notes.get(&named.id).filter(|_| !named.is_removed) else {
            return LineFinding::Later;
        };
        let is_in_group = line.group.as_deref().is_none_or(|key| {
            let group = self.names.group(key).map(|group| group.id);
            group.is_some() && group == note.group
        });
        let is_by_author = self.names.user(&line.author) == Some(named.author);
        let has_texts = note.title == line.title && note.body == line.body && is_said(&line.url, &note.url);
        same(is_in_group && is_by_author && has_texts)
    }

    fn comment(&self, line: &CommentLine) -> LineFinding {
        let Some(named) = self.names.comment(&line.key) else { return LineFinding::Missing };
        let Some(comment) = self.comments.get(&named.id).filter(|_| !named.is_removed) else {
            return LineFinding::Later;
        };
        let is_below = line.reply_to.as_deref().is_none_or(|key| {
            let parent = self.names.comment(key).map(|answered| answered.parent.unwrap_or(answered.id));
            parent.is_some() && parent == named.parent
        });
        let is_on_note = self.names.note(&line.note).map(|note| note.id) == Some(named.note);
        let is_by_author = self.names.user(&line.author) == Some(named.author);
        let has_texts = comment.body == line.body && comment.images == line.images;
        same(is_below && is_on_note && is_by_author && has_texts)
    }

    fn edge(&self, line: &EdgeLine) -> LineFinding {
        let row = edge(self.names, line)
            .and_then(|(actor, target)| self.edges.get(&(line.kind, actor, target)).copied());
        match row {
            None if line.on => LineFinding::Missing,
            None => LineFinding::Same,
            Some((is_on, _)) if is_on == line.on => LineFinding::Same,
            Some((_, at)) => otherwise_since(at, line.at),
        }
    }

    fn rating(&self, line: &RatingLine) -> LineFinding {
        match rating(self.names, line).and_then(|rating| self.ratings.get(&rating).copied()) {
            None => LineFinding::Missing,
            Some((score, _)) if score == line.score.get() => LineFinding::Same,
            Some((_, at)) => otherwise_since(at, line.at),
        }
    }

    /// What was never set is 0.
    fn carried(&self, line: &CarriedLine) -> LineFinding {
        match carrier(self.names, line) {
            _ if self.names.is_from_here(line) => LineFinding::Same,
            None => LineFinding::Missing,
            Some(Carrier { is_removed: true, .. }) => LineFinding::Later,
            Some(Carrier { entity, .. }) => match self.carried.get(&(entity, line.counter)) {
                None if line.value > 0 => LineFinding::Missing,
                stored => same(stored.copied().unwrap_or_default() == line.value),
            },
        }
    }
}

fn edge(names: &Names, line: &EdgeLine) -> Option<(UserId, Id)> {
    Some((names.user(&line.user)?, names.target(line.kind, &line.target)?.0))
}

fn rating(names: &Names, line: &RatingLine) -> Option<(UserId, NoteId)> {
    Some((names.user(&line.user)?, names.note(&line.note)?.id))
}

const fn same(is_same: bool) -> LineFinding {
    if is_same { LineFinding::Same } else { LineFinding::Otherwise }
}

/// Of equal times an import leaves the row.
const fn otherwise_since(row: UnixMillis, line: UnixMillis) -> LineFinding {
    if row >= line { LineFinding::Later } else { LineFinding::Otherwise }
}

/// Whether an optional field of a line is left out, or what is stored.
fn is_said(line: &Option<String>, stored: &Option<String>) -> bool {
    line.is_none() || line == stored
}
