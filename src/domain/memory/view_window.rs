//! The views that count: one per viewer and note within a window, remembered in bounded memory.
//!
//! A set-associative cache of fingerprints: viewer and note determine a set of [`WAYS`] entries, and a view that
//! counts takes the oldest entry of its set. So a view is left out wrongly with a chance of [`WAYS`] in 2^32,
//! and one counts early only if its set received [`WAYS`] other views meanwhile. A process that ends forgets
//! all.

use std::{
    hash::BuildHasher,
    net::IpAddr,
    time::{Duration, Instant},
};

use parking_lot::Mutex;

use plaudit_catalogue::primitives::{NoteId, UserId};

/// Parts of the cache, each with a lock of its own.
const PARTS: usize = 64;
/// Sets of a part.
const SETS: usize = 8_192;
/// Slots of a set.
const WAYS: usize = 8;

/// Who views a note.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum NoteViewer<'a> {
    User(UserId),
    /// A token's subject that has no user: it gets one when it acts, and not by reading.
    Subject(&'a str),
    /// Somebody without a token, by the network of the address.
    Network(IpAddr),
}

impl NoteViewer<'_> {
    pub const fn user(self) -> Option<UserId> {
        match self {
            Self::User(user) => Some(user),
            Self::Subject(_) | Self::Network(_) => None,
        }
    }
}

/// Remembers who has viewed which note. At most 32 MiB, which are allocated as they are needed.
pub(crate) struct ViewWindow {
    /// 0: every view counts.
    seconds: u32,
    start: Instant,
    hasher: foldhash::quality::RandomState,
    /// An entry: the fingerprint in its high half, the second of its view in the low one; 0 for none.
    parts: Box<[Mutex<Vec<u64>>]>,
}

impl ViewWindow {
    pub fn new(window: Duration) -> Self {
        Self {
            seconds: u32::try_from(window.as_secs()).unwrap_or(u32::MAX),
            start: Instant::now(),
            hasher: foldhash::quality::RandomState::default(),
            parts: (0..PARTS).map(|_| Mutex::default()).collect(),
        }
    }

    /// Whether the view counts; if so, it is remembered.
    pub fn admits(&self, viewer: NoteViewer<'_>, note: NoteId) -> bool {
        // The second 0 stands for an empty entry.
        let second = 1 + self.start.elapsed().as_secs() as u32;
        self.seconds == 0 || self.admits_at(second, self.hasher.hash_one((viewer, note)))
    }

    fn admits_at(&self, second: u32, hash: u64) -> bool {
        let place = hash as usize % (PARTS * SETS);
        let mut part = self.parts[place % PARTS].lock();
        if part.is_empty() {
            *part = vec![0; SETS * WAYS];
        }
        let set = &mut part[place / PARTS * WAYS..][..WAYS];
        let fingerprint = (hash >> 32) as u32;
        let is_same = |entry: &u64| (entry >> 32) as u32 == fingerprint && *entry as u32 != 0;
        if set.iter().any(|entry| is_same(entry) && second.saturating_sub(*entry as u32) < self.seconds) {
            return false;
        }
        if let Some(oldest) = set.iter_mut().min_by_key(|entry| **entry as u32) {
            *oldest = u64::from(fingerprint) << 32 | u64::from(second);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(seconds: u64) -> ViewWindow {
        ViewWindow::new(Duration::from_secs(seconds))
    }

    /// The hash of the n-th view of one set.
    fn in_one_set(n: u64) -> u64 {
        n << 32 | 7
    }

    #[test]
    fn a_view_counts_again_when_its_window_has_ended() {
        let window = window(60);
        let admitted: Vec<u32> = (1..200).filter(|second| window.admits_at(*second, in_one_set(5))).collect();
        assert_eq!(admitted, [1, 61, 121, 181]);
    }

    #[test]
    fn the_oldest_view_of_a_full_set_is_forgotten() {
        let window = window(1_000);
        for n in 0..=WAYS as u64 {
            assert!(window.admits_at(1 + n as u32, in_one_set(n)), "{n}");
        }
        let forgotten: Vec<u64> =
            (1..=WAYS as u64).filter(|n| window.admits_at(100, in_one_set(*n))).collect();
        assert_eq!(forgotten, [0; 0]);
        assert!(window.admits_at(100, in_one_set(0)));
    }

    #[test]
    fn a_million_different_views_all_count_once() {
        let window = window(1_000);
        let viewer = |n: i64| NoteViewer::Network(std::net::Ipv4Addr::from_bits(n as u32).into());
        let note = NoteId(plaudit_catalogue::primitives::Id::try_from(1).unwrap());
        let count = || (0..1_000_000).filter(|n| window.admits(viewer(*n), note)).count();
        assert!(count() > 999_990);
        assert!(count() < 10_000, "a set forgets only when it is full");
    }

    #[test]
    fn without_a_window_every_view_counts() {
        let (window, note) = (window(0), NoteId(plaudit_catalogue::primitives::Id::try_from(1).unwrap()));
        let viewer = NoteViewer::Network(std::net::Ipv4Addr::LOCALHOST.into());
        assert!((0..3).all(|_| window.admits(viewer, note)));
    }
}
