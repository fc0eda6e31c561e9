//! The explanation of an object's counts, for moderators: the same as that of the command `plaudit explain`.

use std::cmp::Reverse;

use futures_util::FutureExt;

use crate::{
    definition::{
        list_size::ListSize,
        resolve::{Call, Resolve},
        types::{EnumType, ObjectType},
        values::{Object, Output, Scalar},
    },
    errors::ApiResult,
    request::{
        access::Who,
        ids::{known, parse_any},
    },
};
use plaudit_domain::{Explanation, RowCount, explain};

/// Most logs of an explanation; those that are furthest behind.
const MAX_LOGS: usize = 64;

pub fn explanations(query: ObjectType) -> ObjectType {
    query.field(
        "explain(\"Of a user, note, comment or group.\" id: ID!): Explanation",
        "Where an object's counts come from, and whether PostgreSQL and Redis agree. Null if there never was one. It \
         counts rows and reads the logs, so it costs as much as many other queries. For moderators.",
        Resolve::Call(|call| explain(call).boxed()),
    )
    .who(Who::Moderator)
    // It is read by statements of its own.
    .sized("explain", ListSize::Computed(|_| 1))
}

pub fn explanation_types() -> [ObjectType; 6] {
    [explanation(), counter(), log(), event(), invalidation(), repair()]
}

fn explanation() -> ObjectType {
    ObjectType::new(
        "Explanation",
        "Where an object's counts come from, and whether PostgreSQL and Redis agree.",
    )
    .parts([
        ("objectId: ID!", "The object."),
        (
            "verdict: [String!]!",
            "What is wrong, or that all agrees: a sentence each. The last one says what to do.",
        ),
        ("hasDrift: Boolean!", "Whether a number or a cached set is wrong."),
        (
            "isBusy: Boolean!",
            "Whether it changed during each comparison with Redis, so that nothing is known.",
        ),
        ("isPresent: Boolean!", "Whether the object exists and is not removed."),
        ("removedAt: DateTime", "When it was removed. Null if it was not."),
        ("shard: Int!", "The shard of its counts."),
        ("counters: [ExplainedCounter!]!", "Each counter in PostgreSQL and Redis."),
        ("hasRedis: Boolean!", "Whether Redis could be read. If not, what it holds is missing here."),
        ("version: CountsVersion", "The version of the counts in Redis. Null if Redis has none."),
        ("isLoading: Boolean!", "Whether its counts are being loaded into Redis."),
        ("logs: [ExplainedLog!]!", "How far the shards' logs are, the furthest behind first: at most 64."),
        (
            "lastEvents: [ExplainedEvent!]!",
            "Events at the ends of the logs that move a counter of it, newest last: at most 10.",
        ),
        (
            "waitingInvalidations: [ExplainedInvalidation!]!",
            "Changes by PostgreSQL that Redis has not yet followed, oldest first: at most 20.",
        ),
        ("lastRepairs: [ExplainedRepair!]!", "Its last repairs, newest first: at most 5."),
    ])
    .sized("verdict", ListSize::Fixed(20))
    .sized("counters", ListSize::Fixed(8))
    .sized("logs", ListSize::Fixed(MAX_LOGS as u64))
    .sized("lastEvents", ListSize::Fixed(10))
    .sized("waitingInvalidations", ListSize::Fixed(20))
    .sized("lastRepairs", ListSize::Fixed(5))
}

fn counter() -> ObjectType {
    ObjectType::new("ExplainedCounter", "A counter in PostgreSQL and Redis. `redis` must be `total` and `tail`.").parts([
        ("name: String!", "Its name, as in `plaudit explain`."),
        ("rows: SignedCount", "Recounted from rows, `carried` included. Null if it has no rows, or if the object was removed and the total is frozen."),
        ("carried: Count!", "What of the total has no rows, such as views from before an app came here, as an import has set it."),
        ("total: SignedCount", "In PostgreSQL. Null if there is no row of totals."),
        ("tail: SignedCount!", "The sum of the events that are folded and not yet in PostgreSQL."),
        ("redis: SignedCount", "In Redis, `tail` included. Null if Redis has not loaded it."),
        ("isRight: Boolean!", "Whether nothing was found to be wrong with it."),
    ])
}

fn log() -> ObjectType {
    ObjectType::new(
        "ExplainedLog",
        "How far the log of a shard is. Positions are offsets: `generation-number`.",
    )
    .parts([
        ("shard: Int!", "The shard that has the log."),
        ("owner: String", "The process that leads the shard. Null if none does."),
        ("end: String", "The last event. Null if Redis could not be read."),
        (
            "folded: String",
            "Counted in Redis up to here, for the object's shard. Null if Redis could not be read.",
        ),
        ("persisted: String!", "In PostgreSQL up to here."),
        ("retired: String", "Taken out of the pending overlay up to here. Null if Redis could not be read."),
        ("behind: SignedCount", "Events that are not yet in PostgreSQL. Null if that is not known."),
    ])
}

fn event() -> ObjectType {
    ObjectType::new("ExplainedEvent", "An event of a log.").parts([
        ("shard: Int!", "The shard that has the log."),
        ("offset: String!", "Its position in the log."),
        ("event: String!", "The event, as the log has it."),
        ("state: ExplainedEventState!", "How far it is."),
    ])
}

