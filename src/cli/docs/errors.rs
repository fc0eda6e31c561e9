//! Table of the error codes.

use super::table;
use plaudit_graphql::Code;

const HEAD: [&str; 5] = ["Code", "Retrying helps", "Class", "HTTP status", "Meaning"];

pub fn table() -> String {
    let rows = Code::ALL.map(|code| {
        let retrying = if code.is_retryable() { "yes" } else { "no" };
        let [retrying, class, meaning] = [retrying, code.class(), code.meaning()].map(str::to_owned);
        [table::code(code.name()), retrying, class, status(code), meaning]
    });
    table::table(HEAD, rows)
}

/// The status of a response with the media type `application/graphql-response+json`.
fn status(code: Code) -> String {
    let (failed, refused) = (Code::FAILED_STATUS, code.refused_status());
    match code {
        Code::LimitExceeded => "none: subscriptions only".to_owned(),
        Code::Suspended | Code::NotFound | Code::Internal => failed.to_string(),
        Code::BadUserInput => format!("{failed}; {refused} if nothing was executed, 400 if it is not JSON"),
        Code::Unauthenticated | Code::Forbidden | Code::RetryLater => {
            format!("{failed}; {refused} if nothing was executed")
        }
        _ => refused.to_string(),
    }
}
