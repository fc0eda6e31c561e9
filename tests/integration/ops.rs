//! What is for operators in `ops/`: alerts and dashboard name metrics that exist, and every alert says what to do.

use std::{collections::BTreeSet, process::Command, sync::LazyLock};

use serde_json::Value;
use support::{path_of, printed, text_of};

/// Labels that Prometheus adds.
const ADDED: [&str; 3] = ["job", "instance", "le"];

/// What is wrong with an expression.
fn faults(expression: &str) -> Vec<String> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut faults = Vec::new();
    for prefix in ["plaudit_", "process_"] {
        for (at, _) in
            expression.match_indices(prefix).filter(|(at, _)| !expression[..*at].ends_with(is_name))
        {
            let rest = &expression[at..];
            let end = rest.find(|c| !is_name(c)).unwrap_or(rest.len());
            let (name, rest) = rest.split_at(end);
            let fault = match metric(name) {
                None => Some("is no metric".to_owned()),
                Some(metric) => fault_of_use(metric, &expression[..at], rest),
            };
            faults.extend(fault.map(|fault| format!("{name} {fault}: {expression}")));
        }
    }
    faults
}

/// A metric as the program prints it.
struct Metric {
    name: String,
    kind: String,
    labels: Vec<String>,
}

static METRICS: LazyLock<Vec<Metric>> = LazyLock::new(|| {
    let table = printed(&["docs", "metrics"]);
    let rows = table.lines().filter_map(|row| row.strip_prefix("| `"));
    rows.map(|row| {
        let cells: Vec<&str> = row.split(" | ").collect();
        let name = cells[0].trim_end_matches('`').to_owned();
        let kind = cells[1].split(',').next().unwrap().to_owned();
        let labels = cells[2].split('`').skip(1).step_by(2).map(str::to_owned).collect();
        Metric { name, kind, labels }
    })
    .collect()
});

/// The metric of a series: those of a histogram end in `_bucket`, `_sum` and `_count`.
fn metric(series: &str) -> Option<&'static Metric> {
    let of_histogram = ["_bucket", "_sum", "_count"].iter().find_map(|part| series.strip_suffix(part));
    METRICS.iter().find(|metric| match metric.kind.as_str() {
        "histogram" => of_histogram == Some(metric.name.as_str()),
        _ => metric.name == series,
    })
}

fn fault_of_use(metric: &Metric, before: &str, after: &str) -> Option<String> {
    let is_rate = before.ends_with("rate(") || before.ends_with("increase(");
    match metric.kind.as_str() {
        "gauge" if is_rate => return Some("is a gauge, and has no rate".to_owned()),
        "histogram" if !is_rate => return Some("is a histogram, and needs a rate".to_owned()),
        _ => {}
    }
    let selector = after.strip_prefix('{').and_then(|rest| rest.split('}').next()).unwrap_or_default();
    let wanted = selector.split(',').filter_map(|part| part.split(['=', '!']).next()).map(str::trim);
    let unknown = |label: &&str| {
        !label.is_empty() && !metric.labels.iter().any(|known| known == label) && !ADDED.contains(label)
    };
    wanted.into_iter().find(unknown).map(|label| format!("has no label {label}"))
}

/// The values of a key in a file of YAML that has one key per line.
fn values<'a>(yaml: &'a str, key: &str) -> Vec<&'a str> {
    let prefix = format!("{key}: ");
    yaml.lines()
        .filter_map(|line| line.trim_start().trim_start_matches("- ").strip_prefix(&prefix))
        .map(str::trim)
        .collect()
}

