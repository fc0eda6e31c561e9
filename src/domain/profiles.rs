//! Profiles: what users say about themselves.

use std::sync::Arc;

use super::{
    DomainResult, IdempotencyKey, ImageAddress, Plaudit, Text, User, keys::ActionCall,
    transaction::ActionStart,
};
use crate::primitives::{PageRequest, Slice, UserId};

pub use crate::store::sql::users::ByName;

/// New parts of a profile; `None` leaves one as it is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ProfileEdit {
    pub name: Option<Text>,
    /// `Some(None)` removes it.
    pub avatar_url: Option<Option<ImageAddress>>,
}

impl Plaudit {
    /// A page of users whose name begins with the prefix, by name. Without hidden users.
    pub async fn users_by_prefix(
        &self,
        prefix: &Text,
        page: &PageRequest<ByName>,
    ) -> DomainResult<Slice<ByName>> {
        Ok(self.inner.db.users_by_prefix(prefix.as_str(), page).await?)
    }

    /// Changes the actor's own profile. What is not given stays. Returns the user and whether anything changed.
    pub async fn update_profile(
        &self,
        actor: UserId,
        edit: &ProfileEdit,
        key: Option<&IdempotencyKey>,
    ) -> DomainResult<(Arc<User>, bool)> {
        let name = edit.name.as_ref().map(Text::as_str);
        let avatar_url = edit.avatar_url.as_ref().map(|address| address.as_ref().map(ImageAddress::as_str));
        let call = ActionCall::new("updateProfile", &(name, avatar_url));
        let outcome = match self.begin(actor, key, &call).await? {
            ActionStart::Repeated(outcome) => outcome,
            ActionStart::New(mut change) => {
                let is_other = change.tx().update_profile(actor, name, avatar_url).await?;
                if is_other {
                    change.touch(actor);
                }
                change.finish(is_other, None).await?
            }
        };
        Ok((self.users().get(actor).await?, outcome.changed))
    }
}
