//! The users and entities of a schedule, and random actions on them.

use std::collections::BTreeMap;

use chrono::{DateTime, TimeDelta, Utc};
use plaudit_catalogue::{
    Counter, EdgeKind, Entity, EntityKind, Flip, counter_of_owner,
    primitives::{Id, UserId},
};
use rand::{RngExt, rngs::StdRng, seq::IndexedRandom};
use sqlx::{AssertSqlSafe, PgPool};

use crate::done::Done;

/// Four authors, one without notes, who is suspended at times, one who is hidden at times, and one who is erased in the end.
const USERS: usize = 7;
const NOTES: usize = 4;
const COMMENTS: usize = 2;

/// One user: id in PostgreSQL, and subject of tokens.
#[derive(Clone, Debug)]
pub struct Person {
    pub id: i64,
    pub subject: String,
}

/// A target of edges.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    pub id: i64,
    /// The author, or the user itself if the target is a user.
    pub owner: i64,
}

pub struct World {
    pub people: Vec<Person>,
    pub notes: Vec<Target>,
    pub comments: Vec<Target>,
    pub groups: Vec<Target>,
    /// What counts include that no edge moves, as after an import of an app's totals.
    pub carried: BTreeMap<(Entity, Counter), i64>,
    /// The end of suspensions, long after that of the schedule.
    pub suspended_until: DateTime<Utc>,
}

/// An action of a user.
#[derive(Clone, Copy, Debug)]
pub enum Act {
    Flip {
        kind: EdgeKind,
        target: Target,
        on: bool,
    },
    Grant {
        user: i64,
        amount: i64,
    },
    /// A moderator hides or restores a user.
    Hide {
        user: i64,
        hidden: bool,
    },
    /// A moderator erases a user.
    Erase {
        user: i64,
    },
    /// Rates a note, or takes the rating back.
    Rate {
        note: i64,
        score: Option<i32>,
    },
    /// Comments on a note; a moderator approves the comment.
    Comment {
        note: i64,
    },
    Uncomment {
        comment: i64,
    },
    /// Gives one's own comment another text; a moderator approves it.
    EditComment {
        comment: i64,
        number: u32,
    },
    /// Gives one's own note another body.
    Edit {
        note: i64,
        number: u32,
    },
    /// Creates a note, which nobody else knows.
    Post,
    Unpost {
        note: i64,
    },
    /// Creates a group and joins it. Nobody else knows it.
    Found,
    /// Removes one's own group.
    Disband {
        group: i64,
    },
    View {
        note: i64,
    },
    /// Reports somebody else's note.
    Report {
        note: i64,
    },
    /// A service writes two notes of the user by their keys, of which either may be there.
    Upsert {
        number: u32,
    },
    /// Marks one's own inbox as read.
    ReadInbox,
    /// A moderator suspends a user, and lifts it again. Meanwhile the user's actions are refused.
    Suspend {
        user: i64,
        until: DateTime<Utc>,
    },
}

/// What an acknowledged action has done.
#[derive(Clone, Copy, Debug)]
pub struct Acted {
    pub changed: bool,
    /// The new comment, note or group.
    pub created: Option<i64>,
}

impl From<bool> for Acted {
    fn from(changed: bool) -> Self {
        Self { changed, created: None }
    }
}

/// The key of a note that a service writes for a user.
pub fn upserted_key(user: i64, number: u32) -> String {
    format!("upsert {number} of {user}")
}

/// The body of a note or comment after an edit.
pub fn edited_body(number: u32) -> String {
    format!("Edit {number}")
}

