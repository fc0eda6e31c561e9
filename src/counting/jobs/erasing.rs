//! Pages of erasing a user: first everything is hidden, so that every count is right, and then it is deleted.
//!
//! With an edge, its actor goes out of the inbox entry about it. `activity` has no index by actor, for which every like
//! would pay, so it is read as a whole, and last: once the edges of the user are gone, an event of the user changes no
//! row, and so adds nothing to `activity`.

use chrono::Utc;

use super::{
    backfill_page::{PAGE, PageEffects},
    hiding,
};
use plaudit_catalogue::{
    COMMENTS, EdgeKind, Flip, GROUPS, InboxKind, NOTES, Rows,
    primitives::{ShardCount, UserId},
};
use plaudit_store::{
    StoreResult,
    sql::{
        Tx,
        content::removed_texts::{Removed, empty_removed},
        counting::{
            activity,
            backfills::{self, Backfill},
            rows,
        },
        inbox::erasure::{delete_entries_about, withdraw_erased},
        moderation::reports,
        people::{
            self,
            erasure::{self, ErasedEdge},
        },
        stream::{retention, webhooks},
    },
};

/// Stages after hiding with a function each, before the stages of the tables whose rows are deleted.
const BEFORE_TABLES: usize = 7;
/// More than the entries about a page of comments: each notifies the author of the note, the one whom it answers,
/// and those whom it mentions.
const ENTRIES_OF_COMMENTS: usize = 20 * PAGE;

pub(super) async fn page(tx: &mut Tx, work: &mut Backfill, shards: ShardCount) -> StoreResult<PageEffects> {
    let Some(stage) = work.stage.checked_sub(hiding::stages()) else {
        return hiding::page(tx, work, true).await;
    };
    let user = UserId(work.subject.id);
    match stage {
        0 => return notes(tx, work, user, shards).await,
        1 => return comments(tx, work, user).await,
        2 => deleted(work, empty_removed(tx, NOTES, Removed::Of(user), PAGE).await?),
        3 => deleted(work, empty_removed(tx, GROUPS, Removed::Of(user), PAGE).await?),
        4 => return messages(tx, work, user).await,
        5 => deleted(work, reports::erase_reports(tx, user, PAGE).await?),
        6 => {
            erasure::erase_dead_events(tx, shards.shard_of(user.0), user).await?;
            deleted(work, 0);
        }
        stage => return tables(tx, work, user, stage - BEFORE_TABLES).await,
    }
    Ok(PageEffects::default())
}

/// Goes on to the next stage after the last page.
fn deleted(work: &mut Backfill, rows: usize) {
    hiding::advance(work, rows, Some(0));
}

/// Deletes rows of each table; and at last takes the user out of `activity` and the stream.
async fn tables(tx: &mut Tx, work: &mut Backfill, user: UserId, stage: usize) -> StoreResult<PageEffects> {
    let tables: Vec<Rows> = Rows::deleted().collect();
    match tables.get(stage).map(|rows| (rows, rows.edge)) {
        Some((rows, Some(kind))) => return edges(tx, work, rows, kind, user).await,
        Some((rows, None)) => deleted(work, erasure::delete_rows(tx, rows, user, PAGE).await?),
        // The last ones: an event that is persisted now changes no row, so it gets no actor any more.
        None => match stage - tables.len() {
            0 => activity(tx, work, user).await?,
            1 => events(tx, work, user).await?,
            _ => work.is_finished = true,
        },
    }
    Ok(PageEffects::default())
}

/// Removes the next notes of an author, none of which is shown any more.
async fn notes(
    tx: &mut Tx,
    work: &mut Backfill,
    author: UserId,
    shards: ShardCount,
) -> StoreResult<PageEffects> {
    let which = people::hiding::UNPUBLISHED_NOTES;
    let notes = people::hiding::rows_after(tx, NOTES, author, work.after, which, PAGE).await?;
    let page = hiding::change(tx, &notes, rows::REMOVE).await?;
    backfills::remove_comments_of(tx, shards, &notes.keys, Some(author)).await?;
    hiding::advance(work, notes.keys.len(), notes.keys.last().map(|note| note.get()));
    Ok(page)
}

async fn comments(tx: &mut Tx, work: &mut Backfill, author: UserId) -> StoreResult<PageEffects> {
    let all = people::hiding::ALL;
    let comments = people::hiding::rows_after(tx, COMMENTS, author, work.after, all, PAGE).await?;
    let told = [InboxKind::Comment, InboxKind::Reply, InboxKind::Mention];
    let mut moved = rows::remove(tx, &comments, rows::REMOVE_AND_FORGET).await?;
    rows::forget(tx, &comments).await?;
    // A comment notifies a few users only, so these are all.
    let (_, inboxes) = delete_entries_about(tx, &told, &comments.keys, ENTRIES_OF_COMMENTS).await?;
    moved.extend(inboxes);
    hiding::advance(work, comments.keys.len(), comments.keys.last().map(|comment| comment.get()));
    Ok(PageEffects { moved, changed: comments.things().collect(), ..PageEffects::default() })
}

/// With an edge, its actor goes out of the inbox entry about it. Who followed the user follows one user less.
async fn edges(
    tx: &mut Tx,
    work: &mut Backfill,
    rows: &Rows,
    kind: EdgeKind,
    user: UserId,
) -> StoreResult<PageEffects> {
    let gone = erasure::erase_edges(tx, rows, kind, user, PAGE).await?;
    let mut page = PageEffects { moved: withdraw_erased(tx, kind, &gone).await?, ..PageEffects::default() };
    for edge in &gone {
        let ErasedEdge { actor, target, owner, included, .. } = *edge;
        page.sets.push((kind, actor));
        let flip = Flip { kind, actor, target, owner, on: false, at: 0, by: None };
        for (entity, counter, by) in flip.deltas() {
            page.moved.entry(entity).or_default().add(counter, by * i64::from(included));
        }
    }
    deleted(work, gone.len());
    Ok(page)
}

/// Deletes the entries about messages of the user from the inboxes of others.
async fn messages(tx: &mut Tx, work: &mut Backfill, sender: UserId) -> StoreResult<PageEffects> {
    let done = work.done;
    let (entries, moved) = delete_entries_about(tx, &[InboxKind::Message], &[sender.0], PAGE).await?;
    deleted(work, entries);
    work.done = done; // they were not counted at the beginning
    Ok(PageEffects { moved, ..PageEffects::default() })
}

/// Goes through the days that have activity: `after` is the number of days that are done, `within` the block.
async fn activity(tx: &mut Tx, work: &mut Backfill, actor: UserId) -> StoreResult<()> {
    let days = activity::activity_days(tx, Utc::now().date_naive()).await?;
    let Some(day) = days.get(work.after as usize) else {
        deleted(work, 0);
        return Ok(());
    };
    match erasure::erase_activity(tx, *day, work.within, actor).await? {
        Some(next) => work.within = next,
        None => (work.after, work.within) = (work.after + 1, 0),
    }
    Ok(())
}

/// Goes through the stream of events: `after` is the position that is done.
async fn events(tx: &mut Tx, work: &mut Backfill, user: UserId) -> StoreResult<()> {
    match retention::erase_events(tx, user, work.after).await? {
        Some(next) => work.after = next,
        None => {
            webhooks::erase_from_batch(tx, user).await?;
            deleted(work, 0);
        }
    }
    Ok(())
}
