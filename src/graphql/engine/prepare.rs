//! From a request to one operation that may be executed.

use std::sync::Arc;

use async_graphql::{Request, ServerError, Value, parser::types::OperationType};

use super::Engine;
use crate::{
    auth::{Role, Subject},
    domain::{Asking, PerClass},
    graphql::{
        errors::ApiError,
        guard::{Document, brief},
        operation::OperationLabel,
        rates::{READ, mutation_cost},
        scope::Scope,
        viewer::{Caller, Viewer},
    },
};

/// How many errors of a document are told.
const MAX_ERRORS: usize = 16;

/// One operation that may be executed: parsed, and within the limits.
pub struct Prepared {
    pub(super) request: Request,
    kind: OperationType,
    label: OperationLabel,
    pub(super) source: Source,
    pub(super) viewer: Viewer,
}

impl Prepared {
    pub const fn kind(&self) -> OperationType {
        self.kind
    }

    /// What the metrics call it.
    pub const fn label(&self) -> OperationLabel {
        self.label
    }

    fn cost(&self) -> PerClass {
        if self.kind != OperationType::Mutation {
            return READ;
        }
        mutation_cost(self.source.document.parsed(), self.source.operation.as_deref())
    }
}

/// Nothing was executed, so the answer has errors and no data: a request error of the GraphQL specification.
#[derive(Debug)]
pub struct Rejected(pub Vec<ServerError>);

impl Rejected {
    /// After how many seconds the request may be sent again, when it came too soon.
    pub fn retry_after(&self) -> Option<u64> {
        self.0.iter().find_map(|error| match error.extensions.as_ref()?.get("retryAfter")? {
            Value::Number(seconds) => seconds.as_u64(),
            _ => None,
        })
    }
}

/// What was sent, for mending the answer.
pub(super) struct Source {
    pub document: Arc<Document>,
    pub operation: Option<String>,
}

impl Engine {
    /// Parses the document, finds the operation that is meant, checks its variables, and counts it for the
    /// caller's rates. What is refused was work, too: it counts as a read.
    ///
    /// # Errors
    /// [`crate::graphql::Code::RateLimited`]; a document that cannot be parsed, that costs too much, or an operation that is
    /// not in it; variables that are not what the operation asks for.
    pub fn prepare(&self, request: Request, caller: Caller) -> Result<Prepared, Rejected> {
        let asking = caller.clone();
        let prepared = self.understand(request, caller);
        self.admit(&asking, prepared.as_ref().ok())?;
        prepared
    }

    /// Services are the app's own servers: what passes through them is theirs to limit.
    fn admit(&self, caller: &Caller, prepared: Option<&Prepared>) -> Result<(), Rejected> {
        if caller.viewer.has_role(Role::Service) {
            return Ok(());
        }
        let cost = prepared.map_or(READ, Prepared::cost);
        let asking =
            Asking { subject: caller.viewer.subject().map(Subject::as_str), address: caller.address };
        let admitted = self.plaudit.admit(asking, &cost);
        admitted.map_err(|error| Rejected(vec![ApiError::from(error).into()]))
    }

    fn understand(&self, mut request: Request, caller: Caller) -> Result<Prepared, Rejected> {
        let only = |error: ServerError| Rejected(vec![error]);
        let document = self.guard.read(&request.query).map_err(only)?;
        let operation = document.operation(request.operation_name.as_deref()).map_err(only)?;
        let (kind, label) = (operation.kind, document.label(operation));
        self.guard.admit(&document, operation, &mut request.variables).map_err(first_errors)?;
        request.set_parsed_query(document.parsed().clone());
        let source = Source { operation: request.operation_name.clone(), document };
        let viewer = caller.viewer;
        let request = request.data(Scope::new(self.plaudit.clone(), viewer.clone()));
        Ok(Prepared { request, kind, label, source, viewer })
    }
}

/// A document of a thousand errors is not answered with all of them.
pub(super) fn first_errors(mut errors: Vec<ServerError>) -> Rejected {
    errors.truncate(MAX_ERRORS);
    for error in &mut errors {
        error.message = brief(std::mem::take(&mut error.message));
    }
    Rejected(errors)
}
