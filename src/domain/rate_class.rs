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

    pub(super) const fn index(self) -> usize {
        self as usize
    }
}

/// One number per class: the cost of a request, or a limit per window.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PerClass {
    pub reads: u32,
    pub writes: u32,
    pub creations: u32,
}

impl PerClass {
    /// 1 for this class, 0 for the others.
    pub fn one(class: RateClass) -> Self {
        let mut one = Self::default();
        *one.of_mut(class) = 1;
        one
    }

    pub const fn of(&self, class: RateClass) -> u32 {
        match class {
            RateClass::Read => self.reads,
            RateClass::Write => self.writes,
            RateClass::Creation => self.creations,
        }
    }

    pub(super) const fn of_mut(&mut self, class: RateClass) -> &mut u32 {
        match class {
            RateClass::Read => &mut self.reads,
            RateClass::Write => &mut self.writes,
            RateClass::Creation => &mut self.creations,
        }
    }

    #[must_use]
    pub fn plus(mut self, other: Self) -> Self {
        for class in RateClass::ALL {
            *self.of_mut(class) = self.of(class).saturating_add(other.of(class));
        }
        self
    }

    #[must_use]
    pub(super) fn times(mut self, factor: u32) -> Self {
        for class in RateClass::ALL {
            *self.of_mut(class) = self.of(class).saturating_mul(factor);
        }
        self
    }

    pub(super) fn is_zero(&self) -> bool {
        *self == Self::default()
    }
}
