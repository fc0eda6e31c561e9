//! `plaudit webhooks`: prints the batches that the webhook gave up, and the one that fails now, as JSON lines. Needs
//! only PostgreSQL.

use chrono::{DateTime, Utc};
use clap::Args;
use serde_json::json;

use super::args::DatabaseArgs;
use crate::app::AppError;
use plaudit_catalogue::primitives::EventCursor;
use plaudit_store::sql::stream::{
    events,
    webhooks::{self, FailedBatch},
};

#[derive(Args, Clone, Debug)]
pub struct WebhooksArgs {
    #[command(flatten)]
    pub stores: DatabaseArgs,
}

/// Returns the text to print.
pub async fn run(args: &WebhooksArgs) -> Result<String, AppError> {
    let db = args.stores.open().await?;
    let installation = events::newest_event(&db).await?.installation;
    let line = |batch: &FailedBatch| {
        let cursor = |position, written_at: DateTime<Utc>| {
            let written_at = written_at.timestamp_micros();
            EventCursor { installation, written_at, position }.to_string()
        };
        let line = json!({
            "id": batch.id.to_string(),
            "after": cursor(batch.after_position, batch.after_written_at),
            "last": cursor(batch.position, batch.written_at),
            "events": batch.events,
            "tries": batch.tries,
            "error": batch.last_error,
            "failedAt": batch.failed_at,
            "createdAt": batch.created_at,
            "diedAt": batch.died_at,
        });
        format!("{line}\n")
    };
    Ok(webhooks::failed_batches(&db).await?.iter().map(line).collect())
}
