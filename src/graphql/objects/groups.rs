//! Groups.

use futures_util::FutureExt;

use super::{
    lists::{NOTE_ORDER, page_of_actors, page_of_hottest_notes, page_of_notes, wants_hottest},
    nodes::{ID, id},
};
use crate::{
    definition::{
        interfaces::NODE,
        pages::{self, FIRST, List},
        resolve::{Call, Resolve, count, link, own, row},
        types::ObjectType,
        values::{Output, Scalar},
    },
    errors::ApiResult,
};
use plaudit_catalogue::{Counter, EdgeKind, primitives::GroupId};
use plaudit_domain::{GROUP_DESCRIPTION, GROUP_NAME, NotesOf, content::notes};

const NOTES: List = List("groupNotes");
const HOTTEST: List = List("hottestNotesOfGroup");
const MEMBERS: List = List("members");

pub fn group() -> ObjectType {
    let page = pages::arguments(FIRST);
    ObjectType::new(
        "Group",
        "A group of users who post together. All counts of one object are from the same moment.",
    )
    .key("id")
    .key("key")
    .implements(NODE)
    .field("id: ID!", ID, id())
    .field(
        "key: String",
        "The app's own id of it, which `ID` arguments take as `group:<key>`. Null for none.",
        row(|of| Ok(of.group()?.key.as_deref().into())),
    )
    .field("name: String!", "The name that users see.", row(|of| Ok(of.group()?.name.as_str().into())))
    .field(
        "description: String!",
        "What it is about. Empty if its owner did not say.",
        row(|of| Ok(of.group()?.description.as_str().into())),
    )
    .field("createdAt: DateTime!", "When it was created.", row(|of| Ok(of.group()?.created_at.into())))
    .field(
        "editedAt: DateTime",
        "When name or description were last changed. Null if they were never.",
        row(|of| Ok(of.group()?.edited_at.map(Scalar::Time).into())),
    )
    .field(
        "owner: User",
        "The user who created the group. Null if the user no longer exists.",
        link(|of| Ok(of.group()?.owner.into())),
    )
    .field("memberCount: Count!", "The number of members.", count(Counter::GroupMembers))
    .field("noteCount: Count!", "The number of notes in the group.", count(Counter::GroupNotes))
    .field(
        "featuredNoteCount: Count!",
        "The number of featured notes in the group.",
        count(Counter::GroupFeaturedNotes),
    )
    .field(
        "viewerIsMember: Boolean",
        "Whether you are a member. Null without a token.",
        own(EdgeKind::GroupJoin),
    )
    .field(
        &format!("notes({NOTE_ORDER}, {}: NoteConnection", &page[1..]),
        "Notes in the group.",
        Resolve::Call(|call| notes(call).boxed()),
    )
    .same_for_all()
    .field(
        &format!("members{page}: MemberConnection"),
        "The members, the latest joined first.",
        Resolve::Call(|call| members(call).boxed()),
    )
    .same_for_all()
    .long_text("name", GROUP_NAME.max_bytes())
    .long_text("description", GROUP_DESCRIPTION.max_bytes())
    .counts_version()
}

fn group_of(call: &Call<'_>) -> ApiResult<GroupId> {
    call.entity().map(|entity| GroupId(entity.id))
}

async fn notes(call: Call<'_>) -> ApiResult<Output> {
    let of = group_of(&call)?;
    if wants_hottest(&call) {
        return page_of_hottest_notes(HOTTEST, NotesOf::Group(of), call).await;
    }
    let request = NOTES.request(call.arguments, FIRST)?;
    let notes = notes::notes_of_group(call.scope.plaudit(), of, request).await?;
    page_of_notes(NOTES, &request, notes, call).await
}

async fn members(call: Call<'_>) -> ApiResult<Output> {
    page_of_actors(MEMBERS, EdgeKind::GroupJoin, group_of(&call)?.0, call).await
}
