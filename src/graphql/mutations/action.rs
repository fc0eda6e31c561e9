//! What all mutations share: the acting user, the idempotency key, and the form of inputs and payloads.

use async_graphql::Context;

use crate::{
    domain::{IdempotencyKey, Plaudit},
    graphql::{errors::ApiResult, reading::scope::Scope},
    primitives::UserId,
};

/// A mutation that is about to start. Arguments are parsed after [`Self::begin`] and before [`Self::actor`],
/// so that bad input does not create a user.
pub struct Action<'a> {
    pub scope: &'a Scope,
    key: Option<IdempotencyKey>,
}

impl<'a> Action<'a> {
    /// The caller's right to act was checked before, by the [access guards](crate::graphql::reading::guards).
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

    /// The acting user, created at the first action.
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
            /// Any text of at most 64 bytes. A request with the same key within 24 hours returns the first
            /// result and changes nothing.
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
