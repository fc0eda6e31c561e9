//! Whether a user is hidden.

use async_graphql::Object;

use super::users::User;
use crate::{
    domain,
    graphql::{reading::scope::Scope, request::scalars::Count},
};

/// Whether a user is hidden, and how far the recount is. Likes, collects, follows and memberships of a hidden
/// user do not count.
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

    /// Edges recounted since the user was last hidden or restored.
    async fn settled_count(&self) -> Count {
        self.visibility.done.into()
    }

    /// Edges to recount, as counted when the user was hidden or restored.
    async fn edge_count(&self) -> Count {
        self.visibility.total.into()
    }

    /// Whether all edges have been recounted.
    async fn is_settled(&self) -> bool {
        self.visibility.is_finished
    }
}
