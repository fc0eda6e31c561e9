//! Likers who like each note once and never again, so that what was acknowledged is known; and a subscriber of the counts.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::SeqCst},
    },
    time::Duration,
};

use futures_util::future::join_all;
use parking_lot::Mutex;
use serde_json::json;
use sqlx::Row as _;
use support::{Client, SOON, Server, Stores, eventually, note, number};
use tokio::task::JoinSet;

const LIKERS: usize = 12;
const NOTES: usize = 150;
const LIKE: &str = "mutation ($n: ID!) { likeNote(input: { noteId: $n }) { changed } }";
/// A client gives up then.
const PATIENCE: Duration = Duration::from_secs(5);
/// The note that a number of likes names.
type Liked = (i64, i64);

pub struct Likes {
    likers: Vec<(i64, Client)>,
    notes: Vec<i64>,
    acknowledged: Mutex<BTreeSet<Liked>>,
    /// The newest count of each note that the subscriber was shown.
    published: Mutex<BTreeMap<i64, i64>>,
    is_over: AtomicBool,
}

impl Likes {
    /// Users and notes that the server has been asked for, so that it needs no PostgreSQL for them.
    pub async fn prepare(server: &Server, stores: &Stores) -> Arc<Self> {
        let (mut likers, mut notes) = (Vec::new(), Vec::new());
        for _ in 0..LIKERS {
            let id = stores.new_user().await;
            let subject = "SELECT subject FROM app_user WHERE id = $1";
            let subject: String =
                sqlx::query_scalar(subject).bind(id).fetch_one(&stores.sql().await).await.unwrap();
            let liker = server.client(&subject);
            liker.data("{ viewer { user { id } } }", json!({})).await;
            likers.push((id, liker));
        }
        for _ in 0..NOTES {
            let id = stores.new_note().await;
            let asked = "query ($n: ID!) { note(id: $n) { id likeCount } }";
            eventually("the note is shown", SOON, || async {
                let body = likers[0].1.send(asked, json!({ "n": note(id) })).await.body;
                body["data"]["note"]["likeCount"].as_i64()
            })
            .await;
            notes.push(id);
        }
        Arc::new(Self {
            likers,
            notes,
            acknowledged: Mutex::default(),
            published: Mutex::default(),
            is_over: AtomicBool::new(false),
        })
    }

    /// Begins to like, and to watch. What it returns ends both.
    pub async fn begin(self: &Arc<Self>, server: &Server) -> JoinSet<()> {
        let mut tasks = JoinSet::new();
        let ids: Vec<String> = self.notes.iter().map(|id| note(*id)).collect();
        for notes in ids.chunks(50) {
            let mut socket = server.socket("a subscriber").await;
            socket.watch_notes(&notes.iter().map(String::as_str).collect::<Vec<_>>()).await;
            let likes = Arc::clone(self);
            tasks.spawn(async move {
                while let Some(message) = socket.try_receive().await {
                    let shown = &message["payload"]["data"]["noteCountsChanged"];
                    if let Some(count) = shown["likeCount"].as_i64() {
                        likes.published.lock().insert(number(&shown["id"]), count);
                    }
                }
            });
        }
        for liker in 0..LIKERS {
            let likes = Arc::clone(self);
            tasks.spawn(async move { likes.like_all(liker).await });
        }
        tasks
    }

    async fn like_all(&self, liker: usize) {
        let (id, client) = &self.likers[liker];
        for place in 0..NOTES {
            if self.is_over.load(SeqCst) {
                return;
            }
            let target = self.notes[(place + liker * NOTES / LIKERS) % NOTES];
            let liked = client.try_send(LIKE, json!({ "n": note(target) }));
            let Ok(Ok(reply)) = tokio::time::timeout(PATIENCE, liked).await else { continue };
            if reply.body["data"]["likeNote"]["changed"] == true {
                self.acknowledged.lock().insert((*id, target));
            }
        }
    }

    pub async fn are_acknowledged(&self, count: usize) {
        eventually("likes are acknowledged", SOON, || {
            std::future::ready((self.acknowledged.lock().len() >= count).then_some(()))
        })
        .await;
    }

    /// Nobody likes any more. Answers may still come.
    pub fn end(&self) {
        self.is_over.store(true, SeqCst);
    }

    pub fn acknowledged(&self) -> BTreeSet<Liked> {
        self.acknowledged.lock().clone()
    }

    pub fn published(&self) -> BTreeMap<i64, i64> {
        self.published.lock().clone()
    }

    /// The likes that rows have.
    pub async fn rows(&self, stores: &Stores) -> BTreeSet<Liked> {
        let rows = "SELECT actor_id, target_id FROM note_like WHERE is_on AND target_id = ANY($1)";
        let rows = sqlx::query(rows).bind(&self.notes).fetch_all(&stores.sql().await).await.unwrap();
        rows.iter().map(|row| (row.get(0), row.get(1))).collect()
    }

    /// What everybody is shown now.
    pub async fn shown(&self) -> BTreeMap<i64, i64> {
        let asker = &self.likers[0].1;
        let one = async |id: &i64| {
            let query = "query ($n: ID!) { note(id: $n) { likeCount } }";
            let count = eventually("counts are shown", SOON, || async {
                asker.send(query, json!({ "n": note(*id) })).await.body["data"]["note"]["likeCount"].as_i64()
            });
            (*id, count.await)
        };
        join_all(self.notes.iter().map(one)).await.into_iter().collect()
    }
}
