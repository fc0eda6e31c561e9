//! Ties a child process to this one: it ends when we end, and keeps our lock until it has.

use std::{fs::File, io, os::unix::process::CommandExt, process::Command, sync::Arc};

use rustix::{
    io::{FdFlags, fcntl_setfd},
    process::{Signal, getpid, getppid, set_parent_process_death_signal},
};

/// Makes the command's process
/// - receive `signal` when the *thread* that spawns it ends, also by `kill -9` of this process;
/// - hold the data directory's lock for as long as it, or a child of its own, lives;
/// - a group of its own, so that Ctrl-C reaches only us and we stop it in order.
pub(super) fn tether(command: &mut Command, lock: Arc<File>, signal: Signal) {
    let parent = getpid();
    let tie = move || {
        set_parent_process_death_signal(Some(signal))?;
        if getppid() != Some(parent) {
            // We died before the line above: no signal would ever come.
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        fcntl_setfd(&*lock, FdFlags::empty())?;
        Ok(())
    };
    command.process_group(0);
    #[expect(
        unsafe_code,
        reason = "the only way to prepare a child between fork and exec; three system calls, no allocation"
    )]
    unsafe {
        command.pre_exec(tie);
    }
}
