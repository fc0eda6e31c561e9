//! `plaudit explain`: the counts of one entity in both stores, the source of each number, and any drift.

use std::fmt::Write;

use clap::Args;

use super::{
    args::{Format, StoresArgs},
    entity::{NameError, Named, entity_id, user_id},
};
use plaudit_catalogue::primitives::UserId;
use plaudit_counting::reconcile::{
    explain::explain,
    explanation::{EdgeSides, Explanation, RowCount, SetSide},
};

/// Characters of a cached text that are shown.
const SHOWN: usize = 60;

#[derive(Args, Clone, Debug)]
pub struct ExplainArgs {
    /// What to look at, as note_42 or note:<key>; kinds: user (user:<subject>), note, comment, group, inbox
    #[arg(value_name = "ID", value_parser = entity_id)]
    pub entity: Named,

    /// Also show this user's own edges to it (likes, follows …), as user_5 or user:<subject>; may be given
    /// several times
    #[arg(long, value_name = "USER", value_parser = user_id)]
    pub actor: Vec<Named>,

    /// For people, or one JSON document
    #[arg(long, value_name = "FORMAT", value_enum, default_value = "table")]
    pub format: Format,

    #[command(flatten)]
    pub stores: StoresArgs,
}

/// Returns the text to print.
pub async fn run(args: &ExplainArgs) -> Result<String, NameError> {
    let (redis, db) = args.stores.open_also_without_redis().await?;
    let entity = args.entity.find(&db).await?;
    let mut actors: Vec<UserId> = Vec::with_capacity(args.actor.len());
    for actor in &args.actor {
        actors.push(actor.find_user(&db).await?);
    }
    let explanation = explain(&redis, &db, entity, &actors).await?;
    Ok(match args.format {
        Format::Json => serde_json::to_string_pretty(&explanation).unwrap_or_default() + "\n",
        Format::Table => page(&explanation),
    })
}

/// All sections. The verdict is last, because a terminal shows the end of a long output.
fn page(of: &Explanation) -> String {
    let mut page = String::new();
    for section in [head, counters, redis, logs, happened, edges, waiting, repairs, verdict] {
        // Writing into a string does not fail.
        let _ = section(of, &mut page);
    }
    page
}

fn head(of: &Explanation, page: &mut String) -> std::fmt::Result {
    let what = match (&of.removed_at, of.exists) {
        (Some(at), _) => format!("removed {at}"),
        (None, true) => "exists".to_owned(),
        (None, false) => "never existed".to_owned(),
    };
    writeln!(page, "{}   {what}, on shard {}\n", of.entity, of.shard)
}

fn counters(of: &Explanation, page: &mut String) -> std::fmt::Result {
    let (total, rows, redis) = ("total", "rows", "redis");
    writeln!(page, "  {:<22}{rows:>12}{total:>12}{redis:>12}{:>15}", "counter", "pending")?;
    for counter in &of.counters {
        let rows = match counter.rows {
            RowCount::Counted(rows) => rows.to_string(),
            RowCount::None => "no rows".into(),
            RowCount::Frozen => "frozen".into(),
        };
        let carried = match counter.carried {
            0 => String::new(),
            carried => format!("   {carried} carried"),
        };
        writeln!(
            page,
            "{} {:<22}{rows:>12}{:>12}{:>12}{:>15}{carried}",
            if of.is_right(counter) { ' ' } else { '!' },
            counter.name,
            or_dash(counter.total),
            counter.redis.map_or_else(|| "not loaded".into(), |value| value.to_string()),
            counter.pending,
        )?;
    }
    writeln!(page)
}

fn redis(of: &Explanation, page: &mut String) -> std::fmt::Result {
    let redis = &of.redis;
    if let Some(error) = &redis.error {
        return writeln!(page, "redis     {error}\n");
    }
    match redis.epoch {
        None => writeln!(page, "redis     has no counters of it; the next read loads them")?,
        epoch if epoch != redis.shard_epoch => {
            writeln!(page, "redis     has counters of an older epoch; the next read loads them again")?;
        }
        Some(epoch) => {
            let end = redis.ends_in_ms.map_or_else(|| "-".into(), span);
            if redis.is_loading {
                writeln!(page, "redis     a load is in progress, for at most {end}")?;
            } else {
                writeln!(
                    page,
                    "redis     version {}, epoch {epoch}; expires in {end}",
                    or_dash(redis.version)
                )?;
            }
        }
    }
    match &redis.text {
        None => writeln!(page, "text      not cached\n"),
        Some(text) => {
            let left =
                redis.text_ends_in_ms.map_or_else(String::new, |ms| format!(" (for {} more)", span(ms)));
            writeln!(page, "text      {}{left}\n", shortened(text))
        }
    }
}

