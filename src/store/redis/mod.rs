//! Redis: connections, keys, scripts.

mod batches;
mod bodies;
mod channel;
mod claim;
mod connection;
mod counters;
mod flip;
mod heat;
mod keys;
mod loads;
mod log;
mod members;
mod pending;
mod process;
mod rankings;
mod reply;
mod scripts;
mod verification;
mod views;

pub use batches::{Applied, Batch};
pub use bodies::{BodyRead, Seen};
pub use channel::{Change, Listener, Message};
pub use claim::KeyClaim;
pub use connection::Redis;
pub use counters::{CountsRead, ReadCounts};
pub use flip::{EdgeRow, FlipOutcome, FlipRequest};
pub use heat::HeatState;
pub use loads::{Install, Installed, LoadTickets};
pub use log::{LogExtent, LogReader, Pages};
pub use members::{Membership, MembershipRead, SET_CAP};
pub use pending::{Pending, PendingFlip};
pub use process::ProcessCheck;
pub use reply::LogState;
pub use verification::{ShardMeta, TakeOver};
pub use views::ViewBundle;
