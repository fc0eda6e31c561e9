//! Export of all that is held of one user.

use futures_util::FutureExt;
use plaudit_token_auth::Role;

use crate::{
    definition::{
        pages::{self, FIRST, List, ListKey},
        resolve::{Call, Resolve},
        types::ObjectType,
        values::{Object, Output},
    },
    errors::{ApiError, ApiResult},
    request::access::Who,
};
use plaudit_catalogue::primitives::{PageRequest, UserId};
use plaudit_domain::{ExportPosition, people::erasure};

const RECORDS: List = List("exportedRecords");

impl ListKey for ExportPosition {}

pub fn export(query: ObjectType) -> ObjectType {
    query
        .field(
            &format!(
                "exportUser(\"The user.\" userId: ID!, {}: ExportedRecordConnection",
                &pages::arguments(FIRST)[1..]
            ),
            "All that is held of a user. For the user, moderators and services.",
            Resolve::Call(|call| export_user(call).boxed()),
        )
        .who(Who::Oneself)
}

pub fn exported_record() -> ObjectType {
    ObjectType::new("ExportedRecord", "Something that is held of a user.").parts([
        ("kind: String!", "What it is: `user`, `note`, `comment`, `group`, `rating`, `report`, `inboxEntry`, `coins`, or a kind of edge."),
        ("json: String!", "The record, as a JSON object on one line."),
    ])
}

async fn export_user(call: Call<'_>) -> ApiResult<Output> {
    let user: UserId = call.arguments.id("userId")?;
    let request: PageRequest<ExportPosition> = RECORDS.request(call.arguments, FIRST)?;
    let (plaudit, viewer) = (call.scope.plaudit(), call.scope.viewer());
    let is_trusted = viewer.has_role(Role::Moderator) || viewer.has_role(Role::Service);
    if !is_trusted && viewer.user(plaudit).await? != Some(user) {
        return Err(ApiError::forbidden("only the user, moderators and services can export a user"));
    }
    let records = erasure::export_user(plaudit, user, &request).await?;
    let records = records.map(|record| {
        let parts = [("kind", record.kind.to_owned().into()), ("json", record.json.into())];
        (record.position, Object::record(parts))
    });
    Ok(RECORDS.page(&request, records))
}
