//! Table of the fields with a rule of access.

use super::table;
use plaudit_graphql::rights;

const HEAD: [&str; 3] = ["Field", "Who may", "Counts as"];

pub fn table() -> String {
    let rows = rights()
        .into_iter()
        .map(|right| [table::code(&right.field), right.who.name().to_owned(), right.counts_as.to_owned()]);
    table::table(HEAD, rows)
}
