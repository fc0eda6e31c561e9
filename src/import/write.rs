//! A batch of lines in one transaction: entities, edges, ratings, totals and invalidations.
//!
//! Locks are taken in the order of every batch: removals, rows of edges, totals in the order of the catalogue, comments.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet, HashMap, HashSet},
};

use super::{
    edges,
    line::{EdgeLine, Line, Reason},
    names::{Names, no_thing, no_user},
    rejects::Reject,
};
use crate::{
    catalogue::{Counter, Counts, Deltas, EdgeKind, Entity, EntityKind, Flip, UnixMillis},
    pipeline::{Moved, Notices},
    primitives::{CommentId, Id, ShardCount, UserId},
    store::{
        StoreResult,
        sql::{Tx, import::ratings::ImportedRating},
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
    pub(super) tx: &'a mut Tx,
    pub(super) names: &'a mut Names,
    pub(super) lines: &'a [ParsedLine],
    /// Nothing is written.
    pub(super) is_dry: bool,
    pub(super) moved: Moved,
    pub(super) touched: BTreeSet<Entity>,
    rejected: BTreeMap<u64, Reason>,
    /// Rows that were written.
    pub(super) rows: u64,
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
    pub(super) fn all(&self) -> impl Iterator<Item = &'a Line> + use<'a> {
        self.lines.iter().map(|parsed| &parsed.line)
    }

    pub(super) fn reject(&mut self, number: u64, reason: Reason) {
        self.rejected.insert(number, reason);
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
        self.settle(&ratings, &changes.notices).await?;
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

    /// Locks and moves the totals, in the order of the catalogue, and writes what needs their locks.
    async fn settle(&mut self, ratings: &[ImportedRating], notices: &Notices<'_>) -> StoreResult<()> {
        let parents: Vec<CommentId> = self.touched_comments();
        if !ratings.is_empty() || !parents.is_empty() {
            let rated = ratings.iter().map(|rating| Entity::from(rating.note));
            let affected: BTreeSet<Entity> = self.moved.totals.keys().copied().chain(rated).collect();
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

fn of_kind(kind: EntityKind, moved: &Deltas) -> Vec<(Id, Counts)> {
    let moved = moved.iter().filter(|(entity, _)| entity.kind == kind);
    moved.map(|(entity, by)| (entity.id, *by)).collect()
}
