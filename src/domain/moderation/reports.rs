//! Reports of notes and comments by users, and the queue in which moderators find them beside the texts that wait.

use crate::{
    DomainError, DomainResult, IdempotencyKey, Judged, Plaudit, Text,
    content::{self, comments},
    keys::ActionCall,
    transaction::{self, ActionStart},
};
use plaudit_catalogue::primitives::{CommentId, Id, Moment, NoteId, PageRequest, Ranked, Slice, UserId};
use plaudit_store::sql::{
    moderation::{queue, reports},
    ownership::shards,
};

pub use plaudit_store::sql::moderation::{
    queue::{QueueState, ReviewItem, ReviewList},
    reports::StoredReport,
};

/// Why a user reports something. The numbers are stored.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReportReason {
    Spam = 1,
    Harassment = 2,
    Hate = 3,
    Violence = 4,
    Sexual = 5,
    SelfHarm = 6,
    FalseInformation = 7,
    Other = 8,
}

/// A report to make.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NewReport {
    pub reason: ReportReason,
    pub text: Option<Text>,
}

impl ReportReason {
    pub const ALL: [Self; 8] = [
        Self::Spam,
        Self::Harassment,
        Self::Hate,
        Self::Violence,
        Self::Sexual,
        Self::SelfHarm,
        Self::FalseInformation,
        Self::Other,
    ];

    const fn number(self) -> i16 {
        self as i16
    }

    pub fn of(report: &StoredReport) -> Self {
        Self::ALL.into_iter().find(|reason| reason.number() == report.reason).unwrap_or(Self::Other)
    }

    /// The reasons that were given for a case, and how often.
    pub fn given(item: &ReviewItem) -> impl Iterator<Item = (Self, i64)> {
        Self::ALL.into_iter().zip(item.by_reason.iter().copied()).filter(|(_, count)| *count > 0)
    }
}

/// Reports a note or comment of somebody else that everybody sees, or changes the reporter's report of it. Returns
/// whether anything changed.
///
/// # Errors
/// [`DomainError::NotFound`] for one that does not exist or is not shown, and for a reporter who was erased;
/// [`DomainError::BadInput`] for the reporter's own.
pub async fn report(
    plaudit: &Plaudit,
    reporter: UserId,
    (kind, id): (Judged, Id),
    NewReport { reason, text }: &NewReport,
    key: Option<&IdempotencyKey>,
) -> DomainResult<bool> {
    let (mutation, argument) = match kind {
        Judged::Note => ("reportNote", "noteId"),
        Judged::Comment => ("reportComment", "commentId"),
    };
    if author_of_shown(plaudit, reporter, kind, id).await? == reporter {
        let message = format!("{argument}: you cannot report what you wrote; you can delete it");
        return Err(DomainError::bad_input(argument, message));
    }
    let text = text.as_ref().map(Text::as_str);
    let call = ActionCall::new(mutation, &(id, reason.number(), text));
    let mut change = match transaction::begin(plaudit, reporter, key, &call).await? {
        ActionStart::Repeated(outcome) => return Ok(outcome.changed),
        ActionStart::New(change) => change,
    };
    let tx = change.tx();
    // The erasure of a user goes through the reports that exist, so none may be added meanwhile.
    shards::lock_removals_shared(tx).await?;
    // Locked until the end: the removal of the object closes its case, which must not be opened after that.
    if !reports::hold_shown(tx, kind, id).await? {
        return Err(DomainError::NotFound(kind.name()));
    }
    let reported = reports::report(tx, kind.entity(id), reporter, reason.number(), text).await?;
    // With a case that has no report, nothing of this may stay.
    let changed = reported.ok_or(DomainError::NotFound("user"))?;
    Ok(change.finish(changed, None).await?.changed)
}

async fn author_of_shown(plaudit: &Plaudit, reporter: UserId, kind: Judged, id: Id) -> DomainResult<UserId> {
    Ok(match kind {
        Judged::Note => content::notes::note_for(plaudit, Some(reporter), NoteId(id)).await?.author,
        Judged::Comment => comments::public_comment(plaudit, CommentId(id)).await?.record().author,
    })
}

/// A page of the reports of one object, the latest first.
pub async fn reports_of(
    plaudit: &Plaudit,
    case: Id,
    page: &PageRequest<Moment>,
) -> DomainResult<Slice<StoredReport>> {
    Ok(reports::reports_of(&plaudit.inner.db, case, page).await?)
}

/// A page of the review queue; `kind`: only of notes, or only of comments.
pub async fn review_items(
    plaudit: &Plaudit,
    list: ReviewList,
    kind: Option<Judged>,
    page: &PageRequest<Ranked>,
) -> DomainResult<Slice<ReviewItem>> {
    Ok(queue::review_items(&plaudit.inner.db, list, kind, page).await?)
}

/// Size and age of the review queue.
pub async fn queue_state(plaudit: &Plaudit) -> DomainResult<QueueState> {
    Ok(queue::queue_state(&plaudit.inner.db).await?)
}
