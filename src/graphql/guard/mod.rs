//! What a request may cost, measured before anything of it is validated or executed.
//!
//! - [`tokens`]: the text, before it is parsed; [`measure`] (with [`fragments`] and [`cost`]): the document,
//!   each fragment once, however often it is spread; [`variables`] (with [`values`]): what is sent along
//! - [`types`], [`sizes`]: what the schema says of fields, their lists and inputs
//! - [`document`]: a document that may be executed; [`documents`]: those that were, kept
//! - [`refusal`]: what a client is told; the limits are [`CostSettings`]

mod cost;
mod document;
mod documents;
mod fragments;
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
pub use refusal::brief;

use crate::{
    graphql::errors::{Code, give_code},
    settings::CostSettings,
};
use documents::Documents;
use refusal::Refusal;
use types::Types;

/// Reads documents, and refuses what would cost too much.
pub struct Guard {
    limits: CostSettings,
    types: Types,
    documents: Documents,
}

impl Guard {
    /// For the schema that `sdl` describes.
    pub fn new(sdl: &str, limits: CostSettings) -> Self {
        for reason in refusal::REASONS {
            counter!("plaudit_guard_refusals_total", "reason" => reason).increment(0);
        }
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
        let (document, work) = self.measure(text);
        counter!("plaudit_guard_steps_total").increment(work.tokens + work.selections);
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

    /// The document, and how much work it was.
    pub fn measure(&self, text: &str) -> (Result<Document, ServerError>, Work) {
        let (counted, tokens) = tokens::count(text, &self.limits);
        let work = Work { tokens, selections: 0 };
        let parsed = match counted {
            Ok(for_parser) => parse_query(for_parser).map_err(ServerError::from),
            Err(refusal) => return (Err(refusal.into()), work),
        };
        match parsed {
            Ok(parsed) => {
                let (document, selections) =
                    Document::measure(text, tokens, parsed, &self.types, &self.limits);
                (document.map_err(Into::into), Work { selections, ..work })
            }
            Err(mut error) => {
                error.message = brief(error.message);
                give_code(&mut error, Code::ParseFailed);
                (Err(error), work)
            }
        }
    }
}

/// What measuring a document took.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Work {
    /// Looked at before the document was parsed.
    pub tokens: u64,
    /// Gone through afterwards: selections, fragments, arguments and values. Never more than tokens.
    pub selections: u64,
}

#[cfg(test)]
mod tests;
