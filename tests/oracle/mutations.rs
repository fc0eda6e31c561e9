//! Random mutations that have an effect. Server and oracle have stores of their own, which begin with equal data: the same
//! mutation has equal answers, and queries have equal answers afterwards.

use std::collections::BTreeSet;

use async_graphql::parser::types::{FieldDefinition, Type};
use serde_json::{Map, Value, json};

use super::{
    ANN, Comparison, MODERATOR, Oracle, SERVICE,
    answer::{Answer, ask_steadily, steadily},
    answered, callers,
    data::fill,
    generator::{Generator, Random, Request, literal, unmarked},
    schema::{Schema, named},
};
use support::{Answer as Judgement, Client, ModerationService, SOON, Server, Stores, eventually};

/// Fields that follow an action moments later, or depend on the clock.
const LATER: [&str; 11] = [
    "activity",
    "followers",
    "following",
    "groups",
    "hotNotes",
    "inbox",
    "isSettled",
    "likers",
    "members",
    "settledCount",
    "viewCount",
];
/// Mutations whose effect on counts is worked off in the background, and these counts.
const BACKFILLS: [&str; 5] = ["deleteGroup", "deleteNote", "hideUser", "removeNotes", "restoreUser"];
const BACKFILLED: [&str; 14] = [
    "collectCount",
    "collectsReceivedCount",
    "commentCount",
    "totalCount",
    "featuredNoteCount",
    "isFeatured",
    "followerCount",
    "followingCount",
    "groupCount",
    "likeCount",
    "likesReceivedCount",
    "memberCount",
    "noteCount",
    "replyCount",
];
/// Fields that depend on the clock, also at rest, or have times within texts. The comments that wait are passed on to
/// people after some minutes; events, and the inbox entries of a backfill, are in the order in which the shards persist
/// them.
const OF_THE_CLOCK: [&str; 8] =
    ["hotNotes", "activity", "viewCount", "reviewQueue", "entries", "events", "explain", "exportUser"];

/// A server with its own stores, and the oracle that answers instead of it, if there is one.
struct Side {
    server: Server,
    stores: Stores,
    callers: Vec<Client>,
    oracle: Option<Oracle>,
}

impl Side {
    /// A server with the data of [`fill`], and the ids of that.
    async fn start(flags: &[&str]) -> (Self, Vec<String>) {
        let server = Server::start(flags);
        let (stores, callers) = (server.stores(), callers(&server));
        let ids = fill(&server, &stores).await;
        (Self { server, stores, callers, oracle: None }, ids)
    }

    /// Waits until everything that mutations began is done, apart from views.
    async fn rest(&self) {
        eventually("no backfill is left", SOON, || async {
            let left = "SELECT count(*) FROM backfill WHERE finished_at IS NULL AND $1 = 0";
            (self.stores.number(left, 0).await == 0).then_some(())
        })
        .await;
        self.stores.rest().await;
    }

    /// The answer to a mutation. Before, a caller without a token is refused, who may only view: then its
    /// document is known and has a plan.
    async fn mutate(&self, caller: usize, request: &Request) -> Answer {
        let refused = self.ask(0, request).await;
        assert!(
            !refused.errors.is_empty() || request.0.contains("recordViews"),
            "{} {}",
            request.0,
            request.1
        );
        self.ask(caller, request).await
    }

    async fn ask(&self, caller: usize, request: &Request) -> Answer {
        match &self.oracle {
            Some(oracle) => steadily(&oracle.text(caller, request).await),
            None => ask_steadily(&self.callers[caller], request).await,
        }
    }

