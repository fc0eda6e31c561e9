//! Writes the demo data in one transaction: a kill leaves nothing half done.
//!
//! No `stale_base` lines: they correct what Redis holds of an entity, and Redis cannot hold anything of
//! entities that never were. No `activity` either: history begins with the service.

use std::fmt;

use super::{SeedSize, demo::Demo, graph::Edge};
use crate::{
    catalogue::{EdgeKind, UnixMillis},
    store::{
        StoreResult,
        sql::{Db, Tx, commit, seed as sql},
    },
};

/// Rows per statement.
const CHUNK: usize = 2_000;

/// How much of each inbox its owner has read.
const READ_PERCENT: i64 = 70;

/// What became of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SeedOutcome {
    Filled(Seeded),
    /// There were users or notes already; nothing was written.
    AlreadyFilled,
}

/// How much was written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Seeded {
    pub users: usize,
    pub notes: usize,
    pub comments: usize,
    pub follows: usize,
    pub note_likes: usize,
    pub comment_likes: usize,
}

/// Fills an empty database. The data covers the sixty days before `now` and is the same for the same size.
/// `on_progress` hears how much is done, of how much, and what is being written; at the end, and only
/// then, both numbers are equal.
///
/// Takes a few seconds, in which nobody else can create users, notes or comments.
pub async fn seed(
    db: &Db,
    size: SeedSize,
    now: UnixMillis,
    on_progress: impl Fn(u64, u64, &'static str),
) -> StoreResult<SeedOutcome> {
    let mut tx = db.begin().await?;
    sql::lock_entities(db, &mut tx).await?;
    if !sql::is_empty(db, &mut tx).await? {
        return Ok(SeedOutcome::AlreadyFilled);
    }
    let demo = Demo::new(size, now);
    let seeded = Seeded::of(&demo);
    let mut writing = Writing { db, tx, done: 0, total: statements(&seeded), on_progress };
    writing.users(&demo).await?;
    writing.notes(&demo).await?;
    writing.comments(&demo).await?;
    writing.edges("follows", EdgeKind::Follow, &demo.follows).await?;
    writing.edges("likes", EdgeKind::NoteLike, &demo.note_likes).await?;
    writing.edges("likes of comments", EdgeKind::CommentLike, &demo.comment_likes).await?;
    writing.inboxes().await?;
    writing.totals().await?;
    writing.ids().await?;
    writing.commit().await?;
    Ok(SeedOutcome::Filled(seeded))
}

impl Seeded {
    fn of(demo: &Demo) -> Self {
        Self {
            users: demo.people.len(),
            notes: demo.notes.len(),
            comments: demo.comments.len(),
            follows: demo.follows.len(),
            note_likes: demo.note_likes.len(),
            comment_likes: demo.comment_likes.len(),
        }
    }
}

impl fmt::Display for Seeded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} users, {} notes, {} comments, {} follows, {} likes of notes and {} of comments",
            self.users, self.notes, self.comments, self.follows, self.note_likes, self.comment_likes
        )
    }
}

/// How many statements it takes: the unit of progress.
fn statements(seeded: &Seeded) -> u64 {
    let Seeded { users, notes, comments, follows, note_likes, comment_likes } = *seeded;
    let with_rows = [users, notes, notes, comments, comments, follows, note_likes, comment_likes]
        .map(|rows| rows.div_ceil(CHUNK));
    let over_rows = sql::INBOX.len() + sql::TOTALS.len() + sql::NUMBERED.len();
    let (read_marks, commit) = (1, 1);
    (with_rows.iter().sum::<usize>() + over_rows + read_marks + commit) as u64
}

/// A seeding under way.
struct Writing<'a, F> {
    db: &'a Db,
    tx: Tx,
    done: u64,
    total: u64,
    on_progress: F,
}

