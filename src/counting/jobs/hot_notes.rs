//! Rankings of hot notes: a singleton job that makes the ranking of each window, for all processes. The last one stays
//! in Redis until the next is made.

use std::{sync::Arc, time::Duration};

use tokio::time::{MissedTickBehavior, interval};

use crate::leadership::Leadership;
use plaudit_catalogue::{HotWindow, Ranking};
use plaudit_store::{
    StoreError, StoreResult,
    redis::{counts::heat, entities},
    sql::counting,
};

/// How often each ranking is made.
const EVERY: Duration = Duration::from_secs(3);

/// Never returns.
pub async fn run(leadership: Arc<Leadership>) -> StoreError {
    // One after the other, evenly spread: each keeps Redis busy for some milliseconds, or PostgreSQL for tens of them.
    let mut ticks = interval(EVERY / HotWindow::ALL.len() as u32);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        for window in HotWindow::ALL {
            ticks.tick().await;
            match make(&leadership, *window).await {
                Err(error) if error.is_transient() => {
                    tracing::debug!(window = window.name(), %error, "cannot make a ranking now; the last one stays");
                }
                Err(error) => {
                    tracing::error!(window = window.name(), %error, "cannot make a ranking; the last one stays");
                }
                Ok(()) => {}
            }
        }
    }
}

/// Makes the ranking of a window by its heat. By totals if nothing was hot in it; and while its heat is rebuilt, if
/// there is no earlier ranking.
async fn make(leadership: &Leadership, window: HotWindow) -> StoreResult<()> {
    let (redis, now) = (leadership.redis(), plaudit_catalogue::primitives::now());
    let heat = match window {
        HotWindow::Last(span) => heat::hottest(redis, span, now, Ranking::MOST).await?,
        HotWindow::All => Some(Vec::new()),
    };
    if heat.is_none() && entities::rankings::ranking(redis, window).await?.is_some() {
        return Ok(());
    }
    let mut ranking = Ranking::by_heat(window, heat.unwrap_or_default());
    if ranking.notes.is_empty() {
        let candidates = counting::rankings::hot_candidates(leadership.db(), Ranking::CANDIDATES).await?;
        ranking = Ranking::by_totals(window, candidates);
    }
    // Before the first notes, each process looks for them itself.
    if ranking.notes.is_empty() {
        Ok(())
    } else {
        entities::rankings::write_ranking(redis, window, &ranking).await
    }
}
