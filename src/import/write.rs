//! A batch of lines in one transaction: entities, edges, ratings, totals and invalidations.
//!
//! Locks are taken in the order of every batch: removals, rows of edges, totals in the order of the catalogue, comments.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet, HashMap, HashSet},
};

use super::{
    carried::CarriedNumbers,
    edges,
    line::{CommentLine, EdgeLine, Line, Reason},
    names::Names,
    rejects::{Reject, no_thing, no_user, removed, taken},
};
use crate::{
    catalogue::{Counter, Counts, Deltas, EdgeKind, Entity, EntityKind, Flip, UnixMillis},
    pipeline::{Moved, Notices},
    primitives::{CommentId, Id, NoteId, ShardCount, UserId},
    store::{
        StoreResult,
        sql::{
            Tx,
            import::{
                entities::{ImportedComment, ImportedGroup, ImportedNote, ImportedUser},
                ratings::ImportedRating,
            },
            moderation::count_comment,
            notes::count_note,
        },
    },
};

/// Why the totals and sets are dropped in Redis.
const REASON: &str = "imported";

/// A line that was parsed.
#[derive(Clone, PartialEq, Debug)]
pub struct ParsedLine {
    pub number: u64,
    pub line: Line,
    pub text: String,
}

/// What a batch does.
pub struct BatchWriter<'a> {
    tx: &'a mut Tx,
    names: &'a mut Names,
    lines: &'a [ParsedLine],
    /// Nothing is written.
    is_dry: bool,
    moved: Moved,
    touched: BTreeSet<Entity>,
    rejected: BTreeMap<u64, Reason>,
    /// Rows that were written.
    rows: u64,
}

/// What a batch has done.
#[derive(PartialEq, Eq, Debug)]
pub struct Written {
    pub rejected: Vec<Reject>,
    pub rows: u64,
}

/// Writes the lines. The caller commits.
pub async fn write(
    tx: &mut Tx,
    names: &mut Names,
    lines: &[ParsedLine],
    shards: ShardCount,
    is_dry: bool,
) -> StoreResult<Written> {
    if !is_dry {
        tx.lock_removals_shared().await?;
        tx.look_up_in_order().await?;
    }
    let (taken, mut refused) = without_erased(tx, lines).await?;
    let mut writer = BatchWriter {
        tx,
        names,
        lines: &taken,
        is_dry,
        moved: Moved::default(),
        touched: BTreeSet::new(),
        rejected: BTreeMap::new(),
        rows: 0,
    };
    writer.users().await?;
    writer.groups().await?;
    writer.notes().await?;
    writer.comments().await?;
    writer.edges_and_ratings(shards).await?;
    let BatchWriter { rejected, rows, .. } = writer;
    refused.extend(rejected);
    let text = |number| {
        let place = lines.binary_search_by_key(&number, |line| line.number).ok()?;
        Some(lines[place].text.clone())
    };
    let reject = |(number, reason)| Reject { number, reason, text: text(number) };
    Ok(Written { rejected: refused.into_iter().map(reject).collect(), rows })
}

/// The lines without those of before the erasure of a user whom they name, and why these are refused, by number.
pub(super) async fn without_erased<'a>(
    tx: &mut Tx,
    lines: &'a [ParsedLine],
) -> StoreResult<(Cow<'a, [ParsedLine]>, BTreeMap<u64, Reason>)> {
    let subjects: BTreeSet<&str> = lines.iter().flat_map(|parsed| parsed.line.subjects()).collect();
    let erasures: HashMap<String, UnixMillis> =
        tx.erasures_of(&subjects.into_iter().collect::<Vec<_>>()).await?.into_iter().collect();
    if erasures.is_empty() {
        return Ok((lines.into(), BTreeMap::new()));
    }
    let reason = |line: &Line| {
        let is_before =
            |subject: &&str| erasures.get(*subject).is_some_and(|erased| line.at() <= Some(*erased));
        line.subjects().find(is_before).map(|subject| {
            format!("the user with the subject {subject:?} was erased; leave out what was before")
        })
    };
    let refused: BTreeMap<u64, Reason> =
        lines.iter().filter_map(|parsed| Some((parsed.number, reason(&parsed.line)?))).collect();
    let taken = lines.iter().filter(|parsed| !refused.contains_key(&parsed.number)).cloned().collect();
    Ok((taken, refused))
}

impl<'a> BatchWriter<'a> {
    fn all(&self) -> impl Iterator<Item = &'a Line> + use<'a> {
        self.lines.iter().map(|parsed| &parsed.line)
    }

    fn reject(&mut self, number: u64, reason: Reason) {
        self.rejected.insert(number, reason);
    }

