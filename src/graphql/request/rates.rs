//! Rate classes: how many reads, writes and creations a request counts as.

use std::collections::HashMap;

use async_graphql::{
    Name, Positioned, Request,
    parser::types::{ExecutableDocument, Selection, SelectionSet},
};
use async_graphql_value::ConstValue;

use super::{access, operation::operation_of};
use plaudit_domain::{PerClass, RateClass};

/// A query, a subscription, or a request that could not be parsed.
pub const READ: PerClass = PerClass { reads: 1, writes: 0, creations: 0 };

/// How deep fragments are followed. Deeper ones are refused by validation.
const MOST_NESTING: usize = 64;

/// Each root field of a mutation counts as one action.
pub fn mutation_cost(document: &ExecutableDocument, operation: Option<&str>) -> PerClass {
    let mut costs = DocumentCosts { document, fragments: HashMap::new() };
    let cost = operation_of(document, operation)
        .map(|operation| costs.of(&operation.selection_set.node, MOST_NESTING));
    cost.filter(|cost| *cost != PerClass::default()).unwrap_or(READ)
}

/// Bytes of a mutation that it may write: those of its document and of the texts in its variables.
pub fn written(request: &Request) -> u64 {
    fn texts(value: &ConstValue) -> usize {
        match value {
            ConstValue::String(text) => text.len(),
            ConstValue::List(values) => values.iter().map(texts).sum(),
            ConstValue::Object(fields) => fields.values().map(texts).sum(),
            _ => 0,
        }
    }
    let variables: usize = request.variables.values().map(texts).sum();
    (request.query.len() + variables) as u64
}

struct DocumentCosts<'a> {
    document: &'a ExecutableDocument,
    /// Each fragment is visited once, however often it is spread, because fragments multiply.
    fragments: HashMap<&'a str, PerClass>,
}

impl<'a> DocumentCosts<'a> {
    fn of(&mut self, selections: &'a SelectionSet, nesting: usize) -> PerClass {
        let Some(nesting) = nesting.checked_sub(1) else { return PerClass::default() };
        selections.items.iter().fold(PerClass::default(), |sum, Positioned { node, .. }| {
            sum.plus(match node {
                Selection::Field(field) => PerClass::one(class(&field.node.name.node)),
                Selection::InlineFragment(inline) => self.of(&inline.node.selection_set.node, nesting),
                Selection::FragmentSpread(spread) => {
                    self.of_fragment(&spread.node.fragment_name.node, nesting)
                }
            })
        })
    }

    fn of_fragment(&mut self, name: &'a Name, nesting: usize) -> PerClass {
        if let Some(known) = self.fragments.get(name.as_str()) {
            return *known;
        }
        // A fragment that spreads itself counts as nothing there. It is refused later.
        self.fragments.insert(name, PerClass::default());
        let Some(fragment) = self.document.fragments.get(name) else { return PerClass::default() };
        let cost = self.of(&fragment.node.selection_set.node, nesting);
        self.fragments.insert(name, cost);
        cost
    }
}

fn class(field: &str) -> RateClass {
    if access::is_creation(field) { RateClass::Creation } else { RateClass::Write }
}

#[cfg(test)]
mod tests {
    use async_graphql::parser::parse_query;

    use super::*;

    fn cost(query: &str, operation: Option<&str>) -> (u32, u32, u32) {
        let PerClass { reads, writes, creations } = mutation_cost(&parse_query(query).unwrap(), operation);
        (reads, writes, creations)
    }

    #[test]
    fn each_root_field_is_an_action_also_within_fragments() {
        assert_eq!(cost("mutation { likeNote { changed note { id } } }", None), (0, 1, 0));
        assert_eq!(
            cost("mutation { a: likeNote { x } b: likeNote { x } createNote { x } }", None),
            (0, 2, 1)
        );
        let nested = "mutation { ... { likeNote { x } ...A } }
            fragment A on Mutation { addComment { x } ...B } fragment B on Mutation { follow { x } }";
        assert_eq!(cost(nested, None), (0, 2, 1));
        let several = "mutation A { likeNote { x } } mutation B { createGroup { x } follow { x } }";
        assert_eq!(cost(several, Some("B")), (0, 1, 1));
    }

    #[test]
    fn fragments_multiply_the_cost_and_not_the_work() {
        let mut query = "mutation { ...F0 }".to_owned();
        for i in 0..60 {
            query += &format!("fragment F{i} on Mutation {{ ...F{} ...F{} }}", i + 1, i + 1);
        }
        query += "fragment F60 on Mutation { likeNote { x } }";
        assert_eq!(cost(&query, None), (0, u32::MAX, 0));
        assert_eq!(cost("mutation { ...A } fragment A on Mutation { ...A likeNote { x } }", None), (0, 1, 0));
    }
}
