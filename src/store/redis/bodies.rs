//! Static text of entities (and other small look-ups), cached as JSON between the process and SQL.

use std::{fmt::Display, time::Duration};

use redis::Cmd;
use serde::{Serialize, de::DeserializeOwned};

use super::{connection::Redis, counters::life_with_jitter, keys, reply::read};
use crate::{primitives::ShardId, store::StoreResult};

const BODY_LIFE: Duration = Duration::from_secs(60 * 60);
/// "There is no such thing" is remembered shortly: long enough against floods of unknown ids.
const ABSENT_LIFE: Duration = Duration::from_secs(10);

impl Redis {
    /// Reads many in one round trip. `None`: not cached; `Some(None)`: known not to exist.
    pub async fn read_bodies<T: DeserializeOwned>(
        &self,
        of: &[(ShardId, impl Display)],
    ) -> StoreResult<Vec<Option<Option<T>>>> {
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
                let text: Option<String> = read(reply?)?;
                // What an older release wrote and this one cannot read counts as not cached.
                Ok(text.and_then(|text| serde_json::from_str(&text).ok()))
            })
            .collect()
    }

    /// Writes many in one round trip, where nothing is cached; `None` as "does not exist". What has changed
    /// while it was read is not written: see `lua/drop_base.lua`.
    pub async fn write_bodies<T: Serialize>(
        &self,
        bodies: &[((ShardId, impl Display), Option<T>)],
    ) -> StoreResult<()> {
        let cmds: Vec<Cmd> = bodies
            .iter()
            .map(|((shard, of), body)| {
                let life = if body.is_some() { BODY_LIFE } else { ABSENT_LIFE };
                let text = serde_json::to_string(body).unwrap_or_default();
                let mut cmd = redis::cmd("SET");
                cmd.arg(keys::body(*shard, of)).arg(text).arg("NX").arg("PX").arg(life_with_jitter(life));
                cmd
            })
            .collect();
        self.pipeline(&cmds).await.map(drop)
    }
}
