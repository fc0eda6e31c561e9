//! `plaudit trim`: trims the logs to what is not in PostgreSQL yet, before slots of a cluster are moved key by key.

use std::fmt::Write as _;

use clap::Args;

use super::args::StoresArgs;
use crate::app::AppError;
use plaudit_store::{
    StoreResult,
    redis::{
        Pages, Redis,
        log::{reading, recovery},
    },
    sql::{Db, ownership::shards},
};

#[derive(Args, Clone, Debug)]
pub struct TrimArgs {
    #[command(flatten)]
    pub stores: StoresArgs,
}

/// Returns the text to print.
pub async fn run(args: &TrimArgs) -> Result<String, AppError> {
    let (redis, db) = args.stores.open().await?;
    Ok(trim(&redis, &db).await?)
}

/// Trims each log up to where it is folded everywhere, retired and persisted. An owner does the same ten minutes later.
async fn trim(redis: &Redis, db: &Db) -> StoreResult<String> {
    let (retired, persisted) =
        (recovery::retired_offsets(redis).await?, shards::persisted_state(db).await?.offsets);
    let (mut page, mut left) = (String::new(), 0);
    for (shard, needed) in redis.shards().all().zip(retired.into_iter().zip(persisted)) {
        let Some(before) = reading::log_extent(redis, shard).await? else { continue };
        reading::trim_log(redis, shard, needed.0.min(needed.1), Pages::Cut).await?;
        let after = reading::log_extent(redis, shard).await?.map_or(0, |extent| extent.entries);
        let bytes = reading::log_bytes(redis, shard).await?;
        left += bytes;
        let _ = writeln!(page, "shard {shard}: {after} of {} entries left, {bytes} bytes", before.entries);
    }
    let _ = writeln!(page, "the logs have {left} bytes");
    Ok(page)
}
