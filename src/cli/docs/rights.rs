//! Table of the fields with a rule of access.

use super::table;
use plaudit_graphql::{RULES, counts_as};

const HEAD: [&str; 3] = ["Field", "Who may", "Counts as"];

pub fn table() -> String {
    let rows = RULES.iter().map(|(of_type, field, who)| {
        let (name, class) = (format!("{of_type}.{field}"), counts_as(of_type, field));
        [table::code(&name), who.name().to_owned(), class.to_owned()]
    });
    table::table(HEAD, rows)
}
