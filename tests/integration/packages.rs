//! Packages: the systemd unit, the settings that files in `ops/` set, the man page, the licences, and what a service
//! manager is told.

use std::{
    collections::BTreeSet,
    fs,
    os::unix::net::UnixDatagram,
    path::Path,
    process::Command,
    time::{Duration, Instant},
};

use support::{Place, SOON, Server, eventually, path_of, plaudit, printed, text_of};
use tokio::task::spawn_blocking;

const UNIT: &str = "ops/package/plaudit.service";
const IMAGE: &str = "ops/container/Dockerfile";
const COMPOSE: &str = "ops/container/compose.yaml";
const MANIFEST: &str = "ops/kubernetes/plaudit.yaml";
const PROXIES: &str = "PLAUDIT_TRUSTED_PROXIES";

fn output_of(program: &str, arguments: &[&str]) -> (bool, String) {
    let output = Command::new(program).args(arguments).current_dir(path_of("")).output();
    let output = output.unwrap_or_else(|error| panic!("{program}: {error}"));
    (output.status.success(), String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned())
}

#[test]
fn the_unit_is_closed_as_far_as_the_service_needs_nothing() {
    // The threshold is ten times the exposure.
    let (is_fit, text) =
        output_of("systemd-analyze", &["security", "--offline=true", "--threshold=20", UNIT]);
    assert!(is_fit, "{text}");
    let unit = text_of(UNIT);
    for line in ["Type=notify", "User=plaudit", "ExecStartPre=/usr/bin/plaudit check --offline"] {
        assert!(unit.lines().any(|it| it == line), "{line}");
    }
    let place = Place::new();
    let path = place.path().join("plaudit.service");
    fs::write(&path, unit.replace("/usr/bin/plaudit", support::program().to_str().unwrap())).unwrap();
    let (_, text) = output_of("systemd-analyze", &["verify", "--man=no", path.to_str().unwrap()]);
    let about_it: Vec<&str> = text.lines().filter(|line| line.contains("plaudit.service")).collect();
    assert!(about_it.is_empty(), "{about_it:#?}");
}

#[test]
fn every_setting_of_the_files_for_operators_exists_and_has_a_value_that_can_be_used() {
    let reference = text_of("docs/reference/settings.md");
    let variables = |text: &str| {
        let names = text.match_indices("PLAUDIT_").map(|(at, _)| &text[at..]);
        names
            .map(|rest| rest.split(|c: char| !c.is_ascii_uppercase() && c != '_').next().unwrap().to_owned())
            .collect::<BTreeSet<_>>()
    };
    for file in [IMAGE, COMPOSE, MANIFEST, UNIT] {
        let found = variables(&text_of(file));
        assert!(found.len() > 1, "{file}");
        for variable in found {
            let name = variable["PLAUDIT_".len()..].to_lowercase();
            let is_known = name == "config" || reference.contains(&format!("| `{name}` |"));
            assert!(is_known, "{file} sets {variable}");
        }
    }
    let place = Place::new();
    let checked = |proxies: Option<&str>| {
        let mut check = plaudit(&place.data());
        check.args(["check", "--offline", "--config"]).arg(path_of("").join("ops/package/plaudit.toml"));
        check.envs(settings_of_the_manifest().filter(|(name, _)| !name.ends_with("LISTEN")));
        check.env("PLAUDIT_LISTEN", "127.0.0.1:0").envs(proxies.map(|proxies| (PROXIES, proxies)));
        let output = check.output().unwrap();
        (output.status.success(), String::from_utf8_lossy(&output.stdout).into_owned())
    };
    // What is to be filled in stops the start until it is, and whoever means everybody is told what to write.
    let (is_fit, text) = checked(None);
    assert!(!is_fit && text.contains(PROXIES) && text.contains("10.0.0.0/8"), "{text}");
    let (is_fit, text) = checked(Some("0.0.0.0/0"));
    assert!(!is_fit && text.contains("it would believe everybody"), "{text}");
    let (is_fit, text) = checked(Some("10.244.0.0/16"));
    assert!(is_fit && text.contains("plaudit.toml"), "{text}");
}

/// Those with a value: names and values.
fn settings_of_the_manifest() -> impl Iterator<Item = (String, String)> {
    let manifest = text_of(MANIFEST);
    let given = manifest.lines().filter_map(|line| {
        let (name, value) = line.trim().strip_prefix("- { name: PLAUDIT_")?.split_once(", value: ")?;
        Some((format!("PLAUDIT_{name}"), value.trim_end_matches(" }").trim_matches('"').to_owned()))
    });
    given.collect::<Vec<_>>().into_iter()
}

/// The values that follow these words, up to a comma, a brace, a quote or the end of the line.
fn values<'a>(text: &'a str, before: &str) -> Vec<&'a str> {
    let value = |rest: &'a str| rest.split([',', ' ', '}', '"', '\n']).next().unwrap_or_default();
    text.split(before).skip(1).map(value).collect()
}

