//! Plans answer as the algorithm of the GraphQL specification: random documents of the schema, sent to a server and to the
//! [`executor`] of this program, get equal answers, byte for byte apart from the order of errors.
//!
//! - [`queries`]: queries, on the same stores; [`failing`]: the same while statements fail
//! - [`mutations`]: mutations, on stores with equal data; [`events`]: events of subscriptions
//! - [`executor`]: the algorithm
//! - [`generator`]: random documents of the [`schema`]; [`data`]: what they ask for; [`answer`]: how answers
//!   are compared
//!
//! `PLANS_SECONDS` sets how long each comparison takes, `PLANS_SEED` repeats a failure.

#![expect(clippy::unwrap_used, reason = "a panic fails the test, as it should")]

mod answer;
mod data;
mod events;
mod executor;
mod failing;
mod generator;
mod mutations;
mod queries;
mod schema;

use std::{
    num::NonZeroUsize,
    time::{Duration, Instant, UNIX_EPOCH},
};

use async_graphql::{Request as EngineRequest, Variables};
use plaudit_catalogue::{
    primitives::ShardCount,
    settings::{CostSettings, DomainSettings, RateSettings},
};
use plaudit_counting::hub::Hub;
use plaudit_domain::{Plaudit, content::views};
use plaudit_graphql::{
    Caller, Engine, Rejection, Viewer,
    oracle::{FactsReader, Object, Scope},
};
use plaudit_store::{redis::Redis, sql::Db};
use plaudit_token_auth::{Identity, Role, TokenProfile};
use serde_json::json;
use support::{Client, Server, Stores};
use tokio_util::sync::{CancellationToken, DropGuard};

use executor::Execution;
use generator::Request;

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
/// Who asks, besides somebody without a token, who is the first.
const SIGNED_IN: [(Role, &str); 5] = [
    (Role::User, "ann"),
    (Role::User, "bea"),
    (Role::User, "nobody yet"),
    (Role::Moderator, "mod"),
    (Role::Service, "app"),
];

/// Clients of each kind.
fn callers(server: &Server) -> Vec<Client> {
    let signed_in =
        SIGNED_IN.iter().map(|(role, subject)| Client::of(&server.url, *role, subject).retrying());
    std::iter::once(server.anonymous()).chain(signed_in).collect()
}

/// Answers and events of this server.
async fn answered(server: &Server) -> f64 {
    server.metric("plaudit_executions_total{end=\"answered\"}").await
}

/// Most bytes of a body, and the answer of the HTTP layer to a longer one.
const MAX_BODY: usize = 262_144;
const TOO_LONG: &str = r#"{"errors":[{"message":"a request's body may have 262144 bytes at most: send a shorter document or fewer variables","extensions":{"code":"BAD_USER_INPUT","retryable":false}}]}"#;

/// The parts of an API process, whose documents the [`executor`] executes. A server beside it leads the shards.
struct Oracle {
    plaudit: Plaudit,
    engine: Engine,
    _stop: DropGuard,
}

impl Oracle {
    fn start(stores: &Stores) -> Self {
        let redis = Redis::new(stores.redis_url(), ShardCount::new(2).unwrap()).unwrap();
        let db = Db::for_requests(stores.database_url(), 8).unwrap().with_events(true);
        let hub = Hub::new(redis.clone(), db.clone(), NonZeroUsize::new(100_000).unwrap());
        let stop = CancellationToken::new();
        let (following, until) = (hub.clone(), stop.clone());
        tokio::spawn(async move { following.run(until).await });
        let settings = DomainSettings { rates: RateSettings::unlimited(), ..DomainSettings::default() };
        let plaudit = Plaudit::new(redis, db, hub, settings);
        let (viewed, until) = (plaudit.clone(), stop.clone());
        tokio::spawn(async move { views::run(&viewed, until).await });
        let engine = Engine::new(plaudit.clone(), CostSettings::of_development(), false);
        Self { plaudit, engine, _stop: stop.drop_guard() }
    }

    /// The answer to the request of the caller with this number.
    async fn text(&self, caller: usize, request: &Request) -> String {
        self.executed(caller, request, None).await
    }

    /// The event that has this object, for the caller with this number.
    async fn event(&self, caller: usize, request: &Request, object: Object) -> String {
        self.executed(caller, request, Some(object)).await
    }

    async fn executed(&self, caller: usize, request: &Request, event: Option<Object>) -> String {
        let (query, variables) = request;
        if json!({ "query": query, "variables": variables }).to_string().len() > MAX_BODY {
            return TOO_LONG.to_owned();
        }
        match self.try_execute(caller, request, event).await {
            Ok(answer) => answer,
            Err(Rejection(errors)) => format!("{{\"errors\":{}}}", serde_json::to_string(&errors).unwrap()),
        }
    }

    async fn try_execute(
        &self,
        caller: usize,
        (query, variables): &Request,
        event: Option<Object>,
    ) -> Result<String, Rejection> {
        let caller = Caller { viewer: viewer(caller), ..Caller::nobody() };
        let request = EngineRequest::new(query).variables(Variables::from_json(variables.clone()));
        let prepared = self.engine.prepare(request, caller.clone()).await?;
        self.engine.validated(&prepared).await?;
        let reader = FactsReader::new(self.plaudit.clone(), caller.viewer.clone()).for_request();
        let scope = Scope::of_request(reader, &caller);
        Ok(Execution::run(prepared.definition().unwrap(), event, &scope).await)
    }
}

fn viewer(caller: usize) -> Viewer {
    let Some(signed_in) = caller.checked_sub(1) else { return Viewer::default() };
    let (role, subject) = SIGNED_IN[signed_in];
    let expires_at = chrono::Utc::now() + Duration::from_mins(10);
    // As the tokens of tests name their users.
    let profile = TokenProfile { name: Some(subject.to_owned()), ..TokenProfile::default() };
    Viewer::signed_in(Identity { subject: subject.parse().unwrap(), role, profile, expires_at })
}
