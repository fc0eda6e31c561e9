//! Log entries and their text form.
//!
//! An event is one stream field, words separated by spaces, the first one the format's version: `1 note_like
//! <actor> <target> <owner> <on|off|off-again> <unix ms>`, and the user of the service if one acted for the
//! actor; or `1 views <note> <by> <unix ms>`. A release writes one version and reads the previous one too.

use std::{fmt, num::NonZeroU32};

use crc::{CRC_64_XZ, Crc};

use crate::{
    Counter, EdgeKind, Entity, Flip, UnixMillis,
    primitives::{NoteId, Offset, UserId},
};

/// Text of the marker that begins a generation.
pub const GENESIS: &str = "genesis";

const VERSION: &str = "1";
const VIEWS: &str = "views";
const OFF_AGAIN: &str = "off-again";

/// The event of a log entry.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Event {
    /// Begins a generation of the log; moves nothing.
    Genesis,
    Flip(Flip),
    /// An edge that was off is switched off: moves nothing, but leaves a row with its time.
    OffAgain(Flip),
    /// Views of a note, without the viewers.
    Views {
        note: NoteId,
        by: NonZeroU32,
        at: UnixMillis,
    },
    /// An event that this release cannot read. It moves nothing and becomes a dead event.
    Unreadable(String),
}

/// An event and its offset.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Entry {
    pub offset: Offset,
    pub event: Event,
    pub digest: EntryDigest,
}

/// Distinguishes an entry from another one with the same offset. It is of the text and not of the event, so all
/// releases have the same one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EntryDigest(pub i64);

const DIGEST: Crc<u64> = Crc::<u64>::new(&CRC_64_XZ);

impl Entry {
    pub fn read(offset: Offset, text: &str) -> Self {
        let digest = EntryDigest(DIGEST.checksum(text.as_bytes()).cast_signed());
        Self { offset, event: Event::decode(text), digest }
    }
}

impl Event {
    /// Never fails: what cannot be read is [`Event::Unreadable`], so that one bad entry does not stop a shard.
    pub fn decode(text: &str) -> Self {
        if text == GENESIS {
            return Self::Genesis;
        }
        let event = decode_flip(text).or_else(|| decode_views(text));
        event.unwrap_or_else(|| Self::Unreadable(text.to_owned()))
    }

    /// Time of the event; `None` if the entry has none.
    pub const fn at(&self) -> Option<UnixMillis> {
        match self {
            Self::Flip(flip) | Self::OffAgain(flip) => Some(flip.at),
            Self::Views { at, .. } => Some(*at),
            Self::Genesis | Self::Unreadable(_) => None,
        }
    }

    /// Every counter that the event moves, with its entity and the change. [`Event::OffAgain`] moves by 0, so that
    /// its reply waits for the fold of these entities as the reply to any flip does.
    pub fn deltas(&self) -> impl Iterator<Item = (Entity, Counter, i64)> + '_ {
        let (flip, views) = match self {
            Self::Flip(flip) => (Some((flip, 1)), None),
            Self::OffAgain(flip) => (Some((flip, 0)), None),
            Self::Views { note, by, .. } => (None, Some((*note, *by))),
            Self::Genesis | Self::Unreadable(_) => (None, None),
        };
        let views = views.map(|(note, by)| (note.into(), Counter::NoteViews, by.get().into()));
        let of_flip = flip.into_iter().flat_map(|(flip, times)| {
            flip.deltas().map(move |(entity, counter, delta)| (entity, counter, delta * times))
        });
        of_flip.chain(views)
    }
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Genesis => f.write_str(GENESIS),
            Self::Flip(flip) => write_flip(f, flip, if flip.on { "on" } else { "off" }),
            Self::OffAgain(flip) => write_flip(f, flip, OFF_AGAIN),
            Self::Views { note, by, at } => write!(f, "{VERSION} {VIEWS} {note} {by} {at}"),
            Self::Unreadable(text) => f.write_str(text),
        }
    }
}

