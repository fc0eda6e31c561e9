//! Results of the scripts, one enum per script. Each lists the results that its caller handles; results that are the
//! same error for every caller (no recovered shard, a newer owner, a full log) are errors of [`Reply::result`].

use super::reply::Reply;
use crate::{StoreError, StoreResult};

/// The results of one script that are no errors.
pub trait ScriptResult: Sized {
    /// The script's name.
    #[cfg(test)]
    const SCRIPT: &'static str;
    /// Names of the results, as the script returns them.
    #[cfg(test)]
    const NAMES: &'static [&'static str];
    /// Names of results that are errors.
    const ERRORS: &'static [&'static str];

    fn from_name(name: &str) -> Option<Self>;
}

/// Declares the enums: script, results, and after `or` the results that are errors.
macro_rules! results {
    ($($script:literal $type:ident { $($variant:ident $name:literal),+ } $(or $($error:literal)|+)?;)+) => {
        $(
            #[doc = concat!("Results of `lua/", $script, ".lua`.")]
            #[derive(Clone, Copy, PartialEq, Eq, Debug)]
            pub enum $type { $($variant),+ }

            impl ScriptResult for $type {
                #[cfg(test)]
                const SCRIPT: &'static str = $script;
                #[cfg(test)]
                const NAMES: &'static [&'static str] = &[$($name),+];
                const ERRORS: &'static [&'static str] = &[$($($error),+)?];

                fn from_name(name: &str) -> Option<Self> {
                    match name {
                        $($name => Some(Self::$variant),)+
                        _ => None,
                    }
                }
            }
        )+

        /// Per script the names of all its results.
        #[cfg(test)]
        fn declared() -> Vec<(&'static str, Vec<&'static str>)> {
            vec![$(($type::SCRIPT, [$type::NAMES, $type::ERRORS].concat())),+]
        }
    };
}

results! {
    "add_heat" AddHeatResult { Done "done", Moved "moved" };
    "advance_heat" AdvanceHeatResult { Done "done", Moved "moved" } or "no_meta" | "fenced";
    "append_views" AppendViewsResult { Done "done" } or "not_ready" | "full";
    "begin_heat" BeginHeatResult { Done "done", Kept "kept" } or "no_meta";
    "begin_load" BeginLoadResult { Done "done" } or "no_meta";
    "cancel_load" CancelLoadResult { Done "done" };
    "claim_key" ClaimKeyResult { Fresh "fresh", Again "again", Conflict "conflict" } or "not_ready";
    "close_log" CloseLogResult { Done "done", NoMeta "no_meta" } or "fenced";
    "exchange_rates" ExchangeRatesResult { Done "done" };
    "finish_recovery" FinishRecoveryResult { Done "done" } or "no_meta" | "fenced";
    "flip_edge" FlipEdgeResult {
        Done "done", Repeated "repeated", NeedSet "need_set", NeedRow "need_row", Limit "limit",
        KeyConflict "key_conflict"
    } or "not_ready" | "full";
    "fold" FoldResult { Done "done", OtherEpoch "other_epoch", Moved "moved" } or "no_meta" | "fenced";
    "heartbeat" HeartbeatResult { Done "done" } or "no_meta";
    "hottest" HottestResult { Done "done", Incomplete "incomplete" };
    "install_counts" InstallCountsResult { Done "done", Refused "refused" };
    "install_members" InstallMembersResult { Done "done", Refused "refused" } or "no_meta";
    "install_newest" InstallNewestResult { Done "done", Refused "refused" } or "no_meta";
    "invalidate_counts" InvalidateCountsResult { Done "done" } or "no_meta";
    "invalidate_members" InvalidateMembersResult { Done "done" } or "no_meta";
    "lacking_rights" LackingRightsResult { Done "done" };
    "mend_members" MendMembersResult { Done "done" } or "no_meta";
    "read_members" ReadMembersResult { Done "done" } or "no_meta";
    "read_meta" ReadMetaResult { Done "done" } or "no_meta";
    "renew_counts" RenewCountsResult { Done "done" };
    "reset_target" ResetTargetResult { Done "done", Newer "newer" };
    "retire_members" RetireMembersResult { Done "done" } or "no_meta" | "fenced";
    "seal_shard" SealShardResult { Done "done", NoMeta "no_meta" } or "fenced";
    "set_limits" SetLimitsResult { Done "done" } or "no_meta" | "fenced";
    "take_over" TakeOverResult { Done "done", NoMeta "no_meta" } or "fenced";
}

impl Reply {
    /// The script's result, by name.
    ///
    /// # Errors
    /// [`StoreError::NotRecovered`], [`StoreError::Fenced`] and [`StoreError::LogFull`], for scripts that return them;
    /// [`StoreError::Unexpected`] for a name that the script does not have.
    pub fn result<R: ScriptResult>(&self) -> StoreResult<R> {
        if let Some(result) = R::from_name(&self.code) {
            return Ok(result);
        }
        let is_declared = R::ERRORS.contains(&self.code.as_str());
        Err(match self.code.as_str() {
            "no_meta" | "not_ready" if is_declared => StoreError::NotRecovered,
            "fenced" if is_declared => StoreError::Fenced,
            "full" if is_declared => StoreError::LogFull,
            code => StoreError::Unexpected(format!("script result {code:?}")),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::redis::scripts;

    /// Results that stand in the text of a script: `{"done"` in its header, `{ 'done'` in its body.
    fn names_after<'a>(text: &'a str, opening: &str, quote: char) -> BTreeSet<&'a str> {
        text.split(opening).skip(1).filter_map(|rest| rest.split(quote).next()).collect()
    }

    #[test]
    fn each_enum_has_exactly_the_results_of_its_script() {
        let declared = declared();
        // The result of the first is ignored, and the second returns a number.
        let without = ["cache_entity", "sweep"];
        for script in scripts::all().iter().filter(|script| !without.contains(&script.name)) {
            let path = format!("{}/../../lua/{}.lua", env!("CARGO_MANIFEST_DIR"), script.name);
            let text = std::fs::read_to_string(path).unwrap();
            let header =
                text.lines().take_while(|line| line.starts_with("--")).collect::<Vec<_>>().join("\n");
            let (_, names) = declared.iter().find(|(name, _)| *name == script.name).unwrap();
            let names: BTreeSet<&str> = names.iter().copied().collect();
            assert_eq!(names, names_after(&header, "{\"", '"'), "{}", script.name);
        }
    }
}
