//! `plaudit export`: prints all that everybody sees as lines of an import, or all that is held of a user, as
//! JSON lines, or the ids of erased users. Needs only PostgreSQL.

use std::io::{self, Write};

use clap::Args;

use super::{
    args::DatabaseArgs,
    entity::{NameError, Named, user_id},
};
use crate::app::{self, AppError};
use plaudit_catalogue::{
    primitives::{PageRequest, UserId},
    settings::ReplicaSettings,
};
use plaudit_store::{
    StoreError,
    sql::{
        Db,
        import::lines::{self, LinePosition},
        ownership::installation,
        people::{erasure, export, users},
    },
};

/// Records that are read at a time.
const PAGE: usize = 500;
/// Rows that are read at a time for lines.
const ROWS: usize = 2_000;
/// What no line of an import says; docs/guide/from-your-tables.md has the details.
const LEFT_OUT: &str =
    "suspensions, reports, decisions, mentions, entries of coins, inboxes, messages and histories";
/// Users that are looked at in one statement.
const USERS: i64 = 20_000;

#[derive(Args, Clone, Debug)]
pub struct ExportArgs {
    /// Print all that is held of this user, and nothing else; as user_5 or user:<subject>
    #[arg(long, value_name = "USER", value_parser = user_id)]
    pub user: Option<Named>,

    /// Print the ids of all users who were erased, one a line, for `plaudit erase --file`
    #[arg(long, conflicts_with = "user")]
    pub erased: bool,

    #[command(flatten)]
    pub stores: DatabaseArgs,
    #[command(flatten)]
    pub replica: ReplicaSettings,
}

#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    #[error(transparent)]
    App(#[from] AppError),
    #[error("there is no user_{0}, or the user was erased")]
    Unknown(UserId),
    #[error(transparent)]
    Name(#[from] NameError),
    #[error("cannot print: {0}")]
    Print(#[from] io::Error),
}

impl From<StoreError> for ExportError {
    fn from(error: StoreError) -> Self {
        Self::App(error.into())
    }
}

pub async fn run(args: &ExportArgs) -> Result<(), ExportError> {
    let db = app::open_replica(&args.stores.location, &args.stores.database, &args.replica).await?;
    let printed = match &args.user {
        Some(user) => print_user(&db, user).await,
        None if args.erased => print_erased(&db).await,
        None => print_lines(&db).await,
    };
    match printed {
        // The reader of the lines has ended.
        Err(ExportError::Print(error)) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        printed => printed,
    }
}

async fn print_user(db: &Db, user: &Named) -> Result<(), ExportError> {
    let user = user.find_user(db).await?;
    if users::users(db, &[user]).await?.is_empty() {
        return Err(ExportError::Unknown(user));
    }
    let mut after = None;
    loop {
        let page = export::exported_records(db, user, &PageRequest { first: PAGE, after }).await?;
        print(page.items.iter().map(|record| record.json.as_str()))?;
        after = page.items.last().map(|record| record.position);
        if !page.has_more {
            return Ok(());
        }
    }
}

async fn print_erased(db: &Db) -> Result<(), ExportError> {
    let mut after = 0;
    while let Some((last, erased)) = erasure::erased_users_after(db, after, USERS).await? {
        let lines: Vec<String> = erased.iter().map(|user| format!("user_{user}")).collect();
        print(lines.iter().map(String::as_str))?;
        after = last;
    }
    Ok(())
}

/// Reads one snapshot, so that each line names only what comes before it.
async fn print_lines(db: &Db) -> Result<(), ExportError> {
    if installation::shard_count(db).await?.is_none() {
        return Err(AppError::NeverStarted.into());
    }
    let mut tx = db.begin().await?;
    lines::read_one_snapshot(&mut tx).await?;
    let (mut position, mut left_out) = (LinePosition::default(), 0);
    while let Some(page) = lines::public_lines(&mut tx, position, ROWS).await? {
        print(page.lines.iter().map(String::as_str))?;
        position = page.end;
        left_out += page.left_out;
    }
    eprintln!("left out: {left_out} rows that not everybody sees; {LEFT_OUT}");
    Ok(())
}

fn print<'a>(lines: impl Iterator<Item = &'a str>) -> io::Result<()> {
    let mut out = io::BufWriter::new(io::stdout().lock());
    for line in lines {
        writeln!(out, "{line}")?;
    }
    out.flush()
}
