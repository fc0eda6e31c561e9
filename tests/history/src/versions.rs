//! Per entity: the versions of an observer never fall, and a version has the same counts for everybody.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use crate::{
    history::{Entity, History, Shown, Time, Via},
    report::{Class, Report},
};

/// A version that somebody was shown.
#[derive(Clone, Debug)]
pub struct SeenVersion {
    pub version: u64,
    pub values: BTreeMap<&'static str, i64>,
    /// When this or a later version was seen first: nothing that began after it is in these counts.
    pub by: Time,
}

/// Checks all observations. Returns the versions of each entity, ascending.
pub fn check(history: &History, report: &mut Report) -> BTreeMap<Entity, Vec<SeenVersion>> {
    never_fall(history, report);
    one_set_of_counts(history, report)
}

fn never_fall(history: &History, report: &mut Report) {
    let mut by_observer: HashMap<(&Arc<str>, Entity), Vec<&Shown>> = HashMap::new();
    for shown in &history.shown {
        by_observer.entry((&shown.observer, shown.entity)).or_default().push(shown);
    }
    for ((observer, entity), mut all) in by_observer {
        all.sort_by_key(|shown| shown.seen); // stable: pushes stay in their order
        // The newest of what was seen up to each place.
        let mut newest: Vec<&Shown> = Vec::with_capacity(all.len());
        for (i, shown) in all.iter().enumerate() {
            let before = match shown.via {
                Via::Push => i,
                // Only what was seen before it was asked for.
                Via::Query | Via::Reply => all.partition_point(|other| other.seen < shown.asked),
            };
            if let Some(newer) = before.checked_sub(1).map(|at| newest[at])
                && newer.version > shown.version
            {
                let why = format!("{observer} was shown an older version after a newer one");
                report.add(
                    Class::VersionFell,
                    entity.to_string(),
                    why,
                    vec![newer.to_string(), shown.to_string()],
                );
                break; // one is enough for each observer
            }
            let last = newest.last().copied().filter(|last| last.version > shown.version);
            newest.push(last.unwrap_or(shown));
        }
    }
}

fn one_set_of_counts(history: &History, report: &mut Report) -> BTreeMap<Entity, Vec<SeenVersion>> {
    let mut known: HashMap<(Entity, u64, &'static str), &Shown> = HashMap::new();
    let mut seen: BTreeMap<Entity, BTreeMap<u64, SeenVersion>> = BTreeMap::new();
    for shown in &history.shown {
        let versions = seen.entry(shown.entity).or_default();
        let merged = versions.entry(shown.version).or_insert_with(|| SeenVersion {
            version: shown.version,
            values: BTreeMap::new(),
            by: shown.seen,
        });
        merged.by = merged.by.min(shown.seen);
        for (name, value) in &shown.values {
            let first = *known.entry((shown.entity, shown.version, name)).or_insert(shown);
            if first.values[name] != *value {
                let why = format!("one version was shown with {name} {} and {value}", first.values[name]);
                let slice = vec![first.to_string(), shown.to_string()];
                report.add(Class::VersionDiffers, shown.entity.to_string(), why, slice);
            }
            merged.values.insert(name, *value);
        }
    }
    let mut all = BTreeMap::new();
    for (entity, versions) in seen {
        let mut ascending: Vec<SeenVersion> = versions.into_values().collect();
        for later in (1..ascending.len()).rev() {
            ascending[later - 1].by = ascending[later - 1].by.min(ascending[later].by);
        }
        all.insert(entity, ascending);
    }
    all
}
