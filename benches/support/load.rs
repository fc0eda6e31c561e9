//! Likes at a steady rate, and their latency.

use std::{
    ops::RangeInclusive,
    time::{Duration, Instant},
};

use hdrhistogram::Histogram;
use plaudit_token_auth::{Role, Subject, TokenSecret, TokenSigner};
use rand::RngExt;
use serde_json::{Value, json};
use tokio::{task::JoinSet, time::MissedTickBehavior};

use super::{Outcome, server::SECRET};

/// One like in this time, also while earlier ones are not answered.
const PACE: Duration = Duration::from_millis(5);
/// After `RETRY_LATER`.
const PAUSE: Duration = Duration::from_millis(20);

pub struct Load {
    client: reqwest::Client,
    url: String,
    tokens: Vec<String>,
    notes: u64,
}

impl Load {
    /// Of the users `auth0|<n>`, for notes 1 to `notes`.
    pub fn new(url: &str, users: RangeInclusive<u64>, notes: u64) -> Outcome<Self> {
        let _ = rustls::crypto::ring::default_provider().install_default(); // fails only if a provider is installed
        let signer = TokenSigner::hs256(&SECRET.parse::<TokenSecret>()?);
        let token = |user: u64| -> Outcome<String> {
            let subject = format!("auth0|{user}").parse::<Subject>()?;
            Ok(signer.sign(&subject, Role::User, Duration::from_hours(1))?)
        };
        let tokens = users.map(token).collect::<Outcome<Vec<_>>>()?;
        Ok(Self { client: reqwest::Client::new(), url: format!("{url}/graphql"), tokens, notes })
    }

    /// Latency in microseconds of the likes until `end`.
    pub async fn run(&self, end: impl Future<Output = ()>) -> Outcome<Histogram<u64>> {
        let (mut micros, mut likes) = (Histogram::new(3)?, JoinSet::<Result<u64, String>>::new());
        let mut ticks = tokio::time::interval(PACE);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Burst);
        tokio::pin!(end);
        loop {
            tokio::select! {
                () = &mut end => break,
                _ = ticks.tick() => drop(likes.spawn(self.like())),
                Some(like) = likes.join_next() => micros.record(like??)?,
            }
        }
        while let Some(like) = likes.join_next().await {
            micros.record(like??)?;
        }
        Ok(micros)
    }

    /// A like, or the taking back of one, of a random user and a random note. What is to be repeated is repeated, and
    /// takes as long as all of it.
    fn like(&self) -> impl Future<Output = Result<u64, String>> + use<> {
        let mut rng = rand::rng();
        let note = liked_note(self.notes, &mut rng);
        let mutation = if rng.random_bool(0.8) { "likeNote" } else { "unlikeNote" };
        // One text per mutation, as clients have it: the server parses a text once.
        let query = format!(
            "mutation ($note: ID!) {{ {mutation}(input: {{ noteId: $note }}) {{ changed note {{ likeCount }} }} }}"
        );
        let token = &self.tokens[rng.random_range(0..self.tokens.len())];
        let body = json!({ "query": query, "variables": { "note": format!("note_{note}") } });
        let request = self.client.post(&self.url).bearer_auth(token).json(&body);
        async move {
            let start = Instant::now();
            loop {
                let request = request.try_clone().ok_or("its body is a stream")?;
                let reply = request.send().await.map_err(|error| error.to_string())?;
                let reply: Value = reply.json().await.map_err(|error| error.to_string())?;
                if reply["data"][mutation]["changed"].is_boolean() {
                    return Ok(start.elapsed().as_micros() as u64);
                }
                if reply["errors"][0]["extensions"]["code"] != "RETRY_LATER" {
                    return Err(reply.to_string());
                }
                tokio::time::sleep(PAUSE).await;
            }
        }
    }
}

/// One of so many notes, by Zipf's law: the n-th one has about 1/n of the likes of the first one.
pub fn liked_note(notes: u64, rng: &mut impl RngExt) -> u64 {
    (notes as f64).powf(rng.random()) as u64
}

pub fn print(when: &str, micros: &Histogram<u64>) {
    let millis = |quantile| micros.value_at_quantile(quantile) as f64 / 1_000.0;
    println!(
        "  {} likes {when}, milliseconds: p50 {:.1}, p99 {:.1}, longest {:.1}",
        micros.len(),
        millis(0.5),
        millis(0.99),
        millis(1.0)
    );
}
