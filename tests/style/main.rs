//! The style of the house. Each rule lists faults, says what to do instead, and is tested to find one.
//!
//! - **Sums** ([`sums`]): code, documents and names together stay below the limits of [`limits`].
//! - **Documents** ([`documents`]): pages are short; what they link to and name exists.
//! - **Layers** ([`layers`]): a module uses only what is below it, and imports have no cycles.

#![expect(clippy::unwrap_used, reason = "a panic fails the test, as it should")]

mod documents;
mod layers;
mod limits;
mod repository;
mod rust;
mod sums;

use limits::{DEPENDENCIES, Kind, SUMS, Sum};
use repository::Repository;

#[test]
fn no_sum_exceeds_its_limit_and_each_limit_follows_its_sum() {
    let repository = Repository::whole();
    let faults: Vec<String> =
        SUMS.iter().filter_map(|sum| sums::fault(sum, (sum.count)(&repository))).collect();
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
}

#[test]
fn a_sum_fails_above_its_limit_and_two_per_cent_below_it() {
    let of = |kind| Sum { name: "words", limit: 100, kind, count: |_| 0, instead: "be short" };
    let most = of(Kind::AtMost);
    assert_eq!(sums::fault(&most, 101).unwrap(), "words: 101, at most 100: be short");
    assert!(sums::fault(&most, 98).unwrap().contains("set it to 98"));
    assert_eq!(sums::fault(&most, 100).or(sums::fault(&most, 99)), None);
    let least = of(Kind::AtLeast);
    assert_eq!(sums::fault(&least, 99).unwrap(), "words: 99, at least 100: be short");
    assert!(sums::fault(&least, 102).unwrap().contains("set it to 102"));
    assert_eq!(sums::fault(&least, 100).or(sums::fault(&least, 101)), None);
}

#[test]
fn sums_count_what_they_name() {
    let long = format!("fn long() {{\n{}}}\n", "    step();\n".repeat(60));
    let wide = format!("// {}\n", "x".repeat(120));
    let line = "word ".repeat(50);
    let repository = Repository::of(&[
        ("Cargo.toml", ""),
        ("crates/a/Cargo.toml", "[package]\nname = \"a\"\n"),
        ("crates/a/src/lib.rs", "pub struct One;\npub struct Two;\n"),
        (
            "src/one.rs",
            "pub struct One;\nimpl One { fn a(&self) {} }\n#[cfg(test)]\nmod tests { fn x() {} }\n",
        ),
        (
            "src/two.rs",
            "struct One;\nstruct Three;\ntrait Acts { fn act(&self); }\nimpl Acts for One { fn act(&self) {} }\n",
        ),
        ("src/foreign.rs", "use super::One;\nimpl One { fn b(&self) {} }\n"),
        ("src/long.rs", &format!("{long}{wide}")),
        ("src/sql/query.sql", "SELECT 1\n-- nothing\n"),
        (
            "schema/PROTOCOL.md",
            "| `extensions.reason` | Meaning |\n|---|---|\n| `FULL` | full |\n| `GONE` | gone |\n\n| `OTHER` |\n",
        ),
        ("lua/lib/keys.lua", "return 1\n"),
        ("lua/fold.lua", "-- header\nreturn 1\n"),
        ("migrations/1.sql", "CREATE TABLE a (\n  id int\n);\nCREATE UNLOGGED TABLE b ();\n"),
        ("scripts/run.sh", "#!/bin/sh\nexit 0\n"),
        ("tests/integration/likes.rs", "fn t() { assert!(x); prop_assert_eq!(a, b); assertion(); }\n"),
        ("docs/reference/settings.md", "| `one` | x |\n"),
        ("docs/reference/command-line.md", "## plaudit serve\n"),
        ("docs/reference/metrics.md", "| `plaudit_requests_total` |\n"),
        ("docs/reference/errors.md", "| Code |\n| `INTERNAL` |\n"),
        ("docs/page.md", &line),
        ("docs/internals/inner.md", "three more words\n"),
    ]);
    let counted = |name: &str| {
        let sum = SUMS.iter().find(|sum| sum.name == name).unwrap_or_else(|| panic!("no sum {name}"));
        (sum.count)(&repository)
    };
    for (name, expected) in [
        ("lines of Lua and SQL", 7),
        ("lines of TOML and JSON in src and crates", 2),
        ("lines of scripts", 1),
        ("lines of Rust in tests and benches", 1),
        ("assertions in tests", 2),
        ("settings", 1),
        ("tables", 2),
        ("Lua scripts", 1),
        ("commands", 1),
        ("metrics", 1),
        ("error codes", 1),
        ("reasons of errors", 2),
        ("words of documents", 53),
        ("words of docs/internals, docs/decisions and docs/results.md", 3),
        ("type names that a crate defines twice", 1),
        ("public type names of several crates", 1),
        ("entries of the fullest folder", 4),
        ("methods of one type", 3),
        ("files that only add methods to a type of another file", 1),
        ("lines of Rust above 120 characters without a string", 1),
        ("lines of documents above 200 characters", 1),
        ("functions above 60 lines", 1),
    ] {
        assert_eq!(counted(name), expected, "{name}");
    }
    let code = Repository::of(&[
        ("src/one.rs", "fn a() {} // b\n#[cfg(test)]\nmod tests {}\n"),
        ("src/one/tests.rs", "fn b() {}"),
        ("crates/two/src/three.rs", "use c;"),
    ]);
    assert_eq!(sums::lexemes(&code), 6 + 3, "comments and unit tests do not count");
}

#[test]
fn a_toolchain_without_clippy_compiles_by_rustc_alone() {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scripts/rustc.sh");
    let run =
        std::process::Command::new(script).args(["/bin/echo", "--crate-name"]).env("PATH", "/none").output();
    assert_eq!(String::from_utf8(run.unwrap().stdout).unwrap(), "--crate-name\n");
}

#[test]
fn the_crates_of_others_are_those_of_the_list() {
    let used = sums::dependencies(&Repository::whole());
    assert_eq!(used.iter().map(String::as_str).collect::<Vec<_>>(), DEPENDENCIES);
    let manifest = "[dependencies]\n# a reason\nserde = \"1\"\nown = { path = \"../own\" }\nplaudit-own.workspace = true\n\n\
                    [dev-dependencies]\nrand.workspace = true\n\n[features]\nmore = []\n";
    let repository = Repository::of(&[("crates/own/Cargo.toml", manifest)]);
    assert_eq!(sums::dependencies(&repository).into_iter().collect::<Vec<_>>(), ["rand", "serde"]);
}
