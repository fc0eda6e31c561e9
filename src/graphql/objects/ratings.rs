//! Ratings of a note.

use plaudit_token_auth::Role;

use crate::{
    definition::{
        pages::{FIRST, List, ListKey},
        resolve::Call,
        types::ObjectType,
        values::{Object, Output},
    },
    errors::ApiResult,
};
use plaudit_catalogue::primitives::{NoteId, UserId};
use plaudit_domain::{NoteRating, content::ratings};

const RATINGS: List = List("noteRatings");

pub fn note_rating() -> ObjectType {
    ObjectType::new("NoteRating", "A user's rating of a note.").parts([
        ("user: User!", "Who rated the note."),
        ("score: Int!", "From 0 to 10."),
        ("ratedAt: DateTime!", "When the rating was given or changed."),
    ])
}

pub async fn ratings_of(call: Call<'_>) -> ApiResult<Output> {
    let request = RATINGS.request(call.arguments, FIRST)?;
    let (viewer, plaudit) = (call.scope.viewer(), call.scope.plaudit());
    let (asker, is_moderator) = (viewer.user(plaudit).await?, viewer.has_role(Role::Moderator));
    let note = NoteId(call.entity()?.id);
    let ratings = ratings::ratings_of_note(plaudit, asker, is_moderator, note, &request).await?;
    Ok(RATINGS.page(&request, ratings.map(|rating| (rating.place, object(rating)))))
}

fn object(NoteRating { place, score }: NoteRating) -> Object {
    Object::record([
        ("user", UserId(place.id).into()),
        ("score", i64::from(score).into()),
        ("ratedAt", place.at().unwrap_or_default().into()),
    ])
}
