//! Interface between a server program and its supervisor.

use std::{path::Path, process::Command};

use rustix::process::Signal;

pub(super) trait Server: Send + Sync + 'static {
    fn name(&self) -> &'static str;

    /// The program in the foreground, logging to its standard output or error.
    fn command(&self) -> Command;

    /// Whether the process with this id accepts connections. Polled until it does, so it must be quick.
    fn is_ready(&self, pid: u32) -> bool;

    /// Where the program's output goes.
    fn log(&self) -> &Path;

    /// Signal for a clean shutdown. Sent by a stop, and by the kernel if this process is killed.
    fn stop_signal(&self) -> Signal;
}
