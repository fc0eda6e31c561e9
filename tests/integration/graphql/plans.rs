//! Plans answer as the engine does: random documents of the schema, sent to a server with plans and to one without, on
//! the same stores, get equal answers, byte for byte apart from the order of errors.

use std::{collections::BTreeMap, time::Instant};

use async_graphql::parser::{
    parse_schema,
    types::{BaseType, FieldDefinition, InputValueDefinition, Type, TypeKind, TypeSystemDefinition},
};
use plaudit_embedded_stores::AppendFsync;
use plaudit_token_auth::Role;
use serde_json::{Value, json};

use crate::support::{Client, Server, Stores, note, user};

/// How long random documents are compared, in seconds; `PLANS_SECONDS` sets another time.
const SECONDS: u64 = 60;

/// Fields of each object and interface of the schema, and the values of enums.
struct Schema {
    fields: BTreeMap<String, Vec<FieldDefinition>>,
    enums: BTreeMap<String, Vec<String>>,
}

const NODES: [&str; 4] = ["User", "Note", "Comment", "Group"];

impl Schema {
    fn of_plaudit() -> Self {
        let (mut fields, mut enums) = (BTreeMap::new(), BTreeMap::new());
        for definition in parse_schema(include_str!("../../../schema/schema.graphql")).unwrap().definitions {
            let TypeSystemDefinition::Type(of) = definition else { continue };
            let name = of.node.name.node.to_string();
            let unwrap = |fields: Vec<async_graphql::Positioned<FieldDefinition>>| {
                fields.into_iter().map(|field| field.node).collect::<Vec<_>>()
            };
            match of.node.kind {
                TypeKind::Object(object) => drop(fields.insert(name, unwrap(object.fields))),
                TypeKind::Interface(interface) => drop(fields.insert(name, unwrap(interface.fields))),
                TypeKind::Enum(of) => {
                    let values = of.values.into_iter().map(|value| value.node.value.node.to_string());
                    enums.insert(name, values.collect());
                }
                _ => {}
            }
        }
        Self { fields, enums }
    }
}

fn named(of: &Type) -> &str {
    match &of.base {
        BaseType::Named(name) => name,
        BaseType::List(item) => named(item),
    }
}

/// Numbers that follow from a seed (SplitMix64, <https://prng.di.unimi.it/splitmix64.c>).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    fn one_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    fn pick<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.below(of.len())]
    }
}

/// A random document, its variables, and its named fragments.
struct Generator<'a> {
    schema: &'a Schema,
    ids: &'a [String],
    random: Random,
    /// Declarations of variables: name and type.
    variables: Vec<(String, String)>,
    values: serde_json::Map<String, Value>,
    fragments: Vec<String>,
    /// The arguments of each field without an alias: fields with one key must have the same.
    arguments: BTreeMap<(String, String), String>,
    aliases: usize,
}

impl<'a> Generator<'a> {
    fn new(schema: &'a Schema, ids: &'a [String], seed: u64) -> Self {
        Self {
            schema,
            ids,
            random: Random(seed),
            variables: Vec::new(),
            values: serde_json::Map::new(),
            fragments: Vec::new(),
            arguments: BTreeMap::new(),
            aliases: 0,
        }
    }

    fn query(mut self) -> (String, Value) {
        let selection = self.selection("Query", 4);
        self.document("query", &selection)
    }

    /// A mutation that changes nothing, because it was done before.
    fn mutation(mut self, done: &[(&str, String)]) -> (String, Value) {
        let (mutation, input) = self.random.pick(done).clone();
        let payload = format!("{}{}Payload", mutation[..1].to_uppercase(), &mutation[1..]);
        let selection = self.selection(&payload, 3);
        self.document("mutation", &format!("{{ {mutation}(input: {{ {input} }}) {selection} }}"))
    }

    fn document(self, kind: &str, selection: &str) -> (String, Value) {
        let declared: Vec<String> =
            self.variables.iter().map(|(name, of)| format!("${name}: {of}")).collect();
        let declared = if declared.is_empty() { String::new() } else { format!("({})", declared.join(", ")) };
        (format!("{kind} Q{declared} {selection} {}", self.fragments.join(" ")), Value::Object(self.values))
    }

