//! Global ids of clients, such as `note_42`.

use async_graphql::ID;
use plaudit_token_auth::Subject;

use crate::errors::{ApiError, ApiResult, Code};
use plaudit_catalogue::{
    Entity, EntityKind,
    primitives::{CommentId, GroupId, Id, NoteId, UserId},
};
use plaudit_domain::AppKey;

/// Kinds of objects that have a global id.
pub const KINDS: [EntityKind; 4] =
    [EntityKind::User, EntityKind::Note, EntityKind::Comment, EntityKind::Group];

/// Longest part of a bad id that an error repeats, in characters.
const SHOWN: usize = 40;

/// The id of one kind of object.
pub trait TypedId: Copy + Into<Entity> {
    const KIND: EntityKind;

    fn from_id(id: Id) -> Self;
}

impl TypedId for UserId {
    const KIND: EntityKind = EntityKind::User;

    fn from_id(id: Id) -> Self {
        Self(id)
    }
}

impl TypedId for NoteId {
    const KIND: EntityKind = EntityKind::Note;

    fn from_id(id: Id) -> Self {
        Self(id)
    }
}

impl TypedId for CommentId {
    const KIND: EntityKind = EntityKind::Comment;

    fn from_id(id: Id) -> Self {
        Self(id)
    }
}

impl TypedId for GroupId {
    const KIND: EntityKind = EntityKind::Group;

    fn from_id(id: Id) -> Self {
        Self(id)
    }
}

/// The global id of an object.
pub fn global_id(of: impl Into<Entity>) -> ID {
    let Entity { kind, id } = of.into();
    ID(format!("{}_{id}", kind.name()))
}

/// Parses the global id of any kind of object.
///
/// # Errors
/// [`Code::BadUserInput`](crate::Code::BadUserInput) naming `argument`.
pub fn parse_any(argument: &'static str, text: &str) -> ApiResult<Entity> {
    parse(argument, text, "note_42")
}

/// Parses the global id of one kind of object.
///
/// # Errors
/// [`Code::BadUserInput`](crate::Code::BadUserInput) naming `argument`: also for the id of another kind.
pub fn parse_as<T: TypedId>(argument: &'static str, text: &str) -> ApiResult<T> {
    let expected = T::KIND.name();
    let kind = match key_in(text) {
        Some((kind, _)) if kind != T::KIND => kind,
        _ => {
            let Entity { kind, id } = parse(argument, text, &format!("{expected}_42"))?;
            if kind == T::KIND {
                return Ok(T::from_id(id));
            }
            kind
        }
    };
    let message = format!("{argument}: {} is the id of a {}, not of a {expected}", quoted(text), kind.name());
    Err(ApiError::bad_input(argument, message))
}

/// The kind and the key in a text such as `note:<key>` or `user:<subject>`.
pub fn key_in(text: &str) -> Option<(EntityKind, &str)> {
    let (name, key) = text.split_once(':')?;
    Some((kind_named(name)?, key))
}

/// Checks that a text can be the app's own id of this kind.
///
/// # Errors
/// [`Code::BadUserInput`](crate::Code::BadUserInput) naming `argument`.
pub fn check_key(argument: &'static str, kind: EntityKind, key: &str) -> ApiResult<()> {
    if kind == EntityKind::User {
        let subject = Subject::try_from(key.to_owned());
        subject.map_err(|why| ApiError::bad_input(argument, format!("{argument}: {why}")))?;
    } else {
        AppKey::parse(argument, key)?;
    }
    Ok(())
}

/// What an id names; `None` for the key of nothing.
pub fn known<T>(id: ApiResult<T>) -> ApiResult<Option<T>> {
    match id {
        Err(error) if error.code() == Code::NotFound => Ok(None),
        id => id.map(Some),
    }
}

/// Refuses what has no canonical form: a key that is still there names nothing.
fn parse(argument: &'static str, text: &str, example: &str) -> ApiResult<Entity> {
    if let Some((kind, key)) = key_in(text) {
        check_key(argument, kind, key)?;
        let message =
            format!("{argument}: there is no {} with the {} {}", kind.name(), kind.key_name(), quoted(key));
        return Err(ApiError::new(Code::NotFound, message));
    }
    let parts = text.split_once('_').and_then(|(name, number)| Some((kind_named(name)?, number)));
    let Some((kind, number)) = parts else {
        let message = format!("{argument}: {} is not an id; expected one like \"{example}\"", quoted(text));
        return Err(ApiError::bad_input(argument, message));
    };
    let id = number.parse().map_err(|why| {
        let message = format!("{argument}: {} is not the id of a {}: {why}", quoted(text), kind.name());
        ApiError::bad_input(argument, message)
    })?;
    Ok(Entity::new(kind, id))
}

fn kind_named(name: &str) -> Option<EntityKind> {
    KINDS.into_iter().find(|kind| kind.name() == name)
}

fn quoted(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{:?}", format!("{}…", &text[..end])),
        None => format!("{text:?}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(result: ApiResult<NoteId>) -> String {
        result.unwrap_err().message().to_owned()
    }

    #[test]
    fn the_text_of_an_id_parses_to_the_same_id() {
        let note = NoteId(Id::try_from(42).unwrap());
        assert_eq!(global_id(note).as_str(), "note_42");
        assert_eq!(parse_as("noteId", "note_42"), Ok(note));
        assert_eq!(parse_any("id", "note_42"), Ok(note.into()));
    }

    #[test]
    fn an_id_of_another_kind_is_refused_with_both_kinds() {
        assert_eq!(
            message(parse_as("noteId", "user_7")),
            "noteId: \"user_7\" is the id of a user, not of a note"
        );
    }

    #[test]
    fn text_that_is_no_id_is_refused_with_an_example() {
        for text in ["", "42", "note", "note-42", "inbox_1", "Note_42"] {
            let message = message(parse_as("noteId", text));
            assert_eq!(message, format!("noteId: {text:?} is not an id; expected one like \"note_42\""));
        }
    }

    #[test]
    fn a_number_that_is_no_id_is_refused_with_the_range() {
        for text in ["note_", "note_0", "note_042", "note_-1", "note_1_2", "note_9007199254740992"] {
            let message = message(parse_as("noteId", text));
            let expected = format!(
                "noteId: {text:?} is not the id of a note: an id is a whole number from 1 to {}",
                Id::MAX
            );
            assert_eq!(message, expected);
        }
    }

    #[test]
    fn a_long_text_is_truncated_in_the_message() {
        assert!(message(parse_as("noteId", &"é".repeat(10_000))).len() < 200);
    }
}
