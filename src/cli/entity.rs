//! Ids on the command line: ids of clients, `note_42` and `note:<key>` or `user:<subject>`, and `inbox_5`,
//! which is the inbox of `user_5`.

use crate::app::AppError;
use plaudit_catalogue::{Entity, EntityKind, primitives::UserId};
use plaudit_store::{
    StoreError,
    sql::{Db, content::keys, people::users},
};

/// Something that a command names.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Named {
    Id(Entity),
    /// The app's own id of a note, comment or group, or a user's subject.
    Key(EntityKind, String),
}

/// Why a command that names something failed: the name leads to nothing, or something else.
#[derive(Debug, thiserror::Error)]
pub enum NameError {
    #[error("there is no {} with the {} {key:?}", kind.name(), kind.key_name())]
    Unknown { kind: EntityKind, key: String },
    #[error(transparent)]
    App(#[from] AppError),
}

impl From<StoreError> for NameError {
    fn from(error: StoreError) -> Self {
        Self::App(error.into())
    }
}

impl Named {
    /// # Errors
    /// [`NameError::Unknown`] for a key of nothing. An id is not looked up.
    pub async fn find(&self, db: &Db) -> Result<Entity, NameError> {
        let (kind, key) = match self {
            Self::Id(entity) => return Ok(*entity),
            Self::Key(kind, key) => (*kind, key),
        };
        let found = match kind {
            EntityKind::User => users::user_by_subject(db, key).await?.map(Entity::from),
            _ => keys::ids_by_keys(db, kind, &[key]).await?.pop().map(|(_, id)| Entity::new(kind, id)),
        };
        found.ok_or_else(|| NameError::Unknown { kind, key: key.clone() })
    }

    /// The same for a name that [`user_id`] has accepted.
    ///
    /// # Errors
    /// As [`Self::find`].
    pub async fn find_user(&self, db: &Db) -> Result<UserId, NameError> {
        self.find(db).await.map(|user| UserId(user.id))
    }

    const fn kind(&self) -> EntityKind {
        match self {
            Self::Id(Entity { kind, .. }) | Self::Key(kind, _) => *kind,
        }
    }
}

/// Parses an id such as `note_42` or `note:<key>`.
///
/// # Errors
/// The accepted forms.
pub fn entity_id(text: &str) -> Result<Named, String> {
    if let Ok(entity) = text.parse() {
        return Ok(Named::Id(entity));
    }
    let named = text.split_once(':').and_then(|(name, key)| {
        let kind = EntityKind::ALL.iter().find(|kind| kind.name() == name && **kind != EntityKind::Inbox)?;
        (!key.is_empty()).then(|| Named::Key(*kind, key.to_owned()))
    });
    named.ok_or_else(|| {
        "an id such as note_42, note:<key> or user:<subject> is needed; the kinds are user, note, comment and group, and \
         inbox as inbox_5"
            .into()
    })
}

/// Parses the id of a user.
///
/// # Errors
/// The accepted forms, or that it is something else.
pub fn user_id(text: &str) -> Result<Named, String> {
    let named = entity_id(text)?;
    let is_user = named.kind() == EntityKind::User;
    is_user
        .then_some(named)
        .ok_or_else(|| format!("{text} is not a user; name one as user_5 or user:<subject>"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_a_number_behind_an_underscore_and_a_key_is_what_follows_a_colon() {
        for text in ["note_42", "user_5", "inbox_5"] {
            assert_eq!(entity_id(text), Ok(Named::Id(text.parse().unwrap())));
        }
        for (text, kind, key) in [
            ("note:42", EntityKind::Note, "42"),
            ("note:note_42", EntityKind::Note, "note_42"),
            ("group:a:b", EntityKind::Group, "a:b"),
            ("user:auth0|5", EntityKind::User, "auth0|5"),
        ] {
            assert_eq!(entity_id(text), Ok(Named::Key(kind, key.into())));
        }
        for bad in ["", "42", "note", "note_0", "note:", "inbox:5", "cat_1"] {
            assert!(entity_id(bad).unwrap_err().contains("note_42"), "{bad}");
        }
        for other in ["note_42", "note:42"] {
            assert!(user_id(other).unwrap_err().contains("is not a user"), "{other}");
        }
    }
}
