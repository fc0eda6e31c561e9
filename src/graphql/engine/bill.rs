//! What executions cost: the meters of the process, and what a caller is charged.

use std::sync::Arc;

use async_graphql::Request;
use async_graphql_value::ConstValue;

use plaudit_domain::{CostMeters, Payer, PerClass, Plaudit, Work};
use plaudit_store::tally::Tally;

/// A query, a subscription, or a request that could not be parsed.
pub(super) const READ: PerClass = PerClass::of_reads(1);

/// Bytes of a mutation that it may write: its document and the texts in its variables.
pub(super) fn written(request: &Request) -> u64 {
    fn texts(value: &ConstValue) -> usize {
        match value {
            ConstValue::String(text) => text.len(),
            ConstValue::List(values) => values.iter().map(texts).sum(),
            ConstValue::Object(fields) => fields.values().map(texts).sum(),
            _ => 0,
        }
    }
    let variables: usize = request.variables.values().map(texts).sum();
    (request.query.len() + variables) as u64
}

/// Meters of what was executed.
pub(super) struct Costs {
    of_requests: CostMeters,
    pub(super) of_events: CostMeters,
}

impl Costs {
    pub(super) fn new() -> Self {
        Self { of_requests: CostMeters::new("requests"), of_events: CostMeters::new("events") }
    }

    /// Charges for work, of which a part was known and counted before.
    pub(super) fn charge(&self, plaudit: &Plaudit, payer: &Payer, known: &Work, work: &Work) {
        self.of_requests.add(work);
        let rest = work.cost().units() - known.cost().units();
        if rest > 0 {
            plaudit.rates().charge(payer, &PerClass::of_reads(rest));
        }
    }
}

/// Charges for what an execution has cost beyond what was known before, however it ends.
pub(super) struct Bill<'e> {
    pub(super) plaudit: &'e Plaudit,
    pub(super) costs: &'e Costs,
    pub(super) payer: &'e Payer,
    pub(super) known: Work,
    /// Of the answer.
    pub(super) bytes: u64,
    pub(super) stores: Option<Arc<Tally>>,
}

impl Drop for Bill<'_> {
    fn drop(&mut self) {
        let Self { plaudit, costs, payer, known, bytes, stores } = self;
        let work = with_stores(Work { bytes: *bytes, ..*known }, stores.as_deref());
        costs.charge(plaudit, payer, known, &work);
    }
}

/// The work with the calls to stores that were made for it.
pub(super) fn with_stores(work: Work, stores: Option<&Tally>) -> Work {
    let Some(stores) = stores else { return work };
    Work {
        round_trips: stores.redis_round_trips().into(),
        commands: stores.redis_commands().into(),
        scripts: stores.redis_scripts().into(),
        statements: stores.sql_statements().into(),
        ..work
    }
}
