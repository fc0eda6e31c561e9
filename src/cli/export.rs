//! `plaudit export`: prints all that is held of a user, as JSON lines. Needs only PostgreSQL.

use std::io::{self, Write};

use clap::Args;

use super::{
    args::DatabaseArgs,
    entity::{NameError, Named, user_id},
};
use crate::{
    app::AppError,
    primitives::{PageRequest, UserId},
    store::StoreError,
};

/// Records that are read at a time.
const PAGE: usize = 500;

#[derive(Args, Clone, Debug)]
pub struct ExportArgs {
    /// The user, as user_5 or user:<subject>
    #[arg(long, value_name = "USER", value_parser = user_id)]
    pub user: Named,

    #[command(flatten)]
    pub stores: DatabaseArgs,
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
    let db = args.stores.open().await?;
    let user = args.user.find_user(&db).await?;
    if db.users(&[user]).await?.is_empty() {
        return Err(ExportError::Unknown(user));
    }
    let mut out = io::stdout().lock();
    let mut after = None;
    loop {
        let page = db.exported_records(user, &PageRequest { first: PAGE, after }).await?;
        for record in &page.items {
            writeln!(out, "{}", record.json)?;
        }
        after = page.items.last().map(|record| record.position);
        if !page.has_more {
            return Ok(());
        }
    }
}
