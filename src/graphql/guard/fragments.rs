//! The order in which fragments are measured: a fragment after those that it spreads.

use std::collections::HashMap;

use async_graphql::{
    Name, Pos, Positioned,
    parser::types::{ExecutableDocument, FragmentDefinition, Selection, SelectionSet},
};

use super::error::CostError;

/// A fragment and what it spreads.
struct FragmentNode<'a> {
    definition: &'a Positioned<FragmentDefinition>,
    spreads: Vec<(&'a Name, Pos)>,
}

/// The fragments, each after those that it spreads.
///
/// Does not recurse through fragments: a document may chain a thousand of them.
///
/// # Errors
/// A fragment spreads itself, or a spread names no fragment.
pub fn in_order(
    document: &ExecutableDocument,
) -> Result<Vec<(&Name, &Positioned<FragmentDefinition>)>, CostError> {
    let fragments: HashMap<&Name, FragmentNode<'_>> = document
        .fragments
        .iter()
        .map(|(name, definition)| {
            let mut spreads = Vec::new();
            collect_spreads(&definition.node.selection_set.node, &mut spreads);
            (name, FragmentNode { definition, spreads })
        })
        .collect();
    let mut order = Order { fragments: &fragments, state: HashMap::new(), done: Vec::new() };
    for name in fragments.keys() {
        order.visit(name)?;
    }
    Ok(order.done)
}

fn collect_spreads<'a>(set: &'a SelectionSet, spreads: &mut Vec<(&'a Name, Pos)>) {
    for selection in &set.items {
        match &selection.node {
            Selection::Field(field) => collect_spreads(&field.node.selection_set.node, spreads),
            Selection::InlineFragment(fragment) => {
                collect_spreads(&fragment.node.selection_set.node, spreads);
            }
            Selection::FragmentSpread(spread) => {
                spreads.push((&spread.node.fragment_name.node, spread.pos));
            }
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Visit {
    /// On the path from the fragment where the search began.
    Open,
    Done,
}

struct Order<'a, 'f> {
    fragments: &'f HashMap<&'a Name, FragmentNode<'a>>,
    state: HashMap<&'a Name, Visit>,
    done: Vec<(&'a Name, &'a Positioned<FragmentDefinition>)>,
}

impl<'a, 'f> Order<'a, 'f> {
    /// Depth-first search with an explicit stack: each fragment on the path, and how many of its spreads were
    /// followed.
    fn visit(&mut self, from: &'a Name) -> Result<(), CostError> {
        let mut path: Vec<(&'a Name, &'f FragmentNode<'a>, usize)> = Vec::new();
        self.open(from, None, &mut path)?;
        while let Some((name, fragment, seen)) = path.last_mut() {
            if let Some((next, at)) = fragment.spreads.get(*seen).copied() {
                *seen += 1;
                self.open(next, Some(at), &mut path)?;
            } else {
                self.state.insert(name, Visit::Done);
                self.done.push((name, fragment.definition));
                path.pop();
            }
        }
        Ok(())
    }

    fn open(
        &mut self,
        name: &'a Name,
        at: Option<Pos>,
        path: &mut Vec<(&'a Name, &'f FragmentNode<'a>, usize)>,
    ) -> Result<(), CostError> {
        let at = at.unwrap_or_default();
        match self.state.get(name) {
            Some(Visit::Done) => return Ok(()),
            Some(Visit::Open) => return Err(CostError::FragmentCycle { name: name.to_string(), at }),
            None => {}
        }
        let Some((name, fragment)) = self.fragments.get_key_value(name) else {
            return Err(CostError::UnknownFragment { name: name.to_string(), at });
        };
        self.state.insert(name, Visit::Open);
        path.push((name, fragment, 0));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use async_graphql::parser::parse_query;

    use super::*;
    use crate::guard::error::CostReason;

    fn order(document: &str) -> Result<Vec<String>, CostError> {
        let document = parse_query(document).unwrap();
        in_order(&document).map(|order| order.iter().map(|(name, _)| name.to_string()).collect())
    }

    #[test]
    fn a_fragment_comes_after_those_that_it_spreads() {
        let text = "{ ...A } fragment A on Q { x { ...B } ... on Q { ...C } } fragment B on X { ...C } fragment C on X { y }";
        assert_eq!(order(text).unwrap(), ["C", "B", "A"]);
    }

    #[test]
    fn a_fragment_that_spreads_itself_is_refused() {
        for text in [
            "{ ...A } fragment A on Q { ...A }",
            "{ x } fragment A on Q { x { ...B } } fragment B on Q { ... on Q { ...C } } fragment C on Q { ...A }",
        ] {
            assert_eq!(order(text).unwrap_err().reason(), CostReason::FragmentCycle, "{text}");
        }
    }

    #[test]
    fn a_spread_of_an_unknown_fragment_is_refused() {
        let error = order("{ x } fragment A on Q { ...B }").unwrap_err();
        assert!(matches!(error, CostError::UnknownFragment { name, at } if name == "B" && at.column == 25));
    }

    #[test]
    fn a_chain_of_ten_thousand_fragments_needs_no_deep_stack() {
        let row = (0..10_000).map(|n| format!("fragment F{n} on Q {{ ...F{} }}", n + 1));
        let text = format!("{{ ...F0 }} {} fragment F10000 on Q {{ x }}", row.collect::<String>());
        let ordered = std::thread::Builder::new().stack_size(256 * 1024).spawn(move || order(&text));
        assert_eq!(ordered.unwrap().join().unwrap().unwrap().len(), 10_001);
    }
}
