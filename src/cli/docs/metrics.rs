//! Table of the metrics.

use super::table;
use crate::app::METRICS;

const HEAD: [&str; 4] = ["Metric", "Kind, unit", "Labels", "Meaning"];

pub fn table() -> String {
    let rows = METRICS.iter().map(|metric| {
        let kind = format!("{}, {}", metric.kind.name(), metric.counted);
        [table::code(metric.name), kind, metric.labels.to_owned(), metric.meaning.to_owned()]
    });
    table::table(HEAD, rows)
}
