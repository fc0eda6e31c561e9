//! Profiles: what users say about themselves, and what their tokens say about them.

use std::{sync::Arc, time::Duration};

use chrono::{DateTime, Utc};
use moka::sync::Cache;

use crate::{
    DomainResult, IdempotencyKey, ImageAddress, Plaudit, Text, USER_NAME, User,
    invisible::without_invisible,
    keys::ActionCall,
    transaction::{self, ActionStart},
};
use plaudit_catalogue::primitives::{PageRequest, Slice, UserId};
use plaudit_store::sql::people::users;

pub use plaudit_store::sql::people::users::ByName;

const CAPACITY: u64 = 100_000;
/// Pause between two attempts to take the profile of one token.
const PAUSE: Duration = Duration::from_secs(60);

/// New parts of a profile; `None` leaves one as it is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ProfileEdit {
    pub name: Option<Text>,
    /// `Some(None)` removes it.
    pub avatar_url: Option<Option<ImageAddress>>,
}

/// What a token says about its user.
#[derive(Clone, Copy, Debug, Default)]
pub struct ToldProfile<'a> {
    pub name: Option<&'a str>,
    pub avatar_url: Option<&'a str>,
    /// The token's `iat`.
    pub issued_at: Option<DateTime<Utc>>,
}

/// The part of it that can be shown. The rest is no reason to refuse an action.
pub(crate) struct ShownProfile {
    name: Option<Text>,
    avatar_url: Option<ImageAddress>,
    /// `None` without a name and a picture, too.
    pub as_of: Option<DateTime<Utc>>,
}

/// Profiles of tokens that this process has lately tried to take: the user, and the `iat`. So requests at the same time
/// write once, and an outage of PostgreSQL delays one action and not all. Clones share one cache.
#[derive(Clone)]
pub(crate) struct TokenProfiles(Cache<UserId, DateTime<Utc>>);

impl ToldProfile<'_> {
    pub(crate) fn shown(&self) -> ShownProfile {
        let name = self.name.and_then(name_of_user);
        let avatar_url = self.avatar_url.and_then(|address| ImageAddress::parse("avatar", address).ok());
        let as_of = self.issued_at.filter(|_| name.is_some() || avatar_url.is_some());
        ShownProfile { name, avatar_url, as_of }
    }
}

impl ShownProfile {
    /// Name and address of the picture.
    pub fn parts(&self) -> (Option<&str>, Option<&str>) {
        (self.name.as_ref().map(Text::as_str), self.avatar_url.as_ref().map(ImageAddress::as_str))
    }

    fn is_that_of(&self, user: &User) -> bool {
        let (name, avatar_url) = self.parts();
        name.is_none_or(|name| name == user.name)
            && (avatar_url.is_none() || avatar_url == user.avatar_url.as_deref())
    }
}

impl TokenProfiles {
    pub fn new() -> Self {
        Self(Cache::builder().max_capacity(CAPACITY).time_to_live(PAUSE).build())
    }

    /// Whether this is the first attempt for a while with a token as new as this.
    fn begin(&self, user: UserId, as_of: DateTime<Utc>) -> bool {
        let is_first = self.0.get(&user).is_none_or(|tried| tried < as_of);
        if is_first {
            self.0.insert(user, as_of);
        }
        is_first
    }
}

/// The beginning of a name, if something of it can be shown.
fn name_of_user(name: &str) -> Option<Text> {
    let shown = without_invisible(name.trim(), USER_NAME.line_breaks);
    let beginning: String = shown.chars().take(USER_NAME.max).collect();
    Text::parse(&beginning, &USER_NAME).ok()
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
    if !plaudit.inner.accounts.token_profiles.begin(user.id, as_of) {
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
