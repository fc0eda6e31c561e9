//! Supervisor of one child server: a thread that starts it, waits for its exit and restarts it.
//!
//! The thread lives as long as its child, because the kernel's parent-death signal follows the
//! thread that spawned the child, not the whole process.

use std::{
    fs::File,
    io,
    process::{Child, ExitStatus, Stdio},
    sync::Arc,
    thread::{self, JoinHandle},
    time::Duration,
};

use parking_lot::{Condvar, Mutex};
use rustix::{
    io::retry_on_intr,
    process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid},
};
use tracing::{info, warn};

use super::{
    error::{EmbeddedError, Result},
    log_file,
    server::Server,
    tether::tether,
};

/// Timeout of a start.
const READY_WITHIN: Duration = Duration::from_secs(60);
/// Timeout of a clean shutdown, after which the server is killed.
const STOP_WITHIN: Duration = Duration::from_secs(10);
const POLL: Duration = Duration::from_millis(5);
/// Exit streak before the server was ready for the first time that fails the start.
const GIVE_UP_AFTER: u32 = 5;
const FIRST_DELAY: Duration = Duration::from_millis(100);
const LONGEST_DELAY: Duration = Duration::from_secs(2);

/// A server that is kept running. Dropping this stops it and waits for its exit.
pub(super) struct Supervisor {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    server: Box<dyn Server>,
    lock: Arc<File>,
    state: Mutex<SupervisorState>,
    changed: Condvar,
}

#[derive(Default)]
struct SupervisorState {
    /// Present until it is reaped, so its process id cannot belong to another process.
    child: Option<Child>,
    was_ready: bool,
    /// Exits since the server was last ready.
    exit_streak: u32,
    stopping: bool,
    /// Set before the thread ends.
    ended: bool,
    failure: Option<EmbeddedError>,
}

impl Supervisor {
    /// Starts the server in the background. The child inherits `lock`.
    pub(super) fn launch(server: impl Server, lock: Arc<File>) -> Result<Self> {
        let name = server.name();
        let shared = Arc::new(Shared {
            server: Box::new(server),
            lock,
            state: Mutex::default(),
            changed: Condvar::new(),
        });
        let thread = thread::Builder::new()
            .name(format!("{name} supervisor"))
            .spawn({
                let shared = Arc::clone(&shared);
                move || shared.run()
            })
            .map_err(|source| EmbeddedError::Thread { server: name, source })?;
        Ok(Self { shared, thread: Some(thread) })
    }

    /// Blocks until the server accepts connections for the first time.
    ///
    /// # Errors
    /// `DoesNotStart` contains the end of the server's log.
    pub(super) fn wait_until_ready(&self) -> Result<()> {
        let mut state = self.shared.state.lock();
        self.shared.changed.wait_while_for(&mut state, |s| !s.was_ready && !s.ended, READY_WITHIN);
        match state.failure.take() {
            Some(failure) => Err(failure),
            None if state.was_ready => Ok(()),
            None => {
                let waited_s = READY_WITHIN.as_secs();
                Err(self.shared.does_not_start(format!("it accepts no connections after {waited_s} s")))
            }
        }
    }

    /// The current process; `None` between an exit and the next start.
    pub(super) fn pid(&self) -> Option<u32> {
        self.shared.state.lock().child.as_ref().map(Child::id)
    }

    /// Begins the stop and returns at once.
    pub(super) fn begin_stop(&self) {
        self.shared.begin_stop();
    }
}

