//! Log entries and their text form.
//!
//! An event is one stream field, words separated by spaces, the first one the format's version:
//! `1 note_like <actor> <target> <owner> <on|off> <unix ms>`. A release writes one version and reads
//! the previous one too.

use std::fmt;

use crate::{
    catalogue::{EdgeKind, Flip},
    primitives::{Offset, UserId},
};

/// Text of the marker that begins a generation.
pub const GENESIS: &str = "genesis";

const VERSION: &str = "1";

/// What a log entry says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Event {
    /// The log begins (anew); moves nothing.
    Genesis,
    Flip(Flip),
    /// Not understood by this release; kept as a dead event, moves nothing.
    Unreadable(String),
}

/// An event and its place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Entry {
    pub offset: Offset,
    pub event: Event,
}

impl Event {
    /// Never fails: what cannot be read is [`Event::Unreadable`], so that one bad entry does not stop a shard.
    pub fn decode(text: &str) -> Self {
        if text == GENESIS {
            return Self::Genesis;
        }
        match decode_flip(text) {
            Some(flip) => Self::Flip(flip),
            None => Self::Unreadable(text.to_owned()),
        }
    }
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Genesis => f.write_str(GENESIS),
            Self::Flip(flip) => write!(
                f,
                "{VERSION} {} {} {} {} {} {}",
                flip.kind.name(),
                flip.actor,
                flip.target,
                flip.owner,
                if flip.on { "on" } else { "off" },
                flip.at
            ),
            Self::Unreadable(text) => f.write_str(text),
        }
    }
}

fn decode_flip(text: &str) -> Option<Flip> {
    let mut words = text.split(' ');
    if words.next()? != VERSION {
        return None;
    }
    let flip = Flip {
        kind: EdgeKind::from_name(words.next()?)?,
        actor: UserId(words.next()?.parse().ok()?),
        target: words.next()?.parse().ok()?,
        owner: UserId(words.next()?.parse().ok()?),
        on: match words.next()? {
            "on" => true,
            "off" => false,
            _ => return None,
        },
        at: words.next()?.parse().ok()?,
    };
    words.next().is_none().then_some(flip)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::primitives::Id;

    fn id() -> impl Strategy<Value = Id> {
        (1..=Id::MAX).prop_map(|raw| Id::try_from(raw).unwrap())
    }

    proptest! {
        #[test]
        fn an_event_reads_back_as_it_was_written(
            kind in prop::sample::select(EdgeKind::ALL),
            actor in id(), target in id(), owner in id(),
            on: bool, at in 0..=i64::MAX,
        ) {
            let event = Event::Flip(Flip { kind, actor: UserId(actor), target, owner: UserId(owner), on, at });
            prop_assert_eq!(Event::decode(&event.to_string()), event);
        }

        #[test]
        fn any_text_is_read_without_a_panic_and_kept(text in ".*") {
            prop_assert_eq!(Event::decode(&text).to_string(), text);
        }
    }
}
