//! Read-through cache of the places of the newest notes, for the first page of the feed. Texts come from the cache of
//! notes. Never holds a list that was read before an invalidation of a note that may be in it.
//!
//! An invalidation names an id, and the order is by time: a high id may be of a note from long ago. So a note drops the
//! list unless this process has its row, whose time never changes, and it lies behind the list. Most changes of old
//! notes are comments, which are written by those who have just read the note.

use std::{
    collections::HashMap,
    sync::Arc,
    time::{Duration, Instant},
};

use parking_lot::Mutex;

use plaudit_catalogue::primitives::{Moment, NoteId, PageRequest};
use plaudit_store::{
    StoreError, StoreResult,
    single_flight::SingleFlight,
    sql::{Db, content::note_lists},
};

/// The longest page, and one note more, which tells whether there is a next page.
const LONGEST: PageRequest<Moment> = PageRequest { first: 101, after: None };
const LENGTH: usize = LONGEST.first;
/// Upper bound for showing rows that somebody changed by SQL, without an invalidation.
const LIFE: Duration = Duration::from_secs(1);

/// Newest first.
type NewestPlaces = Arc<[Moment]>;

pub struct NewestNotes {
    state: Arc<Mutex<CachedList>>,
    flights: SingleFlight<(), NewestPlaces>,
    db: Db,
}

/// The cached list, and what decides whether a read may replace it.
#[derive(Default)]
struct CachedList {
    /// When its read began, and the places.
    cached: Option<(Instant, NewestPlaces)>,
    /// The places that were read last.
    last: Option<NewestPlaces>,
    /// Invalidations of notes so far.
    invalidations: u64,
}

impl NewestNotes {
    pub(super) fn new(db: Db) -> Self {
        Self { state: Arc::default(), flights: SingleFlight::default(), db }
    }

    /// Places of the newest notes, newest first: at most 101. No statement if they are cached. While PostgreSQL
    /// is away, those that were read last, without notes that were changed since.
    pub async fn places(&self) -> StoreResult<NewestPlaces> {
        if let Some(places) = self.state.lock().get(Instant::now()) {
            return Ok(places);
        }
        let (state, db) = (Arc::clone(&self.state), self.db.clone());
        let read = |_| async move { Ok(HashMap::from([((), read(&state, &db).await?)])) };
        let places = match self.flights.get(&[()], read).await {
            Ok(mut read) => read.remove(&()),
            // Nothing is created meanwhile.
            Err(error) if error.is_postgresql_away() => {
                return self.state.lock().last.clone().ok_or(error);
            }
            Err(error) => return Err(error),
        };
        places.ok_or_else(|| StoreError::Unexpected("the newest notes were not read".into()))
    }

    /// A note was created, removed or changed. `place`: `None` if it is not known.
    pub(super) fn invalidate(&self, note: NoteId, place: Option<Moment>) {
        let mut state = self.state.lock();
        state.invalidate(place);
        state.leave_out(note);
        drop(state);
        self.flights.leave(&());
    }

    pub(super) fn invalidate_all(&self) {
        self.state.lock().invalidate_all();
        self.flights.leave(&());
    }
}

/// The number of invalidations is taken before the statement begins: a note that commits later invalidates what
/// is being read.
async fn read(state: &Mutex<CachedList>, db: &Db) -> StoreResult<NewestPlaces> {
    let (began, before) = (Instant::now(), state.lock().invalidations);
    let places: NewestPlaces = note_lists::newest_notes(db, LONGEST).await?.items.into();
    state.lock().insert(&places, began, before);
    Ok(places)
}

impl CachedList {
    fn get(&self, now: Instant) -> Option<NewestPlaces> {
        let (began, places) = self.cached.as_ref()?;
        (now.duration_since(*began) < LIFE).then(|| Arc::clone(places))
    }

    /// Inserts the result of a read that began at `began`, after `before` invalidations.
    fn insert(&mut self, places: &NewestPlaces, began: Instant, before: u64) {
        if self.invalidations == before {
            self.cached = Some((began, Arc::clone(places)));
            self.last = Some(Arc::clone(places));
        }
    }

    fn invalidate(&mut self, note: Option<Moment>) {
        self.invalidations += 1;
        if self.cached.as_ref().is_some_and(|(_, places)| may_contain(places, note)) {
            self.cached = None;
        }
    }

    /// A note that was changed may be hidden or removed.
    fn leave_out(&mut self, note: NoteId) {
        if let Some(last) = self.last.as_mut().filter(|last| last.iter().any(|place| place.id == note.0)) {
            *last = last.iter().filter(|place| place.id != note.0).copied().collect();
        }
    }

    fn invalidate_all(&mut self) {
        self.invalidations += 1;
        self.cached = None;
    }
}

/// Whether a note at this place is in the list, or would be if everybody saw it.
fn may_contain(places: &[Moment], note: Option<Moment>) -> bool {
    let oldest = places.last().filter(|_| places.len() >= LENGTH);
    oldest.is_none_or(|oldest| note.is_none_or(|note| note >= *oldest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use plaudit_catalogue::primitives::Id;

    fn place(micros: usize, id: i64) -> Moment {
        Moment { micros: micros as i64, id: Id::try_from(id).unwrap() }
    }

    /// A list whose oldest note is of 1,000 and has the id 7.
    fn full() -> NewestPlaces {
        (1_000..1_000 + LENGTH).rev().map(|micros| place(micros, 7)).collect()
    }

    fn cached(places: &NewestPlaces) -> (CachedList, Instant) {
        let (mut state, now) = (CachedList::default(), Instant::now());
        state.insert(places, now, 0);
        assert_eq!(state.get(now).as_ref(), Some(places));
        (state, now)
    }

    #[test]
    fn only_a_note_that_the_list_may_contain_invalidates_it() {
        for (note, remains) in [
            (Some(place(999, 9_000)), true), // from long ago, with a high id
            (Some(place(1_000, 6)), true),
            (Some(place(1_000, 7)), false),
            (Some(place(1_050, 1)), false),
            (Some(place(5_000, 9_001)), false),
            (None, false),
        ] {
            let (mut state, now) = cached(&full());
            state.invalidate(note);
            assert_eq!(state.get(now).is_some(), remains, "{note:?}");
        }
        // A short list would contain every note.
        let (mut state, now) = cached(&NewestPlaces::from([place(7, 7)]));
        state.invalidate(Some(place(1, 1)));
        assert_eq!(state.get(now), None);
        let (mut state, now) = cached(&full());
        state.invalidate_all();
        assert_eq!(state.get(now), None);
    }

    #[test]
    fn a_read_during_which_a_note_was_invalidated_is_not_cached() {
        for note in [None, Some(place(1_050, 7)), Some(place(1, 7))] {
            let (mut state, now) = (CachedList::default(), Instant::now());
            let before = state.invalidations;
            state.invalidate(note); // its transaction committed after the read
            state.insert(&full(), now, before);
            assert_eq!(state.get(now), None);
            state.insert(&full(), now, state.invalidations);
            assert_eq!(state.get(now), Some(full()));
        }
    }

    #[test]
    fn a_list_expires_for_the_sake_of_rows_that_were_written_by_sql() {
        let (state, now) = cached(&full());
        assert_eq!(state.get(now + LIFE), None);
    }
}
