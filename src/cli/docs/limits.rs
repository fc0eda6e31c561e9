//! Table of the limits: what happens beyond each, and what it prevents.

use clap::Command;
use plaudit_graphql::Code;

use super::{
    settings,
    table::{code, table},
};

const HEAD: [&str; 5] = ["Limit", "Setting", "Default", "Beyond it", "Prevents"];

/// What is limited, by which settings, what happens beyond the limit (a bare code: the request is refused with it), and
/// what that prevents.
const LIMITS: &[(&str, &[&str], &str, &str)] = &[
    (
        "Cost of the queries and subscriptions of a user, in units",
        &["rate_user_reads"],
        "RATE_LIMITED",
        "scraping with one account",
    ),
    ("Mutations of a user", &["rate_user_writes"], "RATE_LIMITED", "like storms, toggling"),
    ("Creations of a user", &["rate_user_creations"], "RATE_LIMITED", "spam"),
    (
        "Cost of the queries, subscriptions, pages and refusals of an address, in units",
        &["rate_address_reads"],
        "RATE_LIMITED",
        "scraping without an account, floods",
    ),
    ("Mutations of an address", &["rate_address_writes"], "RATE_LIMITED", "one person with many accounts"),
    ("Creations of an address", &["rate_address_creations"], "RATE_LIMITED", "one person with many accounts"),
    ("Time in which these are counted", &["rate_window"], "", ""),
    (
        "Time in which a viewer's further views of a note do not count",
        &["view_window"],
        "it is not counted",
        "inflated view counts",
    ),
    (
        "Executions of an address that cost more than one unit, at the same time",
        &[],
        "they wait, 1.9 s at most",
        "pages that take all cores from others",
    ),
    (
        "Cost of a subscription's events, and of all that a user or an address watches",
        &[],
        "they come more slowly",
        "subscriptions that execute much at every change",
    ),
    ("Statements of all events at the same time", &[], "they wait", "events that take all connections"),
    (
        "Proxies whose `X-Forwarded-For` counts",
        &["trusted_proxies"],
        "the header is ignored",
        "forged addresses",
    ),
    ("Bytes of a token", &[], "UNAUTHENTICATED", "work before the signature is checked"),
    (
        "Refused tokens of an address, each a tenth of a unit",
        &["rate_address_reads"],
        "`RATE_LIMITED`, 429, without a look at the token",
        "floods of made-up tokens",
    ),
    (
        "Reads of a JWKS; for an unknown key at most one in 5 s",
        &[],
        "UNAUTHENTICATED",
        "floods of unknown keys that reach the identity provider",
    ),
    (
        "Connections in all",
        &["connections"],
        "an idle one is closed; without one `RETRY_LATER`, 503",
        "silent clients that take the files of the stores' connections",
    ),
    (
        "Connections of an address, sockets not included: ten times as many, at most half of all",
        &["sockets_per_address"],
        "RATE_LIMITED",
        "one client that takes all connections",
    ),
    ("Body of a request", &["max_body"], "413", "memory"),
    ("Time for a request's head", &["client_timeout"], "the connection is closed", "slow senders"),
    ("Time for a request's body", &["client_timeout"], "408", "slow senders"),
    (
        "Time without the client reading a WebSocket; three times as long for an answer",
        &["client_timeout"],
        "the connection is closed",
        "readers that hold answers in memory",
    ),
    ("Time between two requests", &["idle_timeout"], "the connection is closed", "unused connections"),
    ("Batches", &[], "BAD_USER_INPUT", "many operations past every other limit"),
    (
        "Tokens of a document; some 32 bytes for each",
        &["max_tokens"],
        "GRAPHQL_VALIDATION_FAILED",
        "documents that cost more to parse than to answer",
    ),
    (
        "Bytes of a name in a document",
        &[],
        "GRAPHQL_VALIDATION_FAILED",
        "long names, compared with all that might be meant",
    ),
    (
        "Nested brackets, and selection sets nested through fragments",
        &[],
        "GRAPHQL_VALIDATION_FAILED",
        "documents that cost more to parse than to answer",
    ),
    ("Depth", &["max_depth"], "GRAPHQL_VALIDATION_FAILED", "friends of friends of friends"),
    (
        "Aliases, directives: a tenth as many; eight directives at one field",
        &["max_tokens"],
        "GRAPHQL_VALIDATION_FAILED",
        "the same work a thousand times",
    ),
    (
        "Selections with all fragments written out",
        &["max_tokens"],
        "GRAPHQL_VALIDATION_FAILED",
        "fragments that multiply",
    ),
    ("Complexity", &["max_complexity"], "GRAPHQL_VALIDATION_FAILED", "pages in pages"),
    (
        "Complexity of an event: a twentieth",
        &["max_complexity"],
        "`GRAPHQL_VALIDATION_FAILED`",
        "subscriptions whose every event is a page",
    ),
    (
        "Bytes of an answer",
        &["max_answer"],
        "`GRAPHQL_VALIDATION_FAILED`, 294",
        "long texts under many aliases",
    ),
    (
        "Bytes of an event: a thirty-second",
        &["max_answer"],
        "the event is `GRAPHQL_VALIDATION_FAILED`",
        "memory: each subscription keeps its latest event",
    ),
    (
        "Root fields of a mutation: a hundredth as many",
        &["max_tokens"],
        "GRAPHQL_VALIDATION_FAILED",
        "many actions in one request",
    ),
    ("Page size", &[], "`BAD_USER_INPUT`, 294", "reading everything at once"),
    ("JSON values of a body", &[], "BAD_USER_INPUT", "bodies that cost more to read than to refuse"),
    (
        "Values of all variables, once for each use",
        &["max_complexity"],
        "BAD_USER_INPUT",
        "work hidden in variables",
    ),
    ("Nested lists and objects in a variable", &[], "BAD_USER_INPUT", "work hidden in variables"),
    (
        "Introspection, and suggested names in errors",
        &["introspection"],
        "GRAPHQL_VALIDATION_FAILED",
        "maps for attackers",
    ),
    (
        "Only trusted documents",
        &["only_trusted_documents", "trusted_documents"],
        "BAD_USER_INPUT",
        "every other document",
    ),
    ("Documents that clients introduce", &["document_cache"], "the least used is forgotten", "memory"),
    ("Bytes of a message on a WebSocket", &[], "closed with 1009", "memory"),
    (
        "Messages per second on a WebSocket",
        &["socket_messages"],
        "closed with 1008",
        "floods on one connection",
    ),
    ("Time until `connection_init`", &["client_timeout"], "closed with 4408", "sockets without operations"),
    ("Time between pings", &["socket_ping"], "the connection is closed", "sockets of clients that are gone"),
    ("Operations on a WebSocket", &["socket_subscriptions"], "`LIMIT_EXCEEDED`", "fan-out for one client"),
    (
        "Memory of all subscriptions; a thirty-second for one user or address",
        &["subscription_memory"],
        "`LIMIT_EXCEEDED`",
        "memory by many different subscriptions, or by long texts in them",
    ),
    ("Objects of a subscription", &[], "`BAD_USER_INPUT`", "fan-out for one client"),
    ("Sockets of an address", &["sockets_per_address"], "RATE_LIMITED", "memory"),
    ("Sockets in all: two thirds", &["connections"], "RETRY_LATER", "memory"),
    ("Pages of other origins", &["cors_origins"], "no CORS headers", "pages that read with somebody's token"),
    (
        "Demo app, GraphiQL, tokens for development",
        &["demo", "graphiql", "dev_token"],
        "404",
        "tools left open",
    ),
    (
        "Hosts under which tokens for development are given",
        &["dev_hosts"],
        "FORBIDDEN",
        "pages of other sites (DNS rebinding), clients behind a proxy",
    ),
];