    async fn views(&self, ids: &[String]) -> Value {
        let query = "query ($ids: [ID!]!) { nodes(ids: $ids) { ... on Note { viewCount } } }";
        self.callers[ANN].data(query, json!({ "ids": ids })).await
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn random_mutations_have_the_same_answer_and_effect_by_plans_as_by_the_oracle() {
    // Nobody but the test decides about comments.
    let silent = ModerationService::start(|_| Judgement::Silence).await;
    let flags = [&silent.flags("2m")[..], &["--reply-wait", "1m"]].concat();
    let (planned, mut ids) = Side::start(&flags).await;
    let (mut oracle, equal_ids) = Side::start(&flags).await;
    oracle.oracle = Some(Oracle::start(&oracle.stores));
    assert_eq!(ids, equal_ids);

    let schema = Schema::of_plaudit();
    let comparison = Comparison::of_seconds(15);
    let (mut mutations, mut accepted, mut effective) = (0, 0, BTreeSet::new());
    for seed in comparison.seeds() {
        let few = one_of_each_kind(&ids, seed);
        let (names, caller, request) = mutation(Generator::new(&schema, &few, seed));
        let about =
            format!("PLANS_SEED={}, mutation {mutations}: {} {}", comparison.seed, request.0, request.1);
        let answer = planned.mutate(caller, &request).await;
        assert_eq!(answer, oracle.mutate(caller, &request).await, "{about}");
        mutations += 1;
        accepted += u32::from(answer.data.contains("\"data\""));
        if answer.data.contains("\"changed\":true") {
            effective.extend(names);
        }
        add_new(&mut ids, &answer);

        tokio::join!(planned.rest(), oracle.rest());
        for number in 0..3 {
            let mut generator = Generator::new(&schema, &ids, seed ^ (number << 32)).without(&OF_THE_CLOCK);
            let caller = generator.random.below(planned.callers.len());
            let query = generator.query();
            let expected = oracle.ask(caller, &query).await;
            assert_eq!(planned.ask(caller, &query).await, expected, "after {about}: {} {}", query.0, query.1);
        }
    }
    eventually("the views are equal", SOON, || async {
        (planned.views(&ids).await == oracle.views(&ids).await).then_some(())
    })
    .await;
    println!(
        "{mutations} mutations from seed {}, {accepted} accepted; effective: {effective:?}",
        comparison.seed
    );
    assert!(effective.len() > 5, "only {effective:?} had an effect");
    assert!(answered(&planned.server).await > f64::from(accepted));
}

/// Adds ids of objects that the answer names.
fn add_new(ids: &mut Vec<String>, answer: &Answer) {
    for id in answer.data.split('"') {
        let Some((kind, number)) = id.split_once('_') else { continue };
        if ["note", "user", "comment", "group"].contains(&kind)
            && number.parse::<i64>().is_ok() // not an id that a message quotes
            && !ids.iter().any(|known| known == id)
            && ids.len() < 90
        {
            ids.push(id.to_owned());
        }
    }
}

/// The objects of a document are few, so that its mutations often change the same ones.
fn one_of_each_kind(ids: &[String], seed: u64) -> Vec<String> {
    let mut random = Random(seed);
    let kinds = ["note_", "user_", "comment_", "group_"];
    let of = |kind| ids.iter().filter(move |id: &&String| id.starts_with(kind)).collect::<Vec<_>>();
    kinds.map(|kind| (*random.pick(&of(kind))).clone()).to_vec()
}

/// One or two random mutations: their names, who sends them, and the document.
fn mutation(mut generator: Generator<'_>) -> (Vec<String>, usize, Request) {
    let mutations = &generator.schema.fields["Mutation"];
    let count = 1 + generator.random.below(2);
    let chosen: Vec<&FieldDefinition> = (0..count).map(|_| generator.random.pick(mutations)).collect();
    let names: Vec<String> = chosen.iter().map(|field| field.name.node.to_string()).collect();
    let caller = caller(&mut generator, chosen[0]);
    generator = generator.without(&LATER);
    if names.iter().any(|name| BACKFILLS.contains(&name.as_str())) {
        generator = generator.without(&BACKFILLED);
    }
    let fields: Vec<String> =
        (0..).zip(chosen).map(|(number, field)| root(&mut generator, number, field)).collect();
    (names, caller, generator.document("mutation", &format!("{{ {} }}", fields.join(" "))))
}

/// Mostly somebody who may.
fn caller(generator: &mut Generator<'_>, mutation: &FieldDefinition) -> usize {
    let description = mutation.description.as_ref().map_or("", |text| &text.node);
    match () {
        () if generator.random.one_in(6) => 1 + generator.random.below(5),
        () if description.contains("For moderators.") => MODERATOR,
        () if description.contains("For services") => SERVICE,
        () => ANN + generator.random.below(3),
    }
}

fn root(generator: &mut Generator<'_>, number: usize, mutation: &FieldDefinition) -> String {
    let input_type = &mutation.arguments[0].node.ty.node;
    let input = input(generator, named(input_type));
    let input = if generator.random.one_in(2) {
        let values = input.into_iter().map(|(name, value)| (name, unmarked(value)));
        format!("${}", generator.variable(&input_type.to_string(), Value::Object(values.collect())))
    } else {
        let fields: Vec<String> =
            input.iter().map(|(name, value)| format!("{name}: {}", literal(value))).collect();
        format!("{{ {} }}", fields.join(", "))
    };
    let selection = generator.selection(named(&mutation.ty.node), 2);
    format!("m{number}: {}(input: {input}) {{ changed ... {selection} }}", mutation.name.node)
}

fn input(generator: &mut Generator<'_>, of: &str) -> Map<String, Value> {
    let mut input = Map::new();
    for field in &generator.schema.inputs[of] {
        let (name, of) = (field.name.node.as_str(), &field.ty.node);
        if !of.nullable || generator.random.one_in(3) {
            input.insert(name.to_owned(), input_value(generator, name, of));
        }
    }
    input
}

fn input_value(generator: &mut Generator<'_>, name: &str, of: &Type) -> Value {
    match name {
        "noteId" => generator.id("note_"),
        "commentId" | "replyToId" => generator.id("comment_"),
        "groupId" => generator.id("group_"),
        "userId" | "senderId" | "recipientId" | "authorId" | "ownerId" => generator.id("user_"),
        "noteIds" => (0..=generator.random.below(3)).map(|_| generator.id("note_")).collect(),
        "mentions" => (0..generator.random.below(3)).map(|_| generator.id("user_")).collect(),
        "idempotencyKey" => json!(format!("key {}", generator.random.below(9))),
        "images" => json!(*generator.random.pick(&[&[][..], &["https://example.org/a.png"]])),
        "amount" => json!(generator.random.pick(&[0, 1, 7, -2, 2_000_000])),
        "score" => json!(generator.random.below(12)),
        "body" | "description" | "name" | "reason" | "title" => {
            json!(*generator.random.pick(&["Words", "\"Words\" \u{1F4AF}", "Other words", ""]))
        }
        _ if generator.schema.inputs.contains_key(named(of)) => {
            (0..generator.random.below(4)).map(|_| Value::Object(input(generator, named(of)))).collect()
        }
        _ => generator.value(of),
    }
}
