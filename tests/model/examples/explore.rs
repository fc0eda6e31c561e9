//! Explores one run of the model of the counters, and prints the result:
//! `explore FAULTS [small] [hub] [direct] [events=2,1] [without=GUARDS] [states=N]`; FAULTS by name with commas, or
//! `none`.

use std::time::Duration;

use plaudit_model::{
    check::{Bound, explore},
    counters::{Counters, Fault, Guard, Scope},
};

fn main() {
    let mut arguments = std::env::args().skip(1);
    let faults: Vec<Fault> = arguments
        .next()
        .unwrap_or_default()
        .split(',')
        .filter(|name| !name.is_empty() && *name != "none")
        .map(|name| named(Fault::ALL, name))
        .collect();
    let mut scope = Scope::new(&faults);
    let mut bound = Bound { states: 20_000_000, time: Duration::from_secs(300) };
    for argument in arguments {
        match argument.split_once('=').unwrap_or((&argument, "")) {
            ("small", _) => scope = scope.in_small_steps(),
            ("hub", _) => scope = scope.with_hub(),
            ("direct", _) => scope = scope.with_direct_change(),
            ("without", guard) => {
                scope =
                    scope.without(&guard.split(',').map(|name| named(Guard::ALL, name)).collect::<Vec<_>>())
            }
            ("events", counts) => {
                let mut counts = counts.split(',').filter_map(|count| count.parse().ok());
                scope = scope.events(counts.next().unwrap_or(2), counts.next().unwrap_or(2));
            }
            ("states", count) => bound.states = count.parse().unwrap_or(bound.states),
            (other, _) => panic!("unknown argument: {other}"),
        }
    }
    let findings = explore(Counters { scope }, bound);
    println!("{findings}");
    if let Some(failure) = findings.failure {
        println!("{}", failure.last_state);
    }
}

fn named<T: Copy + std::fmt::Debug>(all: &[T], name: &str) -> T {
    *all.iter()
        .find(|item| format!("{item:?}") == name)
        .unwrap_or_else(|| panic!("unknown: {name}; known are {all:?}"))
}
