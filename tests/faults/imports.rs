//! Schedules of faults with an import beside two nodes: its lines say of the same edges, which users switch meanwhile, and
//! it is killed and started again until it ends. In the end each edge is as the latest of all says.

use std::{
    collections::BTreeMap,
    fmt::Write,
    fs,
    panic::AssertUnwindSafe,
    path::{Path, PathBuf},
    time::Duration,
};

use chrono::DateTime;
use futures_util::{FutureExt, future::join_all};
use plaudit_catalogue::{EdgeKind, primitives::fault::Point};
use plaudit_store::{redis::Redis, sql::Db};
use plaudit_tools::import::{Importer, Input, Progress, Rate};
use rand::{RngExt, SeedableRng, rngs::StdRng, seq::IndexedRandom};

use crate::{
    done::{Done, Pair},
    in_process::{Bench, Schedule, message_of},
    load::{Service, until},
    plan::{Effect, Plan, Trap},
    seeds,
    world::{Act, World},
};

/// Each file is a batch at least, with a position of its own.
const FILES: usize = 6;
/// Of a batch: things; edges and position.
const TRANSACTIONS: usize = 2;
/// Lines of a file, some of which say of one edge.
const LINES: usize = 60;
/// Steps of each user.
const STEPS: usize = 12;
/// The time of the first line, long before all steps, in Unix milliseconds.
const THEN: i64 = 1_577_836_800_000;
const POINTS: [Point; 2] = [Point::BeforeImported, Point::AfterImported];

#[test]
fn an_import_that_is_killed_beside_nodes_with_faults_leaves_each_edge_as_its_latest_change_says() {
    let _alone = fail::FailScenario::setup();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let failures: Vec<String> = runtime.block_on(async {
        let bench = Bench::new().await;
        let mut failures = Vec::new();
        for seed in seeds(1, 12) {
            failures.extend(run(&bench, seed).await);
        }
        failures
    });
    assert!(failures.is_empty(), "{} failed:\n{}", failures.len(), failures.join("\n\n"));
}

/// Returns the differences, with what is needed to reproduce them.
async fn run(bench: &Bench, seed: u64) -> Option<String> {
    let (world, mut rng) = (World::new(&bench.stores.sql().await).await, StdRng::seed_from_u64(seed));
    let mut plan = Plan::new(seed, &mut rng, STEPS * world.people.len());
    // What an import finds in the place of lost events is as right as they were.
    plan.faults.retain(|(_, fault)| !fault.loses());
    plan.traps.extend(POINTS.map(|point| Trap {
        point,
        after: rng.random_range(0..(FILES * TRANSACTIONS) as u32),
        effect: Effect::Kill,
    }));
    plan.traps.push(Trap::any(&mut rng, &POINTS));
    let history = History::new(&world, &mut rng);
    let files = history.write(bench).await;
    let schedule = Schedule::new(bench, &world, &plan, seed);
    let load = async {
        let (done, kills) = tokio::join!(switch(&schedule, &world, seed), import(bench, &files, seed));
        assert!(kills > 0, "SEED={seed}: the import was never killed");
        history.with(done)
    };
    let running = AssertUnwindSafe(schedule.run_with(load)).catch_unwind();
    let wrong = running.await.unwrap_or_else(|panic| vec![message_of(&*panic)]);
    (!wrong.is_empty()).then(|| format!("SEED={seed}: {plan}\n  {}", wrong.join("\n  ")))
}

/// All users switch edges. Returns the last change of each edge that was recorded: a like of what is liked is not.
async fn switch(schedule: &Schedule<'_>, world: &World, seed: u64) -> BTreeMap<Pair, bool> {
    let of_user = |actor: usize| async move {
        let (mut rng, mut last) = (StdRng::seed_from_u64(seed * 1_000 + actor as u64), BTreeMap::new());
        let me = world.people[actor].id;
        for step in 0..STEPS {
            let kind = *EdgeKind::ALL.choose(&mut rng).unwrap();
            let target = *world.targets(kind, me).choose(&mut rng).unwrap();
            let (on, key) = (rng.random_bool(0.5), format!("{me}-{step}"));
            let act = Act::Flip { kind, target, on };
            let acted = until(act, || schedule.act(world, actor, act, &key)).await;
            if acted.changed || !on {
                last.insert((kind, me, target.id), on);
            }
            schedule.progress.step();
        }
        last
    };
    join_all((0..world.people.len()).map(of_user)).await.into_iter().flatten().collect()
}

