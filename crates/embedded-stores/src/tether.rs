//! Parent-death signal and lock inheritance of child processes: a child ends with this process, and holds
//! the data directory's lock until it has ended.

use std::{fs::File, io, os::unix::process::CommandExt, process::Command, sync::Arc};

use rustix::{
    io::{FdFlags, fcntl_setfd},
    process::{Signal, getpid, getppid, set_parent_process_death_signal},
};

/// Makes the command's process
/// - receive `signal` when the *thread* that spawns it ends, also by `kill -9` of this process;
/// - hold the data directory's lock for as long as it, or a child of its own, lives;
/// - lead a process group, so that Ctrl-C reaches only this process, which stops the child cleanly.
pub(super) fn tether(command: &mut Command, lock: Arc<File>, signal: Signal) {
    let parent = getpid();
    let tie = move || {
        set_parent_process_death_signal(Some(signal))?;
        if getppid() != Some(parent) {
            // The parent died before the line above: no signal would ever arrive.
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
