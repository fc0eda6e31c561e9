//! The fields of `Subscription`: live counts, and lists that change.

use futures_util::FutureExt;

use crate::{
    definition::{
        pages::{self, MAX_PAGE},
        resolve::{Call, Resolve},
        types::ObjectType,
        watch::{ListPosition, MessageRate, Subject, Watched, WatchedSubjects},
    },
    errors::{ApiError, ApiResult, Code},
    queries::events,
    request::{
        access::Who,
        ids::{TypedId, global_id},
    },
};
use plaudit_catalogue::primitives::{CommentId, GroupId, NoteId, UserId};
use plaudit_domain::{content::notes, event_stream, inbox_of};

/// Objects that one subscription may watch.
const MOST_TOPICS: usize = 100;
const MAX_RATE: &str = "maxRate";
const AFTER: &str = "after";

/// What the descriptions of lists say of the messages.
const CHANGES: &str = "The first message has the newest changes after the position `after`, and without one it has none. \
                       Then each change comes once. Read the list once the first message is there.";

/// What every description says of the messages.
const MESSAGES: &str = "The first message for each is its present state. If changes come faster than `maxRate`, or \
                        than they can be sent, only the latest is sent.";

pub fn subscription() -> ObjectType {
    let rate = format!("{MAX_RATE}: Int = {}", MessageRate::DEFAULT);
    let ids = |field: &str, ids: &str, object: &str| {
        format!(
            "{field}(\"Which ones.\" {ids}: [ID!]!, \"Events per second and object: 1 to 60.\" {rate}): {object}!"
        )
    };
    let after = format!("\"The position of the last message that you have.\" {AFTER}: ChangePosition");
    let text = |objects: &str| format!("{objects} whose counts change: at most 100. {MESSAGES}");
    ObjectType::new("Subscription", "What is pushed. An operation has one of these fields.")
        .field(
            &ids("noteCountsChanged", "noteIds", "Note"),
            text("Notes"),
            Resolve::Watch(|call| watch::<NoteId>("noteIds", call).boxed()),
        )
        .who(Who::Anyone)
        .same_for_all()
        .field(
            &ids("userCountsChanged", "userIds", "User"),
            text("Users"),
            Resolve::Watch(|call| watch::<UserId>("userIds", call).boxed()),
        )
        .who(Who::Anyone)
        .same_for_all()
        .field(
            &ids("commentCountsChanged", "commentIds", "Comment"),
            text("Comments"),
            Resolve::Watch(|call| watch::<CommentId>("commentIds", call).boxed()),
        )
        .who(Who::Anyone)
        .same_for_all()
        .field(
            &ids("groupCountsChanged", "groupIds", "Group"),
            text("Groups"),
            Resolve::Watch(|call| watch::<GroupId>("groupIds", call).boxed()),
        )
        .who(Who::Anyone)
        .same_for_all()
        .field(
            &format!("inboxCountsChanged(\"Events per second: 1 to 60.\" {rate}): Inbox!"),
            "Your inbox whenever its counts change. The first message is its present state. Without a user there is no \
             inbox: then the first message comes once you have one, by your first action. Needs a token.",
            Resolve::Watch(|call| watch_inbox(call).boxed()),
        )
        .who(Who::SignedIn)
        .field(
            &format!("noteCommentsChanged(\"Which one.\" noteId: ID!, {after}): CommentChanges!"),
            format!("Comments of a note, and replies, when they appear or are removed. {CHANGES}"),
            Resolve::Watch(|call| watch_comments(call).boxed()),
        )
        .who(Who::Anyone)
        .same_for_all()
        .field(
            &format!("feedChanged({after}): FeedChanges!"),
            format!("Notes that are new in the feed: at most one message a second. {CHANGES}"),
            Resolve::Watch(|call| async move { watch_list(Subject::Feed, MessageRate::OF_ALL, call) }.boxed()),
        )
        .who(Who::Anyone)
        .same_for_all()
        .field(
            &format!("inboxEntryAdded({after}): InboxEntryChanges!"),
            format!(
                "Entries that are new in your inbox. {CHANGES} Without a user there is no inbox: then the first message \
                 comes once you have one, by your first action. Needs a token."
            ),
            Resolve::Watch(|call| watch_entries(call).boxed()),
        )
        .who(Who::SignedIn)
        .field(
            "reviewQueueChanged: ReviewQueue!",
            "The review queue, when its numbers change, or what waits for a person or was reported: at most one message a \
             second. The first message is its present state. For moderators and services.",
            Resolve::Watch(|_| async { Ok(watched(Subject::ReviewQueue, MessageRate::OF_ALL)) }.boxed()),
        )
        .who(Who::ModeratorOrService)
        .same_for_all()
        .field(
            &format!("events{}: EventConnection!", pages::arguments(MAX_PAGE)),
            "The stream of events after a cursor, then what happens from then on; without a cursor, only that. The first message \
             comes at once, also without events. None is missed and none comes twice: to go on, subscribe with the \
             last `endCursor`. An error ends it. For services.",
            Resolve::Watch(|call| watch_events(call).boxed()),
        )
        .who(Who::Service)
}