    fn selection(&mut self, object: &str, depth: usize) -> String {
        let count = 1 + self.random.below(4);
        let items: Vec<String> = (0..count).map(|_| self.item(object, depth)).collect();
        format!("{{ {} }}", items.join(" "))
    }

    fn item(&mut self, object: &str, depth: usize) -> String {
        match self.random.below(10) {
            0 => format!("...{} {}", self.directive(), self.selection(object, depth)),
            1 => {
                let on = self.condition(object);
                format!("... on {on}{} {}", self.directive(), self.selection(&on, depth))
            }
            2 => {
                let on = self.condition(object);
                let name = format!("F{}", self.fragments.len());
                self.fragments.push(String::new());
                let (place, selection) = (self.fragments.len() - 1, self.selection(&on, depth));
                self.fragments[place] = format!("fragment {name} on {on} {selection}");
                format!("...{name}{}", self.directive())
            }
            3 => self.aliased("__typename", ""),
            _ => self.field(object, depth),
        }
    }

    /// A type that objects of this type may be of.
    fn condition(&mut self, object: &str) -> String {
        match object {
            "Node" => (*self.random.pick(&["Node", "User", "Note", "Comment", "Group"])).to_owned(),
            of if NODES.contains(&of) && self.random.one_in(3) => "Node".to_owned(),
            of => of.to_owned(),
        }
    }

    fn aliased(&mut self, name: &str, rest: &str) -> String {
        self.aliases += 1;
        format!("{}{}: {name}{rest}", self.random.pick(&["a", "Z", "likeCount"]), self.aliases)
    }

    fn field(&mut self, object: &str, depth: usize) -> String {
        let schema = self.schema;
        let has_selection = |field: &&FieldDefinition| schema.fields.contains_key(named(&field.ty.node));
        let fields: Vec<&FieldDefinition> =
            schema.fields[object].iter().filter(|field| depth > 0 || !has_selection(field)).collect();
        if fields.is_empty() {
            return "__typename".to_owned();
        }
        let field = *self.random.pick(&fields);
        let name = field.name.node.to_string();
        let is_aliased = self.random.one_in(4);
        let arguments = if is_aliased {
            self.arguments(field)
        } else {
            let key = (object.to_owned(), name.clone());
            match self.arguments.get(&key) {
                Some(arguments) => arguments.clone(),
                None => {
                    let arguments = self.arguments(field);
                    self.arguments.insert(key, arguments.clone());
                    arguments
                }
            }
        };
        let directive = self.directive();
        let inside = match has_selection(&field) {
            true if is_aliased => self.selection(named(&field.ty.node), depth - 1),
            // The engine executes a field as often as it is selected, and loses the others if one selects nothing.
            true => format!("{{ __typename ... {} }}", self.selection(named(&field.ty.node), depth - 1)),
            false => String::new(),
        };
        let rest = format!("{arguments}{directive} {inside}");
        if is_aliased { self.aliased(&name, &rest) } else { format!("{name}{rest}") }
    }

    fn directive(&mut self) -> String {
        if !self.random.one_in(6) {
            return String::new();
        }
        let condition = match self.random.below(3) {
            0 => "true".to_owned(),
            1 => "false".to_owned(),
            _ => {
                let value = json!(self.random.one_in(2));
                format!("${}", self.variable("Boolean!", value))
            }
        };
        format!(" @{}(if: {condition})", self.random.pick(&["skip", "include"]))
    }

    fn variable(&mut self, of: &str, value: Value) -> String {
        let name = format!("v{}", self.variables.len());
        self.variables.push((name.clone(), of.to_owned()));
        self.values.insert(name.clone(), value);
        name
    }

    fn arguments(&mut self, field: &FieldDefinition) -> String {
        let mut given = Vec::new();
        for argument in &field.arguments {
            let argument = &argument.node;
            let is_needed = !argument.ty.node.nullable && argument.default_value.is_none();
            if is_needed || self.random.one_in(2) {
                given.push(format!("{}: {}", argument.name.node, self.argument(argument)));
            }
        }
        if given.is_empty() { String::new() } else { format!("({})", given.join(", ")) }
    }

