//! Coins, granted by services.

use async_graphql::{Context, ID, Object};

use super::action::{Action, action_types};
use crate::{
    domain::{Amount, GRANT_REASON, Text},
    graphql::{
        errors::ApiResult,
        objects::users::User,
        reading::{
            guards::ByTable,
            prefetch::{Prefetch, Selection},
        },
        request::ids::parse_as,
    },
    primitives::UserId,
};

action_types! {
    GrantCoinsInput {
        /// The user who receives them.
        user_id: ID,
        /// The amount: from -1000000 to 1000000, and not zero. A negative amount takes coins away.
        amount: i32,
        /// What for: 1 to 200 characters, kept in the ledger.
        reason: String,
    }
    GrantCoinsPayload {
        /// Always true: every grant is an entry of the ledger.
        changed,
        /// The user, with the new counts.
        user: User,
    }
}

#[derive(Default)]
pub struct CoinMutations;

#[Object(guard = "ByTable(\"Mutation\")")]
impl CoinMutations {
    /// Gives coins to a user, or takes coins away; a balance is never negative. To undo a grant, grant the
    /// opposite amount. Send an idempotency key if you may have to retry. For services.
    async fn grant_coins(
        &self,
        ctx: &Context<'_>,
        input: GrantCoinsInput,
    ) -> ApiResult<Option<GrantCoinsPayload>> {
        let action = Action::begin(ctx, input.idempotency_key)?;
        let user: UserId = parse_as("userId", &input.user_id)?;
        let amount = Amount::parse(input.amount.into())?;
        let reason = Text::parse(&input.reason, &GRANT_REASON)?;
        let service = action.actor().await?;
        let outcome = action.plaudit().grant_coins(service, user, amount, reason, action.key()).await?;
        let mut prefetch = Prefetch::default();
        prefetch.user(user, &Selection::of(ctx).inside("user"));
        let user = User::new(user, prefetch.read(&action.scope.renewed()).await);
        Ok(Some(GrantCoinsPayload { changed: outcome.changed, user }))
    }
}
