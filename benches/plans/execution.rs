//! Execution without HTTP, by an engine of this process.

use std::{
    num::NonZeroUsize,
    time::{Duration, Instant},
};

use async_graphql::{Request, Variables};
use plaudit_catalogue::{
    primitives::ShardCount,
    settings::{CostSettings, DomainSettings, RateSettings},
};
use plaudit_counting::hub::Hub;
use plaudit_domain::Plaudit;
use plaudit_embedded_stores::DataDir;
use plaudit_graphql::{Caller, Engine, Viewer};
use plaudit_store::{redis::Redis, sql::Db};
use plaudit_token_auth::{Identity, Role, TokenProfile};
use rustix::time::{ClockId, clock_gettime};
use tokio_util::sync::CancellationToken;

use super::{Outcome, documents::Document, median, micros};

/// Executions of one round.
const AT_ONCE: usize = 20;

/// Measures each query with a list for this time, and prints the table.
pub async fn measure(data: &DataDir, documents: &[Document], time: Duration) -> Outcome<()> {
    let stop = CancellationToken::new();
    let plaudit = plaudit(data, &stop)?;
    let engine = Engine::new(plaudit, CostSettings::of_development(), false);
    println!("execution without HTTP, CPU in microseconds, median of rounds of {AT_ONCE}:");
    for document in documents.iter().filter(|document| document.is_query() && document.has_list()) {
        round(&engine, document).await?; // the first execution makes the plan, and warms up
        let (mut rounds, begin) = (Vec::new(), Instant::now());
        while begin.elapsed() < time {
            rounds.push(round(&engine, document).await?);
        }
        println!("  {:<22}{:>10.0}", document.name, median(rounds));
    }
    stop.cancel();
    Ok(())
}

/// The parts of an API process. The server beside it leads the shards.
fn plaudit(data: &DataDir, stop: &CancellationToken) -> Outcome<Plaudit> {
    let redis = Redis::new(&data.redis_url(), ShardCount::new(2).ok_or("no shards")?)?;
    let db = Db::for_requests(&data.database_url(), 8)?;
    let hub = Hub::new(redis.clone(), db.clone(), NonZeroUsize::new(100_000).ok_or("no cache")?);
    let (following, until) = (hub.clone(), stop.clone());
    tokio::spawn(async move { following.run(until).await });
    let settings = DomainSettings { rates: RateSettings::unlimited(), ..DomainSettings::default() };
    Ok(Plaudit::new(redis, db, hub, settings))
}

/// CPU microseconds of one execution, the mean of a round.
async fn round(engine: &Engine, document: &Document) -> Outcome<f64> {
    let expires_at = chrono::Utc::now() + Duration::from_mins(10);
    let identity = Identity {
        subject: "mira.okafor".parse()?,
        role: Role::Moderator,
        profile: TokenProfile::default(),
        expires_at,
    };
    let caller = Caller { viewer: Viewer::signed_in(identity), ..Caller::nobody() };
    let mut spent = Duration::ZERO;
    for _ in 0..AT_ONCE {
        let variables = Variables::from_json(document.variables.clone());
        let request = Request::new(&document.text).variables(variables);
        let prepared =
            engine.prepare(request, caller.clone()).await.map_err(|refused| format!("{:?}", refused.0))?;
        let begin = cpu_time();
        let executed = engine.execute(prepared).await.map_err(|refused| format!("{:?}", refused.0))?;
        if let Some(error) = executed.errors().first() {
            return Err(format!("{}: {error}", document.name).into());
        }
        std::hint::black_box(executed.into_bytes());
        spent += cpu_time() - begin;
    }
    Ok(micros(spent) / AT_ONCE as f64)
}

/// CPU time of this thread, which runs everything but the stores.
fn cpu_time() -> Duration {
    clock_gettime(ClockId::ThreadCPUTime).try_into().unwrap_or_default()
}
