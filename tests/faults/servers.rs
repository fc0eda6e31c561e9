//! The servers of a schedule: processes that are killed, stopped and paused, and started again.

use std::{
    ops::Range,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::SeqCst},
    },
    time::Duration,
};

use parking_lot::RwLock;
use support::Server;
use tokio::sync::Mutex;

/// Lines of the servers' logs that are printed with a failure.
const LOG_LINES: usize = 60;

pub struct Servers {
    servers: Vec<Arc<Mutex<Server>>>,
    /// Their current addresses.
    urls: Vec<Arc<RwLock<String>>>,
    /// Those that a fault has ended, until it is undone.
    are_down: Vec<AtomicBool>,
    /// Those that users ask.
    asked: Range<usize>,
}

impl Servers {
    pub fn new(servers: Vec<Server>, asked: Range<usize>) -> Self {
        let urls = servers.iter().map(|server| Arc::new(RwLock::new(server.url.clone()))).collect();
        let are_down = servers.iter().map(|_| AtomicBool::new(false)).collect();
        Self {
            servers: servers.into_iter().map(|server| Arc::new(Mutex::new(server))).collect(),
            urls,
            are_down,
            asked,
        }
    }

    pub fn url(&self, server: usize) -> String {
        self.urls[server].read().clone()
    }

    /// One of those that users ask.
    pub fn any(&self) -> usize {
        rand::random_range(self.asked.clone())
    }

    pub fn asked(&self) -> Range<usize> {
        self.asked.clone()
    }

    /// Starts a server that has ended, with these environment variables.
    pub async fn start(&self, server: usize, variables: &[(&str, &str)]) {
        let mut started = Arc::clone(&self.servers[server]).lock_owned().await;
        let variables: Vec<(String, String)> =
            variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let url = Arc::clone(&self.urls[server]);
        // It may wait until another fault is undone. It goes on if the caller is dropped meanwhile, and so it writes the
        // address itself.
        let starting = tokio::task::spawn_blocking(move || {
            let variables: Vec<(&str, &str)> =
                variables.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
            // Another fault, or the restart after a fail point, may have started it meanwhile.
            if !started.has_ended() || started.try_start(&variables) {
                url.write().clone_from(&started.url);
            }
        });
        starting.await.unwrap();
        self.are_down[server].store(false, SeqCst);
    }

    /// `kill -9`.
    pub async fn kill(&self, server: usize) {
        self.are_down[server].store(true, SeqCst);
        self.servers[server].lock().await.kill();
    }

    /// SIGTERM.
    pub async fn stop(&self, server: usize) {
        self.are_down[server].store(true, SeqCst);
        let mut stopping = Arc::clone(&self.servers[server]).lock_owned().await;
        let stopping = tokio::task::spawn_blocking(move || {
            if !stopping.has_ended() {
                stopping.stop();
            }
        });
        stopping.await.unwrap();
    }

    /// SIGSTOP.
    pub async fn pause(&self, server: usize) {
        let mut paused = self.servers[server].lock().await;
        if !paused.has_ended() {
            paused.stall();
        }
    }

    /// SIGCONT.
    pub async fn resume(&self, server: usize) {
        let mut paused = self.servers[server].lock().await;
        if !paused.has_ended() {
            paused.wake();
        }
    }

    /// Restarts servers that a fail point has ended. Never returns.
    pub async fn restart_ended(&self) {
        loop {
            for server in 0..self.servers.len() {
                if !self.are_down[server].load(SeqCst) && self.servers[server].lock().await.has_ended() {
                    self.start(server, &[]).await;
                }
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// The last lines of the logs.
    pub async fn log(&self) -> String {
        let mut logs = Vec::new();
        for server in &self.servers {
            let log = server.lock().await.log();
            if !logs.contains(&log) {
                logs.push(log); // servers on the same stores write to the same file
            }
        }
        let end = |log: &String| {
            let lines: Vec<&str> = log.lines().collect();
            lines[lines.len().saturating_sub(LOG_LINES)..].join("\n")
        };
        logs.iter().map(end).collect::<Vec<_>>().join("\n--\n")
    }
}
