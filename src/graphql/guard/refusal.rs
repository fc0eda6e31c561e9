//! What a client is told of a request that is refused for its cost or its variables.

use async_graphql::{Pos, ServerError, parser::types::OperationType};

use crate::graphql::errors::{ApiError, Code};

/// Longest message, in characters: some of the parser's repeat the line that they are about.
const LONGEST: usize = 500;

/// Every reason, as clients are told it.
pub const REASONS: [&str; 17] = [
    "DOCUMENT_TOO_LONG",
    "TOO_MANY_TOKENS",
    "TOO_DEEPLY_NESTED",
    "TOO_DEEP",
    "TOO_MANY_ALIASES",
    "TOO_MANY_DIRECTIVES",
    "TOO_MANY_ROOT_FIELDS",
    "TOO_MANY_SELECTIONS",
    "TOO_COMPLEX",
    "VARIABLES_TOO_DEEP",
    "TOO_MANY_VARIABLE_VALUES",
    "INTROSPECTION_OFF",
    "INTROSPECTION_TOO_COMPLEX",
    "FRAGMENT_CYCLE",
    "UNKNOWN_FRAGMENT",
    "UNTERMINATED_STRING",
    "INVALID_VARIABLE",
];

/// A limit that a request is beyond.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Limit {
    DocumentSize,
    Tokens,
    Nesting,
    Depth,
    Aliases,
    Directives,
    DirectivesAtOnce,
    RootFields(OperationType),
    Selections,
    Compared,
    Complexity,
    Introspection,
    VariableDepth,
    VariableValues,
}

/// Why a request is refused.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Refusal {
    /// `measured` is `None` where measuring ended at the limit.
    Beyond {
        limit: Limit,
        maximum: u64,
        measured: Option<u64>,
    },
    /// The parser would take it for two strings and more.
    UnterminatedString,
    FragmentCycle {
        name: String,
        at: Pos,
    },
    UnknownFragment {
        name: String,
        at: Pos,
    },
    IntrospectionOff,
    /// `place` is where in the variable: `input.mentions[2]`.
    Variable {
        name: String,
        place: String,
        message: String,
        at: Pos,
    },
}

impl Refusal {
    /// Refuses what is more than the maximum.
    pub fn beyond(limit: Limit, measured: u64, maximum: u32) -> Result<(), Self> {
        let maximum = maximum.into();
        if measured <= maximum {
            return Ok(());
        }
        Err(Self::Beyond { limit, maximum, measured: (measured < u64::MAX).then_some(measured) })
    }

    fn code(&self) -> Code {
        match self {
            Self::Variable { .. }
            | Self::Beyond { limit: Limit::VariableDepth | Limit::VariableValues, .. } => Code::BadUserInput,
            Self::UnterminatedString => Code::ParseFailed,
            _ => Code::ValidationFailed,
        }
    }

    /// `extensions.reason`: a client may rely on it.
    pub const fn reason(&self) -> &'static str {
        match self {
            Self::Beyond { limit, .. } => limit.reason(),
            Self::UnterminatedString => "UNTERMINATED_STRING",
            Self::FragmentCycle { .. } => "FRAGMENT_CYCLE",
            Self::UnknownFragment { .. } => "UNKNOWN_FRAGMENT",
            Self::IntrospectionOff => "INTROSPECTION_OFF",
            Self::Variable { .. } => "INVALID_VARIABLE",
        }
    }

    fn message(&self) -> String {
        match self {
            Self::Beyond { limit, maximum, measured } => limit.message(*maximum, *measured),
            Self::UnterminatedString => "a block string does not end: close it with \"\"\"".to_owned(),
            Self::FragmentCycle { name, .. } => {
                format!("the fragment {name} contains itself: break the circle")
            }
            Self::UnknownFragment { name, .. } => format!("there is no fragment {name} in the document"),
            Self::IntrospectionOff => {
                "this server does not tell its schema (__schema, __type): use the schema file".to_owned()
            }
            Self::Variable { name, place, message, .. } if name == place => {
                format!("variable ${name}: {message}")
            }
            Self::Variable { name, place, message, .. } => format!("variable ${name}: at {place}: {message}"),
        }
    }

    const fn at(&self) -> Option<Pos> {
        match self {
            Self::FragmentCycle { at, .. } | Self::UnknownFragment { at, .. } | Self::Variable { at, .. } => {
                Some(*at)
            }
            Self::Beyond { .. } | Self::UnterminatedString | Self::IntrospectionOff => None,
        }
    }
}

