//! Benchmark of plans: what a document costs.
//!
//! 1. Execution: CPU time of the process's only thread for one execution, without HTTP, of the queries in
//!    `schema/examples` that have a list.
//! 2. HTTP: requests per second and CPU time of the server per request, over `CONNECTIONS` (8), of all queries and of
//!    those mutations that may be repeated.
//! 3. `{ __typename }`: CPU time of the server per request, compared with a handler of the same HTTP stack that answers
//!    the same bytes (goal: at most twice).
//!
//! `cargo measure plans`. Each document runs for `MILLIS` (1,000) per measurement. Stores and clients run on the
//! same machine, so requests per second are a lower bound; CPU time hardly depends on them.

mod bare;
mod documents;
mod execution;
mod http;
mod server;

use crate::support::{Outcome, with_stores};
use std::time::Duration;

use plaudit_embedded_stores::{DataDir, Options};

use crate::support::median::median;
use crate::support::size::size;
use documents::Document;
use http::Load;
use server::Server;

pub fn main() -> Outcome<()> {
    if bare::is_asked_for() {
        return bare::serve();
    }
    with_stores(Options { durable: false, ..Options::default() }, |data, _| measure(data))
}

fn measure(data: &DataDir) -> Outcome<()> {
    let time = Duration::from_millis(size("MILLIS", 1_000)?);
    let connections = size("CONNECTIONS", 8)? as usize;
    let planned = Server::start(data, &["--seed-if-empty"])?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let documents = runtime.block_on(documents::of_examples(&planned.url))?;
    runtime.block_on(execution::measure(data, &documents, time))?;

    // The clients use one thread.
    let load = |server: &Server, document: &Document| {
        runtime.block_on(http::measure(server, document, connections, time))
    };
    let type_name = Document::of("{ __typename }");
    let by_plan = documents.iter().map(|document| load(&planned, document)).collect::<Outcome<Vec<_>>>()?;
    let type_name_by_plan = load(&planned, &type_name)?;
    planned.stop()?;
    print(&documents, &by_plan);

    let bare = Server::start_bare()?;
    let type_name_bare = load(&bare, &type_name)?;
    bare.stop()?;
    println!("\n{{ __typename }} over HTTP:");
    let ratio = |load: &Load| load.cpu.as_secs_f64() / type_name_bare.cpu.as_secs_f64();
    for (name, load) in [("bare handler", &type_name_bare), ("plan", &type_name_by_plan)] {
        println!("  {name:<14}{:>9.0} /s{:>9.1} µs{:>7.2}", load.per_second, micros(load.cpu), ratio(load));
    }
    Ok(())
}

fn print(documents: &[Document], loads: &[Load]) {
    println!("\nover HTTP: requests per second, and CPU of the server per request in microseconds:");
    for (document, load) in documents.iter().zip(loads) {
        println!("  {:<22}{:>10.0}{:>10.0}", document.name, load.per_second, micros(load.cpu));
    }
}

fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}
