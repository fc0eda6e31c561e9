//! Cost errors: why a request is refused for its cost or its variables.

use async_graphql::{Name, Pos, ServerError, parser::types::OperationType};

/// Longest message, in characters: some quote what was sent.
const LONGEST: usize = 500;

/// Declares [`CostReason`], its names, and the list of all of them.
macro_rules! cost_reasons {
    ($($reason:ident = $name:literal,)+) => {
        /// `extensions.reason` of a refused request: clients may rely on it.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum CostReason { $($reason,)+ }

        impl CostReason {
            pub const ALL: &[Self] = &[$(Self::$reason,)+];

            pub const fn name(self) -> &'static str {
                match self { $(Self::$reason => $name,)+ }
            }
        }
    };
}

cost_reasons! {
    DocumentTooLong = "DOCUMENT_TOO_LONG",
    NameTooLong = "NAME_TOO_LONG",
    TooManyTokens = "TOO_MANY_TOKENS",
    TooDeeplyNested = "TOO_DEEPLY_NESTED",
    TooDeep = "TOO_DEEP",
    TooManyAliases = "TOO_MANY_ALIASES",
    TooManyDirectives = "TOO_MANY_DIRECTIVES",
    TooManyRootFields = "TOO_MANY_ROOT_FIELDS",
    TooManySelections = "TOO_MANY_SELECTIONS",
    TooComplex = "TOO_COMPLEX",
    VariablesTooDeep = "VARIABLES_TOO_DEEP",
    TooManyVariableValues = "TOO_MANY_VARIABLE_VALUES",
    IntrospectionOff = "INTROSPECTION_OFF",
    IntrospectionTooComplex = "INTROSPECTION_TOO_COMPLEX",
    FragmentCycle = "FRAGMENT_CYCLE",
    UnknownFragment = "UNKNOWN_FRAGMENT",
    TooManyUnknownNames = "TOO_MANY_UNKNOWN_NAMES",
    UnterminatedString = "UNTERMINATED_STRING",
    InvalidVariable = "INVALID_VARIABLE",
}

/// Which part of a request an error is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CostErrorClass {
    /// The text is not a GraphQL document.
    Syntax,
    Document,
    Variables,
}

/// Why a document is refused.
#[derive(PartialEq, Debug)]
pub enum DocumentError {
    /// The parser cannot read it.
    Syntax(ServerError),
    /// The parser can read it, and it has operations or fragments of one name, or no operation.
    Invalid(ServerError),
    Cost(CostError),
}

impl From<CostError> for DocumentError {
    fn from(error: CostError) -> Self {
        Self::Cost(error)
    }
}

/// A limit that a request exceeds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Limit {
    DocumentSize,
    NameSize,
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
    EventComplexity,
    Introspection,
    VariableDepth,
    VariableValues,
    /// Bytes of an answer or a message, counted while it is written.
    AnswerSize,
}

/// Why a request is refused for its cost.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum CostError {
    /// `measured` is `None` if measuring stopped at the limit.
    Beyond {
        limit: Limit,
        maximum: u64,
        measured: Option<u64>,
    },
    /// A block string without its end. The parser would read it as two strings and more.
    UnterminatedString,
    FragmentCycle {
        name: String,
        at: Pos,
    },
    UnknownFragment {
        name: String,
        at: Pos,
    },
    /// More fields and arguments that the schema does not have than an answer lists: the engine would look at each.
    UnknownNames(Vec<(Name, Pos)>),
    IntrospectionOff,
    /// `place` is the path within the variable: `input.mentions[2]`.
    Variable {
        name: String,
        place: String,
        message: String,
        at: Pos,
    },
}

impl CostError {
    /// # Errors
    /// `measured` is more than `maximum`.
    pub fn beyond(limit: Limit, measured: u64, maximum: u32) -> Result<(), Self> {
        let maximum = maximum.into();
        if measured <= maximum {
            return Ok(());
        }
        Err(Self::Beyond { limit, maximum, measured: (measured < u64::MAX).then_some(measured) })
    }

    pub const fn class(&self) -> CostErrorClass {
        match self {
            Self::Variable { .. }
            | Self::Beyond { limit: Limit::VariableDepth | Limit::VariableValues, .. } => {
                CostErrorClass::Variables
            }
            Self::UnterminatedString => CostErrorClass::Syntax,
            _ => CostErrorClass::Document,
        }
    }

    pub const fn reason(&self) -> CostReason {
        match self {
            Self::Beyond { limit, .. } => limit.reason(),
            Self::UnterminatedString => CostReason::UnterminatedString,
            Self::FragmentCycle { .. } => CostReason::FragmentCycle,
            Self::UnknownFragment { .. } => CostReason::UnknownFragment,
            Self::UnknownNames(_) => CostReason::TooManyUnknownNames,
            Self::IntrospectionOff => CostReason::IntrospectionOff,
            Self::Variable { .. } => CostReason::InvalidVariable,
        }
    }

    fn message(&self) -> String {
        match self {
            Self::Beyond { limit, maximum, measured } => limit.message(*maximum, *measured),
            Self::UnterminatedString => "a block string is not closed: end it with \"\"\"".to_owned(),
            Self::FragmentCycle { name, .. } => {
                format!("the fragment {name} spreads itself, directly or through other fragments")
            }
            Self::UnknownFragment { name, .. } => format!("the document has no fragment named {name}"),
            Self::UnknownNames(unknown) => {
                let names: Vec<&str> = unknown.iter().map(|(name, _)| name.as_str()).collect();
                format!("the schema has no such field or argument there: {}", names.join(", "))
            }
            Self::IntrospectionOff => {
                "introspection (__schema, __type) is off on this server: use the schema file".to_owned()
            }
            Self::Variable { name, place, message, .. } if name == place => {
                format!("variable ${name}: {message}")
            }
            Self::Variable { name, place, message, .. } => format!("variable ${name} at {place}: {message}"),
        }
    }

