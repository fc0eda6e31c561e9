//! What can be checked without the stores: files, rights, the address, the limits of this machine.

use std::{fs, io::ErrorKind, os::unix::fs::PermissionsExt, path::Path};

use plaudit_embedded_stores::{self as embedded, DataDir};
use plaudit_moderation::Moderator;

use super::Findings;
use crate::app::{AppError, api, keys, open_files, serve, stores};
use plaudit_catalogue::settings::{ProcessRole, Settings};

/// Below this many MiB a disk is filling up.
const LITTLE_ROOM_MIB: u64 = 1_024;
/// Settings that are secrets.
const SECRETS: [&str; 4] = ["jwt_secret", "webhook_secret", "moderator_api_key", "secret"];
/// Rights of users who are neither the owner nor in the group of a file.
const OTHERS: u32 = 0o007;

/// `file`: the settings file that was read.
pub async fn check(settings: &Settings, file: Option<&Path>, is_online: bool, findings: &mut Findings) {
    settings_file(file, findings);
    if findings.result("documents", api::documents(settings)).is_some()
        && let Some(manifest) = &settings.documents.trusted_documents
    {
        findings.well("documents", manifest.display().to_string());
    }
    if settings.runs(ProcessRole::Api) {
        let keys = keys::check_keys(settings, is_online).await;
        if findings.result("tokens", keys).is_some() {
            let which =
                if settings.auth.has_keys() { "the keys can be used" } else { "the generated secret" };
            findings.well("tokens", which);
        }
    }
    if settings.runs(ProcessRole::Pipeline) {
        let moderator = settings.moderation.chosen().map_err(AppError::from);
        let moderator = moderator.and_then(|chosen| Ok(Moderator::new(&chosen)?));
        if let Some(moderator) = findings.result("moderator", moderator) {
            findings.well("moderator", moderator.name());
        }
    }
    listen(settings, findings).await;
    // A cluster has more connections; how many is known when its nodes are.
    match open_files::left_for_clients(stores::sql_connections(settings).all()) {
        open_files::ClientFiles { warning: Some(warning), .. } => findings.warning("open files", warning),
        open_files::ClientFiles { left, .. } => findings.well("open files", format!("{left} for clients")),
    }
    embedded_servers(settings, findings);
}

fn settings_file(file: Option<&Path>, findings: &mut Findings) {
    let Some(file) = file else { return findings.well("settings", "no file; flags and environment") };
    let has_secret = fs::read_to_string(file).is_ok_and(|text| text.lines().any(is_secret));
    let mode = fs::metadata(file).map_or(0, |metadata| metadata.permissions().mode());
    let shown = file.display();
    if has_secret && mode & OTHERS != 0 {
        let text = format!(
            "{shown} has secrets, and every user of this machine may read it: run `chmod o= {shown}`"
        );
        findings.warning("settings", text);
    } else {
        findings.well("settings", shown.to_string());
    }
}

/// Whether a line of the settings file has a secret, or a URL with a password.
fn is_secret(line: &str) -> bool {
    let Some((name, value)) = line.split_once('=') else { return false };
    let has_password = || {
        let login = value.split_once("://").and_then(|(_, rest)| rest.rsplit_once('@'));
        login.is_some_and(|(login, _)| login.contains(':'))
    };
    SECRETS.contains(&name.trim()) || has_password()
}

async fn listen(settings: &Settings, findings: &mut Findings) {
    let address = settings.server.listen;
    match serve::listen(address).await {
        Ok(_) => findings.well("listen", format!("{address} is free")),
        Err(AppError::Listen { source, .. }) if source.kind() == ErrorKind::AddrInUse => {
            findings.warning("listen", format!("{address} is in use: if it is by this Plaudit, all is well"));
        }
        Err(error) => findings.error("listen", error.to_string()),
    }
}

fn embedded_servers(settings: &Settings, findings: &mut Findings) {
    let options = stores::embedded_options(settings);
    if !options.redis && !options.postgres {
        return;
    }
    let dir = DataDir::at(&settings.location.data_dir);
    let room = dir.and_then(|dir| Ok((embedded::check(&dir, &options)?, dir)));
    let Some((free, dir)) = findings.result("data directory", room.map_err(AppError::from)) else { return };
    let text = format!("{}, {free} MiB free", dir.path().display());
    if free < LITTLE_ROOM_MIB {
        findings.warning("data directory", format!("{text}: make room there"));
    } else {
        findings.well("data directory", text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_with_a_secret_or_a_password_is_told_from_others() {
        for line in ["jwt_secret = 's'", "secret='x'", "redis_url = 'redis://me:pw@cache'"] {
            assert!(is_secret(line), "{line}");
        }
        for line in ["# jwt_secret", "listen = '0.0.0.0:80'", "database_url = 'postgres://plaudit@db:5432/p'"]
        {
            assert!(!is_secret(line), "{line}");
        }
    }
}