const fn of_inbox(owner: UserId) -> Subject {
    Subject::Counts(inbox_of(owner))
}

async fn watch_inbox(call: Call<'_>) -> ApiResult<Watched> {
    let rate = MessageRate::parse(MAX_RATE, call.arguments.int(MAX_RATE))?;
    Ok(Watched { subjects: own(of_inbox, call).await?, rate, after: None })
}

async fn watch_entries(call: Call<'_>) -> ApiResult<Watched> {
    let after = position(call)?;
    Ok(Watched { subjects: own(Subject::EntriesOf, call).await?, rate: MessageRate::OF_LIST, after })
}

/// Something of the viewer's inbox.
async fn own(subject: fn(UserId) -> Subject, call: Call<'_>) -> ApiResult<WatchedSubjects> {
    let owner = call.scope.viewer().user(call.scope.plaudit()).await?;
    let known = owner.map(|owner| WatchedSubjects::Known(vec![subject(owner)]));
    Ok(known.unwrap_or(WatchedSubjects::InboxToCome(subject)))
}

/// Only a note that everybody sees: its comments are shown to all alike.
async fn watch_comments(call: Call<'_>) -> ApiResult<Watched> {
    let note: NoteId = call.arguments.id("noteId")?;
    notes::note_for(call.scope.plaudit(), None, note).await?;
    watch_list(Subject::CommentsOf(note), MessageRate::OF_LIST, call)
}

/// A cursor after which events are missing is refused now, not by the first message.
async fn watch_events(call: Call<'_>) -> ApiResult<Watched> {
    let (most, plaudit) = (events::most(call.arguments)?, call.scope.plaudit());
    let after = match events::cursor(call.arguments)? {
        Some(after) => event_stream::events_after(plaudit, Some(after), 1).await.map(|_| after)?,
        None => event_stream::newest_event(plaudit).await?,
    };
    let subjects = WatchedSubjects::Known(vec![Subject::Events(most)]);
    Ok(Watched { subjects, rate: MessageRate::OF_LIST, after: Some(ListPosition::Event(after)) })
}

fn watch_list(subject: Subject, rate: MessageRate, call: Call<'_>) -> ApiResult<Watched> {
    Ok(Watched { after: position(call)?, ..watched(subject, rate) })
}

fn watched(subject: Subject, rate: MessageRate) -> Watched {
    Watched { subjects: WatchedSubjects::Known(vec![subject]), rate, after: None }
}

/// # Errors
/// [`Code::BadUserInput`] naming `after`, if it is no position.
fn position(call: Call<'_>) -> ApiResult<Option<ListPosition>> {
    let Some(text) = call.arguments.text(AFTER) else { return Ok(None) };
    let position = text.parse().map_err(|_| {
        let message = format!("{AFTER}: not a position; pass the `position` of a message, or leave it out");
        ApiError::bad_input(AFTER, message)
    })?;
    Ok(Some(ListPosition::Change(position)))
}

/// Checks that the objects with these ids exist.
async fn watch<T: TypedId + Ord>(argument: &'static str, call: Call<'_>) -> ApiResult<Watched> {
    let rate = MessageRate::parse(MAX_RATE, call.arguments.int(MAX_RATE))?;
    let ids: Vec<T> = parse_all(argument, call)?;
    let entities: Vec<_> = ids.into_iter().map(Into::into).collect();
    if let Some(absent) = call.scope.first_absent(&entities).await? {
        let message = format!("{argument}: there is no {} \"{}\"", T::KIND.name(), *global_id(absent));
        return Err(ApiError::new(Code::NotFound, message));
    }
    let subjects = WatchedSubjects::Known(entities.into_iter().map(Subject::Counts).collect());
    Ok(Watched { subjects, rate, after: None })
}

/// The ids, without repetitions.
fn parse_all<T: TypedId + Ord>(argument: &'static str, call: Call<'_>) -> ApiResult<Vec<T>> {
    let mut parsed: Vec<T> = call.arguments.ids(argument)?;
    parsed.sort_unstable();
    parsed.dedup();
    if (1..=MOST_TOPICS).contains(&parsed.len()) {
        return Ok(parsed);
    }
    let message = format!("{argument}: 1 to {MOST_TOPICS} different ids, not {}", parsed.len());
    Err(ApiError::bad_input(argument, message))
}
