//! Errors of creating a moderator.

use std::{io, path::PathBuf};

/// Messages for the operator.
#[derive(Debug, thiserror::Error)]
pub enum ModeratorError {
    #[error("cannot read the blocklist {}: {source} (setting moderator_blocklist)", path.display())]
    Unreadable { path: PathBuf, source: io::Error },

    #[error("the blocklist {} has no entry: write one word per line", path.display())]
    EmptyBlocklist { path: PathBuf },

    #[error("line {line} of the blocklist {} has no visible character", path.display())]
    InvisibleEntry { path: PathBuf, line: usize },

    #[error("the blocklist {} is too large: {source}", path.display())]
    HugeBlocklist { path: PathBuf, source: aho_corasick::BuildError },

    #[error("cannot prepare calls to moderator_url: {0}")]
    Client(String),
}
