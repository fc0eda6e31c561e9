//! Packages: the systemd unit, the settings that files in `ops/` set, the man page, the licences, and what a service
//! manager is told.

use std::{
    collections::BTreeSet, fs, os::unix::net::UnixDatagram, path::Path, process::Command, time::Duration,
};

use plaudit::cli::docs::{DocsArgs, ReferencePage, run};
use tokio::task::spawn_blocking;

use crate::support::{Place, Server, plaudit};

const UNIT: &str = "ops/package/plaudit.service";

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap()
}

fn output_of(program: &str, arguments: &[&str]) -> (bool, String) {
    let output = Command::new(program).args(arguments).current_dir(root()).output();
    let output = output.unwrap_or_else(|error| panic!("{program}: {error}"));
    (output.status.success(), String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned())
}

#[test]
fn the_unit_is_closed_as_far_as_the_service_needs_nothing() {
    // The threshold is ten times the exposure.
    let (is_fit, text) =
        output_of("systemd-analyze", &["security", "--offline=true", "--threshold=20", UNIT]);
    assert!(is_fit, "{text}");
    let unit = read(UNIT);
    for line in ["Type=notify", "User=plaudit", "ExecStartPre=/usr/bin/plaudit check --offline"] {
        assert!(unit.lines().any(|it| it == line), "{line}");
    }
    let place = Place::new();
    let path = place.path().join("plaudit.service");
    fs::write(&path, unit.replace("/usr/bin/plaudit", env!("CARGO_BIN_EXE_plaudit"))).unwrap();
    let (_, text) = output_of("systemd-analyze", &["verify", "--man=no", path.to_str().unwrap()]);
    let about_it: Vec<&str> = text.lines().filter(|line| line.contains("plaudit.service")).collect();
    assert!(about_it.is_empty(), "{about_it:#?}");
}

#[test]
fn every_setting_of_the_files_for_operators_exists_and_has_a_value_that_can_be_used() {
    let reference = read("docs/reference/settings.md");
    let variables = |text: &str| {
        let names = text.match_indices("PLAUDIT_").map(|(at, _)| &text[at..]);
        names
            .map(|rest| rest.split(|c: char| !c.is_ascii_uppercase() && c != '_').next().unwrap().to_owned())
            .collect::<BTreeSet<_>>()
    };
    for file in
        ["ops/container/Dockerfile", "ops/container/compose.yaml", "ops/kubernetes/plaudit.yaml", UNIT]
    {
        let found = variables(&read(file));
        assert!(found.len() > 1, "{file}");
        for variable in found {
            let name = variable["PLAUDIT_".len()..].to_lowercase();
            let is_known = name == "config" || reference.contains(&format!("| `{name}` |"));
            assert!(is_known, "{file} sets {variable}");
        }
    }
    let manifest = read("ops/kubernetes/plaudit.yaml");
    let given = manifest.lines().filter_map(|line| {
        let (name, value) = line.trim().strip_prefix("- { name: PLAUDIT_")?.split_once(", value: ")?;
        Some((format!("PLAUDIT_{name}"), value.trim_end_matches(" }").trim_matches('"').to_owned()))
    });
    let place = Place::new();
    let mut check = plaudit(&place.data());
    check.args(["check", "--offline", "--config"]).arg(root().join("ops/package/plaudit.toml"));
    check.envs(given.filter(|(name, _)| name != "PLAUDIT_LISTEN"));
    let output = check.env("PLAUDIT_LISTEN", "127.0.0.1:0").output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("plaudit.toml"), "{text}");
}

#[test]
fn the_man_page_and_the_completions_have_every_command() {
    let page = |page| run(DocsArgs { page });
    let man = page(ReferencePage::Man);
    for command in ["CHECK", "SERVE", "DEAD LIST", "RECONCILE", "TOKEN"] {
        assert!(man.contains(&format!(".SH \"PLAUDIT {command}\"")), "{command}");
    }
    assert!(man.contains("data\\-dir") && !man.contains("PLAUDIT DOCS"));
    for shell in [ReferencePage::Bash, ReferencePage::Zsh, ReferencePage::Fish] {
        let text = page(shell);
        assert!(["check", "reconcile", "shutdown-drain"].iter().all(|word| text.contains(word)), "{shell:?}");
    }
}

#[test]
fn the_licences_name_what_the_lock_files_name() {
    let (agrees, text) = output_of("node", &["scripts/licenses.mjs", "--check"]);
    assert!(agrees, "{text}");
    let printed = plaudit(Path::new("/nowhere")).arg("licenses").output().unwrap().stdout;
    assert_eq!(String::from_utf8(printed).unwrap(), read("ops/licenses.txt"));
}

#[test]
fn the_scripts_of_the_package_are_scripts() {
    for entry in fs::read_dir(root().join("ops/package/debian")).unwrap().flatten() {
        let (is_one, text) = output_of("sh", &["-n", entry.path().to_str().unwrap()]);
        assert!(is_one && read(entry.path().to_str().unwrap()).contains("#DEBHELPER#"), "{text}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_service_manager_is_told_when_the_service_is_ready_and_alive_and_when_it_stops() {
    let place = Place::new();
    let path = place.path().join("notify");
    let socket = UnixDatagram::bind(&path).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let mut server = Server::start(&[]);
    server.stop();
    let variables = [("NOTIFY_SOCKET", path.to_str().unwrap()), ("WATCHDOG_USEC", "200000")];
    assert!(server.try_start(&variables));
    let next = |wanted: &str| {
        let mut buffer = [0; 256];
        loop {
            let length = socket.recv(&mut buffer).unwrap_or_else(|error| panic!("no {wanted}: {error}"));
            if String::from_utf8_lossy(&buffer[..length]).lines().any(|line| line == wanted) {
                return;
            }
        }
    };
    next("READY=1");
    next("WATCHDOG=1");
    next("WATCHDOG=1");
    let stopped = spawn_blocking(move || server.stop());
    next("STOPPING=1");
    stopped.await.unwrap();
}
