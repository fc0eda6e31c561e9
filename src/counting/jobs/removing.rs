//! Pages of a removal: the comments of a removed note, and the notes and members of a removed group.

use super::{
    backfill_page::{PAGE, PageEffects},
    hiding::change,
};
use plaudit_catalogue::{
    COMMENTS, EdgeKind, EntityKind, NOTES, Rows,
    primitives::{GroupId, NoteId},
};
use plaudit_store::{
    StoreResult,
    sql::{
        Tx,
        counting::{
            backfills::{self, Backfill},
            rows::{self, RowKeys},
        },
        moderation::groups,
    },
};

/// The next rows of the removed subject.
pub(super) async fn page(tx: &mut Tx, work: &mut Backfill) -> StoreResult<PageEffects> {
    let group = GroupId(work.subject.id);
    match (work.subject.kind, work.stage) {
        (EntityKind::Group, 0) => take_notes_out(tx, work, group).await,
        (EntityKind::Group, _) => exclude_members(tx, work, group).await,
        _ => remove_comments(tx, work).await,
    }
}

/// Removes the next comments of a removed note, and subtracts them from their authors' totals.
async fn remove_comments(tx: &mut Tx, work: &mut Backfill) -> StoreResult<PageEffects> {
    let note = NoteId(work.subject.id);
    let found = RowKeys::of_things(COMMENTS, backfills::comments_after(tx, note, work.after, PAGE).await?);
    let moved = rows::remove(tx, &found, rows::REMOVE_WITH_NOTE).await?;
    work.after = found.keys.last().map_or(work.after, |comment| comment.get());
    done(work, found.keys.len());
    Ok(PageEffects { moved, changed: found.things().collect(), sets: Vec::new() })
}

fn done(work: &mut Backfill, rows: usize) {
    work.done += rows as i64;
    work.is_finished = rows < PAGE;
}

/// Takes the next notes out of a removed group. They stay as notes of their authors.
async fn take_notes_out(tx: &mut Tx, work: &mut Backfill, group: GroupId) -> StoreResult<PageEffects> {
    let notes = RowKeys::of_things(NOTES, groups::notes_in(tx, group, PAGE).await?);
    work.done += notes.keys.len() as i64;
    work.stage += usize::from(notes.keys.is_empty());
    change(tx, &notes, rows::LEAVE_GROUP).await
}

/// Excludes the next memberships of a removed group from totals. Their rows stay on, like likes of a removed note.
async fn exclude_members(tx: &mut Tx, work: &mut Backfill, group: GroupId) -> StoreResult<PageEffects> {
    let kind = EdgeKind::GroupJoin;
    let users = groups::included_actors(tx, kind, group.0, PAGE).await?;
    done(work, users.len());
    let members = RowKeys { rows: Rows::of_edge(kind), keys: vec![group.0; users.len()], users };
    change(tx, &members, rows::EXCLUDE).await
}
