//! `/admin/metrics`, which the operator's page reads; for moderators.

use axum::{
    http::{HeaderValue, StatusCode, header},
    response::Response,
};

use crate::http::{
    SharedApiState,
    requests::{caller::SentBy, request_error::RequestError},
};
use plaudit_domain::{BusyAccount, RateClass, WebhookFailure, event_stream};
use plaudit_graphql::{ApiError, Code, must_be_moderator};

/// Accounts that are shown.
const TOP: usize = 10;

/// The text of `/metrics`, which proxies usually do not pass on, the accounts that have used most of their
/// limits, and why the webhook fails.
pub async fn metrics(state: SharedApiState, SentBy(caller): SentBy) -> Result<Response, RequestError> {
    must_be_moderator(&caller.viewer).map_err(refused)?;
    let accounts = state.api.plaudit.rates().payers().busiest(TOP);
    let accounts: String = accounts.iter().flat_map(lines).collect();
    // Without PostgreSQL the rest is still answered.
    let failure = event_stream::webhook_failure(&state.api.plaudit).await.ok().flatten();
    let failure = failure.map(|failure| failure_line(&failure)).unwrap_or_default();
    Ok(state.api.metrics.answer(&(accounts + &failure)))
}

/// The time of the failure, in seconds since 1970, with the reason as a label.
fn failure_line(WebhookFailure { reason, at }: &WebhookFailure) -> String {
    let reason = reason.replace('\\', "\\\\").replace('"', "\\\"");
    format!("plaudit_webhook_error{{reason=\"{reason}\"}} {}\n", at.timestamp())
}

/// What an account has used, and may use, of each class with a limit.
fn lines(account: &BusyAccount) -> impl Iterator<Item = String> {
    let BusyAccount { kind, name, used, allowed } = account;
    let limited = RateClass::ALL.into_iter().filter(|class| allowed.of(*class) > 0);
    limited.map(move |class| {
        let labels = format!("{{kind=\"{kind}\",account=\"{name}\",class=\"{}\"}}", class.name());
        let (used, allowed) = (used.of(class), allowed.of(class));
        format!("plaudit_account_used{labels} {used}\nplaudit_account_limit{labels} {allowed}\n")
    })
}

fn refused(error: ApiError) -> RequestError {
    match error.code() {
        Code::Forbidden => RequestError::new(StatusCode::FORBIDDEN, error),
        _ => RequestError::new(StatusCode::UNAUTHORIZED, error)
            .with_header(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer")),
    }
}
