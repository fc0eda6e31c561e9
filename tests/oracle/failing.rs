//! Random queries while statements fail: reads that fail as a whole fail at every object that needs them.

use plaudit_embedded_stores::AppendFsync;

use super::{
    Comparison, Oracle, answered, callers, data::fill, generator::Generator, queries::is_answered_equally,
    schema::Schema,
};
use support::{Server, Stores};

/// Tables that no process caches.
const MISSING: [&str; 4] = ["note_rating", "inbox_entry", "activity", "submission"];

#[tokio::test(flavor = "multi_thread")]
async fn reads_that_fail_as_a_whole_are_answered_by_plans_as_by_the_oracle() {
    let stores = Stores::start(AppendFsync::EverySec).await;
    let server = Server::start_on(&stores, &[]);
    let ids = fill(&server, &stores).await;
    let oracle = Oracle::start(&stores);
    let sql = stores.sql().await;
    for table in MISSING {
        let rename = sqlx::AssertSqlSafe(format!("ALTER TABLE {table} RENAME TO {table}_away"));
        sqlx::query(rename).execute(&sql).await.unwrap();
    }

    let schema = Schema::of_plaudit();
    let callers = callers(&server);
    let comparison = Comparison::of_seconds(8);
    for seed in comparison.seeds() {
        let mut generator = Generator::new(&schema, &ids, seed);
        let caller = generator.random.below(callers.len());
        let request = generator.query();
        is_answered_equally(seed, &request, &callers[caller], (&oracle, caller)).await;
    }
    let failed = "plaudit_store_errors_total{dependency=\"PostgreSQL\",class=\"fault\"}";
    assert!(server.metric(failed).await > 0.0);
    assert!(answered(&server).await > 0.0);
}
