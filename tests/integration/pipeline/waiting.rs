//! Actions wait for a shard that is being recovered, for a moment.

use std::time::{Duration, Instant};

use plaudit_embedded_stores::AppendFsync;
use redis::{AsyncCommands, aio::MultiplexedConnection};
use serde_json::json;
use support::{SOON, Server, Stores, eventually, key, note};

/// What a shard's meta has as long as it is recovered.
const FIELD: &str = "generation";

/// How often scripts were called.
async fn calls(redis: &mut MultiplexedConnection) -> u64 {
    let info: String = redis::cmd("INFO").arg("commandstats").query_async(redis).await.unwrap();
    let line = info.lines().find_map(|line| line.strip_prefix("cmdstat_evalsha:calls=")).unwrap();
    line.split(',').next().unwrap().parse().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_action_waits_until_its_shard_is_recovered_and_is_refused_at_once_after_two_seconds() {
    let stores = Stores::start(AppendFsync::EverySec).await;
    let mut pipeline = Server::start_on(&stores, &["--roles", "pipeline"]);
    let api = Server::start_on(&stores, &["--roles", "api", "--reply-wait", "0s"]);
    let n = note(stores.new_note().await);
    let (ann, input) = (api.client("ann"), json!({ "noteId": n }));
    ann.like(&n).await;
    stores.rest().await;
    pipeline.kill();
    let (mut redis, metas) = (stores.redis().await, [key(0, "meta"), key(1, "meta")]);
    let generation: [u64; 2] =
        [redis.hget(&metas[0], FIELD).await.unwrap(), redis.hget(&metas[1], FIELD).await.unwrap()];
    let unrecover = async |redis: &mut MultiplexedConnection| {
        for meta in &metas {
            let () = redis.hdel(meta, FIELD).await.unwrap();
        }
    };

    unrecover(&mut redis).await;
    let before = calls(&mut redis).await;
    let recovering = async {
        eventually("the action asks whether the shard is recovered", SOON, || {
            let mut redis = redis.clone();
            async move { (calls(&mut redis).await >= before + 3).then_some(()) }
        })
        .await;
        let mut redis = redis.clone();
        for (meta, generation) in metas.iter().zip(generation) {
            let () = redis.hset(meta, FIELD, generation).await.unwrap();
        }
    };
    let (waited, ()) = tokio::join!(ann.try_act("unlikeNote", input.clone(), "changed"), recovering);
    assert_eq!(waited.unwrap()["changed"], true);

    unrecover(&mut redis).await;
    let mut took = Vec::new();
    for _ in 0..2 {
        let began = Instant::now();
        assert_eq!(ann.try_act("likeNote", input.clone(), "changed").await.unwrap_err(), "RETRY_LATER");
        took.push(began.elapsed());
    }
    assert!(took[0] > Duration::from_millis(1_500) && took[1] < Duration::from_secs(1), "{took:?}");

    pipeline.start_again();
    ann.retrying().act("likeNote", input, "changed").await;
    stores.rest().await;
    assert_eq!(stores.likes(n.strip_prefix("note_").unwrap().parse().unwrap()).await.rows, 1);
}
