//! `plaudit erase`: erases a user. Needs only PostgreSQL; a running server, or the next one, does the work.

use std::time::Duration;

use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};

use super::{
    args::DatabaseArgs,
    entity::{NameError, Named, user_id},
};
use crate::{
    app::AppError,
    primitives::UserId,
    store::{StoreError, sql::Db},
};

/// How often the progress is read.
const EVERY: Duration = Duration::from_millis(200);

#[derive(Args, Clone, Debug)]
pub struct EraseArgs {
    /// The user to erase for good, as user_5 or user:<subject>
    #[arg(value_name = "USER", value_parser = user_id)]
    pub user: Named,

    /// Confirm that everything of this user is deleted
    #[arg(long, required = true)]
    pub yes: bool,

    /// Return at once, and let the server delete in the background
    #[arg(long)]
    pub no_wait: bool,

    #[command(flatten)]
    pub stores: DatabaseArgs,
}

#[derive(Debug, thiserror::Error)]
pub enum EraseError {
    #[error(transparent)]
    App(#[from] AppError),
    #[error("there is no user_{0}")]
    Unknown(UserId),
    #[error(transparent)]
    Name(#[from] NameError),
}

impl From<StoreError> for EraseError {
    fn from(error: StoreError) -> Self {
        Self::App(error.into())
    }
}

/// Returns the text to print.
pub async fn run(args: &EraseArgs) -> Result<String, EraseError> {
    let db = args.stores.open().await?;
    let shards = db.shard_count().await?.ok_or(AppError::NeverStarted)?;
    let user = args.user.find_user(&db).await?;
    let mut tx = db.begin().await?;
    let changed = tx.erase_user(shards, user, user).await?.ok_or(EraseError::Unknown(user))?;
    tx.add_invalidations(shards, &[user.into()], "erased").await?;
    tx.commit().await?;
    if !args.no_wait {
        wait(&db, user).await?;
    }
    Ok(match (changed, args.no_wait) {
        (true, true) => format!("user_{user} is being erased\n"),
        (true, false) => format!("user_{user} is erased\n"),
        (false, _) => format!("user_{user} was erased before\n"),
    })
}

/// Shows the progress until everything is deleted.
async fn wait(db: &Db, user: UserId) -> Result<(), EraseError> {
    let style = ProgressStyle::with_template("{bar:40} {percent:>3} %  deleted by the server");
    let bar = ProgressBar::new(0).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    while let Some(work) = db.backfill_of(user.into()).await? {
        bar.set_length(work.total.max(work.done) as u64);
        bar.set_position(work.done as u64);
        if work.is_finished {
            break;
        }
        tokio::time::sleep(EVERY).await;
    }
    bar.finish_and_clear();
    Ok(())
}