impl World {
    /// Writes a new world without edges into PostgreSQL, and deletes the records of earlier repairs.
    pub async fn new(sql: &PgPool) -> Self {
        sqlx::query("DELETE FROM repair").execute(sql).await.unwrap();
        let mut people = Vec::new();
        for _ in 0..USERS {
            let subject = format!("fault {}", uuid::Uuid::new_v4());
            let insert = "INSERT INTO app_user (subject, name) VALUES ($1, 'Test User') RETURNING id";
            let id = sqlx::query_scalar(insert).bind(&subject).fetch_one(sql).await.unwrap();
            people.push(Person { id, subject });
        }
        let mut notes = Vec::new();
        for author in &people[..NOTES] {
            let insert = "WITH updated AS (UPDATE user_counts SET notes = notes + 1 WHERE id = $1)
                 INSERT INTO note (author_id, title, body) VALUES ($1, 'A test', 'Text') RETURNING id";
            notes.push(add(sql, insert, author.id, 0).await);
        }
        let mut comments = Vec::new();
        for (author, note) in people.iter().zip(&notes).take(COMMENTS) {
            let insert = "WITH by_author AS (UPDATE user_counts SET comments = comments + 1 WHERE id = $1),
                               on_note AS (UPDATE note_counts SET comments = comments + 1 WHERE id = $2),
                               new AS (INSERT INTO comment_index (author_id, note_id, state)
                                       VALUES ($1, $2, 'approved') RETURNING id)
                          INSERT INTO comment_body (id, body) SELECT id, 'Words' FROM new RETURNING id";
            comments.push(add(sql, insert, author.id, note.id).await);
        }
        let insert =
            "INSERT INTO app_group (owner_id, name, description) VALUES ($1, 'A test', '') RETURNING id";
        let groups = vec![add(sql, insert, people[0].id, 0).await];
        let carried = BTreeMap::new();
        let suspended_until = Utc::now() + TimeDelta::days(2);
        let mut world = Self { people, notes, comments, groups, carried, suspended_until };
        for (counter, of, value) in [
            (Counter::NoteLikes, world.notes[0], 1_000),
            (Counter::NoteCollects, world.notes[1], 20),
            (Counter::UserFollowers, Target { id: world.people[0].id, owner: world.people[0].id }, 300),
        ] {
            world.carry(sql, counter, of, value).await;
        }
        world
    }

    async fn carry(&mut self, sql: &PgPool, counter: Counter, of: Target, value: i64) {
        let insert = "INSERT INTO carried_total (kind, id, counter, value) VALUES ($1, $2, $3, $4)";
        let insert =
            sqlx::query(insert).bind(counter.kind().name()).bind(of.id).bind(counter.name()).bind(value);
        insert.execute(sql).await.unwrap();
        let of_owner = counter_of_owner(counter).map(|counter| (counter, of.owner));
        for (counter, id) in [(counter, of.id)].into_iter().chain(of_owner) {
            let (kind, name) = (counter.kind(), counter.name());
            let update = format!("UPDATE {}_counts SET {name} = {name} + $2 WHERE id = $1", kind.name());
            sqlx::query(AssertSqlSafe(update)).bind(id).bind(value).execute(sql).await.unwrap();
            *self.carried.entry((entity(kind, id), counter)).or_default() += value;
        }
    }

    /// Possible targets of this actor's edges of this kind.
    pub fn targets(&self, kind: EdgeKind, actor: i64) -> Vec<Target> {
        match kind.target() {
            EntityKind::Note => self.notes.clone(),
            EntityKind::Comment => self.comments.clone(),
            EntityKind::Group => self.groups.clone(),
            EntityKind::User | EntityKind::Inbox => {
                let others = self.people.iter().filter(|person| person.id != actor);
                others.map(|person| Target { id: person.id, owner: person.id }).collect()
            }
        }
    }

    /// The switching on of an edge.
    pub fn flip(&self, kind: EdgeKind, actor: i64, target: i64) -> Flip {
        let targets = self.targets(kind, actor);
        // The actor owns the groups that only the actor knows.
        let owner = targets.iter().find(|other| other.id == target).map_or(actor, |other| other.owner);
        let id = |raw| Id::try_from(raw).unwrap();
        let (actor, target, owner) = (UserId(id(actor)), id(target), UserId(id(owner)));
        Flip { kind, actor, target, owner, on: true, at: 0, by: None }
    }

