//! The rights that the user of `redis_url` needs: the commands that Plaudit sends, and keys and channels whose names begin
//! with a [hash tag](super::tags).

use redis::aio::MultiplexedConnection;

use super::{keys, reply::Reply, results::LackingRightsResult, scripts};
use crate::{
    primitives::ShardId,
    store::{StoreError, StoreResult},
};

/// As an ACL names them. AUTH and HELLO need no right.
const NEEDED: &[&str] = &[
    "client|caching",
    "client|tracking",
    "del",
    "eval",
    "evalsha",
    "exists",
    "get",
    "getrange",
    "hdel",
    "hexists",
    "hget",
    "hgetall",
    "hincrby",
    "hmget",
    "hset",
    "hsetnx",
    "info",
    "memory|usage",
    "mget",
    "pexpire",
    "pexpireat",
    "ping",
    "pttl",
    "sadd",
    "scan",
    "scard",
    "script|load",
    "set",
    "smembers",
    "smismember",
    "spublish",
    "srem",
    "ssubscribe",
    "strlen",
    "time",
    "unlink",
    "xadd",
    "xinfo|stream",
    "xrange",
    "xread",
    "xrevrange",
    "xtrim",
    "zadd",
    "zcard",
    "zincrby",
    "zrange",
    "zremrangebyrank",
    "zrevrange",
    "zunionstore",
];

/// Those that only a cluster needs, or `redis_replicas`, or who wants to know when Redis syncs.
const OPTIONAL: &[&str] = &["cluster|nodes", "config|get", "wait"];

/// The rules of an ACL for Plaudit's user.
pub fn rules() -> String {
    let commands: Vec<String> = NEEDED.iter().chain(OPTIONAL).map(|command| format!("+{command}")).collect();
    format!("~{{* &{{* {}", commands.join(" "))
}

/// What mends a lack of rights.
pub fn mend() -> String {
    format!("give it at least the rights `{}`", rules())
}

/// The needed ones that the user of the connection lacks on the shard's node.
pub async fn lacking(connection: &mut MultiplexedConnection, shard: ShardId) -> StoreResult<Vec<String>> {
    let mut call = scripts::LACKING_RIGHTS.evaluate(&[keys::meta(shard)]);
    call.arg(NEEDED);
    let reply: redis::Value = call.query_async(connection).await?;
    let mut reply = Reply::read(reply)?;
    let lacking = reply.rest()?;
    let LackingRightsResult::Done = reply.result()?;
    Ok(lacking)
}

/// An error of Redis about rights, if it is one: who may come in, and what it may do.
pub(in crate::store) fn explain(code: Option<&str>, message: &str) -> Option<StoreError> {
    let text = match code? {
        "NOAUTH" => format!(
            "Redis wants a password ({message}): write it into redis_url, redis://:password@host or \
             redis://user:password@host"
        ),
        "NOPERM" => format!("the user of redis_url may not do that ({message}): {}", mend()),
        _ => return None,
    };
    Some(StoreError::Misconfigured(text))
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, fs, path::Path};

    use super::*;

    /// The names of commands between quotes that follow these words.
    fn named_after(text: &str, before: &str, quote: char) -> Vec<String> {
        let quoted =
            text.split(before).skip(1).filter_map(|rest| rest.strip_prefix(quote)?.split(quote).next());
        let is_name = |text: &&str| !text.is_empty() && text.chars().all(|c| c.is_uppercase() || c == ' ');
        quoted.filter(is_name).map(|name| name.to_lowercase().replace(' ', "|")).collect()
    }

    #[test]
    fn every_command_that_scripts_and_calls_name_is_among_the_rights() {
        let mut sent = BTreeSet::new();
        for script in scripts::all() {
            for before in ["redis.call(", " and ", " or "] {
                sent.extend(named_after(script.source, before, '\''));
            }
        }
        assert!(sent.contains("spublish") && sent.contains("srem"), "{sent:?}");
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/store/redis");
        for file in fs::read_dir(root).unwrap() {
            let text = fs::read_to_string(file.unwrap().path()).unwrap();
            for before in ["Call::new(", "Call::about(shard, ", ".cmd(", "redis::cmd("] {
                sent.extend(named_after(&text, before, '"'));
            }
        }
        // Those of Sentinels, those with subcommands as arguments, and sections of INFO.
        let known: BTreeSet<&str> = NEEDED.iter().chain(OPTIONAL).copied().collect();
        let is_known = |sent: &&String| {
            let first = sent.split('|').next().unwrap_or_default();
            let has_subcommand = known.iter().any(|known| known.starts_with(&format!("{sent}|")));
            known.contains(sent.as_str()) || has_subcommand || first == "info" || first == "sentinel"
        };
        let missing: Vec<&String> = sent.iter().filter(|sent| !is_known(sent)).collect();
        assert!(missing.is_empty(), "{missing:?}");
    }
}
