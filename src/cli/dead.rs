//! `plaudit dead`: lists, applies and drops dead events. Needs only PostgreSQL; a running server, or the next one,
//! applies the changes to Redis.

use std::fmt::Write as _;

use clap::{Args, Subcommand};
use serde_json::json;

use super::args::{DatabaseArgs, Format};
use crate::app::AppError;
use plaudit_catalogue::{event_log::Event, primitives::ShardCount, settings::LogSettings};
use plaudit_counting::dead::{self, DeadEventDecision};
use plaudit_store::{
    StoreResult,
    sql::{
        Db,
        counting::dead::{DeadEvent, DeadState, dead_events},
        ownership::installation,
    },
};

/// Events that are read at a time.
const PAGE: usize = 1_000;
/// Characters of an unreadable event that a table shows.
const SHOWN: usize = 60;

#[derive(Args, Clone, Debug)]
pub struct DeadArgs {
    #[command(subcommand)]
    pub command: DeadCommand,
}

#[derive(Subcommand, Clone, Debug)]
pub enum DeadCommand {
    /// Print the dead events that wait for a decision
    List(ListArgs),
    /// Apply dead events, each once, after the cause is fixed
    Retry(DecideArgs),
    /// Give dead events up for good
    Drop(DecideArgs),
}

#[derive(Args, Clone, Debug)]
pub struct ListArgs {
    /// A table for people, or one JSON object per line for programs
    #[arg(long, value_name = "FORMAT", value_enum, default_value = "table")]
    pub format: Format,

    /// Print also those that were applied, dropped or superseded in the last 90 days
    #[arg(long)]
    pub decided: bool,

    #[command(flatten)]
    pub stores: DatabaseArgs,
}

#[derive(Args, Clone, Debug)]
pub struct DecideArgs {
    /// Which ones, as `plaudit dead list` calls them
    #[arg(value_name = "ID", required_unless_present = "all")]
    pub ids: Vec<i64>,

    /// All that wait for a decision, oldest first
    #[arg(long, conflicts_with = "ids")]
    pub all: bool,

    #[command(flatten)]
    pub stores: DatabaseArgs,
}

