//! Reports of notes and comments by users, and decisions of moderators about them.

use std::fmt;

use crate::{
    DomainError, DomainResult, IdempotencyKey, Plaudit, Text,
    content::{self, comments},
    keys::ActionCall,
    transaction::{self, ActionStart, ActionTransaction},
};
use plaudit_catalogue::{
    COMMENTS, Entity, EntityKind,
    primitives::{CommentId, Id, Moment, NoteId, PageRequest, Ranked, Slice, UserId},
};
use plaudit_store::sql::{
    self,
    counting::rows::{self, RowKeys},
    moderation::reports::{self, ReportCase, StoredReport},
    ownership::shards,
};

pub use plaudit_store::sql::moderation::reports::ReportOrder;

/// What was reported.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReportTarget {
    Note(NoteId),
    Comment(CommentId),
}

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

/// A report that was made.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Report {
    /// When, and by whom.
    pub place: Moment,
    pub reason: ReportReason,
    pub text: Option<String>,
}

/// A note or comment with reports that nobody has decided about.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ReportedObject {
    pub case: ReportCase,
    /// Reasons that were given, and how often.
    pub reasons: Vec<(ReportReason, i64)>,
}

/// What a moderator does about reports.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReportDecision {
    Keep,
    Remove,
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

    fn from_number(number: i16) -> Self {
        Self::ALL.into_iter().find(|reason| reason.number() == number).unwrap_or(Self::Other)
    }
}

impl ReportDecision {
    const fn name(self) -> &'static str {
        match self {
            Self::Keep => "keep",
            Self::Remove => "remove",
        }
    }
}

impl ReportTarget {
    /// # Errors
    /// [`DomainError::BadInput`] naming `argument`, for anything but a note or a comment.
    pub fn parse(argument: &'static str, Entity { kind, id }: Entity) -> DomainResult<Self> {
        match kind {
            EntityKind::Note => Ok(Self::Note(NoteId(id))),
            EntityKind::Comment => Ok(Self::Comment(CommentId(id))),
            _ => {
                let message =
                    format!("{argument}: pass the id of a note or a comment, not of a {}", kind.name());
                Err(DomainError::bad_input(argument, message))
            }
        }
    }

    pub fn entity(self) -> Entity {
        match self {
            Self::Note(note) => note.into(),
            Self::Comment(comment) => comment.into(),
        }
    }

    /// The mutation that reports it, and its argument.
    const fn mutation(self) -> (&'static str, &'static str) {
        match self {
            Self::Note(_) => ("reportNote", "noteId"),
            Self::Comment(_) => ("reportComment", "commentId"),
        }
    }

    const fn not_found(self) -> DomainError {
        DomainError::NotFound(match self {
            Self::Note(_) => "note",
            Self::Comment(_) => "comment",
        })
    }
}

impl fmt::Display for ReportTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.entity().fmt(f)
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
    target: ReportTarget,
    NewReport { reason, text }: &NewReport,
    key: Option<&IdempotencyKey>,
) -> DomainResult<bool> {
    let (mutation, argument) = target.mutation();
    if author_of_shown(plaudit, reporter, target).await? == reporter {
        let message = format!("{argument}: you cannot report what you wrote; you can delete it");
        return Err(DomainError::bad_input(argument, message));
    }
    let text = text.as_ref().map(Text::as_str);
    let call = ActionCall::new(mutation, &(target.to_string(), reason.number(), text));
    let mut change = match transaction::begin(plaudit, reporter, key, &call).await? {
        ActionStart::Repeated(outcome) => return Ok(outcome.changed),
        ActionStart::New(change) => change,
    };
    let tx = change.tx();
    // The erasure of a user goes through the reports that exist, so none may be added meanwhile.
    shards::lock_removals_shared(tx).await?;
    // Locked until the end: the removal of the object closes its case, which must not be opened after that.
    let is_shown = match target {
        ReportTarget::Note(note) => reports::hold_shown_note(tx, note).await?,
        ReportTarget::Comment(comment) => reports::hold_shown_comment(tx, comment).await?,
    };
    if !is_shown {
        return Err(target.not_found());
    }
    let reported = reports::report(tx, target.entity(), reporter, reason.number(), text).await?;
    // With a case that has no report, nothing of this may stay.
    let changed = reported.ok_or(DomainError::NotFound("user"))?;
    Ok(change.finish(changed, None).await?.changed)
}

async fn author_of_shown(plaudit: &Plaudit, reporter: UserId, target: ReportTarget) -> DomainResult<UserId> {
    Ok(match target {
        ReportTarget::Note(note) => content::notes::note_for(plaudit, Some(reporter), note).await?.author,
        ReportTarget::Comment(comment) => comments::public_comment(plaudit, comment).await?.record().author,
    })
}

