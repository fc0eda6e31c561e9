//! The classes of requests that have limits of their own, and numbers per class.

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
}

/// One number per class, in their order: the cost of a request, or a limit per window.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PerClass(pub [u32; 3]);

impl PerClass {
    pub const fn of_reads(reads: u32) -> Self {
        Self([reads, 0, 0])
    }

    /// 1 for this class, 0 for the others.
    pub fn one(class: RateClass) -> Self {
        Self(RateClass::ALL.map(|each| u32::from(each == class)))
    }

    pub const fn of(&self, class: RateClass) -> u32 {
        self.0[class as usize]
    }

    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self(RateClass::ALL.map(|class| self.of(class).saturating_add(other.of(class))))
    }

    #[must_use]
    pub(super) fn times(self, factor: u32) -> Self {
        Self(self.0.map(|number| number.saturating_mul(factor)))
    }

    pub(super) fn is_zero(&self) -> bool {
        *self == Self::default()
    }
}
