//! Ids on the command line: as clients see them, or as keys and tables have them.

use crate::{catalogue::Entity, graphql::public_id};

/// Reads `note_42`, as clients see it, or `note:42`, as keys, logs and tables have it; `inbox:5` has only the
/// latter.
///
/// # Errors
/// The possible forms.
pub fn entity_id(text: &str) -> Result<Entity, String> {
    text.parse().ok().or_else(|| public_id(text)).ok_or_else(|| {
        "an id such as note:42 or note_42 is needed; the kinds are user, note, comment, group and inbox"
            .into()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_spellings_of_an_id_are_read() {
        for (text, entity) in [("note_42", "note:42"), ("user:5", "user:5"), ("inbox:5", "inbox:5")] {
            assert_eq!(entity_id(text).unwrap().to_string(), entity);
        }
        for bad in ["", "42", "note", "note:0", "cat_1"] {
            assert!(entity_id(bad).unwrap_err().contains("note_42"), "{bad}");
        }
    }
}
