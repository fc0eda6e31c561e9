//! Small value types that every layer shares, and fail points for tests. Independent of stores and transport.

mod background;
mod change_position;
mod event_cursor;
pub mod fault;
mod id;
mod network;
mod offset;
mod page;
mod retry;
mod schema_name;
mod shard;
mod time;
mod version;

pub use background::Background;
pub use change_position::ChangePosition;
pub use event_cursor::{EventCursor, ParseEventCursorError};
pub use id::{CommentId, GroupId, Id, IdOutOfRange, NoteId, UserId};
pub use network::{limited_networks, network_of, sharer_of, site_of};
pub use offset::{Offset, ParseOffsetError};
pub use page::{Moment, PageRequest, Ranked, Slice};
pub use retry::RetryDelays;
pub use schema_name::{ParseSchemaNameError, SchemaName};
pub use shard::{Layout, ShardCount, ShardId};
pub use time::{UnixMillis, now};
pub use version::Version;
