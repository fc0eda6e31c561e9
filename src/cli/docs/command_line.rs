//! Table of the commands with their own arguments. Settings are on another page.

use clap::{Arg, Command, CommandFactory};

use super::{
    settings,
    table::{code, table},
};
use crate::cli::Cli;

const HEAD: [&str; 3] = ["Argument", "Default", "Meaning"];

pub fn tables() -> String {
    let mut sections = Vec::new();
    for command in visible(&Cli::command()) {
        let inner: Vec<Command> = visible(&command).collect();
        if inner.is_empty() {
            sections.push(section("plaudit", &command));
        } else {
            let parent = format!("plaudit {}", command.get_name());
            sections.extend(inner.iter().map(|command| section(&parent, command)));
        }
    }
    sections.join("\n")
}

fn visible(command: &Command) -> impl Iterator<Item = Command> {
    command.get_subcommands().filter(|command| !command.is_hide_set()).cloned()
}

fn section(parent: &str, command: &Command) -> String {
    let about = command.get_long_about().or(command.get_about()).map(ToString::to_string).unwrap_or_default();
    let mut text = format!("## {parent} {}\n\n{}.\n", command.get_name(), about.trim_end_matches('.'));
    let definitions = settings::definitions();
    let is_setting = |arg: &&Arg| definitions.get_arguments().any(|setting| setting.get_id() == arg.get_id());
    let (settings, own): (Vec<&Arg>, Vec<&Arg>) = command.get_arguments().partition(is_setting);
    if !settings.is_empty() {
        let names: Vec<String> = settings.iter().map(|setting| code(setting.get_id().as_str())).collect();
        let takes_all = ["serve", "check", "reshard"].contains(&command.get_name());
        let names = if takes_all { "all".to_owned() } else { names.join(", ") };
        text.push_str(&format!("\nSettings: {names}.\n"));
    }
    if !own.is_empty() {
        text.push_str(&format!("\n{}", table(HEAD, own.into_iter().map(row))));
    }
    text
}

fn row(arg: &Arg) -> [String; 3] {
    let value = arg.get_value_names().map(|names| names.join(" "));
    let name = match (arg.get_long(), value.filter(|_| arg.get_action().takes_values())) {
        (Some(flag), Some(value)) => format!("--{flag} {value}"),
        (Some(flag), None) => format!("--{flag}"),
        (None, value) => value.unwrap_or_else(|| arg.get_id().to_string()),
    };
    let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
    [code(&name), settings::default(arg), help]
}
