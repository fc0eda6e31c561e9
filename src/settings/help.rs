//! What the help texts say beside each setting's own documentation.

use clap::{Arg, Command};

use super::definitions::{CONFIG, Definitions, variable};

const ORIGINS: &str = "\
A setting can be given as a flag (--data-dir DIR), as a variable of the environment (PLAUDIT_DATA_DIR=DIR),
or as a line of the settings file (data_dir = \"DIR\"). The flag counts more than the environment, and the
environment more than the file.";

/// Names each setting's variable, and tells of every command's settings where they may stand.
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