/// A page of what was reported and not decided.
pub async fn reported_objects(
    plaudit: &Plaudit,
    order: ReportOrder,
    page: &PageRequest<Ranked>,
) -> DomainResult<Slice<ReportedObject>> {
    let cases = reports::open_cases(&plaudit.inner.db, order, page).await?;
    Ok(cases.map(|case| {
        let counted = ReportReason::ALL.into_iter().zip(case.by_reason.iter().copied());
        let reasons = counted.filter(|(_, count)| *count > 0).collect();
        ReportedObject { case, reasons }
    }))
}

/// A page of the reports of one object, the latest first.
pub async fn reports_of(
    plaudit: &Plaudit,
    case: Id,
    page: &PageRequest<Moment>,
) -> DomainResult<Slice<Report>> {
    let reports = reports::reports_of(&plaudit.inner.db, case, page).await?;
    let report = |StoredReport { place, reason, text }| Report {
        place,
        reason: ReportReason::from_number(reason),
        text,
    };
    Ok(reports.map(report))
}

/// Closes the reports of an object, in one transaction with its removal. Returns whether anything changed: not if
/// the last reports were decided alike.
///
/// # Errors
/// [`DomainError::NotFound`] for an object that was never reported, or is removed and should be kept;
/// [`DomainError::BadInput`] for one that was kept and not reported since.
pub async fn decide_reports(
    plaudit: &Plaudit,
    moderator: UserId,
    target: ReportTarget,
    decision: ReportDecision,
    reason: Option<&Text>,
    key: Option<&IdempotencyKey>,
) -> DomainResult<bool> {
    let reason = reason.map(Text::as_str);
    let call = ActionCall::new("decideReports", &(target.to_string(), decision.name(), reason));
    let mut change = match transaction::begin(plaudit, moderator, key, &call).await? {
        ActionStart::Repeated(outcome) => return Ok(outcome.changed),
        ActionStart::New(change) => change,
    };
    // Checked without a lock first: the lock of removals blocks batches.
    let closed = reports::has_open_case(change.tx(), target.entity()).await?
        && match (decision, target) {
            (ReportDecision::Keep, _) => {
                reports::close_case(change.tx(), target.entity(), decision.name(), reason, moderator).await?
            }
            (ReportDecision::Remove, ReportTarget::Note(note)) => {
                remove_reported_note(plaudit, &mut change, note, reason, moderator).await?
            }
            (ReportDecision::Remove, ReportTarget::Comment(comment)) => {
                remove_reported_comment(&mut change, comment, reason, moderator).await?
            }
        };
    if !closed {
        must_be_decided(reports::last_decision(change.tx(), target.entity()).await?, target, decision)?;
    }
    Ok(change.finish(closed, None).await?.changed)
}

/// Locks the object before its case, as reports do.
async fn remove_reported_note(
    plaudit: &Plaudit,
    change: &mut ActionTransaction<'_>,
    note: NoteId,
    reason: Option<&str>,
    moderator: UserId,
) -> DomainResult<bool> {
    let tx = change.tx();
    shards::lock_removals(tx).await?;
    let state = sql::content::notes::lock_note(tx, note).await?.ok_or(DomainError::NotFound("note"))?;
    let closed =
        reports::close_case(tx, note.into(), ReportDecision::Remove.name(), reason, moderator).await?;
    if closed {
        content::notes::remove_notes(plaudit, change, &[state], Some(moderator)).await?;
    }
    Ok(closed)
}

async fn remove_reported_comment(
    change: &mut ActionTransaction<'_>,
    comment: CommentId,
    reason: Option<&str>,
    moderator: UserId,
) -> DomainResult<bool> {
    let not_found = || DomainError::NotFound("comment");
    let tx = change.tx();
    shards::lock_removals_shared(tx).await?;
    rows::lock(tx, &RowKeys::of_things(COMMENTS, vec![comment.0])).await?;
    let header = sql::content::comments::lock_comments(tx, &[comment]).await?.pop().ok_or_else(not_found)?;
    let closed =
        reports::close_case(tx, comment.into(), ReportDecision::Remove.name(), reason, moderator).await?;
    if closed {
        change.remove_comment(&header, moderator).await?;
    }
    Ok(closed)
}

/// Fails unless the last reports of the object were decided like this. `last`: as [`last_decision`].
fn must_be_decided(
    last: Option<Option<String>>,
    target: ReportTarget,
    decision: ReportDecision,
) -> DomainResult<()> {
    let was_kept = match last {
        None => return Err(DomainError::NotFound("reported note or comment")),
        Some(last) => last.as_deref() == Some(ReportDecision::Keep.name()),
    };
    match (was_kept, decision) {
        (true, ReportDecision::Keep) | (false, ReportDecision::Remove) => Ok(()),
        (false, ReportDecision::Keep) => Err(target.not_found()),
        (true, ReportDecision::Remove) => Err(DomainError::bad_input(
            "decision",
            "decision: a moderator has decided to keep this, and nobody has reported it since; to remove it, use \
             deleteNote or deleteComment",
        )),
    }
}
