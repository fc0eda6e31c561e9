//! Which of [the rights that it needs](crate::acl) the user of `redis_url` lacks.

use redis::aio::MultiplexedConnection;

use crate::{
    StoreResult, acl,
    redis::{keys, reply::Reply, results::LackingRightsResult, scripts},
};
use plaudit_catalogue::primitives::ShardId;

/// The needed ones that the user of the connection lacks on the shard's node.
pub async fn lacking(connection: &mut MultiplexedConnection, shard: ShardId) -> StoreResult<Vec<String>> {
    let mut call = scripts::LACKING_RIGHTS.evaluate(&[keys::meta(shard)]);
    call.arg(acl::NEEDED);
    let reply: redis::Value = call.query_async(connection).await?;
    let mut reply = Reply::read(reply)?;
    let lacking = reply.rest()?;
    let LackingRightsResult::Done = reply.result()?;
    Ok(lacking)
}

#[cfg(test)]
mod tests {
    use std::{
        collections::BTreeSet,
        fs,
        path::{Path, PathBuf},
    };

    use super::{
        acl::{NEEDED, OPTIONAL},
        *,
    };

    /// The names of commands between quotes that follow these words.
    fn named_after(text: &str, before: &str, quote: char) -> Vec<String> {
        let quoted =
            text.split(before).skip(1).filter_map(|rest| rest.strip_prefix(quote)?.split(quote).next());
        let is_name = |text: &&str| {
            text.starts_with(char::is_uppercase) && text.chars().all(|c| c.is_uppercase() || c == ' ')
        };
        quoted.filter(is_name).map(|name| name.to_lowercase().replace(' ', "|")).collect()
    }

    /// The texts of a folder's files, and of those in its folders.
    fn sources(folder: &Path) -> Vec<String> {
        let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let text = |path: PathBuf| {
            if path.is_dir() { sources(&path) } else { vec![fs::read_to_string(path).unwrap()] }
        };
        paths.flat_map(text).collect()
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
        for text in sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("redis")) {
            for before in ["RedisCall::new(", "RedisCall::about(shard, ", ".cmd(", "redis::cmd("] {
                sent.extend(named_after(&text, before, '"'));
            }
        }
        // Commands of Sentinels, commands with subcommands as arguments, and sections of INFO.
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
