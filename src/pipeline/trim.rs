//! Trims the log, ten minutes behind the slowest reader: a PostgreSQL that failed over may need to read
//! what it had persisted once more.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use super::tenure::Tenure;
use crate::{
    primitives::{
        Offset,
        fault::{self, Point},
    },
    store::StoreError,
};

const EVERY: Duration = Duration::from_secs(60);
const BEHIND: usize = 10;

pub async fn run(tenure: Arc<Tenure>) -> StoreError {
    // One position a minute; the oldest is the one that may go.
    let mut positions = VecDeque::<Offset>::with_capacity(BEHIND + 1);
    loop {
        positions.push_back(*tenure.progress.cleaned.borrow());
        if positions.len() > BEHIND
            && let Some(offset) = positions.pop_front()
            && let Err(error) = trim(&tenure, offset).await
        {
            return error;
        }
        tokio::time::sleep(EVERY).await;
    }
}

async fn trim(tenure: &Tenure, offset: Offset) -> Result<(), StoreError> {
    fault::reached(Point::BeforeTrim)?;
    match tenure.redis().trim_log(tenure.lease.shard, offset).await {
        Err(error) if error.is_transient() => Ok(()), // the next minute trims more
        result => result,
    }
}
