//! Entity cache: entities and other small look-ups, shared by all processes. An entry is never older than the last
//! invalidation of its entity.
//!
//! An entry is the record of an entity: all of it but its texts, which are a key of their own, because they are
//! bounded by bytes. It is fresh for an hour. After that PostgreSQL is asked again; while it is away, the entry
//! is used for a day since it was asked for last. Its text is the timeline of PostgreSQL on which it was read,
//! until when it is fresh and kept, and JSON; an entry of another timeline is none.

use std::{fmt::Display, time::Duration};

use serde::{Serialize, de::DeserializeOwned};

use crate::{
    StoreResult,
    redis::{Redis, call::RedisCall, counts::counters::life_with_jitter, keys, reply::read, scripts},
    sql::Timeline,
};
use plaudit_catalogue::primitives::{self, ShardId, fault};

/// How long PostgreSQL is not asked again: bounds how long rows that somebody changed by SQL are shown.
const FRESH: Duration = Duration::from_hours(1);
/// How long an entry is kept since it was read or renewed: a day since anybody asked for it.
const KEPT: Duration = Duration::from_hours(26);
/// How long `null` stands where an entry was of something that is gone.
const NULL_LIFE: Duration = Duration::from_secs(10);
/// Slices of [`KEPT`] by which the bytes of texts are counted.
const SLICES: u64 = 26;

/// What the cache holds.
pub trait CachedValue: Clone + Serialize + DeserializeOwned {
    /// Without the texts, which are kept apart; `None` if it has none.
    fn without_texts(&self) -> Option<Self> {
        None
    }
}

/// What was found of an entity.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Cached<T> {
    Whole(T),
    /// Its texts are not cached.
    WithoutTexts(T),
}

/// The content of the cache for one entity.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CacheRead<T> {
    pub mark: CacheMark,
    pub entry: Option<CacheEntry<T>>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CacheEntry<T> {
    pub found: Cached<T>,
    /// PostgreSQL need not be asked.
    pub is_fresh: bool,
    times: Times,
}

/// The content of a record's key. What was read from PostgreSQL may be cached only if it is still the same.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct CacheMark(String);

/// An entity to cache. `None`: it is gone, and its entry is replaced by `null`, which is no entry.
pub struct ToCache<T> {
    pub of: (ShardId, String),
    pub mark: CacheMark,
    pub found: Option<T>,
}

/// Until when an entry is fresh and kept; Unix ms.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Times {
    fresh: u64,
    kept: u64,
}

impl CacheMark {
    /// An entry stands there, perhaps of another timeline.
    pub fn is_of_entry(&self) -> bool {
        let is_other = self.0.is_empty() || self.0.starts_with("changed ") || self.0.ends_with(" null");
        !is_other
    }
}

impl<T> Cached<T> {
    /// All that is known; its texts may be empty.
    pub const fn record(&self) -> &T {
        match self {
            Self::Whole(of) | Self::WithoutTexts(of) => of,
        }
    }

    pub fn whole(self) -> Option<T> {
        match self {
            Self::Whole(of) => Some(of),
            Self::WithoutTexts(_) => None,
        }
    }

    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> Cached<U> {
        match self {
            Self::Whole(of) => Cached::Whole(change(of)),
            Self::WithoutTexts(of) => Cached::WithoutTexts(change(of)),
        }
    }
}

impl<T> CacheEntry<T> {
    /// Whether it would not be kept for a day from now. So it is renewed at most hourly.
    fn must_be_renewed(&self, now: u64) -> bool {
        self.times.kept < now + millis(kept()) * (SLICES - 1) / SLICES
    }
}

impl Times {
    /// Of what is read now.
    fn of_read(now: u64, is_found: bool) -> Self {
        if !is_found {
            let kept = now + life_with_jitter(NULL_LIFE);
            return Self { fresh: kept, kept };
        }
        Self { fresh: now + life_with_jitter(fresh()), kept: now + millis(kept()) }
    }
}

/// Looks up many entities in one round trip. `timeline`: where PostgreSQL is; `None` if that is not known, and then
/// entries of any timeline are taken.
pub async fn cached_entities<T: CachedValue>(
    redis: &Redis,
    timeline: Option<Timeline>,
    of: &[(ShardId, String)],
) -> StoreResult<Vec<CacheRead<T>>> {
    let cmds: Vec<RedisCall> = of.iter().map(|(shard, of)| look_up(*shard, of)).collect();
    let replies = redis.pipeline(&cmds).await?;
    let now = now();
    let entry = |reply: StoreResult<_>| {
        let (record, text): (Option<String>, Option<String>) = read(reply?)?;
        Ok(parse(timeline, record.unwrap_or_default(), text.as_deref(), now))
    };
    replies.into_iter().map(entry).collect()
}

/// Caches many entities in one round trip, as read on this timeline. An entry whose mark has changed since
/// the look-up is left as it is.
pub async fn cache_entities<T: CachedValue>(
    redis: &Redis,
    timeline: Timeline,
    entities: &[ToCache<T>],
) -> StoreResult<()> {
    let now = now();
    let cmds: Vec<RedisCall> = entities
        .iter()
        .map(|entity| cache(timeline, entity, Times::of_read(now, entity.found.is_some()), now))
        .collect();
    redis.pipeline(&cmds).await.map(drop)
}

