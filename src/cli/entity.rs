//! Ids on the command line: those of clients, and `inbox_5`, which is the inbox of `user_5`.

use crate::{
    catalogue::{Entity, EntityKind},
    primitives::UserId,
};

/// Parses an id such as `note_42`.
///
/// # Errors
/// The accepted form.
pub fn entity_id(text: &str) -> Result<Entity, String> {
    text.parse().map_err(|_| {
        "an id such as note_42 is needed; the kinds are user, note, comment, group and inbox".into()
    })
}

/// Parses the id of a user.
///
/// # Errors
/// The accepted form, or that it is something else.
pub fn user_id(text: &str) -> Result<UserId, String> {
    let entity = entity_id(text)?;
    let is_user = entity.kind == EntityKind::User;
    is_user.then_some(UserId(entity.id)).ok_or_else(|| format!("{entity} is not a user"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_has_one_form() {
        for text in ["note_42", "user_5", "inbox_5"] {
            assert_eq!(entity_id(text).unwrap().to_string(), text);
        }
        for bad in ["", "42", "note", "note_0", "note:42", "cat_1"] {
            assert!(entity_id(bad).unwrap_err().contains("note_42"), "{bad}");
        }
        assert_eq!(user_id("note_42").unwrap_err(), "note_42 is not a user");
    }
}
