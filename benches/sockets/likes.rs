//! Likes of one note at a steady rate, by as many users as there are likes in a second. Each user likes in one
//! second and takes it back in the next.

use std::time::{Duration, Instant};

use futures_util::{StreamExt, TryStreamExt, stream};
use serde_json::{Value, json};
use tokio::time::MissedTickBehavior;

use super::{Outcome, server::token};

/// Its number.
pub const NOTE: usize = 1;
/// How often likes are sent.
const BEAT: Duration = Duration::from_millis(10);
/// Users that are made at the same time.
const AT_ONCE: usize = 32;

pub struct Likes {
    client: reqwest::Client,
    url: String,
    tokens: Vec<String>,
    seconds: usize,
    are_on: bool,
}

/// An acknowledged like.
pub struct Like {
    pub sent: Instant,
    /// Of the counts in its reply: at least that of its own event.
    pub version: u64,
}

impl Likes {
    /// Each user likes once, so that all exist before the measurement.
    pub async fn prepare(url: &str, per_second: usize, seconds: usize) -> Outcome<Self> {
        let tokens =
            (0..per_second).map(|user| token(&format!("fan {user}"))).collect::<Outcome<Vec<_>>>()?;
        let url = format!("{url}/graphql");
        // Fails only if a provider is already installed.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let likes = Self { client: reqwest::Client::new(), url, tokens, seconds, are_on: true };
        let first = (0..per_second).map(|user| likes.like(user, true));
        stream::iter(first).buffer_unordered(AT_ONCE).try_collect::<Vec<_>>().await?;
        Ok(likes)
    }

    /// Returns when all are acknowledged.
    pub async fn run(&mut self) -> Outcome<Vec<Like>> {
        let mut beat = tokio::time::interval(BEAT);
        beat.set_missed_tick_behavior(MissedTickBehavior::Burst);
        let per_beat = self.tokens.len().div_ceil((1_000 / BEAT.as_millis()) as usize);
        let (mut sent, mut done) = (Vec::new(), Vec::new());
        for _ in 0..self.seconds {
            self.are_on = !self.are_on;
            for first in (0..self.tokens.len()).step_by(per_beat) {
                beat.tick().await;
                for user in first..self.tokens.len().min(first + per_beat) {
                    sent.push(tokio::spawn(self.like(user, self.are_on)));
                }
            }
        }
        for like in sent {
            done.push(like.await??);
        }
        Ok(done)
    }

    fn like(&self, user: usize, on: bool) -> impl Future<Output = Outcome<Like>> + Send + use<> {
        let mutation = if on { "likeNote" } else { "unlikeNote" };
        let query = format!(
            "mutation {{ {mutation}(input: {{ noteId: \"note_{NOTE}\" }}) {{ note {{ countsVersion }} }} }}"
        );
        let request =
            self.client.post(&self.url).bearer_auth(&self.tokens[user]).json(&json!({ "query": query }));
        async move {
            let sent = Instant::now();
            let reply: Value = request.send().await?.json().await?;
            let version = reply["data"][mutation]["note"]["countsVersion"].as_u64();
            Ok(Like { sent, version: version.ok_or_else(|| reply.to_string())? })
        }
    }

    /// Likes of the note, and their version.
    pub async fn present(&self) -> Outcome<(u64, u64)> {
        let query = format!("{{ note(id: \"note_{NOTE}\") {{ likeCount countsVersion }} }}");
        let request = self.client.post(&self.url).json(&json!({ "query": query }));
        let reply: Value = request.send().await?.json().await?;
        let number = |field: &str| reply["data"]["note"][field].as_u64().ok_or_else(|| reply.to_string());
        Ok((number("likeCount")?, number("countsVersion")?))
    }
}
