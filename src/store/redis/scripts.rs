//! The Lua scripts, compiled into the binary. Each file's header documents its keys, arguments and results.

use std::sync::LazyLock;

use super::{call::RedisCall, keys::RedisKey};

/// A script's text and the hash by which Redis knows it.
pub struct Script {
    pub name: &'static str,
    pub source: &'static str,
    sha: String,
}

/// Declares each script with the library files that are put before it. `loaded` scripts are loaded into a Redis
/// process on which all shards are recovered; `evaluated` ones are sent as text. A script marked `allow_oom` also runs
/// when Redis is out of memory, because pending events must be persisted before memory becomes free.
macro_rules! scripts {
    (loaded { $($loaded:ident = $loaded_name:literal [$($loaded_lib:literal),*] $($loaded_oom:ident)?;)+ }
     evaluated { $($eval:ident = $eval_name:literal [$($eval_lib:literal),*] $($eval_oom:ident)?;)+ }) => {
        $(scripts!(@one $loaded = $loaded_name [$($loaded_lib),*] $($loaded_oom)?);)+
        $(scripts!(@one $eval = $eval_name [$($eval_lib),*] $($eval_oom)?);)+

        /// Scripts that a recovered Redis process has loaded. A process that answers NOSCRIPT is not recovered.
        pub fn loaded() -> impl Iterator<Item = &'static Script> {
            [$(&*$loaded),+].into_iter()
        }

        #[cfg(test)]
        pub(super) fn all() -> Vec<&'static Script> {
            vec![$(&*$loaded,)+ $(&*$eval,)+]
        }
    };
    (@one $constant:ident = $name:literal [$($lib:literal),*]) => {
        scripts!(@text $constant = $name [$($lib),*] "");
    };
    (@one $constant:ident = $name:literal [$($lib:literal),*] allow_oom) => {
        scripts!(@text $constant = $name [$($lib),*] "#!lua flags=allow-oom\n");
    };
    (@text $constant:ident = $name:literal [$($lib:literal),*] $first_line:literal) => {
        pub static $constant: LazyLock<Script> = LazyLock::new(|| Script::new($name, concat!(
            $first_line,
            $(include_str!(concat!("../../../lua/lib/", $lib, ".lua")),)*
            include_str!(concat!("../../../lua/", $name, ".lua")),
        )));
    };
}

scripts! {
    loaded {
        ADD_HEAT = "add_heat" ["arguments", "heat"];
        ADVANCE_HEAT = "advance_heat" ["arguments", "heat"] allow_oom;
        APPEND_VIEWS = "append_views" ["append_limit", "replication"];
        BEGIN_LOAD = "begin_load" ["arguments", "replication"];
        BEGIN_HEAT = "begin_heat" [];
        CACHE_ENTITY = "cache_entity" ["texts"];
        CANCEL_LOAD = "cancel_load" [];
        CLAIM_KEY = "claim_key" [];
        EXCHANGE_RATES = "exchange_rates" [];
        FLIP_EDGE = "flip_edge" ["offset", "append_limit", "replication"];
        FOLD = "fold" ["arguments", "changes", "replication"] allow_oom;
        HEARTBEAT = "heartbeat" ["changes"];
        HOTTEST = "hottest" [];
        INSTALL_COUNTS = "install_counts" ["arguments", "changes", "replication"];
        INSTALL_MEMBERS = "install_members" ["offset", "replication", "loaded"];
        INSTALL_NEWEST = "install_newest" ["offset", "replication", "loaded"];
        INVALIDATE_COUNTS = "invalidate_counts" ["arguments", "changes", "replication", "texts"];
        INVALIDATE_MEMBERS = "invalidate_members" [];
        MEND_MEMBERS = "mend_members" ["offset"];
        READ_MEMBERS = "read_members" ["replication"];
        READ_META = "read_meta" ["replication"];
        RENEW_COUNTS = "renew_counts" [];
        RETIRE_MEMBERS = "retire_members" ["offset"] allow_oom;
        SET_LIMITS = "set_limits" [] allow_oom;
        SWEEP = "sweep" [];
    }
    // Recovery works on a Redis process that has no scripts yet.
    evaluated {
        CLOSE_LOG = "close_log" [] allow_oom;
        FINISH_RECOVERY = "finish_recovery" [] allow_oom;
        LACKING_RIGHTS = "lacking_rights" [];
        SEAL_SHARD = "seal_shard" [] allow_oom;
        RESET_TARGET = "reset_target" ["changes"] allow_oom;
        TAKE_OVER = "take_over" [] allow_oom;
    }
}

