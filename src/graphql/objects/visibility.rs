//! Whether a user is hidden.

use async_graphql::Object;

use super::users::User;
use crate::{
    domain,
    graphql::{reading::scope::Scope, request::scalars::Count},
};

/// Whether a user's edges count, and how far that is settled: likes, collects, follows and memberships of
/// a hidden user count nowhere.
pub struct UserVisibility {
    pub visibility: domain::Visibility,
    pub scope: Scope,
}

#[Object]
impl UserVisibility {
    async fn user(&self) -> User {
        User::new(self.visibility.user, self.scope.clone())
    }

    async fn is_hidden(&self) -> bool {
        self.visibility.is_hidden
    }

    /// Edges gone through since the user was last hidden or restored.
    async fn settled_count(&self) -> Count {
        self.visibility.done.into()
    }

    /// Edges to go through, as counted when the user was hidden or restored.
    async fn edge_count(&self) -> Count {
        self.visibility.total.into()
    }

    /// Whether all edges have been gone through.
    async fn is_finished(&self) -> bool {
        self.visibility.is_finished
    }
}
