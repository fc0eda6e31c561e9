//! Writes the demo data in one transaction: a kill leaves all of it or nothing. Users, groups, notes, comments and
//! edges are written by the statements of an import.
//!
//! Writes no invalidations: Redis has nothing of entities that did not exist before.

use std::sync::atomic::AtomicBool;

use chrono::DateTime;
use plaudit_demo_data::{DemoData, DemoEdge, SeedSize, Timeline};

use crate::import::edges;
use plaudit_catalogue::{
    COMMENTS, Counter, Deltas, EdgeKind, EntityKind, Flip, NOTES, Rows, UnixMillis,
    primitives::{CommentId, GroupId, Id, NoteId, UserId},
};
use plaudit_store::{
    StoreResult,
    sql::{
        Db, Tx,
        content::{
            comments::{self, NewComment},
            groups::{self, GroupRow},
            notes::{self, NoteRow},
            submissions::Arrival,
        },
        counting::{
            activity,
            carried::{self, CarriedNumber},
            counts, recount,
            rows::{self, RowKeys},
        },
        people::{
            coins::{self, Grant},
            users::{self, UserRow},
        },
        seed::{self as sql, READ, SentMessage, UNREAD},
    },
};

/// Rows per statement. Few statements move a total seldom: within a transaction each move leaves a dead row.
const CHUNK: usize = 20_000;

/// Edges whose flips are in `activity`: the edges of rankings and charts.
const KEPT: [EdgeKind; 2] = [EdgeKind::NoteLike, EdgeKind::NoteCollect];

/// Users have read what is older than this, in milliseconds: three days.
const UNREAD_FOR: UnixMillis = 3 * 24 * 60 * 60 * 1_000;

