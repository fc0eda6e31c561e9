//! What several benchmarks use.

pub mod cpu;
pub mod load;
pub mod median;
pub mod server;
pub mod size;

use std::{os::unix::fs::PermissionsExt, path::Path, sync::LazyLock};

use plaudit_embedded_stores::{DataDir, DataDirLock, EmbeddedServers, Options};

pub type Outcome<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// The program as it is shipped.
pub fn program() -> &'static Path {
    static PROGRAM: LazyLock<std::path::PathBuf> = LazyLock::new(|| test_support::built(&["--release"]));
    &PROGRAM
}

/// Runs `work` with stores of its own, beside which it may write files.
pub fn with_stores<T>(options: Options, work: impl FnOnce(&DataDir, &Path) -> Outcome<T>) -> Outcome<T> {
    let place = tempfile::Builder::new().permissions(PermissionsExt::from_mode(0o755)).tempdir()?;
    let data = DataDir::open(place.path().join("data"))?;
    let lock = DataDirLock::take(&data, "a benchmark")?;
    let servers = EmbeddedServers::start(&lock, options)?;
    let result = work(&data, place.path());
    servers.stop();
    result
}
