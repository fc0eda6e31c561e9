//! `make cluster` runs what it says, and its printed commands do what they say.

use std::{
    fs,
    io::{BufRead, BufReader},
    net::TcpListener,
    os::unix::process::CommandExt,
    process::{Child, Command, Stdio},
    thread,
};

use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::json;
use sqlx::{Connection, PgConnection};
use support::{Client, Place, SECRET, SOON, eventually, note, number as number_of, token};

/// Two of each shard.
const NOTES: usize = 24;
/// The line that is printed last.
const END: &str = "Ctrl-C ends all of it.";

/// The script, in a process group of its own as in a terminal.
struct Script {
    child: Child,
    place: Place,
    first_port: u16,
    /// What it printed.
    instructions: Vec<String>,
}

impl Script {
    fn start() -> Self {
        let (place, first_port) = (Place::new(), ports());
        let mut child = Command::new("node")
            .arg(support::path_of("scripts/cluster/main.mjs"))
            .args(["--jwt-secret", SECRET])
            .env("PLAUDIT_BIN", support::program())
            .env("CLUSTER_DIR", place.path().join("cluster"))
            .env("CLUSTER_PORT", first_port.to_string())
            .current_dir(place.path())
            .process_group(0)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        let instructions: Vec<String> = lines.by_ref().take_while(|line| line != END).collect();
        assert!(instructions.len() > 10, "it did not start: {instructions:?}");
        thread::spawn(move || lines.for_each(|line| println!("{line}")));
        Self { child, place, first_port, instructions }
    }

    /// Runs the printed command for this, as a person would.
    fn run_what_it_prints_for(&self, what: &str) {
        let line = self.instructions.iter().find_map(|line| line.trim_start().strip_prefix(what)).unwrap();
        let status = Command::new("sh").args(["-c", line.trim()]).current_dir(self.place.path()).status();
        assert!(status.unwrap().success(), "{line}");
    }

    /// A client of HAProxy (0), or of one of the API processes (2, 3).
    fn client(&self, port: u16, user: &str) -> Client {
        Client::new(&format!("http://127.0.0.1:{}", self.first_port + port), Some(token(user)))
    }

    /// By HAProxy.
    async fn rows(&self, id: i64) -> Option<i64> {
        let url = format!("postgres://plaudit@127.0.0.1:{}/plaudit", self.first_port + 1);
        let mut sql = PgConnection::connect(&url).await.ok()?;
        let rows = "SELECT count(*) FROM note_like WHERE target_id = $1 AND is_on";
        sqlx::query_scalar(rows).bind(id).fetch_one(&mut sql).await.ok()
    }

    /// Each note gets a like of this user, by HAProxy, as a client that tries again while it is told to.
    async fn like_all(&self, notes: &[i64], user: &str) {
        let client = self.client(0, user);
        let like = "mutation ($n: ID!) { likeNote(input: { noteId: $n }) { note { id } } }";
        for id in notes {
            eventually("the like is accepted", SOON, || async {
                let reply = client.try_send(like, json!({ "n": note(*id) })).await.ok()?;
                reply.body["data"]["likeNote"].is_object().then_some(())
            })
            .await;
        }
    }

    /// Both API processes show this many likes of each note, and PostgreSQL has them.
    async fn each_has(&self, notes: &[i64], likes: i64) {
        for id in notes {
            for api in [2, 3] {
                let (client, query) =
                    (self.client(api, "a reader"), "query ($n: ID!) { note(id: $n) { likeCount } }");
                eventually("the likes are shown", SOON, || async {
                    let reply = client.try_send(query, json!({ "n": note(*id) })).await.ok()?;
                    (reply.body["data"]["note"]["likeCount"] == likes).then_some(())
                })
                .await;
            }
            eventually("the likes are persisted", SOON, || async {
                (self.rows(*id).await == Some(likes)).then_some(())
            })
            .await;
        }
    }

    /// Ids of processes that have files of the cluster, in its directory.
    fn processes(&self) -> Vec<String> {
        let dir = self.place.path().canonicalize().unwrap();
        let entries = fs::read_dir("/proc").unwrap().flatten();
        let inside = entries
            .filter(|entry| fs::read_link(entry.path().join("cwd")).is_ok_and(|cwd| cwd.starts_with(&dir)));
        let ids = inside.filter_map(|entry| entry.file_name().into_string().ok());
        ids.filter(|id| *id != self.child.id().to_string()).collect()
    }

    /// As Ctrl-C in its terminal.
    fn interrupt(&mut self) {
        kill_process_group(Pid::from_child(&self.child), Signal::INT).unwrap();
        let status = self.child.wait().unwrap();
        assert_eq!(status.code(), Some(130));
    }
}

impl Drop for Script {
    fn drop(&mut self) {
        // The kernel then kills the processes that it has started.
        let _ = self.child.kill();
        let _ = self.child.wait();
        if thread::panicking() {
            println!("{:#?}", self.instructions);
        }
    }
}

/// The first of 20 ports that are free now, below those that the system gives to connections.
fn ports() -> u16 {
    (0..)
        .map(|n| 12_000 + (std::process::id() as u16 % 700 + n) * 20)
        .find(|first| (*first..first + 20).all(|port| TcpListener::bind(("127.0.0.1", port)).is_ok()))
        .unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_cluster_counts_each_like_whatever_its_printed_commands_kill_and_ctrl_c_ends_all_of_it() {
    let mut cluster = Script::start();
    let author = cluster.client(0, "an author");
    let mut notes = Vec::new();
    for number in 0..NOTES {
        let input = json!({ "title": format!("Note {number}"), "body": "Text" });
        notes.push(number_of(&author.act("createNote", input, "note { id }").await["note"]["id"]));
    }
    cluster.like_all(&notes, "ann").await;
    for (likes, killed) in [(2, "a master of Redis"), (3, "a pipeline process"), (4, "an API process")] {
        cluster.run_what_it_prints_for(killed);
        cluster.like_all(&notes, &format!("a user after the death of {killed}")).await;
        eventually("the likes are persisted", SOON, || async {
            (cluster.rows(notes[0]).await == Some(likes)).then_some(())
        })
        .await;
    }
    cluster.run_what_it_prints_for("the primary");
    cluster.run_what_it_prints_for("and promote");
    cluster.like_all(&notes, "dan").await;
    cluster.each_has(&notes, 5).await;

    assert!(cluster.processes().len() > 10);
    cluster.interrupt();
    assert_eq!(cluster.processes(), Vec::<String>::new());
}
