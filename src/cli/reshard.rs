//! `plaudit reshard`: changes the number of virtual shards beside running servers.

use clap::Args;
use plaudit_moderation::Moderator;

use crate::app::{self, AppError};
use plaudit_catalogue::{
    primitives::{Layout, ShardCount},
    settings::{Settings, shard_count},
};
use plaudit_counting::{
    PipelineSetup, ProcessName,
    reshard::{Reshard, ReshardDue, ReshardProgress, delete_former_layout},
};
use plaudit_store::{
    StoreError,
    redis::Redis,
    sql::{Db, ownership::reshard},
};

#[derive(Args, Clone, Debug)]
pub struct ReshardArgs {
    /// The new number of virtual shards, 1 to 1024
    #[arg(long, value_name = "COUNT", value_parser = shard_count())]
    #[arg(required_unless_present = "abort", conflicts_with = "abort")]
    pub shards: Option<ShardCount>,

    /// Give up a reshard that was interrupted before the new number held
    #[arg(long)]
    pub abort: bool,

    #[command(flatten)]
    pub settings: Settings,
}

#[derive(Debug, thiserror::Error)]
pub enum ReshardError {
    #[error(transparent)]
    App(#[from] AppError),
    #[error("the installation has {0} shards already")]
    Same(usize),
    #[error("a reshard to {0} shards is under way: end it with --shards {0}, or give it up with --abort")]
    Another(u16),
    #[error("another `plaudit reshard` runs and has taken over")]
    TakenOver,
    #[error("no reshard is under way")]
    NoneUnderWay,
}

impl From<StoreError> for ReshardError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Fenced => Self::TakenOver,
            error => Self::App(error.into()),
        }
    }
}

/// Returns the text to print.
pub async fn run(args: &ReshardArgs) -> Result<String, ReshardError> {
    let settings = &args.settings;
    let Some(to) = args.shards else {
        return abort(&app::open_database(&settings.location, &settings.database).await?).await;
    };
    let (_, db) = app::open_stores(&settings.location, &settings.redis, &settings.database).await?;
    loop {
        let state = reshard::reshard_state(&db).await?.ok_or(AppError::NeverStarted)?;
        match ReshardDue::of(state, to) {
            ReshardDue::Another(other) => return Err(ReshardError::Another(other)),
            ReshardDue::Nothing => return Err(ReshardError::Same(to.get())),
            ReshardDue::Deletion(from) => {
                let former = Layout(state.shards.layout().0.saturating_sub(1));
                let former = ShardCount::new(from).unwrap_or(state.shards).in_layout(former);
                let former = open(settings, former).await?;
                delete_former_layout(&former, &db, state.shards, show).await?;
                if state.shards.get() == to.get() && state.to.is_none() {
                    return Ok(format!("the installation has {} shards\n", to.get()));
                }
            }
            ReshardDue::Reshard => {
                let redis = open(settings, state.shards).await?;
                let next = open(settings, to.in_layout(state.shards.layout().next())).await?;
                let reshard = Reshard { redis, next, db: db.clone() };
                reshard.run(setup(settings)?, show).await?;
            }
        }
    }
}

async fn abort(db: &Db) -> Result<String, ReshardError> {
    if !reshard::abort_reshard(db).await? {
        return Err(ReshardError::NoneUnderWay);
    }
    Ok("the reshard is given up; the shards are recovered as they were\n".to_owned())
}

/// Redis in a layout. Fails at once if it does not answer.
async fn open(settings: &Settings, shards: ShardCount) -> Result<Redis, ReshardError> {
    Ok(app::open_redis_in_layout(&settings.location, &settings.redis, shards).await?.patient())
}

fn setup(settings: &Settings) -> Result<PipelineSetup, AppError> {
    Ok(PipelineSetup {
        process: ProcessName { owner: "reshard".to_owned(), name: "reshard".to_owned() },
        moderator: Moderator::new(&settings.moderation.chosen()?)?,
        moderation: settings.moderation.clone(),
        settings: settings.pipeline.clone(),
        webhook: settings.webhook.clone(),
    })
}

fn show(progress: ReshardProgress) {
    match progress {
        ReshardProgress::Closed(done, all) => eprintln!("closed {done} of {all} shards"),
        ReshardProgress::Persisted(done, all) => eprintln!("persisted the logs of {done} of {all} shards"),
        ReshardProgress::Copied(keys) => eprintln!("copied {keys} idempotency keys"),
        ReshardProgress::Opened => eprintln!("the new number holds; servers take it over"),
        ReshardProgress::Deleted(keys) => eprintln!("deleted {keys} keys of the former shards"),
    }
}