/// The parts of the manifest that describe pods.
fn deployments(manifest: &str) -> Vec<&str> {
    manifest.split("\n---\n").filter(|part| part.contains("kind: Deployment")).collect()
}

#[test]
fn image_and_manifest_name_the_same_user_and_the_same_ports() {
    let (image, manifest, compose) = (text_of(IMAGE), text_of(MANIFEST), text_of(COMPOSE));
    let (user, group) = values(&image, "\nUSER ")[0].split_once(':').unwrap();
    // Kubernetes cannot tell whether a name is root's.
    assert!(user.parse::<u32>().is_ok_and(|id| id > 0) && group.parse::<u32>().is_ok(), "{user}:{group}");
    let of_image = |setting: &str| values(&image, &format!("PLAUDIT_{setting}=0.0.0.0:"))[0].to_owned();
    let (http, operator) = (of_image("LISTEN"), of_image("OPERATOR_LISTEN"));
    assert!(image.contains(&format!("EXPOSE {http} {operator}\n")), "{image}");
    let pods = deployments(&manifest);
    assert_eq!(pods.len(), 2);
    for pod in pods {
        assert!(pod.contains("runAsNonRoot: true"), "{pod}");
        assert_eq!((values(pod, "runAsUser: "), values(pod, "runAsGroup: ")), (vec![user], vec![group]));
        assert_eq!(values(pod, "name: http, containerPort: "), [&http]);
        assert_eq!(values(pod, "name: operator, containerPort: "), [&operator]);
        assert_eq!(values(pod, "prometheus.io/port: \""), [&operator]);
        assert!(pod.contains("topologySpreadConstraints:"), "{pod}");
    }
    for (name, port) in [("LISTEN", &http), ("OPERATOR_LISTEN", &operator)] {
        let given = settings_of_the_manifest().filter(|(given, _)| *given == format!("PLAUDIT_{name}"));
        assert!(given.map(|(_, value)| value).all(|value| value == format!("0.0.0.0:{port}")), "{name}");
    }
    // The port for operators is published for this machine only, and in a cluster for one namespace.
    assert_eq!(
        values(&compose, "\"127.0.0.1:"),
        [format!("{http}:{http}"), format!("{operator}:{operator}")]
    );
    let policies = manifest.split("\n---\n").filter(|part| part.contains("kind: NetworkPolicy"));
    let mut closed = BTreeSet::new();
    for policy in policies {
        let (about, rules) = policy.split_once("\n  ingress:").unwrap();
        let for_operators: Vec<&str> =
            rules.split("\n    - ").filter(|rule| rule.contains("port: operator")).collect();
        let [rule] = for_operators[..] else { panic!("{policy}") };
        assert!(rule.contains("from: [{ namespaceSelector:") && !rule.contains("port: http"), "{policy}");
        closed.extend(values(about, "podSelector: { matchLabels: { app: plaudit, role: "));
    }
    assert_eq!(closed.into_iter().collect::<Vec<_>>(), ["api", "pipeline"]);
    let service = manifest.split("\n---\n").find(|part| part.contains("kind: Service\n")).unwrap();
    assert!(service.contains("targetPort: http") && !service.contains("operator"), "{service}");
}

#[tokio::test(flavor = "multi_thread")]
async fn every_probe_asks_an_address_that_the_server_has() {
    let manifest = text_of(MANIFEST);
    for pod in deployments(&manifest) {
        for (probe, path) in [("startup", "/livez"), ("liveness", "/livez"), ("readiness", "/readyz")] {
            let asked = format!("{probe}Probe: {{ httpGet: {{ path: {path}, port: http }}");
            assert!(pod.contains(&asked), "{asked}");
        }
    }
    let mut paths: BTreeSet<&str> =
        values(&manifest, "path: ").into_iter().filter(|path| path.starts_with('/')).collect();
    paths.extend(values(&manifest, "prometheus.io/path: "));
    assert_eq!(paths.into_iter().collect::<Vec<_>>(), ["/livez", "/metrics", "/readyz"]);
    let server = Server::shared();
    for path in ["/livez", "/metrics", "/readyz"] {
        let status = reqwest::get(format!("{}{path}", server.url)).await.unwrap().status();
        assert!(status.is_success(), "{path}: {status}");
    }
}

