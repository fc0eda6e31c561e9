//! Consistency check: at rest, rows, totals in PostgreSQL, totals in Redis and the last values of subscribers agree.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    time::{Duration, Instant},
};

use plaudit_catalogue::{Counter, EdgeKind, Entity, EntityKind, primitives::ShardCount};
use redis::AsyncCommands;
use sqlx::{AssertSqlSafe, PgPool, Row};

use crate::{
    done::{Done, Pair, counts_of},
    observations::{Observations, Values},
    world::{Target, World, edited_body, upserted_key},
};
use support::{Stores, key, wrong_totals};

/// Time for the last views, which processes gather for a second before they append them to the log.
const LAST_VIEWS: Duration = Duration::from_secs(5);
/// Time for subscribers to receive the last values; they may first have to detect an interruption.
const PUSHED_WITHIN: Duration = Duration::from_secs(30);

/// State of the shards, for the report of a failure.
pub async fn state(stores: &Stores, shards: ShardCount) -> String {
    let rows = "SELECT to_jsonb(shard)::text FROM shard ORDER BY id";
    let rows: Vec<String> = sqlx::query_scalar(rows).fetch_all(&stores.sql().await).await.unwrap();
    let mut lines = vec![format!("now {}", chrono::Utc::now())];
    for (shard, row) in shards.all().zip(rows) {
        let mut redis = stores.redis_of(&key(shard.index(), "meta")).await;
        let meta: BTreeMap<String, String> = redis.hgetall(key(shard.index(), "meta")).await.unwrap();
        let log: Vec<redis::Value> =
            redis.xrevrange_count(key(shard.index(), "log"), "+", "-", 3).await.unwrap();
        lines.push(format!("{row}\n  meta {meta:?}\n  end of log {log:?}"));
    }
    lines.join("\n")
}

