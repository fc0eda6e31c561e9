//! `plaudit seed`: demo data for an empty database.

use plaudit_demo_data::SeedSize;

use super::SeedArgs;
use crate::app::{AppError, open_database};
use plaudit_tools::seed::{progress_bar, seed};

/// Fills the database and prints what was written.
pub async fn run(args: &SeedArgs) -> Result<(), AppError> {
    let db = open_database(&args.stores.location, &args.stores.database).await?;
    let size = SeedSize { users: args.users, notes: args.notes };
    let now = plaudit_catalogue::primitives::now();
    match seed(&db, size, now, progress_bar()).await? {
        Some(written) => println!("{written}"),
        None => println!("the database has users or notes already; nothing was written"),
    }
    Ok(())
}
