//! Totals in PostgreSQL compared with the rows that they include.

use support::{Stores, wrong_totals};

/// Open cases whose numbers differ from their reports.
const CASES: &str = "SELECT c.about || ' has ' || c.by_reason::text || ', reports ' || r.by_reason::text
    FROM report_case AS c CROSS JOIN LATERAL (
        SELECT array_agg((SELECT count(*) FROM report WHERE case_id = c.id AND reason = place) ORDER BY place) AS by_reason
        FROM generate_subscripts(c.by_reason, 1) AS place) AS r
    WHERE c.closed_at IS NULL AND (c.by_reason <> r.by_reason OR NOT EXISTS (SELECT FROM report WHERE case_id = c.id))";

pub async fn differences(stores: &Stores) -> Vec<String> {
    let sql = stores.sql().await;
    let mut differences: Vec<String> = sqlx::query_scalar(CASES).fetch_all(&sql).await.unwrap();
    differences.extend(wrong_totals(&sql).await);
    differences
}
