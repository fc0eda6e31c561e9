//! Transaction of one batch: all its effects and the log's offset are committed together.

use std::{
    collections::{BTreeMap, BTreeSet},
    iter,
};

use metrics::counter;

use super::{
    imported,
    mismatch::Moved,
    notify::Notices,
    plan::{BatchPlan, mismatches},
};
use crate::leadership::Context;
use plaudit_catalogue::{
    Counter, Counts, Deltas, EdgeKind, Entity, EntityKind, EventKind, Flip,
    event_log::{Entry, Event, sum},
    primitives::{
        Id, NoteId, Offset, UserId,
        fault::{self, Point},
    },
};
use plaudit_store::{
    SqlRefusal, StoreResult,
    sql::{
        Tx,
        content::notes,
        counting::{
            activity, counts,
            dead::{self, GivenUp},
            edges::{self, ChangedEdge},
            invalidations,
        },
        import::runs,
        inbox::notices,
        ownership::shards::{self, Lease, OffsetStep},
        people::erasure,
        stream::events::{self, NewEvent},
    },
};

/// Entries of one shard's log after `from`, for the transaction of its owner.
#[derive(Clone, Copy)]
pub struct ShardBatch<'a> {
    pub lease: Lease,
    pub from: Offset,
    pub entries: &'a [Entry],
}

/// Persists the entries after `from` and advances the log's offset. Returns the new offset.
///
/// # Errors
/// As [`write_batches`].
pub async fn write_batch(
    context: &Context,
    lease: Lease,
    from: Offset,
    entries: &[Entry],
) -> StoreResult<Offset> {
    let Some(last) = entries.last() else { return Ok(from) };
    write_batches(context, &[ShardBatch { lease, from, entries }]).await?;
    Ok(last.offset)
}

/// Persists batches of several shards, in the order of the shards, in one transaction.
///
/// # Errors
/// [`plaudit_store::StoreError::Fenced`] when a shard has a newer owner or its offset is not `from`;
/// [`plaudit_store::StoreError::Refused`] when one of the entries breaks a rule of the tables. After any
/// other error the commit may or may not have happened: the offset in PostgreSQL decides.
pub async fn write_batches(context: &Context, batches: &[ShardBatch<'_>]) -> StoreResult<()> {
    let entries = || batches.iter().flat_map(|batch| batch.entries);
    let (db, plan) = (&context.db, BatchPlan::of(entries()));
    let history = context.settings.keeps_activity();
    if history {
        activity::ensure_activity_days(db, &plan.days()).await?;
    }
    let mut tx = db.begin().await?;
    let steps: Vec<OffsetStep> = batches.iter().filter_map(ShardBatch::step).collect();
    let with_dead = shards::advance_offsets(&mut tx, &steps).await?;
    shards::lock_removals_shared(&mut tx).await?;
    for batch in batches.iter().filter(|batch| with_dead.contains(&batch.lease.shard)) {
        let flips: Vec<&Flip> = batch.entries.iter().filter_map(Entry::flip).collect();
        let Some(last) = batch.entries.last() else { continue };
        dead::supersede_dead_events(&mut tx, batch.lease.shard, &flips, last.offset).await?;
    }
    let moved = apply(&mut tx, &plan, history).await?;
    for batch in batches {
        for entry in batch.unreadable() {
            let given_up = GivenUp { error: None, tries: 1, history };
            dead::add_dead_event(&mut tx, batch.lease.shard, entry, given_up).await?;
        }
    }
    let by_events = sum(entries());
    let invalid = mismatches(&by_events, &moved.totals);
    invalidations::add_count_invalidations(
        &mut tx,
        context.redis.shards(),
        &invalid,
        "rows moved differently than events",
    )
    .await?;
    fault::reached(Point::BeforeCommit)?;
    tx.commit().await?;
    moved.causes(&by_events, &invalid).report();
    for batch in batches {
        if let Some(first) = batch.unreadable().next() {
            let (shard, events, first) = (batch.lease.shard.0, batch.unreadable().count(), first.offset);
            tracing::error!(shard, events, %first, "events cannot be read; see: plaudit dead list");
            count_dead(batch.lease, events);
        }
    }
    fault::reached(Point::AfterCommit)?;
    Ok(())
}

impl ShardBatch<'_> {
    fn step(&self) -> Option<OffsetStep> {
        self.entries.last().map(|last| step(self.lease, self.from, last))
    }

    /// Events that this release cannot read.
    fn unreadable(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter().filter(|entry| matches!(entry.event, Event::Unreadable(_)))
    }
}

