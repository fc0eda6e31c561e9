//! The schema: all its types, and its text.

mod coercion;
mod engine_schema;

use std::{collections::HashMap, sync::LazyLock};

use async_graphql::{SDLExportOptions, dynamic::Schema as EngineSchema};

pub use coercion::coerced;
pub use engine_schema::{EngineOutcome, Noted, NotedObject, OnlyValidated, PathText, path_text};

use super::{
    definition::types::{EnumType, InputDefinition, ObjectType, connection, page_info_type},
    live::subscriptions::subscription,
    mutations,
    objects::{comments, groups, inbox, inbox_entries, notes, users, visibility},
    queries::{self, history, moderation, rankings},
};

/// The only interface: anything that has a global id.
pub const NODE: &str = "Node";

/// All types that are not scalars.
pub struct Schema {
    pub objects: HashMap<&'static str, ObjectType>,
    pub inputs: Vec<InputDefinition>,
    pub enums: Vec<EnumType>,
}

impl Schema {
    /// The only instance.
    pub fn get() -> &'static Self {
        static SCHEMA: LazyLock<Schema> = LazyLock::new(Schema::of_plaudit);
        &SCHEMA
    }

    fn of_plaudit() -> Self {
        let objects = [
            queries::query(),
            mutations::mutation(),
            subscription(),
            users::user(),
            notes::note(),
            comments::comment(),
            groups::group(),
            inbox::inbox(),
            inbox_entries::inbox_entry(),
            visibility::user_visibility(),
            history::activity_point(),
            moderation::pending_comment(),
            moderation::queue(),
            page_info_type(),
        ];
        let connections = ["User", "Note", "Comment", "Group", "InboxEntry", "PendingComment"];
        let objects = objects.into_iter().chain(connections.into_iter().flat_map(connection));
        let objects = objects.chain(mutations::payload_types());
        let enums = [
            comments::comment_sort(),
            comments::comment_state(),
            inbox_entries::inbox_entry_kind(),
            rankings::hot_window(),
            history::activity_kind(),
            history::activity_step(),
        ];
        Self {
            objects: objects.map(|object| (object.name, object)).collect(),
            inputs: mutations::input_types().collect(),
            enums: enums.into_iter().chain(mutations::enums()).collect(),
        }
    }

    pub fn object(&self, name: &str) -> Option<&ObjectType> {
        self.objects.get(name)
    }

    /// Types of the objects behind `Node`.
    pub fn nodes(&self) -> impl Iterator<Item = &ObjectType> {
        self.objects.values().filter(|object| object.is_node)
    }
}

/// Needs no stores: each request carries its scope. The guard limits what a request may cost before it is executed.
/// `suggestions`: whether errors name fields that the client may have meant.
pub fn build(suggestions: bool) -> EngineSchema {
    engine_schema::build(Schema::get(), suggestions)
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
    use std::collections::BTreeSet;

    use super::*;
    use crate::graphql::definition::types::{Resolve, named};

    #[test]
    fn every_field_of_an_object_that_ends_in_count_is_a_count() {
        let sdl = sdl();
        assert_eq!(sdl, super::sdl());
        for line in sdl.lines().filter(|line| line.contains("Count:")) {
            assert!(line.ends_with("Count: Count!"), "{line}");
        }
    }

    /// Fields that may differ between viewers, and that a subscription reaches through fields that are the same for all:
    /// the viewer's own state, private lists, data that only some may see. A subscription that selects one is executed
    /// for each viewer.
    const DIFFERENT: &[(&str, &str)] = &[
        ("Subscription", "inboxCountsChanged"),
        ("Note", "viewerHasLiked viewerHasCollected viewerRating viewerUnpublishedComments"),
        ("User", "viewerIsFollowing likedNotes collectedNotes inbox"),
        (
            "Comment",
            "viewerHasLiked body images mentions createdAt state rejectionReason isRemoved author replyTo parent
             note ratingAtWriting",
        ),
        ("Group", "viewerIsMember"),
    ];

    #[test]
    fn exactly_these_fields_that_a_subscription_can_reach_differ_between_viewers() {
        let schema = Schema::get();
        let (mut different, mut visited, mut to_visit) =
            (BTreeSet::new(), BTreeSet::new(), vec!["Subscription"]);
        while let Some(name) = to_visit.pop() {
            let Some(object) = schema.object(name).filter(|_| visited.insert(name)) else { continue };
            for field in &object.fields {
                if field.is_same_for_all {
                    assert!(!field.name.starts_with("viewer"), "{}.{}", object.name, field.name);
                    to_visit.extend(schema.object(named(&field.of)).map(|object| object.name));
                } else {
                    different.insert(format!("{}.{}", object.name, field.name));
                }
            }
        }
        let listed = DIFFERENT.iter().flat_map(|(object, fields)| {
            fields.split_whitespace().map(move |field| format!("{object}.{field}"))
        });
        assert_eq!(different, listed.collect());
        assert!(visited.contains("NoteConnection") && visited.contains("PageInfo"), "{visited:?}");
    }

    /// The rule is checked before the call.
    #[test]
    fn every_field_with_a_rule_is_one_that_calls_a_function_and_every_root_field_has_a_rule() {
        for object in Schema::get().objects.values() {
            for field in &object.fields {
                let is_root = ["Query", "Mutation", "Subscription"].contains(&object.name);
                let is_called = matches!(field.resolve, Resolve::Call(_) | Resolve::Watch(_));
                assert!(field.who.is_some() || !is_root, "{}.{} has no rule", object.name, field.name);
                assert!(
                    field.who.is_none() || is_called,
                    "{}.{} is shown without its rule",
                    object.name,
                    field.name
                );
            }
        }
    }

    #[test]
    fn every_type_of_a_field_is_in_the_schema() {
        let schema = Schema::get();
        let scalars = ["ID", "String", "Int", "Float", "Boolean", "Count", "CountsVersion", "DateTime", NODE];
        for object in schema.objects.values() {
            for field in &object.fields {
                let of = named(&field.of).as_str();
                let is_enum = schema.enums.iter().any(|of_enum| of_enum.name == of);
                let is_known = scalars.contains(&of) || is_enum || schema.object(of).is_some();
                assert!(is_known, "{}.{}: {of}", object.name, field.name);
            }
        }
    }
}
