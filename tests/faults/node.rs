//! A node in this process: API, hub and pipeline on their own runtime. Ending the runtime kills the node: all its tasks
//! stop at once.

use std::{
    collections::{BTreeSet, HashMap},
    num::NonZeroUsize,
    panic,
    sync::{Arc, Mutex, Once, OnceLock},
    thread,
    time::Duration,
};

use plaudit_catalogue::{
    Entity,
    primitives::{ShardCount, fault::Point},
    settings::{
        DomainSettings, ModerationSettings, NightlyAt, PipelineSettings, RateSettings, WebhookSettings,
    },
};
use plaudit_counting::{
    PipelineSetup, PipelineStatus, ProcessName,
    hub::{CountsAt, Hub},
};
use plaudit_domain::{Plaudit, content::views};
use plaudit_moderation::Moderator;
use plaudit_store::{redis::Redis, sql::Db};
use tokio::{runtime::Runtime, sync::mpsc, task::JoinHandle};
use tokio_util::sync::CancellationToken;

use crate::{
    hook::SECRET,
    observations::{Observations, Values},
    plan::{KILL, Plan},
    recorder::REPLY_WAIT,
};
use support::Stores;

pub const LEASE: Duration = Duration::from_millis(400);

pub struct Node {
    runtime: Option<Runtime>,
    pub plaudit: Plaudit,
    stop: CancellationToken,
    pipeline: Option<JoinHandle<()>>,
}

impl Node {
    /// Starts a node; with a plan it also runs a pipeline, whose owner has the node's name.
    pub fn start(
        name: &str,
        stores: &Stores,
        (shards, hook): (ShardCount, &str),
        plan: Option<&Plan>,
    ) -> Self {
        report_kills();
        // Several threads, because a stall stops only one of them.
        let mut builder = tokio::runtime::Builder::new_multi_thread();
        let runtime = builder.worker_threads(4).thread_name(name).enable_all().build().unwrap();
        let (stop, entered) = (CancellationToken::new(), runtime.enter());
        let redis = Redis::new(stores.redis_url(), shards).unwrap();
        let db = Db::for_requests(stores.database_url(), 8).unwrap().with_events(true);
        let hub = Hub::new(redis.clone(), db.clone(), NonZeroUsize::new(1_000).unwrap());
        let settings = DomainSettings {
            reply_wait: REPLY_WAIT,
            rates: RateSettings::unlimited(),
            record_every_off: true,
            ..DomainSettings::default()
        };
        let plaudit = Plaudit::new(redis.clone(), db, hub.clone(), settings);
        let (stop_hub, background) = (stop.clone(), plaudit.clone());
        runtime.spawn(async move { hub.run(stop_hub).await });
        let stop_views = stop.clone();
        runtime.spawn(async move { views::run(&background, stop_views).await });
        let pipeline = plan.map(|plan| {
            let connections = 6 + 4 * shards.get() as u32;
            let db = Db::for_pipeline(stores.database_url(), connections).unwrap().with_events(true);
            let (setup, status) = (setup((name, hook), plan), PipelineStatus::new(shards));
            runtime.spawn(plaudit_counting::run(redis, db, setup, status, stop.clone()))
        });
        drop(entered);
        Self { runtime: Some(runtime), plaudit, stop, pipeline }
    }

    /// Runs a future in the node; `None` if the node was killed.
    pub fn spawn<T: Send + 'static>(
        &self,
        work: impl Future<Output = T> + Send + 'static,
    ) -> Option<JoinHandle<T>> {
        Some(self.runtime.as_ref()?.spawn(work))
    }

    /// Like `kill -9`.
    pub fn kill(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }

    /// Like SIGTERM: pending events are persisted, and the shards are handed over.
    pub async fn stop(&mut self) {
        self.stop.cancel();
        if let Some(pipeline) = self.pipeline.take() {
            let _ = pipeline.await;
        }
        self.kill();
    }

    /// Records everything that a subscriber of this node receives.
    pub fn watch(&self, name: &'static str, entities: Vec<Entity>, observations: Arc<Observations>) {
        for entity in entities {
            let (hub, observations) = (self.plaudit.hub().clone(), Arc::clone(&observations));
            self.runtime.as_ref().unwrap().spawn(async move {
                let mut watch = hub.watch(entity);
                loop {
                    let CountsAt { version, counts } = watch.next().await;
                    observations.pushed(name, entity, version.get(), values(entity, &counts));
                }
            });
        }
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        self.kill();
    }
}

pub fn values(entity: Entity, counts: &plaudit_catalogue::Counts) -> Values {
    entity.kind.counters().iter().map(|counter| (*counter, counts.get(*counter))).collect()
}

fn setup((name, hook): (&str, &str), plan: &Plan) -> PipelineSetup {
    let settings = PipelineSettings {
        lease: LEASE,
        batch_events: plan.batch_events,
        batch_wait: plan.batch_wait,
        persist_rate: 1_000_000,
        // A repair fails the schedule, because nothing may drift.
        reconcile_sample: 50,
        reconcile_at: NightlyAt(None),
        redis_replicas: 0,
        redis_log_share: plan.log_share,
        activity_retention: Duration::from_hours(24),
        inbox_retention: Duration::from_hours(24),
        shutdown_drain: Duration::from_secs(10),
        ..PipelineSettings::default()
    };
    let moderation =
        ModerationSettings { moderator_timeout: Duration::from_secs(1), ..ModerationSettings::default() };
    let moderator = Moderator::new(&moderation.chosen().unwrap()).unwrap();
    PipelineSetup {
        process: ProcessName { owner: name.to_owned(), name: name.to_owned() },
        moderator,
        moderation,
        settings,
        webhook: WebhookSettings {
            webhook_url: Some(hook.parse().unwrap()),
            webhook_secret: vec![SECRET.parse().unwrap()],
        },
    }
}

type Kills = Mutex<HashMap<String, mpsc::UnboundedSender<()>>>;

fn kills() -> &'static Kills {
    static KILLS: OnceLock<Kills> = OnceLock::new();
    KILLS.get_or_init(Kills::default)
}

/// Receives a message when a trap kills this node.
pub fn killed(name: &str) -> mpsc::UnboundedReceiver<()> {
    let (sender, receiver) = mpsc::unbounded_channel();
    kills().lock().unwrap().insert(name.to_owned(), sender);
    receiver
}

fn fired() -> &'static Mutex<BTreeSet<String>> {
    static FIRED: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    &FIRED
}

/// Whether a trap at this point has killed a node since the last call.
pub fn has_fired(point: Point) -> bool {
    fired().lock().unwrap().remove(&format!("{KILL} at {}", point.name()))
}

/// Silences panics of nodes, which are planned; other panics are reported as usual.
fn report_kills() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let usual = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            let thread = thread::current();
            let message = info.payload().downcast_ref::<String>().filter(|message| message.starts_with(KILL));
            let is_kill = message.is_some();
            fired().lock().unwrap().extend(message.cloned());
            let kills = kills().lock().unwrap();
            match thread.name().and_then(|name| kills.get(name)) {
                Some(node) if is_kill => drop(node.send(())),
                // The watcher has no pipeline, but its loads pass fail points.
                None if !is_kill => usual(info),
                _ => {}
            }
        }));
    });
}
