//! Coins: granted and taken by services. Every grant is a row of an append-only ledger.

use crate::{
    ActionOutcome, DomainError, DomainResult, IdempotencyKey, Plaudit, Reason, Text,
    keys::ActionCall,
    transaction::{self, ActionStart},
};
use plaudit_catalogue::{
    Counter, EntityKind,
    primitives::{PageRequest, Slice, UserId},
};
use plaudit_store::sql::{
    counting::counts,
    people::coins::{self, Grant},
};

pub use plaudit_store::sql::people::coins::CoinEntry;

/// Coins to give, or to take if negative; never zero.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Amount(i64);

impl Amount {
    const MAX: i64 = 1_000_000;

    /// # Errors
    /// [`DomainError::BadInput`] naming `amount`.
    pub fn parse(raw: i64) -> DomainResult<Self> {
        if raw != 0 && (-Self::MAX..=Self::MAX).contains(&raw) {
            return Ok(Self(raw));
        }
        let max = Self::MAX;
        let message = format!("amount: must be between -{max} and {max} and not 0; it is {raw}");
        Err(DomainError::bad_input("amount", message))
    }
}

/// A page of a user's ledger, newest first.
pub async fn coin_entries(
    plaudit: &Plaudit,
    user: UserId,
    page: &PageRequest,
) -> DomainResult<Slice<CoinEntry>> {
    Ok(coins::coin_entries(&plaudit.inner.db, user, page).await?)
}

/// Gives coins to a user, or takes some. A balance never becomes negative.
///
/// # Errors
/// [`DomainError::NotFound`] for an unknown user; [`DomainError::BadInput`] with
/// [`Reason::TooFewCoins`] if the user has fewer coins than are taken.
pub async fn grant_coins(
    plaudit: &Plaudit,
    service: UserId,
    user: UserId,
    amount: Amount,
    reason: Text,
    key: Option<&IdempotencyKey>,
) -> DomainResult<ActionOutcome> {
    plaudit.users().get(user).await?;
    let call = ActionCall::new("grantCoins", &(user, amount.0, reason.as_str()));
    let mut change = match transaction::begin(plaudit, service, key, &call).await? {
        ActionStart::Repeated(outcome) => return Ok(outcome),
        ActionStart::New(change) => change,
    };
    change.must_not_be_erased(&[user]).await?;
    let tx = change.tx();
    let totals = counts::lock_totals(tx, EntityKind::User, &[user.0]).await?;
    let balance = totals.get(&user.0).map_or(0, |counts| counts.get(Counter::UserCoins));
    let balance_after = balance + amount.0;
    if balance_after < 0 {
        return Err(too_few(balance));
    }
    let (reason, granted_by, created_at) = (reason.as_str(), service, None);
    let grant = Grant { user, amount: amount.0, balance_after, reason, granted_by, created_at };
    coins::add_grants(tx, &[grant]).await?;
    change.count(user, Counter::UserCoins, amount.0);
    change.finish(true, None).await
}

fn too_few(balance: i64) -> DomainError {
    DomainError::BadInput {
        argument: "amount",
        message: format!("amount: the user has only {balance} coins"),
        reason: Some(Reason::TooFewCoins),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_amount_is_not_zero_and_within_the_limits() {
        assert!(Amount::parse(1_000_000).is_ok() && Amount::parse(-1).is_ok());
        for bad in [0, 1_000_001, -1_000_001, i64::MIN] {
            assert!(Amount::parse(bad).is_err(), "{bad}");
        }
    }
}
