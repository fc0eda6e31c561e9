//! From a request to one operation that may be executed.

use std::sync::Arc;

use async_graphql::{Request, ServerError, parser::types::OperationType};
use plaudit_token_auth::{Role, Subject};

use crate::{
    domain::{PerClass, Plaudit, RequestSource},
    graphql::{
        errors::ApiError,
        guard::{Document, Guard},
        reading::scope::Scope,
        request::{
            error::{Rejected, first_errors},
            operation::OperationLabel,
            rates::{READ, mutation_cost},
            viewer::{Caller, Viewer},
        },
    },
};

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

/// What was sent, for mending the answer.
pub(super) struct Source {
    pub document: Arc<Document>,
    pub operation: Option<String>,
}

/// Prepares requests. Cheap to clone.
#[derive(Clone)]
pub(super) struct Preparer {
    plaudit: Plaudit,
    guard: Arc<Guard>,
}

impl Preparer {
    pub fn new(plaudit: Plaudit, guard: Guard) -> Self {
        Self { plaudit, guard: Arc::new(guard) }
    }

    /// Keeps the document of an operation that was executed, so that it is not parsed again.
    pub fn keep(&self, document: &Arc<Document>) {
        self.guard.keep(document);
    }

    /// Parses the document, finds the operation that is meant, checks its variables, and counts it for the
    /// caller's rates. What is refused was work, too: it counts as a read.
    ///
    /// # Errors
    /// [`Code::RateLimited`](crate::graphql::Code::RateLimited); a document that cannot be parsed, that costs too much, or an operation that is
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
            RequestSource { subject: caller.viewer.subject().map(Subject::as_str), address: caller.address };
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
