//! The fields of `Subscription`: live counts.

use futures_util::FutureExt;

use crate::{
    domain::inbox_of,
    graphql::{
        definition::{
            types::{Call, ObjectType, Resolve},
            watch::{Rate, Watched, WatchedObjects},
        },
        errors::{ApiError, ApiResult, Code},
        request::ids::{TypedId, global_id},
    },
    primitives::{CommentId, GroupId, NoteId, UserId},
};

const MAX_RATE: &str = "maxRate";

/// What every description says of the messages.
const MESSAGES: &str = "The first message for each is its present state. If changes come faster than `maxRate`, or \
                        than they can be sent, only the latest is sent.";

pub fn subscription() -> ObjectType {
    let rate = format!("{MAX_RATE}: Int = {}", Rate::DEFAULT);
    let ids = |field: &str, ids: &str, object: &str| {
        format!(
            "{field}(\"Which ones.\" {ids}: [ID!]!, \"Events per second and object: 1 to 60.\" {rate}): {object}!"
        )
    };
    let text = |objects: &str| format!("{objects} whose counts change: at most 100. {MESSAGES}");
    ObjectType::new("Subscription", "What is pushed. An operation has one of these fields.")
        .field(
            &ids("noteCountsChanged", "noteIds", "Note"),
            text("Notes"),
            Resolve::Watch(|call| watch::<NoteId>("noteIds", call).boxed()),
        )
        .same_for_all()
        .field(
            &ids("userCountsChanged", "userIds", "User"),
            text("Users"),
            Resolve::Watch(|call| watch::<UserId>("userIds", call).boxed()),
        )
        .same_for_all()
        .field(
            &ids("commentCountsChanged", "commentIds", "Comment"),
            text("Comments"),
            Resolve::Watch(|call| watch::<CommentId>("commentIds", call).boxed()),
        )
        .same_for_all()
        .field(
            &ids("groupCountsChanged", "groupIds", "Group"),
            text("Groups"),
            Resolve::Watch(|call| watch::<GroupId>("groupIds", call).boxed()),
        )
        .same_for_all()
        .field(
            &format!("inboxCountsChanged(\"Events per second: 1 to 60.\" {rate}): Inbox!"),
            "Your inbox whenever its counts change. The first message is its present state; before your first action \
             there is no inbox, and the first message comes after it. Needs a token.",
            Resolve::Watch(|call| watch_inbox(call).boxed()),
        )
}

async fn watch_inbox(call: Call<'_>) -> ApiResult<Watched> {
    let rate = Rate::parse(MAX_RATE, call.arguments.int(MAX_RATE))?;
    let owner = call.scope.viewer().user(call.scope.plaudit()).await?;
    let inbox = owner.map(|owner| WatchedObjects::Entities(vec![inbox_of(owner)]));
    Ok(Watched { objects: inbox.unwrap_or(WatchedObjects::InboxToCome), rate })
}

/// Checks that the objects with these ids exist.
async fn watch<T: TypedId + Ord>(argument: &'static str, call: Call<'_>) -> ApiResult<Watched> {
    let rate = Rate::parse(MAX_RATE, call.arguments.int(MAX_RATE))?;
    let ids: Vec<T> = parse_all(argument, call)?;
    let entities: Vec<_> = ids.into_iter().map(Into::into).collect();
    if let Some(absent) = call.scope.first_absent(&entities).await? {
        let message = format!("{argument}: there is no {} \"{}\"", T::KIND.name(), *global_id(absent));
        return Err(ApiError::new(Code::NotFound, message));
    }
    Ok(Watched { objects: WatchedObjects::Entities(entities), rate })
}

/// The ids, without repetitions.
fn parse_all<T: TypedId + Ord>(argument: &'static str, call: Call<'_>) -> ApiResult<Vec<T>> {
    let limit = call.scope.plaudit().settings().subscription_topics;
    let mut parsed: Vec<T> = call.arguments.ids(argument)?;
    parsed.sort_unstable();
    parsed.dedup();
    if (1..=limit).contains(&parsed.len()) {
        return Ok(parsed);
    }
    let message = format!("{argument}: 1 to {limit} different ids, not {}", parsed.len());
    Err(ApiError::bad_input(argument, message))
}
