//! Read-through cache of the ids of the newest notes, for the first page of the feed. Texts come from the cache of
//! notes. Never holds a list that was read before an invalidation of one of its notes, or of a newer one.

use std::{
    collections::HashMap,
    sync::Arc,
    time::{Duration, Instant},
};

use parking_lot::Mutex;

use crate::{
    primitives::{NoteId, PageRequest},
    store::{StoreError, StoreResult, single_flight::SingleFlight, sql::Db},
};

/// The longest page, and one note more, which tells whether there is a next page.
const LONGEST: PageRequest = PageRequest { first: 101, after: None };
const LENGTH: usize = LONGEST.first;
/// Upper bound for showing rows that somebody changed by SQL, without an invalidation.
const LIFE: Duration = Duration::from_secs(1);

type Ids = Arc<[NoteId]>;

pub struct NewestNotes {
    state: Arc<Mutex<CachedList>>,
    flights: SingleFlight<(), Ids>,
    db: Db,
}

/// The cached list, and what decides whether a read may replace it.
#[derive(Default)]
struct CachedList {
    /// When its read began, and the ids, highest first.
    cached: Option<(Instant, Ids)>,
    /// Invalidations of notes so far.
    invalidations: u64,
}

impl NewestNotes {
    pub(super) fn new(db: Db) -> Self {
        Self { state: Arc::default(), flights: SingleFlight::default(), db }
    }

    /// Ids of the newest notes, highest first: at most 101. No statement if they are cached.
    pub async fn ids(&self) -> StoreResult<Ids> {
        if let Some(ids) = self.state.lock().get(Instant::now()) {
            return Ok(ids);
        }
        let (state, db) = (Arc::clone(&self.state), self.db.clone());
        let read = |_| async move { Ok(HashMap::from([((), read(&state, &db).await?)])) };
        let ids = self.flights.get(&[()], read).await?.remove(&());
        ids.ok_or_else(|| StoreError::Unexpected("the newest notes were not read".into()))
    }

    /// `note` was created, removed or changed.
    pub(super) fn invalidate(&self, note: NoteId) {
        self.state.lock().invalidate(note);
        self.flights.leave(&());
    }

    pub(super) fn invalidate_all(&self) {
        self.state.lock().invalidate_all();
        self.flights.leave(&());
    }
}

/// The number of invalidations is taken before the statement begins: a note with a lower id that commits later
/// invalidates what is being read.
async fn read(state: &Mutex<CachedList>, db: &Db) -> StoreResult<Ids> {
    let (began, before) = (Instant::now(), state.lock().invalidations);
    let ids: Ids = db.newest_notes(LONGEST).await?.items.into();
    state.lock().insert(&ids, began, before);
    Ok(ids)
}

impl CachedList {
    fn get(&self, now: Instant) -> Option<Ids> {
        let (began, ids) = self.cached.as_ref()?;
        (now.duration_since(*began) < LIFE).then(|| Arc::clone(ids))
    }

    /// Inserts the result of a read that began at `began`, after `before` invalidations.
    fn insert(&mut self, ids: &Ids, began: Instant, before: u64) {
        if self.invalidations == before {
            self.cached = Some((began, Arc::clone(ids)));
        }
    }

    fn invalidate(&mut self, note: NoteId) {
        self.invalidations += 1;
        if self.cached.as_ref().is_some_and(|(_, ids)| may_contain(ids, note)) {
            self.cached = None;
        }
    }

    fn invalidate_all(&mut self) {
        self.invalidations += 1;
        self.cached = None;
    }
}

/// Whether the note is in the list, or would be if it was there.
fn may_contain(ids: &[NoteId], note: NoteId) -> bool {
    ids.len() < LENGTH || ids.last().is_some_and(|lowest| note >= *lowest)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(raw: usize) -> NoteId {
        NoteId(raw.to_string().parse().unwrap())
    }

    /// A list whose lowest id is 1,000.
    fn full() -> Ids {
        (1_000..1_000 + LENGTH).rev().map(id).collect()
    }

    fn cached(ids: &Ids) -> (CachedList, Instant) {
        let (mut state, now) = (CachedList::default(), Instant::now());
        state.insert(ids, now, 0);
        assert_eq!(state.get(now).as_ref(), Some(ids));
        (state, now)
    }

    #[test]
    fn only_a_note_that_the_list_may_contain_invalidates_it() {
        for (note, remains) in [(999, true), (1_000, false), (1_050, false), (5_000, false)] {
            let (mut state, now) = cached(&full());
            state.invalidate(id(note));
            assert_eq!(state.get(now).is_some(), remains, "{note}");
        }
        // A short list would contain every note.
        let (mut state, now) = cached(&Ids::from([id(7)]));
        state.invalidate(id(1));
        assert_eq!(state.get(now), None);
        let (mut state, now) = cached(&full());
        state.invalidate_all();
        assert_eq!(state.get(now), None);
    }

    #[test]
    fn a_read_during_which_a_note_was_invalidated_is_not_cached() {
        let (mut state, now) = (CachedList::default(), Instant::now());
        let before = state.invalidations;
        state.invalidate(id(1_050)); // its transaction committed after the read
        state.insert(&full(), now, before);
        assert_eq!(state.get(now), None);
        state.insert(&full(), now, state.invalidations);
        assert_eq!(state.get(now), Some(full()));
    }

    #[test]
    fn a_list_expires_for_the_sake_of_rows_that_were_written_by_sql() {
        let (state, now) = cached(&full());
        assert_eq!(state.get(now + LIFE), None);
    }
}
