//! Cached sets of members.

use plaudit_catalogue::{
    EdgeKind,
    primitives::{Id, ShardCount, UserId},
};
use plaudit_store::redis::{Redis, members::sets};
use support::Server;

#[tokio::test(flavor = "multi_thread")]
async fn a_set_that_was_read_before_an_event_was_applied_is_not_cached() {
    let stores = Server::shared().stores();
    let redis = Redis::new(stores.redis_url(), ShardCount::new(2).unwrap()).unwrap();
    let actor = UserId(Id::try_from(stores.new_user().await).unwrap());
    let shard = redis.shard_of(actor.0);
    for is_dropped in [true, false] {
        let before = sets::log_state(&redis, shard).await.unwrap();
        if is_dropped {
            sets::invalidate_members(&redis, &[(EdgeKind::NoteLike, actor)]).await.unwrap();
        }
        let install =
            sets::install_members(&redis, actor, EdgeKind::NoteLike, before, before.retired, &[], false);
        assert_eq!(install.await.unwrap(), !is_dropped);
    }
}
