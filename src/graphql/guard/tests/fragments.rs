//! Measuring each fragment once, compared with writing all fragments out.

use async_graphql::parser::{
    parse_query,
    types::{Selection, SelectionSet},
};
use std::sync::OnceLock;

use proptest::prelude::*;
use serde_json::json;

use super::*;
use plaudit_domain::RateClass;

/// A small document: fragments spread only later ones.
fn small_document() -> impl Strategy<Value = String> {
    let sets = prop::collection::vec(prop::collection::vec((0..6_u8, 0..6_usize), 1..4), 6);
    sets.prop_map(|sets| {
        let mut text = String::new();
        for (n, set) in sets.iter().enumerate() {
            let items: String = set
                .iter()
                .map(|(kind, to)| match kind {
                    0 | 1 if n + 1 < sets.len() => format!(" ...F{}", (n + 1 + to).min(sets.len() - 1)),
                    2 => " author { id ... on User { name x: id } }".to_owned(),
                    3 => format!(" comments(first: {}) {{ nodes {{ id }} }}", to + 1),
                    _ => " id".to_owned(),
                })
                .collect();
            match n {
                0 => write!(text, "{{ feed(first: 3) {{ nodes {{{items} }} }} }}").unwrap(),
                _ => write!(text, " fragment F{n} on Note {{{items} }}").unwrap(),
            }
        }
        // Each is spread somewhere, so that the naive count sees it.
        text.replacen("nodes {", "nodes { ...F1 ...F2 ...F3 ...F4 ...F5 ", 1)
    })
}

/// Selections, depth and cost of a set, written out.
fn naive(set: &SelectionSet, document: &async_graphql::parser::types::ExecutableDocument) -> (u64, u64, u64) {
    let mut all = (0, 0, 0);
    for selection in &set.items {
        let (selections, depth, cost) = match &selection.node {
            Selection::Field(field) => {
                let (selections, depth, cost) = naive(&field.node.selection_set.node, document);
                let first = field
                    .node
                    .get_argument("first")
                    .map_or(1, |first| first.node.to_string().parse().unwrap());
                (selections, depth + 1, 1 + first * cost)
            }
            Selection::InlineFragment(inline) => naive(&inline.node.selection_set.node, document),
            Selection::FragmentSpread(spread) => {
                naive(&document.fragments[&spread.node.fragment_name.node].node.selection_set.node, document)
            }
        };
        all = (all.0 + selections + 1, all.1.max(depth), all.2 + cost);
    }
    all
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn measuring_fragments_once_equals_writing_them_out(text in small_document()) {
        let parsed = parse_query(&text).unwrap();
        let operation = parsed.operations.iter().next().unwrap().1;
        let (selections, depth, cost) = naive(&operation.node.selection_set.node, &parsed);
        let exactly = |selections: u64, depth: u64| CostSettings {
            max_selections: selections as u32,
            max_depth: depth as u32,
            max_complexity: 0,
            ..CostSettings::of_development()
        };
        let within = guard(CostSettings { ..exactly(selections.max(1_000), depth) });
        prop_assert_eq!(&admit(&within, &text, json!({})).unwrap_err()[0]["extensions"]["measured"], &json!(cost));
        let fewer = refused(&guard(exactly(selections - 1, depth)), &text);
        prop_assert_eq!(&fewer["measured"], &json!(selections));
        let shallower = refused(&guard(exactly(selections, depth - 1)), &text);
        prop_assert_eq!(&shallower["measured"], &json!(depth));
    }

    #[test]
    fn nothing_is_parsed_that_was_not_counted(text in "[{}()\\[\\]:$!@.a-c\"# \\\\0-1-]{0,200}") {
        let (document, work) = guard_of_all().measure(&text);
        prop_assert!(document.is_err() || work.selections <= work.tokens);
    }
}

/// Shared by the cases of a property.
fn guard_of_all() -> &'static Guard {
    static GUARD: OnceLock<Guard> = OnceLock::new();
    GUARD.get_or_init(usual)
}

#[test]
fn a_fragment_that_spreads_itself_is_refused() {
    for text in [
        "{ ...A } fragment A on Query { ...A }",
        "{ x } fragment A on Query { x { ...B } } fragment B on Query { ... on Query { ...C } } fragment C on Query { ...A }",
    ] {
        assert_eq!(reason(&usual(), text), "FRAGMENT_CYCLE", "{text}");
    }
}

#[test]
fn a_spread_of_an_unknown_fragment_is_refused() {
    let refused = document_error(usual().read("{ x } fragment A on Query { ...B }").map(drop).unwrap_err());
    let error = serde_json::to_value(&refused.0[0]).unwrap();
    assert_eq!(error["extensions"]["reason"], "UNKNOWN_FRAGMENT");
    assert_eq!(error["locations"], json!([{ "line": 1, "column": 29 }]));
}

#[test]
fn a_chain_of_ten_thousand_fragments_needs_no_deep_stack() {
    let row = (0..10_000).map(|n| format!("fragment F{n} on Query {{ ...F{} }}", n + 1));
    let text = format!("{{ ...F0 }} {} fragment F10000 on Query {{ x }}", row.collect::<String>());
    let guard = guard(CostSettings {
        max_document_size: u32::MAX,
        max_tokens: u32::MAX,
        ..CostSettings::of_development()
    });
    let measured = std::thread::Builder::new().stack_size(256 * 1024).spawn(move || reason(&guard, &text));
    assert_eq!(measured.unwrap().join().unwrap(), "TOO_DEEPLY_NESTED");
}

/// Reads, writes and creations of the operation with this name.
fn actions(query: &str, operation: Option<&str>) -> (u32, u32) {
    let document = usual().read(query).unwrap();
    let actions = document.operation(operation).unwrap().actions;
    (actions.of(RateClass::Write), actions.of(RateClass::Creation))
}

#[test]
fn each_root_field_of_a_mutation_is_an_action_also_within_fragments() {
    assert_eq!(actions("mutation { likeNote { changed note { id } } }", None), (1, 0));
    assert_eq!(actions("mutation { a: likeNote { x } b: likeNote { x } createNote { x } }", None), (2, 1));
    let nested = "mutation { ... { likeNote { x } ...A } }
        fragment A on Mutation { addComment { x } ...B } fragment B on Mutation { follow { x } }";
    assert_eq!(actions(nested, None), (2, 1));
    let several = "mutation A { likeNote { x } } mutation B { createGroup { x } follow { x } }";
    assert_eq!(actions(several, Some("B")), (1, 1));
    let twice = "mutation { ...A ...A } fragment A on Mutation { likeNote { x } }";
    assert_eq!(actions(twice, None), (2, 0));
}
