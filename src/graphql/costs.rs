//! Rules of the cost guard for this schema: sizes of lists, and values that custom scalars accept.

use async_graphql::Value;

use super::{
    definition::pages::MAX_PAGE,
    guard::{ArgumentValues, Guard, ListSize, SchemaIndex, SchemaRules},
    objects::activity,
    queries::explain,
    request::scalars::SCALARS,
};
use plaudit_catalogue::settings::CostSettings;
use plaudit_domain::{COMMENT_BODY, GROUP_DESCRIPTION, GROUP_NAME, NOTE_BODY, NOTE_TITLE};

const CHANGES: ListSize = ListSize::Fixed(10);

const RULES: SchemaRules = SchemaRules {
    max_page: MAX_PAGE,
    lists: &[
        ("Comment", "images", ListSize::Fixed(9)),
        ("Comment", "mentions", ListSize::Fixed(10)),
        ("CommentEdit", "images", ListSize::Fixed(9)),
        ("CommentEdit", "mentions", ListSize::Fixed(10)),
        // At most 50, but rarely more than one.
        ("Note", "viewerUnpublishedComments", ListSize::Fixed(10)),
        // At most 50 after a reconnection, but rarely more than a few.
        ("CommentChanges", "comments", CHANGES),
        ("CommentChanges", "removedCommentIds", CHANGES),
        ("FeedChanges", "noteIds", CHANGES),
        ("InboxEntryChanges", "entries", CHANGES),
        ("Mutation", "recordViews", ListSize::Ids { argument: "input", field: Some("noteIds") }),
        ("Mutation", "removeNotes", ListSize::Ids { argument: "input", field: Some("noteIds") }),
        ("Mutation", "upsertGroups", ListSize::Ids { argument: "input", field: Some("groups") }),
        ("Mutation", "upsertNotes", ListSize::Ids { argument: "input", field: Some("notes") }),
        ("Mutation", "upsertUsers", ListSize::Ids { argument: "input", field: Some("users") }),
        ("Query", "nodes", ListSize::Ids { argument: "ids", field: None }),
        ("Query", "_entities", ListSize::Ids { argument: "representations", field: None }),
        ("Query", "notesByKey", ListSize::Ids { argument: "keys", field: None }),
        ("Note", "activity", ListSize::Computed(activity_steps)),
        ("Query", "explain", ListSize::Computed(|_| 1)),
        ("ReportedObject", "reasons", ListSize::Fixed(8)),
        ("Explanation", "verdict", ListSize::Fixed(20)),
        ("Explanation", "counters", ListSize::Fixed(8)),
        ("Explanation", "logs", ListSize::Fixed(explain::MAX_LOGS as u64)),
        ("Explanation", "lastEvents", ListSize::Fixed(10)),
        ("Explanation", "waitingInvalidations", ListSize::Fixed(20)),
        ("Explanation", "lastRepairs", ListSize::Fixed(5)),
        ("Subscription", "noteCountsChanged", ListSize::Events { argument: Some("noteIds") }),
        ("Subscription", "userCountsChanged", ListSize::Events { argument: Some("userIds") }),
        ("Subscription", "commentCountsChanged", ListSize::Events { argument: Some("commentIds") }),
        ("Subscription", "groupCountsChanged", ListSize::Events { argument: Some("groupIds") }),
        ("Subscription", "inboxCountsChanged", ListSize::Events { argument: None }),
        ("Subscription", "noteCommentsChanged", ListSize::Events { argument: None }),
        ("Subscription", "feedChanged", ListSize::Events { argument: None }),
        ("Subscription", "inboxEntryAdded", ListSize::Events { argument: None }),
        ("Subscription", "reviewQueueChanged", ListSize::Events { argument: None }),
    ],
    texts: &[
        ("Note", "body", NOTE_BODY.max_bytes()),
        ("Note", "title", NOTE_TITLE.max_bytes()),
        ("Comment", "body", COMMENT_BODY.max_bytes()),
        ("CommentEdit", "body", COMMENT_BODY.max_bytes()),
        ("Group", "description", GROUP_DESCRIPTION.max_bytes()),
        ("Group", "name", GROUP_NAME.max_bytes()),
    ],
    // The lists of pages, of `recordViews` and of results of elements.
    counted_above: &["edges", "nodes", "notes", "results"],
    is_scalar,
};

/// What the input types of this schema accept. `sdl` is its text.
pub fn index(sdl: &str) -> SchemaIndex {
    SchemaIndex::of(sdl, RULES)
}

/// A guard for this schema. `sdl` is its text.
pub fn guard(sdl: &str, limits: CostSettings) -> Guard {
    Guard::new(sdl, RULES, limits)
}

fn activity_steps(argument: &ArgumentValues<'_>) -> u64 {
    activity::steps(argument("step"), argument("from"), argument("to")) as u64
}

fn is_scalar(name: &str, value: &Value) -> bool {
    SCALARS.iter().find(|of| of.name == name).is_none_or(|of| (of.is_valid)(value))
}

#[cfg(test)]
mod tests {
    use async_graphql::parser::types::{DocumentOperations, Selection};
    use async_graphql::{Variables, parser::parse_query};
    use serde_json::json;

    use super::*;
    use crate::schema;

    #[test]
    fn every_list_of_the_schema_has_a_size() {
        let guard = guard(&schema::whole_sdl(), CostSettings::of_development());
        assert_eq!(guard.gaps_in_rules(&RULES), Vec::<String>::new(), "add its size to RULES");
    }

    #[test]
    fn a_history_has_as_many_items_as_steps() {
        let steps = |field: &str, variables| {
            let document = parse_query(format!("{{ {field} }}")).unwrap();
            let DocumentOperations::Single(operation) = document.operations else { panic!() };
            let Selection::Field(field) = &operation.node.selection_set.node.items[0].node else { panic!() };
            let size = ListSize::Computed(activity_steps);
            size.with(&field.node.arguments, &Variables::from_json(variables))
        };
        let day = "from: \"2026-01-01T00:00:00Z\", to: \"2026-01-02T00:00:00Z\"";
        assert_eq!(steps(&format!("a(step: HOUR, {day})"), json!({})), 24);
        assert_eq!(steps(&format!("a(step: $step, {day})"), json!({ "step": "HOUR" })), 24);
        assert_eq!(steps(&format!("a({day})"), json!({})), 1);
        assert_eq!(steps("a(from: \"x\")", json!({})), 744);
    }
}
