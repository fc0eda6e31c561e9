//! Servers and stores as real processes, and a schedule that runs on them.

use std::{panic::AssertUnwindSafe, sync::Arc, time::Duration};

use futures_util::FutureExt;
use plaudit_store::sql::{Db, stream::events};
use tokio::task::JoinSet;

use crate::{
    check,
    cluster::ClusterStores,
    consumer::Consumer,
    hook::Hook,
    in_process::message_of,
    load::{Load, Progress},
    nemesis::{Nemesis, Plan, Planned},
    observations::Observations,
    packet_loss::PacketLoss,
    recorder::Recorded,
    servers::Servers,
    stream_check,
    users::ApiUsers,
    watching::{subscriptions, watch},
    world::World,
};
use support::Stores;

/// Steps of each user.
pub const STEPS: usize = 14;

pub struct Deployment {
    /// Where checks read.
    pub stores: Stores,
    /// `None`: a single Redis and a single PostgreSQL, which start again by themselves.
    pub cluster: Option<ClusterStores>,
    pub servers: Arc<Servers>,
    pub hook: Hook,
    pub db: Db,
}

/// Runs these schedules in sequence. Returns the failures. After a panic, which leaves everything as it was at that moment,
/// the next one has a new deployment.
pub async fn run_all<F: Future<Output = Deployment>>(
    start: impl Fn() -> F,
    seeds: Vec<u64>,
    plan: impl Fn(u64, usize) -> Plan,
    mut progress: impl FnMut(usize),
) -> Vec<String> {
    let (mut failures, mut deployment) = (Vec::new(), None);
    for (i, seed) in seeds.into_iter().enumerate() {
        let started = match deployment.take() {
            Some(started) => started,
            None => start().await,
        };
        match AssertUnwindSafe(started.run(seed, &plan)).catch_unwind().await {
            Ok(failure) => {
                failures.extend(failure);
                deployment = Some(started);
            }
            Err(panic) => failures.push(format!("SEED={seed}: {}", message_of(&*panic))),
        }
        progress(i + 1);
    }
    failures
}

impl Deployment {
    /// Returns the differences, with what is needed to reproduce them.
    async fn run(&self, seed: u64, plan: &impl Fn(u64, usize) -> Plan) -> Option<String> {
        let world = World::new(&self.stores.sql().await).await;
        let plan = plan(seed, STEPS * world.people.len());
        if std::env::var_os("SHOW_HISTORY").is_some() {
            println!("{seed}: {plan}");
        }
        if let Some(cluster) = &self.cluster {
            cluster.commits_with_standby(plan.is_synchronous).await;
        }
        let (observations, progress) = (Arc::new(Observations::default()), Progress::default());
        let mut watchers = JoinSet::new();
        for server in self.servers.asked() {
            let servers = Arc::clone(&self.servers);
            watchers.spawn(watch(servers, server, subscriptions(&world), Arc::clone(&observations)));
        }
        let users = ApiUsers { servers: &self.servers, observations: &observations };
        self.hook.begin();
        let mut consumer = Consumer::new(events::newest_event(&self.db).await.unwrap());
        let recorded = Recorded { service: &users, recorder: &observations.recorder };
        let load = Load { seed, steps: STEPS };
        let acted = async {
            let _packet_loss = PacketLoss::begin();
            let load = load.run(&world, &recorded, &progress);
            let faults = async {
                tokio::join!(self.cause(&plan.servers, &progress), self.cause(&plan.stores, &progress))
            };
            // What has begun is undone, also when all users are done.
            tokio::join!(load, faults).0
        };
        let done = tokio::select! {
            done = acted => done,
            () = consumer.run(&users, seed) => unreachable!("it never ends"),
            () = self.servers.restart_ended() => unreachable!("it never ends"),
        };
        let checked = async {
            self.stores.are_up().await;
            let mut wrong = check::differences(&self.stores, &world, &done, &observations, true).await;
            let received = (&mut consumer, &users, &self.hook);
            wrong.extend(stream_check::differences(&self.stores, &world, &done, received, true).await);
            wrong.extend(check::violations(&self.stores, &world, &observations).await);
            wrong
        };
        let wrong = tokio::select! {
            wrong = checked => wrong,
            () = self.servers.restart_ended() => unreachable!("it never ends"),
        };
        if wrong.is_empty() {
            return None;
        }
        let log = self.servers.log().await;
        Some(format!("SEED={seed}: {plan}\n  {}\nthe servers' logs:\n{log}", wrong.join("\n  ")))
    }

    /// Causes each fault at its time, and undoes it.
    async fn cause(&self, faults: &[Planned], progress: &Progress) {
        for planned in faults {
            while !planned.is_due(progress.steps()) {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            self.begin(&planned.nemesis).await;
            tokio::time::sleep(planned.lasts).await;
            self.undo(&planned.nemesis).await;
        }
    }

    async fn begin(&self, nemesis: &Nemesis) {
        match nemesis {
            Nemesis::KillServer { server, .. } => self.servers.kill(*server).await,
            Nemesis::StopServer(server) => self.servers.stop(*server).await,
            Nemesis::PauseServer(server) => self.servers.pause(*server).await,
            Nemesis::ShiftClock { server, hours } => {
                self.servers.kill(*server).await;
                let clock = shifted_clock(*hours);
                let variables: Vec<(&str, &str)> =
                    clock.iter().map(|(name, value)| (*name, value.as_str())).collect();
                self.servers.start(*server, &variables).await;
            }
            Nemesis::KillRedis => self.stores.kill_redis(),
            Nemesis::KillPostgres => self.stores.kill_postgres(),
            Nemesis::Master { shard, fault } => self.cluster().begin(*shard, *fault).await,
            Nemesis::Primary(fault) => self.cluster().primary_begins(*fault).await,
        }
    }

    async fn undo(&self, nemesis: &Nemesis) {
        match nemesis {
            Nemesis::KillServer { server, next } => {
                let next = next.as_ref().map_or_else(String::new, ToString::to_string);
                self.servers.start(*server, &[("FAILPOINTS", &next)]).await;
            }
            Nemesis::StopServer(server) => self.servers.start(*server, &[]).await,
            Nemesis::PauseServer(server) => self.servers.resume(*server).await,
            Nemesis::ShiftClock { server, .. } => {
                self.servers.kill(*server).await;
                self.servers.start(*server, &[]).await;
            }
            Nemesis::KillRedis | Nemesis::KillPostgres => {}
            Nemesis::Master { fault, .. } => self.cluster().undo(*fault).await,
            Nemesis::Primary(fault) => self.cluster().primary_is_mended(*fault).await,
        }
    }

    fn cluster(&self) -> &ClusterStores {
        self.cluster.as_ref().expect("plans of a cluster run on one")
    }
}

/// Debian's libfaketime, if it is installed.
pub fn faketime() -> Option<String> {
    let library = |machine| format!("/usr/lib/{machine}-linux-gnu/faketime/libfaketime.so.1");
    ["x86_64", "aarch64"].map(library).into_iter().find(|file| std::path::Path::new(file).is_file())
}

/// Timers go on: only the time of day is another one.
fn shifted_clock(hours: i32) -> [(&'static str, String); 4] {
    let library = faketime().expect("plans shift clocks only where libfaketime is");
    [
        ("LD_PRELOAD", library),
        ("FAKETIME", format!("{hours:+}h")),
        ("FAKETIME_DONT_FAKE_MONOTONIC", "1".to_owned()),
        ("FAKETIME_NO_CACHE", "1".to_owned()),
    ]
}
