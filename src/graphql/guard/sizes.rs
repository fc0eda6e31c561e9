//! How many items a field may answer with, for the complexity of a request.

use async_graphql::{
    Name, Positioned, Variables,
    parser::types::{BaseType, FieldDefinition},
};
use async_graphql_value::{ConstValue, Value};

use crate::graphql::{queries::history, reading::pages::MAX_PAGE};

/// Arguments as they stand at a field.
pub type Arguments = [(Positioned<Name>, Positioned<Value>)];

/// How long a field's list is, or how many items lie below it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Size {
    One,
    /// A page, by its argument `first`.
    Page {
        default: i32,
    },
    /// As many as ids are given, in the argument or in a field of it.
    Ids {
        argument: &'static str,
        field: Option<&'static str>,
    },
    /// Steps of a history, by the arguments of `Query.noteActivity`.
    Steps,
    /// Short, whatever is asked.
    Known(u64),
    /// A list that nobody has told the size of; a test finds these.
    Untold,
}

/// Lists that are not pages. Their items are counted where the list is, or where it is asked for.
const LISTS: [(&str, &str, Size); 6] = [
    ("Comment", "images", Size::Known(9)),
    ("Comment", "mentions", Size::Known(10)),
    ("Note", "viewerUnpublishedComments", Size::Known(10)), // at most 50, and hardly ever one
    ("Mutation", "recordViews", Size::Ids { argument: "input", field: Some("noteIds") }),
    ("Query", "nodes", Size::Ids { argument: "ids", field: None }),
    ("Query", "noteActivity", Size::Steps),
];
/// Lists whose items were counted at the field above them: those of pages and of `recordViews`.
const COUNTED_ABOVE: [&str; 3] = ["edges", "nodes", "notes"];

impl Size {
    pub fn of(object: &str, field: &FieldDefinition) -> Self {
        let name = field.name.node.as_str();
        let told = LISTS.iter().find(|(of, list, _)| (*of, *list) == (object, name));
        if let Some((_, _, size)) = told {
            return *size;
        }
        let first = field.arguments.iter().find(|argument| argument.node.name.node == "first");
        if let Some(first) = first {
            let default = first.node.default_value.as_ref().and_then(|value| whole(&value.node));
            return Self::Page { default: default.unwrap_or(MAX_PAGE) };
        }
        let is_list = matches!(field.ty.node.base, BaseType::List(_));
        if is_list && !COUNTED_ABOVE.contains(&name) { Self::Untold } else { Self::One }
    }

    /// With these arguments.
    pub fn with(self, arguments: &Arguments, variables: &Variables) -> u64 {
        let given = |name: &str| argument(arguments, name).and_then(|value| resolved(value, variables));
        match self {
            Self::One => 1,
            Self::Known(items) => items,
            Self::Untold => MAX_PAGE as u64,
            Self::Page { default } => {
                let first = match given("first") {
                    Some(first) => first.as_int().unwrap_or(MAX_PAGE),
                    None => default,
                };
                first.clamp(1, MAX_PAGE) as u64
            }
            Self::Ids { argument, field } => {
                let ids = given(argument);
                match field {
                    Some(field) => ids.and_then(|ids| ids.field(field, variables)),
                    None => ids,
                }
                .map_or(0, |ids| ids.length())
            }
            Self::Steps => {
                let constant = |name: &str| given(name).and_then(|value| value.constant(variables));
                history::steps(constant("per"), constant("since"), constant("until")) as u64
            }
        }
    }

    /// Whether the arguments say something of it.
    pub const fn varies(self) -> bool {
        matches!(self, Self::Page { .. } | Self::Ids { .. } | Self::Steps)
    }
}

/// A value in the document, or that of a variable.
#[derive(Clone, Copy)]
enum Resolved<'a> {
    Written(&'a Value),
    Sent(&'a ConstValue),
}

fn argument<'a>(arguments: &'a Arguments, name: &str) -> Option<&'a Value> {
    arguments.iter().find(|(of, _)| of.node == name).map(|(_, value)| &value.node)
}

/// `None` for a variable that was not sent: the argument counts as left out.
fn resolved<'a>(value: &'a Value, variables: &'a Variables) -> Option<Resolved<'a>> {
    match value {
        Value::Variable(name) => variables.get(name).map(Resolved::Sent),
        written => Some(Resolved::Written(written)),
    }
}

impl<'a> Resolved<'a> {
    fn as_int(self) -> Option<i32> {
        match self {
            Self::Written(Value::Number(number)) | Self::Sent(ConstValue::Number(number)) => {
                number.as_i64().map(|number| number.clamp(0, i64::from(MAX_PAGE)) as i32)
            }
            _ => None,
        }
    }

