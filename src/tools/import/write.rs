//! Lines without their edges, in one transaction: entities, ratings, carried numbers, totals and invalidations.
//!
//! Locks are taken in the order of every batch: removals, totals in the order of the catalogue, comments.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet, HashMap},
};

use super::{
    batch_writer::{BatchWriter, ParsedLine},
    line::{Line, Reason},
    names::Names,
    ratings, settle,
};
use plaudit_catalogue::{EntityKind, Flip, UnixMillis, primitives::ShardCount};
use plaudit_counting::{Moved, Notices};
use plaudit_store::{
    StoreResult,
    sql::{Tx, import::names, ownership::shards},
};

/// What lines have done.
#[derive(PartialEq, Eq, Debug, Default)]
pub struct Written {
    /// Why some are rejected, by their numbers.
    pub rejected: BTreeMap<u64, Reason>,
    /// The edges of the lines that are still to be written, with the numbers of the lines.
    pub edges: Vec<(u64, Flip)>,
    pub rows: u64,
}

impl Written {
    /// Adds what later lines have done.
    pub fn add(&mut self, later: Self) {
        self.rejected.extend(later.rejected);
        self.edges.extend(later.edges);
        self.rows += later.rows;
    }
}

/// Writes the lines, but for edges. The caller commits.
pub async fn write(
    tx: &mut Tx,
    names: &mut Names,
    lines: &[ParsedLine],
    shards: ShardCount,
    is_dry: bool,
) -> StoreResult<Written> {
    if !is_dry {
        shards::lock_removals_shared(tx).await?;
    }
    let (taken, mut refused) = without_erased(tx, lines).await?;
    let mut writer = BatchWriter {
        tx,
        names,
        lines: &taken,
        is_dry,
        moved: Moved::default(),
        touched: BTreeSet::new(),
        rejected: BTreeMap::new(),
        rows: 0,
    };
    writer.users().await?;
    writer.groups().await?;
    writer.notes().await?;
    writer.comments().await?;
    let all = writer.all();
    writer.names.load_installation(writer.tx, all).await?;
    let (edges, ratings, carried) = (writer.edges(), ratings::ratings(&mut writer), writer.carried());
    let BatchWriter { tx, mut moved, touched, mut rejected, mut rows, .. } = writer;
    if !is_dry {
        let settled = settle::settle(tx, &mut moved, &touched, &ratings, &carried, &Notices::at(0)).await?;
        rows += settled.rows;
        rejected.extend(settled.rejected);
        settle::invalidate(tx, shards, &moved, &touched, BTreeSet::new()).await?;
    }
    refused.extend(rejected);
    Ok(Written { rejected: refused, edges, rows })
}

/// The lines that may be written, and why the others are refused, by number: they are from before the erasure of a
/// user whom they name.
pub(super) async fn without_erased<'a>(
    tx: &mut Tx,
    lines: &'a [ParsedLine],
) -> StoreResult<(Cow<'a, [ParsedLine]>, BTreeMap<u64, Reason>)> {
    if !names::was_anyone_erased(tx).await? {
        return Ok((lines.into(), BTreeMap::new()));
    }
    let subjects: BTreeSet<&str> =
        lines.iter().flat_map(|parsed| parsed.line.names_of(EntityKind::User)).collect();
    let erasures: HashMap<String, UnixMillis> =
        names::erasures_of(tx, &subjects.into_iter().collect::<Vec<_>>()).await?.into_iter().collect();
    if erasures.is_empty() {
        return Ok((lines.into(), BTreeMap::new()));
    }
    let reason = |line: &Line| {
        let is_before =
            |subject: &&str| erasures.get(*subject).is_some_and(|erased| line.at() <= Some(*erased));
        line.names_of(EntityKind::User).find(is_before).map(|subject| {
            format!("the user with the subject {subject:?} was erased; leave out what was before")
        })
    };
    let refused: BTreeMap<u64, Reason> =
        lines.iter().filter_map(|parsed| Some((parsed.number, reason(&parsed.line)?))).collect();
    let taken = lines.iter().filter(|parsed| !refused.contains_key(&parsed.number)).cloned().collect();
    Ok((taken, refused))
}
