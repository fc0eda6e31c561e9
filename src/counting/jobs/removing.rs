//! Pages of a removal: the comments of a removed note, and the notes and members of a removed group.

use super::{
    backfill_page::{PAGE, PageEffects},
    hiding::advance,
};
use plaudit_catalogue::{
    Counter, EdgeKind, Entity, EntityKind, Flip,
    primitives::{GroupId, Id, NoteId},
};
use plaudit_store::{
    StoreResult,
    sql::{
        Tx,
        counting::{
            backfills::{self, Backfill},
            counts,
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
    let mut page = PageEffects::default();
    let note = NoteId(work.subject.id);
    let comments = backfills::remove_comments_after(tx, note, work.after, PAGE).await?;
    for comment in &comments {
        if comment.included {
            page.moved.entry(comment.author.into()).or_default().add(Counter::UserComments, -1);
        }
        page.changed.push(comment.id.into());
    }
    work.done += comments.len() as i64;
    work.after = comments.iter().map(|comment| comment.id.get()).max().unwrap_or(work.after);
    work.is_finished = comments.len() < PAGE;
    Ok(page)
}

/// Takes the next notes out of a removed group. They stay as notes of their authors.
async fn take_notes_out(tx: &mut Tx, work: &mut Backfill, group: GroupId) -> StoreResult<PageEffects> {
    let mut page = PageEffects::default();
    let notes = groups::take_notes_out(tx, group, PAGE).await?;
    if notes.is_empty() {
        advance(work, 0, None);
        return Ok(page);
    }
    work.done += notes.len() as i64;
    let ids: Vec<Id> = notes.iter().map(|note| note.id.0).collect();
    page.changed = notes.iter().map(|note| note.id.into()).collect();
    let totals: Vec<Entity> = page.changed.iter().copied().chain([group.into()]).collect();
    counts::lock_all_totals(tx, &totals).await?;
    groups::forget_group_of(tx, &ids).await?;
    let moved = page.moved.entry(group.into()).or_default();
    for note in notes.iter().filter(|note| note.is_shown) {
        moved.add(Counter::GroupNotes, -1);
        moved.add(Counter::GroupFeaturedNotes, -i64::from(note.was_featured));
    }
    Ok(page)
}

/// Excludes the next memberships of a removed group from totals. Their rows stay on, like likes of a removed note.
async fn exclude_members(tx: &mut Tx, work: &mut Backfill, group: GroupId) -> StoreResult<PageEffects> {
    let mut page = PageEffects::default();
    let kind = EdgeKind::GroupJoin;
    let members = groups::exclude_edges_to(tx, kind, group.0, PAGE).await?;
    for actor in &members {
        let flip = Flip { kind, actor: *actor, target: group.0, owner: *actor, on: false, at: 0, by: None };
        for (entity, counter, delta) in flip.deltas() {
            page.moved.entry(entity).or_default().add(counter, delta);
        }
    }
    work.done += members.len() as i64;
    work.is_finished = members.len() < PAGE;
    Ok(page)
}
