//! Faults of the PostgreSQL that has a standby.

use rustix::process::Signal;

use super::{ClusterStores, PostgresPair};
use crate::nemesis::PrimaryFault;
use support::{OwnPostgres, SOON, eventually, proxy::Line};

impl ClusterStores {
    /// Whether PostgreSQL commits only what its standby has.
    pub async fn commits_with_standby(&self, is_synchronous: bool) {
        let pair = self.postgres.lock().await;
        let names = if is_synchronous { "*" } else { "" };
        let setting = format!("ALTER SYSTEM SET synchronous_standby_names = '{names}'");
        pair.primary.administer(&setting).await;
        pair.primary.administer("SELECT pg_reload_conf()").await;
        pair.streams(is_synchronous).await;
    }

    pub async fn primary_begins(&self, fault: PrimaryFault) {
        let pair = &mut *self.postgres.lock().await;
        match fault {
            PrimaryFault::FailOver => {
                pair.primary.kill();
                pair.standby.promote().await;
                self.proxy.lead_to(pair.standby.port);
            }
            PrimaryFault::KillStandby => pair.standby.kill(),
            PrimaryFault::PauseStandby => pair.standby.signal_all(Signal::STOP),
            PrimaryFault::FillDisk => pair.primary.limit_files("4096"),
            PrimaryFault::Line(line) => self.proxy.set(line),
            PrimaryFault::Cut => self.proxy.cut(),
        }
    }

    /// Afterwards a standby streams.
    pub async fn primary_is_mended(&self, fault: PrimaryFault) {
        let pair = &mut *self.postgres.lock().await;
        match fault {
            PrimaryFault::FailOver => {
                let next = pair.next_standby(&pair.standby).await;
                pair.primary = std::mem::replace(&mut pair.standby, next);
            }
            PrimaryFault::KillStandby => pair.standby = pair.next_standby(&pair.primary).await,
            PrimaryFault::PauseStandby => pair.standby.signal_all(Signal::CONT),
            PrimaryFault::FillDisk => pair.primary.restart(&[]).await,
            PrimaryFault::Line(_) => self.proxy.set(Line::Straight),
            PrimaryFault::Cut => {}
        }
        pair.streams_somehow().await;
    }
}

impl PostgresPair {
    async fn next_standby(&self, of: &OwnPostgres) -> OwnPostgres {
        of.standby(&format!("standby-{}", uuid::Uuid::new_v4()), &[]).await
    }

    /// Waits until the standby streams, with this role.
    async fn streams(&self, is_synchronous: bool) {
        let wanted = if is_synchronous { "sync" } else { "async" };
        self.has_standby(&[wanted]).await;
    }

    async fn streams_somehow(&self) {
        self.has_standby(&["sync", "async"]).await;
    }

    async fn has_standby(&self, states: &[&str]) {
        let admin = self.primary.admin("postgres").await;
        eventually("the standby streams", SOON, || async {
            let state = "SELECT sync_state FROM pg_stat_replication WHERE state = 'streaming'";
            let state: Option<String> = sqlx::query_scalar(state).fetch_optional(&admin).await.ok()?;
            states.contains(&state?.as_str()).then_some(())
        })
        .await;
        admin.close().await;
    }
}