#[derive(Debug, thiserror::Error)]
pub enum DeadCommandError {
    #[error(transparent)]
    App(#[from] AppError),
    #[error("{0} of these events could not be decided; see above")]
    Undecided(usize),
}

impl DeadCommand {
    pub const fn log(&self) -> &LogSettings {
        match self {
            Self::List(args) => &args.stores.log,
            Self::Retry(args) | Self::Drop(args) => &args.stores.log,
        }
    }
}

pub async fn run(args: &DeadArgs) -> Result<(), DeadCommandError> {
    match &args.command {
        DeadCommand::List(args) => Ok(list(args).await?),
        DeadCommand::Retry(args) => {
            let db = args.stores.open().await?;
            let shards = installation::shard_count(&db).await.map_err(AppError::from)?;
            decide(&db, args, |serial| retry(&db, shards, serial)).await
        }
        DeadCommand::Drop(args) => {
            let db = args.stores.open().await?;
            decide(&db, args, |serial| dead::discard(&db, serial)).await
        }
    }
}

async fn list(args: &ListArgs) -> Result<(), AppError> {
    let db = args.stores.open().await?;
    let (mut after, mut printed) = (0, 0);
    loop {
        let page = dead_events(&db, after, args.decided, PAGE).await?;
        let Some(last) = page.last() else { break };
        after = last.serial;
        printed += page.len();
        match args.format {
            Format::Table => print!("{}", table(&page)),
            Format::Json => page.iter().for_each(|event| println!("{}", as_json(event))),
        }
    }
    if printed == 0 && args.format == Format::Table {
        println!("no dead events");
    }
    Ok(())
}

/// An installation on which no server has run has no shards, and no dead events either.
async fn retry(db: &Db, shards: Option<ShardCount>, serial: i64) -> StoreResult<DeadEventDecision> {
    match shards {
        Some(shards) => dead::retry(db, shards, serial).await,
        None => Ok(DeadEventDecision::Unknown),
    }
}

/// Decides one event after the other, and prints each result.
async fn decide<F>(
    db: &Db,
    args: &DecideArgs,
    mut decide_one: impl FnMut(i64) -> F,
) -> Result<(), DeadCommandError>
where
    F: Future<Output = StoreResult<DeadEventDecision>>,
{
    let mut undecided = 0;
    let mut page = if args.all { next_page(db, 0).await? } else { args.ids.clone() };
    while let Some(last) = page.last().copied() {
        for serial in page {
            let decision = decide_one(serial).await.map_err(AppError::from)?;
            println!("{serial}: {}", in_words(&decision));
            undecided += usize::from(!matches!(
                decision,
                DeadEventDecision::Made(_) | DeadEventDecision::MadeBefore(_)
            ));
        }
        page = if args.all { next_page(db, last).await? } else { Vec::new() };
    }
    if undecided == 0 { Ok(()) } else { Err(DeadCommandError::Undecided(undecided)) }
}

async fn next_page(db: &Db, after: i64) -> Result<Vec<i64>, AppError> {
    Ok(dead_events(db, after, false, PAGE).await?.iter().map(|event| event.serial).collect())
}

fn in_words(decision: &DeadEventDecision) -> String {
    match decision {
        DeadEventDecision::Made(DeadState::Superseded) => {
            "not applied: a later event of the same edge was persisted".into()
        }
        DeadEventDecision::Made(state) => state.name().into(),
        DeadEventDecision::MadeBefore(DeadState::Superseded) => {
            "not applied: it was superseded by a later event of the same edge".into()
        }
        DeadEventDecision::MadeBefore(state) => format!("was {} already", state.name()),
        DeadEventDecision::Refused(why) => format!("refused again: {why}"),
        DeadEventDecision::Unreadable => "this release cannot read it; a newer one may".into(),
        DeadEventDecision::Unknown => "there is no such dead event; see plaudit dead list --decided".into(),
    }
}

fn table(events: &[DeadEvent]) -> String {
    const HEAD: [&str; 7] = ["ID", "SHARD", "OFFSET", "DIED AT", "STATE", "TRIES", "EVENT, ERROR"];
    let rows: Vec<[String; 7]> = events.iter().map(row).collect();
    let width = |column: usize| {
        let cells = rows.iter().map(|row| row[column].len());
        cells.chain([HEAD[column].len()]).max().unwrap_or_default()
    };
    let widths: Vec<usize> = (0..HEAD.len() - 1).map(width).collect();
    let mut text = String::new();
    for row in [HEAD.map(str::to_owned)].iter().chain(&rows) {
        for (cell, width) in row.iter().zip(&widths) {
            let _ = write!(text, "{cell:width$}  ");
        }
        text.push_str(&row[HEAD.len() - 1]);
        text.push('\n');
    }
    text
}

fn row(event: &DeadEvent) -> [String; 7] {
    let what = match &event.error {
        Some(error) => format!("{}: {error}", description(&event.event())),
        None => description(&event.event()),
    };
    [
        event.serial.to_string(),
        event.shard.to_string(),
        event.offset.to_string(),
        event.died_at.format("%Y-%m-%d %H:%M:%S").to_string(),
        event.state.name().into(),
        event.tries.to_string(),
        what,
    ]
}

/// An event in words.
fn description(event: &Event) -> String {
    match event {
        Event::Flip(flip) | Event::OffAgain(flip) => {
            let state = if flip.on { "on" } else { "off" };
            format!("user_{} switches {} of {} {state}", flip.actor, flip.kind.name(), flip.target_entity())
        }
        Event::Views { note, by, .. } => format!("{by} views of note_{note}"),
        Event::Genesis => "the log begins".into(),
        Event::Unreadable(text) => {
            let shown: String =
                text.chars().take(SHOWN).map(|c| if c.is_control() { ' ' } else { c }).collect();
            format!("cannot be read: {shown}")
        }
    }
}

fn as_json(event: &DeadEvent) -> serde_json::Value {
    json!({
        "id": event.serial,
        "shard": event.shard.0,
        "offset": event.offset.to_string(),
        "diedAt": event.died_at,
        "state": event.state.name(),
        "decidedAt": event.decided_at,
        "tries": event.tries,
        "event": description(&event.event()),
        "payload": event.payload,
        "error": event.error,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use plaudit_catalogue::primitives::{Offset, ShardId};

    fn event(serial: i64, payload: &str, error: Option<&str>) -> DeadEvent {
        DeadEvent {
            serial,
            shard: ShardId::first(1),
            offset: Offset::new(7, 42),
            payload: payload.into(),
            error: error.map(str::to_owned),
            tries: 5,
            state: DeadState::Dead,
            died_at: chrono::DateTime::from_timestamp_millis(1_763_700_000_000).unwrap(),
            decided_at: None,
            edge_is_known: true,
            history: true,
        }
    }

    #[test]
    fn a_table_describes_each_event_and_its_error() {
        let events = [
            event(3, "1 note_like 42 7 9 on 1763700000000", Some("too much (SQLSTATE 22003)")),
            event(12, "9 waves 42\tat 7", None),
        ];
        assert_eq!(
            table(&events),
            "ID  SHARD  OFFSET  DIED AT              STATE  TRIES  EVENT, ERROR\n\
             3   1      7-42    2025-11-21 04:40:00  dead   5      user_42 switches note_like of note_7 on: \
             too much (SQLSTATE 22003)\n\
             12  1      7-42    2025-11-21 04:40:00  dead   5      cannot be read: 9 waves 42 at 7\n"
        );
    }

    #[test]
    fn json_contains_the_event_as_in_the_log() {
        let json = as_json(&event(3, "1 views 7 3 1763700000000", Some("no")));
        assert_eq!((&json["event"], &json["id"]), (&json!("3 views of note_7"), &json!(3)));
        assert_eq!((&json["payload"], &json["error"]), (&json!("1 views 7 3 1763700000000"), &json!("no")));
    }
}
