//! Random documents of the schema.

use std::collections::BTreeMap;

use async_graphql::parser::types::{BaseType, FieldDefinition, InputValueDefinition, Type};
use serde_json::{Value, json};

use super::{
    answer::VOLATILE,
    schema::{Schema, named},
};

/// Numbers that follow from a seed (SplitMix64, <https://prng.di.unimi.it/splitmix64.c>).
pub struct Random(pub u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    pub fn one_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    pub fn pick<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.below(of.len())]
    }
}

/// A document and its variables.
pub type Request = (String, Value);

/// A random document, its variables, and its named fragments.
pub struct Generator<'a> {
    pub schema: &'a Schema,
    ids: &'a [String],
    pub random: Random,
    /// Fields that are not selected.
    without: Vec<&'static str>,
    /// Declarations of variables: name and type.
    variables: Vec<(String, String)>,
    values: serde_json::Map<String, Value>,
    fragments: Vec<String>,
    /// The arguments of each field without an alias: fields with one key must have the same.
    arguments: BTreeMap<(String, String), String>,
    aliases: usize,
}

impl<'a> Generator<'a> {
    pub fn new(schema: &'a Schema, ids: &'a [String], seed: u64) -> Self {
        Self {
            schema,
            ids,
            random: Random(seed),
            without: Vec::new(),
            variables: Vec::new(),
            values: serde_json::Map::new(),
            fragments: Vec::new(),
            arguments: BTreeMap::new(),
            aliases: 0,
        }
    }

    /// The same without these fields, too.
    pub fn without(mut self, fields: &[&'static str]) -> Self {
        self.without.extend(fields);
        self
    }

    pub fn query(mut self) -> Request {
        let selection = self.selection("Query", 4);
        self.document("query", &selection)
    }

    pub fn document(self, kind: &str, selection: &str) -> Request {
        let declared: Vec<String> =
            self.variables.iter().map(|(name, of)| format!("${name}: {of}")).collect();
        let declared = if declared.is_empty() { String::new() } else { format!("({})", declared.join(", ")) };
        (format!("{kind} Q{declared} {selection} {}", self.fragments.join(" ")), Value::Object(self.values))
    }

    pub fn selection(&mut self, object: &str, depth: usize) -> String {
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
        let related = self.schema.related(object);
        let is_interface = !self.schema.interfaces.contains_key(object);
        let stays = if is_interface { self.random.one_in(5) } else { !self.random.one_in(3) };
        if stays || related.is_empty() { object.to_owned() } else { (*self.random.pick(&related)).to_owned() }
    }

    fn aliased(&mut self, name: &str, rest: &str) -> String {
        self.aliases += 1;
        let alias = if VOLATILE.contains(&name) { name } else { self.random.pick(&["a", "Z", "likeCount"]) };
        format!("{alias}{}: {name}{rest}", self.aliases)
    }

    fn field(&mut self, object: &str, depth: usize) -> String {
        let schema = self.schema;
        let has_selection = |field: &&FieldDefinition| schema.fields.contains_key(named(&field.ty.node));
        let may_be = |field: &&FieldDefinition| !self.without.contains(&field.name.node.as_str());
        let fields: Vec<&FieldDefinition> = schema.fields[object]
            .iter()
            .filter(|field| depth > 0 || !has_selection(field))
            .filter(may_be)
            .collect();
        if fields.is_empty() {
            return "__typename".to_owned();
        }
        let field = *self.random.pick(&fields);
        let name = field.name.node.to_string();
        let is_aliased = self.random.one_in(4);
        let arguments = if is_aliased {
            self.arguments(field)
        } else {
            let key = (schema.declares(object, &name).to_owned(), name.clone());
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

    pub fn variable(&mut self, of: &str, value: Value) -> String {
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

    /// The id of an object of this kind, or sometimes of none.
    pub fn id(&mut self, kind: &str) -> Value {
        let ids: Vec<&String> = self.ids.iter().filter(|id| id.starts_with(kind)).collect();
        match self.random.below(12) {
            0 => json!("note_999999"),
            1 => json!("nothing"),
            2 => json!(7),
            _ => json!(self.random.pick(&ids)),
        }
    }

    pub fn value(&mut self, of: &Type) -> Value {
        if let BaseType::List(item) = &of.base {
            let count = self.random.below(4);
            return (0..count).map(|_| self.value(item)).collect();
        }
        match named(of) {
            "ID" => self.id(""),
            "Int" => json!([1, 2, 3, 5, 0, 101, 3_000_000_000_i64][self.random.below(7)]),
            "Boolean" => json!(self.random.one_in(2)),
            "String" => json!(*self.random.pick(&["ann", "bea", "x", "MTI"])),
            "URL" => json!(*self.random.pick(&["https://example.org/a.png", "", "x"])),
            "DateTime" => json!("2026-11-01T00:00:00.000Z"),
            name => json!({ "enum": self.random.pick(&self.schema.enums[name]) }),
        }
    }
}

pub fn literal(value: &Value) -> String {
    match value {
        Value::Array(items) => {
            format!("[{}]", items.iter().map(literal).collect::<Vec<_>>().join(", "))
        }
        Value::Object(of) => match of.get("enum") {
            Some(name) => name.as_str().unwrap().to_owned(),
            None => {
                let fields = of.iter().map(|(name, value)| format!("{name}: {}", literal(value)));
                format!("{{ {} }}", fields.collect::<Vec<_>>().join(", "))
            }
        },
        value => value.to_string(),
    }
}

/// The value as a variable has it: names of enums are texts.
pub fn unmarked(value: Value) -> Value {
    match value {
        Value::Array(items) => items.into_iter().map(unmarked).collect(),
        Value::Object(of) => match of.get("enum") {
            Some(name) => name.clone(),
            None => Value::Object(of.into_iter().map(|(name, value)| (name, unmarked(value))).collect()),
        },
        value => value,
    }
}
