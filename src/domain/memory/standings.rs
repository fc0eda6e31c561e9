//! Cache of the accounts of active users: whether they are suspended, and how old their profile is. A suspension ends
//! by the clock, so invalidations need to announce only its beginning, its change and its lifting.

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

use moka::sync::Cache;
use parking_lot::Mutex;

use plaudit_catalogue::primitives::{UserId, fault};
use plaudit_store::sql::people::users::User;

const CAPACITY: u64 = 100_000;
const LIFE: Duration = Duration::from_secs(10 * 60);

/// Never keeps what was read before an invalidation: the number of each look-up under way is noted here, and an
/// invalidation removes it. Clones share one cache.
#[derive(Clone)]
pub(crate) struct Standings {
    known: Cache<UserId, Arc<User>>,
    under_way: Arc<Mutex<HashMap<UserId, u64>>>,
    last: Arc<AtomicU64>,
    /// Invalidations so far; changes under the lock of `under_way`.
    changes: Arc<AtomicU64>,
}

/// A look-up under way. Of several for one user, the one that began last is kept.
pub(crate) struct LookUp<'a> {
    standings: &'a Standings,
    user: UserId,
    number: u64,
}

impl Standings {
    pub fn new() -> Self {
        let known =
            Cache::builder().max_capacity(CAPACITY).time_to_live(fault::period("cache.local", LIFE)).build();
        Self { known, under_way: Arc::default(), last: Arc::default(), changes: Arc::default() }
    }

    pub fn get(&self, user: UserId) -> Option<Arc<User>> {
        self.known.get(&user)
    }

    /// Call it before reading.
    pub fn look_up(&self, user: UserId) -> LookUp<'_> {
        let number = self.last.fetch_add(1, Relaxed);
        self.under_way.lock().insert(user, number);
        LookUp { standings: self, user, number }
    }

    /// Invalidations so far. For a user whose id is not known before the read.
    pub fn changes(&self) -> u64 {
        self.changes.load(Relaxed)
    }

    /// Keeps what was read after `changes` invalidations, if there was none meanwhile.
    pub fn keep_unless_changed(&self, user: Arc<User>, changes: u64) {
        let _under_way = self.under_way.lock();
        if self.changes() == changes {
            self.known.insert(user.id, user);
        }
    }

    /// A user changed; `None`: any may have.
    pub fn changed(&self, user: Option<UserId>) {
        let mut under_way = self.under_way.lock();
        self.changes.fetch_add(1, Relaxed);
        match user {
            Some(user) => {
                under_way.remove(&user);
                self.known.invalidate(&user);
            }
            None => {
                under_way.clear();
                self.known.invalidate_all();
            }
        }
    }
}

impl LookUp<'_> {
    /// Keeps what was read, unless the user changed meanwhile.
    pub fn keep(self, user: Arc<User>) {
        let under_way = self.standings.under_way.lock();
        if under_way.get(&self.user) == Some(&self.number) {
            self.standings.known.insert(self.user, user);
        }
    }
}

impl Drop for LookUp<'_> {
    fn drop(&mut self) {
        let mut under_way = self.standings.under_way.lock();
        if under_way.get(&self.user) == Some(&self.number) {
            under_way.remove(&self.user);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plaudit_catalogue::primitives::Id;

    fn user(id: i64) -> UserId {
        UserId(Id::try_from(id).unwrap())
    }

    fn found(id: i64) -> Arc<User> {
        Arc::new(User {
            id: user(id),
            subject: None,
            name: "Ann".to_owned(),
            avatar_url: None,
            profile_as_of: None,
            is_hidden: false,
            suspended_until: None,
            suspension_reason: None,
            created_at: chrono::DateTime::UNIX_EPOCH,
        })
    }

    #[test]
    fn what_was_read_before_an_invalidation_is_not_kept() {
        let standings = Standings::new();
        let (one, other) = (standings.look_up(user(1)), standings.look_up(user(2)));
        standings.changed(Some(user(1)));
        one.keep(found(1));
        other.keep(found(2));
        assert_eq!((standings.get(user(1)), standings.get(user(2))), (None, Some(found(2))));

        let before = standings.look_up(user(1));
        standings.changed(None);
        let after = standings.look_up(user(1));
        before.keep(found(1));
        assert_eq!((standings.get(user(1)), standings.get(user(2))), (None, None));
        after.keep(found(1));
        assert_eq!(standings.get(user(1)), Some(found(1)));

        let changes = standings.changes();
        standings.changed(Some(user(4)));
        standings.keep_unless_changed(found(3), changes);
        assert_eq!(standings.get(user(3)), None);
        standings.keep_unless_changed(found(3), standings.changes());
        assert_eq!(standings.get(user(3)), Some(found(3)));
    }

    #[test]
    fn a_look_up_that_ends_without_a_result_leaves_nothing() {
        let standings = Standings::new();
        drop(standings.look_up(user(1)));
        assert!(standings.under_way.lock().is_empty());
        standings.look_up(user(1)).keep(found(1));
        assert!(standings.under_way.lock().is_empty());
    }
}
