//! Feed: newest notes, of everybody or of the users that somebody follows.

use std::cmp::Reverse;

use crate::{DomainResult, Plaudit};
use plaudit_catalogue::{
    EdgeKind,
    primitives::{Moment, PageRequest, Slice, UserId},
};
use plaudit_store::{
    StoreError,
    redis::{SET_CAP, members::pending},
    sql::{content::note_lists, counting::edges},
};

/// Attempts to load the set of followed users before a request gives up.
const ATTEMPTS: u32 = 3;

/// Newest notes of everybody. The first page needs no statement if it is cached.
pub async fn feed(plaudit: &Plaudit, page: PageRequest<Moment>) -> DomainResult<Slice<Moment>> {
    if page.after.is_some() {
        return Ok(note_lists::newest_notes(&plaudit.inner.db, page).await?);
    }
    let newest = plaudit.inner.entities.newest_notes.places().await?;
    Ok(page.slice(newest.iter().take(page.first + 1).copied().collect()))
}

/// Newest notes of the users that this user follows, exact right after a follow. Always two statements:
/// which of them wrote last, and what those wrote.
pub async fn feed_of_followed(
    plaudit: &Plaudit,
    user: UserId,
    page: PageRequest<Moment>,
) -> DomainResult<Slice<Moment>> {
    let followed = followed(plaudit, user).await?;
    let db = &plaudit.inner.db;
    let mut newest = note_lists::newest_note_of_each(db, &followed, page).await?;
    // A page of n notes has only notes of the n authors who wrote last.
    newest.sort_unstable_by_key(|(_, place)| Reverse(*place));
    newest.truncate(page.rows() as usize);
    let authors: Vec<UserId> = newest.into_iter().map(|(author, _)| author).collect();
    let mut notes = note_lists::newest_notes_of_each(db, &authors, page).await?;
    notes.sort_unstable_by_key(|place| Reverse(*place));
    Ok(page.slice(notes))
}

/// All users that the user follows; the follow limit bounds their number.
async fn followed(plaudit: &Plaudit, user: UserId) -> DomainResult<Vec<UserId>> {
    for _ in 0..ATTEMPTS {
        match pending::all_targets(&plaudit.inner.redis, user, EdgeKind::Follow).await {
            Ok(Some(followed)) => return Ok(followed.into_iter().map(UserId).collect()),
            Ok(None) => {}
            Err(error) if error.is_redis_away() => {
                plaudit.hub().hearing().note_stale_read();
                let (db, shard) = (&plaudit.inner.db, plaudit.inner.redis.shard_of(user.0));
                let _permit = db.row_turns().wait().await?;
                let rows = edges::member_page(db, shard, EdgeKind::Follow, user, SET_CAP).await?;
                return Ok(rows.targets.into_iter().map(UserId).collect());
            }
            Err(error) => return Err(error.into()),
        }
        plaudit.inner.memberships.load_set(user, EdgeKind::Follow).await?;
    }
    Err(StoreError::Contended { tries: ATTEMPTS }.into())
}