/// Limits that are not configurable.
const FIXED: &[(&str, &str)] = &[
    ("Bytes of a token", "8192"),
    (
        "Executions of an address that cost more than one unit, at the same time",
        "one, and an eighth of what is free of 16 units a core",
    ),
    (
        "Cost of a subscription's events, and of all that a user or an address watches",
        "a fifth of its rate of reads, and all of it",
    ),
    ("Statements of all events at the same time", "an eighth of the connections"),
    ("Batches", "none"),
    ("Bytes of a name in a document", "256"),
    ("Reads of a JWKS; for an unknown key at most one in 5 s", "10m"),
    ("Nested brackets, and selection sets nested through fragments", "32"),
    ("Nested lists and objects in a variable", "8"),
    ("Bytes of a message on a WebSocket", "65536"),
    ("Objects of a subscription", "100"),
    ("Page size", "100"),
    ("JSON values of a body", "20000"),
];

pub fn table_of_limits() -> String {
    let settings = settings::definitions();
    let rows = LIMITS.iter().map(|(limit, names, beyond, prevents)| {
        let (setting, default) = match FIXED.iter().find(|(fixed, _)| fixed == limit) {
            Some((_, value)) => ("fixed".to_owned(), (*value).to_owned()),
            None => (quoted(names), defaults(&settings, names)),
        };
        [(*limit).to_owned(), setting, default, said(beyond), (*prevents).to_owned()]
    });
    table(HEAD, rows)
}

/// Of a bare code: with the status of a request that is refused with it.
fn said(beyond: &str) -> String {
    match Code::ALL.into_iter().find(|code| code.name() == beyond) {
        Some(code) => format!("`{beyond}`, {}", code.refused_status()),
        None => beyond.to_owned(),
    }
}

fn quoted(names: &[&str]) -> String {
    names.iter().map(|name| code(name)).collect::<Vec<_>>().join(", ")
}

fn defaults(settings: &Command, names: &[&str]) -> String {
    let default = |name: &&str| {
        let setting = settings.get_arguments().find(|setting| setting.get_id() == *name);
        settings::default(setting.expect("a limit names a setting"))
    };
    let mut defaults: Vec<String> = names.iter().map(default).collect();
    if defaults.windows(2).all(|pair| pair[0] == pair[1]) {
        defaults.truncate(1);
    }
    defaults.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_limit_names_existing_settings_or_is_fixed() {
        let settings = settings::definitions();
        for (limit, names, ..) in LIMITS {
            let is_fixed = FIXED.iter().any(|(fixed, _)| fixed == limit);
            assert_eq!(names.is_empty(), is_fixed, "{limit}");
            for name in *names {
                assert!(settings.get_arguments().any(|setting| setting.get_id() == *name), "{name}");
            }
        }
    }
}