/// Keeps entries for another day, which were used while PostgreSQL was away. Renews each at most hourly.
pub async fn renew_entities<T: CachedValue>(
    redis: &Redis,
    timeline: Timeline,
    used: &[((ShardId, String), CacheRead<T>)],
) -> StoreResult<()> {
    let now = now();
    let mut cmds = Vec::new();
    for (of, CacheRead { mark, entry }) in used {
        let Some(entry) = entry.as_ref().filter(|entry| entry.must_be_renewed(now)) else { continue };
        let times = Times { kept: now + millis(kept()), ..entry.times };
        match &entry.found {
            Cached::Whole(whole) => {
                let entity = ToCache { of: of.clone(), mark: mark.clone(), found: Some(whole.clone()) };
                cmds.push(cache(timeline, &entity, times, now));
            }
            Cached::WithoutTexts(record) => {
                cmds.push(cache_parts(timeline, (of, mark), (Some(record), ""), times, now));
            }
        }
    }
    if cmds.is_empty() { Ok(()) } else { redis.pipeline(&cmds).await.map(drop) }
}

fn look_up(shard: ShardId, of: impl Display) -> RedisCall {
    let mut cmd = RedisCall::new("MGET", &keys::cached_entity(shard, &of));
    cmd.arg(keys::cached_text(shard, &of));
    cmd
}

fn cache<T: CachedValue>(timeline: Timeline, entity: &ToCache<T>, times: Times, now: u64) -> RedisCall {
    let place = (&entity.of, &entity.mark);
    match entity.found.as_ref().map(|found| (found, found.without_texts())) {
        Some((whole, Some(record))) => {
            cache_parts(timeline, place, (Some(&record), &json(whole)), times, now)
        }
        Some((whole, None)) => cache_parts(timeline, place, (Some(whole), ""), times, now),
        None => cache_parts::<T>(timeline, place, (None, ""), times, now),
    }
}

fn cache_parts<T: CachedValue>(
    timeline: Timeline,
    ((shard, of), mark): (&(ShardId, String), &CacheMark),
    (record, text): (Option<&T>, &str),
    times: Times,
    now: u64,
) -> RedisCall {
    let shard = *shard;
    let mut cmd = scripts::CACHE_ENTITY.call(&[
        keys::meta(shard),
        keys::cached_entity(shard, of),
        keys::cached_text(shard, of),
        keys::text_bytes(shard),
    ]);
    cmd.arg(&mark.0)
        .arg(format!("{timeline} {} {} {}", times.fresh, times.kept, json(&record)))
        .arg(times.kept.saturating_sub(now).max(1))
        .arg(text)
        .arg(millis(kept()) / SLICES);
    cmd
}

fn json(of: &impl Serialize) -> String {
    serde_json::to_string(of).unwrap_or_default()
}

/// `text`: `<slice> <JSON>`.
fn parse<T: CachedValue>(
    timeline: Option<Timeline>,
    record: String,
    text: Option<&str>,
    now: u64,
) -> CacheRead<T> {
    let entry = cached_record(timeline, &record).and_then(|(times, json)| {
        let record: T = serde_json::from_str(json).ok()?;
        let whole = || serde_json::from_str(text?.split_once(' ')?.1).ok();
        let found = match record.without_texts() {
            None => Cached::Whole(record),
            Some(_) => whole().map_or(Cached::WithoutTexts(record), Cached::Whole),
        };
        Some(CacheEntry { found, is_fresh: times.fresh > now, times })
    });
    CacheRead { mark: CacheMark(record), entry }
}

/// Times and JSON of an entry that was read on this timeline.
fn cached_record(timeline: Option<Timeline>, record: &str) -> Option<(Times, &str)> {
    let mut parts = record.splitn(4, ' ');
    let read_on = Timeline::parse(parts.next()?)?;
    let times = Times { fresh: parts.next()?.parse().ok()?, kept: parts.next()?.parse().ok()? };
    let json = parts.next()?;
    timeline.is_none_or(|timeline| timeline == read_on).then_some((times, json))
}

fn fresh() -> Duration {
    fault::period("cache.fresh", FRESH)
}

fn kept() -> Duration {
    fault::period("cache.kept", KEPT)
}

const fn millis(of: Duration) -> u64 {
    of.as_millis() as u64
}

fn now() -> u64 {
    primitives::now().max(0) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_entries_of_the_present_timeline_are_taken() {
        let here = Timeline::parse("00000002");
        let times = Times { fresh: 5, kept: 9 };
        assert_eq!(cached_record(here, "00000002 5 9 {\"id\": 1}"), Some((times, "{\"id\": 1}")));
        assert_eq!(cached_record(None, "00000001 5 9 null"), Some((times, "null")));
        for other in ["", "00000001 5 9 null", "00000002 null", "changed 3-7", "{\"id\":1}"] {
            assert_eq!(cached_record(here, other), None, "{other:?}");
        }
    }

    #[test]
    fn an_entry_is_told_from_a_mark_and_from_null() {
        for (record, is_of_entry) in
            [("", false), ("changed 3-7", false), ("00000001 5 9 null", false), ("00000001 5 9 42", true)]
        {
            assert_eq!(CacheMark(record.to_owned()).is_of_entry(), is_of_entry, "{record:?}");
        }
    }

    #[test]
    fn an_entry_is_renewed_when_it_would_not_be_kept_for_a_day() {
        let entry =
            |kept| CacheEntry { found: Cached::Whole(()), is_fresh: false, times: Times { fresh: 0, kept } };
        let (now, hour) = (1_000_000_000, 3_600_000);
        assert!(!entry(now + 26 * hour).must_be_renewed(now));
        assert!(!entry(now + 25 * hour).must_be_renewed(now));
        assert!(entry(now + 25 * hour - 1).must_be_renewed(now));
    }
}
