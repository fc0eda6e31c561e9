//! The roots of the schema, and the limits of a request.

use async_graphql::{MergedObject, SDLExportOptions, Schema as EngineSchema};

use super::{
    coins::CoinMutations,
    collects::CollectMutations,
    commenting::CommentMutations,
    feed::FeedQueries,
    follows::FollowMutations,
    groups::{GroupMutations, GroupQueries},
    history::HistoryQueries,
    hot::HotQueries,
    inbox::InboxMutations,
    likes::LikeMutations,
    live::Subscription,
    moderation::{ModerationMutations, ModerationQueries},
    nodes::NodeQueries,
    notes::NoteQueries,
    posting::PostingMutations,
    users::UserQueries,
    verdicts::{VerdictMutations, VerdictQueries},
    views::ViewMutations,
};

/// Deep enough for the introspection query of every common client.
const MAX_DEPTH: usize = 15;
/// Fields of all objects that an answer may have at most, counted before anything is read.
const MAX_COMPLEXITY: usize = 5_000;
/// How deep selection sets and fragments may be nested.
const MAX_NESTING: usize = 32;
/// Directives of one field.
const MAX_DIRECTIVES: usize = 8;

#[derive(MergedObject, Default)]
pub struct Query(
    UserQueries,
    NoteQueries,
    GroupQueries,
    FeedQueries,
    HotQueries,
    NodeQueries,
    HistoryQueries,
    ModerationQueries,
    VerdictQueries,
);

#[derive(MergedObject, Default)]
pub struct Mutation(
    LikeMutations,
    CollectMutations,
    FollowMutations,
    ViewMutations,
    GroupMutations,
    PostingMutations,
    InboxMutations,
    CoinMutations,
    ModerationMutations,
    CommentMutations,
    VerdictMutations,
);

pub type Schema = EngineSchema<Query, Mutation, Subscription>;

/// Needs no stores: requests bring theirs along.
pub fn build() -> Schema {
    Schema::build(Query::default(), Mutation::default(), Subscription)
        .limit_depth(MAX_DEPTH)
        .limit_complexity(MAX_COMPLEXITY)
        .limit_recursive_depth(MAX_NESTING)
        .limit_directives(MAX_DIRECTIVES)
        .finish()
}

/// The schema as text, always in the same order.
pub fn sdl() -> String {
    let options = SDLExportOptions::new()
        .sorted_fields()
        .sorted_arguments()
        .sorted_enum_items()
        .include_specified_by()
        .use_space_ident();
    build().sdl_with_options(options)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What GraphiQL sends at its start: the deepest and most complex query that every schema must answer.
    const INTROSPECTION: &str = "
        { __schema {
            description queryType { name kind } mutationType { name kind } subscriptionType { name kind }
            types { ...FullType }
            directives { name description isRepeatable locations args(includeDeprecated: true) { ...Input } }
        } }
        fragment FullType on __Type {
            kind name description specifiedByURL isOneOf
            fields(includeDeprecated: true) {
                name description args(includeDeprecated: true) { ...Input } type { ...TypeRef }
                isDeprecated deprecationReason
            }
            inputFields(includeDeprecated: true) { ...Input }
            interfaces { ...TypeRef }
            enumValues(includeDeprecated: true) { name description isDeprecated deprecationReason }
            possibleTypes { ...TypeRef }
        }
        fragment Input on __InputValue {
            name description type { ...TypeRef } defaultValue isDeprecated deprecationReason
        }
        fragment TypeRef on __Type {
            kind name ofType { kind name ofType { kind name ofType { kind name ofType { kind name
            ofType { kind name ofType { kind name ofType { kind name ofType { kind name
            ofType { kind name } } } } } } } } }
        }";

    #[tokio::test]
    async fn graphiqls_introspection_is_within_the_limits() {
        let response = build().execute(INTROSPECTION).await;
        assert_eq!(response.errors, []);
    }

    #[test]
    fn every_field_of_an_object_that_ends_in_count_is_a_count() {
        let sdl = sdl();
        assert_eq!(sdl, super::sdl());
        for line in sdl.lines().filter(|line| line.contains("Count:")) {
            assert!(line.ends_with("Count: Count!"), "{line}");
        }
    }
}
