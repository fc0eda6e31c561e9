//! Likes of one note at a steady rate, by as many users as there are likes per second. Each user likes in one second
//! and unlikes in the next.

use std::time::{Duration, Instant};

use futures_util::{StreamExt, TryStreamExt, stream};
use serde_json::{Value, json};
use tokio::time::MissedTickBehavior;

use super::server::token;
use crate::support::Outcome;

/// The number of the note.
pub const NOTE: usize = 1;
/// Interval at which likes are sent.
const INTERVAL: Duration = Duration::from_millis(10);
/// Users that are created concurrently.
const CONCURRENCY: usize = 32;

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
    /// Version of the counts in the reply: at least that of the like's event.
    pub version: u64,
}

impl Likes {
    /// Lets each user like once, so that all users exist before the measurement.
    pub async fn prepare(url: &str, per_second: usize, seconds: usize) -> Outcome<Self> {
        let tokens =
            (0..per_second).map(|user| token(&format!("fan {user}"))).collect::<Outcome<Vec<_>>>()?;
        let url = format!("{url}/graphql");
        // Fails only if a provider is already installed.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let likes = Self { client: reqwest::Client::new(), url, tokens, seconds, are_on: true };
        let first = (0..per_second).map(|user| likes.like(user, true));
        stream::iter(first).buffer_unordered(CONCURRENCY).try_collect::<Vec<_>>().await?;
        Ok(likes)
    }

    /// Sends the likes; returns when all are acknowledged.
    pub async fn run(&mut self) -> Outcome<Vec<Like>> {
        let mut ticks = tokio::time::interval(INTERVAL);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Burst);
        let per_tick = self.tokens.len().div_ceil((1_000 / INTERVAL.as_millis()) as usize);
        let (mut sent, mut acknowledged) = (Vec::new(), Vec::new());
        for _ in 0..self.seconds {
            self.are_on = !self.are_on;
            for first in (0..self.tokens.len()).step_by(per_tick) {
                ticks.tick().await;
                for user in first..self.tokens.len().min(first + per_tick) {
                    sent.push(tokio::spawn(self.like(user, self.are_on)));
                }
            }
        }
        for like in sent {
            acknowledged.push(like.await??);
        }
        Ok(acknowledged)
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

    /// The current likes of the note, and their version.
    pub async fn current(&self) -> Outcome<(u64, u64)> {
        let query = format!("{{ note(id: \"note_{NOTE}\") {{ likeCount countsVersion }} }}");
        let request = self.client.post(&self.url).json(&json!({ "query": query }));
        let reply: Value = request.send().await?.json().await?;
        let number = |field: &str| reply["data"]["note"][field].as_u64().ok_or_else(|| reply.to_string());
        Ok((number("likeCount")?, number("countsVersion")?))
    }
}
