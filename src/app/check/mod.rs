//! `plaudit check`: whether `plaudit serve` with the same settings would start and run well. Uses the checks of
//! the start itself, so that both agree, and changes nothing.
//!
//! - `machine`: files, rights, the address, the limits of this machine
//! - `stores`: PostgreSQL and Redis
//! - `capacity`: whether they have room for a process of these roles; `managed`: who else may manage them
//! - `findings`: the lines

mod capacity;
mod findings;
mod machine;
mod managed;
mod stores;

use std::path::Path;

pub use findings::Findings;

use super::open_files;
use plaudit_catalogue::settings::Settings;

/// `file`: the settings file that was read. `is_online`: whether stores and other hosts are asked.
pub async fn check(settings: &Settings, file: Option<&Path>, is_online: bool) -> Findings {
    open_files::raise_limit();
    let mut findings = Findings::default();
    machine::check(settings, file, is_online, &mut findings).await;
    let addresses = stores::addresses(settings, &mut findings);
    if let Some(addresses) = addresses
        && is_online
    {
        stores::check(settings, addresses, &mut findings).await;
    }
    findings
}
