//! What a request may cost, measured before anything of it is validated or executed.
//!
//! - [`tokens`]: the text, before it is parsed; [`measure`] (with [`fragments`] and [`cost`]): the document,
//!   each fragment once, however often it is spread; [`variables`] (with [`values`]): what is sent along
//! - [`types`], [`sizes`]: what the schema says of fields, their lists and inputs
//! - [`document`]: a document that may be executed; [`documents`]: those that were, kept
//! - [`limits`]: how much may be; [`refusal`]: what a client is told

mod cost;
mod document;
mod documents;
mod fragments;
mod limits;
mod measure;
mod refusal;
mod sizes;
mod tokens;
mod types;
mod values;
mod variables;

use std::sync::Arc;

use async_graphql::{ServerError, Variables, parser::parse_query};
use metrics::counter;

pub use document::{Document, Operation};
pub use limits::RequestLimits;
pub use refusal::brief;

use super::errors::{Code, give_code};
use documents::Documents;
use refusal::Refusal;
use types::Types;

/// Reads documents, and refuses what would cost too much.
pub struct Guard {
    limits: RequestLimits,
    types: Types,
    documents: Documents,
}

impl Guard {
    /// For the schema that `sdl` describes.
    pub fn new(sdl: &str, limits: RequestLimits) -> Self {
        Self { types: Types::of(sdl), documents: Documents::new(limits.document_cache), limits }
    }

    /// Parses and measures a document, unless it is known.
    ///
    /// # Errors
    /// A document that cannot be parsed, or that is beyond a limit.
    pub fn read(&self, text: &str) -> Result<Arc<Document>, ServerError> {
        if let Some(known) = self.documents.find(text) {
            counter!("plaudit_documents_total", "from" => "cache").increment(1);
            return Ok(known);
        }
        counter!("plaudit_documents_total", "from" => "text").increment(1);
        let (document, steps) = self.measure(text);
        counter!("plaudit_guard_steps_total").increment(steps);
        document.map(Arc::new)
    }

    /// Says whether the operation may be executed with these variables, which get the form that their types
    /// ask for.
    ///
    /// # Errors
    /// Variables that do not fit their definitions, or too many of them; an operation that would answer too
    /// much.
    pub fn admit(
        &self,
        document: &Document,
        operation: &Operation,
        variables: &mut Variables,
    ) -> Result<(), Vec<ServerError>> {
        let only = |refusal: Refusal| vec![refusal.into()];
        let definitions = document.variables_of(operation);
        variables::coerce(definitions, variables, &self.types)
            .map_err(|refusals| refusals.into_iter().map(Into::into).collect::<Vec<_>>())?;
        // Their defaults too, which are used like what is sent.
        document.check_size(variables, &self.limits).map_err(only)?;
        document.check_complexity(operation, variables, &self.limits).map_err(only)
    }

    /// Keeps a document that was executed, and so is known to fit the schema. Others are not kept: it is for
    /// nothing that they would push good ones out.
    pub fn keep(&self, document: &Arc<Document>) {
        self.documents.keep(document);
    }

    /// The document, and how many tokens, selections and fragments were gone through for it.
    pub fn measure(&self, text: &str) -> (Result<Document, ServerError>, u64) {
        let count = match tokens::count(text, &self.limits) {
            (Ok(count), _) => count,
            (Err(refusal), steps) => return (Err(refusal.into()), steps),
        };
        let parsed = parse_query(text).map_err(|why| {
            let mut error = ServerError::from(why);
            error.message = brief(error.message);
            give_code(&mut error, Code::ParseFailed);
            error
        });
        match parsed {
            Ok(parsed) => {
                let (document, steps) = Document::measure(text, count, parsed, &self.types, &self.limits);
                (document.map_err(Into::into), count + steps)
            }
            Err(error) => (Err(error), count),
        }
    }
}

#[cfg(test)]
mod tests;