    fn at(&self) -> Vec<Pos> {
        match self {
            Self::FragmentCycle { at, .. } | Self::UnknownFragment { at, .. } | Self::Variable { at, .. } => {
                vec![*at]
            }
            Self::UnknownNames(unknown) => unknown.iter().map(|(_, at)| *at).collect(),
            Self::Beyond { .. } | Self::UnterminatedString | Self::IntrospectionOff => Vec::new(),
        }
    }
}

impl Limit {
    const fn reason(self) -> CostReason {
        match self {
            Self::DocumentSize => CostReason::DocumentTooLong,
            Self::NameSize => CostReason::NameTooLong,
            Self::Tokens => CostReason::TooManyTokens,
            Self::Nesting => CostReason::TooDeeplyNested,
            Self::Depth => CostReason::TooDeep,
            Self::Aliases => CostReason::TooManyAliases,
            Self::Directives | Self::DirectivesAtOnce => CostReason::TooManyDirectives,
            Self::RootFields(_) => CostReason::TooManyRootFields,
            Self::Selections | Self::Compared => CostReason::TooManySelections,
            Self::Complexity | Self::EventComplexity | Self::AnswerSize => CostReason::TooComplex,
            Self::Introspection => CostReason::IntrospectionTooComplex,
            Self::VariableDepth => CostReason::VariablesTooDeep,
            Self::VariableValues => CostReason::TooManyVariableValues,
        }
    }

    fn message(self, maximum: u64, measured: Option<u64>) -> String {
        let measured = measured.map_or_else(|| "more".to_owned(), |measured| measured.to_string());
        let (what, advice) = match self {
            Self::DocumentSize => ("bytes of the document", "send texts as variables, or several requests"),
            Self::NameSize => ("bytes of a name", "use a shorter one"),
            Self::Tokens => ("tokens in the document", "send several requests"),
            Self::Nesting => ("nested brackets or selection sets", "select fewer levels"),
            Self::Depth => ("nested fields", "read deeper objects by their ids"),
            Self::Aliases => ("aliases in the document", "read many objects by a list of ids"),
            Self::Directives => ("directives in the document", "send several requests"),
            Self::DirectivesAtOnce => ("directives in one place", "remove some"),
            Self::RootFields(OperationType::Subscription) => {
                ("root fields of a subscription", "open one subscription for each")
            }
            Self::RootFields(_) => ("root fields of a mutation", "send several requests"),
            Self::Selections => ("selections with all fragments written out", "spread fragments less often"),
            Self::Compared => ("selections to compare for conflicts", "nest fragments less deeply"),
            Self::Complexity => (
                "fields in the response (complexity)",
                "request smaller pages (first), fewer ids or fewer fields",
            ),
            Self::EventComplexity => {
                ("fields in an event of the subscription", "read lists by a query when an event arrives")
            }
            Self::Introspection => {
                ("fields in the response to introspection", "request less of the schema at once")
            }
            Self::VariableDepth => ("nested lists and objects in a variable", "send less at once"),
            Self::VariableValues => {
                ("values in variables, counted at each use", "send fewer, or several requests")
            }
            Self::AnswerSize => {
                ("bytes in the answer", "request smaller pages (first), fewer ids or fewer texts")
            }
        };
        format!("too many {what}: at most {maximum} are allowed, this request has {measured}; {advice}")
    }
}

impl From<CostError> for ServerError {
    /// Has no `code`: the caller gives it one by the [`class`](CostError::class).
    fn from(refused: CostError) -> Self {
        let mut error = Self::new(brief(refused.message()), None);
        error.locations = refused.at();
        let extensions = error.extensions.get_or_insert_default();
        extensions.set("reason", refused.reason().name());
        match refused {
            CostError::Beyond { maximum, measured, .. } => {
                extensions.set("maximum", maximum);
                if let Some(measured) = measured {
                    extensions.set("measured", measured);
                }
            }
            CostError::Variable { name, place, .. } => {
                extensions.set("variable", name);
                extensions.set("place", brief(place));
            }
            _ => {}
        }
        error
    }
}

/// Cuts off the end of a long message.
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
    fn an_error_names_the_limit_its_maximum_and_what_was_measured() {
        let exceeded = CostError::beyond(Limit::Aliases, 130, 100).unwrap_err();
        let error = serde_json::to_value(ServerError::from(exceeded.clone())).unwrap();
        assert_eq!(exceeded.class(), CostErrorClass::Document);
        assert_eq!(
            error,
            json!({
                "message": "too many aliases in the document: at most 100 are allowed, this request has 130; \
                            read many objects by a list of ids",
                "extensions": {
                    "reason": "TOO_MANY_ALIASES",
                    "maximum": 100,
                    "measured": 130,
                },
            })
        );
    }

    #[test]
    fn the_protocol_document_lists_every_reason() {
        let contract = include_str!("../../../schema/PROTOCOL.md");
        for reason in CostReason::ALL.iter().map(|reason| reason.name()) {
            assert!(contract.contains(&format!("`{reason}`")), "{reason}");
        }
    }

    #[test]
    fn exactly_the_maximum_is_allowed() {
        assert_eq!(CostError::beyond(Limit::Depth, 15, 15), Ok(()));
    }

    #[test]
    fn a_long_message_is_cut_between_characters() {
        assert_eq!(brief("é".repeat(10_000)).chars().count(), LONGEST + 1);
        assert_eq!(brief("short".to_owned()), "short");
    }
}
