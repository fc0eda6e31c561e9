//! Shares of executions, and of the work on documents that are not known: what costs much waits, so that
//! a caller who asks for little is answered as if nobody else asked.
//!
//! A process does so much at the same time as keeps its cores busy. An address has at most an eighth of what is
//! free beside its first execution (dynamic thresholds: Choudhury and Hahne, "Dynamic Queue Length Thresholds
//! for Shared-Memory Packet Switches", 1998). Of those that wait, addresses with least in execution are first,
//! and of one address the cheapest.

use std::{
    collections::{BTreeMap, HashMap},
    net::IpAddr,
    sync::Arc,
    thread::available_parallelism,
};

use parking_lot::Mutex;
use tokio::sync::oneshot;

/// Units of cost in execution at the same time, for each core.
const UNITS_PER_CORE: u32 = 16;
/// Tokens that are parsed and validated at the same time, for each core: some milliseconds of a worker.
const TOKENS_PER_CORE: u32 = 1_000;
/// An address may have this fraction of what is free: one in so many.
const ADDRESS_DIVISOR: u32 = 8;

/// Cheap to clone.
#[derive(Clone)]
pub struct Shares(Arc<Mutex<Executions>>);

struct Executions {
    capacity: u32,
    units: u32,
    by_address: HashMap<IpAddr, AddressShare>,
    /// How many have waited so far.
    waited: u64,
}

#[derive(Default)]
struct AddressShare {
    units: u32,
    waiting: BTreeMap<WaitingKey, oneshot::Sender<Share>>,
}

/// Cost, then arrival.
type WaitingKey = (u32, u64);

/// The place of a caller that waits, which it leaves when this is dropped.
struct WaitingCaller<'a> {
    shares: &'a Shares,
    address: IpAddr,
    key: WaitingKey,
}

/// An execution, until it is dropped.
pub struct Share {
    shares: Shares,
    address: IpAddr,
    units: u32,
}

impl Shares {
    /// Of executions, in units of cost.
    pub fn of_executions() -> Self {
        Self::with_capacity(UNITS_PER_CORE * cores())
    }

    /// Of documents that are parsed and validated, in tokens.
    pub fn of_documents() -> Self {
        Self::with_capacity(TOKENS_PER_CORE * cores())
    }

    fn with_capacity(capacity: u32) -> Self {
        let executions = Executions { capacity, units: 0, by_address: HashMap::new(), waited: 0 };
        Self(Arc::new(Mutex::new(executions)))
    }

    /// Waits until an execution of this cost may begin.
    pub async fn take(&self, address: IpAddr, units: u32) -> Option<Share> {
        let (place, begins) = {
            let mut executions = self.0.lock();
            let units = units.min(executions.capacity);
            if executions.has_room(address, units) {
                return Some(executions.begin(self, address, units));
            }
            let (key, begins) = executions.wait(address, units);
            (WaitingCaller { shares: self, address, key }, begins)
        };
        let share = begins.await.ok();
        drop(place);
        share
    }

    /// Begins the executions for which there is room.
    fn begin_next(&self) {
        loop {
            let begun = self.0.lock().begin_next(self);
            let Some((waiting, share)) = begun else { return };
            // If its caller has just left, the share comes back and is dropped.
            drop(waiting.send(share));
        }
    }
}

impl Executions {
    fn has_room(&self, address: IpAddr, units: u32) -> bool {
        let free = self.capacity.saturating_sub(self.units);
        let own = self.by_address.get(&address).map_or(0, |share| share.units);
        units <= free && (own == 0 || own + units <= free / ADDRESS_DIVISOR)
    }

    fn begin(&mut self, shares: &Shares, address: IpAddr, units: u32) -> Share {
        self.units += units;
        self.by_address.entry(address).or_default().units += units;
        Share { shares: shares.clone(), address, units }
    }

