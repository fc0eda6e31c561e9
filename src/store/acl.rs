//! The rights that the user of `redis_url` needs: the commands that Plaudit sends, and keys and channels whose
//! names begin with a [hash tag](crate::redis::tags).

/// As an ACL names them. AUTH and HELLO need no right.
pub const NEEDED: &[&str] = &[
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
pub const OPTIONAL: &[&str] = &["cluster|nodes", "config|get", "wait"];

/// The rules of an ACL for Plaudit's user.
pub fn rules() -> String {
    let commands: Vec<String> = NEEDED.iter().chain(OPTIONAL).map(|command| format!("+{command}")).collect();
    format!("~{{* &{{* {}", commands.join(" "))
}

/// How to grant missing rights.
pub fn advice() -> String {
    format!("give it at least the rights `{}`", rules())
}

/// An error of Redis about rights, if it is one: who may come in, and what it may do. With how to grant it.
pub fn explain(code: Option<&str>, message: &str) -> Option<String> {
    Some(match code? {
        "NOAUTH" => format!(
            "Redis wants a password ({message}): write it into redis_url, redis://:password@host or \
             redis://user:password@host"
        ),
        "NOPERM" => format!("the user of redis_url may not do that ({message}): {}", advice()),
        _ => return None,
    })
}
