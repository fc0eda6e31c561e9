//! Check of the stream of events, at rest: the consumer and the webhook have received every event of the table once, in
//! order, and the events tell what was acknowledged and stands in rows.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::{Duration, Instant},
};

use plaudit_catalogue::{EdgeKind, Entity, EntityKind, primitives::EventCursor};
use serde_json::Value;
use sqlx::{AssertSqlSafe, PgPool, Row};

use crate::{
    consumer::{Consumer, Events},
    done::{Done, Pair},
    hook::Hook,
    world::World,
};
use support::Stores;

/// Time for the webhook, which pauses after failures.
const DELIVERED_WITHIN: Duration = Duration::from_secs(60);

/// All differences. If `lossless`, every acknowledged flip must be an event.
pub async fn differences(
    stores: &Stores,
    world: &World,
    done: &Done,
    (consumer, events, hook): (&mut Consumer, &impl Events, &Hook),
    lossless: bool,
) -> Vec<String> {
    stores.rest().await;
    consumer.finish(events).await;
    hook.calm();
    let sql = stores.sql().await;
    let written = written(&sql, consumer.start).await;
    let mut wrong = sequence("the consumer", &written, &consumer.stored);
    wrong.extend(undelivered(&sql).await);
    let (delivered, changed) = hook.batches();
    wrong.extend(changed);
    wrong.extend(sequence("the webhook", &written, &delivered));
    for received in [&consumer.stored, &delivered] {
        wrong.extend(flips(&sql, world, done, received, lossless).await);
        wrong.extend(direct(world, done, received));
    }
    wrong.extend(erased(&sql, world).await);
    wrong
}

/// Positions of all events after the cursor.
async fn written(sql: &PgPool, start: EventCursor) -> Vec<i64> {
    let query = "SELECT position FROM event WHERE position > $1 ORDER BY position";
    sqlx::query_scalar(query).bind(start.position).fetch_all(sql).await.unwrap()
}

/// Whether these are the events that were written, in order, each once.
fn sequence(who: &str, written: &[i64], received: &[Value]) -> Vec<String> {
    let received: Vec<i64> = received.iter().map(position).collect();
    if received == written {
        return Vec::new();
    }
    let (all, got): (BTreeSet<_>, BTreeSet<_>) = (written.iter().collect(), received.iter().collect());
    let (missed, unknown) = (all.difference(&got).count(), got.difference(&all).count());
    let differs = written.iter().zip(&received).position(|(one, other)| one != other);
    vec![format!(
        "{who} has {} of {} events, {missed} are missing, {unknown} are unknown, the first difference is {differs:?}",
        received.len(),
        written.len(),
    )]
}

fn position(event: &Value) -> i64 {
    event["cursor"].as_str().unwrap().parse::<EventCursor>().unwrap().position
}