pub fn event_state() -> EnumType {
    EnumType {
        name: "ExplainedEventState",
        description: "How far an event is.",
        values: vec![
            ("APPENDED", "In the log."),
            ("FOLDED", "Counted in Redis."),
            ("PERSISTED", "In PostgreSQL."),
            ("RETIRED", "In PostgreSQL, and out of the pending overlay."),
        ],
    }
}

fn invalidation() -> ObjectType {
    ObjectType::new("ExplainedInvalidation", "A change by PostgreSQL that Redis has not yet followed.").parts(
        [
            ("reason: String!", "Why."),
            ("createdAt: DateTime!", "When PostgreSQL changed."),
            ("dueAt: DateTime!", "When the owner of the shard makes Redis follow, at the latest."),
        ],
    )
}

fn repair() -> ObjectType {
    ObjectType::new("ExplainedRepair", "A repair by reconciliation.").parts([
        ("what: String!", "What was wrong."),
        ("counter: String!", "The counter or the kind of edges. Empty for all counters."),
        ("from: SignedCount", "The wrong number. Null if there was none."),
        ("to: SignedCount", "The right number. Null if there should be none."),
        ("madeBy: String!", "What started it: `command`, `background` or `nightly`."),
        ("madeAt: DateTime!", "When it was repaired."),
    ])
}

async fn explain(call: Call<'_>) -> ApiResult<Output> {
    let Some(entity) = known(parse_any("id", &call.arguments.text("id").unwrap_or_default()))? else {
        return Ok(Output::NULL);
    };
    let explained = explain::explain(call.scope.plaudit(), entity).await?;
    Ok(Output::optional(explained.map(|of| {
        Object::record(
            head(&of).into_iter().chain([("objectId", Scalar::Id(entity).into())]).chain(lists(&of)),
        )
    })))
}

fn head(of: &Explanation) -> [(&'static str, Output); 8] {
    [
        ("hasDrift", (!of.findings.is_empty()).into()),
        ("isBusy", of.is_busy.into()),
        ("isPresent", (of.exists && of.removed_at.is_none()).into()),
        ("removedAt", of.removed_at.map(Output::from).into()),
        ("shard", i64::from(of.shard).into()),
        ("hasRedis", of.redis.error.is_none().into()),
        ("version", number(of.redis.version.map(|version| version as i64))),
        ("isLoading", of.redis.is_loading.into()),
    ]
}

fn lists(of: &Explanation) -> [(&'static str, Output); 6] {
    [
        (
            "verdict",
            Scalar::List(of.verdict().into_iter().map(|line| Scalar::Text(line.into())).collect()).into(),
        ),
        ("counters", counters(of)),
        ("logs", logs(of)),
        ("lastEvents", events(of)),
        ("waitingInvalidations", invalidations(of)),
        ("lastRepairs", repairs(of)),
    ]
}

fn counters(of: &Explanation) -> Output {
    Output::list(of.counters.iter().map(|counter| {
        let rows = match counter.rows {
            RowCount::Counted(rows) => Some(rows),
            RowCount::None | RowCount::Frozen => None,
        };
        Object::record([
            ("name", counter.name.to_owned().into()),
            ("rows", number(rows)),
            ("carried", counter.carried.into()),
            ("total", number(counter.total)),
            ("tail", counter.pending.into()),
            ("redis", number(counter.redis)),
            ("isRight", of.is_right(counter).into()),
        ])
    }))
}

fn logs(of: &Explanation) -> Output {
    let mut logs: Vec<_> = of.logs.iter().collect();
    logs.sort_by_key(|log| Reverse(log.behind)); // stable: equals stay in the order of the shards
    Output::list(logs.into_iter().take(MAX_LOGS).map(|log| {
        Object::record([
            ("shard", i64::from(log.source).into()),
            ("owner", text(log.owner.as_deref())),
            ("end", text(log.end.as_deref())),
            ("folded", text(log.folded.as_deref())),
            ("persisted", log.persisted.clone().into()),
            ("retired", text(log.retired.as_deref())),
            ("behind", number(log.behind.map(|events| events as i64))),
        ])
    }))
}

fn events(of: &Explanation) -> Output {
    Output::list(of.last_events.iter().map(|event| {
        Object::record([
            ("shard", i64::from(event.source).into()),
            ("offset", event.offset.clone().into()),
            ("event", event.event.clone().into()),
            ("state", Scalar::Name(state(event.state)).into()),
        ])
    }))
}

/// The value of the enum for a state of the explanation.
fn state(of: &str) -> &'static str {
    match of {
        "retired" => "RETIRED",
        "persisted" => "PERSISTED",
        "folded" => "FOLDED",
        _ => "APPENDED",
    }
}

fn invalidations(of: &Explanation) -> Output {
    Output::list(of.waiting_invalidations.iter().map(|waiting| {
        Object::record([
            ("reason", waiting.reason.clone().into()),
            ("createdAt", waiting.created_at.into()),
            ("dueAt", waiting.due_at.into()),
        ])
    }))
}

fn repairs(of: &Explanation) -> Output {
    Output::list(of.last_repairs.iter().map(|repair| {
        Object::record([
            ("what", repair.what.clone().into()),
            ("counter", repair.counter.clone().into()),
            ("from", number(repair.from)),
            ("to", number(repair.to)),
            ("madeBy", repair.made_by.clone().into()),
            ("madeAt", repair.made_at.into()),
        ])
    }))
}

/// Null for none.
fn number(value: Option<i64>) -> Output {
    value.map(Output::from).into()
}

/// Null for none.
fn text(value: Option<&str>) -> Output {
    value.map(|text| Output::from(text.to_owned())).into()
}