/// All differences that last. If `lossless`, every acknowledged flip must be in the rows.
pub async fn differences(
    stores: &Stores,
    world: &World,
    done: &Done,
    observations: &Observations,
    lossless: bool,
) -> Vec<String> {
    let start = Instant::now();
    loop {
        let wrong = present_differences(stores, world, done, observations, lossless).await;
        if wrong.is_empty() || start.elapsed() > LAST_VIEWS {
            return wrong;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// What the history of the clients has against the promises.
pub async fn violations(stores: &Stores, world: &World, observations: &Observations) -> Vec<String> {
    let sql = stores.sql().await;
    let shards: i64 = sqlx::query_scalar("SELECT count(*) FROM shard").fetch_one(&sql).await.unwrap();
    let rows = pairs_on(&sql, world).await;
    let mut totals = Vec::new();
    for entity in world.entities_in_the_end() {
        let of_entity = totals_of(&sql, entity).await;
        totals.extend(of_entity.into_iter().map(|(counter, total)| (entity, counter, total)));
    }
    let complete = observations.subscribers().into_iter();
    observations.recorder.violations(world, shards, &rows, totals.into_iter(), complete)
}

async fn present_differences(
    stores: &Stores,
    world: &World,
    done: &Done,
    observations: &Observations,
    lossless: bool,
) -> Vec<String> {
    stores.rest().await;
    let (sql, mut wrong) = (stores.sql().await, Vec::new());
    let rows = pairs_on(&sql, world).await;
    if lossless {
        let expected = done.pairs_on();
        wrong
            .extend(expected.difference(&rows).map(|pair| format!("{pair:?} was acknowledged, but is lost")));
        wrong.extend(
            rows.difference(&expected).map(|pair| format!("{pair:?} is on, but was not acknowledged")),
        );
    }
    wrong.extend(direct_differences(&sql, world, done).await);
    let mut expected = counts_of(world, &rows);
    expected.extend(done.direct_counts(world));
    let mut totals = BTreeMap::new();
    for entity in world.entities_in_the_end() {
        totals.insert(entity, totals_of(&sql, entity).await);
    }
    for ((entity, counter), expected) in &expected {
        let total = totals[entity][counter];
        if total != *expected {
            wrong.push(format!("{entity} {}: rows say {expected}, the total is {total}", counter.name()));
        }
    }
    wrong.extend(wrong_totals(&sql).await);
    for (entity, totals) in &totals {
        wrong.extend(redis_differences(stores, *entity, totals).await);
    }
    for note in &world.notes {
        let views = totals[&Entity::new(EntityKind::Note, note.id.try_into().unwrap())][&Counter::NoteViews];
        let acknowledged = done.views.get(&note.id).copied().unwrap_or(0);
        if views > acknowledged {
            wrong.push(format!("note {} has {views} views of {acknowledged}", note.id));
        }
    }
    wrong.extend(push_differences(observations, &totals).await);
    // After a loss, reconciliation may repair cached sets before the pipeline detects the loss.
    let repaired = "SELECT entity || ' ' || counter FROM repair";
    let repaired: Vec<String> = sqlx::query_scalar(repaired).fetch_all(&sql).await.unwrap();
    if lossless && !repaired.is_empty() {
        wrong.push(format!("reconciliation repaired {repaired:?}"));
    }
    let dead: i64 = sqlx::query_scalar("SELECT count(*) FROM dead_event").fetch_one(&sql).await.unwrap();
    if dead > 0 {
        wrong.push(format!("{dead} events are dead"));
    }
    wrong
}

/// Compares the rows of direct changes with what was acknowledged.
async fn direct_differences(sql: &PgPool, world: &World, done: &Done) -> Vec<String> {
    let people: Vec<i64> = world.people.iter().map(|person| person.id).collect();
    let (notes, first_comments) = (ids(&world.notes), ids(&world.comments));
    let ratings = "SELECT user_id || ' rates ' || note_id || ' ' || score FROM note_rating
                   WHERE user_id = ANY($1) AND note_id = ANY($2)";
    let comments = "SELECT author_id || ' commented on ' || note_id || ' in ' || id FROM comment_index
                    WHERE author_id = ANY($1) AND id <> ALL($2) AND is_counted";
    let posts = "SELECT author_id || ' posted ' || id FROM note
                 WHERE author_id = ANY($1) AND id <> ALL($2) AND is_shown AND (key IS NULL OR key NOT LIKE 'upsert %')";
    let upserts = "SELECT author_id || ' has ' || key || ' ' || body FROM note
                   WHERE author_id = ANY($1) AND id <> ALL($2) AND is_shown AND key LIKE 'upsert %'";
    let reports = "SELECT reporter_id || ' reported ' || about FROM report JOIN report_case AS c ON c.id = case_id
                   WHERE reporter_id = ANY($1) AND about = ANY(SELECT 'note_' || n FROM unnest($2::bigint[]) AS n)";
    let suspended =
        "SELECT id || ' is suspended' FROM app_user WHERE id = ANY($1) AND suspended_until > now()
                     AND cardinality($2::bigint[]) >= 0";
    let cases = "SELECT about || ' has a wrong number of reports' FROM report_case AS c
                 WHERE reports <> (SELECT count(*) FROM report WHERE case_id = c.id)
                 AND cardinality($1::bigint[]) + cardinality($2::bigint[]) >= 0";
    let readers = "SELECT id || ' has read the inbox' FROM inbox_counts JOIN app_user AS u USING (id)
                   WHERE id = ANY($1) AND u.removed_at IS NULL
                   AND greatest(replies_read_to, likes_read_to, followers_read_to, messages_read_to) > 0
                   AND cardinality($2::bigint[]) >= 0";
    let bodies = "SELECT id || ' says ' || body FROM note WHERE author_id = ANY($1) AND id = ANY($2) AND body <> 'Text'";
    let words = "SELECT id || ' says ' || body FROM comment_index JOIN comment_body USING (id)
                 WHERE author_id = ANY($1) AND id <> ALL($2) AND is_counted";
    let mut wrong = Vec::new();
    for (rows, of, expected) in [
        (
            ratings,
            &notes,
            done.ratings.iter().map(|((by, note), score)| format!("{by} rates {note} {score}")).collect(),
        ),
        (
            comments,
            &first_comments,
            done.comments
                .iter()
                .map(|(id, (author, note))| format!("{author} commented on {note} in {id}"))
                .collect(),
        ),
        (
            upserts,
            &notes,
            done.upserts
                .iter()
                .map(|(author, number)| {
                    let (key, body) = (upserted_key(*author, *number), edited_body(*number));
                    format!("{author} has {key} {body}")
                })
                .collect(),
        ),
        (
            reports,
            &notes,
            done.reports.iter().map(|(by, note)| format!("{by} reported note_{note}")).collect(),
        ),
        (suspended, &notes, BTreeSet::new()),
        (cases, &notes, BTreeSet::new()),
        (readers, &notes, done.readers.iter().map(|user| format!("{user} has read the inbox")).collect()),
        (posts, &notes, done.posts.iter().map(|(id, author)| format!("{author} posted {id}")).collect()),
        (words, &first_comments, done.words.iter().map(|(id, body)| format!("{id} says {body}")).collect()),
        (bodies, &notes, done.bodies.iter().map(|(id, body)| format!("{id} says {body}")).collect()),
    ] {
        let rows: Vec<String> = sqlx::query_scalar(rows).bind(&people).bind(of).fetch_all(sql).await.unwrap();
        let (rows, expected): (BTreeSet<String>, BTreeSet<String>) = (rows.into_iter().collect(), expected);
        wrong.extend(expected.difference(&rows).map(|row| format!("{row}: was acknowledged, but is lost")));
        wrong.extend(rows.difference(&expected).map(|row| format!("{row}: was not acknowledged")));
    }
    wrong
}

fn ids(targets: &[Target]) -> Vec<i64> {
    targets.iter().map(|target| target.id).collect()
}

async fn pairs_on(sql: &PgPool, world: &World) -> BTreeSet<Pair> {
    let people: Vec<i64> = world.people.iter().map(|person| person.id).collect();
    let mut pairs = BTreeSet::new();
    for kind in EdgeKind::ALL {
        let query = format!(
            "SELECT actor_id, target_id FROM {} WHERE is_on AND included AND actor_id = ANY($1)",
            kind.name()
        );
        let rows = sqlx::query(AssertSqlSafe(query)).bind(&people).fetch_all(sql).await.unwrap();
        pairs.extend(rows.iter().map(|row| (*kind, row.get(0), row.get(1))));
    }
    pairs
}

async fn totals_of(sql: &PgPool, entity: Entity) -> BTreeMap<Counter, i64> {
    let query = format!("SELECT * FROM {}_counts WHERE id = $1", entity.kind.name());
    let row = sqlx::query(AssertSqlSafe(query)).bind(entity.id.get()).fetch_one(sql).await.unwrap();
    entity.kind.counters().iter().map(|counter| (*counter, row.get(counter.name()))).collect()
}

async fn redis_differences(stores: &Stores, entity: Entity, totals: &BTreeMap<Counter, i64>) -> Vec<String> {
    let shards: i64 =
        sqlx::query_scalar("SELECT count(*) FROM shard").fetch_one(&stores.sql().await).await.unwrap();
    let shard = entity.id.get() % shards;
    let mut redis = stores.redis_of(&key(shard, "meta")).await;
    let epoch: String = redis.hget(key(shard, "meta"), "epoch").await.unwrap();
    let fields: HashMap<String, String> = redis.hgetall(key(shard, format!("c:{entity}"))).await.unwrap();
    if fields.get("epoch") != Some(&epoch) || fields.contains_key("load") {
        return Vec::new(); // of an earlier epoch, or not loaded
    }
    let differs = |(counter, total): (&Counter, &i64)| {
        let base = fields.get(counter.name())?;
        (*base != total.to_string())
            .then(|| format!("{entity} {}: the total is {total}, Redis has {base}", counter.name()))
    };
    totals.iter().filter_map(differs).collect()
}

/// Compares the last values of each subscriber; waits for values that are still being sent.
async fn push_differences(
    observations: &Observations,
    totals: &BTreeMap<Entity, BTreeMap<Counter, i64>>,
) -> Vec<String> {
    let differs = || -> Vec<String> {
        let of_entity = |(entity, totals): (&Entity, &BTreeMap<Counter, i64>)| {
            let differs = |(subscriber, version, values): (String, u64, Values)| {
                let wrong = values.iter().find(|(counter, value)| totals[counter] != **value)?;
                Some(format!(
                    "{subscriber} last got {entity} {wrong:?} at version {version}, the totals are {totals:?}"
                ))
            };
            observations.newest(*entity).into_iter().filter_map(differs).collect::<Vec<_>>()
        };
        totals.iter().flat_map(of_entity).collect()
    };
    let start = Instant::now();
    while !differs().is_empty() && start.elapsed() < PUSHED_WITHIN {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    differs()
}
