//! The engine: prepares requests ([`prepare`]), then executes them or runs their subscriptions ([`execute`]).

pub mod execute;
pub mod prepare;
mod shares;
