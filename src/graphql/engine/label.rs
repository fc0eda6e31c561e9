//! The label of an operation in the metrics.

use async_graphql::parser::types::OperationType;

use crate::guard::{DocumentOperation, UNKNOWN};

const SEVERAL: &str = "several";

/// Contains only names of the schema, because clients could send thousands of others.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct OperationLabel {
    pub kind: &'static str,
    /// The root field, or `several`.
    pub root: &'static str,
}

impl OperationLabel {
    /// The label of a request that is not parsed yet, or cannot be parsed.
    pub const UNKNOWN: Self = Self { kind: UNKNOWN, root: UNKNOWN };

    pub(super) fn of(operation: &DocumentOperation) -> Self {
        let kind = match operation.kind {
            OperationType::Query => "query",
            OperationType::Mutation => "mutation",
            OperationType::Subscription => "subscription",
        };
        let root = match operation.roots[..] {
            [] => UNKNOWN,
            [only] => only,
            _ => SEVERAL,
        };
        Self { kind, root }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{guard::Guard, schema};
    use plaudit_catalogue::settings::CostSettings;

    fn root(text: &str) -> &'static str {
        let document = Guard::new(schema::get(), CostSettings::of_development()).read(text).unwrap();
        OperationLabel::of(document.operation(None).unwrap()).root
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
        for text in ["{ what_a_client_made_up }", "mutation { feed }", "{ and_another and_more }"] {
            assert_eq!(root(text), "unknown", "{text}");
        }
    }
}
