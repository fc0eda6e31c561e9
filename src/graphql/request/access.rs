//! Access table: who may use which root field, and which private field of a type.
//!
//! The access guards (`src/graphql/reading/guards.rs`) check it before a field is resolved.
//! docs/reference/rights.md has the table; tests compare the two, demand a rule for each root field, and try
//! every rule with every role.

use std::{collections::HashMap, sync::LazyLock};

use Who::{Anyone, Author, AuthorOrModerator, Moderator, Oneself, Service, SignedIn};

use super::viewer::Viewer;
use plaudit_token_auth::Role;

use crate::errors::{ApiError, ApiResult};

/// Who may use a field.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Who {
    /// Also without a token.
    Anyone,
    /// Everybody with a token, of any role.
    SignedIn,
    /// The author of a note or comment. The domain decides, because the object is not known yet here; this check only
    /// needs a token.
    Author,
    /// The user who is named, moderators and services. The domain decides, as for [`Self::Author`].
    Oneself,
    /// The author of the object, the owner of the group, and moderators. The domain decides, as for [`Self::Author`].
    AuthorOrModerator,
    Moderator,
    Service,
}

impl Who {
    /// The name in docs/reference/rights.md.
    pub const fn name(self) -> &'static str {
        match self {
            Anyone => "anyone",
            SignedIn => "signed in",
            Author => "author",
            AuthorOrModerator => "author, moderator",
            Oneself => "oneself, moderator, service",
            Moderator => "moderator",
            Service => "service",
        }
    }
}

/// A field of a type, and who may use it.
pub type Rule = (&'static str, &'static str, Who);

pub const RULES: &[Rule] = &[
    ("Query", "_entities", Anyone),
    ("Query", "_service", Anyone),
    ("Query", "events", Service),
    ("Query", "explain", Moderator),
    ("Query", "exportUser", Oneself),
    ("Query", "feed", Anyone),
    ("Query", "followingFeed", SignedIn),
    ("Query", "group", Anyone),
    ("Query", "groups", Anyone),
    ("Query", "hotNotes", Anyone),
    ("Query", "node", Anyone),
    ("Query", "nodes", Anyone),
    ("Query", "note", Anyone),
    ("Query", "notesByKey", Anyone),
    ("Query", "reportedObjects", Moderator),
    ("Query", "reviewQueue", Moderator),
    ("Query", "undecidedComments", Moderator),
    ("Query", "undecidedNotes", Moderator),
    ("Query", "user", Anyone),
    ("Query", "userBySubject", Anyone),
    ("Query", "users", Anyone),
    ("Query", "viewer", Anyone),
    ("Mutation", "addComment", SignedIn),
    ("Mutation", "approveComment", Moderator),
    ("Mutation", "approveNote", Moderator),
    ("Mutation", "collectNote", SignedIn),
    ("Mutation", "createGroup", SignedIn),
    ("Mutation", "createNote", SignedIn),
    ("Mutation", "decideReports", Moderator),
    ("Mutation", "deleteComment", AuthorOrModerator),
    ("Mutation", "deleteGroup", AuthorOrModerator),
    ("Mutation", "deleteNote", AuthorOrModerator),
    ("Mutation", "eraseUser", Oneself),
    ("Mutation", "featureNote", AuthorOrModerator),
    ("Mutation", "follow", SignedIn),
    ("Mutation", "grantCoins", Service),
    ("Mutation", "hideUser", Moderator),
    ("Mutation", "joinGroup", SignedIn),
    ("Mutation", "leaveGroup", SignedIn),
    ("Mutation", "likeComment", SignedIn),
    ("Mutation", "likeNote", SignedIn),
    ("Mutation", "markInboxRead", SignedIn),
    ("Mutation", "rateNote", SignedIn),
    ("Mutation", "recordMessage", Service),
    ("Mutation", "recordViews", Anyone),
    ("Mutation", "rejectComment", Moderator),
    ("Mutation", "rejectNote", Moderator),
    ("Mutation", "removeGroupMember", AuthorOrModerator),
    ("Mutation", "removeGroupNote", AuthorOrModerator),
    ("Mutation", "removeNotes", Service),
    ("Mutation", "reportComment", SignedIn),
    ("Mutation", "reportNote", SignedIn),
    ("Mutation", "restoreUser", Moderator),
    ("Mutation", "suspendUser", Moderator),
    ("Mutation", "uncollectNote", SignedIn),
    ("Mutation", "unfeatureNote", AuthorOrModerator),
    ("Mutation", "unfollow", SignedIn),
    ("Mutation", "unlikeComment", SignedIn),
    ("Mutation", "unlikeNote", SignedIn),
    ("Mutation", "unrateNote", SignedIn),
    ("Mutation", "unsuspendUser", Moderator),
    ("Mutation", "updateComment", Author),
    ("Mutation", "updateGroup", AuthorOrModerator),
    ("Mutation", "updateNote", Author),
    ("Mutation", "updateProfile", SignedIn),
    ("Mutation", "upsertGroups", Service),
    ("Mutation", "upsertNotes", Service),
    ("Mutation", "upsertUsers", Service),
    ("Subscription", "commentCountsChanged", Anyone),
    ("Subscription", "events", Service),
    ("Subscription", "feedChanged", Anyone),
    ("Subscription", "groupCountsChanged", Anyone),
    ("Subscription", "inboxCountsChanged", SignedIn),
    ("Subscription", "inboxEntryAdded", SignedIn),
    ("Subscription", "noteCommentsChanged", Anyone),
    ("Subscription", "noteCountsChanged", Anyone),
    ("Subscription", "reviewQueueChanged", Moderator),
    ("Subscription", "userCountsChanged", Anyone),
    ("Note", "activity", AuthorOrModerator),
    ("Note", "ratings", AuthorOrModerator),
    ("User", "suspension", Moderator),
    ("User", "visibility", Moderator),
];

