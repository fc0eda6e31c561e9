//! Redis: connections, keys, scripts.

mod bodies;
mod channel;
mod connection;
mod counters;
mod flip;
mod keys;
mod kinds;
mod log;
mod members;
mod process;
mod reply;
mod scripts;
mod verification;

pub use channel::{Change, Listener, Message};
pub use connection::Redis;
pub use counters::{Applied, Batch, CountsRead, Install, Installed, LoadTickets, ReadCounts};
pub use flip::{EdgeRow, FlipOutcome, FlipRequest};
pub use log::LogReader;
pub use members::{Membership, MembershipRead, SET_CAP};
pub use process::ProcessCheck;
pub use verification::{ShardMeta, TakeOver};
