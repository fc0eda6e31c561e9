//! The schema: all its types, and its text.

mod canonical_ids;
mod coercion;
mod engine_schema;
mod subgraph;

use std::sync::LazyLock;

use async_graphql::{SDLExportOptions, dynamic::Schema as EngineSchema};

pub use canonical_ids::{with_canonical_ids, with_canonical_variables};
pub use coercion::coerced;
use subgraph::{service, with_service};

use super::{
    definition::{
        connections::{Connection, page_info_type},
        schema::Schema,
        types::Field,
    },
    live::{changes::change_types, subscriptions::subscription},
    mutations,
    objects::{
        activity, coins, comments, events, groups, inbox, inbox_badges, inbox_entries, lists::note_order,
        moderation_states, notes, pending_edits, ratings, reports, suspension, users, viewer, visibility,
    },
    queries::{self, export, lists, moderation, rankings},
    request::access::Who,
};

/// All lists.
const CONNECTIONS: [Connection; 19] = [
    Connection::of("User"),
    Connection::of("Group"),
    Connection::of("Note"),
    Connection::of("Comment"),
    Connection::of("NoteRating"),
    Connection::of("InboxEntry"),
    Connection::of("CoinEntry"),
    Connection::of("ReviewItem"),
    Connection::of("Report"),
    Connection::of("ExportedRecord"),
    Connection::of("Event"),
    Connection::along("Liker", "User", "likedAt", "When the user liked it."),
    Connection::along("Follower", "User", "followedAt", "When the follow began."),
    Connection::along("FollowedUser", "User", "followedAt", "When the follow began."),
    Connection::along("Member", "User", "joinedAt", "When the user joined."),
    Connection::along("JoinedGroup", "Group", "joinedAt", "When the user joined."),
    Connection::along("LikedNote", "Note", "likedAt", "When you liked it."),
    Connection::along("LikedComment", "Comment", "likedAt", "When you liked it."),
    Connection::along("CollectedNote", "Note", "collectedAt", "When you collected it."),
];

/// The only instance.
pub fn get() -> &'static Schema {
    static SCHEMA: LazyLock<Schema> = LazyLock::new(schema);
    &SCHEMA
}

fn schema() -> Schema {
    let objects = [
        with_service(queries::query()),
        service(),
        mutations::mutation(),
        subscription(),
        users::user(),
        notes::note(),
        comments::comment(),
        pending_edits::written_text(),
        groups::group(),
        inbox::inbox(),
        inbox_entries::inbox_entry(),
        viewer::viewer(),
        visibility::user_visibility(),
        suspension::suspension_type(),
        reports::review_item_type(),
        reports::report(),
        reports::reason_count(),
        activity::activity_point(),
        ratings::note_rating(),
        coins::coin_entry(),
        export::exported_record(),
        events::event_object_type(),
        events::message_object(),
        moderation::queue(),
        page_info_type(),
    ];
    let objects = objects.into_iter().chain(CONNECTIONS.iter().flat_map(Connection::types));
    let objects = objects.chain(mutations::payload_types());
    let objects = objects.chain(change_types()).chain(mutations::result_types());
    let enums = [
        comments::comment_order(),
        lists::group_order(),
        note_order(),
        moderation_states::moderation_state(),
        inbox_badges::inbox_badge(),
        inbox_entries::inbox_entry_kind(),
        rankings::hot_order(),
        reports::report_reason(),
        mutations::review_decision(),
        mutations::element_outcome(),
        activity::activity_kind(),
        activity::activity_step(),
        events::event_type(),
    ];
    Schema::new(objects, mutations::input_types(), enums.into_iter().chain(moderation::enums()))
}

/// Who may use a field, and the class of its rate: `read`, `write`, `creation`, or nothing.
pub struct Right {
    /// `Note.activity`
    pub field: String,
    pub who: Who,
    pub counts_as: &'static str,
}