fn logs(of: &Explanation, page: &mut String) -> std::fmt::Result {
    let (end, folded, persisted, retired) = ("end", "folded", "persisted", "retired");
    writeln!(page, "log   {end:>12}{folded:>12}{persisted:>12}{retired:>12}   owner")?;
    for log in &of.logs {
        let owner = match (&log.owner, &log.owned_since) {
            (Some(owner), Some(since)) => format!("{owner} since {since}"),
            _ => "none: start a server with the role pipeline".into(),
        };
        let behind = match log.behind {
            Some(0) | None => String::new(),
            Some(behind) => format!("   {behind} not persisted"),
        };
        let or_dash = |offset: &Option<String>| offset.clone().unwrap_or_else(|| "-".into());
        writeln!(
            page,
            "{:<6}{:>12}{:>12}{:>12}{:>12}   {owner}{behind}",
            log.source,
            or_dash(&log.end),
            or_dash(&log.folded),
            log.persisted,
            or_dash(&log.retired),
        )?;
    }
    writeln!(page)
}

fn happened(of: &Explanation, page: &mut String) -> std::fmt::Result {
    if !of.last_events.is_empty() {
        writeln!(page, "last events in the logs")?;
        for event in &of.last_events {
            writeln!(
                page,
                "  log {} {:>10}  {:<9}  {}",
                event.source, event.offset, event.state, event.event
            )?;
        }
        writeln!(page)?;
    }
    if !of.last_steps.is_empty() {
        writeln!(page, "last steps of its history, the newest first")?;
        for step in &of.last_steps {
            let is_on = state(step.is_on);
            let (at, kind, actor) = (step.at.format("%F %T%.3f"), &step.kind, step.actor);
            writeln!(page, "  {at}  {kind} {is_on:<3} by user_{actor}, new total {}", step.total_after)?;
        }
        writeln!(page)?;
    }
    Ok(())
}

fn edges(of: &Explanation, page: &mut String) -> std::fmt::Result {
    for edge in &of.edges {
        let EdgeSides { kind, actor, pending, set, row, is_on } = edge;
        writeln!(page, "{kind} by {actor}: {}", if *is_on { "on" } else { "off" })?;
        match pending {
            None => writeln!(page, "  pending flip   none")?,
            Some(flip) => writeln!(page, "  pending flip   {}, at {}", state(flip.is_on), flip.offset)?,
        }
        let set = match set {
            SetSide::NotCached => "not cached: the next read loads it",
            SetSide::BelowFloor => "below the floor of the cached set: the row decides",
            SetSide::In => "in it",
            SetSide::NotIn => "not in it",
        };
        writeln!(page, "  cached set     {set}")?;
        match row {
            None => writeln!(page, "  row            none\n")?,
            Some(row) => {
                let included = if row.included { "included" } else { "not included" };
                writeln!(
                    page,
                    "  row            {}, {included}, since {}\n",
                    state(row.is_on),
                    row.changed_at
                )?;
            }
        }
    }
    Ok(())
}

fn waiting(of: &Explanation, page: &mut String) -> std::fmt::Result {
    for line in &of.waiting_invalidations {
        writeln!(
            page,
            "an invalidation has waited since {}: {} (due {})",
            line.created_at, line.reason, line.due_at
        )?;
    }
    if of.waiting_invalidations.is_empty() { Ok(()) } else { writeln!(page) }
}

fn repairs(of: &Explanation, page: &mut String) -> std::fmt::Result {
    for repair in &of.last_repairs {
        let (from, to) = (or_dash(repair.from), or_dash(repair.to));
        let at = repair.made_at.format("%F %T");
        writeln!(
            page,
            "repaired {at} ({}): {} {} {from} -> {to}",
            repair.made_by, repair.what, repair.counter
        )?;
    }
    if of.last_repairs.is_empty() { Ok(()) } else { writeln!(page) }
}

fn verdict(of: &Explanation, page: &mut String) -> std::fmt::Result {
    of.verdict().iter().try_for_each(|sentence| writeln!(page, "=> {sentence}"))
}

const fn state(is_on: bool) -> &'static str {
    if is_on { "on" } else { "off" }
}

fn or_dash(value: Option<impl ToString>) -> String {
    value.map_or_else(|| "-".to_owned(), |value| value.to_string())
}

/// Rounds down to whole seconds; below one second to milliseconds.
fn span(ms: i64) -> String {
    let ms = ms.max(0) as u64;
    let rounded = if ms < 1_000 { ms } else { ms / 1_000 * 1_000 };
    humantime::format_duration(std::time::Duration::from_millis(rounded)).to_string()
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
