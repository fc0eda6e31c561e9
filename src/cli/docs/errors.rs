//! Table of the error codes.

use super::table;
use plaudit_graphql::Code;

const HEAD: [&str; 5] = ["Code", "Retrying helps", "Class", "HTTP status", "Meaning"];

pub fn table() -> String {
    let rows = Code::ALL.map(|code| {
        let retrying = if code.is_retryable() { "yes" } else { "no" };
        let cells = [retrying, code.class(), status(code), code.meaning()].map(str::to_owned);
        let [retrying, class, status, meaning] = cells;
        [table::code(code.name()), retrying, class, status, meaning]
    });
    table::table(HEAD, rows)
}

/// The status of a response with the media type `application/graphql-response+json`.
const fn status(code: Code) -> &'static str {
    match code {
        Code::Unauthenticated => "401 for an invalid token, else 294",
        Code::Forbidden | Code::Suspended | Code::NotFound | Code::Internal => "294",
        Code::BadUserInput => "294; 422 if nothing was executed, 400 if it is not JSON",
        Code::LimitExceeded => "none: subscriptions only",
        Code::RateLimited => "429",
        Code::RetryLater => "294, or 503 if nothing was executed",
        Code::ParseFailed => "400",
        Code::ValidationFailed | Code::PersistedQueryNotFound => "422",
    }
}
