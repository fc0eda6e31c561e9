//! Random queries, and mutations that change nothing, on the same stores.

use plaudit_embedded_stores::AppendFsync;

use super::{
    BEA, Comparison, Oracle,
    answer::{Answer, ask},
    answered, callers,
    data::fill,
    generator::{Generator, Request},
    schema::Schema,
};
use support::{Client, SOON, Server, Stores, eventually};

#[tokio::test(flavor = "multi_thread")]
async fn random_documents_are_answered_by_plans_as_by_the_oracle() {
    let stores = Stores::start(AppendFsync::EverySec).await;
    let server = Server::start_on(&stores, &[]);
    let ids = fill(&server, &stores).await;
    let oracle = Oracle::start(&stores);

    let schema = Schema::of_plaudit();
    let callers = callers(&server);
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
            (generator.random.below(callers.len()), generator.query())
        };
        is_answered_equally(seed, &request, &callers[caller], (&oracle, caller)).await;
        documents += 1;
    }
    let answered = answered(&server).await;
    println!("{documents} documents from seed {}, {answered} answers", comparison.seed);
    assert!(answered > f64::from(documents) / 4.0, "{answered} of {documents}");
}

/// A mutation that changes nothing, because it was done before.
fn repetition(mut generator: Generator<'_>, input: &str) -> Request {
    let (mutation, payload) =
        *generator.random.pick(&[("likeNote", "LikeNotePayload"), ("collectNote", "CollectNotePayload")]);
    let selection = generator.selection(payload, 3);
    generator.document("mutation", &format!("{{ {mutation}(input: {{ {input} }}) {selection} }}"))
}

/// Sends the request to the server twice: the first time, it has no plan yet. An answer that a busy machine did not give
/// in time is asked for again.
pub async fn is_answered_equally(
    seed: u64,
    request: &Request,
    client: &Client,
    (oracle, caller): (&Oracle, usize),
) {
    for time in 1..=2 {
        let (by_plan, expected) = eventually("both are answered in time", SOON, || async {
            let by_plan = ask(client, request).await;
            let expected = Answer::of(&oracle.text(caller, request).await);
            [&by_plan, &expected].iter().all(|answer| answer.is_final()).then_some((by_plan, expected))
        })
        .await;
        assert_eq!(by_plan, expected, "time {time}, PLANS_SEED={seed}: {} {}", request.0, request.1);
    }
}
