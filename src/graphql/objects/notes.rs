//! Notes.

use futures_util::FutureExt;

use super::{
    activity::{ACTIVITY, activity_of, steps},
    comments::{ORDER, page_of_thread},
    lists::page_of_actors,
    moderation_states::state,
    nodes::{ID, id},
    pending_edits::pending_edit,
    ratings::ratings_of,
};
use crate::{
    definition::{
        interfaces::{COLLECTABLE, LIKEABLE, NODE},
        list_size::ListSize,
        pages::{self, FIRST, List},
        resolve::{Call, FactValue, Resolve, count, counted, link, own, row},
        types::ObjectType,
        values::{Object, Output, Scalar},
    },
    errors::ApiResult,
    reading::facts::Reads,
    request::access::Who,
};
use plaudit_catalogue::{Counter, EdgeKind, Entity, primitives::NoteId};
use plaudit_domain::{CommentThread, NOTE_BODY, NOTE_TITLE, content::comments};

const LIKERS: List = List("likers");

pub fn note() -> ObjectType {
    let page = pages::arguments(FIRST);
    let comments = format!("comments({ORDER}, {}: CommentConnection", &page[1..]);
    ObjectType::new("Note", "A note that a user posted. All counts of one object are from the same moment.")
        .key("id")
        .key("key")
        .implements(NODE)
        .implements(LIKEABLE)
        .implements(COLLECTABLE)
        .field("id: ID!", ID, id())
        .field(
            "key: String",
            "The app's own id of it, which `ID` arguments take as `note:<key>`. Null for none.",
            row(|of| Ok(of.note()?.key.as_deref().into())),
        )
        .field("url: URL", "The app's page about it. Null for none.", row(|of| Ok(of.note()?.url.as_deref().into())))
        .field(
            "title: String",
            "Its title, on one line. Null for none.",
            row(|of| Ok(given(&of.note()?.title).into())),
        )
        .field(
            "body: String",
            "Its text. Null for none.",
            row(|of| Ok(given(&of.note()?.body).into())),
        )
        .field("createdAt: DateTime!", "When it was posted.", row(|of| Ok(of.note()?.created_at.into())))
        .field(
            "state: ModerationState!",
            "Other users see the note only once it is approved, which it is from the start unless notes are moderated.",
            row(|of| Ok(Scalar::Name(state(of.note()?.state)))),
        )
        .field(
            "rejectionReason: String",
            "Why the note was rejected. Null if it was not.",
            row(|of| Ok(of.note()?.rejected_because.as_deref().into())),
        )
        .field(
            "pendingEdit: WrittenText",
            "The next texts of an approved note, which wait for a decision or were rejected. Null if there are none; only \
             its author and moderators see them.",
            Resolve::Call(|call| pending_edit(call).boxed()),
        )
        .field(
            "editedAt: DateTime",
            "When title or body were last changed after everybody could see them. Null if they were never.",
            row(|of| Ok(of.note()?.edited_at.map(Scalar::Time).into())),
        )
        .field(
            "author: User",
            "The author. Null if the user no longer exists.",
            link(|of| Ok(of.note()?.author.into())),
        )
        .field(
            "group: Group",
            "The group that the note is in. Null for none, and if the group was removed.",
            link(|of| Ok(Output::optional(of.note()?.group))),
        )
        .field(
            "isFeatured: Boolean!",
            "Whether the note is featured in its group.",
            row(|of| Ok(of.note()?.is_featured.into())),
        )
        .field("likeCount: Count!", "The number of users who like it.", count(Counter::NoteLikes))
        .field("collectCount: Count!", "The number of users who collected it.", count(Counter::NoteCollects))
        .field("commentCount: Count!", "The number of comments, including replies.", count(Counter::NoteComments))
        .field("viewCount: Count!", "The number of views.", count(Counter::NoteViews))
        .field("ratingCount: Count!", "The number of users who rated it.", count(Counter::NoteRatings))
        .field("ratingAverage: Float", "The mean of all ratings. Null without ratings.", counted(|of| {
            let counts = &of.counted()?.counts;
            Ok(average(counts.get(Counter::NoteRatingSum), counts.get(Counter::NoteRatings)))
        }))
        .field("viewerHasLiked: Boolean", "Whether you like it. Null without a token.", own(EdgeKind::NoteLike))
        .field(
            "viewerHasCollected: Boolean",
            "Whether it is in your collection. Null without a token.",
            own(EdgeKind::NoteCollect),
        )
        .field(
            &format!("likers{page}: LikerConnection"),
            "Users who like it, the latest like first. A like appears here moments later, once it is in the database.",
            Resolve::Call(|call| likers(call).boxed()),
        )
        .same_for_all()
        .field(
            "viewerRating: Int",
            "Your rating, from 0 to 10. Null without a token, and if you have not rated the note.",
            Resolve::Fact(Reads::RATING, FactValue::Of(|of| Ok(of.own_rating()?.map(i64::from).into()))),
        )
        .field(&comments, "Comments on the note itself.", Resolve::Call(|call| comments_of(call).boxed()))
        .same_for_all()
        .field(
            "viewerUnpublishedComments: [Comment!]!",
            "Your own comments and replies here that are not public, newest first: at most 50. Empty without a token.",
            Resolve::Call(|call| unpublished(call).boxed()),
        )
        .field(
            &format!("ratings{page}: NoteRatingConnection"),
            "Ratings of the note, the latest first. For its author and moderators.",
            Resolve::Call(|call| ratings_of(call).boxed()),
        )
        .who(Who::AuthorOrModerator)
        .field(
            ACTIVITY,
            "The history of the note's likes or collects, for its author and moderators: one point per step, oldest \
             first, including steps without changes. At most 744 points. Before the oldest event that is stored, the \
             total is the one before that event.",
            Resolve::Call(|call| activity_of(call).boxed()),
        )
        .who(Who::AuthorOrModerator)
        .sized("activity", ListSize::Computed(steps))
        // At most 50, but rarely more than one.
        .sized("viewerUnpublishedComments", ListSize::Fixed(10))
        .long_text("title", NOTE_TITLE.max_bytes())
        .long_text("body", NOTE_BODY.max_bytes())
        .counts_version()
}