    async fn users(&mut self) -> StoreResult<()> {
        let now = super::barrier::now();
        let lines = self.all().filter_map(|line| match line {
            Line::User(line) => Some(line),
            _ => None,
        });
        let users: Vec<ImportedUser<'_>> = lines
            .map(|line| ImportedUser {
                subject: &line.subject,
                name: &line.name,
                avatar_url: line.avatar_url.as_deref(),
                at: line.at.unwrap_or(now),
            })
            .collect();
        if !self.is_dry {
            self.rows += self.tx.import_users(&users).await?;
        }
        let all = self.all();
        self.names.load_users(self.tx, all).await?;
        if self.is_dry {
            users.iter().for_each(|user| self.names.invent_user(user.subject));
        }
        Ok(())
    }

    async fn groups(&mut self) -> StoreResult<()> {
        let mut lines = Vec::new();
        for parsed in self.lines {
            let Line::Group(line) = &parsed.line else { continue };
            match self.names.user(&line.owner) {
                Some(owner) => lines.push((parsed.number, owner, line)),
                None => self.reject(parsed.number, no_user(&line.owner)),
            }
        }
        let all = self.all();
        self.names.load_groups(self.tx, all).await?;
        if self.is_dry {
            lines.iter().for_each(|(_, owner, line)| self.names.invent_group(&line.key, *owner));
        } else {
            let new = lines.iter().filter(|(_, _, line)| self.names.group(&line.key).is_none());
            let groups: Vec<ImportedGroup<'_>> = new
                .map(|(_, owner, line)| ImportedGroup {
                    key: &line.key,
                    owner: *owner,
                    name: &line.name,
                    description: &line.description,
                    at: line.at,
                })
                .collect();
            self.rows += self.tx.import_groups(&groups).await?.len() as u64;
            let all = self.all();
            self.names.load_groups(self.tx, all).await?;
        }
        for (number, owner, line) in lines {
            match self.names.group(&line.key).map(|group| group.owner) {
                None => self.reject(number, no_user(&line.owner)),
                Some(other) if other != owner => self.reject(number, taken("group", &line.key)),
                Some(_) => {}
            }
        }
        Ok(())
    }

    async fn notes(&mut self) -> StoreResult<()> {
        let mut lines = Vec::new();
        for parsed in self.lines {
            let Line::Note(line) = &parsed.line else { continue };
            let group = match line.group.as_deref().map(|key| (key, self.names.group(key))) {
                None => Ok(None),
                Some((key, None)) => Err(no_thing("group", key)),
                Some((key, Some(group))) if group.is_removed => Err(removed("group", key)),
                Some((_, Some(group))) => Ok(Some(group.id)),
            };
            match (self.names.user(&line.author), group) {
                (None, _) => self.reject(parsed.number, no_user(&line.author)),
                (_, Err(reason)) => self.reject(parsed.number, reason),
                (Some(author), Ok(group)) => lines.push((parsed.number, author, group, line)),
            }
        }
        let all = self.all();
        self.names.load_notes(self.tx, all).await?;
        if self.is_dry {
            lines.iter().for_each(|(_, author, _, line)| self.names.invent_note(&line.key, *author));
        } else {
            let new = lines.iter().filter(|(_, _, _, line)| self.names.note(&line.key).is_none());
            let notes: Vec<ImportedNote<'_>> = new
                .map(|(_, author, group, line)| ImportedNote {
                    key: &line.key,
                    author: *author,
                    group: *group,
                    url: line.url.as_deref(),
                    title: &line.title,
                    body: &line.body,
                    at: line.at,
                })
                .collect();
            let added = self.tx.import_notes(&notes).await?;
            self.rows += added.len() as u64;
            for note in added {
                self.touched.insert(note.id.into());
                if note.is_shown {
                    count_note(&note.place, &Counts::default(), 1, &mut self.moved.totals);
                }
            }
            let all = self.all();
            self.names.load_notes(self.tx, all).await?;
        }
        for (number, author, _, line) in lines {
            match self.names.note(&line.key).map(|note| note.author) {
                None => self.reject(number, "the author was erased, or the group was removed".into()),
                Some(other) if other != author => self.reject(number, taken("note", &line.key)),
                Some(_) => {}
            }
        }
        Ok(())
    }