impl Limit {
    const fn reason(self) -> &'static str {
        match self {
            Self::DocumentSize => "DOCUMENT_TOO_LONG",
            Self::Tokens => "TOO_MANY_TOKENS",
            Self::Nesting => "TOO_DEEPLY_NESTED",
            Self::Depth => "TOO_DEEP",
            Self::Aliases => "TOO_MANY_ALIASES",
            Self::Directives | Self::DirectivesAtOnce => "TOO_MANY_DIRECTIVES",
            Self::RootFields(_) => "TOO_MANY_ROOT_FIELDS",
            Self::Selections | Self::Compared => "TOO_MANY_SELECTIONS",
            Self::Complexity => "TOO_COMPLEX",
            Self::Introspection => "INTROSPECTION_TOO_COMPLEX",
            Self::VariableDepth => "VARIABLES_TOO_DEEP",
            Self::VariableValues => "TOO_MANY_VARIABLE_VALUES",
        }
    }

    fn message(self, maximum: u64, measured: Option<u64>) -> String {
        let measured = measured.map_or_else(|| "more".to_owned(), |measured| measured.to_string());
        let (what, mend) = match self {
            Self::DocumentSize => ("bytes of the document", "send texts as variables, or several requests"),
            Self::Tokens => ("tokens in the document", "send several requests"),
            Self::Nesting => ("brackets or selection sets in each other", "ask for less at once"),
            Self::Depth => ("fields in each other", "ask for what lies deeper by its id"),
            Self::Aliases => ("aliases in the document", "ask for many things by a list of ids"),
            Self::Directives => ("directives in the document", "send several requests"),
            Self::DirectivesAtOnce => ("directives in one place", "leave some out"),
            Self::RootFields(OperationType::Subscription) => {
                ("root fields of a subscription", "begin a subscription for each")
            }
            Self::RootFields(_) => ("root fields of a mutation", "send several requests"),
            Self::Selections => ("selections with all fragments written out", "spread fragments less often"),
            Self::Compared => ("selections to compare with each other", "nest fragments less deeply"),
            Self::Complexity => (
                "fields that the answer may have (complexity)",
                "ask for smaller pages (first), fewer ids or fewer fields",
            ),
            Self::Introspection => {
                ("fields of the schema that the answer may have", "ask for less of it at once")
            }
            Self::VariableDepth => ("lists and objects in each other in a variable", "send less at once"),
            Self::VariableValues => {
                ("values in variables, once for each place of use", "send fewer, or several requests")
            }
        };
        format!("too much: {what}: at most {maximum}, here {measured}; {mend}")
    }
}

impl From<Refusal> for ServerError {
    fn from(refusal: Refusal) -> Self {
        metrics::counter!("plaudit_guard_refusals_total", "reason" => refusal.reason()).increment(1);
        let mut error = Self::from(ApiError::new(refusal.code(), brief(refusal.message())));
        error.locations.extend(refusal.at());
        let extensions = error.extensions.get_or_insert_default();
        extensions.set("reason", refusal.reason());
        match refusal {
            Refusal::Beyond { maximum, measured, .. } => {
                extensions.set("maximum", maximum);
                if let Some(measured) = measured {
                    extensions.set("measured", measured);
                }
            }
            Refusal::Variable { name, place, .. } => {
                extensions.set("variable", name);
                extensions.set("place", brief(place));
            }
            _ => {}
        }
        error
    }
}

/// A message without its end if it is long.
pub fn brief(message: String) -> String {
    match message.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &message[..end]),
        None => message,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_refusal_names_the_limit_what_was_measured_and_what_may_be() {
        let refusal = Refusal::beyond(Limit::Aliases, 130, 100).unwrap_err();
        let error = serde_json::to_value(ServerError::from(refusal)).unwrap();
        assert_eq!(
            error,
            json!({
                "message": "too much: aliases in the document: at most 100, here 130; \
                            ask for many things by a list of ids",
                "extensions": {
                    "code": "GRAPHQL_VALIDATION_FAILED",
                    "retryable": false,
                    "reason": "TOO_MANY_ALIASES",
                    "maximum": 100,
                    "measured": 130,
                },
            })
        );
    }

    #[test]
    fn every_reason_stands_in_the_contract_with_clients() {
        let contract = include_str!("../../../schema/PROTOCOL.md");
        for reason in REASONS {
            assert!(contract.contains(&format!("`{reason}`")), "{reason}");
        }
    }

    #[test]
    fn exactly_the_maximum_is_allowed() {
        assert_eq!(Refusal::beyond(Limit::Depth, 15, 15), Ok(()));
    }

    #[test]
    fn a_long_message_is_cut_between_characters() {
        assert_eq!(brief("é".repeat(10_000)).chars().count(), LONGEST + 1);
        assert_eq!(brief("short".to_owned()), "short");
    }
}
