//! Static text of entities (and other small look-ups), cached as JSON between the process and SQL.

use std::{fmt::Display, time::Duration};

use redis::Cmd;
use serde::{Serialize, de::DeserializeOwned};

use super::{connection::Redis, counters::life_with_jitter, keys, reply::read, scripts};
use crate::{primitives::ShardId, store::StoreResult};

const BODY_LIFE: Duration = Duration::from_secs(60 * 60);
/// "There is no such thing" is remembered shortly: long enough against floods of unknown ids.
const ABSENT_LIFE: Duration = Duration::from_secs(10);

/// What Redis holds of one body.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum BodyRead<T> {
    /// `None`: known not to exist.
    Cached(Option<T>),
    NotCached(Seen),
}

/// What stood in the place of a body that is not cached: nothing, the mark of a change, or what an older
/// release wrote. A body that is read from SQL now may be cached only while it stands there.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Seen(String);

impl Redis {
    /// Reads many in one round trip.
    pub async fn read_bodies<T: DeserializeOwned>(
        &self,
        of: &[(ShardId, impl Display)],
    ) -> StoreResult<Vec<BodyRead<T>>> {
        let cmds: Vec<Cmd> = of
            .iter()
            .map(|(shard, of)| {
                let mut cmd = redis::cmd("GET");
                cmd.arg(keys::body(*shard, of));
                cmd
            })
            .collect();
        let replies = self.pipeline(&cmds).await?;
        replies
            .into_iter()
            .map(|reply| {
                let text: String = read::<Option<String>>(reply?)?.unwrap_or_default();
                let body = serde_json::from_str(&text);
                Ok(body.map_or_else(|_| BodyRead::NotCached(Seen(text)), BodyRead::Cached))
            })
            .collect()
    }

    /// Writes many in one round trip; `None` as "does not exist". What has changed since it was seen is left
    /// as it is.
    pub async fn write_bodies<T: Serialize>(
        &self,
        bodies: &[((ShardId, impl Display), Seen, Option<T>)],
    ) -> StoreResult<()> {
        let cmds: Vec<Cmd> = bodies
            .iter()
            .map(|((shard, of), seen, body)| {
                let life = if body.is_some() { BODY_LIFE } else { ABSENT_LIFE };
                let mut cmd = scripts::KEEP_BODY.call(&[keys::body(*shard, of)]);
                cmd.arg(&seen.0).arg(serde_json::to_string(body).unwrap_or_default());
                cmd.arg(life_with_jitter(life));
                cmd
            })
            .collect();
        self.pipeline(&cmds).await.map(drop)
    }
}
