//! Selection of a document's operation, and its label in the metrics.

use std::{collections::HashSet, slice};

use async_graphql::{
    Name, Positioned,
    parser::types::{ExecutableDocument, OperationDefinition, OperationType, Selection, SelectionSet},
};

use super::access::field_in_table;

/// Root fields that every schema has.
const OF_INTROSPECTION: [&str; 3] = ["__typename", "__schema", "__type"];
const SEVERAL: &str = "several";
const UNKNOWN: &str = "unknown";

/// The label of an operation in the metrics. Contains only names of the schema, because clients could send thousands of
/// others.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct OperationLabel {
    pub kind: &'static str,
    /// The root field, or `several`.
    pub root: &'static str,
}

impl OperationLabel {
    /// The label of a request that is not parsed yet, or cannot be parsed.
    pub const UNKNOWN: Self = Self { kind: UNKNOWN, root: UNKNOWN };

    pub const fn new(kind: OperationType, root: &'static str) -> Self {
        let kind = match kind {
            OperationType::Query => "query",
            OperationType::Mutation => "mutation",
            OperationType::Subscription => "subscription",
        };
        Self { kind, root }
    }
}

/// The operation to execute: the one with this name, or the only one.
pub fn operation_of<'a>(
    document: &'a ExecutableDocument,
    name: Option<&str>,
) -> Option<&'a OperationDefinition> {
    let mut operations = document.operations.iter();
    let has_name = |(of, _): &(Option<&Name>, _)| name.is_none() || of.map(Name::as_str) == name;
    operations.find(has_name).map(|(_, operation)| &operation.node)
}

/// The name of the operation's root field, also within fragments; `several` if there are different ones.
pub fn root_field(document: &ExecutableDocument, operation: &OperationDefinition) -> &'static str {
    let root_type = match operation.ty {
        OperationType::Query => "Query",
        OperationType::Mutation => "Mutation",
        OperationType::Subscription => "Subscription",
    };
    let mut roots = Roots::of(document, operation);
    let Some(first) = roots.next() else { return UNKNOWN };
    if roots.any(|other| other != first) {
        return SEVERAL;
    }
    let of_introspection = || OF_INTROSPECTION.into_iter().find(|name| name == first);
    field_in_table(root_type, first).or_else(of_introspection).unwrap_or(UNKNOWN)
}

/// The root fields of a mutation, also within fragments; none for another operation.
pub fn mutations_of(document: &ExecutableDocument, operation: &OperationDefinition) -> Vec<&'static str> {
    if operation.ty != OperationType::Mutation {
        return Vec::new();
    }
    Roots::of(document, operation).filter_map(|name| field_in_table("Mutation", name)).collect()
}

/// Iterates over root fields. Does not recurse and visits each fragment once, because fragments multiply.
struct Roots<'a> {
    document: &'a ExecutableDocument,
    seen: HashSet<&'a Name>,
    waiting: Vec<slice::Iter<'a, Positioned<Selection>>>,
}

impl<'a> Roots<'a> {
    fn of(document: &'a ExecutableDocument, operation: &'a OperationDefinition) -> Self {
        let mut roots = Self { document, seen: HashSet::new(), waiting: Vec::new() };
        roots.go_into(&operation.selection_set);
        roots
    }

    fn go_into(&mut self, set: &'a Positioned<SelectionSet>) {
        self.waiting.push(set.node.items.iter());
    }
}

impl<'a> Iterator for Roots<'a> {
    type Item = &'a Name;

    fn next(&mut self) -> Option<&'a Name> {
        while let Some(set) = self.waiting.last_mut() {
            match set.next().map(|selection| &selection.node) {
                None => drop(self.waiting.pop()),
                Some(Selection::Field(field)) => return Some(&field.node.name.node),
                Some(Selection::InlineFragment(inline)) => self.go_into(&inline.node.selection_set),
                Some(Selection::FragmentSpread(spread)) => {
                    let name = &spread.node.fragment_name.node;
                    let fragment = self.document.fragments.get(name).filter(|_| self.seen.insert(name));
                    if let Some(fragment) = fragment {
                        self.go_into(&fragment.node.selection_set);
                    }
                }
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use async_graphql::parser::parse_query;

    use super::*;

    fn root(text: &str) -> &'static str {
        let document = parse_query(text).unwrap();
        root_field(&document, operation_of(&document, None).unwrap())
    }

    #[test]
    fn the_label_of_an_operation_is_its_root_field() {
        for (text, name) in [
            ("{ feed { x } }", "feed"),
            ("query Anything { mine: feed { x } }", "feed"),
            ("mutation { a: likeNote { x } b: likeNote { x } }", "likeNote"),
            (
                "{ ... { ...A } } fragment A on Query { note { x } ...B } fragment B on Query { note { y } }",
                "note",
            ),
            ("subscription { noteCountsChanged { x } }", "noteCountsChanged"),
            ("{ __schema { x } }", "__schema"),
            ("{ feed { x } note { x } }", "several"),
            ("mutation { likeNote { x } ...A } fragment A on Mutation { follow { x } }", "several"),
        ] {
            assert_eq!(root(text), name, "{text}");
        }
    }

    #[test]
    fn a_field_that_the_schema_does_not_have_is_unknown() {
        for text in [
            "{ what_a_client_made_up }",
            "mutation { feed }",
            "{ ...A } fragment A on Query { ...A }",
            "{ ...Nowhere }",
        ] {
            assert_eq!(root(text), "unknown", "{text}");
        }
    }
}
