//! What tokens say about their users.

use chrono::{DateTime, Utc};

use crate::{ImageAddress, Text, USER_NAME, User, invisible::without_invisible};

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

/// The beginning of a name, if something of it can be shown.
fn name_of_user(name: &str) -> Option<Text> {
    let shown = without_invisible(name.trim(), USER_NAME.line_breaks);
    let beginning: String = shown.chars().take(USER_NAME.max).collect();
    Text::parse(&beginning, &USER_NAME).ok()
}
