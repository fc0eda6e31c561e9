//! Random queries, and mutations that change nothing, on the same stores.

use plaudit_embedded_stores::AppendFsync;
use serde_json::Value;

use super::{
    BEA, Comparison,
    answer::ask,
    by_plans, callers,
    data::fill,
    generator::{Generator, Request},
    schema::Schema,
};
use support::{Client, Server, Stores};

#[tokio::test(flavor = "multi_thread")]
async fn random_documents_are_answered_by_plans_as_by_the_engine() {
    let stores = Stores::start(AppendFsync::EverySec).await;
    let planned = Server::start_on(&stores, &[]);
    let ids = fill(&planned, &stores).await;
    let engine = Server::start_on(&stores, &["--plans", "false"]);

    let schema = Schema::of_plaudit();
    let (planned_callers, engine_callers) = (callers(&planned), callers(&engine));
    let note_of_ann = ids.iter().find(|id| id.starts_with("note_")).unwrap();
    let input = format!("noteId: \"{note_of_ann}\"");
    let comparison = Comparison::of_seconds(30);
    let mut documents = 0;
    for seed in comparison.seeds() {
        let mut generator = Generator::new(&schema, &ids, seed);
        let (caller, request) = if generator.random.one_in(8) {
            // Bea has liked and collected the note of Ann.
            (BEA, repetition(generator, &input))
        } else {
            (generator.random.below(planned_callers.len()), generator.query())
        };
        is_answered_equally(seed, &request, &planned_callers[caller], &engine_callers[caller]).await;
        documents += 1;
    }
    let answered = by_plans(&planned).await;
    println!("{documents} documents from seed {}, {answered} answers by plans", comparison.seed);
    assert!(answered > f64::from(documents) / 4.0, "{answered} of {documents}");
    assert_eq!(by_plans(&engine).await, 0.0);
}

/// A mutation that changes nothing, because it was done before.
fn repetition(mut generator: Generator<'_>, input: &str) -> Request {
    let (mutation, payload) =
        *generator.random.pick(&[("likeNote", "LikeNotePayload"), ("collectNote", "CollectNotePayload")]);
    let selection = generator.selection(payload, 3);
    generator.document("mutation", &format!("{{ {mutation}(input: {{ {input} }}) {selection} }}"))
}

/// Sends the request to the server with plans twice: the first time, it has no plan yet.
pub async fn is_answered_equally(seed: u64, request: &(String, Value), planned: &Client, engine: &Client) {
    let by_engine = ask(engine, request).await;
    for time in 1..=2 {
        let by_plan = ask(planned, request).await;
        assert_eq!(by_plan, by_engine, "time {time}, PLANS_SEED={seed}: {} {}", request.0, request.1);
    }
}
