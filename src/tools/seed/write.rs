//! Writes the demo data in one transaction: a kill leaves all of it or nothing.
//!
//! Writes no invalidations: Redis has nothing of entities that did not exist before.

use plaudit_demo_data::{DemoData, DemoEdge, SeedSize, Timeline};

use super::{SeedOutcome, Seeded};
use plaudit_catalogue::{EdgeKind, UnixMillis};
use plaudit_store::{
    StoreResult,
    sql::{
        Db, Tx,
        counting::activity,
        seed::{self as sql, GrantRows, MessageRows, NoteRows},
    },
};

/// Rows per statement.
const CHUNK: usize = 2_000;

/// Edges whose steps are in the history: those of rankings and charts.
const KEPT: [EdgeKind; 2] = [EdgeKind::NoteLike, EdgeKind::NoteCollect];

/// Users have read what is older than this, in milliseconds: three days.
const UNREAD_FOR: UnixMillis = 3 * 24 * 60 * 60 * 1_000;

/// The service that grants coins: the first user.
const GRANTED_BY: i64 = 1;

/// Fills an empty database. The data covers the sixty days before `now` and is the same for the same size.
/// `on_progress` gets the number of completed statements, their total number, and the name of the present step. The
/// numbers are equal only at the end.
///
/// Takes a few seconds, during which no other transaction can create users, groups, notes or comments.
pub async fn seed(
    db: &Db,
    size: SeedSize,
    now: UnixMillis,
    on_progress: impl Fn(u64, u64, &'static str),
) -> StoreResult<SeedOutcome> {
    let mut tx = db.begin().await?;
    sql::lock_entities(&mut tx).await?;
    if !sql::is_empty(&mut tx).await? {
        return Ok(SeedOutcome::AlreadyFilled);
    }
    sql::prepare(&mut tx).await?;
    let (demo, history) = (DemoData::new(size, now), Timeline::ending(now));
    // On another connection, because creating partitions in this transaction would lock the history until its end.
    activity::ensure_activity_days(db, &history.kept_days()).await?;
    let (read_before, total) = (now - UNREAD_FOR, statements(&demo));
    let mut writing = Seeding { tx, read_before, done: 0, total, on_progress };
    writing.users(&demo).await?;
    writing.groups(&demo).await?;
    writing.notes(&demo).await?;
    writing.comments(&demo).await?;
    for (what, kind, edges) in edges(&demo) {
        writing.edges(what, kind, edges).await?;
    }
    writing.coins(&demo).await?;
    writing.inboxes(&demo).await?;
    writing.activity(history).await?;
    writing.totals().await?;
    writing.ids().await?;
    writing.commit().await?;
    Ok(SeedOutcome::Filled(Seeded::of(&demo)))
}

/// Everything that is written as edges, with its name in the progress bar.
fn edges(demo: &DemoData) -> [(&'static str, EdgeKind, &[DemoEdge]); 5] {
    [
        ("follows", EdgeKind::Follow, &demo.follows),
        ("members", EdgeKind::GroupJoin, &demo.members),
        ("likes", EdgeKind::NoteLike, &demo.note_likes),
        ("likes of comments", EdgeKind::CommentLike, &demo.comment_likes),
        ("collects", EdgeKind::NoteCollect, &demo.collects),
    ]
}

/// Number of statements, the unit of progress.
fn statements(demo: &DemoData) -> u64 {
    let (notes, comments) = (demo.notes.len(), demo.comments.len());
    let once = [demo.people.len(), demo.groups.len(), demo.ledger.len()];
    let twice = [notes, notes, comments, comments];
    let edges = edges(demo).map(|(_, _, edges)| edges.len());
    let with_rows = once.iter().chain(&twice).chain(&edges).map(|rows| rows.div_ceil(CHUNK));
    let over_rows = KEPT.len() + sql::TOTALS.len() + sql::NUMBERED.len();
    let (coins, inboxes, ranks, commit) = (1, 1, 1, 1);
    (with_rows.sum::<usize>() + over_rows + coins + inboxes + ranks + commit) as u64
}

/// A seeding in progress.
struct Seeding<F> {
    tx: Tx,
    read_before: UnixMillis,
    done: u64,
    total: u64,
    on_progress: F,
}

impl<F: Fn(u64, u64, &'static str)> Seeding<F> {
    async fn users(&mut self, demo: &DemoData) -> StoreResult<()> {
        for (ids, people) in chunks(&demo.people) {
            let subjects = column(people, |person| person.subject.as_str());
            let names = column(people, |person| person.name.as_str());
            let joined_at = column(people, |person| person.joined_at);
            sql::add_users(&mut self.tx, ids, subjects, names, joined_at).await?;
            self.step("users");
        }
        Ok(())
    }

    async fn groups(&mut self, demo: &DemoData) -> StoreResult<()> {
        for (ids, groups) in chunks(&demo.groups) {
            let owners = column(groups, |group| id(group.owner));
            let names = column(groups, |group| group.name);
            let descriptions = column(groups, |group| group.description);
            let founded_at = column(groups, |group| group.founded_at);
            sql::add_groups(&mut self.tx, ids, owners, names, descriptions, founded_at).await?;
            self.step("groups");
        }
        Ok(())
    }

    async fn notes(&mut self, demo: &DemoData) -> StoreResult<()> {
        for (ids, notes) in chunks(&demo.notes) {
            let rows = NoteRows {
                ids,
                authors: column(notes, |note| id(note.author)),
                titles: column(notes, |note| note.title.as_str()),
                bodies: column(notes, |note| note.body.as_str()),
                written_at: column(notes, |note| note.written_at),
                groups: column(notes, |note| note.group.map(id)),
                featured_at: column(notes, |note| note.featured_at),
            };
            sql::add_notes(&mut self.tx, rows).await?;
            self.step("notes");
        }
        for (ids, views) in chunks(&demo.views) {
            sql::set_views(&mut self.tx, ids, views.to_vec()).await?;
            self.step("views");
        }
        Ok(())
    }

    async fn comments(&mut self, demo: &DemoData) -> StoreResult<()> {
        for (ids, comments) in chunks(&demo.comments) {
            let notes = column(comments, |comment| id(comment.note));
            let authors = column(comments, |comment| id(comment.author));
            let parents = column(comments, |comment| comment.parent.map(id));
            let written_at = column(comments, |comment| comment.written_at);
            let bodies = column(comments, |comment| comment.body.as_str());
            sql::add_comments(&mut self.tx, ids.clone(), notes, authors, parents, written_at).await?;
            self.step("comments");
            sql::add_comment_bodies(&mut self.tx, ids, bodies).await?;
            self.step("comments");
        }
        Ok(())
    }

    async fn edges(&mut self, what: &'static str, kind: EdgeKind, edges: &[DemoEdge]) -> StoreResult<()> {
        for edges in edges.chunks(CHUNK) {
            let actors = column(edges, |edge| id(edge.actor));
            let targets = column(edges, |edge| id(edge.target));
            let since = column(edges, |edge| edge.since);
            sql::add_edges(&mut self.tx, kind, actors, targets, since, self.read_before).await?;
            self.step(what);
        }
        Ok(())
    }

    async fn coins(&mut self, demo: &DemoData) -> StoreResult<()> {
        for grants in demo.ledger.chunks(CHUNK) {
            let rows = GrantRows {
                users: column(grants, |grant| id(grant.user)),
                amounts: column(grants, |grant| grant.amount),
                balances: column(grants, |grant| grant.balance_after),
                reasons: column(grants, |grant| grant.reason),
                granted_at: column(grants, |grant| grant.at),
                granted_by: GRANTED_BY,
            };
            sql::add_grants(&mut self.tx, rows).await?;
            self.step("coins");
        }
        Ok(())
    }

    async fn inboxes(&mut self, demo: &DemoData) -> StoreResult<()> {
        let messages = MessageRows {
            senders: column(&demo.messages, |message| id(message.actor)),
            recipients: column(&demo.messages, |message| id(message.target)),
            sent_at: column(&demo.messages, |message| message.since),
        };
        sql::add_inbox_entries(&mut self.tx, self.read_before, &messages).await?;
        self.step("inboxes");
        Ok(())
    }

    async fn activity(&mut self, history: Timeline) -> StoreResult<()> {
        let Some(since) = history.kept_days().pop_first() else { return Ok(()) };
        for kind in KEPT {
            sql::add_history(&mut self.tx, kind, since).await?;
            self.step("history");
        }
        Ok(())
    }

    /// Sets totals from the rows that were written, so that both always agree.
    async fn totals(&mut self) -> StoreResult<()> {
        for (counter, rows) in sql::TOTALS {
            sql::count_rows(&mut self.tx, counter, rows).await?;
            self.step("totals");
        }
        sql::sum_ledger(&mut self.tx).await?;
        self.step("totals");
        sql::rank_comments(&mut self.tx).await?;
        self.step("totals");
        Ok(())
    }

    async fn ids(&mut self) -> StoreResult<()> {
        for table in sql::NUMBERED {
            sql::advance_ids(&mut self.tx, table).await?;
            self.step("ids");
        }
        Ok(())
    }

    async fn commit(mut self) -> StoreResult<()> {
        self.tx.commit().await?;
        self.done += 1;
        (self.on_progress)(self.done, self.total, "done");
        Ok(())
    }

    fn step(&mut self, what: &'static str) {
        self.done += 1;
        (self.on_progress)(self.done, self.total, what);
    }
}

/// The id of the row at a position.
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
