//! What a request says, and how it is answered: types, bodies, callers and their accounts, statuses.

pub(super) mod accept;
pub(super) mod account;
pub(super) mod address;
pub(super) mod answer;
pub(super) mod around;
pub(super) mod body;
pub(super) mod caller;
pub(super) mod cors;
pub(super) mod media_type;
pub(super) mod query_string;
pub(super) mod rates;
pub(super) mod request_error;