/// Waits until the webhook is at the end of the stream.
async fn undelivered(sql: &PgPool) -> Option<String> {
    let left = "SELECT count(*) FROM event WHERE position > (SELECT webhook_position FROM event_stream)";
    let start = Instant::now();
    loop {
        let left: i64 = sqlx::query_scalar(left).fetch_one(sql).await.unwrap();
        if left == 0 {
            return None;
        }
        if start.elapsed() > DELIVERED_WITHIN {
            return Some(format!("{left} events were not delivered to the webhook"));
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Compares the flips of each edge that is left. Those of the user who was erased are gone.
async fn flips(sql: &PgPool, world: &World, done: &Done, received: &[Value], lossless: bool) -> Vec<String> {
    let mut told: BTreeMap<Pair, Vec<bool>> = BTreeMap::new();
    for (pair, on) in received.iter().filter_map(flip).filter(|(pair, _)| is_left(world, *pair)) {
        told.entry(pair).or_default().push(on);
    }
    let mut wrong = Vec::new();
    for (pair, flips) in &told {
        let alternates = flips.iter().enumerate().all(|(i, on)| *on == (i % 2 == 0));
        if !alternates {
            wrong.push(format!("events of {pair:?} do not alternate: {flips:?}"));
        }
    }
    let on = |flips: &Vec<bool>| flips.last() == Some(&true);
    let told_on: BTreeSet<Pair> = told.iter().filter(|(_, flips)| on(flips)).map(|(pair, _)| *pair).collect();
    let rows: BTreeSet<Pair> =
        rows_on(sql, world).await.into_iter().filter(|pair| is_left(world, *pair)).collect();
    wrong.extend(rows.difference(&told_on).map(|pair| format!("{pair:?} is on, but its last event is not")));
    wrong.extend(told_on.difference(&rows).map(|pair| format!("{pair:?} is off, but its last event is on")));
    if lossless {
        let acknowledged = done.flips.iter().filter(|(pair, _)| is_left(world, **pair));
        for (pair, flips) in acknowledged {
            let told = told.get(pair).map_or(&[][..], Vec::as_slice);
            if told != flips {
                wrong.push(format!("{pair:?} was acknowledged as {flips:?}, events say {told:?}"));
            }
        }
    }
    wrong
}

/// An edge between what the schedule does not remove.
fn is_left(world: &World, (kind, actor, target): Pair) -> bool {
    let leaving = world.leaving();
    let is_leaving = actor == leaving || kind.target() == EntityKind::User && target == leaving;
    !is_leaving && world.targets(kind, actor).iter().any(|known| known.id == target)
}

/// The edge that an event switched, and to what. `None` if the user was erased when it was read.
fn flip(event: &Value) -> Option<(Pair, bool)> {
    let (actor, target) = (object(&event["actor"])?, object(&event["target"])?);
    let (kind, on) = match (event["type"].as_str()?, target.kind) {
        ("LIKED", EntityKind::Note) => (EdgeKind::NoteLike, true),
        ("UNLIKED", EntityKind::Note) => (EdgeKind::NoteLike, false),
        ("LIKED", _) => (EdgeKind::CommentLike, true),
        ("UNLIKED", _) => (EdgeKind::CommentLike, false),
        ("COLLECTED", _) => (EdgeKind::NoteCollect, true),
        ("UNCOLLECTED", _) => (EdgeKind::NoteCollect, false),
        ("FOLLOWED", _) => (EdgeKind::Follow, true),
        ("UNFOLLOWED", _) => (EdgeKind::Follow, false),
        ("JOINED", _) => (EdgeKind::GroupJoin, true),
        ("LEFT", _) => (EdgeKind::GroupJoin, false),
        _ => return None,
    };
    Some(((kind, actor.id.get(), target.id.get()), on))
}

fn object(of: &Value) -> Option<Entity> {
    of["id"].as_str()?.parse().ok()
}

async fn rows_on(sql: &PgPool, world: &World) -> Vec<Pair> {
    let people: Vec<i64> = world.people.iter().map(|person| person.id).collect();
    let mut pairs = Vec::new();
    for kind in EdgeKind::ALL {
        let query =
            format!("SELECT actor_id, target_id FROM {} WHERE is_on AND actor_id = ANY($1)", kind.name());
        let rows = sqlx::query(AssertSqlSafe(query)).bind(&people).fetch_all(sql).await.unwrap();
        pairs.extend(rows.iter().map(|row| (*kind, row.get(0), row.get(1))));
    }
    pairs
}

/// Compares comments, removals and the erasure with what was acknowledged. The stream has no event of what a hidden user wrote.
fn direct(world: &World, done: &Done, received: &[Value]) -> Vec<String> {
    let of_type = |name: &str| -> Vec<Option<Entity>> {
        received.iter().filter(|event| event["type"] == name).map(|event| object(&event["target"])).collect()
    };
    let hidden = |comment: &i64| done.commented.get(comment) == Some(&world.hidden());
    let mut told: Vec<i64> =
        of_type("COMMENTED").into_iter().flatten().map(|comment| comment.id.get()).collect();
    told.retain(|comment| !hidden(comment));
    told.sort_unstable();
    let commented: Vec<i64> = done.commented.keys().copied().filter(|comment| !hidden(comment)).collect();
    let mut removed: Vec<Entity> = of_type("REMOVED").into_iter().flatten().collect();
    removed.sort_unstable();
    let erased = of_type("ERASED");
    let mut wrong = Vec::new();
    if told != commented {
        wrong.push(format!("comments {commented:?} were approved, events say {told:?}"));
    }
    if removed != done.removed.iter().copied().collect::<Vec<_>>() {
        wrong.push(format!("{:?} were removed, events say {removed:?}", done.removed));
    }
    let leaving = crate::world::entity(EntityKind::User, world.leaving());
    if erased != [Some(leaving)] {
        wrong.push(format!("{leaving} was erased once, events say {erased:?}"));
    }
    wrong
}

/// No event and no batch names the user who was erased, but the event of the erasure.
async fn erased(sql: &PgPool, world: &World) -> Vec<String> {
    let leaving = world.people.iter().find(|person| person.id == world.leaving()).unwrap();
    let left = "SELECT 'an event at ' || position FROM event
                WHERE actor_id = $1 OR recipient_id = $1 OR (target_id = $1 AND kind IN (3, 203, 304))
                   OR (subject = $2 AND kind <> 115)
                UNION ALL SELECT 'a batch' FROM webhook_batch WHERE body LIKE '%' || $2 || '%'";
    let left: Vec<String> =
        sqlx::query_scalar(left).bind(leaving.id).bind(&leaving.subject).fetch_all(sql).await.unwrap();
    let kept = "SELECT count(*) FROM event WHERE subject = $1 AND kind = 115";
    let kept: i64 = sqlx::query_scalar(kept).bind(&leaving.subject).fetch_one(sql).await.unwrap();
    let kept = (kept != 1).then(|| format!("{kept} events of the erasure have its subject"));
    left.into_iter().map(|what| format!("{what} names the erased user")).chain(kept).collect()
}
