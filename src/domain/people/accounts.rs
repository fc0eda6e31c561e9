//! Accounts: the user of each token subject, created at the first action.

use std::sync::Arc;

use chrono::Utc;

use crate::{DomainError, DomainResult, Plaudit, ToldProfile, User, people::profiles};
use plaudit_catalogue::primitives::UserId;
use plaudit_store::redis::nodes::shards_of_nodes;

/// The user of a token's subject; `None` if the subject has not acted yet.
pub async fn find_user(plaudit: &Plaudit, subject: &str) -> DomainResult<Option<UserId>> {
    Ok(find_users(plaudit, &[subject]).await?.pop().flatten())
}

/// Users in the order of the subjects.
pub(crate) async fn find_users(plaudit: &Plaudit, subjects: &[&str]) -> DomainResult<Vec<Option<UserId>>> {
    let accounts = &plaudit.inner.accounts;
    let mut users = match accounts.find_many(subjects).await {
        Err(error) if error.is_redis_away() => {
            accounts.hearing.note_stale_read();
            accounts.rows(subjects).await?
        }
        found => found?,
    };
    for user in &mut users {
        // Known to be erased, without a look-up.
        *user = user.filter(|user| !matches!(plaudit.users().cached(*user), Some(None)));
    }
    Ok(users)
}

/// Remembers users that were created without an action of their own.
pub(crate) async fn users_created(plaudit: &Plaudit, users: &[(String, UserId)]) {
    let created = users.iter().map(|(subject, user)| (subject.as_str(), *user));
    if let Err(error) = plaudit.inner.accounts.created(created).await {
        tracing::debug!(%error, "cannot cache new users in Redis; they will be read from PostgreSQL");
    }
}

/// Waits until the subject has a user: not at all if this process creates it, else 2 s at most.
pub async fn user_to_come(plaudit: &Plaudit, subject: &str) -> UserId {
    plaudit.inner.accounts.wait(subject).await
}

/// The user of a token's subject, created at its first action. Takes what the token says about the user,
/// if that is newer than what is known. `is_service`: a suspension of the user does not hold, so that a
/// moderator cannot stop the app's own servers.
///
/// # Errors
/// [`DomainError::Suspended`].
pub async fn ensure_user(
    plaudit: &Plaudit,
    subject: &str,
    told: &ToldProfile<'_>,
    is_service: bool,
) -> DomainResult<UserId> {
    let user = ensure_account(plaudit, subject, told).await?;
    acts(plaudit, &user, told, is_service).await
}

/// The same for what makes nobody a user; `None` if the subject has none.
///
/// # Errors
/// [`DomainError::Suspended`].
pub async fn acting_user(
    plaudit: &Plaudit,
    subject: &str,
    told: &ToldProfile<'_>,
    is_service: bool,
) -> DomainResult<Option<UserId>> {
    match account(plaudit, subject).await? {
        Some(user) => acts(plaudit, &user, told, is_service).await.map(Some),
        None => Ok(None),
    }
}

/// [`ensure_user`] for what suspended users may do, too. Changes no profile.
pub async fn ensure_user_even_suspended(
    plaudit: &Plaudit,
    subject: &str,
    told: &ToldProfile<'_>,
) -> DomainResult<UserId> {
    Ok(ensure_account(plaudit, subject, told).await?.id)
}

async fn acts(
    plaudit: &Plaudit,
    user: &User,
    told: &ToldProfile<'_>,
    is_service: bool,
) -> DomainResult<UserId> {
    if !is_service {
        must_be_active(user)?;
    }
    profiles::take_profile_of_token(plaudit, user, told).await;
    Ok(user.id)
}

async fn ensure_account(plaudit: &Plaudit, subject: &str, told: &ToldProfile<'_>) -> DomainResult<Arc<User>> {
    match account(plaudit, subject).await? {
        Some(user) => Ok(user),
        None => {
            let mark = plaudit.users().mark();
            let user = plaudit.inner.accounts.create(subject, told).await?;
            plaudit.users().keep(&user, mark);
            Ok(user)
        }
    }
}

/// The subject's user, unless erased: then the subject comes back as a new user.
async fn account(plaudit: &Plaudit, subject: &str) -> DomainResult<Option<Arc<User>>> {
    let accounts = &plaudit.inner.accounts;
    let found = match accounts.find(subject).await {
        // The node that is away may have nothing but the user's id by this subject.
        Err(error) if error.is_redis_away() && shards_of_nodes::nodes_in_use(&accounts.redis).await? > 1 => {
            accounts.rows(&[subject]).await?.pop().flatten()
        }
        found => found?,
    };
    let Some(user) = found else { return Ok(None) };
    let user = standing(plaudit, user).await?;
    if user.is_none() {
        accounts.users.remove(subject);
    }
    Ok(user)
}

/// `None` for an erased user. A user who has acted lately can act although this process does not hear of changes, or
/// PostgreSQL is away. A suspension ends by the clock, so invalidations need to announce only its beginning, its change
/// and its lifting.
async fn standing(plaudit: &Plaudit, user: UserId) -> DomainResult<Option<Arc<User>>> {
    match plaudit.users().last_known(user) {
        Some(known) => Ok(Some(known)),
        None => Ok(plaudit.users().get_many(&[user]).await?.pop().flatten()),
    }
}

fn must_be_active(user: &User) -> DomainResult<()> {
    match user.suspended_until {
        Some(until) if until > Utc::now() => Err(DomainError::Suspended { until }),
        _ => Ok(()),
    }
}