    /// All entities with counts.
    pub fn entities(&self) -> Vec<Entity> {
        let users = self.people.iter().map(|person| entity(EntityKind::User, person.id));
        let inboxes = self.people.iter().map(|person| entity(EntityKind::Inbox, person.id));
        let notes = self.notes.iter().map(|note| entity(EntityKind::Note, note.id));
        let comments = self.comments.iter().map(|comment| entity(EntityKind::Comment, comment.id));
        let groups = self.groups.iter().map(|group| entity(EntityKind::Group, group.id));
        users.chain(inboxes).chain(notes).chain(comments).chain(groups).collect()
    }

    /// All entities with counts that are left when a user was erased.
    pub fn entities_in_the_end(&self) -> Vec<Entity> {
        let leaving = self.leaving();
        let of_user = |of: &Entity| matches!(of.kind, EntityKind::User | EntityKind::Inbox);
        self.entities().into_iter().filter(|of| !(of_user(of) && of.id.get() == leaving)).collect()
    }

    /// The user who is hidden at times. Owns none of the notes that others act on, so nobody is refused meanwhile.
    pub fn hidden(&self) -> i64 {
        self.people[USERS - 2].id
    }

    /// The user who is suspended at times.
    pub fn suspended(&self) -> i64 {
        self.people[USERS - 3].id
    }

    /// The user who is erased in the end.
    pub fn leaving(&self) -> i64 {
        self.people[USERS - 1].id
    }

    /// A random next action of a user who has done this.
    pub fn any_act(&self, actor: i64, done: &Done, rng: &mut StdRng) -> Act {
        let note = self.notes.choose(rng).unwrap().id;
        let mine: Vec<i64> =
            self.notes.iter().filter(|note| note.owner == actor).map(|note| note.id).collect();
        let my_comments: Vec<i64> = done.comments.keys().copied().collect();
        let my_posts: Vec<i64> = done.posts.keys().copied().collect();
        let my_groups: Vec<i64> = done.groups.iter().copied().collect();
        let others: Vec<i64> =
            self.notes.iter().filter(|note| note.owner != actor).map(|note| note.id).collect();
        match rng.random_range(0..124) {
            0..5 => {
                Act::Grant { user: self.people.choose(rng).unwrap().id, amount: rng.random_range(1..100) }
            }
            5..8 => Act::Hide { user: self.hidden(), hidden: rng.random_bool(0.6) },
            8..16 => Act::Rate { note, score: rng.random_bool(0.7).then(|| rng.random_range(0..=10)) },
            16..24 => Act::Comment { note },
            24..28 => {
                my_comments.choose(rng).map_or(Act::Comment { note }, |id| Act::Uncomment { comment: *id })
            }
            28..33 => {
                let number = rng.random_range(0..1_000);
                mine.choose(rng).map_or(Act::View { note }, |id| Act::Edit { note: *id, number })
            }
            33..37 => Act::Post,
            37..40 => my_posts.choose(rng).map_or(Act::Post, |id| Act::Unpost { note: *id }),
            40..44 => Act::View { note },
            44..48 => {
                let number = rng.random_range(0..1_000);
                my_comments
                    .choose(rng)
                    .map_or(Act::Comment { note }, |id| Act::EditComment { comment: *id, number })
            }
            48..52 => my_groups.choose(rng).map_or(Act::Found, |id| Act::Disband { group: *id }),
            52..56 => Act::Report { note: *others.choose(rng).unwrap() },
            56..60 => Act::Upsert { number: rng.random_range(0..4) },
            60..65 => Act::ReadInbox,
            65..68 if actor != self.suspended() => {
                Act::Suspend { user: self.suspended(), until: self.suspended_until }
            }
            _ => {
                let kind = *EdgeKind::ALL.choose(rng).unwrap();
                let target = *self.targets(kind, actor).choose(rng).unwrap();
                Act::Flip { kind, target, on: rng.random_bool(0.6) }
            }
        }
    }
}

async fn add(sql: &PgPool, insert: &'static str, owner: i64, second: i64) -> Target {
    let mut query = sqlx::query_scalar(insert).bind(owner);
    if insert.contains("$2") {
        query = query.bind(second);
    }
    Target { id: query.fetch_one(sql).await.unwrap(), owner }
}

pub fn entity(kind: EntityKind, id: i64) -> Entity {
    Entity::new(kind, Id::try_from(id).unwrap())
}