    /// A literal, or a variable with a value: sometimes missing, null, or of a wrong type.
    fn argument(&mut self, argument: &InputValueDefinition) -> String {
        let value = self.value(&argument.ty.node);
        if self.random.one_in(2) {
            return literal(&value);
        }
        let mut of = argument.ty.node.to_string();
        // A nullable variable with a default value fits where null does not.
        if self.random.one_in(4) {
            let default = self.value(&argument.ty.node);
            of = format!("{} = {}", of.trim_end_matches('!'), literal(&default));
        }
        let value = match self.random.below(30) {
            0 => Value::Null,
            1 => json!({ "of": ["another", "shape"] }),
            2 => json!(true),
            _ => unmarked(value),
        };
        let name = self.variable(&of, value);
        if self.random.one_in(30) {
            self.values.remove(&name);
        }
        format!("${name}")
    }

    fn value(&mut self, of: &Type) -> Value {
        if let BaseType::List(item) = &of.base {
            let count = self.random.below(4);
            return (0..count).map(|_| self.value(item)).collect();
        }
        match named(of) {
            "ID" => match self.random.below(12) {
                0 => json!("note_999999"),
                1 => json!("nothing"),
                2 => json!(7),
                _ => json!(self.random.pick(self.ids)),
            },
            "Int" => json!([1, 2, 3, 5, 0, 101, 3_000_000_000_i64][self.random.below(7)]),
            "Boolean" => json!(self.random.one_in(2)),
            "String" => json!(*self.random.pick(&["ann", "bea", "x", "MTI"])),
            "DateTime" => json!("2026-11-01T00:00:00.000Z"),
            name => json!({ "enum": self.random.pick(&self.schema.enums[name]) }),
        }
    }
}

fn literal(value: &Value) -> String {
    match value {
        Value::Array(items) => {
            format!("[{}]", items.iter().map(literal).collect::<Vec<_>>().join(", "))
        }
        Value::Object(of) => of["enum"].as_str().unwrap().to_owned(),
        value => value.to_string(),
    }
}

/// The value as a variable has it: names of enums are texts.
fn unmarked(value: Value) -> Value {
    match value {
        Value::Array(items) => items.into_iter().map(unmarked).collect(),
        Value::Object(of) => of["enum"].clone(),
        value => value,
    }
}

/// The data as text, and the errors in any order.
#[derive(Debug, PartialEq)]
struct Answer {
    data: String,
    errors: Vec<String>,
}

impl Answer {
    fn of(text: &str) -> Self {
        serde_json::from_str::<Value>(text).unwrap();
        let (data, errors) = match text.find("\"errors\":[") {
            Some(place) => (&text[..place], &text[place + "\"errors\":".len()..text.len() - 1]),
            None => (text, "[]"),
        };
        let mut errors: Vec<String> =
            serde_json::from_str::<Vec<Value>>(errors).unwrap().iter().map(Value::to_string).collect();
        errors.sort_unstable();
        Self { data: data.trim_end_matches(['}', ',']).to_owned(), errors }
    }
}

async fn ask(client: &Client, (query, variables): &(String, Value)) -> Answer {
    Answer::of(&client.text(query, variables.clone()).await)
}

