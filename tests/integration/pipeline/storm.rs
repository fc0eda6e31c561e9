//! Storm test: all actions concurrently, in random order. At rest, totals agree with a plain model and with the rows.

mod expected;
mod totals;
mod world;

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    thread::{self, JoinHandle},
};

use futures_util::future::join_all;
use plaudit_token_auth::Role;
use rand::{SeedableRng, rngs::StdRng};
use serde_json::Value;

use self::{
    expected::{counts_from_api, expected},
    totals::differences,
    world::{USERS, World, grant, moderate},
};
use crate::support::{SOON, Server, eventually};

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

#[tokio::test(flavor = "multi_thread")]
async fn after_a_storm_of_all_actions_totals_agree_with_a_plain_model_and_the_rows() {
    // Small batches, so that batches end between any two events.
    let flags = ["--batch-events", "7", "--batch-wait", "2ms", "--reconcile-sample", "500"];
    let server = Server::start(&flags);
    let stores = server.stores();
    let reconciling = keep_reconciling(&server);
    for storm in 0..STORMS {
        let seed: u64 = rand::random();
        println!("storm {storm} has the seed {seed}"); // shown when the test fails
        let rng = |part: usize| StdRng::seed_from_u64(seed.wrapping_add(part as u64));
        let world = World::new(&server, storm).await;
        let (moderator, service) =
            (server.client_as(Role::Moderator, "a moderator"), server.client_as(Role::Service, "a service"));
        let acting = join_all((0..USERS).map(|actor| world.act(actor, rng(actor))));
        let (done, hidden, coins) = tokio::join!(
            acting,
            moderate(&moderator, &world, rng(USERS)),
            grant(&service, &world, rng(USERS + 1)),
        );
        let expected = expected(&world, &done, &hidden, &coins);
        eventually("queries and the model agree", SOON, || async {
            stores.rest().await;
            (counts_from_api(&moderator, &expected).await == expected).then_some(())
        })
        .await;
        assert_eq!(differences(&stores).await, Vec::<String>::new(), "seed {seed}");
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
    // Nothing was lost, so hidden users and removals explain every mismatch.
    assert_eq!(server.metric("plaudit_persist_mismatches_total{cause=\"unexplained\"}").await, 0.0);
}