/// An empty text is none.
fn given(text: &str) -> Option<&str> {
    Some(text).filter(|text| !text.is_empty())
}

fn average(sum: i64, ratings: i64) -> Scalar<'static> {
    if ratings > 0 { Scalar::Float(sum as f64 / ratings as f64) } else { Scalar::Null }
}

fn note_of(call: &Call<'_>) -> ApiResult<NoteId> {
    call.entity().map(|entity| NoteId(entity.id))
}

async fn likers(call: Call<'_>) -> ApiResult<Output> {
    page_of_actors(LIKERS, EdgeKind::NoteLike, note_of(&call)?.0, call).await
}

async fn comments_of(call: Call<'_>) -> ApiResult<Output> {
    page_of_thread(CommentThread::Note(note_of(&call)?), FIRST, call).await
}

async fn unpublished(call: Call<'_>) -> ApiResult<Output> {
    let (plaudit, note) = (call.scope.plaudit(), note_of(&call)?);
    let Some(viewer) = call.scope.viewer().user(plaudit).await? else { return Ok(Output::List(Vec::new())) };
    let comments = comments::unpublished_comments(plaudit, viewer, note).await?;
    let comments: Vec<Entity> = comments.into_iter().map(Entity::from).collect();
    let rows = call.scope.rows(&comments).await?;
    Ok(Output::list(rows.into_iter().flatten().map(Object::of_row)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_average_needs_a_rating() {
        assert_eq!(average(9, 2), Scalar::Float(4.5));
        assert_eq!(average(0, 0), Scalar::Null);
    }
}