/// Users, notes, comments of each state, groups, edges, ratings and inbox entries. Returns the ids of all objects.
async fn fill(server: &Server, stores: &Stores) -> Vec<String> {
    let mut ids = Vec::new();
    let (ann, bea) = (server.client("ann"), server.client("bea"));
    let group = ann.act("createGroup", json!({ "name": "Readers" }), "group { id }").await;
    let group = group["group"]["id"].as_str().unwrap().to_owned();
    for client in [&ann, &bea] {
        client.act("joinGroup", json!({ "groupId": group }), "changed").await;
    }
    for number in 0..4 {
        let (author, reader) = if number % 2 == 0 { (&ann, &bea) } else { (&bea, &ann) };
        let input =
            json!({ "title": format!("Note \"{number}\""), "body": "Text\n\u{1F4AF}", "groupId": group });
        let posted = author.act("createNote", input, "note { id author { id } }").await;
        let n = posted["note"]["id"].as_str().unwrap().to_owned();
        reader.like(&n).await;
        reader.act("collectNote", json!({ "noteId": n }), "changed").await;
        reader.act("rateNote", json!({ "noteId": n, "score": number }), "changed").await;
        reader.follow(posted["note"]["author"]["id"].as_str().unwrap()).await;
        let input = json!({ "noteId": n, "body": "A comment", "mentions": [posted["note"]["author"]["id"]] });
        let pending = reader.act("addComment", input, "comment { id }").await;
        ids.extend([n, pending["comment"]["id"].as_str().unwrap().to_owned()]);
        ids.push(posted["note"]["author"]["id"].as_str().unwrap().to_owned());
    }
    let n = stores.new_note().await;
    for _ in 0..3 {
        ids.push(format!("comment_{}", stores.new_comment(n).await));
    }
    ids.extend([note(n), user(stores.new_user().await), group]);
    stores.rest().await;
    ids
}

#[tokio::test(flavor = "multi_thread")]
async fn random_documents_are_answered_by_plans_as_by_the_engine() {
    let seconds = std::env::var("PLANS_SECONDS").map_or(SECONDS, |seconds| seconds.parse().unwrap());
    let seed: u64 = std::env::var("PLANS_SEED").map_or_else(
        |_| std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap().as_nanos() as u64,
        |seed| seed.parse().unwrap(),
    );
    let stores = Stores::start(AppendFsync::EverySec).await;
    let unlimited: Vec<String> = ["user", "address"]
        .iter()
        .flat_map(|who| ["reads", "writes", "creations"].map(|class| format!("--rate-{who}-{class}=0")))
        .collect();
    let flags: Vec<&str> = unlimited.iter().map(String::as_str).collect();
    let planned = Server::start_on(&stores, &flags);
    let ids = fill(&planned, &stores).await;
    let engine = Server::start_on(&stores, &[&flags[..], &["--plans", "false"]].concat());

    let schema = Schema::of_plaudit();
    let callers = |server: &Server| {
        let of = |role, subject: &str| Client::of(&server.url, role, subject);
        [
            server.anonymous(),
            of(Role::User, "ann"),
            of(Role::User, "bea"),
            of(Role::User, "nobody yet"),
            of(Role::Moderator, "mod"),
            of(Role::Service, "app"),
        ]
    };
    let (planned_callers, engine_callers) = (callers(&planned), callers(&engine));
    let note_of_ann = ids.iter().find(|id| id.starts_with("note_")).unwrap();
    let done = [
        ("likeNote", format!("noteId: \"{note_of_ann}\"")),
        ("collectNote", format!("noteId: \"{note_of_ann}\"")),
    ];
    let (begin, mut documents) = (Instant::now(), 0_u64);
    while begin.elapsed().as_secs() < seconds {
        let seed = seed.wrapping_add(documents);
        let generator = Generator::new(&schema, &ids, seed);
        let is_mutation = documents % 8 == 7;
        let request = if is_mutation { generator.mutation(&done) } else { generator.query() };
        // Bea has liked and collected the note of Ann.
        let caller = if is_mutation { 2 } else { documents as usize % planned_callers.len() };
        let by_engine = ask(&engine_callers[caller], &request).await;
        for time in 1..=2 {
            let by_plan = ask(&planned_callers[caller], &request).await;
            assert_eq!(
                by_plan, by_engine,
                "time {time}, PLANS_SEED={seed}, caller {caller}: {} {}",
                request.0, request.1
            );
        }
        documents += 1;
    }
    let answered = planned.metric("plaudit_executions_total{by=\"plan\"}").await;
    println!("{documents} documents from seed {seed}, {answered} answers by plans");
    assert!(answered > documents as f64 / 4.0, "{answered} of {documents}");
    assert_eq!(engine.metric("plaudit_executions_total{by=\"plan\"}").await, 0.0);
}
