//! `plaudit erase`: erases users. Needs only PostgreSQL; a running server, or the next one, does the work.

use std::{io, path::PathBuf, time::Duration};

use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};

use super::{
    args::DatabaseArgs,
    entity::{NameError, Named, user_id},
};
use crate::app::AppError;
use plaudit_catalogue::primitives::{ShardCount, UserId};
use plaudit_store::{
    StoreError,
    sql::{
        Db,
        counting::{backfills, invalidations},
        ownership::installation,
        people::erasure,
    },
};

/// How often the progress is read.
const EVERY: Duration = Duration::from_millis(200);

#[derive(Args, Clone, Debug)]
pub struct EraseArgs {
    /// The user to erase for good, as user_5 or user:<subject>
    #[arg(value_name = "USER", value_parser = user_id, required_unless_present = "file", conflicts_with = "file")]
    pub user: Option<Named>,

    /// Erase all users of this file, one a line, such as `plaudit export --erased` printed; those who are not in this
    /// database, such as a restored backup, are left out
    #[arg(long, value_name = "FILE")]
    pub file: Option<PathBuf>,

    /// Confirm that everything of these users is deleted
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
    #[error("cannot read {}: {error}", file.display())]
    Read { file: PathBuf, error: io::Error },
    #[error("{}, line {line}: {why}; nobody was erased", file.display())]
    Line { file: PathBuf, line: usize, why: String },
}

impl From<StoreError> for EraseError {
    fn from(error: StoreError) -> Self {
        Self::App(error.into())
    }
}

/// Returns the text to print.
pub async fn run(args: &EraseArgs) -> Result<String, EraseError> {
    let users = users(args)?;
    let db = args.stores.open().await?;
    let shards = installation::shard_count(&db).await?.ok_or(AppError::NeverStarted)?;
    match &args.user {
        Some(user) => {
            let user = user.find_user(&db).await?;
            let changed = erase(&db, shards, user).await?.ok_or(EraseError::Unknown(user))?;
            if !args.no_wait {
                wait(&db, user).await?;
            }
            Ok(said(user, changed, args.no_wait))
        }
        None => erase_all(&db, shards, &users, args.no_wait).await,
    }
}

fn said(user: UserId, changed: bool, no_wait: bool) -> String {
    match (changed, no_wait) {
        (true, true) => format!("user_{user} is being erased\n"),
        (true, false) => format!("user_{user} is erased\n"),
        (false, _) => format!("user_{user} was erased before\n"),
    }
}

/// The users of the file; none without one.
fn users(args: &EraseArgs) -> Result<Vec<Named>, EraseError> {
    let Some(file) = &args.file else { return Ok(Vec::new()) };
    let text =
        std::fs::read_to_string(file).map_err(|error| EraseError::Read { file: file.clone(), error })?;
    let lines = text.lines().map(str::trim).zip(1..).filter(|(text, _)| !text.is_empty());
    let named =
        |(text, line)| user_id(text).map_err(|why| EraseError::Line { file: file.clone(), line, why });
    lines.map(named).collect()
}

/// All who are in the database, each in a transaction of its own: repeating it after a kill does the rest.
async fn erase_all(
    db: &Db,
    shards: ShardCount,
    users: &[Named],
    no_wait: bool,
) -> Result<String, EraseError> {
    let (mut erased, mut before, mut unknown) = (Vec::new(), 0, 0);
    for user in users {
        let user = match user.find_user(db).await {
            Ok(user) => user,
            Err(NameError::Unknown { .. }) => {
                unknown += 1;
                continue;
            }
            Err(error) => return Err(error.into()),
        };
        match erase(db, shards, user).await? {
            Some(true) => erased.push(user),
            Some(false) => before += 1,
            None => unknown += 1,
        }
    }
    if !no_wait {
        for user in &erased {
            wait(db, *user).await?;
        }
    }
    let now = if no_wait { "being erased" } else { "erased" };
    let erased = erased.len();
    Ok(format!("{erased} {now}, {before} erased before, {unknown} not in this database\n"))
}

/// Returns whether the user was not erased before; `None` if there is no such user.
async fn erase(db: &Db, shards: ShardCount, user: UserId) -> Result<Option<bool>, EraseError> {
    let mut tx = db.begin().await?;
    let changed = erasure::erase_user(&mut tx, shards, user, user).await?;
    if changed.is_some() {
        invalidations::add_invalidations(&mut tx, shards, &[user.into()], "erased").await?;
        tx.commit().await?;
    }
    Ok(changed)
}

/// Shows the progress until everything is deleted.
async fn wait(db: &Db, user: UserId) -> Result<(), EraseError> {
    let style = ProgressStyle::with_template("{bar:40} {percent:>3} %  deleted by the server");
    let bar = ProgressBar::new(0).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    while let Some(work) = backfills::backfill_of(db, user.into()).await? {
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
