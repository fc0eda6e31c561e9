//! The engine: prepares requests ([`prepare`]), executes them ([`execute`]), and runs their subscriptions
//! ([`subscribe`]).

mod bill;
mod events;
pub mod execute;
mod executions;
pub mod prepare;
mod responses;
mod shares;
pub mod subscribe;
#[cfg(test)]
mod tests;
