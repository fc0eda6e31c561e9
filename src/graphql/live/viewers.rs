//! Whether the response to a document depends on the viewer. Only fields that are listed as the same for all viewers
//! are shared, and shared events are executed without a viewer: a wrong entry in [`SAME_FOR_ALL`] shows too little,
//! never the data of somebody else.

use std::collections::HashSet;

use async_graphql::{
    Name,
    parser::types::{ExecutableDocument, Selection, SelectionSet},
};

use crate::graphql::{nulls::Nulls, request::operation::operation_of};

/// Fields by type that are the same for all viewers. Other fields are executed for each viewer.
const SAME_FOR_ALL: &[(&str, &str)] = &[
    ("Subscription", "noteCountsChanged userCountsChanged commentCountsChanged groupCountsChanged"),
    ("Node", "id"),
    (
        "Note",
        "id title body createdAt author group isFeatured likers comments
         likeCount collectCount commentCount viewCount ratingCount ratingAverage countsVersion",
    ),
    (
        "User",
        "id name createdAt notes followers following groups followerCount followingCount noteCount
         commentCount likesReceivedCount collectsReceivedCount groupCount coinCount countsVersion",
    ),
    // Until a comment is approved, only its author and moderators see its text.
    ("Comment", "id replies likeCount replyCount countsVersion"),
    (
        "Group",
        "id name description createdAt owner notes members memberCount noteCount featuredNoteCount
         countsVersion",
    ),
    ("UserConnection", "edges nodes pageInfo"),
    ("UserEdge", "cursor node"),
    ("NoteConnection", "edges nodes pageInfo"),
    ("NoteEdge", "cursor node"),
    ("CommentConnection", "edges nodes pageInfo"),
    ("CommentEdge", "cursor node"),
    ("GroupConnection", "edges nodes pageInfo"),
    ("GroupEdge", "cursor node"),
    ("PageInfo", "startCursor endCursor hasNextPage hasPreviousPage"),
];

/// Whether the operation selects a field that may differ between viewers.
pub fn needs_viewer(document: &ExecutableDocument, operation: Option<&str>, types: &Nulls) -> bool {
    let Some(operation) = operation_of(document, operation) else { return true };
    let mut walk = SelectionWalk { document, types, seen: HashSet::new() };
    !walk.is_same_for_all("Subscription", &operation.selection_set.node)
}

struct SelectionWalk<'a> {
    document: &'a ExecutableDocument,
    types: &'a Nulls,
    /// Visited fragments. Each is visited once, because fragments multiply.
    seen: HashSet<&'a Name>,
}

impl<'a> SelectionWalk<'a> {
    fn is_same_for_all(&mut self, object: &str, selected: &'a SelectionSet) -> bool {
        selected.items.iter().all(|selection| match &selection.node {
            Selection::Field(field) => {
                let name = &field.node.name.node;
                name == "__typename"
                    || is_listed(object, name) && {
                        let inside = self.types.named_type(object, name).unwrap_or_default();
                        self.is_same_for_all(inside, &field.node.selection_set.node)
                    }
            }
            Selection::InlineFragment(fragment) => {
                let on = fragment.node.type_condition.as_ref().map(|on| on.node.on.node.as_str());
                self.is_same_for_all(on.unwrap_or(object), &fragment.node.selection_set.node)
            }
            Selection::FragmentSpread(spread) => {
                let name = &spread.node.fragment_name.node;
                let Some(fragment) = self.document.fragments.get(name) else { return false };
                let on = &fragment.node.type_condition.node.on.node;
                !self.seen.insert(name) || self.is_same_for_all(on, &fragment.node.selection_set.node)
            }
        })
    }
}

