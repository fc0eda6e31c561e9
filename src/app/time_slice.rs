//! The time slice of this process' threads.
//!
//! Of the threads that have had less than their share of a CPU, Linux runs the one with the earliest deadline,
//! which is a time slice away ([EEVDF](https://docs.kernel.org/scheduler/sched-eevdf.html)). With a short slice
//! a thread that wakes need not wait until a process that keeps the CPU busy has used up its own, for example
//! PostgreSQL while it writes an import. No thread gets more CPU than before.

use std::{fs, io, mem::size_of};

use libc::{ESRCH, SCHED_OTHER, SYS_sched_getattr, SYS_sched_setattr, c_long, pid_t, sched_attr, syscall};

/// Nanoseconds: the shortest that Linux allows.
const SLICE: u64 = 100_000;

/// Shortens it for the threads that exist, and so for those that they start, and for child processes. Linux before 6.12
/// ignores it; without it requests are only slower while the CPU is busy.
pub fn shorten() {
    if let Err(error) = shorten_of_all() {
        tracing::debug!("the time slice stays: {error}");
    }
}

fn shorten_of_all() -> io::Result<()> {
    for thread in fs::read_dir("/proc/self/task")? {
        let Ok(thread) = thread?.file_name().to_string_lossy().parse() else { continue };
        match shorten_of(thread) {
            Err(error) if error.raw_os_error() == Some(ESRCH) => {} // it has ended meanwhile
            done => done?,
        }
    }
    Ok(())
}

fn shorten_of(thread: pid_t) -> io::Result<()> {
    let mut attributes = attributes_of(thread)?;
    // A policy that the operator has chosen stays.
    if attributes.sched_policy == SCHED_OTHER as u32 {
        attributes.sched_runtime = SLICE;
        set(thread, &attributes)?;
    }
    Ok(())
}

fn attributes_of(thread: pid_t) -> io::Result<sched_attr> {
    #[expect(unsafe_code, reason = "no safe binding exists; the kernel writes at most the given size")]
    // SAFETY: zeroes are a valid value of this struct of integers, and the pointer is to all of it.
    unsafe {
        let mut attributes = std::mem::zeroed::<sched_attr>();
        let size = size_of::<sched_attr>();
        succeeded(syscall(SYS_sched_getattr, thread, &raw mut attributes, size, 0))?;
        Ok(attributes)
    }
}

fn set(thread: pid_t, attributes: &sched_attr) -> io::Result<()> {
    #[expect(unsafe_code, reason = "no safe binding exists")]
    // SAFETY: the pointer is to a whole struct that has its size, and the kernel only reads it.
    let result = unsafe { syscall(SYS_sched_setattr, thread, &raw const *attributes, 0) };
    succeeded(result)
}

fn succeeded(result: c_long) -> io::Result<()> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Before 6.12 Linux reports no slice of such threads.
    fn slice() -> u64 {
        attributes_of(0).unwrap().sched_runtime
    }

    #[test]
    fn threads_and_those_that_they_start_have_a_short_slice_where_linux_has_slices() {
        let before = slice();
        shorten_of_all().unwrap();
        let of_new_thread = std::thread::spawn(slice).join().unwrap();
        let expected = if before == 0 { 0 } else { SLICE };
        assert_eq!([slice(), of_new_thread], [expected; 2]);
    }
}