impl Drop for Supervisor {
    fn drop(&mut self) {
        self.begin_stop();
        self.shared.kill_unless_ended(STOP_WITHIN);
        if let Some(thread) = self.thread.take() {
            // A panic in the thread was printed by the panic hook; the child has received the death signal.
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn run(&self) {
        let outcome = self.keep_running();
        let mut state = self.state.lock();
        state.failure = outcome.err();
        state.ended = true;
        self.changed.notify_all();
    }

    fn keep_running(&self) -> Result<()> {
        while !self.is_stopping() {
            let end = self.run_once();
            let exit_streak = self.classify_exit(&describe(end))?;
            self.pause(delay_after(exit_streak));
        }
        Ok(())
    }

    /// Runs one process from start to exit. `None` if a stop was requested before the start.
    fn run_once(&self) -> io::Result<Option<ExitStatus>> {
        let Some(pid) = self.spawn()? else { return Ok(None) };
        while !self.server.is_ready(pid) {
            if let Some(status) = self.reap()? {
                return Ok(Some(status));
            }
            thread::sleep(POLL);
        }
        self.mark_ready();
        wait_for_end(pid)?;
        self.reap()
    }

    fn spawn(&self) -> io::Result<Option<u32>> {
        let mut state = self.state.lock();
        if state.stopping {
            return Ok(None);
        }
        let child = state.child.insert(self.start_process()?);
        Ok(Some(child.id()))
    }

    fn start_process(&self) -> io::Result<Child> {
        let log = log_file::open(self.server.log())?;
        let mut command = self.server.command();
        command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
        tether(&mut command, Arc::clone(&self.lock), self.server.stop_signal());
        command.spawn()
    }

    /// The child's exit status, when it has ended.
    fn reap(&self) -> io::Result<Option<ExitStatus>> {
        let mut state = self.state.lock();
        let Some(child) = &mut state.child else { return Ok(None) };
        let status = child.try_wait()?;
        if status.is_some() {
            state.child = None;
        }
        Ok(status)
    }

    fn mark_ready(&self) {
        let mut state = self.state.lock();
        if state.was_ready {
            info!(attempts = state.exit_streak, "{} is running again", self.server.name());
        }
        state.was_ready = true;
        state.exit_streak = 0;
        self.changed.notify_all();
    }

    /// Classifies an exit: a requested stop, a failed start, or a crash that a restart repairs.
    /// Returns the exit streak.
    fn classify_exit(&self, reason: &str) -> Result<u32> {
        let mut state = self.state.lock();
        state.exit_streak += 1;
        if state.stopping {
            return Ok(state.exit_streak);
        }
        if !state.was_ready && state.exit_streak >= GIVE_UP_AFTER {
            return Err(self.does_not_start(format!("it keeps exiting, with {reason}")));
        }
        // Only the first exit of a streak is logged.
        if state.was_ready && state.exit_streak == 1 {
            warn!(reason, "{} exited unexpectedly; restarting it", self.server.name());
        }
        Ok(state.exit_streak)
    }

    /// Sleeps; a stop interrupts it.
    fn pause(&self, delay: Duration) {
        self.changed.wait_while_for(&mut self.state.lock(), |s| !s.stopping, delay);
    }

    fn is_stopping(&self) -> bool {
        self.state.lock().stopping
    }

    fn begin_stop(&self) {
        let mut state = self.state.lock();
        if !state.stopping {
            state.stopping = true;
            state.signal(self.server.stop_signal());
            self.changed.notify_all();
        }
    }

    fn kill_unless_ended(&self, within: Duration) {
        let mut state = self.state.lock();
        if self.changed.wait_while_for(&mut state, |s| !s.ended, within).timed_out() {
            warn!(waited_s = within.as_secs(), "{} did not stop in time; killing it", self.server.name());
            state.signal(Signal::KILL);
        }
    }

    fn does_not_start(&self, reason: String) -> EmbeddedError {
        let log = self.server.log();
        EmbeddedError::DoesNotStart {
            server: self.server.name(),
            reason,
            log: log.to_owned(),
            tail: log_file::tail(log),
        }
    }
}

impl SupervisorState {
    fn signal(&self, signal: Signal) {
        if let Some(child) = &self.child {
            // The child is not reaped yet, so its id cannot belong to another process; if it has ended, this fails
            // harmlessly.
            let _ = kill_process(Pid::from_child(child), signal);
        }
    }
}

/// Blocks without reaping, so that a signal sent in the meantime cannot reach another process with the same id.
fn wait_for_end(pid: u32) -> io::Result<()> {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw).ok_or(io::ErrorKind::InvalidInput)?;
    retry_on_intr(|| waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT))?;
    Ok(())
}

fn describe(end: io::Result<Option<ExitStatus>>) -> String {
    match end {
        Ok(Some(status)) => status.to_string(),
        Ok(None) => "not started".to_owned(),
        Err(e) => e.to_string(),
    }
}

fn delay_after(exit_streak: u32) -> Duration {
    let doublings = exit_streak.saturating_sub(1);
    FIRST_DELAY.saturating_mul(2_u32.saturating_pow(doublings)).min(LONGEST_DELAY)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_delay_doubles_up_to_its_limit() {
        let delays = [1, 2, 3, 4, 5, 6, 60].map(|streak| delay_after(streak).as_millis());
        assert_eq!(delays, [100, 200, 400, 800, 1600, 2000, 2000]);
    }
}