fn is_listed(object: &str, field: &str) -> bool {
    let mut types = SAME_FOR_ALL.iter();
    let fields = types.find(|(of, _)| *of == object).map(|(_, fields)| fields);
    fields.is_some_and(|fields| fields.split_whitespace().any(|same| same == field))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use async_graphql::parser::{
        parse_query, parse_schema,
        types::{TypeKind, TypeSystemDefinition},
    };

    use super::*;
    use crate::graphql::sdl;

    /// Fields that a subscription can reach and that may differ between viewers: the viewer's own state, private
    /// lists, data that only some may see.
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
        (
            "Inbox",
            "id unreadReplyCount unreadLikeCount unreadFollowerCount unreadMessageCount entries countsVersion",
        ),
        ("InboxEntry", "id kind actor about createdAt"),
        ("InboxEntryConnection", "edges nodes pageInfo"),
        ("InboxEntryEdge", "cursor node"),
    ];

    fn fields(table: &[(&str, &str)]) -> BTreeSet<String> {
        let of_type = |(object, fields): &(&str, &str)| {
            fields.split_whitespace().map(|field| format!("{object}.{field}")).collect::<Vec<_>>()
        };
        table.iter().flat_map(of_type).collect()
    }

    /// All fields that a subscription can reach.
    fn reachable() -> BTreeSet<String> {
        let types = Nulls::of(&sdl());
        let definitions = parse_schema(sdl()).unwrap().definitions;
        let (mut fields, mut to_visit) = (BTreeSet::new(), vec!["Subscription".to_owned()]);
        while let Some(object) = to_visit.pop() {
            let found = definitions.iter().find_map(|definition| match definition {
                TypeSystemDefinition::Type(found) if found.node.name.node == object => Some(&found.node.kind),
                _ => None,
            });
            let of_object = match found {
                Some(TypeKind::Object(kind)) => &kind.fields,
                Some(TypeKind::Interface(kind)) => &kind.fields,
                _ => continue,
            };
            for field in of_object {
                let name = &field.node.name.node;
                if fields.insert(format!("{object}.{name}")) {
                    to_visit.extend(types.named_type(&object, name).map(str::to_owned));
                }
            }
        }
        fields
    }

    #[test]
    fn every_field_that_a_subscription_can_reach_is_listed() {
        let (same, different) = (fields(SAME_FOR_ALL), fields(DIFFERENT));
        assert!(same.is_disjoint(&different));
        let listed: BTreeSet<String> = same.union(&different).cloned().collect();
        assert_eq!(
            listed.symmetric_difference(&reachable()).collect::<Vec<_>>(),
            Vec::<&String>::new(),
            "if it is the same for all viewers, add it to SAME_FOR_ALL, otherwise to DIFFERENT"
        );
    }

    #[test]
    fn fields_named_after_the_viewer_differ() {
        assert!(fields(SAME_FOR_ALL).iter().all(|field| !field.contains(".viewer")));
    }

    fn needs(query: &str) -> bool {
        needs_viewer(&parse_query(query).unwrap(), None, &Nulls::of(&sdl()))
    }

    #[test]
    fn a_document_needs_a_viewer_if_any_field_does() {
        for shared in [
            "subscription { noteCountsChanged(noteIds: []) { __typename id likeCount countsVersion } }",
            "subscription { n: noteCountsChanged(noteIds: []) { author { name notes { nodes { id } } } } }",
            "subscription { commentCountsChanged(commentIds: []) { likes: likeCount } }",
            "subscription { noteCountsChanged(noteIds: []) { ...A ...A } } fragment A on Note { ... { title } }",
        ] {
            assert!(!needs(shared), "{shared}");
        }
        for own in [
            "subscription { inboxCountsChanged { id } }",
            "subscription { noteCountsChanged(noteIds: []) { likeCount: viewerHasLiked } }",
            "subscription { commentCountsChanged(commentIds: []) { body } }",
            "subscription { noteCountsChanged(noteIds: []) { comments { nodes { author { name } } } } }",
            "subscription { noteCountsChanged(noteIds: []) { author { ...A } } } fragment A on User { inbox { id } }",
            "subscription { noteCountsChanged(noteIds: []) { ... on Note { viewerRating } } }",
            "subscription { noteCountsChanged(noteIds: []) { ...Missing } }",
            "subscription { noteCountsChanged(noteIds: []) { unknown } }",
        ] {
            assert!(needs(own), "{own}");
        }
    }

    #[test]
    fn each_fragment_is_visited_once() {
        let fragments =
            (0..500).map(|i| format!("fragment F{i} on Note {{ ...F{n} ...F{n} ...F{n} }}", n = i + 1));
        let query = format!(
            "subscription {{ noteCountsChanged(noteIds: []) {{ ...F0 }} }} {} fragment F500 on Note {{ id }}",
            fragments.collect::<String>()
        );
        assert!(!needs(&query));
    }
}
