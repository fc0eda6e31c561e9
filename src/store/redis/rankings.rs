//! Rankings: lists that all instances share, as JSON.

use std::{fmt::Display, time::Duration};

use redis::Cmd;
use serde::{Serialize, de::DeserializeOwned};

use super::{connection::Redis, keys, reply::read};
use crate::{catalogue::HotWindow, store::StoreResult};

impl Redis {
    /// The current ranking of a window, if it is not too old.
    pub async fn ranking<T: DeserializeOwned>(&self, window: HotWindow) -> StoreResult<Option<T>> {
        self.read_ranking(keys::ranking(window)).await
    }

    /// A recent ranking, by its id.
    pub async fn ranking_snapshot<T: DeserializeOwned>(
        &self,
        window: HotWindow,
        id: impl Display,
    ) -> StoreResult<Option<T>> {
        self.read_ranking(keys::ranking_snapshot(window, id)).await
    }

    async fn read_ranking<T: DeserializeOwned>(&self, key: String) -> StoreResult<Option<T>> {
        let mut cmd = redis::cmd("GET");
        cmd.arg(key);
        let text: Option<String> = read(self.command(&cmd).await?)?;
        // A ranking that this release cannot read counts as absent.
        Ok(text.and_then(|text| serde_json::from_str(&text).ok()))
    }

    /// Replaces the current ranking of a window, and keeps it under its id for `kept`, so that clients can page
    /// through it.
    pub async fn write_ranking(
        &self,
        window: HotWindow,
        id: impl Display,
        ranking: &impl Serialize,
        current: Duration,
        kept: Duration,
    ) -> StoreResult<()> {
        let text = serde_json::to_string(ranking).unwrap_or_default();
        let set = |key: String, life: Duration| {
            let mut cmd = redis::cmd("SET");
            cmd.arg(key).arg(&text).arg("PX").arg(life.as_millis() as u64);
            cmd
        };
        // The snapshot first: a reader of the current ranking may request it at once.
        let cmds: [Cmd; 2] =
            [set(keys::ranking_snapshot(window, id), kept), set(keys::ranking(window), current)];
        self.pipeline(&cmds).await.map(drop)
    }
}