/// The rights of root fields, and of the fields that only some may use.
pub fn rights() -> Vec<Right> {
    const ROOTS: [&str; 3] = ["Query", "Mutation", "Subscription"];
    let mut fields: Vec<(&str, &Field, Who)> = get()
        .objects
        .values()
        .flat_map(|object| object.fields.iter().filter_map(|field| Some((object.name, field, field.who?))))
        .collect();
    let place = |of: &str| ROOTS.iter().position(|root| *root == of).unwrap_or(ROOTS.len());
    fields.sort_unstable_by_key(|(of, field, _)| (place(of), *of, field.name));
    let right = |(of, field, who): (&str, &Field, Who)| Right {
        field: format!("{of}.{}", field.name),
        who,
        counts_as: match of {
            "Query" | "Subscription" => "read",
            "Mutation" if field.creates => "creation",
            "Mutation" => "write",
            _ => "",
        },
    };
    fields.into_iter().map(right).collect()
}

/// Whom a schema is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SchemaFor {
    Clients,
    /// With the fields by which a gateway asks a subgraph.
    Gateways,
    /// With the keys of entities, to compose a supergraph of it. Only its text is used.
    Composition,
}

impl SchemaFor {
    /// Whether a type or field is in the schema. Names of Apollo Federation begin with an underscore.
    fn shows(self, name: &str) -> bool {
        self == Self::Gateways || !name.starts_with('_')
    }
}

/// Needs no stores: each request carries its scope. The guard limits what a request may cost before it is executed.
/// `suggestions`: whether errors name fields that the client may have meant.
pub fn build(of: SchemaFor, suggestions: bool) -> EngineSchema {
    engine_schema::build(get(), of, suggestions)
}

/// The schema as text, always in the same order.
pub fn sdl() -> String {
    text(SchemaFor::Clients)
}

/// The text that a supergraph is composed of: Plaudit as a subgraph of Apollo Federation v2.
pub fn federation_sdl() -> &'static str {
    static SDL: LazyLock<String> = LazyLock::new(|| text(SchemaFor::Composition));
    &SDL
}

