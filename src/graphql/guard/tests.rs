//! The guard as a whole: what passes, what is refused, and how much work that is.

use std::{fmt::Write, sync::OnceLock};

use async_graphql::parser::types::{OperationType, Selection, SelectionSet};
use proptest::prelude::*;
use serde_json::{Value as Json, json};

use super::*;
use crate::graphql::schema;

fn guard(limits: CostSettings) -> Guard {
    static SDL: OnceLock<String> = OnceLock::new();
    Guard::new(SDL.get_or_init(schema::sdl), limits)
}

fn usual() -> Guard {
    guard(CostSettings::of_development())
}

/// The refusal's extensions.
fn refused(guard: &Guard, text: &str) -> Json {
    let error = guard.read(text).map(drop).unwrap_err();
    serde_json::to_value(error).unwrap()["extensions"].clone()
}

fn reason(guard: &Guard, text: &str) -> String {
    refused(guard, text)["reason"].as_str().unwrap_or("none").to_owned()
}

fn admit(guard: &Guard, text: &str, variables: Json) -> Result<Variables, Vec<Json>> {
    let document = guard.read(text).unwrap();
    let mut variables = Variables::from_json(variables);
    match guard.admit(&document, document.operation(None).unwrap(), &mut variables) {
        Ok(()) => Ok(variables),
        Err(errors) => Err(errors.into_iter().map(|error| serde_json::to_value(error).unwrap()).collect()),
    }
}

/// The measured complexity, by a guard that allows none.
fn complexity(text: &str, variables: Json) -> u64 {
    let none =
        guard(CostSettings { max_complexity: 0, max_selections: 20_000, ..CostSettings::of_development() });
    admit(&none, text, variables).unwrap_err()[0]["extensions"]["measured"].as_u64().unwrap()
}

/// Fragments of which each spreads the next one twice: 2^n fields.
pub fn bomb(fragments: usize) -> String {
    let mut text = "{ feed { nodes { ...F0 } } }".to_owned();
    for n in 0..fragments {
        write!(text, "fragment F{n} on Note {{ ...F{next} ...F{next} }}", next = n + 1).unwrap();
    }
    text + &format!("fragment F{fragments} on Note {{ id }}")
}

// What clients send.

/// What GraphiQL sends at its start: the deepest and most complex query that every schema must answer.
pub const INTROSPECTION: &str = include_str!("../../../tests/documents/introspection.graphql");
/// As Relay's compiler writes it: one query, a fragment per component, `__typename` and ids everywhere.
const RELAY: &str = include_str!("../../../tests/documents/relay.graphql");
/// As Apollo Client sends it: with `__typename` in each object.
const APOLLO: &str = include_str!("../../../tests/documents/apollo.graphql");

#[test]
fn what_usual_clients_send_is_within_the_limits() {
    let guard = usual();
    for (text, variables) in [
        (INTROSPECTION, json!({})),
        (RELAY, json!({ "count": 50, "cursor": null, "withComments": true })),
        (APOLLO, json!({ "first": 100 })),
    ] {
        assert!(admit(&guard, text, variables).is_ok(), "{text}");
    }
    let (_, tokens) = tokens::count(RELAY, &CostSettings::of_development());
    assert!((200..1_000).contains(&tokens), "{tokens}");
}

#[test]
fn the_schema_may_be_asked_for_once_but_not_twice_nor_in_circles() {
    let guard = usual();
    assert!(guard.read(INTROSPECTION).is_ok());
    let twice = INTROSPECTION.replacen("types {", "more: types { ...FullType } types {", 1);
    assert_eq!(reason(&guard, &twice), "INTROSPECTION_TOO_COMPLEX");
    let circles = "{ __schema { types { fields { type { fields { type { fields { name } } } } } } } }";
    assert_eq!(reason(&guard, circles), "INTROSPECTION_TOO_COMPLEX");
}

#[test]
fn without_introspection_only_the_type_name_is_told() {
    let guard = guard(CostSettings { introspection: Some(false), ..CostSettings::of_development() });
    for asks in [
        INTROSPECTION,
        "{ __type(name: \"Note\") { name } }",
        "{ ...A } fragment A on Query { ... on Query { a: __schema { queryType { name } } } }",
        "mutation { __schema { queryType { name } } }",
    ] {
        assert_eq!(reason(&guard, asks), "INTROSPECTION_OFF", "{asks}");
    }
    assert!(guard.read("{ __typename feed { __typename nodes { __typename id } } }").is_ok());
}

// Limits of documents.

