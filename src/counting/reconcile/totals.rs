//! Compares totals with rows: first in one statement without locks; totals that drifted are recounted under their
//! lock and then repaired.

use std::collections::BTreeSet;

use super::{
    Reconciler,
    finding::{CheckReport, DriftKind, Finding},
};
use plaudit_catalogue::{Entity, EntityKind, primitives::Id};
use plaudit_store::{
    StoreResult,
    sql::{
        counting::{
            counts, invalidations,
            recount::{self, EntityRecount},
            repairs::{self, Repair},
        },
        ownership::shards,
    },
};

/// Entities whose totals are locked at the same time: batches of likes wait for these locks.
const LOCKED: usize = 20;

impl Reconciler {
    pub(super) async fn check_totals(&self, kind: EntityKind, ids: &[Id]) -> StoreResult<CheckReport> {
        let (recounted, too_large) = self.recount(kind, ids).await?;
        let existing: Vec<EntityRecount> =
            recounted.into_iter().filter(|entity| entity.exists || entity.totals.is_some()).collect();
        let mut outcome =
            CheckReport { checked: existing.len() as u64, skipped: too_large, ..CheckReport::default() };
        let findings = findings(kind, &existing);
        if !self.repairs {
            outcome.findings = findings;
            return Ok(outcome);
        }
        let mut drifted: Vec<Id> = findings.iter().map(|finding| finding.entity.id).collect();
        drifted.dedup();
        for page in drifted.chunks(LOCKED) {
            match self.repair_totals(kind, page).await {
                Ok(repaired) => outcome.findings.extend(repaired),
                // Reported, but not repaired.
                Err(error) if recount::took_too_long(&error) => {
                    let unrepaired = |finding: &&Finding| page.contains(&finding.entity.id);
                    outcome.findings.extend(findings.iter().filter(unrepaired));
                }
                Err(error) => return Err(error),
            }
        }
        Ok(outcome)
    }

    /// A page that times out is recounted in halves. Also returns the entities that time out alone.
    async fn recount(
        &self,
        kind: EntityKind,
        ids: &[Id],
    ) -> StoreResult<(Vec<EntityRecount>, BTreeSet<Entity>)> {
        let (mut recounted, mut too_large, mut rest) = (Vec::new(), BTreeSet::new(), vec![ids]);
        while let Some(page) = rest.pop() {
            match recount::recount(&self.db, kind, page).await {
                Ok(page) => recounted.extend(page),
                Err(error) if !recount::took_too_long(&error) => return Err(error),
                Err(_) if page.len() > 1 => {
                    let (first, second) = page.split_at(page.len() / 2);
                    rest.extend([second, first]);
                }
                Err(_) => {
                    too_large.extend(page.iter().map(|id| Entity::new(kind, *id)));
                }
            }
        }
        Ok((recounted, too_large))
    }

    /// Sets totals to their recount, in one transaction with the invalidations. Ids must be ascending.
    async fn repair_totals(&self, kind: EntityKind, ids: &[Id]) -> StoreResult<Vec<Finding>> {
        let db = &self.db;
        let mut tx = db.begin().await?;
        // Backfills of removed notes lock comments before totals; all other transactions lock totals first.
        shards::lock_removals_shared(&mut tx).await?;
        counts::lock_totals(&mut tx, kind, ids).await?;
        let recounted = recount::recount_in(&mut tx, kind, ids).await?;
        let mut findings = findings(kind, &recounted);
        let of = |what: DriftKind| -> Vec<Id> {
            findings.iter().filter(|finding| finding.what == what).map(|finding| finding.entity.id).collect()
        };
        recount::add_missing_totals(&mut tx, kind, &of(DriftKind::TotalsMissing)).await?;
        recount::delete_orphaned_totals(&mut tx, kind, &of(DriftKind::TotalsOrphaned)).await?;
        counts::add_totals(&mut tx, kind, &recount::corrections(kind, &recounted)).await?;
        let mut invalid: Vec<Entity> = findings.iter().map(|finding| finding.entity).collect();
        invalid.dedup();
        invalidations::add_invalidations(&mut tx, self.redis.shards(), &invalid, "repaired").await?;
        let repairs: Vec<Repair> = findings.iter().map(Finding::repair).collect();
        repairs::add_repairs(&mut tx, &repairs, self.by.name()).await?;
        tx.commit().await?;
        for finding in &mut findings {
            finding.repaired = true;
        }
        Ok(findings)
    }
}

/// Findings, entity by entity.
fn findings(kind: EntityKind, recounted: &[EntityRecount]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for one in recounted {
        let entity = Entity::new(kind, one.id);
        let row = |what, found, expected, off| Finding {
            entity,
            what,
            counter: "",
            found,
            expected,
            off,
            repaired: false,
        };
        match (one.exists, one.totals) {
            (true, None) => findings.push(row(DriftKind::TotalsMissing, None, Some(0), -1)),
            (false, Some(_)) => findings.push(row(DriftKind::TotalsOrphaned, Some(0), None, 1)),
            _ => {}
        }
        let totals = one.totals.unwrap_or_default();
        findings.extend(one.drifted(kind).filter_map(|counter| {
            let rows = one.rows(counter)?;
            Some(Finding::number(entity, DriftKind::Total, counter.name(), totals.get(counter), rows))
        }));
    }
    findings
}