impl Script {
    fn new(name: &'static str, source: &'static str) -> Self {
        let sha = redis::Script::new(source).get_hash().to_owned();
        Self { name, source, sha }
    }

    /// A call by hash; the arguments follow.
    pub fn call(&self, keys: &[RedisKey]) -> RedisCall {
        Self::with_keys("EVALSHA", &self.sha, keys)
    }

    /// A call by text, which needs no loaded script; the arguments follow.
    pub fn evaluate(&self, keys: &[RedisKey]) -> RedisCall {
        Self::with_keys("EVAL", self.source, keys)
    }

    /// All keys are of one shard; the first one says which.
    fn with_keys(command: &str, script: &str, keys: &[RedisKey]) -> RedisCall {
        let mut call = RedisCall::about(keys[0].shard, command);
        call.arg(script).arg(keys.len());
        for key in keys {
            call.arg(key);
        }
        call
    }
}

/// Whether a command calls a script.
pub fn is_call(cmd: &redis::Cmd) -> bool {
    matches!(cmd.args_iter().next(), Some(redis::Arg::Simple(b"EVALSHA" | b"EVAL")))
}

/// The name of a command, and of the script that it calls by hash: `EVALSHA flip_edge`.
pub fn name_of(cmd: &redis::Cmd) -> String {
    let mut words = cmd.args_iter().map_while(|arg| match arg {
        redis::Arg::Simple(word) => str::from_utf8(word).ok(),
        _ => None,
    });
    let command = words.next().unwrap_or_default();
    let script = words.next().and_then(|sha| loaded().find(|script| script.sha == sha));
    match script {
        Some(script) => format!("{command} {}", script.name),
        None => command.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// The indexes in the text, as in `KEYS[3]`.
    fn indexes(text: &str, table: &str) -> BTreeSet<u32> {
        text.match_indices(table)
            .filter_map(|(at, _)| {
                let digits: String =
                    text[at + table.len()..].chars().take_while(char::is_ascii_digit).collect();
                digits.parse().ok()
            })
            .collect()
    }

    /// The script's own header and body, without the library files before it.
    fn header_and_body(script: &Script) -> (String, String) {
        let path = format!("{}/../../lua/{}.lua", env!("CARGO_MANIFEST_DIR"), script.name);
        let text = std::fs::read_to_string(path).unwrap();
        text.lines().map(|line| format!("{line}\n")).partition(|line| line.starts_with("--"))
    }

    #[test]
    fn each_header_names_every_key_and_argument_that_the_script_indexes() {
        for script in all() {
            let (header, body) = header_and_body(script);
            for table in ["KEYS[", "ARGV["] {
                let missing: Vec<_> =
                    indexes(&body, table).difference(&indexes(&header, table)).copied().collect();
                assert!(missing.is_empty(), "{}: header lacks {table}{missing:?}]", script.name);
            }
        }
    }

    #[test]
    fn each_header_names_every_result_that_the_script_returns() {
        for script in all() {
            let (header, body) = header_and_body(script);
            for line in body.lines().filter(|line| line.contains("return { '")) {
                let code = line.split('\'').nth(1).unwrap();
                assert!(header.contains(&format!("{{\"{code}\"")), "{}: header lacks {code}", script.name);
            }
        }
    }
}
