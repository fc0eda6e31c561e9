//! Tables of the settings, one per group.

use clap::{Arg, Args, Command};

use super::table::{code, table};
use plaudit_catalogue::settings::Settings;

const HEAD: [&str; 4] = ["Setting", "Value", "Default", "Meaning"];

pub fn tables() -> String {
    let settings = definitions();
    let mut groups: Vec<&str> = settings.get_arguments().filter_map(Arg::get_help_heading).collect();
    let mut known = Vec::new();
    groups.retain(|group| {
        !known.contains(group) && {
            known.push(*group);
            true
        }
    });
    let of_group = |group: &str| {
        let rows =
            settings.get_arguments().filter(|setting| setting.get_help_heading() == Some(group)).map(row);
        format!("## {group}\n\n{}", table(HEAD, rows))
    };
    groups.into_iter().map(of_group).collect::<Vec<_>>().join("\n")
}

pub fn definitions() -> Command {
    Settings::augment_args(Command::new("serve"))
}

fn row(setting: &Arg) -> [String; 4] {
    [code(setting.get_id().as_str()), value(setting), default(setting), meaning(setting)]
}

fn value(setting: &Arg) -> String {
    let possible = setting.get_possible_values();
    let is_boolean = setting.get_num_args().is_some_and(|count| count.min_values() == 0);
    let one = match setting.get_value_names() {
        _ if is_boolean => "true or false".to_owned(),
        _ if !possible.is_empty() => {
            possible.iter().map(|value| code(value.get_name())).collect::<Vec<_>>().join(", ")
        }
        Some(names) => names.iter().map(|name| name.to_lowercase()).collect::<Vec<_>>().join(" "),
        None => String::new(),
    };
    if setting.get_value_delimiter().is_some() { format!("list of {one}") } else { one }
}

/// The default value, or its description in the help text.
pub fn default(setting: &Arg) -> String {
    let values: Vec<_> = setting.get_default_values().iter().map(|value| value.to_string_lossy()).collect();
    match help(setting).1 {
        _ if !values.is_empty() => code(&values.join(",")),
        Some(described) => described,
        None => "none".to_owned(),
    }
}

/// The first sentence, and the paragraphs that `--help` leaves out.
fn meaning(setting: &Arg) -> String {
    let first = help(setting).0;
    let all = setting.get_long_help().map(ToString::to_string).unwrap_or_default();
    match all.split_once("\n\n") {
        Some((_, details)) => format!("{first}. {}", details.replace('\n', " ")),
        None => first,
    }
}

/// The help text, and its description of the default.
fn help(setting: &Arg) -> (String, Option<String>) {
    let text = setting.get_help().map(ToString::to_string).unwrap_or_default();
    match text.split_once("; default: ") {
        Some((meaning, default)) => (meaning.to_owned(), Some(default.to_owned())),
        None => (text, None),
    }
}
