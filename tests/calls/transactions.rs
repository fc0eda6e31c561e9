//! Transactions whose callers leave.

use std::{pin::pin, time::Duration};

use futures_util::poll;
use plaudit_catalogue::primitives::{ShardCount, ShardId};
use plaudit_embedded_stores::AppendFsync;
use plaudit_store::sql::{
    Db,
    connection::migration,
    ownership::{installation, shards},
};
use support::Stores;

const SHARD: ShardId = ShardId::first(0);

#[tokio::test(flavor = "multi_thread")]
async fn a_statement_after_a_transaction_whose_caller_left_while_it_began_is_not_part_of_it() {
    let stores = Stores::start(AppendFsync::EverySec).await;
    // One connection, so that each statement gets the one that the last caller left.
    let db = Db::for_pipeline(stores.database_url(), 1).unwrap();
    migration::migrate(&db).await.unwrap();
    installation::installation(&db, ShardCount::new(2).unwrap()).await.unwrap();
    let observer = stores.sql().await;
    for polls in (1..=4).cycle().take(100) {
        {
            let mut beginning = pin!(db.begin());
            for _ in 0..polls {
                if poll!(&mut beginning).is_ready() {
                    break;
                }
                tokio::task::yield_now().await;
            }
        }
        let lease =
            shards::acquire_lease(&db, SHARD, "owner", Duration::from_secs(60)).await.unwrap().unwrap();
        let seen = sqlx::query_scalar::<_, i64>("SELECT fence FROM shard WHERE id = $1").bind(SHARD.0 as i16);
        let seen = seen.fetch_one(&observer).await.unwrap();
        assert_eq!(seen as u64, lease.fence, "the caller left after {polls} polls");
    }
}
