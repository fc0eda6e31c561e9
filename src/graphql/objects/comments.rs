//! Comments.

use futures_util::FutureExt;

use super::{
    lists::{page_of, page_of_actors},
    moderation_states::state,
    nodes::{ID, id},
    pending_edits::pending_edit,
};
use crate::{
    definition::{
        interfaces::{LIKEABLE, NODE},
        list_size::ListSize,
        pages::{self, FIRST, List},
        resolve::{Call, Resolve, count, link, own, row},
        types::{EnumType, ObjectType},
        values::{Object, Output, Scalar},
    },
    errors::ApiResult,
};
use plaudit_catalogue::{
    Counter, EdgeKind,
    primitives::{CommentId, Slice},
};
use plaudit_domain::{COMMENT_BODY, CommentOrder, CommentThread};

const LIKERS: List = List("commentLikers");

/// The argument `orderBy` of lists of comments.
pub const ORDER: &str = "\"The order of the comments.\" orderBy: CommentOrder! = HOT";

pub fn comment() -> ObjectType {
    let replies = format!("replies({ORDER}, {}: CommentConnection", &pages::arguments(FIRST)[1..]);
    ObjectType::new(
        "Comment",
        "A comment on a note, or a reply to a comment. All counts of one object are from the same moment.",
    )
        .key("id")
        .key("key")
        .implements(NODE)
    .implements(LIKEABLE)
    .field("id: ID!", ID, id())
        .field(
            "key: String",
            "The app's own id of it, which `ID` arguments take as `comment:<key>`. Null for none.",
            row(|of| Ok(of.comment()?.key.as_deref().into())),
        )
    .field(
        "body: String!",
        "Empty if the comment was removed.",
        row(|of| Ok(of.comment()?.body.as_str().into())),
    )
    .field(
        "images: [URL!]!",
        "Addresses of images (https) as the author wrote them. The server does not fetch them.",
        row(|of| Ok(Scalar::List(of.comment()?.images.iter().map(|image| image.as_str().into()).collect()))),
    )
    .field(
        "mentions: [User!]!",
        "Users whom the author mentioned.",
        link(|of| Ok(Output::list(of.comment()?.mentions.iter().copied()))),
    )
    .field("createdAt: DateTime!", "When it was written.", row(|of| Ok(of.comment()?.created_at.into())))
    .field(
        "state: ModerationState!",
        "Other users see the comment only once it is approved.",
        row(|of| Ok(Scalar::Name(state(of.comment()?.state)))),
    )
    .field(
        "rejectionReason: String",
        "Why the comment was rejected. Null if it was not.",
        row(|of| Ok(of.comment()?.rejected_because.as_deref().into())),
    )
    .field(
        "editedAt: DateTime",
        "When its text was last changed after everybody could see it. Null if it never was.",
        row(|of| Ok(of.comment()?.edited_at.map(Scalar::Time).into())),
    )
    .field(
        "pendingEdit: WrittenText",
        "The next text of an approved comment, which waits for a decision or was rejected. Null if there is none; only \
         its author and moderators see it.",
        Resolve::Call(|call| pending_edit(call).boxed()),
    )
    .field(
        "isRemoved: Boolean!",
        "Whether the comment was removed and only remains as a placeholder above its replies.",
        row(|of| Ok(of.comment()?.is_removed.into())),
    )
    .field(
        "author: User",
        "The author. Null if the comment was removed, or if the user no longer exists.",
        link(|of| {
            let comment = of.comment()?;
            Ok(Output::optional((!comment.is_removed).then_some(comment.author)))
        }),
    )
    .field(
        "replyTo: Comment",
        "The comment that this reply answers: its parent, or another reply below that. Null for a comment on the note \
         itself, and if that comment was removed.",
        link(|of| {
            let comment = of.comment()?;
            Ok(comment.answered.or(comment.parent).map(Object::sought).map(Output::from).into())
        }),
    )
    .field(
        "parent: Comment",
        "The comment that this reply is listed below. Null for a comment on the note itself.",
        link(|of| Ok(Output::optional(of.comment()?.parent))),
    )
    .field(
        "note: Note",
        "The note that was commented on. Null if the note was removed.",
        link(|of| Ok(Object::sought(of.comment()?.note).into())),
    )
    .field(
        "ratingAtWriting: Int",
        "The author's rating of the note when the comment was written. Null without a rating.",
        row(|of| Ok(of.comment()?.rating_at_writing.map(i64::from).into())),
    )
    .field("likeCount: Count!", "The number of users who like it.", count(Counter::CommentLikes))
    .field("replyCount: Count!", "The number of replies to the comment.", count(Counter::CommentReplies))
    .field(
        "viewerHasLiked: Boolean",
        "Whether you like it. Null without a token.",
        own(EdgeKind::CommentLike),
    )
    .field(
        &format!("likers{}: LikerConnection", pages::arguments(FIRST)),
        "Users who like it, the latest like first. A like appears here moments later, once it is in the database.",
        Resolve::Call(|call| likers(call).boxed()),
    )
    .same_for_all()
    .field(
        &replies,
        "Replies to the comment. A reply has no replies of its own: an answer to it is listed beside it.",
        Resolve::Call(|call| replies_to(call).boxed()),
    )
    .same_for_all()
    .sized("images", ListSize::Fixed(9))
    .sized("mentions", ListSize::Fixed(10))
    .long_text("body", COMMENT_BODY.max_bytes())
    .counts_version()
}

pub fn comment_order() -> EnumType {
    EnumType {
        name: "CommentOrder",
        description: "The order of comments.",
        values: vec![
            ("HOT", "By likes and replies, then by age, the youngest first."),
            ("NEWEST", "By age, the youngest first."),
        ],
    }
}

/// Each order is a list of its own, so that its cursors are refused by the other.
const fn list(order: CommentOrder) -> List {
    match order {
        CommentOrder::Hot => List("hotComments"),
        CommentOrder::Newest => List("commentsByAge"),
    }
}

/// A page of a thread, by the arguments of the call.
pub async fn page_of_thread(thread: CommentThread, default: i32, call: Call<'_>) -> ApiResult<Output> {
    let is_newest = call.arguments.text("orderBy").as_deref() == Some("NEWEST");
    let order = if is_newest { CommentOrder::Newest } else { CommentOrder::Hot };
    let request = list(order).request(call.arguments, default)?;
    let places = call.scope.thread(thread, order, &request).await?;
    let comments = places.items.iter().map(|place| (*place, CommentId(place.id).into()));
    let comments = Slice { items: comments.collect(), has_more: places.has_more };
    page_of(list(order), &request, comments, call).await
}

async fn likers(call: Call<'_>) -> ApiResult<Output> {
    page_of_actors(LIKERS, EdgeKind::CommentLike, call.entity()?.id, call).await
}

async fn replies_to(call: Call<'_>) -> ApiResult<Output> {
    page_of_thread(CommentThread::Comment(CommentId(call.entity()?.id)), FIRST, call).await
}
