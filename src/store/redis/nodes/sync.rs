//! Whether Redis syncs its append-only file to disk before it replies.

use std::collections::HashMap;

use redis::{Cmd, Value};

/// The settings with which a reply means that everything before it is on disk: while the file is rewritten, too.
const SETTINGS: [(&str, &str); 3] =
    [("appendonly", "yes"), ("appendfsync", "always"), ("no-appendfsync-on-rewrite", "no")];

/// Asks Redis for these settings.
pub(crate) fn question() -> Cmd {
    let mut cmd = redis::cmd("CONFIG");
    cmd.arg("GET").arg(SETTINGS.map(|(name, _)| name).as_slice());
    cmd
}

/// Whether the answer has these settings; false if Redis forbids the question.
pub(crate) fn is_yes(answer: Value) -> bool {
    let set: HashMap<String, String> = redis::from_redis_value(answer).unwrap_or_default();
    SETTINGS.iter().all(|(name, value)| set.get(*name).is_some_and(|set| set == value))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(fsync: &str, on_rewrite: &str) -> Value {
        let words = ["appendonly", "yes", "appendfsync", fsync, "no-appendfsync-on-rewrite", on_rewrite];
        Value::Array(words.map(|word| Value::BulkString(word.as_bytes().to_vec())).into())
    }

    #[test]
    fn only_a_sync_before_every_reply_is_one() {
        assert!(is_yes(answer("always", "no")));
        assert!(!is_yes(answer("everysec", "no")));
        assert!(!is_yes(answer("always", "yes")));
        assert!(!is_yes(Value::Array(Vec::new())));
        assert!(!is_yes(Value::Nil));
    }
}