/// Imports the files until an import of all of them ends. Returns how often it was killed.
async fn import(bench: &Bench, files: &tempfile::TempDir, seed: u64) -> usize {
    let (mut rng, mut kills) = (StdRng::seed_from_u64(seed), 0);
    loop {
        let mut builder = tokio::runtime::Builder::new_multi_thread();
        let runtime = builder.worker_threads(2).thread_name("importer").enable_all().build().unwrap();
        let paths: Vec<PathBuf> = (0..FILES).map(|n| path_of(files.path(), n)).collect();
        let (redis_url, database_url) =
            (bench.stores.redis_url().to_owned(), bench.stores.database_url().to_owned());
        let shards = bench.shards;
        // With a limit one connection writes, without one two. With 150 lines per second a file has several parts.
        let rate = match seed % 3 {
            0 => Rate::ByServer,
            1 => Rate::Given(0),
            _ => Rate::Given(150),
        };
        let importing = runtime.spawn(async move {
            let redis = Redis::new(&redis_url, shards).unwrap();
            let db = Db::for_requests(&database_url, 4).unwrap();
            let mut importer = Importer::new(redis, db, rate);
            for path in paths {
                importer.import(&Input::of(&path), &Progress::default()).await.map_err(|e| e.to_string())?;
            }
            Ok::<_, String>(())
        });
        // The first one is killed at any moment, also where there is no fail point.
        let limit = if kills == 0 { rng.random_range(20..400) } else { 120_000 };
        let ended = tokio::time::timeout(Duration::from_millis(limit), importing).await;
        runtime.shutdown_background();
        match ended {
            Ok(Ok(Ok(()))) if kills > 0 => return kills,
            // Done again, it changes nothing; an error of a store is a reason to repeat it, too.
            _ => kills += 1,
        }
        assert!(kills < 50, "SEED={seed}: the import never ends");
    }
}

/// The lines of the import.
struct History {
    files: Vec<String>,
    /// The latest line of each edge.
    newest: BTreeMap<Pair, bool>,
}

impl History {
    /// Times rise from line to line; lines that say the same or the opposite of one edge are in one file or in several.
    fn new(world: &World, rng: &mut StdRng) -> Self {
        let (mut files, mut newest) = (Vec::new(), BTreeMap::new());
        for file in 0..FILES {
            let mut lines = String::new();
            for line in 0..LINES {
                let person = world.people.choose(rng).unwrap();
                let kind = *EdgeKind::ALL.choose(rng).unwrap();
                let target = world.targets(kind, person.id).choose(rng).unwrap().id;
                let on = rng.random_bool(0.5);
                let at =
                    DateTime::from_timestamp_millis(THEN + (file * LINES + line) as i64 * 1_000).unwrap();
                let (name, field) = match kind {
                    EdgeKind::NoteLike => ("like", "note"),
                    EdgeKind::CommentLike => ("like", "comment"),
                    EdgeKind::NoteCollect => ("collect", "note"),
                    EdgeKind::Follow => ("follow", "target"),
                    EdgeKind::GroupJoin => ("join", "group"),
                };
                let of_target = match kind {
                    EdgeKind::Follow => {
                        world.people.iter().find(|other| other.id == target).unwrap().subject.clone()
                    }
                    // As an export names what has no key.
                    _ => format!("{}_{target}@INSTALLATION", kind.target().name()),
                };
                let text = serde_json::json!({
                    "type": name, "user": person.subject, field: of_target, "on": on, "at": at.to_rfc3339(),
                });
                writeln!(lines, "{text}").unwrap();
                newest.insert((kind, person.id, target), on);
            }
            files.push(lines);
        }
        Self { files, newest }
    }

    async fn write(&self, bench: &Bench) -> tempfile::TempDir {
        let installation: String = sqlx::query_scalar("SELECT id::text FROM installation")
            .fetch_one(&bench.stores.sql().await)
            .await
            .unwrap();
        let place = tempfile::tempdir().unwrap();
        for (n, lines) in self.files.iter().enumerate() {
            fs::write(path_of(place.path(), n), lines.replace("INSTALLATION", &installation)).unwrap();
        }
        place
    }

    /// What users did is later than any line.
    fn with(&self, switched: BTreeMap<Pair, bool>) -> Done {
        let mut edges = self.newest.clone();
        edges.extend(switched);
        Done { edges, ..Done::default() }
    }
}

fn path_of(place: &Path, n: usize) -> PathBuf {
    place.join(format!("{n}.jsonl"))
}
