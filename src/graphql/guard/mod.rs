//! Cost guard: measures a request before it is validated or executed, and refuses what exceeds a limit.
//!
//! - [`tokens`]: the text, before it is parsed; [`syntax`]: what is wrong with one that cannot be; [`measure`]
//!   (with [`cost`]): the document, each fragment once, however often it is spread;
//!   [`variables`] (with [`values`]): the variables
//! - [`document`]: a document that may be executed; [`cache`]: documents that were executed
//! - [`error`]: why a request is refused; [`rejection`]: the client's answer

mod cache;
mod cost;
mod document;
mod error;
mod measure;
pub mod rejection;
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
pub use error::{CostError, DocumentError, brief};

use crate::definition::schema::Schema;
use cache::DocumentCache;
pub use measure::UNKNOWN;
use plaudit_catalogue::settings::CostSettings;
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
    schema: &'static Schema,
    cache: DocumentCache,
    /// Documents that were read from it. Looked up once, because a look-up by labels allocates.
    from_cache: Counter,
}

impl Guard {
    pub fn new(schema: &'static Schema, limits: CostSettings) -> Self {
        let cache = DocumentCache::new(limits.document_cache);
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

    /// Whether everybody may read the schema.
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
        variables::coerce(definitions, variables, self.schema)?;
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
                    Document::measure(text, tokens, parsed, self.schema, &self.limits);
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