#[test]
fn the_check_of_expressions_finds_what_is_wrong() {
    for (expression, fault) in [
        ("plaudit_nothing > 0", "is no metric"),
        ("rate(plaudit_sockets[5m])", "has no rate"),
        ("plaudit_request_seconds > 1", "is no metric"),
        ("plaudit_request_seconds_bucket > 1", "needs a rate"),
        ("plaudit_breaker_open{shard=\"1\"}", "has no label shard"),
    ] {
        let found = faults(expression);
        assert!(found.len() == 1 && found[0].contains(fault), "{expression}: {found:?}");
    }
    assert!(faults("sum(rate(plaudit_request_seconds_bucket{kind!=\"query\",job=\"a\"}[5m]))").is_empty());
}

#[test]
fn every_alert_names_metrics_that_exist_and_a_place_that_says_what_to_do() {
    let rules = text_of("ops/alerts.yaml");
    let wrong: Vec<String> = values(&rules, "expr").into_iter().flat_map(faults).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
    let (alerts, places) = (values(&rules, "alert"), values(&rules, "runbook"));
    assert!(
        alerts.len() > 10 && alerts.len() == places.len() && alerts.len() == values(&rules, "expr").len()
    );
    for place in places {
        let (page, anchor) = place.split_once('#').unwrap_or_else(|| panic!("{place} has no anchor"));
        let slug = |heading: &str| heading.to_lowercase().replace(' ', "-");
        let text = text_of(page);
        let mut headings =
            text.lines().filter_map(|line| line.strip_prefix("## ").or(line.strip_prefix("### ")));
        assert!(headings.any(|heading| slug(heading) == anchor), "{place} is not there");
    }
    let page = text_of("docs/operations/troubleshooting.md");
    let tests = text_of("ops/alerts.test.yaml");
    let tested: BTreeSet<&str> = values(&tests, "alertname").into_iter().collect();
    for alert in alerts {
        assert!(page.contains(&format!("`{alert}`")), "{alert} is not in the table of alerts");
        assert!(tested.contains(alert), "{alert} has no test");
    }
}

#[test]
fn the_alerts_fire_when_they_should() {
    let promtool = |arguments: &[&str]| {
        let mut command = Command::new("promtool");
        let output = command.args(arguments).current_dir(path_of("")).output();
        let output = output.expect("promtool; `scripts/prerequisites.sh test` installs it");
        let text = [output.stdout, output.stderr].concat();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&text));
    };
    promtool(&["check", "rules", "ops/alerts.yaml"]);
    promtool(&["test", "rules", "ops/alerts.test.yaml"]);
}

#[test]
fn the_dashboard_shows_metrics_that_exist_in_panels_that_do_not_overlap() {
    let dashboard: Value = serde_json::from_str(&text_of("ops/dashboard.json")).unwrap();
    let panels = dashboard["panels"].as_array().unwrap();
    let (mut places, mut ids) = (BTreeSet::new(), BTreeSet::new());
    for panel in panels {
        for target in panel["targets"].as_array().unwrap() {
            let wrong = faults(target["expr"].as_str().unwrap());
            assert!(wrong.is_empty(), "{}: {wrong:?}", panel["title"]);
        }
        let at = |name: &str| panel["gridPos"][name].as_u64().unwrap();
        assert!(at("x") + at("w") <= 24, "{}", panel["title"]);
        for x in at("x")..at("x") + at("w") {
            for y in at("y")..at("y") + at("h") {
                assert!(places.insert((x, y)), "{} overlaps", panel["title"]);
            }
        }
        assert!(ids.insert(panel["id"].as_u64().unwrap()), "{}", panel["title"]);
    }
    assert!(panels.len() > 10);
}

#[test]
fn each_step_from_one_machine_to_many_says_first_what_it_interrupts() {
    let page = text_of("docs/operations/scale.md");
    let steps: Vec<&str> = page.split("\n## ").filter(|part| part.starts_with(char::is_numeric)).collect();
    assert_eq!(steps.len(), 9);
    for step in steps {
        let said = step.lines().nth(2).unwrap_or_default();
        assert!(said == "Interrupts nothing." || said.starts_with("**Interrupts "), "{step}");
    }
}