    fn wait(&mut self, address: IpAddr, units: u32) -> (WaitingKey, oneshot::Receiver<Share>) {
        let (begin, begins) = oneshot::channel();
        self.waited += 1;
        let key = (units, self.waited);
        self.by_address.entry(address).or_default().waiting.insert(key, begin);
        (key, begins)
    }

    fn begin_next(&mut self, shares: &Shares) -> Option<(oneshot::Sender<Share>, Share)> {
        let first = |(address, share): (&IpAddr, &AddressShare)| {
            let (units, arrival) = *share.waiting.first_key_value()?.0;
            Some(((share.units, units, arrival), *address))
        };
        let waiting = self.by_address.iter().filter_map(first);
        let may_begin = waiting.filter(|((_, units, _), address)| self.has_room(*address, *units));
        let ((_, units, _), address) = may_begin.min()?;
        let (_, begin) = self.by_address.get_mut(&address)?.waiting.pop_first()?;
        Some((begin, self.begin(shares, address, units)))
    }

    /// Forgets an address that has nothing in execution and does not wait.
    fn forget(&mut self, address: IpAddr) {
        let is_idle = |share: &AddressShare| share.units == 0 && share.waiting.is_empty();
        if self.by_address.get(&address).is_some_and(is_idle) {
            self.by_address.remove(&address);
        }
    }

    fn end(&mut self, address: IpAddr, units: u32) {
        self.units -= units;
        if let Some(share) = self.by_address.get_mut(&address) {
            share.units -= units;
        }
        self.forget(address);
    }
}

impl Drop for WaitingCaller<'_> {
    fn drop(&mut self) {
        let mut executions = self.shares.0.lock();
        if let Some(share) = executions.by_address.get_mut(&self.address) {
            share.waiting.remove(&self.key);
        }
        executions.forget(self.address);
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.shares.0.lock().end(self.address, self.units);
        self.shares.begin_next();
    }
}

fn cores() -> u32 {
    available_parallelism().map_or(1, |cores| u32::try_from(cores.get()).unwrap_or(1))
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    fn address(n: u8) -> IpAddr {
        [192, 0, 2, n].into()
    }

    #[tokio::test]
    async fn one_address_leaves_room_for_others() {
        let shares = Shares::with_capacity(64);
        let _first = shares.take(address(1), 20).await.unwrap();
        assert!(shares.take(address(1), 20).now_or_never().is_none());
        let _other = shares.take(address(2), 20).now_or_never().unwrap().unwrap();
        let _third = shares.take(address(3), 20).now_or_never().unwrap().unwrap();
        assert!(shares.take(address(4), 20).now_or_never().is_none(), "no more than the capacity");
    }

    #[tokio::test]
    async fn who_has_least_in_execution_is_next_and_then_what_costs_least() {
        let shares = Shares::with_capacity(64);
        let all = shares.take(address(1), 64).await.unwrap();
        let mut dear = Box::pin(shares.take(address(1), 40));
        let mut cheap = Box::pin(shares.take(address(1), 3));
        assert!((&mut dear).now_or_never().is_none() && (&mut cheap).now_or_never().is_none());
        drop(all);
        let begun = cheap.now_or_never().unwrap();
        assert!((&mut dear).now_or_never().is_none());
        drop(begun);
        assert!(dear.now_or_never().unwrap().is_some());
    }

    #[tokio::test]
    async fn a_caller_that_left_holds_up_nobody_and_nothing_is_kept_of_it() {
        let shares = Shares::with_capacity(64);
        let all = shares.take(address(1), 64).await.unwrap();
        for n in 0..50 {
            assert!(shares.take(address(n), 5).now_or_never().is_none());
        }
        let mut waiting = Box::pin(shares.take(address(60), 64));
        assert!((&mut waiting).now_or_never().is_none());
        drop(all);
        let last = waiting.await.unwrap();
        assert_eq!(shares.0.lock().by_address.len(), 1);
        drop(last);
        assert!(shares.0.lock().by_address.is_empty());
        assert_eq!(shares.0.lock().units, 0);
    }
}
