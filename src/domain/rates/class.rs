//! The classes of requests that have limits of their own.

/// Class of a request; each has limits of its own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RateClass {
    Read,
    Write,
    /// A write that creates something others see.
    Creation,
}

impl RateClass {
    pub const ALL: [Self; 3] = [Self::Read, Self::Write, Self::Creation];

    /// Name in metrics and messages.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Read => "reads",
            Self::Write => "writes",
            Self::Creation => "creations",
        }
    }

    pub(super) const fn index(self) -> usize {
        self as usize
    }
}