/// Makes an event that PostgreSQL refuses a dead event, and advances the log's offset past it. Redis has counted
/// the event, so its entities are invalidated. Returns the new offset.
///
/// # Errors
/// As [`write_batch`].
pub async fn bury(
    context: &Context,
    lease: Lease,
    from: Offset,
    entry: &Entry,
    refusal: &SqlRefusal,
    tries: u32,
) -> StoreResult<Offset> {
    let db = &context.db;
    let error = refusal.to_string();
    let given_up = GivenUp { error: Some(&error), tries, history: context.settings.keeps_activity() };
    let mut tx = db.begin().await?;
    shards::advance_offsets(&mut tx, &[step(lease, from, entry)]).await?;
    dead::add_dead_event(&mut tx, lease.shard, entry, given_up).await?;
    let invalid = mismatches(&sum([entry]), &Deltas::new());
    invalidations::add_count_invalidations(&mut tx, context.redis.shards(), &invalid, "dead event").await?;
    fault::reached(Point::BeforeCommit)?;
    tx.commit().await?;
    fault::reached(Point::AfterCommit)?;
    count_dead(lease, 1);
    Ok(entry.offset)
}

const fn step(lease: Lease, from: Offset, to: &Entry) -> OffsetStep {
    OffsetStep { lease, from, to: to.offset, digest: to.digest }
}

fn count_dead(lease: Lease, events: usize) {
    counter!("plaudit_dead_events_total", "shard" => lease.shard.to_string()).increment(events as u64);
}

/// Writes edge rows, inbox entries, totals, and the history if it is enabled; the commit writes the events.
/// Returns how totals moved.
pub async fn apply(tx: &mut Tx, plan: &BatchPlan<'_>, history: bool) -> StoreResult<Moved> {
    let SwitchedRows { mut moved, notices, erased, changed } = switch_rows(tx, plan).await?;
    count_views(tx, plan, &mut moved).await?;
    let after = add_totals(tx, plan, &mut moved, &notices, history).await?;
    if history {
        let mut steps = plan.history(&after);
        for step in steps.iter_mut().filter(|step| erased.contains(&step.flip.actor.0)) {
            step.actor = 0;
        }
        activity::add_activity(tx, &mut steps).await?;
    }
    record(tx, plan, &changed, &erased, &notices);
    Ok(moved)
}

/// Adds the events of the stream, which the commit writes: flips that changed an edge, but for those of erased
/// users; then the entries of inboxes.
fn record(
    tx: &mut Tx,
    plan: &BatchPlan<'_>,
    changed: &[(EdgeKind, Vec<ChangedEdge>)],
    erased: &BTreeSet<Id>,
    notices: &Notices<'_>,
) {
    if !events::records_events(tx) {
        return;
    }
    for flip in plan.effective(changed) {
        if !users_of(flip).any(|user| erased.contains(&user)) {
            events::record(tx, event_of(flip));
        }
    }
    notices.events().into_iter().for_each(|event| events::record(tx, event));
}

fn event_of(flip: &Flip) -> NewEvent {
    NewEvent {
        kind: EventKind::Edge(flip.kind, flip.on),
        at: flip.at,
        actor: Some(flip.actor),
        target: flip.target,
        recipient: None,
        number: 1,
        subject: None,
    }
}

/// What the edge rows of a batch changed.
struct SwitchedRows<'a> {
    /// How the changed rows move totals.
    moved: Moved,
    notices: Notices<'a>,
    /// Erased users among those whose events are in the batch. Their events change no row.
    erased: BTreeSet<Id>,
    changed: Vec<(EdgeKind, Vec<ChangedEdge>)>,
}

impl<'a> SwitchedRows<'a> {
    fn add(&mut self, flip: &'a Flip, row: &ChangedEdge) {
        self.moved.add_edge(flip, row);
        if let Some((inbox, badge, by)) = self.notices.add(flip, row) {
            self.moved.add(inbox, badge, by);
        }
    }
}

/// What became of the edges of a kind whose rows did not change at first.
struct SettledEdges {
    /// Rows that were switched off after all.
    late: Vec<ChangedEdge>,
    /// Edges whose rows were as their flips say, from an earlier time.
    earlier: BTreeSet<(UserId, Id)>,
}

fn edges_of(rows: &[ChangedEdge]) -> BTreeSet<(UserId, Id)> {
    rows.iter().map(|row| (row.actor, row.target)).collect()
}

/// Settles the edges of a kind of which some rows did not change. A row that is as its flip says, from an earlier time,
/// gets the flip's time, because lists are in that order, and an edge that is off without a row gets one: an import
/// that comes later finds the time.
async fn settle_unchanged(
    tx: &mut Tx,
    kind: EdgeKind,
    flips: &[&Flip],
    changed: &[ChangedEdge],
) -> StoreResult<SettledEdges> {
    let changed = edges_of(changed);
    let is_unchanged = |flip: &&Flip| !changed.contains(&(flip.actor, flip.target));
    let unchanged: Vec<&Flip> = flips.iter().copied().filter(is_unchanged).collect();
    let earlier = edges::keep_later_times(tx, kind, &unchanged).await?;
    let off: Vec<&Flip> = unchanged.into_iter().filter(|flip| !flip.on).collect();
    edges::record_off(tx, kind, &off).await?;
    // A row that an import was adding is seen only now: `record_off` has waited for it.
    let late = edges::switch_off(tx, kind, &off).await?;
    Ok(SettledEdges { late, earlier })
}