impl<F: Fn(u64, u64, &'static str)> Writing<'_, F> {
    async fn users(&mut self, demo: &Demo) -> StoreResult<()> {
        for (ids, people) in chunks(&demo.people) {
            let subjects = column(people, |person| person.subject.as_str());
            let names = column(people, |person| person.name.as_str());
            let joined_at = column(people, |person| person.joined_at);
            sql::add_users(self.db, &mut self.tx, ids, subjects, names, joined_at).await?;
            self.step("users");
        }
        Ok(())
    }

    async fn notes(&mut self, demo: &Demo) -> StoreResult<()> {
        for (ids, notes) in chunks(&demo.notes) {
            let authors = column(notes, |note| id(note.author));
            let titles = column(notes, |note| note.title.as_str());
            let bodies = column(notes, |note| note.body.as_str());
            let written_at = column(notes, |note| note.written_at);
            sql::add_notes(self.db, &mut self.tx, ids, authors, titles, bodies, written_at).await?;
            self.step("notes");
        }
        for (ids, views) in chunks(&demo.views) {
            sql::set_views(self.db, &mut self.tx, ids, views.to_vec()).await?;
            self.step("views");
        }
        Ok(())
    }

    async fn comments(&mut self, demo: &Demo) -> StoreResult<()> {
        for (ids, comments) in chunks(&demo.comments) {
            let notes = column(comments, |comment| id(comment.note));
            let authors = column(comments, |comment| id(comment.author));
            let parents = column(comments, |comment| comment.parent.map(id));
            let written_at = column(comments, |comment| comment.written_at);
            let bodies = column(comments, |comment| comment.body.as_str());
            sql::add_comments(self.db, &mut self.tx, ids.clone(), notes, authors, parents, written_at)
                .await?;
            self.step("comments");
            sql::add_comment_bodies(self.db, &mut self.tx, ids, bodies).await?;
            self.step("comments");
        }
        Ok(())
    }

    async fn edges(&mut self, what: &'static str, kind: EdgeKind, edges: &[Edge]) -> StoreResult<()> {
        for edges in edges.chunks(CHUNK) {
            let actors = column(edges, |edge| id(edge.actor));
            let targets = column(edges, |edge| id(edge.target));
            let since = column(edges, |edge| edge.since);
            sql::add_edges(self.db, &mut self.tx, kind, actors, targets, since).await?;
            self.step(what);
        }
        Ok(())
    }

    async fn inboxes(&mut self) -> StoreResult<()> {
        for (kind, rows) in sql::INBOX {
            sql::add_inbox_entries_from(self.db, &mut self.tx, kind, rows).await?;
            self.step("inboxes");
        }
        Ok(())
    }

    /// Counts what was written, so that totals equal rows whatever was written.
    async fn totals(&mut self) -> StoreResult<()> {
        for (counter, rows) in sql::TOTALS {
            sql::count_rows(self.db, &mut self.tx, counter, rows).await?;
            self.step("totals");
        }
        sql::mark_read(self.db, &mut self.tx, READ_PERCENT).await?;
        self.step("totals");
        Ok(())
    }

    async fn ids(&mut self) -> StoreResult<()> {
        for table in sql::NUMBERED {
            sql::advance_ids(self.db, &mut self.tx, table).await?;
            self.step("ids");
        }
        Ok(())
    }

    async fn commit(mut self) -> StoreResult<()> {
        commit(self.db, self.tx).await?;
        self.done += 1;
        (self.on_progress)(self.done, self.total, "done");
        Ok(())
    }

    fn step(&mut self, what: &'static str) {
        self.done += 1;
        (self.on_progress)(self.done, self.total, what);
    }
}

/// The id of what stands at a position.
const fn id(position: usize) -> i64 {
    position as i64 + 1
}

/// Rows for one statement each, with their ids.
fn chunks<T>(rows: &[T]) -> impl Iterator<Item = (Vec<i64>, &[T])> {
    rows.chunks(CHUNK).enumerate().map(|(number, chunk)| {
        let first = number * CHUNK;
        ((first..first + chunk.len()).map(id).collect(), chunk)
    })
}

fn column<'a, T, C>(rows: &'a [T], value: impl Fn(&'a T) -> C) -> Vec<C> {
    rows.iter().map(value).collect()
}