#[test]
fn whatever_stops_a_process_waits_longer_than_its_spread_and_its_drain() {
    let seconds = |text: &str| humantime::parse_duration(text).unwrap().as_secs();
    let manifest = text_of(MANIFEST);
    let pods = deployments(&manifest);
    let grace: Vec<u64> =
        pods.iter().map(|pod| values(pod, "terminationGracePeriodSeconds: ")[0].parse().unwrap()).collect();
    let given: Vec<(String, String)> = settings_of_the_manifest().collect();
    let (_, spread) = given.iter().find(|(name, _)| name == "PLAUDIT_SHUTDOWN_SPREAD").unwrap();
    let drain = 10; // the default of shutdown_drain
    assert!(grace[0] > seconds(spread) + drain && grace[1] > drain, "{grace:?}");
    let settings = text_of("ops/package/plaudit.toml");
    let spread = values(&settings, "\nshutdown_spread = \"")[0];
    let unit: u64 = values(&text_of(UNIT), "\nTimeoutStopSec=")[0].parse().unwrap();
    assert!(unit > seconds(spread) + drain);
    assert!(seconds(values(&text_of(COMPOSE), "stop_grace_period: ")[0]) > drain);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_health_check_of_compose_asks_the_process_itself_and_says_why_it_is_not_ready() {
    let (compose, image) = (text_of(COMPOSE), text_of(IMAGE));
    let program = image.split("ENTRYPOINT [\"").nth(1).unwrap().split('"').next().unwrap();
    assert!(compose.contains(&format!("healthcheck: {{ test: [CMD, {program}, ready],")), "{compose}");

    let mut server = Server::start(&["--shutdown-spread", "20s"]);
    let listen = server.url.trim_start_matches("http://").to_owned();
    let ask = |listen: &str| {
        let output = plaudit(Path::new("/nowhere")).args(["ready", "--listen", listen]).output().unwrap();
        let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        (output.status.code(), said)
    };
    let (code, said) = ask(&listen);
    assert!(code == Some(0) && said.starts_with("ready: ") && said.contains("200 OK"), "{said}");
    let (_, said) = ask(&listen.replace("127.0.0.1", "0.0.0.0"));
    assert!(said.starts_with("ready: "), "{said}");
    server.begin_stop();
    eventually("a process that stops is not ready", SOON, || async {
        let (code, said) = ask(&listen);
        (code == Some(1) && said.contains("not ready: ") && said.contains("503")).then_some(())
    })
    .await;
    server.kill();
    let (code, said) = ask(&listen);
    assert!(code == Some(1) && said.contains("does not answer"), "{said}");
    let (code, said) = ask("127.0.0.1:0");
    assert!(code == Some(1) && said.contains("name the port"), "{said}");
}

#[test]
fn the_man_page_and_the_completions_have_every_command() {
    let man = printed(&["docs", "man"]);
    for command in ["CHECK", "SERVE", "DEAD LIST", "RECONCILE", "TOKEN"] {
        assert!(man.contains(&format!(".SH \"PLAUDIT {command}\"")), "{command}");
    }
    assert!(man.contains("data\\-dir") && !man.contains("PLAUDIT DOCS"));
    for shell in ["bash", "zsh", "fish"] {
        let text = printed(&["docs", shell]);
        assert!(["check", "reconcile", "shutdown-drain"].iter().all(|word| text.contains(word)), "{shell}");
    }
}

#[test]
fn the_licences_name_what_the_lock_files_name() {
    let (agrees, text) = output_of("node", &["scripts/licenses.mjs", "--check"]);
    assert!(agrees, "{text}");
    let printed = plaudit(Path::new("/nowhere")).arg("licenses").output().unwrap().stdout;
    assert_eq!(String::from_utf8(printed).unwrap(), text_of("ops/licenses.txt"));
}

#[test]
fn the_scripts_of_the_package_are_scripts() {
    for entry in fs::read_dir(path_of("").join("ops/package/debian")).unwrap().flatten() {
        let (is_one, text) = output_of("sh", &["-n", entry.path().to_str().unwrap()]);
        assert!(is_one && text_of(entry.path().to_str().unwrap()).contains("#DEBHELPER#"), "{text}");
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
    // Others have filled the queue of the socket when the service is ready.
    let other = UnixDatagram::unbound().unwrap();
    other.set_nonblocking(true).unwrap();
    while other.send_to(b"STATUS=", &path).is_ok() {}
    let variables = [("NOTIFY_SOCKET", path.to_str().unwrap()), ("WATCHDOG_USEC", "200000")];
    assert!(server.try_start(&variables));
    let next = |wanted: &str| {
        let (begin, mut buffer) = (Instant::now(), [0; 256]);
        while begin.elapsed() < SOON {
            let length = socket.recv(&mut buffer).unwrap_or_else(|error| panic!("no {wanted}: {error}"));
            if String::from_utf8_lossy(&buffer[..length]).lines().any(|line| line == wanted) {
                return;
            }
        }
        panic!("no {wanted}");
    };
    next("READY=1");
    next("WATCHDOG=1");
    next("WATCHDOG=1");
    let stopped = spawn_blocking(move || server.stop());
    next("STOPPING=1");
    stopped.await.unwrap();
}