/// Writes the edge rows.
async fn switch_rows<'a>(tx: &mut Tx, plan: &BatchPlan<'a>) -> StoreResult<SwitchedRows<'a>> {
    let told = if plan.may_tell() { notices::next_inbox_position(tx).await? } else { 0 };
    let mut switched = SwitchedRows {
        moved: Moved::default(),
        notices: Notices::at(told),
        erased: BTreeSet::new(),
        changed: Vec::with_capacity(EdgeKind::ALL.len()),
    };
    let mut is_unusual = false;
    for kind in EdgeKind::ALL {
        let (on, off) = (plan.rows(*kind, true), plan.rows(*kind, false));
        let mut changed = edges::switch_on(tx, *kind, &on, told).await?;
        changed.extend(edges::switch_off(tx, *kind, &off).await?);
        let mut earlier = BTreeSet::new();
        if changed.len() < on.len() + off.len() {
            is_unusual = true;
            let settled = settle_unchanged(tx, *kind, &[on, off].concat(), &changed).await?;
            changed.extend(settled.late);
            earlier = settled.earlier;
        }
        for row in &changed {
            let Some(flip) = plan.flip_of(*kind, row) else { continue };
            switched.add(flip, row);
        }
        if !plan.is_plain(*kind, changed.len()) && runs::was_imported(tx).await? {
            for (entity, counter, by) in imported::explained(plan, *kind, &edges_of(&changed), &earlier) {
                switched.moved.import(entity, counter, by);
            }
        }
        switched.changed.push((*kind, changed));
    }
    // Events were read again after a loss, an edge was switched twice, an import wrote a row, or a user was erased.
    if is_unusual {
        switched.erased = exclude_erased(tx, plan, &switched.changed, &mut switched.moved).await?;
    }
    Ok(switched)
}

/// Excludes the flips by and of erased users that changed no row. Returns these users.
async fn exclude_erased(
    tx: &mut Tx,
    plan: &BatchPlan<'_>,
    changed: &[(EdgeKind, Vec<ChangedEdge>)],
    moved: &mut Moved,
) -> StoreResult<BTreeSet<Id>> {
    let users = plan.flips.iter().flat_map(|flip| users_of(flip));
    let users: Vec<Id> = users.collect::<BTreeSet<_>>().into_iter().collect();
    let erased: BTreeSet<Id> = erasure::erased_among(tx, &users).await?.into_iter().collect();
    let changed: BTreeSet<(EdgeKind, UserId, Id)> = changed
        .iter()
        .flat_map(|(kind, rows)| rows.iter().map(|row| (*kind, row.actor, row.target)))
        .collect();
    let is_erased = |flip: &&&Flip| users_of(flip).any(|user| erased.contains(&user));
    let has_no_row = |flip: &&&Flip| !changed.contains(&(flip.kind, flip.actor, flip.target));
    for flip in plan.flips.iter().filter(is_erased).filter(has_no_row) {
        for (entity, counter, delta) in flip.deltas() {
            moved.exclude(entity, counter, delta);
        }
    }
    Ok(erased)
}

/// The users whose erasure takes the edge with it.
fn users_of(flip: &Flip) -> impl Iterator<Item = Id> {
    let target = (flip.kind.target() == EntityKind::User).then_some(flip.target);
    iter::once(flip.actor.0).chain(target)
}

/// Adds the views of present notes to `moved`; views have no rows of their own.
async fn count_views(tx: &mut Tx, plan: &BatchPlan<'_>, moved: &mut Moved) -> StoreResult<()> {
    if plan.views.is_empty() {
        return Ok(());
    }
    let viewed: Vec<NoteId> = plan.views.keys().copied().collect();
    let present: BTreeSet<NoteId> = notes::present_notes(tx, &viewed).await?.into_iter().collect();
    for (note, views) in &plan.views {
        if present.contains(note) {
            moved.add((*note).into(), Counter::NoteViews, *views);
        } else {
            moved.exclude((*note).into(), Counter::NoteViews, *views);
        }
    }
    Ok(())
}

/// Locks and moves the totals, in the order of the catalogue, and writes inbox entries under the locks of
/// theirs. If the history is enabled, returns the new totals of the entities that have one.
async fn add_totals(
    tx: &mut Tx,
    plan: &BatchPlan<'_>,
    moved: &mut Moved,
    notices: &Notices<'_>,
    history: bool,
) -> StoreResult<BTreeMap<Entity, Counts>> {
    let mut after = BTreeMap::new();
    for kind in EntityKind::ALL {
        let touched = plan.touched(*kind, &moved.totals);
        if history && plan.flips.iter().any(|flip| flip.kind.target() == *kind) {
            let totals = counts::add_and_read_totals(tx, *kind, &touched).await?;
            after.extend(totals.into_iter().map(|(id, counts)| (Entity::new(*kind, id), counts)));
        } else {
            counts::add_in_order(tx, *kind, &touched).await?;
        }
        if *kind == EntityKind::Inbox {
            let taken_back = notices.write(tx).await?;
            counts::add_totals(tx, *kind, &taken_back).await?;
            moved.add_all(taken_back);
        }
    }
    Ok(after)
}