fn text(of: SchemaFor) -> String {
    let options = SDLExportOptions::new()
        .sorted_fields()
        .sorted_arguments()
        .sorted_enum_items()
        .include_specified_by()
        .use_space_ident();
    let options = if of == SchemaFor::Composition { options.federation() } else { options };
    build(of, false).sdl_with_options(options)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::{
        definition::{
            interfaces::INTERFACES,
            list_size::ListSize,
            resolve::Resolve,
            types::{Field, ObjectType, named},
        },
        request::scalars::SCALARS,
    };

    #[test]
    fn every_field_of_an_object_that_ends_in_count_is_a_count() {
        let sdl = sdl();
        assert_eq!(sdl, super::sdl());
        for line in sdl.lines().filter(|line| line.contains("Count:")) {
            assert!(line.ends_with("Count: Count!"), "{line}");
        }
    }

    #[test]
    fn every_list_has_a_size() {
        let unsized_lists = get().objects.values().flat_map(|object| {
            let fields = object.fields.iter().filter(|field| matches!(field.size, ListSize::Unknown(_)));
            fields.map(|field| format!("{}.{}", object.name, field.name))
        });
        assert_eq!(unsized_lists.collect::<Vec<_>>(), Vec::<String>::new(), "declare it by `sized`");
    }

    /// Fields that may differ between viewers, and that a subscription reaches through fields that are the same
    /// for all: the viewer's own state, private lists, data that only some may see. A subscription that selects
    /// one is executed for each viewer.
    const DIFFERENT: &[(&str, &str)] = &[
        ("Subscription", "inboxCountsChanged inboxEntryAdded events"),
        ("Note", "viewerHasLiked viewerHasCollected viewerRating viewerUnpublishedComments ratings activity pendingEdit"),
        ("User", "subject viewerIsFollowing visibility suspension notes"),
        (
            "Comment",
            "viewerHasLiked key body images mentions createdAt editedAt pendingEdit state rejectionReason isRemoved author
             replyTo parent note ratingAtWriting",
        ),
        ("Group", "viewerIsMember"),
        ("ReviewQueue", "items"),
    ];

    #[test]
    fn exactly_these_fields_that_a_subscription_can_reach_differ_between_viewers() {
        let schema = get();
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

    #[test]
    fn everything_in_the_schema_is_described() {
        let schema = get();
        let mut bare = Vec::new();
        let mut look = |name: String, description: &str| {
            if !description.ends_with(['.', ')']) {
                bare.push(name);
            }
        };
        for object in schema.objects.values() {
            look(object.name.to_owned(), &object.description);
            for field in &object.fields {
                look(format!("{}.{}", object.name, field.name), &field.description);
                for argument in &field.arguments {
                    let name = format!("{}.{}({})", object.name, field.name, argument.name);
                    look(name, argument.description.as_deref().unwrap_or_default());
                }
            }
        }
        for input in schema.inputs.values() {
            look(input.name.to_owned(), &input.description);
            for field in &input.fields {
                look(
                    format!("{}.{}", input.name, field.name),
                    field.description.as_deref().unwrap_or_default(),
                );
            }
        }
        for of in schema.enums.values() {
            look(of.name.to_owned(), of.description);
            for (value, description) in &of.values {
                look(format!("{}.{value}", of.name), description);
            }
        }
        INTERFACES.iter().for_each(|of| look(of.name.to_owned(), of.description));
        SCALARS.iter().for_each(|of| look(of.name.to_owned(), of.description));
        assert_eq!(bare, Vec::<String>::new());
    }

    /// The conventions of `schema/PROTOCOL.md`.
    #[test]
    fn names_follow_the_conventions() {
        let schema = get();
        let scalar = |field: &Field| named(&field.of).to_string();
        for object in schema.objects.values() {
            for field in &object.fields {
                let name = format!("{}.{}", object.name, field.name);
                assert_eq!(
                    scalar(field) == "DateTime",
                    field.name.ends_with("At") || field.name == "at",
                    "{name}"
                );
                if scalar(field) == "Boolean" && field.name != "changed" {
                    let is_question =
                        ["is", "has", "viewerIs", "viewerHas"].iter().any(|of| field.name.starts_with(of));
                    assert!(is_question, "{name}");
                }
                for argument in &field.arguments {
                    let is_order = named(&argument.of).ends_with("Order");
                    assert_eq!(is_order, argument.name == "orderBy", "{name}({})", argument.name);
                }
                let is_page = field.arguments.iter().any(|argument| argument.name == "first");
                // An entry of the inbox shows some of its actors, and the number of all.
                let is_list = scalar(field).ends_with("Connection") || name == "InboxEntry.actors";
                assert_eq!(is_page, is_list, "{name}");
            }
        }
        for input in schema.inputs.values() {
            for field in &input.fields {
                let is_id = field.name.ends_with("Id")
                    || field.name.ends_with("Ids")
                    || ["mentions", "confirmation"].contains(&field.name);
                assert_eq!(named(&field.of).as_str() == "ID", is_id, "{}.{}", input.name, field.name);
            }
        }
        for of in schema.enums.values() {
            for (value, _) in &of.values {
                assert!(
                    value.chars().all(|one| one.is_ascii_uppercase() || one == '_'),
                    "{}.{value}",
                    of.name
                );
            }
        }
    }

    /// An interface has the fields of each object that implements it.
    #[test]
    fn objects_have_the_fields_of_their_interfaces() {
        for of in &INTERFACES {
            let objects = get().behind(of.name);
            assert!(!objects.is_empty(), "{}", of.name);
            for name in of.fields {
                let signature = |object: &&ObjectType| {
                    let field = object.field_named(name).unwrap_or_else(|| panic!("{}.{name}", object.name));
                    let arguments = field.arguments.iter().map(|one| (one.name, one.of.to_string()));
                    (field.of.to_string(), arguments.collect::<Vec<_>>())
                };
                let signatures: Vec<_> = objects.iter().map(signature).collect();
                assert!(signatures.windows(2).all(|two| two[0] == two[1]), "{}.{name}", of.name);
            }
        }
    }

    /// The rule is checked before the call.
    #[test]
    fn every_field_with_a_rule_is_one_that_calls_a_function_and_every_root_field_has_a_rule() {
        for object in get().objects.values() {
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
        let schema = get();
        let scalars = ["ID", "String", "Int", "Float", "Boolean"];
        let scalars: Vec<&str> = scalars.into_iter().chain(SCALARS.iter().map(|of| of.name)).collect();
        for object in schema.objects.values() {
            for field in &object.fields {
                let of = named(&field.of).as_str();
                let is_enum = schema.enums.contains_key(of);
                let is_known = scalars.contains(&of) || is_enum || !schema.behind(of).is_empty();
                assert!(is_known, "{}.{}: {of}", object.name, field.name);
            }
        }
    }
}
