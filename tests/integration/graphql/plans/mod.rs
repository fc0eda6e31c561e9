//! Plans answer as the engine does: random documents of the schema, sent to a server with plans and to one without, get
//! equal answers, byte for byte apart from the order of errors.
//!
//! - [`queries`]: queries, on the same stores; [`failing`]: the same while statements fail
//! - [`mutations`]: mutations, on stores with equal data; [`events`]: events of subscriptions
//! - [`documents`]: which documents have a plan
//! - [`generator`]: random documents of the [`schema`]; [`data`]: what they ask for; [`answer`]: how answers
//!   are compared
//!
//! `PLANS_SECONDS` sets how long each comparison takes, `PLANS_SEED` repeats a failure.

mod answer;
mod data;
mod documents;
mod events;
mod failing;
mod generator;
mod mutations;
mod queries;
mod schema;

use std::time::{Duration, Instant, UNIX_EPOCH};

use plaudit_token_auth::Role;
use support::{Client, Server};

/// The time and the seed of a comparison.
struct Comparison {
    seed: u64,
    begin: Instant,
    time: Duration,
}

impl Comparison {
    /// `seconds`: how long it takes if the environment does not say.
    fn of_seconds(seconds: u64) -> Self {
        let set = |name: &str| std::env::var(name).ok().map(|number| number.parse::<u64>().unwrap());
        let seed = set("PLANS_SEED").unwrap_or_else(|| UNIX_EPOCH.elapsed().unwrap().as_nanos() as u64);
        let time = Duration::from_secs(set("PLANS_SECONDS").unwrap_or(seconds));
        Self { seed, begin: Instant::now(), time }
    }

    /// The seeds of the documents.
    fn seeds(&self) -> impl Iterator<Item = u64> {
        (0..).map(|number| self.seed.wrapping_add(number)).take_while(|_| self.begin.elapsed() < self.time)
    }
}

const ANN: usize = 1;
const BEA: usize = 2;
const MODERATOR: usize = 4;
const SERVICE: usize = 5;

/// Clients of each kind.
fn callers(server: &Server) -> [Client; 6] {
    let of = |role, subject: &str| Client::of(&server.url, role, subject);
    [
        server.anonymous(),
        of(Role::User, "ann"),
        of(Role::User, "bea"),
        of(Role::User, "nobody yet"),
        of(Role::Moderator, "mod"),
        of(Role::Service, "app"),
    ]
}

/// Answers and events of this server by plans.
async fn by_plans(server: &Server) -> f64 {
    server.metric("plaudit_executions_total{by=\"plan\"}").await
}