    fn field(self, name: &str, variables: &'a Variables) -> Option<Self> {
        match self {
            Self::Written(Value::Object(fields)) => resolved(fields.get(name)?, variables),
            Self::Sent(ConstValue::Object(fields)) => fields.get(name).map(Self::Sent),
            _ => None,
        }
    }

    /// Items of a list; what is no list is one of one item.
    fn length(self) -> u64 {
        match self {
            Self::Written(Value::List(items)) => items.len() as u64,
            Self::Sent(ConstValue::List(items)) => items.len() as u64,
            Self::Written(Value::Null) | Self::Sent(ConstValue::Null) => 0,
            _ => 1,
        }
    }

    fn constant(self, variables: &Variables) -> Option<ConstValue> {
        match self {
            Self::Sent(value) => Some(value.clone()),
            Self::Written(value) => {
                value.clone().into_const_with(|name| variables.get(&name).cloned().ok_or(())).ok()
            }
        }
    }
}

fn whole(value: &ConstValue) -> Option<i32> {
    Resolved::Sent(value).as_int()
}

#[cfg(test)]
mod tests {
    use async_graphql::parser::{
        parse_query,
        types::{DocumentOperations, Selection},
    };
    use serde_json::json;

    use super::*;
    use crate::graphql::{guard::types::Types, schema};

    const NODES: Size = Size::Ids { argument: "ids", field: None };
    const VIEWS: Size = Size::Ids { argument: "input", field: Some("noteIds") };

    fn size(size: Size, field: &str, variables: serde_json::Value) -> u64 {
        let document = parse_query(format!("{{ {field} }}")).unwrap();
        let DocumentOperations::Single(operation) = document.operations else { panic!() };
        let Selection::Field(field) = &operation.node.selection_set.node.items[0].node else { panic!() };
        size.with(&field.node.arguments, &Variables::from_json(variables))
    }

    #[test]
    fn every_list_of_the_schema_has_a_size() {
        let types = Types::of(&schema::sdl());
        let untold: Vec<_> = types
            .fields()
            .filter(|(_, _, field)| field.size == Size::Untold)
            .map(|(object, name, _)| format!("{object}.{name}"))
            .collect();
        assert_eq!(untold, Vec::<String>::new(), "say in LISTS how long they are");
        let is_known = |(object, name): (&str, &str)| {
            types.fields().any(|(o, n, _)| (o.as_str(), n.as_str()) == (object, name))
        };
        for (object, name, _) in LISTS {
            assert!(is_known((object, name)), "{object}.{name} is not in the schema");
        }
    }

    #[test]
    fn a_page_has_as_many_items_as_are_asked_for() {
        let page = Size::Page { default: 20 };
        assert_eq!(size(page, "feed", json!({})), 20);
        assert_eq!(size(page, "feed(first: 7)", json!({})), 7);
        assert_eq!(size(page, "feed(first: $n)", json!({ "n": 9 })), 9);
        assert_eq!(size(page, "feed(first: $n)", json!({})), 20);
        // What is no number is refused later; until then it is not taken for less than it may be.
        for odd in [json!(null), json!("x"), json!(1e300), json!(101)] {
            assert_eq!(size(page, "feed(first: $n)", json!({ "n": odd })), 100, "{odd}");
        }
        assert_eq!(size(page, "feed(first: -5)", json!({})), 1);
    }

    #[test]
    fn a_list_of_ids_has_as_many_items_as_ids() {
        assert_eq!(size(NODES, "nodes(ids: [\"a\", $b, \"c\"])", json!({})), 3);
        assert_eq!(size(NODES, "nodes(ids: $ids)", json!({ "ids": ["a", "b"] })), 2);
        assert_eq!(size(NODES, "nodes(ids: \"a\")", json!({})), 1);
        assert_eq!(size(VIEWS, "recordViews(input: { noteIds: [1, 2, 3] })", json!({})), 3);
        assert_eq!(size(VIEWS, "recordViews(input: { noteIds: $n })", json!({ "n": [1, 2] })), 2);
        assert_eq!(size(VIEWS, "recordViews(input: $i)", json!({ "i": { "noteIds": [1, 2] } })), 2);
    }

    #[test]
    fn a_history_has_as_many_items_as_steps() {
        let steps = |field: &str, variables| size(Size::Steps, field, variables);
        let day = "since: \"2026-01-01T00:00:00Z\", until: \"2026-01-02T00:00:00Z\"";
        assert_eq!(steps(&format!("a(per: HOUR, {day})"), json!({})), 24);
        assert_eq!(steps(&format!("a(per: $per, {day})"), json!({ "per": "HOUR" })), 24);
        assert_eq!(steps(&format!("a({day})"), json!({})), 1);
        assert_eq!(steps("a(since: \"x\")", json!({})), 744);
    }
}
