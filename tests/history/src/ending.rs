//! At rest: totals are the numbers of rows, and the last counts that observers were shown are the totals.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use crate::{
    Rules,
    history::{Count, Ending, Entity, History, Shown},
    report::{Class, Report},
};

pub fn check(history: &History, ending: &Ending, rules: &impl Rules, report: &mut Report) {
    totals_are_rows(history, ending, rules, report);
    last_shown_are_totals(history, ending, report);
}

fn totals_are_rows(history: &History, ending: &Ending, rules: &impl Rules, report: &mut Report) {
    let mut rows: BTreeMap<Count, i64> = BTreeMap::new();
    for call in &history.calls {
        for count in rules.moves(call.edge) {
            rows.entry(count).or_insert_with(|| history.carried(count));
        }
    }
    for row in &ending.rows {
        for count in rules.moves(*row) {
            *rows.entry(count).or_insert_with(|| history.carried(count)) += 1;
        }
    }
    for (count, rows) in rows {
        if let Some(total) = ending.counts.get(&count).filter(|total| **total != rows) {
            let why = format!(
                "the total at rest is {total}, the rows that are on and count, with what it carries, are {rows}"
            );
            report.add(Class::EndDiffers, count.to_string(), why, Vec::new());
        }
    }
}

fn last_shown_are_totals(history: &History, ending: &Ending, report: &mut Report) {
    let mut last: HashMap<(&Arc<str>, Entity), &Shown> = HashMap::new();
    for shown in &history.shown {
        if !ending.complete.contains(&shown.observer) {
            continue;
        }
        let newest = last.entry((&shown.observer, shown.entity)).or_insert(shown);
        if newest.version <= shown.version {
            *newest = shown;
        }
    }
    for ((observer, entity), shown) in last {
        for (name, value) in &shown.values {
            let count = Count { of: entity, name };
            if let Some(total) = ending.counts.get(&count).filter(|total| *total != value) {
                let why = format!("the total at rest is {total}, {observer} was last shown {value}");
                report.add(Class::LastShownDiffers, count.to_string(), why, vec![shown.to_string()]);
            }
        }
    }
}
