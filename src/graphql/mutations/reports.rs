//! Reporting notes and comments.

use futures_util::FutureExt;

use super::action::{Action, Mutation, Permission, payload};
use crate::{
    definition::{
        resolve::Call,
        values::{Object, Output},
    },
    errors::ApiResult,
    objects::reports::reason_named,
    request::access::Who,
};
use plaudit_catalogue::primitives::{CommentId, NoteId};
use plaudit_domain::{Judged, NewReport, REPORT_TEXT, moderation::reports};

const TEXT: (&str, &str) = ("text: String", "More about it, for moderators: 1 to 1000 characters.");
const REASON: (&str, &str) = ("reason: ReportReason!", "Why you report it.");

pub const MUTATIONS: &[Mutation] = &[
    Mutation {
        name: "reportNote",
        permission: Permission::Create(Who::SignedIn),
        description: "Reports somebody else's note to the moderators. Its author does not learn of it. Until a moderator decides, you have one report of a note: another one replaces its reason and text.",
        input: &[("noteId: ID!", "The note to report."), REASON, TEXT],
        unchanged: Some("False when you had reported it with this reason and text already."),
        payload: &[("note: Note!", "The note.")],
        act: |call| report(call, Judged::Note).boxed(),
    },
    Mutation {
        name: "reportComment",
        permission: Permission::Create(Who::SignedIn),
        description: "Reports somebody else's comment to the moderators. Its author does not learn of it. Until a moderator decides, you have one report of a comment: another one replaces its reason and text.",
        input: &[("commentId: ID!", "The comment to report."), REASON, TEXT],
        unchanged: Some("False when you had reported it with this reason and text already."),
        payload: &[("comment: Comment!", "The comment.")],
        act: |call| report(call, Judged::Comment).boxed(),
    },
];

async fn report(call: Call<'_>, kind: Judged) -> ApiResult<Output> {
    let action = Action::begin(call)?;
    let id = match kind {
        Judged::Note => action.input.id::<NoteId>("noteId")?.0,
        Judged::Comment => action.input.id::<CommentId>("commentId")?.0,
    };
    let reason = reason_named(&action.input.text("reason").unwrap_or_default());
    let report = NewReport { reason, text: action.optional_text(&REPORT_TEXT)? };
    let reporter = action.actor().await?;
    let changed = reports::report(action.plaudit(), reporter, (kind, id), &report, action.key()).await?;
    Ok(payload(changed, [(kind.name(), Object::of(kind.entity(id)).into())]))
}