/// Mutations that create something that others see.
const CREATIONS: &[&str] = &[
    "addComment",
    "createGroup",
    "createNote",
    "recordMessage",
    "reportComment",
    "reportNote",
    "upsertGroups",
    "upsertNotes",
    "upsertUsers",
];

pub fn is_creation(mutation: &str) -> bool {
    CREATIONS.contains(&mutation)
}

pub const MODERATORS_ONLY: &str = "this needs a token with the role moderator";

/// The rate class of a field, by its name in docs/reference/rights.md.
pub fn counts_as(of_type: &str, field: &str) -> &'static str {
    match of_type {
        "Query" | "Subscription" => "read",
        "Mutation" if is_creation(field) => "creation",
        "Mutation" => "write",
        _ => "",
    }
}

/// The name of a field as a constant of the table, if it has a rule.
pub fn field_in_table(of_type: &str, field: &str) -> Option<&'static str> {
    RULES.iter().find(|rule| rule.0 == of_type && rule.1 == field).map(|rule| rule.1)
}

/// For endpoints outside of the schema that only moderators may use.
///
/// # Errors
/// As for a field for moderators.
pub fn must_be_moderator(viewer: &Viewer) -> ApiResult<()> {
    viewer.must_be_signed_in()?;
    if viewer.has_role(Role::Moderator) { Ok(()) } else { Err(ApiError::forbidden(MODERATORS_ONLY)) }
}

/// Who may use a field; `None` for one that is not in the table.
pub fn rule(of_type: &'static str, field: &str) -> Option<Who> {
    static BY_NAME: LazyLock<HashMap<(&str, &str), Who>> =
        LazyLock::new(|| RULES.iter().map(|(of_type, field, who)| ((*of_type, *field), *who)).collect());
    BY_NAME.get(&(of_type, field)).copied()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::schema::Schema;
    use plaudit_domain::ACTIONS;

    fn fields(of_type: &str) -> BTreeSet<&'static str> {
        Schema::get().object(of_type).unwrap().fields.iter().map(|field| field.name).collect()
    }

    #[test]
    fn every_root_field_has_a_rule_and_every_rule_a_field() {
        for root in ["Query", "Mutation", "Subscription"] {
            let lines = RULES.iter().filter(|rule| rule.0 == root).map(|rule| rule.1);
            assert_eq!(lines.collect::<BTreeSet<_>>(), fields(root), "{root}");
        }
        for (of_type, field, _) in RULES {
            assert!(fields(of_type).contains(field), "{of_type}.{field}");
        }
        for mutation in CREATIONS {
            assert!(fields("Mutation").contains(mutation), "{mutation}");
        }
        let distinct: BTreeSet<_> = RULES.iter().map(|(of_type, field, _)| (of_type, field)).collect();
        assert_eq!(distinct.len(), RULES.len());
    }

    #[test]
    fn every_mutation_is_an_action() {
        let counted: BTreeSet<_> = ACTIONS.iter().map(|(action, ..)| *action).collect();
        let mutations = RULES.iter().filter(|rule| rule.0 == "Mutation").map(|rule| rule.1);
        assert_eq!(counted, mutations.collect());
    }
}
