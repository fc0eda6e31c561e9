//! What moderators do.

use async_graphql::{Context, ID, Object};

use super::{
    access::ByTable,
    actions::{Action, action_types},
    errors::ApiResult,
    ids::parse_as,
    notes::Note,
    prefetch::{Prefetch, Selection},
    scalars::Count,
    scope::Scope,
    users::User,
};
use crate::domain;

/// Whether a user's edges count, and how far that is settled: likes, collects, follows and memberships of
/// a hidden user count nowhere.
pub struct UserVisibility {
    visibility: domain::Visibility,
    scope: Scope,
}

#[Object]
impl UserVisibility {
    async fn user(&self) -> User {
        User::new(self.visibility.user, self.scope.clone())
    }

    async fn is_hidden(&self) -> bool {
        self.visibility.is_hidden
    }

    /// Edges gone through since the user was last hidden or restored.
    async fn settled_count(&self) -> Count {
        self.visibility.settled.into()
    }

    /// Edges to go through, as counted when the user was hidden or restored.
    async fn edge_count(&self) -> Count {
        self.visibility.total.into()
    }

    /// Whether all edges have been gone through.
    async fn is_settled(&self) -> bool {
        self.visibility.is_settled
    }
}

#[derive(Default)]
pub struct ModerationQueries;

#[Object(guard = "ByTable(\"Query\")")]
impl ModerationQueries {
    /// Whether a user is hidden, and how far that is settled. For moderators.
    async fn user_visibility(&self, ctx: &Context<'_>, user_id: ID) -> ApiResult<Option<UserVisibility>> {
        let scope = Scope::of(ctx);
        let visibility = scope.plaudit().visibility(parse_as("userId", &user_id)?).await?;
        Ok(Some(UserVisibility { visibility, scope: scope.clone() }))
    }
}

action_types! {
    HideUserInput {
        /// The user to hide.
        user_id: ID,
    }
    HideUserPayload {
        /// False when the user was hidden already.
        changed,
        /// How far it is settled; ask `userVisibility` again later.
        visibility: UserVisibility,
    }
    RestoreUserInput {
        /// The user to restore.
        user_id: ID,
    }
    RestoreUserPayload {
        /// False when the user was not hidden.
        changed,
        /// How far it is settled; ask `userVisibility` again later.
        visibility: UserVisibility,
    }
    FeatureNoteInput {
        /// The note to put forward.
        note_id: ID,
    }
    FeatureNotePayload {
        /// False when it was featured already.
        changed,
        /// The note.
        note: Note,
    }
    UnfeatureNoteInput {
        /// The note to put forward no longer.
        note_id: ID,
    }
    UnfeatureNotePayload {
        /// False when it was not featured.
        changed,
        /// The note.
        note: Note,
    }
}

#[derive(Default)]
pub struct ModerationMutations;

#[Object(guard = "ByTable(\"Mutation\")")]
impl ModerationMutations {
    /// Hides a user: what they like, collect, follow and join stops counting everywhere. What they do from
    /// now on does not count at once, the rest is settled in the background. For moderators.
    async fn hide_user(&self, ctx: &Context<'_>, input: HideUserInput) -> ApiResult<Option<HideUserPayload>> {
        let (changed, visibility) = set_hidden(ctx, &input.user_id, input.idempotency_key, true).await?;
        Ok(Some(HideUserPayload { changed, visibility }))
    }

    /// Lets a hidden user's edges count again. For moderators.
    async fn restore_user(
        &self,
        ctx: &Context<'_>,
        input: RestoreUserInput,
    ) -> ApiResult<Option<RestoreUserPayload>> {
        let (changed, visibility) = set_hidden(ctx, &input.user_id, input.idempotency_key, false).await?;
        Ok(Some(RestoreUserPayload { changed, visibility }))
    }

    /// Puts a note forward in its group. For moderators.
    async fn feature_note(
        &self,
        ctx: &Context<'_>,
        input: FeatureNoteInput,
    ) -> ApiResult<Option<FeatureNotePayload>> {
        let (changed, note) = set_featured(ctx, &input.note_id, input.idempotency_key, true).await?;
        Ok(Some(FeatureNotePayload { changed, note }))
    }

    /// Puts a note forward no longer. For moderators.
    async fn unfeature_note(
        &self,
        ctx: &Context<'_>,
        input: UnfeatureNoteInput,
    ) -> ApiResult<Option<UnfeatureNotePayload>> {
        let (changed, note) = set_featured(ctx, &input.note_id, input.idempotency_key, false).await?;
        Ok(Some(UnfeatureNotePayload { changed, note }))
    }
}

async fn set_hidden(
    ctx: &Context<'_>,
    user: &ID,
    key: Option<String>,
    hidden: bool,
) -> ApiResult<(bool, UserVisibility)> {
    let action = Action::begin(ctx, key)?;
    let user = parse_as("userId", user)?;
    let moderator = action.actor().await?;
    let outcome = action.plaudit().set_hidden(moderator, user, hidden, action.key()).await?;
    let visibility = action.plaudit().visibility(user).await?;
    let selection = Selection::of(ctx).inside("visibility").inside("user");
    let mut prefetch = Prefetch::default();
    prefetch.user(user, &selection);
    let scope = prefetch.read(&action.scope.renewed()).await;
    Ok((outcome.changed, UserVisibility { visibility, scope }))
}

async fn set_featured(
    ctx: &Context<'_>,
    note: &ID,
    key: Option<String>,
    on: bool,
) -> ApiResult<(bool, Note)> {
    let action = Action::begin(ctx, key)?;
    let note = parse_as("noteId", note)?;
    let moderator = action.actor().await?;
    let (note, changed) = action.plaudit().set_featured(moderator, note, on, action.key()).await?;
    let selection = Selection::of(ctx).inside("note");
    Ok((changed, Note::read_ahead(&note, &selection, &action.scope.renewed()).await))
}
