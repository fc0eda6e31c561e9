//! The role `pipeline`: the pipeline's task, and the name under which this process owns shards.

use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::{AppError, stores::Stores};
use plaudit_moderation::Moderator;

use plaudit_catalogue::settings::Settings;
use plaudit_counting::{PipelineSetup, PipelineStatus, ProcessName};

pub struct PipelineRole {
    process: ProcessName,
    status: PipelineStatus,
    stop: CancellationToken,
    task: JoinHandle<()>,
}

impl PipelineRole {
    /// # Errors
    /// The moderator cannot be used, or the owner's name cannot be read from the data directory.
    pub fn start(settings: &Settings, stores: &Stores) -> Result<Self, AppError> {
        let process = process_name(stores)?;
        let setup = PipelineSetup {
            process: process.clone(),
            moderator: Moderator::new(&settings.moderation.chosen()?)?,
            moderation: settings.moderation.clone(),
            settings: settings.pipeline.clone(),
            webhook: settings.webhook.clone(),
        };
        let (status, stop) = (PipelineStatus::new(stores.redis.shards()), CancellationToken::new());
        let (redis, db) = (stores.redis.clone(), stores.pipeline_db.clone());
        let task = tokio::spawn(plaudit_counting::run(redis, db, setup, status.clone(), stop.clone()));
        Ok(Self { process, status, stop, task })
    }

    /// The name under which this process owns shards, and the shards that it serves.
    pub fn ownership(&self) -> (String, PipelineStatus) {
        (self.process.owner.clone(), self.status.clone())
    }

    /// Persists pending events for as long as the settings allow, then releases the shards.
    pub async fn stop(self) {
        self.stop.cancel();
        let _ = self.task.await;
    }
}

/// The owner stays the same after a restart on the same data directory. With external stores it is new each time.
fn process_name(stores: &Stores) -> Result<ProcessName, AppError> {
    let owner = match &stores.embedded {
        Some(_) => stores.data_dir.owner_id()?,
        None => uuid::Uuid::new_v4(),
    };
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    Ok(ProcessName { owner: owner.to_string(), name: format!("{host}:{}", std::process::id()) })
}
