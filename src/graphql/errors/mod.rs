//! Errors for clients: a message for people, and a code for programs.

mod code;
mod rejection;

use std::{any::Any, borrow::Cow, sync::Arc};

use async_graphql::{ErrorExtensionValues, PathSegment, ServerError, Value};
use chrono::{DateTime, SecondsFormat, Utc};
use plaudit_token_auth::TokenError;

pub use self::{code::Code, rejection::Rejection};
use plaudit_catalogue::primitives::EventCursor;
use plaudit_domain::{CursorError, DomainError, Reason};

pub type ApiResult<T> = Result<T, ApiError>;

/// One failure. Every field that waited for the same read gets a copy.
///
/// Does not implement `Display`: async-graphql would turn it into an error without a code.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ApiError {
    code: Code,
    message: String,
    /// The argument at fault.
    argument: Option<Cow<'static, str>>,
    reason: Option<Reason>,
    /// For the log, not for the client.
    cause: Option<Arc<str>>,
    /// Seconds.
    retry_after: Option<u64>,
    /// When a suspension ends.
    until: Option<DateTime<Utc>>,
    /// A cursor to continue from.
    continue_after: Option<Box<EventCursor>>,
}

/// The internal cause of a failed field: logged, and not sent to the client.
struct LoggedCause(Arc<str>);

impl ApiError {
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        let message = message.into();
        Self {
            code,
            message,
            argument: None,
            reason: None,
            cause: None,
            retry_after: None,
            until: None,
            continue_after: None,
        }
    }

    pub fn bad_input(argument: impl Into<Cow<'static, str>>, message: impl Into<String>) -> Self {
        Self { argument: Some(argument.into()), ..Self::new(Code::BadUserInput, message) }
    }

    /// The same request may succeed after this many seconds.
    pub fn too_often(message: impl Into<String>, retry_after_s: u32) -> Self {
        Self { retry_after: Some(retry_after_s.into()), ..Self::new(Code::RateLimited, message) }
    }

    pub fn not_found(what: &'static str) -> Self {
        DomainError::NotFound(what).into()
    }

    pub fn no_token() -> Self {
        Self::new(Code::Unauthenticated, "sign in first: this needs a token (Authorization: Bearer …)")
    }

    pub fn forbidden(message: &'static str) -> Self {
        DomainError::Forbidden(message).into()
    }

    pub fn internal() -> Self {
        Self::new(Code::Internal, "internal error")
    }

    pub const fn code(&self) -> Code {
        self.code
    }

    pub fn message(&self) -> &str {
        &self.message
    }

    /// In seconds.
    pub const fn retry_after(&self) -> Option<u64> {
        self.retry_after
    }

    /// The argument at fault.
    pub fn argument(&self) -> Option<&str> {
        self.argument.as_deref()
    }

    /// `extensions.reason`.
    pub fn reason(&self) -> Option<&'static str> {
        self.reason.map(Reason::code)
    }

    fn extensions(&self) -> ErrorExtensionValues {
        let mut values = ErrorExtensionValues::default();
        mark(&mut values, self.code);
        if let Some(argument) = &self.argument {
            values.set("argument", argument.as_ref());
        }
        if let Some(reason) = self.reason {
            values.set("reason", reason.code());
        }
        if let Some(seconds) = self.retry_after {
            values.set("retryAfter", seconds);
        }
        if let Some(until) = self.until {
            values.set("until", until.to_rfc3339_opts(SecondsFormat::Millis, true));
        }
        if let Some(cursor) = &self.continue_after {
            values.set("continueAfter", cursor.to_string());
        }
        values
    }
}

fn mark(values: &mut ErrorExtensionValues, code: Code) {
    values.set("code", code.name());
    values.set("retryable", code.is_retryable());
}

impl From<DomainError> for ApiError {
    /// Counts the failure: each one is converted here once. [`log_causes`] logs the internal cause, once per response.
    fn from(error: DomainError) -> Self {
        let message = error.to_string();
        metrics::counter!("plaudit_refusals_total", "class" => error.class().name()).increment(1);
        match error {
            DomainError::NotFound(_) => Self::new(Code::NotFound, message),
            DomainError::Forbidden(_) => Self::new(Code::Forbidden, message),
            DomainError::Suspended { until } => {
                Self { until: Some(until), ..Self::new(Code::Suspended, message) }
            }
            DomainError::BadInput { argument, reason, .. } => {
                Self { reason, ..Self::bad_input(argument, message) }
            }
            DomainError::Cursor(error) => {
                let reason = match error {
                    CursorError::OtherInstallation => Reason::OtherInstallation,
                    CursorError::TooOld { .. } => Reason::CursorTooOld,
                    CursorError::Lost { .. } => Reason::EventsLost,
                };
                let continue_after = error.kept().map(Box::new);
                Self { reason: Some(reason), continue_after, ..Self::bad_input("after", message) }
            }
            DomainError::RateLimited { retry_after, .. } => {
                let seconds = retry_after.as_secs_f64().ceil() as u64;
                Self { retry_after: Some(seconds), ..Self::new(Code::RateLimited, message) }
            }
            DomainError::RetryLater(cause) => {
                // Debug level: breakers log outages, and a metric counts these.
                tracing::debug!(%cause, "a request must be retried later");
                Self::new(Code::RetryLater, message)
            }
            DomainError::CatchingUp => {
                tracing::debug!("a shard's log is full; a request must be retried later");
                Self::new(Code::RetryLater, message)
            }
            DomainError::Overloaded(what) => {
                tracing::debug!(what, "the server is overloaded; a request must be retried later");
                Self::new(Code::RetryLater, message)
            }
            DomainError::Internal(cause) => {
                Self { cause: Some(cause.to_string().into()), ..Self::new(Code::Internal, message) }
            }
        }
    }
}

