//! The codes of errors.

use super::table;
use crate::graphql::Code;

const HEAD: [&str; 4] = ["Code", "Retrying helps", "Class", "Meaning"];

pub fn table() -> String {
    let rows = Code::ALL.map(|code| {
        let retrying = if code.is_retryable() { "yes" } else { "no" };
        [table::code(code.name()), retrying.to_owned(), code.class().to_owned(), code.meaning().to_owned()]
    });
    table::table(HEAD, rows)
}
