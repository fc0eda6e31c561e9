//! Log 0, which may lose entries. Log 1 loses none, so the model has only its number of events.
//!
//! Offsets are single numbers: generation 0 has entries 1 and 2, generation 1 has the genesis marker 4 and
//! entry 5. Entries are events; a set of events is a set of bits.

/// The marker at the beginning of generation 1.
pub const GENESIS: u8 = 4;
/// The event that is appended after a loss.
pub const EXTRA: u8 = 0b100;
/// The event that is appended to the log of a former Redis that came back.
pub const LATER: u8 = 0b1000;

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
    /// The event that may still be appended, or was.
    pub extra: u8,
    /// Its offset; 0 if it was not appended.
    pub extra_at: u8,
    /// Fence that a reshard has written to the log's own shard.
    pub fence: u8,
    /// Events that were appended in this run.
    pub appended: u8,
    /// Events that were lost.
    pub lost: u8,
    /// Replication id of the Redis that holds the log.
    pub sequence: u8,
    /// Replication id under which the log was recovered.
    pub recovered_on: u8,
    /// `lua/close_log.lua`, until the next recovery.
    pub is_closed: bool,
}

impl Log {
    pub const fn new(events: u8) -> Self {
        Self {
            first: events,
            has_genesis: false,
            second: 0,
            extra: EXTRA,
            extra_at: 0,
            fence: 0,
            appended: 0,
            lost: 0,
            sequence: 0,
            recovered_on: 0,
            is_closed: false,
        }
    }

    pub const fn is_recovered(&self) -> bool {
        self.sequence == self.recovered_on
    }

    /// Whether events are appended.
    pub const fn is_open(&self) -> bool {
        self.is_recovered() && !self.is_closed
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
            self.extra
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

    /// Whether the log has another event at the offset than `event`; not known where it has none.
    pub const fn differs(&self, offset: u8, event: u8) -> bool {
        offset <= self.first && self.event_at(offset) != event
    }

    /// Events of generation 0 up to an offset.
    pub fn events_up_to(&self, offset: u8) -> u8 {
        (1..=offset.min(self.first)).fold(0, |events, at| events | self.event_at(at))
    }

    /// The log as it was before a failover, when the Redis that has it comes back. What was appended since may be lost.
    pub fn returns(&mut self, former: Self) {
        let appended = if self.extra_at == 0 { 0 } else { self.extra };
        *self = Self { extra: LATER, lost: appended, ..former };
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
        self.appended |= self.extra;
    }
}
