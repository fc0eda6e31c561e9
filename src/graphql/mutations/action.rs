//! What all mutations have in common: who acts, with which idempotency key, and the shape of their types.

use async_graphql::Context;

use crate::{
    domain::{IdempotencyKey, Plaudit},
    graphql::{errors::ApiResult, reading::scope::Scope},
    primitives::UserId,
};

/// An action that is about to begin. Arguments are read after this and before [`Self::actor`], so that bad
/// input leaves nothing behind.
pub struct Action<'a> {
    pub scope: &'a Scope,
    key: Option<IdempotencyKey>,
}

impl<'a> Action<'a> {
    /// Of whoever may begin it: [`super::access`] has decided that.
    ///
    /// # Errors
    /// [`Code::BadUserInput`](crate::graphql::Code::BadUserInput) for a bad key.
    pub fn begin(ctx: &Context<'a>, key: Option<String>) -> ApiResult<Self> {
        Ok(Self { scope: Scope::of(ctx), key: key.map(IdempotencyKey::parse).transpose()? })
    }

    pub fn plaudit(&self) -> &'a Plaudit {
        self.scope.plaudit()
    }

    pub const fn key(&self) -> Option<&IdempotencyKey> {
        self.key.as_ref()
    }

    /// Who acts; created if this is their first action.
    pub async fn actor(&self) -> ApiResult<UserId> {
        self.scope.viewer().actor(self.plaudit()).await
    }
}

/// Declares the input and the payload of a mutation: each input has an idempotency key, and each payload
/// says whether anything changed.
macro_rules! action_types {
    ($($input:ident { $($(#[doc = $in_doc:literal])* $in_field:ident: $in_type:ty,)* }
       $payload:ident { $(#[doc = $doc:literal])* changed,
           $($(#[doc = $out_doc:literal])* $out_field:ident: $out_type:ty,)* })+) => {$(
        #[derive(async_graphql::InputObject)]
        struct $input {
            $($(#[doc = $in_doc])* $in_field: $in_type,)*
            /// Any text of at most 64 bytes. The same key within 24 hours gives the first result again and
            /// acts no second time.
            idempotency_key: Option<String>,
        }

        #[derive(async_graphql::SimpleObject)]
        struct $payload {
            $(#[doc = $doc])*
            changed: bool,
            $($(#[doc = $out_doc])* $out_field: $out_type,)*
        }
    )+};
}

pub(super) use action_types;
