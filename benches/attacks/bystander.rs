//! A bystander: reads, likes and watches as somebody with a page open does, and measures how long each takes.

use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use serde_json::{Value, json};

use super::{WATCHED, server::token};
use crate::{sockets::socket::Subscriber, support::Outcome};

const FEED: &str = "{ feed(first: 20) { nodes {
    id title likeCount commentCount viewerHasLiked author { id name } } } }";
const LIKE: &str =
    "mutation ($note: ID!) { likeNote(input: { noteId: $note }) { changed note { countsVersion } } }";
const UNLIKE: &str = "mutation ($note: ID!) { likeNote: unlikeNote(input: { noteId: $note }) { changed note { countsVersion } } }";
/// Pause between two rounds.
const PAUSE: Duration = Duration::from_millis(30);
/// After this, an answer or a push has failed.
const PATIENCE: Duration = Duration::from_secs(5);

pub struct Bystander {
    url: String,
    http: reqwest::Client,
    token: String,
    page: Subscriber,
}

/// In microseconds.
pub struct Times {
    feed: Histogram<u64>,
    like: Histogram<u64>,
    push: Histogram<u64>,
    pub failed: u64,
}

impl Bystander {
    /// `is_newcomer`: whether each request has a connection of its own.
    pub async fn begin(url: &str, is_newcomer: bool) -> Outcome<Self> {
        let http = reqwest::Client::builder().timeout(PATIENCE);
        let http = if is_newcomer { http.pool_max_idle_per_host(0) } else { http }.build()?;
        let page = Subscriber::open(url, WATCHED).await?;
        Ok(Self { url: format!("{url}/graphql"), http, token: token("a bystander")?, page })
    }

    pub async fn measure(&self, length: Duration) -> Outcome<Times> {
        let new = || Histogram::<u64>::new(3);
        let mut times = Times { feed: new()?, like: new()?, push: new()?, failed: 0 };
        let end = Instant::now() + length;
        let mut is_liked = false;
        while Instant::now() < end {
            let began = Instant::now();
            match self.send(FEED, json!({})).await {
                Ok(_) => times.feed.record(began.elapsed().as_micros() as u64)?,
                Err(_) => times.failed += 1,
            }
            let began = Instant::now();
            let flip = if is_liked { UNLIKE } else { LIKE };
            match self.send(flip, json!({ "note": format!("note_{WATCHED}") })).await {
                Ok(data) => {
                    times.like.record(began.elapsed().as_micros() as u64)?;
                    is_liked = !is_liked;
                    let version = data["likeNote"]["note"]["countsVersion"].as_u64().ok_or("no version")?;
                    match self.pushed(version, began).await {
                        Some(at) => times.push.record((at - began).as_micros() as u64)?,
                        None => times.failed += 1,
                    }
                }
                Err(_) => times.failed += 1,
            }
            tokio::time::sleep(PAUSE).await;
        }
        Ok(times)
    }

    async fn send(&self, query: &str, variables: Value) -> Outcome<Value> {
        let body = json!({ "query": query, "variables": variables });
        let mut answer: Value =
            self.http.post(&self.url).bearer_auth(&self.token).json(&body).send().await?.json().await?;
        match answer.get("errors") {
            None => Ok(answer["data"].take()),
            Some(errors) => Err(errors.to_string().into()),
        }
    }

    /// When the page got counts of this version or a newer one.
    async fn pushed(&self, version: u64, began: Instant) -> Option<Instant> {
        while began.elapsed() < PATIENCE {
            let arrivals = self.page.arrivals();
            if let Some(arrival) =
                arrivals.iter().rev().take_while(|arrival| arrival.version >= version).last()
            {
                return Some(arrival.at.max(began));
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        None
    }
}

impl Times {
    pub fn p99(&self) -> [(&'static str, f64); 3] {
        let millis = |times: &Histogram<u64>| times.value_at_quantile(0.99) as f64 / 1e3;
        [("feed", millis(&self.feed)), ("like", millis(&self.like)), ("push", millis(&self.push))]
    }

    pub fn row(&self) -> String {
        let both = |times: &Histogram<u64>| {
            let millis = |quantile| times.value_at_quantile(quantile) as f64 / 1e3;
            format!("{:.1}, {:.1}", millis(0.5), millis(0.99))
        };
        format!("{:>26}{:>16}{:>16}{:>8}", both(&self.feed), both(&self.like), both(&self.push), self.failed)
    }
}
