//! Entity cache: texts of entities (and other small look-ups), shared by all processes. An entry is never older than the
//! last invalidation of its entity. It is the timeline of PostgreSQL on which it was read, a space, and JSON; an entry of
//! another timeline is none.

use std::{fmt::Display, time::Duration};

use serde::{Serialize, de::DeserializeOwned};

use super::{call::Call, connection::Redis, counters::life_with_jitter, keys, reply::read, scripts};
use crate::{
    primitives::ShardId,
    store::{StoreResult, sql::Timeline},
};

const ENTITY_LIFE: Duration = Duration::from_secs(60 * 60);
/// How long "does not exist" is cached: long enough to protect PostgreSQL from floods of unknown ids.
const ABSENT_LIFE: Duration = Duration::from_secs(10);

/// Result of a look-up in the entity cache.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum CacheLookup<T> {
    /// `None`: the entity does not exist.
    Hit(Option<T>),
    Miss(CacheMark),
}

/// The content of an entity's cache entry without a usable text: empty, the mark of an invalidation, or a text of
/// another timeline or an older release. A text read from PostgreSQL may be cached only if the entry still has this content.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct CacheMark(String);

impl Redis {
    /// Looks up many entities in one round trip. `timeline`: where PostgreSQL is; `None` if that is not known, and then
    /// entries of any timeline are taken.
    pub async fn cached_entities<T: DeserializeOwned>(
        &self,
        timeline: Option<Timeline>,
        of: &[(ShardId, impl Display)],
    ) -> StoreResult<Vec<CacheLookup<T>>> {
        let cmds: Vec<Call> =
            of.iter().map(|(shard, of)| Call::new("GET", &keys::cached_entity(*shard, of))).collect();
        let replies = self.pipeline(&cmds).await?;
        replies
            .into_iter()
            .map(|reply| {
                let text: String = read::<Option<String>>(reply?)?.unwrap_or_default();
                let entity = cached_text(timeline, &text).and_then(|json| serde_json::from_str(json).ok());
                Ok(entity.map_or_else(|| CacheLookup::Miss(CacheMark(text)), CacheLookup::Hit))
            })
            .collect()
    }

    /// Caches many entities in one round trip, as read on this timeline; `None` as "does not exist". An entry whose mark
    /// has changed since the look-up is left as it is.
    pub async fn cache_entities<T: Serialize>(
        &self,
        timeline: Timeline,
        entities: &[((ShardId, impl Display), CacheMark, Option<T>)],
    ) -> StoreResult<()> {
        let cmds: Vec<Call> = entities
            .iter()
            .map(|((shard, of), mark, entity)| {
                let life = if entity.is_some() { ENTITY_LIFE } else { ABSENT_LIFE };
                let mut cmd = scripts::CACHE_ENTITY.call(&[keys::cached_entity(*shard, of)]);
                let json = serde_json::to_string(entity).unwrap_or_default();
                cmd.arg(&mark.0).arg(format!("{timeline} {json}"));
                cmd.arg(life_with_jitter(life));
                cmd
            })
            .collect();
        self.pipeline(&cmds).await.map(drop)
    }
}

/// The JSON of an entry that was read on this timeline.
fn cached_text(timeline: Option<Timeline>, text: &str) -> Option<&str> {
    let (read_on, json) = text.split_once(' ')?;
    let read_on = Timeline::parse(read_on)?;
    timeline.is_none_or(|timeline| timeline == read_on).then_some(json)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_entries_of_the_present_timeline_are_taken() {
        let here = Timeline::parse("00000002");
        assert_eq!(cached_text(here, "00000002 {\"id\":1}"), Some("{\"id\":1}"));
        assert_eq!(cached_text(None, "00000001 null"), Some("null"));
        for other in ["", "00000001 null", "changed 3-7", "{\"id\":1}"] {
            assert_eq!(cached_text(here, other), None, "{other:?}");
        }
    }
}
