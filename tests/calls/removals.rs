//! The lock of removals.

use plaudit_embedded_stores::AppendFsync;
use plaudit_store::sql::{Db, ownership::shards};
use support::Stores;

#[tokio::test]
async fn a_process_that_stalls_in_a_removal_blocks_batches_only_briefly() {
    let stores = Stores::start(AppendFsync::EverySec).await;
    let stalled = Db::for_requests(stores.database_url(), 1).unwrap();
    let mut removal = stalled.begin().await.unwrap();
    shards::lock_removals(&mut removal).await.unwrap();
    let pipeline = Db::for_pipeline(stores.database_url(), 1).unwrap();
    let mut batch = pipeline.begin().await.unwrap();
    shards::lock_removals_shared(&mut batch).await.unwrap();
    // When it wakes, it gets an error that it may retry.
    assert!(shards::lock_removals(&mut removal).await.unwrap_err().is_transient());
}
