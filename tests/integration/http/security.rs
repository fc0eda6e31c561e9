//! The table of docs/reference/limits.md agrees with the settings.

use std::collections::BTreeMap;
use support::{Server, text_of};

/// The settings by name, each with its default if it has one.
fn settings() -> BTreeMap<String, Option<String>> {
    let output = Server::shared().command().args(["serve", "--help"]).output().unwrap();
    let help = String::from_utf8(output.stdout).unwrap();
    let flags = help.split("\n      --").skip(1);
    let setting = |text: &str| {
        let name = text.split([' ', '\n', '=', '[']).next().unwrap().replace('-', "_");
        let default = text.split_once("[default: ").and_then(|(_, rest)| rest.split_once(']'));
        (name, default.map(|(default, _)| default.to_owned()))
    };
    flags.map(setting).collect()
}

/// The texts in backticks.
fn quoted(cell: &str) -> Vec<&str> {
    cell.split('`').skip(1).step_by(2).collect()
}

#[test]
fn every_setting_in_the_table_of_limits_exists_and_has_the_default_of_the_table() {
    let (page, settings) = (text_of("docs/reference/limits.md"), settings());
    let (_, rest) = page.split_once("| Limit | Setting |").unwrap();
    let rows = rest.lines().skip(2).take_while(|line| line.starts_with('|'));
    let mut checked = 0;
    for row in rows {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let (names, defaults) = (quoted(cells[2]), quoted(cells[3]));
        for (at, name) in names.iter().enumerate() {
            let default = settings.get(*name).unwrap_or_else(|| panic!("{name} is no setting: {row}"));
            // One default may apply to several settings.
            let documented = defaults.get(at).or(defaults.last().filter(|_| defaults.len() == 1));
            if let (Some(documented), Some(default)) = (documented, default) {
                assert_eq!(documented, default, "{row}");
            }
            checked += 1;
        }
    }
    assert!(checked >= 40, "{checked} settings were compared");
}
