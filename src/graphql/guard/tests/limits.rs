//! The limits of documents.

use super::*;

/// A document that is exactly `n` of something, and the limit that it is measured by.
type Grown = (&'static str, fn(u32) -> CostSettings, fn(u32) -> String);

#[test]
fn each_limit_allows_exactly_its_maximum() {
    let cases: [Grown; 10] = [
        (
            "DOCUMENT_TOO_LONG",
            |n| CostSettings { max_document_size: n, ..CostSettings::of_development() },
            |n| format!("{{ id }}{}", " ".repeat(n as usize - 6)),
        ),
        (
            "TOO_MANY_TOKENS",
            |n| CostSettings { max_tokens: n, ..CostSettings::of_development() },
            |n| format!("{{{}}}", " __typename".repeat(n as usize - 2)),
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
            |n| format!("{{{}}}", (0..n).map(|n| format!(" a{n}: __typename")).collect::<String>()),
        ),
        (
            "TOO_MANY_DIRECTIVES",
            |n| CostSettings { max_directives: n, ..CostSettings::of_development() },
            |n| format!("{{{}}}", " __typename @a".repeat(n as usize)),
        ),
        (
            "TOO_MANY_DIRECTIVES",
            |n| CostSettings { max_directives_at_once: n, ..CostSettings::of_development() },
            |n| format!("{{ ...F {} }} fragment F on Query {{ id }}", "@a".repeat(n as usize)),
        ),
        (
            "TOO_MANY_ROOT_FIELDS",
            |n| CostSettings { max_mutations: n, ..CostSettings::of_development() },
            |n| {
                format!(
                    "mutation {{ x ...F }} fragment F on Mutation {{ {} }}",
                    " __typename".repeat(n as usize - 1)
                )
            },
        ),
        (
            "TOO_MANY_SELECTIONS",
            |n| CostSettings { max_selections: n, ..CostSettings::of_development() },
            |n| {
                format!(
                    "{{ ...F ...F }} fragment F on Query {{ {} }}",
                    " __typename".repeat((n as usize - 2) / 2)
                )
            },
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
fn unused_fragments_and_operations_are_measured_too() {
    let limits = CostSettings { max_selections: 20, ..CostSettings::of_development() };
    let unused = format!("{{ id }} fragment F on Query {{ {} }}", "__typename ".repeat(20));
    assert_eq!(reason(&guard(limits), &unused), "TOO_MANY_SELECTIONS");
    let other = format!("query A {{ id }} query B {{ {} }}", "__typename ".repeat(20));
    assert_eq!(reason(&guard(limits), &other), "TOO_MANY_SELECTIONS");
}

#[test]
fn multiplying_fragments_are_measured_in_a_few_hundred_steps() {
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
    let extensions = refused(&self::guard(wide), &bomb(60));
    assert_eq!(
        (extensions["reason"].as_str(), extensions["maximum"].as_u64()),
        (Some("TOO_MANY_SELECTIONS"), Some(1_000))
    );
}

#[test]
fn sets_that_the_engine_would_compare_too_often_are_refused() {
    // 30 sets in each other, each with the same 600 fields below it.
    let nested = format!("{{ {} {} {} }}", "...{".repeat(30), "__typename ".repeat(600), "}".repeat(30));
    let extensions = refused(&usual(), &nested);
    assert_eq!(
        (extensions["reason"].as_str(), extensions["maximum"].as_u64()),
        (Some("TOO_MANY_SELECTIONS"), Some(8_000))
    );
    // Fields of one name with many arguments are compared argument by argument.
    let arguments = (0..80).map(|n| format!("a{n}:1 ")).collect::<String>();
    let many = format!(
        "{{ {} }} fragment F on Query {{ f({arguments}) f({arguments}) }}",
        "viewer { ...F } ".repeat(60)
    );
    assert_eq!(reason(&usual(), &many), "TOO_MANY_SELECTIONS");
}

#[test]
fn an_invalid_document_is_refused_with_a_short_message() {
    for text in ["", "{", "{ feed", "query", "{ a(x: \"\"\" ) }", &format!("{{ \"{}", "x".repeat(30_000))] {
        let Rejection(errors) = document_error(usual().read(text).map(drop).unwrap_err());
        assert!(errors[0].message.chars().count() <= 501, "{}", errors[0].message.len());
        assert_eq!(refused(&usual(), text)["code"], "GRAPHQL_PARSE_FAILED", "{text}");
    }
}

#[test]
fn measuring_ends_at_the_names_that_are_told_and_fewer_are_left_to_the_engine() {
    let many = |item: &dyn Fn(usize) -> String, count: usize| (0..count).map(item).collect::<String>();
    let fields = |count: usize| format!("{{ {} }}", many(&|n| format!(" wrong{n}"), count));
    let arguments =
        |count: usize| format!("{{ feed({}) {{ nodes {{ id }} }} }}", many(&|n| format!(" a{n}: 1"), count));
    let of_a_text =
        |count: usize| format!("{{ note(id: 1) {{ title {{ {} }} }} }}", many(&|n| format!(" x{n}"), count));
    for document in [&fields as &dyn Fn(usize) -> String, &arguments, &of_a_text] {
        assert_eq!(usual().read(&document(16)).map(drop), Ok(()), "{}", document(16));
        let Rejection(errors) = document_error(usual().read(&document(300)).map(drop).unwrap_err());
        assert_eq!(errors.len(), 16);
        for error in errors {
            let error = serde_json::to_value(error).unwrap();
            assert_eq!(error["extensions"]["reason"], "TOO_MANY_UNKNOWN_NAMES");
            assert_eq!(error["locations"].as_array().unwrap().len(), 1, "{error}");
        }
    }
    let (_, work) = usual().measure(&fields(900));
    assert!(work.selections < 20, "{work:?}");
    // What is below an unknown name, or on a type that does not exist, is not looked at by the engine either.
    for unseen in ["nothing { XX }", "... on Nothing { XX }"] {
        let text = format!("{{ {} }}", unseen.replace("XX", &many(&|n| format!(" x{n}"), 100)));
        assert_eq!(usual().read(&text).map(drop), Ok(()), "{text}");
    }
}
