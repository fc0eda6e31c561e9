//! Rate limit counters that all instances share. They are short-lived; their loss only lets some more requests pass.

use std::time::Duration;

use crate::{
    StoreError, StoreResult,
    redis::{
        Redis,
        call::RedisCall,
        keys::{self, RedisKey},
        reply::script_reply,
        results::ExchangeRatesResult,
        scripts,
    },
};
use plaudit_catalogue::primitives::ShardId;

/// Users and addresses per call of the script, which blocks Redis for about half a millisecond.
const ASKERS_PER_CALL: usize = 100;
/// Users and addresses per round trip.
const ASKERS_AT_ONCE: usize = 2_000;

/// Numbers of reads, writes and creations.
pub type RateCounts = [u64; 3];

/// Digest of the client's identity, so that keys are short and contain no name or address.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct RateAsker(pub [u8; 16]);

/// One instance's share in the counts of one user or address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RateUse {
    pub asker: RateAsker,
    /// Number of the window, counted from the Unix epoch.
    pub window: u64,
    pub add: RateCounts,
}

/// Counts of all instances together.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RateTotals {
    /// In the window of the share.
    pub current: RateCounts,
    /// In the window before.
    pub previous: RateCounts,
}

/// Adds the shares and returns the totals, in the same order. Counts live for `life` from now.
///
/// # Errors
/// Some of the shares may have been added.
pub async fn exchange_rates(
    redis: &Redis,
    shares: &[RateUse],
    life: Duration,
) -> StoreResult<Vec<RateTotals>> {
    let mut totals = vec![RateTotals::default(); shares.len()];
    let mut order: Vec<usize> = (0..shares.len()).collect();
    order.sort_by_key(|at| shard_of_asker(redis, shares[*at].asker));
    for at_once in order.chunks(ASKERS_AT_ONCE) {
        let same_shard = |a: &usize, b: &usize| {
            shard_of_asker(redis, shares[*a].asker) == shard_of_asker(redis, shares[*b].asker)
        };
        let calls: Vec<&[usize]> =
            at_once.chunk_by(same_shard).flat_map(|shard| shard.chunks(ASKERS_PER_CALL)).collect();
        let cmds: Vec<RedisCall> =
            calls.iter().map(|call| exchange_call(redis, shares, call, life)).collect();
        for (call, reply) in calls.iter().zip(redis.pipeline(&cmds).await?) {
            let mut reply = script_reply(reply)?;
            let ExchangeRatesResult::Done = reply.result()?;
            let numbers: Vec<u64> = reply.rest()?;
            for (at, of_asker) in call.iter().zip(numbers.chunks(6)) {
                totals[*at] = read(of_asker)?;
            }
        }
    }
    Ok(totals)
}

fn exchange_call(redis: &Redis, shares: &[RateUse], call: &[usize], life: Duration) -> RedisCall {
    let of_call = || call.iter().map(|at| &shares[*at]);
    let touched: Vec<RedisKey> = of_call()
        .flat_map(|share| {
            let shard = shard_of_asker(redis, share.asker);
            let key = |window| keys::rates(shard, share.asker.hex(), window);
            [key(share.window), key(share.window.saturating_sub(1))]
        })
        .collect();
    let mut cmd = scripts::EXCHANGE_RATES.call(&touched);
    cmd.arg(life.as_millis() as u64);
    for share in of_call() {
        cmd.arg(&share.add[..]);
    }
    cmd
}

fn shard_of_asker(redis: &Redis, RateAsker(digest): RateAsker) -> ShardId {
    let number = u16::from_be_bytes([digest[0], digest[1]]);
    redis.shards().shard(number % redis.shards().get() as u16)
}

impl RateAsker {
    fn hex(self) -> String {
        self.0.iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

fn read(numbers: &[u64]) -> StoreResult<RateTotals> {
    let counts = |range| numbers.get(range).and_then(|counts: &[u64]| counts.try_into().ok());
    let missing = || StoreError::Unexpected("a count of requests is missing".into());
    Ok(RateTotals { current: counts(0..3).ok_or_else(missing)?, previous: counts(3..6).ok_or_else(missing)? })
}
