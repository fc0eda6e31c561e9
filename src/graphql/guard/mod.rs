//! Cost guard: measures a request before it is validated or executed, and refuses what exceeds a limit.
//!
//! Independent of the other GraphQL folders: it gets a schema as text, [`SchemaRules`] and the limits
//! ([`CostSettings`]).
//!
//! - [`tokens`]: the text, before it is parsed; [`syntax`]: what is wrong with one that cannot be; [`measure`]
//!   (with [`fragments`] and [`cost`]): the document, each fragment once, however often it is spread;
//!   [`variables`] (with [`values`]): the variables
//! - [`schema_index`], [`list_size`]: the fields, lists and input types of the schema
//! - [`document`]: a document that may be executed; [`cache`]: documents that were executed
//! - [`error`]: why a request is refused

mod cache;
mod cost;
mod document;
mod error;
mod fragments;
mod list_size;
mod measure;
mod schema_index;
mod syntax;
mod tokens;
mod values;
mod variables;

use std::{borrow::Cow, sync::Arc};

use async_graphql::{
    ServerError, Variables,
    parser::{Error as ParseError, parse_query},
};
use metrics::{Counter, counter};

pub use document::{Document, DocumentOperation, ResponseSize};
pub use error::{CostError, CostErrorClass, CostReason, DocumentError, Limit, brief};
pub use list_size::{ArgumentValues, ListSize, SchemaRules};

use cache::DocumentCache;
use plaudit_catalogue::settings::CostSettings;
pub use schema_index::SchemaIndex;
pub use variables::coerce_argument;

/// A text that is not known: its tokens are counted, and it is not parsed yet.
pub struct UnknownText<'a> {
    text: &'a str,
    for_parser: Result<Cow<'a, str>, CostError>,
    /// What parsing and validation may take.
    pub tokens: u64,
}

/// Reads documents, and refuses those that would cost too much.
pub struct Guard {
    limits: CostSettings,
    schema: SchemaIndex,
    cache: DocumentCache,
    /// Documents that were read from it. Looked up once, because a look-up by labels allocates.
    from_cache: Counter,
}

impl Guard {
    /// For the schema that `sdl` and `rules` describe.
    pub fn new(sdl: &str, rules: SchemaRules, limits: CostSettings) -> Self {
        let (schema, cache) = (SchemaIndex::of(sdl, rules), DocumentCache::new(limits.document_cache));
        Self { limits, schema, cache, from_cache: counter!("plaudit_documents_total", "from" => "cache") }
    }

    /// A document that was executed before.
    pub fn known(&self, text: &str) -> Option<Arc<Document>> {
        let known = self.cache.find(text)?;
        self.from_cache.increment(1);
        Some(known)
    }

    /// Counts the tokens of a document that is not known.
    pub fn count<'a>(&self, text: &'a str) -> UnknownText<'a> {
        let (for_parser, tokens) = tokens::count(text, &self.limits);
        UnknownText { text, for_parser, tokens }
    }

    /// Parses and measures a document.
    ///
    /// # Errors
    /// The document cannot be parsed, or exceeds a limit.
    pub fn parse(&self, text: UnknownText<'_>) -> Result<Arc<Document>, DocumentError> {
        counter!("plaudit_documents_total", "from" => "text").increment(1);
        let (document, work) = self.measured(text);
        counter!("plaudit_guard_steps_total").increment(work.tokens + work.selections);
        document.map(Arc::new)
    }

    /// Whether the schema is told to everybody.
    pub fn introspects(&self) -> bool {
        self.limits.introspects()
    }

    /// Checks the variables and the complexity of an operation, converts the variables to their types, and
    /// removes those that the operation does not define. Returns how large the response may be.
    ///
    /// # Errors
    /// Variables do not fit their definitions or are too many, or the response may have too many fields.
    pub fn admit(
        &self,
        document: &Document,
        operation: &DocumentOperation,
        variables: &mut Variables,
    ) -> Result<ResponseSize, Vec<CostError>> {
        let only = |error: CostError| vec![error];
        let definitions = document.variables_of(operation);
        variables::coerce(definitions, variables, &self.schema)?;
        // After coercion, so that defaults count like values that were sent.
        document.check_size(variables, &self.limits).map_err(only)?;
        variables::remove_undefined(definitions, variables);
        document.check_complexity(operation, variables, &self.limits).map_err(only)
    }

    /// Caches a document that was executed, and therefore fits the schema. Others are not cached: they would evict
    /// good ones.
    pub fn keep(&self, document: &Arc<Document>) {
        self.cache.keep(document);
    }

    /// The document, and how much work measuring it was.
    pub fn measure(&self, text: &str) -> (Result<Document, DocumentError>, MeasuringWork) {
        self.measured(self.count(text))
    }

    #[cfg(test)]
    pub fn read(&self, text: &str) -> Result<Arc<Document>, DocumentError> {
        self.known(text).map_or_else(|| self.parse(self.count(text)), Ok)
    }

    fn measured(
        &self,
        UnknownText { text, for_parser, tokens }: UnknownText<'_>,
    ) -> (Result<Document, DocumentError>, MeasuringWork) {
        let work = MeasuringWork { tokens, selections: 0 };
        let for_parser = match for_parser {
            Ok(for_parser) => for_parser,
            Err(error) => return (Err(error.into()), work),
        };
        match parse_query(&for_parser) {
            Ok(parsed) => {
                let (document, selections) =
                    Document::measure(text, tokens, parsed, &self.schema, &self.limits);
                (document.map_err(Into::into), MeasuringWork { selections, ..work })
            }
            Err(ParseError::Syntax { start, .. }) => {
                let error = syntax::error_of(&for_parser, start);
                let error = ServerError::new(brief(error.message), Some(error.at));
                (Err(DocumentError::Syntax(error)), work)
            }
            // It can be parsed, and has operations or fragments of one name.
            Err(error) => (Err(DocumentError::Invalid(error.into())), work),
        }
    }

    /// Lists of the schema whose size no rule gives, and rules that name no field.
    #[cfg(test)]
    pub fn gaps_in_rules(&self, rules: &SchemaRules) -> Vec<String> {
        let unsized_lists = self
            .schema
            .fields()
            .filter(|(_, _, field)| matches!(field.size, ListSize::Unknown(_)))
            .map(|(object, name, _)| format!("{object}.{name} has no size"));
        let is_field = |object: &str, name: &str| {
            self.schema.fields().any(|(o, n, _)| (o.as_str(), n.as_str()) == (object, name))
        };
        let strays = rules
            .lists
            .iter()
            .filter(|(object, name, _)| !is_field(object, name))
            .map(|(object, name, _)| format!("{object}.{name} is not in the schema"));
        unsized_lists.chain(strays).collect()
    }
}

/// The work of measuring a document.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MeasuringWork {
    /// Tokens read before parsing.
    pub tokens: u64,
    /// Selections, fragments, arguments and values walked through after parsing. Never more than tokens.
    pub selections: u64,
}

#[cfg(test)]
mod tests;
