//! Coins: granted and taken by services, every grant a line of an append-only ledger.

use super::{
    DomainError, DomainResult, IdempotencyKey, Outcome, Plaudit, Reason, changes::Begun, keys::Operation,
    text::Text,
};
use crate::{
    catalogue::{Counter, EntityKind},
    primitives::UserId,
    store::sql::{self, Grant},
};

/// An amount of coins to give, or, below zero, to take; never zero.
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
        let message = format!("amount: from -{max} to {max}, and not zero; this is {raw}");
        Err(DomainError::bad_input("amount", message))
    }
}

impl Plaudit {
    /// Gives coins to a user, or takes some. Nobody has fewer than none.
    ///
    /// # Errors
    /// [`DomainError::NotFound`] for an unknown user; [`DomainError::BadInput`] with
    /// [`Reason::TooFewCoins`] when the user has fewer than are to be taken.
    pub async fn grant_coins(
        &self,
        service: UserId,
        user: UserId,
        amount: Amount,
        reason: Text,
        key: Option<&IdempotencyKey>,
    ) -> DomainResult<Outcome> {
        self.users().get(user).await?;
        let operation = Operation::new("grantCoins", &(user, amount.0, reason.as_str()));
        let mut change = match self.begin(service, key, &operation).await? {
            Begun::Before(outcome) => return Ok(outcome),
            Begun::New(change) => change,
        };
        let (db, tx) = change.sql();
        let totals = sql::lock_totals(db, tx, EntityKind::User, &[user.0]).await?;
        let balance = totals.get(&user.0).map_or(0, |counts| counts.get(Counter::UserCoins));
        let balance_after = balance + amount.0;
        if balance_after < 0 {
            return Err(too_few(balance));
        }
        let (reason, granted_by) = (reason.as_str(), service);
        sql::add_grant(db, tx, Grant { user, amount: amount.0, balance_after, reason, granted_by }).await?;
        change.count(user, Counter::UserCoins, amount.0);
        change.finish(true, None).await
    }
}

fn too_few(balance: i64) -> DomainError {
    DomainError::BadInput {
        argument: "amount",
        message: format!("amount: the user has {balance} coins, and cannot have fewer than none"),
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
