//! Benchmarks. `cargo measure membership` runs one; what each measures, and its arguments, is at the top of
//! its file.

mod attacks;
mod backlog;
mod guard;
mod import;
mod like_latency;
mod membership;
mod plans;
mod shards;
mod sockets;
mod stop;
mod support;

use support::Outcome;

/// As in the program.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

type Bench = fn() -> Outcome<()>;

const BENCHES: &[(&str, Bench)] = &[
    ("attacks", attacks::main),
    ("backlog", backlog::main),
    ("guard", guard::main),
    ("import", import::main),
    ("like_latency", like_latency::main),
    ("membership", membership::main),
    ("plans", plans::main),
    ("shards", shards::main),
    ("sockets", sockets::main),
    ("stop", stop::main),
];

fn main() -> Outcome<()> {
    let wanted = std::env::args().skip(1).find(|argument| !argument.starts_with('-'));
    let is_wanted = |name: &str| wanted.as_ref().is_none_or(|wanted| wanted == name);
    let mut benches = BENCHES.iter().filter(|(name, _)| is_wanted(name)).peekable();
    if benches.peek().is_none() {
        let names: Vec<&str> = BENCHES.iter().map(|(name, _)| *name).collect();
        return Err(format!("there is no such benchmark; there are {}", names.join(", ")).into());
    }
    benches.try_for_each(|(_, run)| run())
}
