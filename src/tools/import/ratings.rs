//! The ratings of a batch.

use std::collections::BTreeMap;

use super::{
    batch_writer::BatchWriter,
    line::Line,
    rejects::{no_thing, no_user},
};
use plaudit_catalogue::primitives::{NoteId, UserId};
use plaudit_store::sql::import::ratings::ImportedRating;

/// The newest rating of each user and note.
pub(super) fn ratings(writer: &mut BatchWriter<'_>) -> Vec<ImportedRating> {
    let mut newest = BTreeMap::<(NoteId, UserId), ImportedRating>::new();
    for parsed in writer.lines {
        let Line::Rating(line) = &parsed.line else { continue };
        let user = writer.names.user(&line.user).ok_or_else(|| no_user(&line.user));
        let note = match writer.names.note(&line.note) {
            None => Err(no_thing("note", &line.note)),
            Some(note) => Ok(note.id),
        };
        match user.and_then(|user| Ok((user, note?))) {
            Err(reason) => writer.reject(parsed.number, reason),
            Ok((user, note)) => {
                let rating = ImportedRating { user, note, score: line.score.get(), at: line.at };
                let of_both = newest.entry((note, user)).or_insert(rating);
                if rating.at > of_both.at {
                    *of_both = rating;
                }
            }
        }
    }
    newest.into_values().collect()
}
