//! Calls to HTTP endpoints of others, which may be slow, wrong or hostile.
//!
//! - `client`: a client that follows no redirects; reading of bounded answers
//! - `breaker`: the circuit breaker; `retry_after`: the header of that name
//! - `private`: addresses to which plain HTTP may go

mod breaker;
mod client;
mod private;
mod retry_after;

pub use breaker::{Breaker, breaker};
pub use client::{BadAnswer, builder, read_body, read_into, root_cause};
pub use private::{PrivateAddresses, is_encrypted_or_private};
pub use retry_after::retry_after;
