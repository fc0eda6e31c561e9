//! Coins, granted by services.

use futures_util::FutureExt;

use super::action::{Action, Mutation, Permission, created};
use crate::{
    definition::{resolve::Call, values::Output},
    errors::ApiResult,
    request::access::Who,
};
use plaudit_catalogue::primitives::UserId;
use plaudit_domain::{Amount, GRANT_REASON, Text, people::coins};

pub const MUTATIONS: &[Mutation] = &[Mutation {
    name: "grantCoins",
    permission: Permission::Write(Who::Service),
    description: "Gives coins to a user, or takes coins away; a balance is never negative. To undo a grant, grant the opposite amount. Send an idempotency key if you may have to retry. For services.",
    input: &[
        ("userId: ID!", "The user who receives them."),
        (
            "amount: Int!",
            "The amount: from -1000000 to 1000000, and not zero. A negative amount takes coins away.",
        ),
        ("reason: String!", "What for: 1 to 200 characters, kept in the ledger."),
    ],
    unchanged: None,
    payload: &[("user: User!", "The user, with the new counts.")],
    act: |call| grant_coins(call).boxed(),
}];

async fn grant_coins(call: Call<'_>) -> ApiResult<Output> {
    let action = Action::begin(call)?;
    let user: UserId = action.input.id("userId")?;
    let amount = Amount::parse(action.input.int("amount").unwrap_or_default().into())?;
    let reason = Text::parse(&action.input.text("reason").unwrap_or_default(), &GRANT_REASON)?;
    let service = action.actor().await?;
    coins::grant_coins(action.plaudit(), service, user, amount, reason, action.key()).await?;
    Ok(created([("user", user.into())]))
}
