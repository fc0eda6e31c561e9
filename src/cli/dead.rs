//! `plaudit dead`: lists, applies and drops dead events. Needs only PostgreSQL; a running server, or the next one,
//! applies the changes to Redis.

use clap::{Args, Subcommand};
use serde_json::json;

use super::args::DatabaseArgs;
use crate::app::AppError;
use plaudit_catalogue::{event_log::Event, settings::LogSettings};
use plaudit_counting::dead::{self, DeadEventDecision};
use plaudit_store::{
    StoreResult,
    sql::{
        Db,
        counting::dead::{DeadEvent, dead_events},
    },
};

/// Events that are read at a time.
const PAGE: usize = 1_000;

#[derive(Args, Clone, Debug)]
pub struct DeadArgs {
    #[command(subcommand)]
    pub command: DeadCommand,
}

#[derive(Subcommand, Clone, Debug)]
pub enum DeadCommand {
    /// Print the dead events that wait for a decision, as JSON lines
    List(DatabaseArgs),
    /// Apply dead events, each once, after the cause is fixed
    Retry(DecideArgs),
    /// Give dead events up for good
    Drop(DecideArgs),
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
            Self::List(stores) => &stores.log,
            Self::Retry(args) | Self::Drop(args) => &args.stores.log,
        }
    }
}

pub async fn run(args: &DeadArgs) -> Result<(), DeadCommandError> {
    match &args.command {
        DeadCommand::List(stores) => Ok(list(stores).await?),
        DeadCommand::Retry(args) => decide(args, dead::retry).await,
        DeadCommand::Drop(args) => decide(args, dead::discard).await,
    }
}

async fn list(stores: &DatabaseArgs) -> Result<(), AppError> {
    let (db, mut after) = (stores.open().await?, 0);
    loop {
        let page = dead_events(&db, after, PAGE).await?;
        let Some(last) = page.last() else { return Ok(()) };
        after = last.serial;
        page.iter().for_each(|event| println!("{}", as_json(event)));
    }
}

/// Decides one event after the other, and prints each result.
async fn decide(
    args: &DecideArgs,
    decide_one: impl AsyncFn(&Db, i64) -> StoreResult<DeadEventDecision>,
) -> Result<(), DeadCommandError> {
    let (db, mut undecided) = (args.stores.open().await?, 0);
    let mut page = if args.all { next_page(&db, 0).await? } else { args.ids.clone() };
    while let Some(last) = page.last().copied() {
        for serial in page {
            let decision = decide_one(&db, serial).await.map_err(AppError::from)?;
            println!("{serial}: {}", in_words(&decision));
            undecided += usize::from(matches!(
                decision,
                DeadEventDecision::Refused(_) | DeadEventDecision::Unreadable | DeadEventDecision::Unknown
            ));
        }
        page = if args.all { next_page(&db, last).await? } else { Vec::new() };
    }
    if undecided == 0 { Ok(()) } else { Err(DeadCommandError::Undecided(undecided)) }
}

async fn next_page(db: &Db, after: i64) -> Result<Vec<i64>, AppError> {
    Ok(dead_events(db, after, PAGE).await?.iter().map(|event| event.serial).collect())
}

fn in_words(decision: &DeadEventDecision) -> String {
    match decision {
        DeadEventDecision::Applied => "applied".into(),
        DeadEventDecision::Dropped => "dropped".into(),
        DeadEventDecision::Superseded => "not applied: a later event of the same edge was persisted".into(),
        DeadEventDecision::MadeBefore => "was decided already".into(),
        DeadEventDecision::Refused(why) => format!("refused again: {why}"),
        DeadEventDecision::Unreadable => "this release cannot read it; a newer one may".into(),
        DeadEventDecision::Unknown => "there is no such dead event; see plaudit dead list".into(),
    }
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
        Event::Unreadable(text) => format!("cannot be read: {text}"),
    }
}

fn as_json(event: &DeadEvent) -> serde_json::Value {
    json!({
        "id": event.serial,
        "shard": event.shard.0,
        "offset": event.offset.to_string(),
        "diedAt": event.died_at,
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
            died_at: chrono::DateTime::from_timestamp_millis(1_763_700_000_000).unwrap(),
            is_decided: false,
            edge_is_known: true,
            history: true,
        }
    }

    #[test]
    fn a_line_describes_an_event_that_cannot_be_read() {
        let json = as_json(&event(12, "9 waves 42\tat 7", None));
        assert_eq!(
            (&json["event"], &json["error"]),
            (&json!("cannot be read: 9 waves 42\tat 7"), &json!(null))
        );
        assert_eq!((&json["shard"], &json["offset"], &json["tries"]), (&json!(1), &json!("7-42"), &json!(5)));
        assert_eq!(json["diedAt"], "2025-11-21T04:40:00Z");
        assert!(!json.to_string().contains('\t'), "a line has no control characters");
    }

    #[test]
    fn a_line_describes_a_flip() {
        let json =
            as_json(&event(3, "1 note_like 42 7 9 on 1763700000000", Some("too much (SQLSTATE 22003)")));
        assert_eq!(json["event"], "user_42 switches note_like of note_7 on");
        assert_eq!((&json["id"], &json["error"]), (&json!(3), &json!("too much (SQLSTATE 22003)")));
    }

    #[test]
    fn json_contains_the_event_as_in_the_log() {
        let json = as_json(&event(3, "1 views 7 3 1763700000000", Some("no")));
        assert_eq!((&json["event"], &json["id"]), (&json!("3 views of note_7"), &json!(3)));
        assert_eq!((&json["payload"], &json["error"]), (&json!("1 views 7 3 1763700000000"), &json!("no")));
    }
}
