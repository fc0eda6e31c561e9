//! In which order fragments are measured: those first that others spread.

use std::collections::HashMap;

use async_graphql::{
    Name, Pos, Positioned,
    parser::types::{ExecutableDocument, FragmentDefinition, Selection, SelectionSet},
};

use super::refusal::Refusal;

/// A fragment and what it spreads.
struct Fragment<'a> {
    definition: &'a Positioned<FragmentDefinition>,
    spreads: Vec<(&'a Name, Pos)>,
}

/// The fragments so that each stands behind those that it spreads.
///
/// No recursion through fragments: a document may have a thousand of them in a row.
///
/// # Errors
/// A fragment that contains itself, or a spread of one that is not there.
pub fn in_order(
    document: &ExecutableDocument,
) -> Result<Vec<(&Name, &Positioned<FragmentDefinition>)>, Refusal> {
    let fragments: HashMap<&Name, Fragment<'_>> = document
        .fragments
        .iter()
        .map(|(name, definition)| {
            let mut spreads = Vec::new();
            collect_spreads(&definition.node.selection_set.node, &mut spreads);
            (name, Fragment { definition, spreads })
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
enum State {
    /// On the way from the fragment that the search began with.
    Open,
    Done,
}

struct Order<'a, 'f> {
    fragments: &'f HashMap<&'a Name, Fragment<'a>>,
    state: HashMap<&'a Name, State>,
    done: Vec<(&'a Name, &'a Positioned<FragmentDefinition>)>,
}

impl<'a, 'f> Order<'a, 'f> {
    /// Depth first, with a stack of its own: each fragment on the way and how many of its spreads were seen.
    fn visit(&mut self, from: &'a Name) -> Result<(), Refusal> {
        let mut way: Vec<(&'a Name, &'f Fragment<'a>, usize)> = Vec::new();
        self.open(from, None, &mut way)?;
        while let Some((name, fragment, seen)) = way.last_mut() {
            if let Some((next, at)) = fragment.spreads.get(*seen).copied() {
                *seen += 1;
                self.open(next, Some(at), &mut way)?;
            } else {
                self.state.insert(name, State::Done);
                self.done.push((name, fragment.definition));
                way.pop();
            }
        }
        Ok(())
    }

    fn open(
        &mut self,
        name: &'a Name,
        at: Option<Pos>,
        way: &mut Vec<(&'a Name, &'f Fragment<'a>, usize)>,
    ) -> Result<(), Refusal> {
        let at = at.unwrap_or_default();
        match self.state.get(name) {
            Some(State::Done) => return Ok(()),
            Some(State::Open) => return Err(Refusal::FragmentCycle { name: name.to_string(), at }),
            None => {}
        }
        let Some((name, fragment)) = self.fragments.get_key_value(name) else {
            return Err(Refusal::UnknownFragment { name: name.to_string(), at });
        };
        self.state.insert(name, State::Open);
        way.push((name, fragment, 0));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use async_graphql::parser::parse_query;

    use super::*;

    fn order(document: &str) -> Result<Vec<String>, Refusal> {
        let document = parse_query(document).unwrap();
        in_order(&document).map(|order| order.iter().map(|(name, _)| name.to_string()).collect())
    }

    #[test]
    fn a_fragment_stands_behind_those_that_it_spreads() {
        let text = "{ ...A } fragment A on Q { x { ...B } ... on Q { ...C } } fragment B on X { ...C } fragment C on X { y }";
        assert_eq!(order(text).unwrap(), ["C", "B", "A"]);
    }

    #[test]
    fn a_fragment_that_contains_itself_is_refused() {
        for text in [
            "{ ...A } fragment A on Q { ...A }",
            "{ x } fragment A on Q { x { ...B } } fragment B on Q { ... on Q { ...C } } fragment C on Q { ...A }",
        ] {
            assert_eq!(order(text).unwrap_err().reason(), "FRAGMENT_CYCLE", "{text}");
        }
    }

    #[test]
    fn a_spread_of_nothing_is_refused() {
        let refusal = order("{ x } fragment A on Q { ...B }").unwrap_err();
        assert!(matches!(refusal, Refusal::UnknownFragment { name, at } if name == "B" && at.column == 25));
    }

    #[test]
    fn ten_thousand_fragments_in_a_row_need_no_deep_stack() {
        let row = (0..10_000).map(|n| format!("fragment F{n} on Q {{ ...F{} }}", n + 1));
        let text = format!("{{ ...F0 }} {} fragment F10000 on Q {{ x }}", row.collect::<String>());
        let ordered = std::thread::Builder::new().stack_size(256 * 1024).spawn(move || order(&text));
        assert_eq!(ordered.unwrap().join().unwrap().unwrap().len(), 10_001);
    }
}
