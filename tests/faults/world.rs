//! The users and entities of a schedule, and random actions on them.

use std::collections::{BTreeMap, BTreeSet};

use plaudit::{
    catalogue::{Counter, EdgeKind, Entity, EntityKind, Flip},
    primitives::{Id, UserId},
};
use rand::{RngExt, rngs::StdRng, seq::IndexedRandom};
use sqlx::PgPool;

/// Four authors, one without notes, one who is hidden at times, and one who is erased in the end.
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
    View {
        note: i64,
    },
}

/// What an acknowledged action has done.
#[derive(Clone, Copy, Debug)]
pub struct Acted {
    pub changed: bool,
    /// The new comment or note.
    pub created: Option<i64>,
}

impl From<bool> for Acted {
    fn from(changed: bool) -> Self {
        Self { changed, created: None }
    }
}

/// The body of a note after an edit.
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
        match rng.random_range(0..100) {
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

/// One edge: kind, actor, target.
pub type Pair = (EdgeKind, i64, i64);

/// Acknowledged actions.
#[derive(Default, Debug)]
pub struct Done {
    /// Last state of each edge.
    pub edges: BTreeMap<Pair, bool>,
    pub coins: BTreeMap<i64, i64>,
    /// The score by user and note.
    pub ratings: BTreeMap<(i64, i64), i32>,
    /// The author and note of each comment that was not removed.
    pub comments: BTreeMap<i64, (i64, i64)>,
    /// The author of each note that was posted and not removed.
    pub posts: BTreeMap<i64, i64>,
    /// The last body of each edited note.
    pub bodies: BTreeMap<i64, String>,
    /// Views of each note. A killed process loses its last ones.
    pub views: BTreeMap<i64, i64>,
}

impl Done {
    /// Adds an acknowledged action of a user. Returns the state of the edge before it.
    pub fn note(&mut self, me: i64, act: Act, acted: Acted) -> bool {
        match act {
            Act::Flip { kind, target, on } => {
                return self.edges.insert((kind, me, target.id), on).unwrap_or(false);
            }
            Act::Grant { user, amount } => *self.coins.entry(user).or_default() += amount,
            Act::Hide { .. } => {}
            Act::Erase { user } => self.forget(user),
            Act::Rate { note, score: Some(score) } => drop(self.ratings.insert((me, note), score)),
            Act::Rate { note, score: None } => drop(self.ratings.remove(&(me, note))),
            Act::Comment { note } => drop(self.comments.insert(acted.created.unwrap(), (me, note))),
            Act::Uncomment { comment } => drop(self.comments.remove(&comment)),
            Act::Edit { note, number } => drop(self.bodies.insert(note, edited_body(number))),
            Act::Post => drop(self.posts.insert(acted.created.unwrap(), me)),
            Act::Unpost { note } => drop(self.posts.remove(&note)),
            Act::View { note } => *self.views.entry(note).or_default() += 1,
        }
        false
    }

    /// Adds the actions of another user. Users share no edge.
    pub fn add(&mut self, other: Self) {
        self.edges.extend(other.edges);
        self.ratings.extend(other.ratings);
        self.comments.extend(other.comments);
        self.posts.extend(other.posts);
        self.bodies.extend(other.bodies);
        for (user, coins) in other.coins {
            *self.coins.entry(user).or_default() += coins;
        }
        for (note, views) in other.views {
            *self.views.entry(note).or_default() += views;
        }
    }

    /// Removes all that an erased user did, and that others did to the user.
    fn forget(&mut self, user: i64) {
        self.edges.retain(|(kind, actor, target), _| {
            *actor != user && !(kind.target() == EntityKind::User && *target == user)
        });
        self.coins.remove(&user);
        self.ratings.retain(|(by, _), _| *by != user);
        self.comments.retain(|_, (author, _)| *author != user);
        self.posts.retain(|_, author| *author != user);
    }

    pub fn pairs_on(&self) -> BTreeSet<Pair> {
        self.edges.iter().filter(|(_, on)| **on).map(|(pair, _)| *pair).collect()
    }

    /// Expected values of the counters that direct changes move. Nobody is hidden.
    pub fn direct_counts(&self, world: &World) -> BTreeMap<(Entity, Counter), i64> {
        let (user, note) = (|id| entity(EntityKind::User, id), |id| entity(EntityKind::Note, id));
        let mut counts = BTreeMap::new();
        for of in world.entities_in_the_end() {
            let counters: &[Counter] = match of.kind {
                EntityKind::User => &[Counter::UserNotes, Counter::UserComments, Counter::UserCoins],
                EntityKind::Note => &[Counter::NoteComments, Counter::NoteRatings, Counter::NoteRatingSum],
                EntityKind::Comment => &[Counter::CommentReplies],
                EntityKind::Inbox | EntityKind::Group => &[],
            };
            counts.extend(counters.iter().map(|counter| ((of, *counter), 0)));
        }
        let mut add = |of, counter, by| *counts.entry((of, counter)).or_default() += by;
        for author in world.notes.iter().map(|note| note.owner).chain(self.posts.values().copied()) {
            add(user(author), Counter::UserNotes, 1);
        }
        // The world's first comments are on the notes of the same places.
        let first = world.comments.iter().zip(&world.notes).map(|(comment, note)| (comment.owner, note.id));
        for (author, on) in first.chain(self.comments.values().copied()) {
            add(user(author), Counter::UserComments, 1);
            add(note(on), Counter::NoteComments, 1);
        }
        for ((_, rated), score) in &self.ratings {
            add(note(*rated), Counter::NoteRatings, 1);
            add(note(*rated), Counter::NoteRatingSum, i64::from(*score));
        }
        for (id, coins) in &self.coins {
            add(user(*id), Counter::UserCoins, *coins);
        }
        counts
    }
}

fn entity(kind: EntityKind, id: i64) -> Entity {
    Entity::new(kind, Id::try_from(id).unwrap())
}

/// Expected values of all counters that edges move, if these edges are on.
pub fn counts_of(world: &World, on: &BTreeSet<Pair>) -> BTreeMap<(Entity, Counter), i64> {
    let mut counts = BTreeMap::new();
    for entity in world.entities_in_the_end() {
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