/// Fills an empty database; `None` if it has users or notes. The data covers the sixty days before `now` and is the
/// same for the same size. `on_progress` gets the number of rows that are written, their total number, and what is
/// written. The numbers are equal only at the end.
///
/// Takes a few seconds, during which no other transaction can create users, groups, notes or comments.
pub async fn seed(
    db: &Db,
    size: SeedSize,
    now: UnixMillis,
    on_progress: impl Fn(u64, u64, &'static str),
) -> StoreResult<Option<DemoData>> {
    let mut tx = db.begin().await?;
    sql::lock_entities(&mut tx).await?;
    if !sql::is_empty(&mut tx).await? {
        return Ok(None);
    }
    sql::prepare(&mut tx).await?;
    let (demo, timeline) = (DemoData::new(size, now), Timeline::ending(now));
    // On another connection, because creating partitions in this transaction would lock the table until its end.
    activity::ensure_activity_days(db, &timeline.kept_days()).await?;
    let mut writing = Seeding {
        tx,
        demo: &demo,
        ids: Ids::default(),
        read_before: now - UNREAD_FOR,
        progress: SeedProgress { done: 0, total: rows(&demo), report: on_progress },
    };
    writing.users().await?;
    writing.groups().await?;
    writing.notes().await?;
    writing.views().await?;
    writing.comments().await?;
    for (what, kind, edges) in edges_of(&demo) {
        writing.edges(what, kind, edges).await?;
    }
    writing.coins().await?;
    writing.inboxes().await?;
    writing.activity(timeline).await?;
    writing.commit().await?;
    Ok(Some(demo))
}

/// Everything that is written as edges, with its name in the progress bar.
fn edges_of(demo: &DemoData) -> [(&'static str, EdgeKind, &[DemoEdge]); 5] {
    [
        ("follows", EdgeKind::Follow, &demo.follows),
        ("members", EdgeKind::GroupJoin, &demo.members),
        ("likes", EdgeKind::NoteLike, &demo.note_likes),
        ("likes of comments", EdgeKind::CommentLike, &demo.comment_likes),
        ("collects", EdgeKind::NoteCollect, &demo.collects),
    ]
}

/// Number of rows, the unit of progress: inboxes as many as users, and one for the commit.
fn rows(demo: &DemoData) -> u64 {
    let things = 2 * demo.people.len() + demo.groups.len() + 2 * demo.notes.len() + demo.comments.len();
    let edges: usize = edges_of(demo).iter().map(|(_, _, edges)| edges.len()).sum();
    (things + edges + demo.ledger.len() + 1) as u64
}

/// The ids of what is written, by its place in the data.
#[derive(Default)]
struct Ids {
    users: Vec<UserId>,
    groups: Vec<GroupId>,
    notes: Vec<NoteId>,
    comments: Vec<CommentId>,
}

/// A seeding in progress.
struct Seeding<'a, F> {
    tx: Tx,
    demo: &'a DemoData,
    ids: Ids,
    read_before: UnixMillis,
    progress: SeedProgress<F>,
}

struct SeedProgress<F> {
    done: u64,
    total: u64,
    report: F,
}

impl<F: Fn(u64, u64, &'static str)> Seeding<'_, F> {
    async fn users(&mut self) -> StoreResult<()> {
        for people in self.demo.people.chunks(CHUNK) {
            let rows = column(people, |person| UserRow {
                subject: &person.subject,
                name: Some(&person.name),
                avatar_url: None,
                created_at: DateTime::from_timestamp_millis(person.joined_at),
            });
            let added = users::add_users(&mut self.tx, &rows).await?;
            self.ids.users.extend(rising(added.into_iter().map(|(_, user)| user)));
            self.progress.step("users", people.len());
        }
        Ok(())
    }

    async fn groups(&mut self) -> StoreResult<()> {
        let rows = column(&self.demo.groups, |group| GroupRow {
            owner: self.ids.users[group.owner],
            key: None,
            name: group.name,
            description: group.description,
            created_at: DateTime::from_timestamp_millis(group.founded_at),
        });
        let added = groups::add_groups(&mut self.tx, &rows).await?;
        self.ids.groups = rising(added.into_iter().map(|(group, _)| group));
        self.progress.step("groups", rows.len());
        Ok(())
    }

    async fn notes(&mut self) -> StoreResult<()> {
        for notes in self.demo.notes.chunks(CHUNK) {
            let rows = column(notes, |note| NoteRow {
                author: self.ids.users[note.author],
                group: note.group.map(|group| self.ids.groups[group]),
                key: None,
                url: None,
                title: &note.title,
                body: &note.body,
                created_at: DateTime::from_timestamp_millis(note.written_at),
                featured_at: note.featured_at.and_then(DateTime::from_timestamp_millis),
            });
            let added = notes::add_notes(&mut self.tx, &rows, Arrival::Past).await?;
            let added: Vec<NoteId> = rising(added.into_iter().map(|note| note.id));
            self.count(NOTES, added.iter().map(|note| note.0).collect()).await?;
            self.ids.notes.extend(added);
            self.progress.step("notes", notes.len());
        }
        Ok(())
    }

    /// Moves the totals by what new things count.
    async fn count(&mut self, rows: Rows, things: Vec<Id>) -> StoreResult<()> {
        let moved = rows::counted(&mut self.tx, &RowKeys::of_things(rows, things)).await?;
        counts::move_totals(&mut self.tx, &moved).await.map(drop)
    }

    /// Views have no rows.
    async fn views(&mut self) -> StoreResult<()> {
        let counter = Counter::NoteViews;
        for (notes, views) in self.ids.notes.chunks(CHUNK).zip(self.demo.views.chunks(CHUNK)) {
            let number =
                |(note, views): (&NoteId, &i64)| CarriedNumber { id: note.0, counter, value: *views };
            let numbers: Vec<CarriedNumber> = notes.iter().zip(views).map(number).collect();
            let mut moved = Deltas::new();
            for set in carried::set_carried(&mut self.tx, EntityKind::Note, &numbers).await? {
                moved.entry(NoteId(set.id).into()).or_default().add(counter, set.by);
            }
            counts::move_totals(&mut self.tx, &moved).await?;
            self.progress.step("views", notes.len());
        }
        Ok(())
    }

    /// Replies follow the comments that they answer.
    async fn comments(&mut self) -> StoreResult<()> {
        let is_reply = |place: &usize| self.demo.comments[*place].parent.is_some();
        let (replies, top): (Vec<usize>, Vec<usize>) = (0..self.demo.comments.len()).partition(is_reply);
        self.ids.comments = vec![CommentId(Id::HIGHEST); self.demo.comments.len()];
        for places in top.chunks(CHUNK).chain(replies.chunks(CHUNK)) {
            let rows = column(places, |place| {
                let comment = &self.demo.comments[*place];
                NewComment {
                    key: None,
                    note: self.ids.notes[comment.note],
                    author: self.ids.users[comment.author],
                    parent: comment.parent.map(|parent| self.ids.comments[parent]),
                    reply_to: None,
                    body: &comment.body,
                    images: &[],
                    mentions: &[],
                    created_at: DateTime::from_timestamp_millis(comment.written_at),
                }
            });
            let added = comments::add_comments(&mut self.tx, &rows, Arrival::Past).await?;
            self.count(COMMENTS, added.iter().map(|comment| comment.0).collect()).await?;
            for (place, id) in places.iter().zip(rising(added.into_iter())) {
                self.ids.comments[*place] = id;
            }
            self.progress.step("comments", places.len());
        }
        Ok(())
    }

    async fn edges(&mut self, what: &'static str, kind: EdgeKind, edges: &[DemoEdge]) -> StoreResult<()> {
        for edges in edges.chunks(CHUNK) {
            let (read, unread): (Vec<&DemoEdge>, Vec<&DemoEdge>) =
                edges.iter().partition(|edge| edge.since < self.read_before);
            for (told, edges) in [(READ, read), (UNREAD, unread)] {
                let flips = edges::newest(edges.iter().map(|edge| self.flip(kind, edge)));
                edges::write(&mut self.tx, &flips, told, &AtomicBool::new(true)).await?;
            }
            self.progress.step(what, edges.len());
        }
        Ok(())
    }

    fn flip(&self, kind: EdgeKind, edge: &DemoEdge) -> Flip {
        let (demo, ids) = (self.demo, &self.ids);
        let (target, owner) = match kind.target() {
            EntityKind::Note => (ids.notes[edge.target].0, demo.notes[edge.target].author),
            EntityKind::Comment => (ids.comments[edge.target].0, demo.comments[edge.target].author),
            EntityKind::Group => (ids.groups[edge.target].0, demo.groups[edge.target].owner),
            EntityKind::User | EntityKind::Inbox => (ids.users[edge.target].0, edge.target),
        };
        let (actor, owner) = (ids.users[edge.actor], ids.users[owner]);
        Flip { kind, actor, target, owner, on: true, at: edge.since, by: None }
    }

    /// The service that grants coins is the first user.
    async fn coins(&mut self) -> StoreResult<()> {
        for lines in self.demo.ledger.chunks(CHUNK) {
            let grants = column(lines, |line| Grant {
                user: self.ids.users[line.user],
                amount: line.amount,
                balance_after: line.balance_after,
                reason: line.reason,
                granted_by: self.ids.users[0],
                created_at: DateTime::from_timestamp_millis(line.at),
            });
            coins::add_grants(&mut self.tx, &grants).await?;
            let mut moved = Deltas::new();
            for grant in &grants {
                moved.entry(grant.user.into()).or_default().add(Counter::UserCoins, grant.amount);
            }
            counts::move_totals(&mut self.tx, &moved).await?;
            self.progress.step("coins", lines.len());
        }
        Ok(())
    }

    async fn inboxes(&mut self) -> StoreResult<()> {
        let messages = column(&self.demo.messages, |message| SentMessage {
            sender: self.ids.users[message.actor],
            recipient: self.ids.users[message.target],
            at: message.since,
        });
        sql::add_inbox_entries(&mut self.tx, self.read_before, &messages).await?;
        let kind = EntityKind::Inbox;
        for owners in self.ids.users.chunks(CHUNK) {
            let recounted = recount::recount_in(&mut self.tx, kind, &column(owners, |owner| owner.0)).await?;
            counts::add_totals(&mut self.tx, kind, &recount::corrections(kind, &recounted)).await?;
            self.progress.step("inboxes", owners.len());
        }
        Ok(())
    }

    async fn activity(&mut self, timeline: Timeline) -> StoreResult<()> {
        let Some(since) = timeline.kept_days().pop_first() else { return Ok(()) };
        for kind in KEPT {
            sql::add_activity(&mut self.tx, kind, since).await?;
            self.progress.step("history", 0);
        }
        Ok(())
    }

    async fn commit(mut self) -> StoreResult<()> {
        self.tx.commit().await?;
        self.progress.step("done", 1);
        Ok(())
    }
}

impl<F: Fn(u64, u64, &'static str)> SeedProgress<F> {
    fn step(&mut self, what: &'static str, rows: usize) {
        self.done += rows as u64;
        (self.report)(self.done, self.total, what);
    }
}

/// Ids rise with the rows of a statement.
fn rising<I: Ord>(ids: impl Iterator<Item = I>) -> Vec<I> {
    let mut ids: Vec<I> = ids.collect();
    ids.sort_unstable();
    ids
}

fn column<'a, T, C>(rows: &'a [T], value: impl Fn(&'a T) -> C) -> Vec<C> {
    rows.iter().map(value).collect()
}
