//! The schema: its root types, and its text.

use async_graphql::{MergedObject, SDLExportOptions, Schema as EngineSchema};

use super::{
    live::subscriptions::Subscription,
    mutations::{
        coins::CoinMutations, collects::CollectMutations, comments::CommentMutations,
        follows::FollowMutations, groups::GroupMutations, inbox::InboxMutations, likes::LikeMutations,
        moderation::ModerationMutations, notes::NoteMutations, ratings::RatingMutations,
        views::ViewMutations, visibility::VisibilityMutations,
    },
    queries::{
        feed::FeedQueries, groups::GroupQueries, history::HistoryQueries, moderation::ModerationQueries,
        nodes::NodeQueries, notes::NoteQueries, rankings::RankingQueries, users::UserQueries,
        visibility::VisibilityQueries,
    },
};

/// How deep the engine follows fragments and selection sets: the largest value of the guard's own limit, which is
/// checked first.
const MAX_NESTING: usize = 64;

#[derive(MergedObject, Default)]
pub struct Query(
    UserQueries,
    NoteQueries,
    GroupQueries,
    NodeQueries,
    FeedQueries,
    RankingQueries,
    HistoryQueries,
    ModerationQueries,
    VisibilityQueries,
);

#[derive(MergedObject, Default)]
pub struct Mutation(
    NoteMutations,
    CommentMutations,
    RatingMutations,
    LikeMutations,
    CollectMutations,
    FollowMutations,
    GroupMutations,
    ViewMutations,
    CoinMutations,
    InboxMutations,
    ModerationMutations,
    VisibilityMutations,
);

pub type Schema = EngineSchema<Query, Mutation, Subscription>;

/// Needs no stores: each request carries its scope. The guard limits what a request may cost before it is executed.
/// `suggestions`: whether errors name fields that the client may have meant.
pub fn build(suggestions: bool) -> Schema {
    let schema =
        Schema::build(Query::default(), Mutation::default(), Subscription).limit_recursive_depth(MAX_NESTING);
    if suggestions { schema.finish() } else { schema.disable_suggestions().finish() }
}

/// The schema as text, always in the same order.
pub fn sdl() -> String {
    let options = SDLExportOptions::new()
        .sorted_fields()
        .sorted_arguments()
        .sorted_enum_items()
        .include_specified_by()
        .use_space_ident();
    build(false).sdl_with_options(options)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_of_an_object_that_ends_in_count_is_a_count() {
        let sdl = sdl();
        assert_eq!(sdl, super::sdl());
        for line in sdl.lines().filter(|line| line.contains("Count:")) {
            assert!(line.ends_with("Count: Count!"), "{line}");
        }
    }
}
