//! Benchmark of the guard: CPU time of the most expensive requests of an anonymous caller, until they are refused or
//! their execution starts.
//!
//! Each request passes [`Engine::prepare`] and, if allowed, the validation, which refuses fields that do not exist or
//! that conflict. Prints CPU time of the thread in microseconds; the goal is at most 5,000. `cargo measure guard`

#![expect(clippy::unwrap_used, reason = "a panic ends the benchmark, as it should")]

use std::{fmt::Write, num::NonZeroUsize, time::Duration};

use crate::support::Outcome;
use async_graphql::{Request, Variables};
use plaudit_catalogue::{
    primitives::ShardCount,
    settings::{CostSettings, DomainSettings, RateSettings},
};
use plaudit_counting::hub::Hub;
use plaudit_domain::Plaudit;
use plaudit_graphql::{Caller, Engine};
use plaudit_store::{redis::Redis, sql::Db};
use rustix::time::{ClockId, clock_gettime};
use serde_json::{Value, json};

const ROUNDS: usize = 200;

/// An engine without reachable stores.
fn engine(introspection: bool) -> Engine {
    let redis = Redis::new("redis://127.0.0.1:1", ShardCount::new(2).unwrap()).unwrap();
    let db = Db::for_requests("postgres://127.0.0.1:1/nowhere", 1).unwrap();
    let hub = Hub::new(redis.clone(), db.clone(), NonZeroUsize::MIN);
    let settings = DomainSettings { rates: RateSettings::unlimited(), ..DomainSettings::default() };
    Engine::new(
        Plaudit::new(redis, db, hub, settings),
        CostSettings { introspection: Some(introspection), ..CostSettings::of_development() },
        false,
    )
}

fn many(count: usize, item: impl Fn(usize) -> String) -> String {
    (0..count).map(item).collect::<Vec<_>>().join(" ")
}

fn bomb() -> String {
    let mut text = "{feed{nodes{...F0}}}".to_owned();
    for n in 0..15 {
        write!(text, "fragment F{n} on Note{{...F{next} ...F{next}}}", next = n + 1).unwrap();
    }
    text + "fragment F15 on Note{id}"
}

/// Documents at the limits, with the name of each case.
fn cases() -> Vec<(&'static str, String, Value)> {
    let ids = json!({ "ids": vec!["note_1"; 900], "x": "y".repeat(1_000) });
    let chain = many(28, |n| format!("fragment F{n} on Query {{ ...F{} a{n}: wrong }}", n + 1));
    let wide = many(20, |n| format!("fragment F{n} on Query {{ wrong{n} b{n} }}"));
    vec![
        ("fragments that multiply", bomb(), json!({})),
        ("32 KiB of spaces", format!("{{ wrong }}{}", " ".repeat(32_000)), json!({})),
        ("32 KiB of commas in a list", format!("{{ wrong(x: [{}]) }}", ",".repeat(32_000)), json!({})),
        ("32 KiB of comment", format!("{{ wrong }}#{}", "x".repeat(32_000)), json!({})),
        ("32 KiB of short comments", format!("{{ wrong {}\n}}", "#\n".repeat(16_000)), json!({})),
        (
            "32 KiB of the longest names",
            format!("{{ {} }}", many(120, |n| format!("{}{n:03}", "x".repeat(253)))),
            json!({}),
        ),
        ("32 KiB of string", format!("{{ wrong(x: \"{}\") }}", "x".repeat(32_000)), json!({})),
        ("32 KiB of escapes", format!("{{ wrong(x: \"{}\") }}", "\\u00e9".repeat(5_400)), json!({})),
        (
            "32 KiB of block string",
            format!("{{ wrong(x: \"\"\"{}\"\"\") }}", " x\n".repeat(10_500)),
            json!({}),
        ),
        ("a string that does not end", format!("{{ wrong(x: \"{}", "x".repeat(32_000)), json!({})),
        ("no end after 31 levels", format!("{} {}", "{a".repeat(31), " ".repeat(32_000)), json!({})),
        ("1,000 tokens that do not exist", format!("{{ {} }}", many(990, |n| format!("f{n}"))), json!({})),
        (
            "1,000 tokens, one of them unknown",
            format!("{{ {} wrong }}", "__typename ".repeat(990)),
            json!({}),
        ),
        ("1,000 tokens of one name", format!("{{ {} }}", "wrong ".repeat(990)), json!({})),
        (
            "fields that conflict",
            format!("{{ {} }}", many(160, |n| format!("wrong(x: {n})")).replace("wrong(x: 0)", "wrong")),
            json!({}),
        ),
        (
            "many long arguments",
            format!("{{ {} }}", many(2, |_| format!("wrong({})", many(90, |n| format!("argument{n}: 1"))))),
            json!({}),
        ),
        (
            "nested selection sets",
            format!("{{ {} {} {} }}", "...{".repeat(14), "wrong ".repeat(500), "}".repeat(20)),
            json!({}),
        ),
        (
            "a chain of fragments",
            format!("{{ ...F0 }} {chain} fragment F28 on Query {{ {} }}", "wrong ".repeat(20)),
            json!({}),
        ),
        (
            "fragments side by side",
            format!("{{ {} }} {wide}", many(9, |_| many(20, |n| format!("...F{n}")))),
            json!({}),
        ),
        ("a list of 900 values", format!("{{ wrong(x: [{}]) }}", "1 ".repeat(900)), json!({})),
        (
            "variables used repeatedly",
            format!("query ($ids: [ID!]) {{ {} }}", "user(id: $ids) { wrong } ".repeat(2)),
            ids.clone(),
        ),
        (
            "900 ids used twice",
            "query ($ids: [ID!]!) { nodes(ids: $ids) { wrong } b: nodes(ids: $ids) { id } }".to_owned(),
            ids,
        ),
        ("2,000 unused values", "{ wrong }".to_owned(), json!({ "x": vec![1; 1_990] })),
        ("200 KiB of unused variables", "{ wrong }".to_owned(), json!({ "x": "y".repeat(200_000) })),
        ("too many values", "{ wrong }".to_owned(), json!({ "x": vec![1; 100_000] })),
        ("many variables", format!("query ({}) {{ wrong }}", many(190, |n| format!("$v{n}: X"))), json!({})),
        ("many operations", many(180, |n| format!("query Q{n} {{ wrong }}")), json!({})),
    ]
}

