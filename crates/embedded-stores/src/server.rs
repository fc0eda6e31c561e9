//! A server program, as far as its supervisor must know it.

use std::{path::Path, process::Command};

use rustix::process::Signal;

pub(super) trait Server: Send + Sync + 'static {
    fn name(&self) -> &'static str;

    /// The program in the foreground, logging to its standard output or error.
    fn command(&self) -> Command;

    /// Whether the process with this id accepts connections. Asked until it does, so it must be quick.
    fn is_ready(&self, pid: u32) -> bool;

    /// Where the program's output goes.
    fn log(&self) -> &Path;

    /// Asks the program to end in order. Sent when we stop it and when we are killed.
    fn stop_signal(&self) -> Signal;
}
