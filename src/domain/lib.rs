//! Business rules: who may do what, and what it changes. Independent of HTTP and GraphQL.
//!
//! There are two kinds of actions. Edges (likes, follows, collects, memberships) are appended to the event log
//! ([`edges`]); every other action is one PostgreSQL transaction ([`transaction`]).

mod actions;
pub mod content;
pub mod edges;
pub mod entity_cache;
mod error;
pub mod event_stream;
pub mod explain;
mod invisible;
pub mod keys;
mod memory;
pub mod moderation;
pub mod people;
mod plaudit;
mod rate_class;
mod rates;
mod text;
pub mod transaction;

pub use actions::{register as register_actions, switching};
pub use content::activity::{ActivityCounter, ActivityPoint, ActivityRequest, MAX_POINTS, StepLength};
pub use content::app_keys::AppKey;
pub use content::changes::{ChangedComment, Changes};
pub use content::comment_text::CommentText;
pub use content::comments::{CommentOrder, CommentThread, ThreadPage};
pub use content::edits::TextEdit;
pub use content::groups::{GroupEdit, GroupOrder};
pub use content::notes::{NewNote, NotesOf};
pub use content::rankings::HotNotesCursor;
pub use content::ratings::{NoteRating, Score};
pub use content::upserts::{
    CreationTime, ElementDone, ElementOutcome, ElementResults, GroupUpsert, NoteUpsert, UserUpsert,
};
pub use content::views::{RecordedViews, UnappendedViews};
pub use edges::durability::{Durability, LowestDurability};
pub use edges::switch::{Actor, Switched, Switching};
pub use entity_cache::{Comment, Group, Note, User};
pub use error::{DomainError, DomainResult, ErrorClass, Reason};
pub use event_stream::{CursorError, EventObject, EventPage, LOOK_EVERY, StreamedEvent, WebhookFailure};
pub use explain::Explanation;
pub use keys::IdempotencyKey;
pub use memory::token_profiles::ToldProfile;
pub use memory::view_window::NoteViewer;
pub use moderation::decisions::ReviewDecision;
pub use moderation::groups::GroupModerator;
pub use moderation::reports::{NewReport, QueueState, ReportReason, ReviewItem, ReviewList, StoredReport};
pub use people::coins::{Amount, CoinEntry};
pub use people::erasure::{ExportPosition, ExportedRecord};
pub use people::inbox::{ActorsOf, Badge, EntryKey, InboxEntry, Message, inbox_of};
pub use people::profiles::{ByName, ProfileEdit};
pub use people::suspension::{Suspension, SuspensionEnd};
pub use people::visibility::Visibility;
pub use plaudit::Plaudit;
pub use plaudit_store::sql::content::{
    submissions::{Judged, ModerationState},
    texts::{PendingEdit, WrittenText},
};
pub use rate_class::{PerClass, RateClass};
pub use rates::{
    BusyAccount, Cost, CostMeters, Full, Held, Holding, Most, Payer, Payers, Rates, Requester, Work,
};
pub use text::{
    COMMENT_BODY, DECISION_REASON, GRANT_REASON, GROUP_DESCRIPTION, GROUP_NAME, ImageAddress, NOTE_BODY,
    NOTE_TITLE, PageAddress, REPORT_TEXT, SUSPENSION_REASON, Text, TextRule, USER_NAME, USER_PREFIX,
};
pub use transaction::ActionOutcome;
