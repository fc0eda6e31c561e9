//! Pages of hiding and restoring a user: the rows of each table in turn, and comments of others on the user's
//! notes. What is seen most goes first.
//!
//! Each row says whether it counts. What others do on a hidden note counts for the note and not for its author, so
//! that a restore only adds the note's totals to the author's totals.

use super::backfill_page::{PAGE, PageEffects};
use plaudit_catalogue::{COMMENTS, Rows, primitives::UserId};
use plaudit_store::{
    StoreResult,
    sql::{
        Tx,
        counting::{
            backfills::Backfill,
            rows::{self, RowKeys},
        },
        people::hiding,
    },
};

/// The tables that have a stage each; the last stage hides comments on notes.
fn tables() -> impl Iterator<Item = Rows> {
    Rows::all().filter(|rows| rows.hiding.is_some())
}

/// Number of stages.
pub(super) fn stages() -> usize {
    tables().count() + 1
}

/// Hides the next rows of a user (`hide`), or shows them.
pub(super) async fn page(tx: &mut Tx, work: &mut Backfill, hide: bool) -> StoreResult<PageEffects> {
    if work.stage == stages() {
        work.is_finished = true;
        return Ok(PageEffects::default());
    }
    let user = UserId(work.subject.id);
    let Some((table, hiding)) = tables().nth(work.stage).and_then(|table| Some((table, table.hiding?)))
    else {
        return comments_on_notes(tx, work, user, hide).await;
    };
    let [which, set] = hiding[usize::from(!hide)];
    let found = hiding::rows_after(tx, table, user, work.after, which, PAGE).await?;
    let page = change(tx, &found, set).await?;
    advance(work, found.keys.len(), found.keys.last().map(|key| key.get()));
    Ok(page)
}

/// Sets columns of rows, and moves totals accordingly.
pub(super) async fn change(tx: &mut Tx, found: &RowKeys, set: &str) -> StoreResult<PageEffects> {
    let moved = rows::change(tx, found, set).await?;
    Ok(PageEffects { moved, changed: found.things().collect(), sets: Vec::new() })
}

/// Moves on to what is behind the last row of a page, or to the next stage after the last page.
pub(super) fn advance(work: &mut Backfill, rows: usize, last: Option<i64>) {
    work.done += rows as i64;
    match last {
        Some(last) if rows == PAGE => work.after = last,
        _ => (work.stage, work.after, work.within) = (work.stage + 1, 0, 0),
    }
}

/// Comments on a hidden note count for the note, and not for their authors.
async fn comments_on_notes(
    tx: &mut Tx,
    work: &mut Backfill,
    author: UserId,
    hide: bool,
) -> StoreResult<PageEffects> {
    let found = hiding::comments_on_notes(tx, author, (work.after, work.within), hide, PAGE).await?;
    let comments = RowKeys::of_things(COMMENTS, found.iter().map(|(_, comment)| *comment).collect());
    let page = change(tx, &comments, rows::ON_HIDDEN_NOTE[usize::from(hide)]).await?;
    match found.last() {
        Some((note, comment)) if found.len() == PAGE => {
            (work.after, work.within) = (note.get(), comment.get());
        }
        // They are not the user's, so they are not among the rows that are done.
        _ => advance(work, 0, None),
    }
    Ok(page)
}
