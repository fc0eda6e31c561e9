//! `plaudit events`: prints the stream of events as JSON lines. Needs only PostgreSQL.

use std::{
    io::{self, Write},
    time::Duration,
};

use clap::Args;
use tokio::signal::unix::{SignalKind, signal};

use super::args::DatabaseArgs;
use crate::app::AppError;
use plaudit_catalogue::primitives::EventCursor;
use plaudit_store::{
    StoreError,
    sql::{
        Db,
        stream::events::{self, CursorError, EventPage, LOOK_EVERY},
    },
};

/// Events that are read at a time.
const PAGE: usize = 500;
/// How long it waits after PostgreSQL did not answer.
const PAUSE: Duration = Duration::from_secs(1);

#[derive(Args, Clone, Debug)]
pub struct EventsArgs {
    /// Print only events after this one: the cursor of a line; default: from the oldest one on that is kept
    #[arg(long, value_name = "CURSOR")]
    pub after: Option<EventCursor>,

    /// Go on with new events until SIGINT or SIGTERM, or until nobody reads them any more
    #[arg(long)]
    pub follow: bool,

    #[command(flatten)]
    pub stores: DatabaseArgs,
}

#[derive(Debug, thiserror::Error)]
pub enum EventsError {
    #[error(transparent)]
    App(#[from] AppError),
    #[error("the stream of events is off: start the server with event_retention above 0s")]
    Off,
    #[error("--after: {0}")]
    Cursor(#[from] CursorError),
    #[error("cannot print: {0}")]
    Print(#[from] io::Error),
}

impl From<StoreError> for EventsError {
    fn from(error: StoreError) -> Self {
        Self::App(error.into())
    }
}

pub async fn run(args: &EventsArgs) -> Result<(), EventsError> {
    let (mut terminated, mut interrupted) =
        (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    let printed = tokio::select! {
        printed = print(args) => printed,
        _ = terminated.recv() => return Ok(()),
        _ = interrupted.recv() => return Ok(()),
    };
    match printed {
        // The reader of the lines has ended.
        Err(EventsError::Print(error)) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        printed => printed,
    }
}

async fn print(args: &EventsArgs) -> Result<(), EventsError> {
    let db = args.stores.open().await?;
    if !db.records_events() {
        return Err(EventsError::Off);
    }
    let mut after = args.after;
    loop {
        let page = next_page(&db, after, args.follow).await?;
        write(&page)?;
        after = Some(page.end);
        if page.has_more {
            continue;
        }
        if !args.follow {
            return Ok(());
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

/// Who follows waits for a PostgreSQL that is away; the cursor loses nothing.
async fn next_page(db: &Db, after: Option<EventCursor>, follow: bool) -> Result<EventPage, EventsError> {
    loop {
        match events::events_after(db, after, PAGE).await {
            Ok(page) => return Ok(page?),
            Err(error) if follow && error.is_transient() => {
                tracing::warn!(%error, "cannot read events; trying again");
                tokio::time::sleep(PAUSE).await;
            }
            Err(error) => return Err(error.into()),
        }
    }
}

/// A line is written whole: the lock is held, and nothing is awaited meanwhile.
fn write(page: &EventPage) -> io::Result<()> {
    let mut out = io::stdout().lock();
    for event in &page.events {
        let mut line = serde_json::to_vec(event)?;
        line.push(b'\n');
        out.write_all(&line)?;
        out.flush()?;
    }
    Ok(())
}
