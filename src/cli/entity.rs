//! Ids on the command line: global ids, as in GraphQL, or entity names, as in keys and tables.

use crate::{
    catalogue::{Entity, EntityKind},
    graphql::public_id,
    primitives::UserId,
};

/// Parses `note_42`, the global id of clients, or `note:42`, the form of keys, logs and tables. An inbox has only the
/// latter: `inbox:5`.
///
/// # Errors
/// The accepted forms.
pub fn entity_id(text: &str) -> Result<Entity, String> {
    text.parse().ok().or_else(|| public_id(text)).ok_or_else(|| {
        "an id is needed, such as note:42 or note_42; the kinds are user, note, comment, group and inbox"
            .into()
    })
}

/// Parses the id of a user.
///
/// # Errors
/// The accepted forms, or that it is something else.
pub fn user_id(text: &str) -> Result<UserId, String> {
    let entity = entity_id(text)?;
    let is_user = entity.kind == EntityKind::User;
    is_user.then_some(UserId(entity.id)).ok_or_else(|| format!("{entity} is not a user"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_of_an_id_are_accepted() {
        for (text, entity) in [("note_42", "note:42"), ("user:5", "user:5"), ("inbox:5", "inbox:5")] {
            assert_eq!(entity_id(text).unwrap().to_string(), entity);
        }
        for bad in ["", "42", "note", "note:0", "cat_1"] {
            assert!(entity_id(bad).unwrap_err().contains("note_42"), "{bad}");
        }
    }
}