fn write_flip(f: &mut fmt::Formatter<'_>, flip: &Flip, word: &str) -> fmt::Result {
    let Flip { kind, actor, target, owner, at, .. } = flip;
    write!(f, "{VERSION} {} {actor} {target} {owner} {word} {at}", kind.name())?;
    flip.by.map_or(Ok(()), |by| write!(f, " {by}"))
}

fn decode_flip(text: &str) -> Option<Event> {
    let mut words = text.split(' ');
    if words.next()? != VERSION {
        return None;
    }
    let kind = EdgeKind::from_name(words.next()?)?;
    let actor = UserId(words.next()?.parse().ok()?);
    let target = words.next()?.parse().ok()?;
    let owner = UserId(words.next()?.parse().ok()?);
    let (on, event): (bool, fn(Flip) -> Event) = match words.next()? {
        "on" => (true, Event::Flip),
        "off" => (false, Event::Flip),
        OFF_AGAIN => (false, Event::OffAgain),
        _ => return None,
    };
    let at = words.next()?.parse().ok()?;
    let by = match words.next() {
        Some(by) => Some(UserId(by.parse().ok()?)),
        None => None,
    };
    words.next().is_none().then(|| event(Flip { kind, actor, target, owner, on, at, by }))
}

fn decode_views(text: &str) -> Option<Event> {
    let mut words = text.split(' ');
    if (words.next()?, words.next()?) != (VERSION, VIEWS) {
        return None;
    }
    let note = NoteId(words.next()?.parse().ok()?);
    let by = words.next()?.parse().ok()?;
    let at = words.next()?.parse().ok()?;
    words.next().is_none().then_some(Event::Views { note, by, at })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::primitives::Id;

    fn id() -> impl Strategy<Value = Id> {
        (1..=Id::MAX).prop_map(|raw| Id::try_from(raw).unwrap())
    }

    #[test]
    fn who_acted_is_written_only_if_a_service_acted_for_the_actor() {
        let user = |raw| UserId(Id::try_from(raw).unwrap());
        let target = Id::try_from(7).unwrap();
        let own = Flip {
            kind: EdgeKind::NoteLike,
            actor: user(4),
            target,
            owner: user(5),
            on: true,
            at: 9,
            by: None,
        };
        assert_eq!(Event::Flip(own).to_string(), "1 note_like 4 7 5 on 9");
        assert_eq!(Event::Flip(Flip { by: Some(user(6)), ..own }).to_string(), "1 note_like 4 7 5 on 9 6");
    }

    proptest! {
        #[test]
        fn an_event_reads_back_as_it_was_written(
            kind in prop::sample::select(EdgeKind::ALL),
            actor in id(), target in id(), owner in id(),
            on: bool, at in 0..=i64::MAX, by in prop::option::of(id()),
        ) {
            let (actor, owner, by) = (UserId(actor), UserId(owner), by.map(UserId));
            let event = Event::Flip(Flip { kind, actor, target, owner, on, at, by });
            prop_assert_eq!(Event::decode(&event.to_string()), event);
            let event = Event::OffAgain(Flip { kind, actor, target, owner, on: false, at, by });
            prop_assert_eq!(Event::decode(&event.to_string()), event.clone());
            prop_assert!(event.deltas().all(|(_, _, delta)| delta == 0));
        }

        #[test]
        fn views_read_back_as_they_were_written(note in id(), by: NonZeroU32, at in 0..=i64::MAX) {
            let event = Event::Views { note: NoteId(note), by, at };
            prop_assert_eq!(Event::decode(&event.to_string()), event);
        }

        #[test]
        fn views_of_another_shape_are_kept_as_they_are(words in "( [a-z0-9]{0,3}){0,5}") {
            let text = format!("1 views{words}");
            prop_assume!(decode_views(&text).is_none());
            prop_assert_eq!(Event::decode(&text), Event::Unreadable(text));
        }

        #[test]
        fn any_text_is_read_without_a_panic_and_kept(text in ".*") {
            prop_assert_eq!(Event::decode(&text).to_string(), text);
        }
    }
}
