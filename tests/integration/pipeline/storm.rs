//! Storm test: all actions concurrently, in random order. At rest, totals agree with a plain model and with the rows.

mod acting;
mod done;
mod expected;
mod leaving;
mod moderating;
mod remains;
mod texts;
mod totals;
mod world;
mod writing;

use std::{
    collections::BTreeMap,
    fmt::Debug,
    fs,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use futures_util::future::join_all;
use plaudit_token_auth::Role;
use rand::{SeedableRng, rngs::StdRng};
use serde_json::{Value, json};

use self::{
    expected::{Outcome, counts_from_api},
    remains::remains,
    texts::texts_from_api,
    totals::differences,
    world::{BADGES, FORBIDDEN, LEAVING, USERS, World},
};
use crate::graphql::schema_types::Types;
use support::{Client, Place, SOON, Server, Stores, number, path_of};

const STORMS: usize = 4;

/// Runs of `plaudit reconcile --repair`, one after the other.
struct Reconciling {
    is_over: Arc<AtomicBool>,
    runs: JoinHandle<(u64, u64)>,
}

fn keep_reconciling(server: &Server) -> Reconciling {
    let is_over = Arc::new(AtomicBool::new(false));
    let (over, mut command) = (Arc::clone(&is_over), server.command());
    command.args(["reconcile", "--repair", "--format", "json"]);
    let runs = thread::spawn(move || {
        let (mut runs, mut checked) = (0, 0);
        while !over.load(Relaxed) {
            let output = command.output().unwrap();
            let stdout = String::from_utf8_lossy(&output.stdout);
            assert!(output.status.success(), "{stdout} {}", String::from_utf8_lossy(&output.stderr));
            let sums: Value = serde_json::from_str(stdout.lines().last().unwrap()).unwrap();
            (runs, checked) = (runs + 1, checked + sums["checked"].as_u64().unwrap());
        }
        (runs, checked)
    });
    Reconciling { is_over, runs }
}

impl Reconciling {
    /// How many runs there were, and how many entities they checked.
    fn end(self) -> (u64, u64) {
        self.is_over.store(true, Relaxed);
        self.runs.join().unwrap()
    }
}

#[test]
fn a_storm_has_every_mutation_of_the_schema() {
    let folder = fs::read_dir(path_of("tests/integration/pipeline/storm")).unwrap();
    let code: String = folder.map(|file| fs::read_to_string(file.unwrap().path()).unwrap()).collect();
    let types = Types::read();
    let missing = types.mutations().map(|(mutation, _)| mutation);
    let missing: Vec<&str> = missing.filter(|mutation| !code.contains(&format!("\"{mutation}\""))).collect();
    assert_eq!(missing, Vec::<&str>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn after_a_storm_of_all_actions_totals_agree_with_a_plain_model_and_the_rows() {
    let place = Place::new();
    let words = place.path().join("words");
    fs::write(&words, FORBIDDEN).unwrap();
    let moderator = ["--moderator", "blocklist", "--moderator-blocklist", words.to_str().unwrap()];
    // Small batches, so that batches end between any two events.
    let flags = ["--batch-events", "7", "--batch-wait", "2ms", "--reconcile-sample", "500"];
    let server = Server::start(&[&flags[..], &moderator, &["--view-window", "1h"]].concat());
    let stores = server.stores();
    let reconciling = keep_reconciling(&server);
    for storm in 0..STORMS {
        let seed: u64 = rand::random();
        println!("storm {storm} has the seed {seed}"); // shown when the test fails
        blow(&server, &stores, storm, seed).await;
    }
    // Reconciliation ran all the time and reported no drift.
    let (runs, checked) = reconciling.end();
    println!("{runs} runs of reconcile checked {checked} entities");
    assert!(runs > 2 && checked > 100, "{runs} runs, {checked} entities");
    let repairs: Vec<(String, String, Option<i64>, Option<i64>)> =
        sqlx::query_as("SELECT entity, what || ' ' || counter, from_value, to_value FROM repair")
            .fetch_all(&stores.sql().await)
            .await
            .unwrap();
    assert_eq!(repairs, []);
    // Nothing was lost, so hidden and erased users and removals explain every mismatch.
    assert_eq!(server.metric("plaudit_persist_mismatches_total{cause=\"unexplained\"}").await, 0.0);
}

/// One storm, and what is to be true after it.
async fn blow(server: &Server, stores: &Stores, storm: usize, seed: u64) {
    let [moderator, service] = [(Role::Moderator, "a moderator"), (Role::Service, "a service")]
        .map(|(role, subject)| server.client_as(role, subject).retrying());
    let world = World::new(server, &moderator, storm).await;
    let rng = |part: usize| StdRng::seed_from_u64(seed.wrapping_add(part as u64));
    let (lives, hidden, (), decided, served) = tokio::join!(
        join_all((0..USERS).map(|actor| world.act(actor, rng(actor)))),
        world.hide(rng(USERS)),
        world.suspend(rng(USERS + 1)),
        world.decide(rng(USERS + 2)),
        world.serve(&service, rng(USERS + 3)),
    );
    let lives = lives.into_iter().flatten().collect();
    let outcome = Outcome::new(&world, lives, hidden, decided, served);
    let (counts, texts) = (outcome.counts(), outcome.texts());
    let start = Instant::now();
    loop {
        stores.rest().await;
        let wrong = [
            wrong(&counts, &counts_from_api(&moderator, &counts).await),
            wrong(&texts, &texts_from_api(&moderator, &texts).await),
        ];
        if wrong.iter().all(Vec::is_empty) {
            break;
        }
        assert!(start.elapsed() < SOON, "seed {seed}: {wrong:#?}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    for (index, messages) in outcome.messages() {
        let unread = unread(&world.users[index].0).await;
        assert_eq!(unread["unreadMessageCount"], messages, "user {index}, seed {seed}");
    }
    for index in LEAVING {
        let user = number(&json!(world.users[index].1));
        assert_eq!(remains(stores, user).await, Vec::<String>::new(), "seed {seed}");
    }
    assert_eq!(differences(stores).await, Vec::<String>::new(), "seed {seed}");
    read_all(&world, stores, seed).await;
}

/// What queries answer otherwise than expected.
fn wrong<K: Ord + Debug, V: PartialEq + Debug>(
    expected: &BTreeMap<K, V>,
    answered: &BTreeMap<K, V>,
) -> Vec<String> {
    let differing = expected.iter().filter(|(key, value)| answered.get(key) != Some(value));
    differing.map(|(key, value)| format!("{key:?} is {:?}, not {value:?}", answered.get(key))).collect()
}

async fn unread(client: &Client) -> Value {
    let query =
        "{ viewer { inbox { unreadLikeCount unreadFollowerCount unreadMessageCount unreadReplyCount } } }";
    client.data(query, json!({})).await["viewer"]["inbox"].clone()
}

/// Everybody reads everything. Then nothing is unread.
async fn read_all(world: &World, stores: &Stores, seed: u64) {
    for (client, _) in &world.users {
        client.act("markInboxRead", json!({ "badges": BADGES }), "changed").await;
    }
    stores.rest().await;
    for (client, user) in &world.users {
        let unread: BTreeMap<String, i64> = serde_json::from_value(unread(client).await).unwrap();
        assert!(unread.values().all(|count| *count == 0), "{user}: {unread:?}, seed {seed}");
    }
    assert_eq!(differences(stores).await, Vec::<String>::new(), "seed {seed}");
}
