//! Faults of the stores: broken connections, lost logs and evicted keys.

use redis::Script;
use support::{Stores, key};

/// Runs one command in Redis, which must be running.
pub async fn in_redis(stores: &Stores, words: &[&str]) {
    let mut command = redis::cmd(words[0]);
    command.arg(&words[1..]);
    let _: redis::Value = command.query_async(&mut stores.redis().await).await.unwrap();
}

/// Ends all other connections to PostgreSQL.
pub async fn cut_postgres(stores: &Stores) {
    let cut = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
               WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'";
    let _ = sqlx::query(cut).execute(&stores.sql().await).await.unwrap();
}

/// Deletes a shard's log, and in the same transaction puts Redis into the state after a restart: no scripts, and no
/// recovered shard.
pub async fn lose_log(stores: &Stores, shards: usize, shard: u64) {
    let mut restart = redis::pipe();
    restart.atomic().cmd("DEL").arg(key(shard, "log"));
    for shard in 0..shards {
        restart.cmd("HDEL").arg(key(shard, "meta")).arg("redis_history");
    }
    restart.cmd("SCRIPT").arg("FLUSH");
    let _: redis::Value = restart.query_async(&mut stores.redis().await).await.unwrap();
}

/// Removes every key with an expiry, as a full Redis may with `volatile-…`. Idempotency keys stay, because their
/// eviction loses results.
pub async fn evict(stores: &Stores) {
    let evict = Script::new(
        "local removed = 0
         for _, key in ipairs(redis.call('KEYS', '*')) do
           if redis.call('PTTL', key) > 0 and not string.find(key, ':idem:', 1, true) then
             removed = removed + redis.call('UNLINK', key)
           end
         end
         return removed",
    );
    let _: i64 = evict.invoke_async(&mut stores.redis().await).await.unwrap();
}
