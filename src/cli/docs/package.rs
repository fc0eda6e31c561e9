//! Files of packages: the man page, and the completions of shells.

use clap::{Command, CommandFactory};
use clap_complete::Shell;
use clap_mangen::Man;

use crate::cli::Cli;
use plaudit_catalogue::settings;

/// One page with all commands: their options are its sections.
pub fn man_page() -> String {
    let command = settings::explain(Cli::command()).disable_help_subcommand(true);
    let mut page = written(|page| Man::new(command.clone()).render(page));
    for command in command.get_subcommands().filter(|command| !command.is_hide_set()) {
        page.push_str(&sections(command, "plaudit"));
    }
    page
}

/// The sections of a command, and of those below it.
fn sections(command: &Command, parent: &str) -> String {
    let name = format!("{parent} {}", command.get_name());
    let man = Man::new(command.clone());
    let about = written(|page| man.render_description_section(page));
    let options = written(|page| man.render_options_section(page));
    let mut text = about.replace(".SH DESCRIPTION", &format!(".SH \"{}\"", name.to_uppercase()));
    text.push_str(&options.replace(".SH ", ".SS "));
    for inner in command.get_subcommands().filter(|command| command.get_name() != "help") {
        text.push_str(&sections(inner, &name));
    }
    text
}

pub fn completions(shell: Shell) -> String {
    let mut command = settings::explain(Cli::command());
    written(|page| {
        clap_complete::generate(shell, &mut command, "plaudit", page);
        Ok(())
    })
}

/// Both libraries write UTF-8, and writing to memory does not fail.
fn written(write: impl FnOnce(&mut Vec<u8>) -> std::io::Result<()>) -> String {
    let mut page = Vec::new();
    match write(&mut page) {
        Ok(()) => String::from_utf8_lossy(&page).into_owned(),
        Err(error) => error.to_string(),
    }
}
