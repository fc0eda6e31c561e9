//! The ratings of a batch.

use std::collections::BTreeMap;

use super::{batch_writer::BatchWriter, line::Line};
use plaudit_catalogue::{
    EntityKind,
    primitives::{NoteId, UserId},
};
use plaudit_store::sql::import::ratings::ImportedRating;

/// The newest rating of each user and note.
pub(super) fn ratings(writer: &mut BatchWriter<'_>) -> Vec<ImportedRating> {
    let mut newest = BTreeMap::<(NoteId, UserId), ImportedRating>::new();
    for (number, line) in writer.of_type(|line| if let Line::Rating(of) = line { Some(of) } else { None }) {
        let names = &writer.names;
        let note = names.get(EntityKind::Note, &line.note);
        match names.user(&line.user).and_then(|user| Ok((user, NoteId(note?.id)))) {
            Err(reason) => writer.reject(number, reason),
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
