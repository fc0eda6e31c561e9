//! The users and entities of a schedule, and random actions on them.

use std::collections::{BTreeMap, BTreeSet};

use plaudit::{
    catalogue::{Counter, EdgeKind, Entity, EntityKind, Flip},
    primitives::{Id, UserId},
};
use rand::{RngExt, rngs::StdRng, seq::IndexedRandom};
use sqlx::PgPool;

const USERS: usize = 6;
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
        Self { people, notes, comments, groups }
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

    /// All entities with counts.
    pub fn entities(&self) -> Vec<Entity> {
        let of = |kind, id| Entity::new(kind, Id::try_from(id).unwrap());
        let users = self.people.iter().map(|person| of(EntityKind::User, person.id));
        let inboxes = self.people.iter().map(|person| of(EntityKind::Inbox, person.id));
        let notes = self.notes.iter().map(|note| of(EntityKind::Note, note.id));
        let comments = self.comments.iter().map(|comment| of(EntityKind::Comment, comment.id));
        let groups = self.groups.iter().map(|group| of(EntityKind::Group, group.id));
        users.chain(inboxes).chain(notes).chain(comments).chain(groups).collect()
    }

    /// The user who is hidden at times. Owns nothing, so nobody is refused meanwhile.
    pub fn hidden(&self) -> i64 {
        self.people[USERS - 1].id
    }

    /// A random next action of this user.
    pub fn any_act(&self, actor: i64, rng: &mut StdRng) -> Act {
        if rng.random_bool(0.06) {
            let user = self.people.choose(rng).unwrap().id;
            return Act::Grant { user, amount: rng.random_range(1..100) };
        }
        if rng.random_bool(0.03) {
            return Act::Hide { user: self.hidden(), hidden: rng.random_bool(0.6) };
        }
        let kind = *EdgeKind::ALL.choose(rng).unwrap();
        let target = *self.targets(kind, actor).choose(rng).unwrap();
        Act::Flip { kind, target, on: rng.random_bool(0.6) }
    }
}

async fn add(sql: &PgPool, insert: &'static str, owner: i64, second: i64) -> Target {
    let mut query = sqlx::query_scalar(insert).bind(owner);
    if insert.contains("$2") {
        query = query.bind(second);
    }
    Target { id: query.fetch_one(sql).await.unwrap(), owner }
}

/// One edge: kind, actor, target.
pub type Pair = (EdgeKind, i64, i64);

/// Acknowledged actions.
#[derive(Default, Debug)]
pub struct Done {
    /// Last state of each edge.
    pub edges: BTreeMap<Pair, bool>,
    pub coins: BTreeMap<i64, i64>,
}

impl Done {
    /// Adds the actions of another user. Users share no edge.
    pub fn add(&mut self, other: Self) {
        self.edges.extend(other.edges);
        for (user, coins) in other.coins {
            *self.coins.entry(user).or_default() += coins;
        }
    }

    pub fn pairs_on(&self) -> BTreeSet<Pair> {
        self.edges.iter().filter(|(_, on)| **on).map(|(pair, _)| *pair).collect()
    }
}

/// Expected values of all counters that edges move, if these edges are on.
pub fn counts_of(world: &World, on: &BTreeSet<Pair>) -> BTreeMap<(Entity, Counter), i64> {
    let mut counts = BTreeMap::new();
    for entity in world.entities() {
        let moved = EdgeKind::ALL.iter().flat_map(|kind| kind.moves()).map(|moved| moved.counter);
        counts.extend(
            moved.filter(|counter| counter.kind() == entity.kind).map(|counter| ((entity, counter), 0)),
        );
    }
    for (kind, actor, target) in on {
        let owner = world.targets(*kind, *actor).iter().find(|other| other.id == *target).unwrap().owner;
        let id = |raw| Id::try_from(raw).unwrap();
        let (actor, target, owner) = (UserId(id(*actor)), id(*target), UserId(id(owner)));
        let flip = Flip { kind: *kind, actor, target, owner, on: true, at: 0 };
        for (entity, counter, by) in flip.deltas() {
            *counts.entry((entity, counter)).or_default() += by;
        }
    }
    counts
}
