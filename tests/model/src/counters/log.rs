//! Log 0, which may lose entries. Log 1 loses none, so the model has only its number of events.
//!
//! Offsets are single numbers: generation 0 has entries 1 and 2, generation 1 has the genesis marker 4 and
//! entry 5. Entries are events; a set of events is a set of bits.

/// The marker at the beginning of generation 1.
pub const GENESIS: u8 = 4;
/// The event that is appended after a loss.
pub const EXTRA: u8 = 0b100;

pub const fn is_of_same_generation(a: u8, b: u8) -> bool {
    (a < GENESIS) == (b < GENESIS)
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Log {
    /// Number of entries of generation 0.
    pub first: u8,
    pub has_genesis: bool,
    /// Number of entries of generation 1.
    pub second: u8,
    /// Offset of the extra event; 0 if it was not appended.
    pub extra_at: u8,
    /// Events that were lost.
    pub lost: u8,
    /// History of the Redis that holds the log.
    pub history: u8,
    /// History in which the log was recovered.
    pub recovered_on: u8,
}

impl Log {
    pub const fn new(events: u8) -> Self {
        Self {
            first: events,
            has_genesis: false,
            second: 0,
            extra_at: 0,
            lost: 0,
            history: 0,
            recovered_on: 0,
        }
    }

    pub const fn is_recovered(&self) -> bool {
        self.history == self.recovered_on
    }

    /// Offset of the newest entry.
    pub const fn end(&self) -> u8 {
        if self.has_genesis { GENESIS + self.second } else { self.first }
    }

    /// Event at an offset.
    pub const fn event_at(&self, offset: u8) -> u8 {
        if offset == 0 || offset == GENESIS {
            0
        } else if offset == self.extra_at {
            EXTRA
        } else {
            1 << (offset - 1)
        }
    }

    /// Reads at most `most` entries after `from` and not beyond `limit`. Returns the last offset and the events.
    pub fn read(&self, from: u8, most: u8, limit: u8) -> (u8, u8) {
        let (mut to, mut events) = (from, 0);
        for _ in 0..most {
            match self.after(to) {
                Some(next) if next <= limit => {
                    events |= self.event_at(next);
                    to = next;
                }
                _ => break,
            }
        }
        (to, events)
    }

    const fn after(&self, offset: u8) -> Option<u8> {
        if offset >= GENESIS {
            if offset - GENESIS < self.second { Some(offset + 1) } else { None }
        } else if offset < self.first {
            Some(offset + 1)
        } else if self.has_genesis {
            Some(GENESIS)
        } else {
            None
        }
    }

    /// Loses all entries after `left`. Only called before the next generation.
    pub fn lose_after(&mut self, left: u8) {
        for offset in left + 1..=self.first {
            self.lost |= self.event_at(offset);
        }
        self.first = left;
    }

    pub fn append_extra(&mut self) {
        if self.has_genesis {
            self.second += 1;
        } else {
            self.first += 1;
        }
        self.extra_at = self.end();
    }
}
