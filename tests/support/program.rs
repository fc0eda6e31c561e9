//! The program under test, and files of the repository.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::LazyLock,
};

/// The features that tests need: traces, and points at which they kill.
pub const FEATURES: &str = "otlp,fail/failpoints";

/// A file or folder of the repository.
pub fn path_of(from_root: &str) -> PathBuf {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).join(from_root)
}

/// The text of a file of the repository.
pub fn text_of(from_root: &str) -> String {
    fs::read_to_string(path_of(from_root)).unwrap_or_else(|error| panic!("{from_root}: {error}"))
}

/// The program as the source is now; Cargo builds nothing that is built already. Or the one that `PLAUDIT_BIN` names.
pub fn program() -> &'static Path {
    static PROGRAM: LazyLock<PathBuf> = LazyLock::new(|| match env::var_os("PLAUDIT_BIN") {
        Some(program) => program.into(),
        None => built(&["--features", FEATURES]),
    });
    &PROGRAM
}

/// The program, built with these flags.
pub fn built(flags: &[&str]) -> PathBuf {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut build = Command::new(cargo);
    build.args(["build", "--quiet", "--bin", "plaudit", "--message-format=json"]).args(flags);
    // What Cargo tells this package: build scripts of others would run again because of it.
    let of_package = |name: &str| name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_");
    for (name, _) in env::vars().filter(|(name, _)| of_package(name)) {
        build.env_remove(name);
    }
    let output = build.current_dir(path_of("")).stderr(Stdio::inherit()).output().unwrap();
    assert!(output.status.success(), "the program cannot be built");
    let messages = String::from_utf8(output.stdout).unwrap();
    let program = messages.lines().find_map(|message| {
        let (_, rest) = message.split_once("\"executable\":\"")?;
        rest.split('"').next().map(PathBuf::from)
    });
    program.expect("Cargo names the program")
}

/// What the program prints, without any warning.
pub fn printed(arguments: &[&str]) -> String {
    let output = super::plaudit(Path::new("/nowhere")).args(arguments).output().unwrap();
    assert!(output.status.success() && output.stderr.is_empty(), "{arguments:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}