pub fn main() -> Outcome<()> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(measure_all());
    Ok(())
}

async fn measure_all() {
    let production = engine(false);
    println!("{:>8} {:>8}  µs, median and worst of {ROUNDS}", "median", "worst");
    for (name, text, variables) in cases() {
        measure(&production, name, &text, &variables).await;
    }
    let introspection = include_str!("../tests/documents/introspection.graphql");
    measure(&engine(true), "GraphiQL's introspection, if enabled", introspection, &json!({})).await;
    let feed = include_str!("../tests/documents/apollo.graphql");
    let variables = json!({ "first": 20 });
    prepare(&production, "a feed that is not cached, prepared only", feed, &variables).await;
    measure(&production, "a feed, without reachable stores", feed, &variables).await;
    prepare(&production, "a cached feed, prepared only", feed, &variables).await;
}

async fn measure(engine: &Engine, name: &str, text: &str, variables: &Value) {
    let mut times = Vec::with_capacity(ROUNDS);
    for _ in 0..ROUNDS {
        let request = Request::new(text).variables(Variables::from_json(variables.clone()));
        let start = cpu_time();
        if let Ok(prepared) = engine.prepare(request, Caller::nobody()).await {
            let _ = engine.execute(prepared).await;
        }
        times.push(cpu_time() - start);
    }
    print(name, times);
}

async fn prepare(engine: &Engine, name: &str, text: &str, variables: &Value) {
    let mut times = Vec::with_capacity(ROUNDS);
    for _ in 0..ROUNDS {
        let request = Request::new(text).variables(Variables::from_json(variables.clone()));
        let start = cpu_time();
        let _ = engine.prepare(request, Caller::nobody()).await;
        times.push(cpu_time() - start);
    }
    print(name, times);
}

/// CPU time of this thread, which excludes other work on the machine.
fn cpu_time() -> Duration {
    clock_gettime(ClockId::ThreadCPUTime).try_into().unwrap()
}

fn print(name: &str, mut times: Vec<Duration>) {
    times.sort_unstable();
    let (median, worst) = (times[ROUNDS / 2].as_micros(), times[ROUNDS - 1].as_micros());
    println!("{median:>8} {worst:>8}  {name}");
}
