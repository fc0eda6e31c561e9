//! Users that a service creates before their first action, and profiles that it keeps up to date.

use plaudit_token_auth::Subject;

use super::{CreationTime, ElementOutcome, ElementResults, Thing, apply, results, until_uncontended};
use crate::{DomainResult, ImageAddress, Plaudit, Text, people::accounts, transaction};
use plaudit_catalogue::primitives::{Id, UserId};
use plaudit_store::sql::people::users::{self, KnownProfile, UserRow};

/// A user as the app knows them; what is `None` stays as it is.
#[derive(Clone, Debug)]
pub struct UserUpsert {
    pub subject: Subject,
    pub name: Option<Text>,
    /// `Some(None)`: without one.
    pub avatar_url: Option<Option<ImageAddress>>,
    /// Of a new user.
    pub created_at: Option<CreationTime>,
}

/// A user while the elements are applied.
struct Profile<'a> {
    /// `None`: new.
    id: Option<UserId>,
    subject: &'a str,
    /// `None` for a new user who gets a name made of the id.
    name: Option<String>,
    avatar_url: Option<String>,
    created_at: Option<CreationTime>,
    /// A token does not change it any more.
    is_settled: bool,
    is_other: bool,
}

/// Creates users by subject, or changes their profiles. No element is refused. An erased user's subject gets a new
/// user.
pub async fn upsert_users(plaudit: &Plaudit, users: &[UserUpsert]) -> DomainResult<ElementResults> {
    until_uncontended(|| try_upsert_users(plaudit, users)).await
}

/// `None` if somebody else created one of the users meanwhile.
async fn try_upsert_users(plaudit: &Plaudit, users: &[UserUpsert]) -> DomainResult<Option<ElementResults>> {
    let mut change = transaction::begin_without_key(plaudit, "upsertUsers").await?;
    let subjects: Vec<&str> = users.iter().map(|user| user.subject.as_str()).collect();
    let known = users::lock_users_by_subjects(change.tx(), &subjects).await?;
    let (mut profiles, steps) = apply::<Profile<'_>>(users, known, |_| Ok(()));
    let added = users::add_users(change.tx(), &new_rows(&profiles)).await?;
    for (subject, id) in &added {
        let new = profiles.iter_mut().find(|profile| profile.subject == subject);
        new.into_iter().for_each(|new| new.id = Some(*id));
    }
    if profiles.iter().any(|profile| profile.id.is_none()) {
        return Ok(None);
    }
    let is_new = |user: &UserId| added.iter().any(|(_, id)| id == user);
    let changed = profiles.iter().filter(|profile| profile.is_other);
    let changed: Vec<(UserId, &str, Option<&str>)> = changed
        .filter_map(|profile| Some((profile.id?, profile.name.as_deref()?, profile.avatar_url.as_deref())))
        .filter(|(user, ..)| !is_new(user))
        .collect();
    if !changed.is_empty() {
        users::set_profiles(change.tx(), &changed).await?;
    }
    changed.iter().for_each(|(user, ..)| change.touch(*user));
    change.finish(!(added.is_empty() && changed.is_empty()), None).await?;
    accounts::users_created(plaudit, &added).await;
    let ids: Vec<Option<Id>> = profiles.iter().map(|profile| profile.id.map(|user| user.0)).collect();
    results(steps, &ids).map(Some)
}

impl<'a> Thing<'a> for Profile<'a> {
    type Element = UserUpsert;
    type Known = KnownProfile;

    fn key(user: &'a UserUpsert) -> &'a str {
        user.subject.as_str()
    }

    fn known_key(known: &KnownProfile) -> &str {
        &known.subject
    }

    fn of(user: &'a UserUpsert, known: KnownProfile) -> Self {
        let KnownProfile { id, name, avatar_url, is_settled, .. } = known;
        let (id, subject, name, created_at) = (Some(id), user.subject.as_str(), Some(name), None);
        Self { id, subject, name, avatar_url, created_at, is_settled, is_other: false }
    }

    fn new(user: &'a UserUpsert) -> Self {
        let (subject, created_at) = (user.subject.as_str(), user.created_at);
        let (name, avatar_url, is_settled, is_other) = (None, None, false, false);
        let mut new = Self { id: None, subject, name, avatar_url, created_at, is_settled, is_other };
        new.set(user);
        new
    }

    fn take(&mut self, user: &UserUpsert) -> DomainResult<ElementOutcome> {
        Ok(if self.set(user) { ElementOutcome::Updated } else { ElementOutcome::Unchanged })
    }
}

impl Profile<'_> {
    /// Returns whether a field changed. From now on the app owns the profile, also what came from a token.
    fn set(&mut self, user: &UserUpsert) -> bool {
        let name = user.name.as_ref().map(|name| name.as_str().to_owned()).or_else(|| self.name.clone());
        let avatar_url = match &user.avatar_url {
            Some(address) => address.as_ref().map(|address| address.as_str().to_owned()),
            None => self.avatar_url.clone(),
        };
        let settles = !self.is_settled && (user.name.is_some() || user.avatar_url.is_some());
        let is_other = name != self.name || avatar_url != self.avatar_url || settles;
        self.is_settled |= settles;
        (self.name, self.avatar_url) = (name, avatar_url);
        self.is_other |= is_other;
        is_other
    }
}

/// In one order for all, so that two requests never wait for each other.
fn new_rows<'p>(profiles: &'p [Profile<'_>]) -> Vec<UserRow<'p>> {
    let new = profiles.iter().filter(|profile| profile.id.is_none());
    let mut rows: Vec<UserRow<'p>> = new
        .map(|profile| UserRow {
            subject: profile.subject,
            name: profile.name.as_deref(),
            avatar_url: profile.avatar_url.as_deref(),
            created_at: profile.created_at.map(|at| at.0),
        })
        .collect();
    rows.sort_unstable_by_key(|row| row.subject);
    rows
}