    /// Comments that answer others of the batch follow these.
    async fn comments(&mut self) -> StoreResult<()> {
        let of_line = |parsed: &'a ParsedLine| match &parsed.line {
            Line::Comment(line) => Some((parsed.number, line)),
            _ => None,
        };
        let mut waiting: Vec<(u64, &'a CommentLine)> = self.lines.iter().filter_map(of_line).collect();
        let all = self.all();
        self.names.load_comments(self.tx, all).await?;
        while !waiting.is_empty() {
            let keys: HashSet<&'a str> = waiting.iter().map(|(_, line)| -> &'a str { &line.key }).collect();
            let is_known = |key: &str| self.names.comment(key).is_some();
            let must_wait = |line: &CommentLine| {
                let answered = line.reply_to.as_deref();
                answered.is_some_and(|key| !is_known(key) && keys.contains(key) && key != line.key)
            };
            let (later, now): (Vec<_>, Vec<_>) = waiting.into_iter().partition(|(_, line)| must_wait(line));
            if now.is_empty() {
                for (number, _) in later {
                    self.reject(number, "comments answer each other".into());
                }
                return Ok(());
            }
            self.write_comments(now).await?;
            waiting = later;
        }
        Ok(())
    }

    async fn write_comments(&mut self, lines: Vec<(u64, &'a CommentLine)>) -> StoreResult<()> {
        let mut placed = Vec::new();
        for (number, line) in lines {
            match self.place(line) {
                Ok((note, author, answered)) => placed.push((number, note, author, answered, line)),
                Err(reason) => self.reject(number, reason),
            }
        }
        if self.is_dry {
            for (_, note, author, answered, line) in &placed {
                self.names.invent_comment(&line.key, *note, *author, answered.parent);
            }
        } else {
            let mut keys = HashSet::new();
            let new = placed.iter().filter(|(_, _, _, _, line)| {
                self.names.comment(&line.key).is_none() && keys.insert(line.key.as_str())
            });
            let comments: Vec<ImportedComment<'_>> = new
                .map(|(_, note, author, answered, line)| ImportedComment {
                    key: &line.key,
                    note: *note,
                    author: *author,
                    parent: answered.parent,
                    reply_to: answered.reply,
                    body: &line.body,
                    images: &line.images,
                    at: line.at,
                })
                .collect();
            let added = self.tx.import_comments(&comments).await?;
            self.rows += added.len() as u64;
            for header in added.iter().filter(|header| header.is_counted) {
                count_comment(header, 1, &mut self.moved.totals);
                self.touched.extend(header.parent.map(Entity::from));
            }
            let all = self.all();
            self.names.load_comments(self.tx, all).await?;
        }
        for (number, note, author, _, line) in placed {
            match self.names.comment(&line.key).map(|comment| (comment.note, comment.author)) {
                None => self.reject(number, "the author was erased, or the note was removed".into()),
                Some(other) if other != (note, author) => self.reject(number, taken("comment", &line.key)),
                Some(_) => {}
            }
        }
        Ok(())
    }

    /// The note and author of a comment, and what it answers.
    fn place(&self, line: &CommentLine) -> Result<(NoteId, UserId, Answered), Reason> {
        let author = self.names.user(&line.author).ok_or_else(|| no_user(&line.author))?;
        let note = self.names.note(&line.note).ok_or_else(|| no_thing("note", &line.note))?;
        if note.is_removed && self.names.comment(&line.key).is_none() {
            return Err(removed("note", &line.note));
        }
        let Some(key) = &line.reply_to else { return Ok((note.id, author, Answered::default())) };
        let answered = self.names.comment(key).ok_or_else(|| no_thing("comment", key))?;
        if answered.note != note.id {
            return Err(format!("the comment {key:?} is on another note"));
        }
        if answered.is_removed && self.names.comment(&line.key).is_none() {
            return Err(removed("comment", key));
        }
        let parent = answered.parent.unwrap_or(answered.id);
        let reply = answered.parent.map(|_| answered.id);
        Ok((note.id, author, Answered { parent: Some(parent), reply }))
    }

    async fn edges_and_ratings(&mut self, shards: ShardCount) -> StoreResult<()> {
        let (mut flips, mut numbers) = (Vec::new(), Vec::new());
        for parsed in self.lines {
            let Line::Edge(line) = &parsed.line else { continue };
            match self.flip(line) {
                Ok(flip) => {
                    flips.push(flip);
                    numbers.push((parsed.number, flip));
                }
                Err(reason) => self.reject(parsed.number, reason),
            }
        }
        let ratings = self.ratings();
        let carried = self.lines.iter().filter_map(|parsed| Some((parsed.number, parsed.line.carried()?)));
        let (carried, rejected) = CarriedNumbers::of(carried, self.names);
        self.rejected.extend(rejected);
        if self.is_dry {
            return Ok(());
        }
        let flips = edges::newest(flips);
        let changes = edges::write(self.tx, &flips).await?;
        self.rows += changes.rows;
        let edge = |flip: &Flip| (flip.kind, flip.actor, flip.target);
        let erased: HashSet<_> = changes.erased.iter().map(|flip| edge(flip)).collect();
        for (number, _) in numbers.iter().filter(|(_, flip)| erased.contains(&edge(flip))) {
            self.reject(*number, "the user was erased".into());
        }
        self.moved.add_all(changes.moved.totals);
        self.settle(&ratings, &carried, &changes.notices).await?;
        self.invalidate(shards, changes.sets).await
    }

    fn flip(&self, line: &EdgeLine) -> Result<Flip, Reason> {
        let EdgeLine { kind, target: key, on, at, .. } = line;
        let actor = self.names.user(&line.user).ok_or_else(|| no_user(&line.user))?;
        let unknown = || match kind.target() {
            EntityKind::User => no_user(key),
            thing => no_thing(thing.name(), key),
        };
        let (target, owner) = self.names.target(*kind, key).ok_or_else(unknown)?;
        Ok(Flip { kind: *kind, actor, target, owner, on: *on, at: *at, by: None })
    }

    /// The newest rating of each user and note.
    fn ratings(&mut self) -> Vec<ImportedRating> {
        let mut newest = BTreeMap::<(NoteId, UserId), ImportedRating>::new();
        for parsed in self.lines {
            let Line::Rating(line) = &parsed.line else { continue };
            let user = self.names.user(&line.user).ok_or_else(|| no_user(&line.user));
            let note = match self.names.note(&line.note) {
                None => Err(no_thing("note", &line.note)),
                Some(note) => Ok(note.id),
            };
            match user.and_then(|user| Ok((user, note?))) {
                Err(reason) => self.reject(parsed.number, reason),
                Ok((user, note)) => {
                    let rating = ImportedRating { user, note, score: line.score.get(), at: line.at };
                    let of_both = newest.entry((note, user)).or_insert(rating);
                    if rating.at > of_both.at {
                        *of_both = rating;
                    }
                }
            }
        }
        newest.into_values().collect()
    }

    /// Locks and moves the totals, in the order of the catalogue, and writes what needs their locks.
    async fn settle(
        &mut self,
        ratings: &[ImportedRating],
        carried: &CarriedNumbers<'_>,
        notices: &Notices<'_>,
    ) -> StoreResult<()> {
        let parents: Vec<CommentId> = self.touched_comments();
        if !ratings.is_empty() || !carried.is_empty() || !parents.is_empty() {
            let rated = ratings.iter().map(|rating| Entity::from(rating.note));
            let affected: BTreeSet<Entity> =
                self.moved.totals.keys().copied().chain(rated).chain(carried.affected()).collect();
            self.tx.lock_all_totals(&affected.into_iter().collect::<Vec<_>>()).await?;
        }
        for rating in self.tx.import_ratings(ratings).await? {
            self.rows += 1;
            if !rating.note_is_present {
                continue;
            }
            let after = rating.included.then_some(rating.score);
            for (score, sign) in [(rating.before, -1), (after, 1)] {
                let Some(score) = score else { continue };
                self.moved.add(rating.note.into(), Counter::NoteRatings, sign);
                self.moved.add(rating.note.into(), Counter::NoteRatingSum, sign * i64::from(score));
            }
        }
        let carried = carried.write(self.tx).await?;
        self.rows += carried.rows;
        self.rejected.extend(carried.rejected);
        self.moved.add_all(carried.moved);
        for kind in EntityKind::ALL {
            let moved = of_kind(*kind, &self.moved.totals);
            self.tx.add_in_order(*kind, &moved).await?;
            if *kind == EntityKind::Inbox && !moved.is_empty() {
                let taken_back = notices.write(self.tx).await?;
                self.tx.add_totals(*kind, &taken_back).await?;
                self.moved.add_all(taken_back);
            }
        }
        if !parents.is_empty() {
            self.tx.set_placeholders(&parents, true).await?;
        }
        Ok(())
    }

    fn touched_comments(&self) -> Vec<CommentId> {
        let comments = self.touched.iter().filter(|entity| entity.kind == EntityKind::Comment);
        comments.map(|entity| CommentId(entity.id)).collect()
    }

    async fn invalidate(
        &mut self,
        shards: ShardCount,
        sets: BTreeSet<(EdgeKind, UserId)>,
    ) -> StoreResult<()> {
        self.touched.extend(self.moved.totals.keys());
        let entities: Vec<Entity> = self.touched.iter().copied().collect();
        self.tx.add_invalidations(shards, &entities, REASON).await?;
        self.tx.add_set_invalidations(shards, &sets.into_iter().collect::<Vec<_>>(), REASON).await
    }
}

/// What a comment answers.
#[derive(Clone, Copy, Default)]
struct Answered {
    /// The comment below which it stands.
    parent: Option<CommentId>,
    /// The reply that it answers.
    reply: Option<CommentId>,
}

fn of_kind(kind: EntityKind, moved: &Deltas) -> Vec<(Id, Counts)> {
    let moved = moved.iter().filter(|(entity, _)| entity.kind == kind);
    moved.map(|(entity, by)| (entity.id, *by)).collect()
}
