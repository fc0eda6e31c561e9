//! The answer to clients whose subscriptions take too much memory.

use crate::errors::{ApiError, Code};
use plaudit_domain::Payer;

/// The error of a subscription, or of a message, for which there is no room.
pub fn too_much(payer: &Payer) -> ApiError {
    let message = match payer.memory_of_one() {
        Some(most) => format!(
            "your subscriptions would take more than {} MiB of this server's memory; end some, watch fewer objects, or \
             select fewer texts",
            most >> 20
        ),
        None => "subscriptions take all memory that this server has for them".to_owned(),
    };
    ApiError::new(Code::LimitExceeded, message)
}