/// A document that is exactly `n` of something, and the limit that it is measured by.
type Grown = (&'static str, fn(u32) -> CostSettings, fn(u32) -> String);

#[test]
fn each_limit_lets_pass_what_is_just_within_it() {
    let cases: [Grown; 10] = [
        (
            "DOCUMENT_TOO_LONG",
            |n| CostSettings { max_document_size: n, ..CostSettings::of_development() },
            |n| format!("{{ id }}{}", " ".repeat(n as usize - 6)),
        ),
        (
            "TOO_MANY_TOKENS",
            |n| CostSettings { max_tokens: n, ..CostSettings::of_development() },
            |n| format!("{{{}}}", " id".repeat(n as usize - 2)),
        ),
        (
            "TOO_DEEPLY_NESTED",
            |n| CostSettings { max_nesting: n, ..CostSettings::of_development() },
            |n| format!("{{ a(x: {}{}) }}", "[".repeat(n as usize - 2), "]".repeat(n as usize - 2)),
        ),
        (
            "TOO_DEEP",
            |n| CostSettings { max_depth: n, ..CostSettings::of_development() },
            |n| format!("{}{}", "{ a ".repeat(n as usize), "}".repeat(n as usize)),
        ),
        (
            "TOO_MANY_ALIASES",
            |n| CostSettings { max_aliases: n, ..CostSettings::of_development() },
            |n| format!("{{{}}}", (0..n).map(|n| format!(" a{n}: id")).collect::<String>()),
        ),
        (
            "TOO_MANY_DIRECTIVES",
            |n| CostSettings { max_directives: n, ..CostSettings::of_development() },
            |n| format!("{{{}}}", " id @a".repeat(n as usize)),
        ),
        (
            "TOO_MANY_DIRECTIVES",
            |n| CostSettings { max_directives_at_once: n, ..CostSettings::of_development() },
            |n| format!("{{ ...F {} }} fragment F on Query {{ id }}", "@a".repeat(n as usize)),
        ),
        (
            "TOO_MANY_ROOT_FIELDS",
            |n| CostSettings { max_mutations: n, ..CostSettings::of_development() },
            |n| format!("mutation {{ x ...F }} fragment F on Mutation {{ {} }}", " x".repeat(n as usize - 1)),
        ),
        (
            "TOO_MANY_SELECTIONS",
            |n| CostSettings { max_selections: n, ..CostSettings::of_development() },
            |n| format!("{{ ...F ...F }} fragment F on Query {{ {} }}", " x".repeat((n as usize - 2) / 2)),
        ),
        (
            "TOO_DEEPLY_NESTED",
            |n| CostSettings { max_nesting: n, ..CostSettings::of_development() },
            |n| {
                let spread = |f: u32| format!("fragment F{f} on Query {{ ...F{} }}", f + 1);
                let row = (0..n - 1).map(spread).collect::<String>();
                format!("{{ ...F0 }} {row} fragment F{} on Query {{ id }}", n - 1)
            },
        ),
    ];
    for (expected, limits, document) in cases {
        for n in [8, 20] {
            let within = guard(limits(n)).read(&document(n)).map(drop);
            assert_eq!(within, Ok(()), "{expected} {n}");
            // Two at once where they come in pairs.
            let beyond = document(n + 1 + u32::from(expected == "TOO_MANY_SELECTIONS"));
            assert_eq!(reason(&guard(limits(n)), &beyond), expected, "{n}: {beyond}");
        }
    }
}

#[test]
fn a_subscription_has_one_root_field_whatever_the_settings_say() {
    let guard = guard(CostSettings { max_mutations: 100, ..CostSettings::of_development() });
    assert!(guard.read("subscription { a }").is_ok());
    for two in ["subscription { a b }", "subscription { ...F } fragment F on Subscription { a b }"] {
        assert_eq!(refused(&guard, two)["maximum"], 1, "{two}");
    }
}

#[test]
fn what_no_operation_uses_is_measured_too() {
    let limits = CostSettings { max_selections: 20, ..CostSettings::of_development() };
    let unused = format!("{{ id }} fragment F on Query {{ {} }}", "x ".repeat(20));
    assert_eq!(reason(&guard(limits), &unused), "TOO_MANY_SELECTIONS");
    let other = format!("query A {{ id }} query B {{ {} }}", "x ".repeat(20));
    assert_eq!(reason(&guard(limits), &other), "TOO_MANY_SELECTIONS");
}

#[test]
fn fragments_that_multiply_are_counted_in_a_few_hundred_steps() {
    // 656 bytes: without a guard they cost 16.7 seconds.
    let guard = usual();
    for fragments in [13, 29] {
        let text = bomb(fragments);
        let (document, work) = guard.measure(&text);
        assert_eq!(refused(&guard, &text)["reason"], "TOO_MANY_SELECTIONS");
        assert!(document.is_err() && work.tokens < 400 && work.selections < 100, "{work:?}");
    }
    // Beyond what a number holds.
    let wide = CostSettings { max_nesting: 64, ..CostSettings::of_development() };
    let refusal = refused(&self::guard(wide), &bomb(60));
    assert_eq!(
        (refusal["reason"].as_str(), refusal["maximum"].as_u64()),
        (Some("TOO_MANY_SELECTIONS"), Some(1_000))
    );
}

#[test]
fn sets_that_the_engine_would_compare_again_and_again_are_refused() {
    // 30 sets in each other, each with the same 600 fields below it.
    let nested = format!("{{ {} {} {} }}", "...{".repeat(30), "x ".repeat(600), "}".repeat(30));
    let refusal = refused(&usual(), &nested);
    assert_eq!(
        (refusal["reason"].as_str(), refusal["maximum"].as_u64()),
        (Some("TOO_MANY_SELECTIONS"), Some(8_000))
    );
    // Fields of one name with many arguments are compared argument by argument.
    let arguments = (0..80).map(|n| format!("a{n}:1 ")).collect::<String>();
    let many =
        format!("{{ {} }} fragment F on Query {{ f({arguments}) f({arguments}) }}", "a { ...F } ".repeat(60));
    assert_eq!(reason(&usual(), &many), "TOO_MANY_SELECTIONS");
}

#[test]
fn what_is_no_document_is_refused_with_a_short_message() {
    for text in ["", "{", "{ feed", "query", "{ a(x: \"\"\" ) }", &format!("{{ \"{}", "x".repeat(30_000))] {
        let error = usual().read(text).map(drop).unwrap_err();
        assert!(error.message.chars().count() <= 501, "{}", error.message.len());
        assert_eq!(refused(&usual(), text)["code"], "GRAPHQL_PARSE_FAILED", "{text}");
    }
}

// Complexity.

#[test]
fn items_cost_what_is_selected_in_them() {
    assert_eq!(complexity("{ __typename }", json!({})), 1);
    assert_eq!(complexity("{ feed(first: 10) { nodes { id title } } }", json!({})), 1 + 10 * 3);
    assert_eq!(complexity("{ feed { nodes { id } } }", json!({})), 1 + 20 * 2);
    assert_eq!(
        complexity("{ feed(first: 5) { nodes { comments(first: 3) { nodes { id } } } } }", json!({})),
        1 + 5 * (1 + 1 + 3 * 2)
    );
    assert_eq!(
        complexity("{ nodes(ids: [\"a\", \"b\"]) { id ... on Note { title } } }", json!({})),
        1 + 2 * 2
    );
    assert_eq!(
        complexity(
            "mutation { recordViews(input: { noteIds: [\"a\", \"b\"] }) { notes { id } } }",
            json!({})
        ),
        1 + 2 * 2
    );
}

#[test]
fn variables_and_their_defaults_say_how_many_items_there_are() {
    let text = "query ($n: Int = 30) { feed(first: $n) { nodes { id } } }";
    assert_eq!(complexity(text, json!({ "n": 7 })), 1 + 7 * 2);
    assert_eq!(complexity(text, json!({})), 1 + 30 * 2);
    assert_eq!(complexity(text, json!({ "n": null })), 1 + 100 * 2);
    let text = "query ($ids: [ID!]!) { a: nodes(ids: $ids) { ...F } b: nodes(ids: $ids) { ...F } } fragment F on Note { comments(first: 2) { nodes { id } } }";
    assert_eq!(complexity(text, json!({ "ids": ["a", "b", "c"] })), 2 * (1 + 3 * (1 + 2 * 2)));
}

#[test]
fn a_fragment_whose_cost_varies_costs_as_much_as_what_is_in_it() {
    let plain =
        "query ($n: Int) { feed(first: 3) { nodes { author { notes(first: $n) { nodes { id } } } } } }";
    let spread = "query ($n: Int) { feed(first: 3) { nodes { ...A } } } fragment A on Note { author { ...B } } fragment B on User { notes(first: $n) { nodes { id } } }";
    for n in [1, 50, 100] {
        assert_eq!(complexity(plain, json!({ "n": n })), complexity(spread, json!({ "n": n })), "{n}");
    }
}

#[test]
fn long_texts_are_paid_for_by_each_object_that_they_are_copied_for() {
    let text = "query ($c: String) { feed(first: 100) { nodes { comments(first: 1, after: $c) { nodes { id } } } } }";
    let short = complexity(text, json!({ "c": "x" }));
    assert_eq!(complexity(text, json!({ "c": "x".repeat(2_560) })), short + 100 * 10);
}

#[test]
fn pages_of_full_pages_are_refused_and_the_numbers_do_not_overflow() {
    let guard = usual();
    let pages = "{ feed(first: 100) { nodes { comments(first: 100) { nodes { replies(first: 100) { nodes { id } } } } } } }";
    let errors = admit(&guard, pages, json!({})).unwrap_err();
    assert_eq!(errors[0]["extensions"]["reason"], "TOO_COMPLEX");
    assert_eq!(errors[0]["extensions"]["code"], "GRAPHQL_VALIDATION_FAILED");
    let deep =
        (0..7).fold("id".to_owned(), |inner, _| format!("followers(first: 100) {{ nodes {{ {inner} }} }}"));
    let wide = CostSettings { max_depth: 64, ..CostSettings::of_development() };
    let deep = format!("{{ user {{ {} }} }}", ["a", "b"].map(|alias| format!("{alias}: {deep}")).concat());
    assert!(admit(&self::guard(wide), &deep, json!({})).is_err());
}

// Variables.

/// Place and message of the only error.
fn misfit(text: &str, variables: Json) -> (String, String) {
    let errors = admit(&usual(), text, variables).unwrap_err();
    assert_eq!(errors.len(), 1, "{errors:?}");
    let extensions = &errors[0]["extensions"];
    assert_eq!(
        (&extensions["code"], &extensions["reason"]),
        (&json!("BAD_USER_INPUT"), &json!("INVALID_VARIABLE"))
    );
    assert_eq!(errors[0].get("path"), None);
    (extensions["place"].as_str().unwrap().to_owned(), errors[0]["message"].as_str().unwrap().to_owned())
}

const COMMENT: &str = "mutation ($input: AddCommentInput!) { addComment(input: $input) { changed } }";

#[test]
fn what_does_not_fit_is_named_with_its_place() {
    for (text, variables, place, says) in [
        ("query ($id: ID!) { node(id: $id) { id } }", json!({}), "id", "required"),
        ("query ($id: ID!) { node(id: $id) { id } }", json!({ "id": null }), "id", "not null"),
        ("query ($id: ID!) { node(id: $id) { id } }", json!({ "id": {} }), "id", "an object is no ID"),
        ("query ($n: Int) { feed(first: $n) { nodes { id } } }", json!({ "n": "5" }), "n", "\"5\" is no Int"),
        (
            "query ($n: Int) { feed(first: $n) { nodes { id } } }",
            json!({ "n": 3_000_000_000_i64 }),
            "n",
            "is no Int",
        ),
        ("query ($n: Int) { feed(first: $n) { nodes { id } } }", json!({ "n": 1.5 }), "n", "is no Int"),
        (
            "query ($w: HotWindow) { hotNotes(window: $w) { nodes { id } } }",
            json!({ "w": "YEAR" }),
            "w",
            "\"YEAR\" is no value of HotWindow",
        ),
        (
            "query ($t: DateTime!) { noteActivity(noteId: 1, since: $t) { total } }",
            json!({ "t": "yesterday" }),
            "t",
            "is no DateTime",
        ),
        ("query ($i: [ID!]!) { nodes(ids: $i) { id } }", json!({ "i": ["a", null] }), "i[1]", "not null"),
        (
            "query ($w: HotWindow = YEAR) { hotNotes(window: $w) { nodes { id } } }",
            json!({}),
            "w",
            "YEAR is no value of HotWindow",
        ),
        (COMMENT, json!({ "input": "x" }), "input", "is no object, as AddCommentInput is"),
        (COMMENT, json!({ "input": { "body": "x" } }), "input.noteId", "required"),
        (
            COMMENT,
            json!({ "input": { "body": "x", "noteId": "n", "parent": 1 } }),
            "input.parent",
            "has no such field",
        ),
        (
            COMMENT,
            json!({ "input": { "body": "x", "noteId": "n", "mentions": ["a", "b", [1]] } }),
            "input.mentions[2]",
            "a list is no ID",
        ),
    ] {
        let (at, message) = misfit(text, variables);
        assert_eq!(at, place, "{message}");
        assert!(message.contains(says), "{message}");
    }
}

#[test]
fn no_message_lists_what_the_schema_has() {
    let (_, message) =
        misfit("query ($w: HotWindow) { hotNotes(window: $w) { nodes { id } } }", json!({ "w": "DAYS" }));
    assert!(!message.contains("WEEK") && !message.contains("\"DAY\""), "{message}");
    let (_, message) = misfit(COMMENT, json!({ "input": { "bod": "x", "noteId": "n" } }));
    assert!(!message.contains("body"), "{message}");
}

#[test]
fn variables_get_the_form_that_their_types_ask_for() {
    let text = "query ($n: Int = 7, $ids: [ID!]!, $on: Boolean) { feed(first: $n) { nodes { id @include(if: $on) } } nodes(ids: $ids) { id } }";
    let sent = json!({ "ids": "a", "on": true, "unknown": { "is": "left alone" } });
    let variables = admit(&usual(), text, sent).unwrap();
    assert_eq!(
        variables.into_value().into_json().unwrap(),
        json!({ "n": 7, "ids": ["a"], "on": true, "unknown": { "is": "left alone" } })
    );
    let variables = admit(&usual(), text, json!({ "n": 3.0, "ids": [42, "b"] })).unwrap();
    assert_eq!(variables.into_value().into_json().unwrap(), json!({ "n": 3, "ids": [42, "b"] }));
}

#[test]
fn each_variable_that_does_not_fit_has_an_error() {
    let text = "query ($a: Int!, $b: Int, $c: ID!) { feed(first: $a) { nodes { id } } b: feed(first: $b) { nodes { id } } node(id: $c) { id } }";
    assert_eq!(admit(&usual(), text, json!({ "b": true })).unwrap_err().len(), 3);
}

#[test]
fn variables_are_bounded_in_depth_and_number_also_unknown_ones() {
    let guard = guard(CostSettings {
        max_variable_depth: 3,
        max_variable_values: 100,
        ..CostSettings::of_development()
    });
    let reason = |variables: Json| -> Option<String> {
        let errors = admit(
            &guard,
            "query ($ids: [ID!]) { a: nodes(ids: $ids) { id } b: nodes(ids: $ids) { id } }",
            variables,
        )
        .err()?;
        Some(errors[0]["extensions"]["reason"].as_str().unwrap().to_owned())
    };
    assert_eq!(reason(json!({ "x": [[[1]]] })), None);
    assert_eq!(reason(json!({ "x": [[[[1]]]] })).as_deref(), Some("VARIABLES_TOO_DEEP"));
    assert_eq!(reason(json!({ "x": vec![1; 99] })), None);
    assert_eq!(reason(json!({ "x": vec![1; 100] })).as_deref(), Some("TOO_MANY_VARIABLE_VALUES"));
    // It is used twice.
    assert_eq!(reason(json!({ "ids": vec!["a"; 49] })), None);
    assert_eq!(reason(json!({ "ids": vec!["a"; 50] })).as_deref(), Some("TOO_MANY_VARIABLE_VALUES"));
    assert_eq!(reason(json!({ "x": "y".repeat(256 * 100) })).as_deref(), Some("TOO_MANY_VARIABLE_VALUES"));
}

#[test]
fn the_only_operation_or_the_named_one_is_meant() {
    let guard = usual();
    let document = guard.read("query A { viewer { id } } mutation B { x }").unwrap();
    assert_eq!(document.operation(Some("A")).unwrap().kind, OperationType::Query);
    assert_eq!(document.operation(Some("B")).unwrap().kind, OperationType::Mutation);
    assert!(document.operation(None).is_err() && document.operation(Some("C")).is_err());
}

// Kept documents.

#[test]
fn a_document_is_read_once_if_it_was_executed() {
    let guard = usual();
    let first = guard.read("{ viewer { id } }").unwrap();
    assert!(!Arc::ptr_eq(&first, &guard.read("{ viewer { id } }").unwrap()));
    guard.keep(&first);
    guard.keep(&first);
    assert!(Arc::ptr_eq(&first, &guard.read("{ viewer { id } }").unwrap()));
    assert!(!Arc::ptr_eq(&first, &guard.read("{ viewer { id }  }").unwrap()));
}

#[test]
fn documents_that_come_once_do_not_push_out_one_that_comes_often() {
    let guard = guard(CostSettings { document_cache: 200_000, ..CostSettings::of_development() });
    let often = guard.read("{ viewer { id } }").unwrap();
    guard.keep(&often);
    for round in 0..2_000 {
        let once = guard.read(&format!("{{ viewer {{ id }} }}{}", " ".repeat(round))).unwrap();
        guard.keep(&once);
        if round % 10 == 0 {
            let _ = guard.read("{ viewer { id } }");
        }
    }
    assert!(Arc::ptr_eq(&often, &guard.read("{ viewer { id } }").unwrap()));
}

// The count with fragments measured once, against one that writes them out.

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
    fn fragments_measured_once_come_to_the_same_as_fragments_written_out(text in small_document()) {
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