impl From<TokenError> for ApiError {
    fn from(error: TokenError) -> Self {
        Self::new(Code::Unauthenticated, error.to_string())
    }
}

impl From<ApiError> for ServerError {
    fn from(error: ApiError) -> Self {
        let extensions = Some(error.extensions());
        let source = error.cause.map(LoggedCause::shared);
        Self { extensions, source, ..Self::new(error.message, None) }
    }
}

impl LoggedCause {
    fn shared(cause: Arc<str>) -> Arc<dyn Any + Send + Sync> {
        Arc::new(Self(cause))
    }
}

/// Logs internal causes: one line per response, however many of its fields failed.
pub fn log_causes(errors: &[ServerError]) {
    let mut failed = errors.iter().filter_map(|error| Some((error, error.source::<LoggedCause>()?)));
    if let Some((error, LoggedCause(cause))) = failed.next() {
        let path: Vec<String> = error.path.iter().map(segment).collect();
        tracing::error!(%cause, path = path.join("."), failures = 1 + failed.count(), "a request failed");
    }
}

fn segment(segment: &PathSegment) -> String {
    match segment {
        PathSegment::Field(name) => name.clone(),
        PathSegment::Index(index) => index.to_string(),
    }
}

/// The outcome of a response in the metrics: the code of its first error, or `OK`.
pub fn outcome(first: Option<&ServerError>) -> &'static str {
    let code = |error: &ServerError| match error.extensions.as_ref()?.get("code")? {
        Value::String(name) => Code::ALL.into_iter().find(|code| code.name() == name),
        _ => None,
    };
    first.map_or("OK", |error| code(error).unwrap_or(Code::Internal).name())
}

/// Gives `error` a code if it has none. Errors of the engine have none.
pub fn give_code(error: &mut ServerError, code: Code) {
    let values = error.extensions.get_or_insert_default();
    if values.get("code").is_none() {
        mark(values, code);
    }
}

/// The code of an error of the engine: a document that does not fit the schema, or an argument that does not fit its
/// type. The latter has a path if execution found it; otherwise its message identifies it.
pub fn code_of_engine_error(error: &ServerError) -> Code {
    const ARGUMENT_ERRORS: [&str; 3] =
        ["Invalid value for argument", "Expected input type", "Failed to parse"];
    let begins = |beginning: &&str| error.message.starts_with(*beginning);
    if !error.path.is_empty() || ARGUMENT_ERRORS.iter().any(begins) {
        Code::BadUserInput
    } else {
        Code::ValidationFailed
    }
}

#[cfg(test)]
mod tests {
    use async_graphql::value;

    use super::*;
    use plaudit_store::StoreError;

    fn shown(error: impl Into<ApiError>) -> serde_json::Value {
        serde_json::to_value(ServerError::from(error.into())).unwrap()
    }

    #[test]
    fn bad_input_names_the_argument_and_the_reason() {
        let error = DomainError::BadInput {
            argument: "userId",
            message: "you follow 5 others already".into(),
            reason: Some(Reason::FollowLimit),
        };
        assert_eq!(
            shown(error),
            serde_json::json!({
                "message": "you follow 5 others already",
                "extensions": {
                    "code": "BAD_USER_INPUT",
                    "retryable": false,
                    "argument": "userId",
                    "reason": "FOLLOW_LIMIT",
                },
            })
        );
    }

    #[test]
    fn an_unreachable_store_means_retry_and_its_name_is_not_sent() {
        let shown = shown(DomainError::from(StoreError::SqlUnreachable("host db-7 is down".into())));
        assert_eq!(shown["extensions"], serde_json::json!({ "code": "RETRY_LATER", "retryable": true }));
        assert!(!shown["message"].as_str().unwrap().contains("db-7"));
    }

    #[test]
    fn a_rate_limit_error_has_retry_after_in_whole_seconds() {
        let retry_after = std::time::Duration::from_millis(11_001);
        let shown = shown(DomainError::RateLimited { class: plaudit_domain::RateClass::Write, retry_after });
        assert_eq!(
            shown["extensions"],
            serde_json::json!({ "code": "RATE_LIMITED", "retryable": true, "retryAfter": 12 })
        );
        assert_eq!(shown["message"], "too many writes in a short time; try again in 12 s");
    }

    #[test]
    fn a_suspension_says_when_it_ends_and_is_not_retryable() {
        let until = "2026-11-30T12:00:00Z".parse().unwrap();
        assert_eq!(
            shown(DomainError::Suspended { until })["extensions"],
            serde_json::json!({ "code": "SUSPENDED", "retryable": false, "until": "2026-11-30T12:00:00.000Z" })
        );
    }

    #[test]
    fn an_internal_cause_is_not_sent() {
        let shown = shown(DomainError::from(StoreError::Unexpected("column secret".into())));
        assert_eq!(shown["message"], "internal error");
        assert_eq!(shown["extensions"]["code"], "INTERNAL");
    }

    #[test]
    fn a_code_is_given_only_where_there_is_none() {
        let mut ours = ServerError::from(ApiError::not_found("note"));
        give_code(&mut ours, Code::ValidationFailed);
        assert_eq!(ours.extensions.unwrap().get("code"), Some(&value!("NOT_FOUND")));

        let mut engines = ServerError::new("Unknown field", None);
        give_code(&mut engines, Code::ValidationFailed);
        assert_eq!(engines.extensions.unwrap().get("code"), Some(&value!("GRAPHQL_VALIDATION_FAILED")));
    }
}
