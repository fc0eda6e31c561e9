//! Editing notes and comments: a text that is judged shows once it is approved, and the old one stays until then.

use super::comment_text::{body_rule, distinct, parsed_images};
use crate::{
    DomainError, DomainResult, IdempotencyKey, Judged, Plaudit, Text,
    keys::ActionCall,
    transaction::{self, ActionStart},
};
use plaudit_catalogue::primitives::{CommentId, Id, NoteId, UserId};
use plaudit_store::sql::{
    Tx,
    content::{
        comments, notes,
        submissions::ModerationState,
        texts::{self, TextChange, TextRole, WrittenText},
    },
    ownership::shards,
};

/// New parts of a text; `None` leaves one as it is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TextEdit {
    pub(super) title: Option<Text>,
    pub(super) body: Option<Text>,
    images: Option<Vec<String>>,
    mentions: Option<Vec<UserId>>,
}

/// What an edit needs to know of a note or comment.
struct Edited {
    author: UserId,
    state: ModerationState,
    /// Everybody sees it.
    is_shown: bool,
    is_removed: bool,
}

impl TextEdit {
    pub const fn of_note(title: Option<Text>, body: Option<Text>) -> Self {
        Self { title, body, images: None, mentions: None }
    }

    /// # Errors
    /// [`DomainError::BadInput`] naming `body`, `images` or `mentions`.
    pub fn of_comment(
        body: Option<&str>,
        images: Option<Vec<String>>,
        mentions: Option<Vec<UserId>>,
    ) -> DomainResult<Self> {
        // Whether there is an image may depend on the text that is edited.
        let rule = body_rule(images.as_ref().is_none_or(|images| !images.is_empty()));
        Ok(Self {
            title: None,
            body: body.map(|body| Text::parse(body, &rule)).transpose()?,
            images: images.map(parsed_images).transpose()?,
            mentions: mentions.map(distinct).transpose()?,
        })
    }

    /// Whether it changes nothing.
    pub fn is_empty(&self) -> bool {
        *self == Self::of_note(None, None)
    }

    /// The text with these parts changed.
    pub(super) fn apply(&self, to: &WrittenText) -> WrittenText {
        let new = |given: &Option<Text>| given.as_ref().map(|text| text.as_str().to_owned());
        WrittenText {
            title: new(&self.title).or_else(|| to.title.clone()),
            body: new(&self.body).unwrap_or_else(|| to.body.clone()),
            images: self.images.clone().unwrap_or_else(|| to.images.clone()),
            mentions: self.mentions.clone().unwrap_or_else(|| to.mentions.clone()),
        }
    }
}

/// Changes parts of the actor's own note or comment. What is not given stays as it is in the text that the author
/// wrote last. Texts of comments are judged, and texts of notes while notes are moderated. Such a text waits for a
/// decision: of what is approved everybody sees the old text until then; anything else has only the new one. A later
/// edit replaces one that waits. Returns whether the text is another.
///
/// # Errors
/// [`DomainError::NotFound`] for what is unknown, removed or invisible, and for an unknown mentioned user;
/// [`DomainError::Forbidden`] for somebody else's; [`DomainError::BadInput`] if nothing is left of the text.
pub async fn update_text(
    plaudit: &Plaudit,
    actor: UserId,
    (kind, id): (Judged, Id),
    edit: &TextEdit,
    key: Option<&IdempotencyKey>,
) -> DomainResult<bool> {
    let mentions = edit.mentions.as_deref().unwrap_or_default();
    if plaudit.users().get_many(mentions).await?.iter().any(Option::is_none) {
        return Err(DomainError::NotFound("user"));
    }
    let (title, body) = (edit.title.as_ref().map(Text::as_str), edit.body.as_ref().map(Text::as_str));
    let action = match kind {
        Judged::Note => "updateNote",
        Judged::Comment => "updateComment",
    };
    let call = ActionCall::new(action, &(id, title, body, &edit.images, &edit.mentions));
    match transaction::begin(plaudit, actor, key, &call).await? {
        ActionStart::Repeated(outcome) => Ok(outcome.changed),
        ActionStart::New(mut change) => {
            let is_judged = kind == Judged::Comment || plaudit.inner.settings.moderate_notes;
            let changed = edit_own(change.tx(), actor, (kind, id), edit, is_judged).await?;
            if changed {
                change.touch(kind.entity(id));
            }
            Ok(change.finish(changed, None).await?.changed)
        }
    }
}

/// Writes the new text where it belongs. Returns whether it is another than the one before.
async fn edit_own(
    tx: &mut Tx,
    actor: UserId,
    (kind, id): (Judged, Id),
    edit: &TextEdit,
    is_judged: bool,
) -> DomainResult<bool> {
    let not_found = || DomainError::NotFound(kind.name());
    let edited = lock(tx, kind, id).await?.filter(|of| !of.is_removed).ok_or_else(not_found)?;
    if edited.author != actor {
        let forbidden = DomainError::Forbidden("only its author can edit a note or comment");
        return Err(if edited.is_shown { forbidden } else { not_found() });
    }
    let texts = texts::texts(tx, kind, id).await?;
    let before = texts.edit.as_ref().unwrap_or(&texts.shown);
    let text = edit.apply(before);
    if text == *before {
        return Ok(false);
    }
    if kind == Judged::Comment && text.is_empty() {
        let message = "body: a comment needs a text or an image, and this would leave it without both";
        return Err(DomainError::bad_input("body", message));
    }
    let place = TextRole::of(edited.state, &texts.shown, &text, is_judged);
    texts::change_texts(tx, kind, &[TextChange { id, text: &text, place }]).await?;
    Ok(true)
}

async fn lock(tx: &mut Tx, kind: Judged, id: Id) -> DomainResult<Option<Edited>> {
    match kind {
        Judged::Note => {
            let note = notes::lock_note(tx, NoteId(id)).await?;
            Ok(note.map(|note| Edited {
                author: note.author,
                state: note.state,
                is_shown: note.is_shown,
                is_removed: note.is_removed,
            }))
        }
        Judged::Comment => {
            // A note that is being removed takes its comments with it.
            shards::lock_removals_shared(tx).await?;
            let Some(header) = comments::lock_comments(tx, &[CommentId(id)]).await?.pop() else {
                return Ok(None);
            };
            let is_removed = header.is_removed || notes::present_notes(tx, &[header.note]).await?.is_empty();
            let (author, state, is_shown) = (header.author, header.state, header.is_counted);
            Ok(Some(Edited { author, state, is_shown, is_removed }))
        }
    }
}
