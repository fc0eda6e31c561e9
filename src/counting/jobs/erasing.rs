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
    Counter, EdgeKind, InboxKind,
    primitives::{Id, ShardCount, UserId},
};
use plaudit_store::{
    StoreResult,
    sql::{
        Tx,
        counting::{
            activity,
            backfills::{self, Backfill, BackfillKind},
        },
        inbox,
        moderation::reports,
        people,
        stream::{retention, webhooks},
    },
};

/// Stages after hiding, before those of the edges, of which each kind has one.
const BEFORE_EDGES: usize = 11;
/// More than the entries about a page of comments: each tells the author of the note, the one whom it answers,
/// and those whom it mentions.
const ENTRIES_OF_COMMENTS: usize = 20 * PAGE;

pub(super) async fn page(tx: &mut Tx, work: &mut Backfill, shards: ShardCount) -> StoreResult<PageEffects> {
    let Some(stage) = work.stage.checked_sub(hiding::STAGES) else {
        return hiding::page(tx, work, true).await;
    };
    let user = UserId(work.subject.id);
    match stage {
        0 => return notes(tx, work, user, shards).await,
        1 => return comments(tx, work, user).await,
        2 => return followers(tx, work, user).await,
        3 => deleted(work, people::erasure::erase_ratings(tx, user, PAGE).await?),
        4 => deleted(work, people::erasure::erase_coins(tx, user, PAGE).await?),
        5 => deleted(work, people::erasure::erase_keys(tx, user, PAGE).await?),
        6 => {
            people::erasure::erase_dead_events(tx, shards.shard_of(user.0), user).await?;
            deleted(work, 0);
        }
        7 => deleted(work, inbox::erasure::erase_inbox(tx, user, PAGE).await?),
        8 => return messages(tx, work, user).await,
        9 => deleted(work, reports::erase_reports(tx, user, PAGE).await?),
        10 => deleted(work, people::erasure::erase_removed_groups(tx, user, PAGE).await?),
        stage => match EdgeKind::ALL.get(stage - BEFORE_EDGES) {
            Some(kind) => {
                let (rows, told) = people::erasure::erase_edges(tx, *kind, user, PAGE).await?;
                let moved = inbox::erasure::withdraw_erased(tx, *kind, &told).await?;
                deleted(work, rows);
                return Ok(PageEffects { moved, sets: vec![(*kind, user)], ..PageEffects::default() });
            }
            // The last ones: an event that is persisted now changes no row, so it gets no actor any more.
            None => match stage - BEFORE_EDGES - EdgeKind::ALL.len() {
                0 => history(tx, work, user).await?,
                1 => events(tx, work, user).await?,
                _ => work.is_finished = true,
            },
        },
    }
    Ok(PageEffects::default())
}

/// Goes on to the next stage after the last page.
fn deleted(work: &mut Backfill, rows: usize) {
    hiding::advance(work, rows, Some(0));
}

async fn notes(
    tx: &mut Tx,
    work: &mut Backfill,
    author: UserId,
    shards: ShardCount,
) -> StoreResult<PageEffects> {
    let notes = people::erasure::erase_notes(tx, author, PAGE).await?;
    for note in notes.iter().filter(|note| note.has_comments) {
        backfills::add_backfill(tx, shards, note.id.into(), BackfillKind::Remove, 0, author).await?;
    }
    deleted(work, notes.len());
    let changed = notes.iter().map(|note| note.id.into()).collect();
    Ok(PageEffects { changed, ..PageEffects::default() })
}

async fn comments(tx: &mut Tx, work: &mut Backfill, author: UserId) -> StoreResult<PageEffects> {
    let comments = people::erasure::comments_after(tx, author, work.after, PAGE).await?;
    let told = [InboxKind::Comment, InboxKind::Reply, InboxKind::Mention];
    let targets: Vec<Id> = comments.iter().map(|comment| comment.0).collect();
    // A comment tells a few users only, so these are all.
    let (_, moved) = inbox::erasure::delete_entries_about(tx, &told, &targets, ENTRIES_OF_COMMENTS).await?;
    people::erasure::erase_comments(tx, &comments).await?;
    hiding::advance(work, comments.len(), comments.last().map(|comment| comment.get()));
    let changed = comments.iter().map(|comment| (*comment).into()).collect();
    Ok(PageEffects { moved, changed, ..PageEffects::default() })
}

/// Who followed the user follows one user less. The user's own total is not shown any more.
async fn followers(tx: &mut Tx, work: &mut Backfill, user: UserId) -> StoreResult<PageEffects> {
    let mut page = PageEffects::default();
    let followers = people::erasure::erase_followers(tx, user, PAGE).await?;
    for follower in &followers {
        page.sets.push((EdgeKind::Follow, follower.user));
        if follower.included {
            page.moved.entry(follower.user.into()).or_default().add(Counter::UserFollowing, -1);
        }
    }
    deleted(work, followers.len());
    Ok(page)
}

/// Deletes the entries about messages of the user from the inboxes of others.
async fn messages(tx: &mut Tx, work: &mut Backfill, sender: UserId) -> StoreResult<PageEffects> {
    let done = work.done;
    let (entries, moved) =
        inbox::erasure::delete_entries_about(tx, &[InboxKind::Message], &[sender.0], PAGE).await?;
    deleted(work, entries);
    work.done = done; // they were not counted at the beginning
    Ok(PageEffects { moved, ..PageEffects::default() })
}

/// Goes through the days that have a history: `after` is the number of days that are done, `within` the block.
async fn history(tx: &mut Tx, work: &mut Backfill, actor: UserId) -> StoreResult<()> {
    let days = activity::activity_days(tx, Utc::now().date_naive()).await?;
    let Some(day) = days.get(work.after as usize) else {
        deleted(work, 0);
        return Ok(());
    };
    match people::erasure::erase_history(tx, *day, work.within, actor).await? {
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
