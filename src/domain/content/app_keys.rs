//! Keys: the app's own ids of notes, comments and groups. The key of a user is the subject of their tokens.

use crate::{DomainError, DomainResult, Plaudit, Reason, people::accounts};
use plaudit_catalogue::{Entity, EntityKind};
use plaudit_store::sql::{Tx, content::keys};

/// The app's own id of a note, comment or group: 1 to 200 bytes without control characters.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct AppKey(String);

impl AppKey {
    const MAX_BYTES: usize = 200;

    /// # Errors
    /// [`DomainError::BadInput`] naming `argument`, for a text that cannot be a key.
    pub fn parse(argument: &'static str, text: &str) -> DomainResult<Self> {
        if !(1..=Self::MAX_BYTES).contains(&text.len()) {
            let message =
                format!("{argument}: a key has 1 to {} bytes; this one has {}", Self::MAX_BYTES, text.len());
            return Err(DomainError::bad_input(argument, message));
        }
        if text.chars().any(char::is_control) {
            let message = format!("{argument}: a key has no control characters; remove them");
            return Err(DomainError::bad_input(argument, message));
        }
        Ok(Self(text.to_owned()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The entities of one kind with these keys, in their order; `None` for unknown ones. Includes removed ones.
pub async fn find_by_keys(
    plaudit: &Plaudit,
    kind: EntityKind,
    keys: &[&str],
) -> DomainResult<Vec<Option<Entity>>> {
    if kind == EntityKind::User {
        let users = accounts::find_users(plaudit, keys).await?;
        return Ok(users.into_iter().map(|user| user.map(Entity::from)).collect());
    }
    let ids = plaudit.inner.keys.find(kind, keys).await?;
    Ok(ids.into_iter().map(|id| id.map(|id| Entity::new(kind, id))).collect())
}

/// Explains why nothing was created: its key is taken.
///
/// # Errors
/// [`DomainError::BadInput`] with [`Reason::KeyTaken`] that names what has the key.
pub(crate) async fn must_be_free(tx: &mut Tx, kind: EntityKind, key: Option<&AppKey>) -> DomainResult<()> {
    let Some(key) = key else { return Ok(()) };
    let Some(id) = keys::id_by_key(tx, kind, key.as_str()).await? else { return Ok(()) };
    let owner = Entity::new(kind, id);
    Err(DomainError::BadInput {
        argument: "key",
        message: format!("key: {owner} has the key {:?}; a key is never given twice", key.as_str()),
        reason: Some(Reason::KeyTaken),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_has_1_to_200_bytes_without_control_characters() {
        for good in ["x", "0b4f7a5e-1111-4a6e-9d3b-5c2f", "a b:c/ü", &"k".repeat(200)] {
            assert_eq!(AppKey::parse("key", good).unwrap().as_str(), good);
        }
        for bad in ["", "a\nb", "a\0", &"k".repeat(201), &"ü".repeat(101)] {
            assert!(AppKey::parse("key", bad).is_err(), "{bad:?}");
        }
    }
}
