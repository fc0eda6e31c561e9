//! Profiles of users.

use std::sync::Arc;

use chrono::{DateTime, Utc};

use crate::{
    DomainResult, IdempotencyKey, ImageAddress, Plaudit, Text, ToldProfile, User,
    keys::ActionCall,
    memory::token_profiles::ShownProfile,
    transaction::{self, ActionStart},
};
use plaudit_catalogue::primitives::{PageRequest, Slice, UserId};
use plaudit_store::sql::people::users;

pub use plaudit_store::sql::people::users::ByName;

/// New parts of a profile; `None` leaves one as it is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ProfileEdit {
    pub name: Option<Text>,
    /// `Some(None)` removes it.
    pub avatar_url: Option<Option<ImageAddress>>,
}

/// A page of users whose name begins with the prefix, by name. Without hidden users.
pub async fn users_by_prefix(
    plaudit: &Plaudit,
    prefix: &Text,
    page: &PageRequest<ByName>,
) -> DomainResult<Slice<ByName>> {
    Ok(users::users_by_prefix(&plaudit.inner.db, prefix.as_str(), page).await?)
}

/// Changes the actor's own profile. What is not given stays. Returns the user and whether anything changed.
pub async fn update_profile(
    plaudit: &Plaudit,
    actor: UserId,
    edit: &ProfileEdit,
    key: Option<&IdempotencyKey>,
) -> DomainResult<(Arc<User>, bool)> {
    let name = edit.name.as_ref().map(Text::as_str);
    let avatar_url = edit.avatar_url.as_ref().map(|address| address.as_ref().map(ImageAddress::as_str));
    let call = ActionCall::new("updateProfile", &(name, avatar_url));
    let outcome = match transaction::begin(plaudit, actor, key, &call).await? {
        ActionStart::Repeated(outcome) => outcome,
        ActionStart::New(mut change) => {
            let is_other = users::update_profile(change.tx(), actor, name, avatar_url).await?;
            if is_other {
                change.touch(actor);
            }
            change.finish(is_other, None).await?
        }
    };
    Ok((plaudit.users().get(actor).await?, outcome.changed))
}

/// Gives the user the name and the picture of a token that is newer than theirs, unless they or a service have set
/// them. Without a difference it reads and writes nothing. A failure is only logged: the action does not need it.
pub(crate) async fn take_profile_of_token(plaudit: &Plaudit, user: &User, told: &ToldProfile<'_>) {
    let is_newer = |as_of: &DateTime<Utc>| user.profile_as_of.is_some_and(|known| known < *as_of);
    if told.issued_at.as_ref().is_none_or(|issued_at| !is_newer(issued_at)) {
        return;
    }
    let shown = told.shown();
    let Some(as_of) = shown.as_of.filter(|_| !shown.is_that_of(user)) else { return };
    if !plaudit.inner.accounts.profiles_tried.is_first(&(user.id, as_of)) {
        return;
    }
    if let Err(error) = write_profile_of_token(plaudit, user.id, &shown, as_of).await {
        tracing::debug!(%error, "cannot take the profile of a token; a later action will");
    }
}

/// Counts as the action `updateProfile`.
async fn write_profile_of_token(
    plaudit: &Plaudit,
    user: UserId,
    shown: &ShownProfile,
    as_of: DateTime<Utc>,
) -> DomainResult<()> {
    let (name, avatar_url) = shown.parts();
    let call = ActionCall::new("updateProfile", &(name, avatar_url));
    if let ActionStart::New(mut change) = transaction::begin(plaudit, user, None, &call).await? {
        let is_other = users::take_profile_of_token(change.tx(), user, name, avatar_url, as_of).await?;
        if is_other {
            change.touch(user);
        }
        change.finish(is_other, None).await?;
    }
    Ok(())
}
