//! Messages of lists: what is new since the message before, or since the position that the client named.

use super::{
    message::{FollowedBy, Next},
    topic::Since,
};
use crate::{
    definition::{
        list_size::ListSize,
        types::ObjectType,
        values::{Object, Output, Scalar},
        watch::{ListPosition, Subject},
    },
    errors::{ApiError, ApiResult, Code},
    objects::inbox_entries,
    queries::{events, moderation::queue_state},
    reading::scope::Scope,
};
use plaudit_catalogue::primitives::{ChangePosition, EventCursor, NoteId};
use plaudit_domain::{
    ChangedComment, Changes, EventPage, QueueState, content::changes, event_stream, moderation::reports,
};

/// The object of a message.
pub struct ReadMessage {
    /// `None` if there is nothing new, or if the store is away that has it.
    pub object: Option<ApiResult<Object>>,
    /// Where members are once they have received it.
    pub position: Option<ListPosition>,
    pub followed_by: FollowedBy,
    pub next: Next,
}

impl ReadMessage {
    const fn nothing() -> Self {
        Self { object: None, position: None, followed_by: FollowedBy::Changes, next: Next::AtSignal }
    }

    /// The object of a message of counts.
    fn whole(object: impl Into<Object>) -> Self {
        Self { object: Some(Ok(object.into())), ..Self::nothing() }
    }
}

const POSITION: (&str, &str) = (
    "position: ChangePosition!",
    "The position of the newest change that is included, for `after` when you subscribe again.",
);
const HAS_MORE: (&str, &str) = (
    "hasMore: Boolean!",
    "Whether there are changes that no event has: read the list. Only in the first event after a position, and after an \
     event that failed or came too late.",
);

/// At most 50 after a reconnection, but rarely more than a few.
const CHANGES: ListSize = ListSize::Fixed(10);

/// The types of the messages.
pub fn change_types() -> [ObjectType; 3] {
    let changes = |name, what| ObjectType::new(name, what).shared_parts([POSITION, HAS_MORE]);
    [
        changes(
            "CommentChanges",
            "Comments of a note that changed, as everybody sees them: the newest 50, fewer if their texts are long.",
        )
        .shared_parts([
            (
                "comments: [Comment!]!",
                "Comments and replies that appeared, or that are placeholders now, the newest change first.",
            ),
            ("removedCommentIds: [ID!]!", "Comments that are not in the list any more."),
        ])
        .shows_everybody("comments")
        .sized("comments", CHANGES)
        .sized("removedCommentIds", CHANGES),
        changes("FeedChanges", "Notes that are new in the feed.")
            .shared_parts([("noteIds: [ID!]!", "Their ids, the newest first: at most 50.")])
            .sized("noteIds", CHANGES),
        changes("InboxEntryChanges", "Entries that are new in your inbox.")
            .parts([("entries: [InboxEntry!]!", "The newest 50, the newest first.")])
            .sized("entries", CHANGES),
    ]
}

/// The object of a message of this subject, for those who have received the same.
pub async fn message_object(subject: Subject, since: Since, scope: &Scope) -> ReadMessage {
    let plaudit = scope.plaudit();
    let since_position = match since {
        Since::Joined(position) => position,
        Since::Message(position) => Some(position),
    };
    let position = since_position.and_then(ListPosition::change);
    match subject {
        Subject::Counts(entity) => ReadMessage::whole(Object::of(entity)),
        Subject::CommentsOf(note) => of_list(
            since,
            changes::comment_changes(plaudit, note, position).await.map_err(ApiError::from),
            comments,
        ),
        Subject::Feed => {
            of_list(since, changes::feed_changes(plaudit, position).await.map_err(ApiError::from), |notes| {
                let id = |note: NoteId| Scalar::Id(note.into());
                vec![("noteIds", Scalar::List(notes.into_iter().map(id).collect()).into())]
            })
        }
        Subject::EntriesOf(owner) => of_list(
            since,
            changes::inbox_changes(plaudit, owner, position).await.map_err(ApiError::from),
            |entries| {
                vec![(
                    "entries",
                    Output::list(entries.into_iter().filter_map(|row| inbox_entries::entry(owner, row))),
                )]
            },
        ),
        Subject::ReviewQueue => {
            of_queue(position, reports::queue_state(plaudit).await.map_err(ApiError::from))
        }
        Subject::Events(most) => {
            let after = since_position.and_then(ListPosition::event);
            of_stream(
                since,
                after,
                event_stream::events_after(plaudit, after, most).await.map_err(ApiError::from),
            )
        }
    }
}

/// What a list has besides its position.
type Fields = Vec<(&'static str, Output)>;

fn of_list<T>(since: Since, read: ApiResult<Changes<T>>, fields: impl Fn(Vec<T>) -> Fields) -> ReadMessage {
    let changes = match read {
        Ok(changes) => changes,
        Err(error) => return failed(error),
    };
    let Changes { position, items, has_more, has_pending } = changes;
    let next = if has_pending { Next::Soon } else { Next::AtSignal };
    let is_new = matches!(since, Since::Joined(_)) || has_more || !items.is_empty();
    let object = is_new.then(|| {
        let (at, more) = (("position", position.to_string().into()), ("hasMore", has_more.into()));
        Ok(Object::record([at, more].into_iter().chain(fields(items))))
    });
    ReadMessage { object, position: Some(ListPosition::Change(position)), next, ..ReadMessage::nothing() }
}

/// The first message comes at once, so that the client has a cursor.
fn of_stream(since: Since, after: Option<EventCursor>, read: ApiResult<EventPage>) -> ReadMessage {
    let page = match read {
        Ok(page) => page,
        Err(error) => return failed(error),
    };
    let position = Some(ListPosition::Event(page.end));
    let followed_by = if page.has_more { FollowedBy::NextPage } else { FollowedBy::Changes };
    let is_new = matches!(since, Since::Joined(_)) || !page.events.is_empty();
    let object = is_new.then(|| Ok(events::connection(after.is_some(), page)));
    ReadMessage { object, position, followed_by, next: Next::AtSignal }
}

/// Clients get an error, unless a store is away: then the list is read again.
fn failed(error: ApiError) -> ReadMessage {
    let is_away = error.code() == Code::RetryLater;
    let next = if is_away { Next::AgainSoon } else { Next::AtSignal };
    ReadMessage { object: (!is_away).then_some(Err(error)), next, ..ReadMessage::nothing() }
}

fn comments(changes: Vec<ChangedComment>) -> Fields {
    let (mut shown, mut gone) = (Vec::new(), Vec::new());
    for change in changes {
        match change {
            ChangedComment::Shown(comment) => shown.push(Object::from(comment)),
            ChangedComment::Gone(comment) => gone.push(Scalar::Id(comment.into())),
        }
    }
    vec![("comments", Output::list(shown)), ("removedCommentIds", Scalar::List(gone).into())]
}

/// The numbers of the queue, and what waits for a person, stand for its position: without another there
/// is nothing new.
fn of_queue(since: Option<ChangePosition>, read: ApiResult<QueueState>) -> ReadMessage {
    match read {
        Ok(state) => {
            let numbers = (state.waiting << 32) | state.undecided;
            let position = ChangePosition { database: 0, major: numbers, minor: state.mark };
            let object = (since != Some(position)).then(|| Ok(queue_state(&state)));
            ReadMessage { object, position: Some(ListPosition::Change(position)), ..ReadMessage::nothing() }
        }
        Err(error) => failed(error),
    }
}
