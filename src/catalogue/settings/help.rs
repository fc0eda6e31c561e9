//! Additions to the help texts of the settings.

use clap::{Arg, Command};

use super::definitions::{CONFIG, Definitions, variable};

const ORIGINS: &str = "\
A setting can be given as a flag (--data-dir DIR), as a variable of the environment (PLAUDIT_DATA_DIR=DIR),
or as a line of the settings file (data_dir = \"DIR\"). The flag counts more than the environment, and the
environment more than the file.";

/// Adds each setting's variable, and to every command with settings where they may be given.
pub fn explain(command: Command) -> Command {
    explain_with(&Definitions::new(), command)
}

fn explain_with(definitions: &Definitions, command: Command) -> Command {
    let takes_settings = command.get_arguments().any(|arg| arg.get_id() == CONFIG);
    let command = if takes_settings { command.after_help(ORIGINS) } else { command };
    command
        .mut_args(|arg| if definitions.contains(arg.get_id().as_str()) { with_variable(arg) } else { arg })
        .mut_subcommands(|subcommand| explain_with(definitions, subcommand))
}

/// Not clap's own `env`, which would read the variable at once and print its value.
fn with_variable(setting: Arg) -> Arg {
    let text = setting.get_help().map(ToString::to_string).unwrap_or_default();
    let variable = variable(&setting);
    setting.help(format!("{text}\n[env: {variable}]")).long_help(None)
}
