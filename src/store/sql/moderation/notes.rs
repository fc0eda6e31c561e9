//! Decisions on notes and on their edits, with the totals that they change.

use std::collections::BTreeMap;

use super::comments::{self, DecisionEffects};
use crate::{
    StoreResult,
    sql::{
        Tx,
        content::submissions::{self, Decision, Judged, ModerationState, Verdict},
        counting::{
            counts::raw,
            rows::{self, RowKeys},
        },
    },
};
use plaudit_catalogue::{
    Entity, NOTES,
    primitives::{Id, NoteId},
};

/// `notes::decide_notes` or `comments::decide_comments`.
pub async fn decide(tx: &mut Tx, kind: Judged, decisions: &[Decision<'_>]) -> StoreResult<DecisionEffects> {
    match kind {
        Judged::Note => decide_notes(tx, decisions).await,
        Judged::Comment => comments::decide_comments(tx, decisions).await,
    }
}

/// Decides the texts of notes that still wait, and records the decisions. Returns how totals change. Skips texts
/// that were decided, replaced or removed before. Call `shards::lock_removals_shared` first: the author is not being
/// hidden meanwhile.
async fn decide_notes(tx: &mut Tx, decisions: &[Decision<'_>]) -> StoreResult<DecisionEffects> {
    let ids: Vec<Id> = decisions.iter().map(|decision| decision.id).collect();
    let mut open = lock_present_notes(tx, &ids).await?;
    let waiting = submissions::submissions(tx, Judged::Note, &ids).await?;
    // The first decision on each note; and whether it is on an edit.
    let decided = decisions.iter().filter_map(|decision| {
        let is_waiting = waiting.get(&decision.id) == Some(&decision.submission);
        let state = is_waiting.then(|| open.remove(&decision.id))??;
        Some((decision, state == ModerationState::Approved))
    });
    let decided: Vec<(&Decision<'_>, bool)> = decided.collect();
    let recorded: Vec<&Decision<'_>> = decided.iter().map(|(decision, _)| *decision).collect();
    submissions::record_decisions(tx, Judged::Note, &recorded).await?;
    let of_edits = decided.iter().filter(|(_, is_edit)| *is_edit).map(|(decision, _)| *decision);
    settle_note_edits(tx, &of_edits.collect::<Vec<_>>()).await?;
    let appeared = decided.iter().filter(|(of, is_edit)| of.verdict == Verdict::Approved && !is_edit);
    // They counted for nobody before.
    let appeared = RowKeys::of_things(NOTES, appeared.map(|(of, _)| of.id).collect());
    rows::lock(tx, &appeared).await?;
    let moved = rows::counted(tx, &appeared).await?;
    let touched = recorded.iter().map(|decision| Entity::from(NoteId(decision.id))).collect();
    Ok(DecisionEffects { moved, touched })
}

async fn lock_present_notes(tx: &mut Tx, notes: &[Id]) -> StoreResult<BTreeMap<Id, ModerationState>> {
    let query = sqlx::query_as(
        "SELECT id, state FROM note WHERE id = ANY($1) AND removed_at IS NULL ORDER BY id FOR NO KEY UPDATE",
    )
    .bind(raw(notes));
    let found: Vec<(Id, ModerationState)> = tx.db.run(query.fetch_all(&mut *tx.inner)).await?;
    Ok(found.into_iter().collect())
}

/// Shows the approved edits in place of the old texts, and notes the reasons of the rejected ones.
async fn settle_note_edits(tx: &mut Tx, decisions: &[&Decision<'_>]) -> StoreResult<()> {
    let of = |verdict| decisions.iter().filter(move |decision| decision.verdict == verdict);
    let query = sqlx::query(
        "WITH approved AS (
             DELETE FROM note_edit WHERE note_id = ANY($1) RETURNING note_id, title, body
         ), text AS (
             UPDATE note AS n SET title = a.title, body = a.body, edited_at = now()
             FROM approved AS a WHERE n.id = a.note_id
         )
         UPDATE note_edit AS e SET rejected_because = d.reason
         FROM unnest($2::bigint[], $3::text[]) AS d (id, reason) WHERE e.note_id = d.id",
    )
    .bind(of(Verdict::Approved).map(|decision| decision.id.get()).collect::<Vec<_>>())
    .bind(of(Verdict::Rejected).map(|decision| decision.id.get()).collect::<Vec<_>>())
    .bind(of(Verdict::Rejected).map(|decision| decision.reason).collect::<Vec<_>>());
    tx.db.run(query.execute(&mut *tx.inner)).await.map(drop)
}
