//! What tokens say about their users.

use std::time::Duration;

use chrono::{DateTime, Utc};
use moka::sync::Cache;

use crate::{ImageAddress, Text, USER_NAME, User, invisible::without_invisible};
use plaudit_catalogue::primitives::UserId;

const CAPACITY: u64 = 100_000;
/// Pause between two attempts to take the profile of one token.
const PAUSE: Duration = Duration::from_secs(60);

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

    pub fn is_that_of(&self, user: &User) -> bool {
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
    pub fn begin(&self, user: UserId, as_of: DateTime<Utc>) -> bool {
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
