//! Pages of hiding and restoring a user. What is seen most goes first: notes, comments on them, comments,
//! ratings, edges.
//!
//! Each row says whether it counts: `is_shown` of notes, `is_counted` and `note_is_hidden` of comments, `included` of
//! ratings and edges. What others do on a hidden note counts for the note and not for its author, so that a restore
//! only adds the note's totals to the author's totals.

use super::backfill_page::{PAGE, PageEffects};
use plaudit_catalogue::{Counter, EdgeKind, Entity, Flip, primitives::UserId};
use plaudit_store::{
    StoreResult,
    sql::{
        Tx,
        content::submissions::ModerationState,
        counting::backfills::Backfill,
        moderation::decisions::{self, count_comment},
        people::hiding::{self, HiddenEdge},
    },
};

/// Stages before those of the edges, of which each kind has one.
const BEFORE_EDGES: usize = 4;
/// All stages.
pub(super) const STAGES: usize = BEFORE_EDGES + EdgeKind::ALL.len();

/// Hides the next rows of a user (`hide`), or shows them.
pub(super) async fn page(tx: &mut Tx, work: &mut Backfill, hide: bool) -> StoreResult<PageEffects> {
    let user = UserId(work.subject.id);
    match work.stage {
        0 => notes(tx, work, user, hide).await,
        1 => comments_on_notes(tx, work, user, hide).await,
        2 => comments(tx, work, user, hide).await,
        3 => ratings(tx, work, user, hide).await,
        stage => match EdgeKind::ALL.get(stage - BEFORE_EDGES) {
            Some(kind) => edges(tx, work, *kind, user, hide).await,
            None => {
                work.is_finished = true;
                Ok(PageEffects::default())
            }
        },
    }
}

/// +1 for what counts again, -1 for what stops counting.
const fn sign(hide: bool) -> i64 {
    if hide { -1 } else { 1 }
}

/// Moves on to what is behind the last row of a page, or to the next stage after the last page.
pub(super) fn advance(work: &mut Backfill, rows: usize, last: Option<i64>) {
    work.done += rows as i64;
    match last {
        Some(last) if rows == PAGE => work.after = last,
        _ => (work.stage, work.after, work.within) = (work.stage + 1, 0, 0),
    }
}

async fn notes(tx: &mut Tx, work: &mut Backfill, author: UserId, hide: bool) -> StoreResult<PageEffects> {
    let notes = hiding::hide_notes_after(tx, author, work.after, hide, PAGE).await?;
    let moved = hiding::count_notes(tx, &notes, sign(hide)).await?;
    advance(work, notes.len(), notes.last().map(|note| note.id.get()));
    let changed = notes.iter().map(|note| note.id.into()).collect();
    Ok(PageEffects { moved, changed, ..PageEffects::default() })
}

/// Comments on a hidden note count for the note, and not for their authors.
async fn comments_on_notes(
    tx: &mut Tx,
    work: &mut Backfill,
    author: UserId,
    hide: bool,
) -> StoreResult<PageEffects> {
    let mut page = PageEffects::default();
    let comments = hiding::hide_comments_on_notes(tx, author, (work.after, work.within), hide, PAGE).await?;
    for comment in comments.iter().filter(|comment| comment.is_counted) {
        page.moved.entry(comment.author.into()).or_default().add(Counter::UserComments, sign(hide));
    }
    let done = work.done;
    advance(work, comments.len(), comments.last().map(|comment| comment.note.get()));
    work.within = comments.last().filter(|_| comments.len() == PAGE).map_or(0, |comment| comment.id.get());
    work.done = done; // they are not the user's
    Ok(page)
}

async fn comments(tx: &mut Tx, work: &mut Backfill, author: UserId, hide: bool) -> StoreResult<PageEffects> {
    let mut page = PageEffects::default();
    let comments = hiding::comments_to_hide_after(tx, author, work.after, hide, PAGE).await?;
    decisions::lock_totals_of(tx, &comments, &[]).await?;
    hiding::hide_comments(tx, &comments, hide).await?;
    for comment in &comments {
        page.changed.push(comment.id.into());
        if comment.state == ModerationState::Approved {
            count_comment(comment, sign(hide), &mut page.moved);
            page.placeholders.push(comment.id);
            page.placeholders.extend(comment.parent);
            page.changed.extend(comment.parent.map(Entity::from));
        }
    }
    advance(work, comments.len(), comments.last().map(|comment| comment.id.get()));
    Ok(page)
}

async fn ratings(tx: &mut Tx, work: &mut Backfill, user: UserId, hide: bool) -> StoreResult<PageEffects> {
    let mut page = PageEffects::default();
    let ratings = hiding::include_ratings_after(tx, user, work.after, !hide, PAGE).await?;
    for rating in &ratings {
        rating.count(sign(hide), &mut page.moved);
    }
    advance(work, ratings.len(), ratings.last().map(|rating| rating.note.get()));
    Ok(page)
}

/// Edges to a removed target move no totals: the removal has done that. Those that also count for their actor do,
/// until the removal has excluded them.
async fn edges(
    tx: &mut Tx,
    work: &mut Backfill,
    kind: EdgeKind,
    actor: UserId,
    hide: bool,
) -> StoreResult<PageEffects> {
    let mut page = PageEffects::default();
    let edges = hiding::edges_after(tx, kind, actor, work.after, PAGE).await?;
    // An edge to a removed target that is still included leaves the totals with its target, in pages of its own.
    let changing: Vec<&HiddenEdge> = edges
        .iter()
        .filter(|edge| if hide { edge.included } else { !edge.included && edge.target_is_present })
        .collect();
    for edge in changing.iter().filter(|edge| edge.target_is_present || kind.counts_for_actor()) {
        let flip = Flip { kind, actor, target: edge.target, owner: edge.owner, on: !hide, at: 0, by: None };
        for (entity, counter, delta) in flip.deltas_if(edge.target_is_shown) {
            page.moved.entry(entity).or_default().add(counter, delta);
        }
    }
    let targets: Vec<_> = changing.iter().map(|edge| edge.target).collect();
    hiding::set_included(tx, kind, actor, &targets, !hide).await?;
    advance(work, edges.len(), edges.last().map(|edge| edge.target.get()));
    Ok(page)
}
