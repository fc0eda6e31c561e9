//! List sizes: how many items a field may return, for the complexity of a request.

use async_graphql::{Name, Positioned, Variables};
use async_graphql_value::{ConstValue, Value};

use super::pages::MAX_PAGE;

/// Arguments as they stand at a field.
pub type Arguments = [(Positioned<Name>, Positioned<Value>)];

/// Values of a field's arguments, by their names.
pub type ArgumentValues<'a> = dyn Fn(&str) -> Option<ConstValue> + 'a;

/// How many items a field returns.
#[derive(Clone, Copy, Debug)]
pub enum ListSize {
    One,
    /// A page, by its argument `first`.
    Page {
        default: i32,
        max: i32,
    },
    /// As many items as ids in the argument, or in a field of the argument.
    Ids {
        argument: &'static str,
        field: Option<&'static str>,
    },
    /// As many objects as ids in the argument, or one without an argument. Each is sent when it changes.
    Messages {
        argument: Option<&'static str>,
    },
    /// Depends on the arguments in a way of its own.
    Computed(fn(&ArgumentValues<'_>) -> u64),
    Fixed(u64),
    /// A list whose size is not declared. Counts as a full page of so many items; a test finds these.
    Unknown(i32),
}

impl ListSize {
    /// A page whose argument `first` has this default.
    pub fn page(default: Option<&ConstValue>) -> Self {
        let default = default.and_then(|value| Resolved::Sent(value).as_int(MAX_PAGE));
        Self::Page { default: default.unwrap_or(MAX_PAGE), max: MAX_PAGE }
    }

    /// The size with these arguments.
    pub fn with(self, arguments: &Arguments, variables: &Variables) -> u64 {
        let given = |name: &str| argument(arguments, name).and_then(|value| resolved(value, variables));
        match self {
            Self::One | Self::Messages { argument: None } => 1,
            Self::Fixed(items) => items,
            Self::Unknown(max) => max as u64,
            Self::Page { default, max } => {
                let first = match given("first") {
                    Some(first) => first.as_int(max).unwrap_or(max),
                    None => default,
                };
                first.clamp(1, max) as u64
            }
            Self::Ids { argument, field } => {
                let ids = given(argument);
                match field {
                    Some(field) => ids.and_then(|ids| ids.field(field, variables)),
                    None => ids,
                }
                .map_or(0, |ids| ids.length())
            }
            Self::Messages { argument: Some(argument) } => given(argument).map_or(0, |ids| ids.length()),
            Self::Computed(size) => {
                size(&|name: &str| given(name).and_then(|value| value.constant(variables)))
            }
        }
    }

    /// Whether the list is read by a statement of its own.
    pub const fn is_read_alone(self) -> bool {
        matches!(self, Self::Page { .. } | Self::Computed(_))
    }

    /// Whether the size depends on arguments.
    pub const fn varies(self) -> bool {
        matches!(self, Self::Page { .. } | Self::Ids { .. } | Self::Messages { .. } | Self::Computed(_))
    }
}

/// The value of an argument: written in the document, or sent as a variable.
#[derive(Clone, Copy)]
enum Resolved<'a> {
    Written(&'a Value),
    Sent(&'a ConstValue),
}

fn argument<'a>(arguments: &'a Arguments, name: &str) -> Option<&'a Value> {
    arguments.iter().find(|(of, _)| of.node == name).map(|(_, value)| &value.node)
}

/// `None` for a variable that was not sent: the argument counts as absent.
fn resolved<'a>(value: &'a Value, variables: &'a Variables) -> Option<Resolved<'a>> {
    match value {
        Value::Variable(name) => variables.get(name).map(Resolved::Sent),
        written => Some(Resolved::Written(written)),
    }
}

impl<'a> Resolved<'a> {
    fn as_int(self, max: i32) -> Option<i32> {
        match self {
            Self::Written(Value::Number(number)) | Self::Sent(ConstValue::Number(number)) => {
                number.as_i64().map(|number| number.clamp(0, i64::from(max)) as i32)
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

    /// Items of a list. A single value counts as a list of one item.
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

#[cfg(test)]
pub mod tests {
    use async_graphql::parser::{
        parse_query,
        types::{DocumentOperations, Selection},
    };
    use serde_json::json;

    use super::*;

    const NODES: ListSize = ListSize::Ids { argument: "ids", field: None };
    const VIEWS: ListSize = ListSize::Ids { argument: "input", field: Some("noteIds") };

    /// The size of this field of a query.
    pub fn size(size: ListSize, field: &str, variables: serde_json::Value) -> u64 {
        let document = parse_query(format!("{{ {field} }}")).unwrap();
        let DocumentOperations::Single(operation) = document.operations else { panic!() };
        let Selection::Field(field) = &operation.node.selection_set.node.items[0].node else { panic!() };
        size.with(&field.node.arguments, &Variables::from_json(variables))
    }

    #[test]
    fn a_page_has_as_many_items_as_first_says() {
        let page = ListSize::Page { default: 20, max: 100 };
        assert_eq!(size(page, "feed", json!({})), 20);
        assert_eq!(size(page, "feed(first: 7)", json!({})), 7);
        assert_eq!(size(page, "feed(first: $n)", json!({ "n": 9 })), 9);
        assert_eq!(size(page, "feed(first: $n)", json!({})), 20);
        // A value of another type is refused later. Until then it counts as the largest page.
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
    fn a_computed_size_reads_its_arguments() {
        let doubled = |argument: &ArgumentValues<'_>| match argument("n") {
            Some(ConstValue::Number(number)) => 2 * number.as_u64().unwrap(),
            _ => 0,
        };
        assert_eq!(size(ListSize::Computed(doubled), "a(n: 4)", json!({})), 8);
        assert_eq!(size(ListSize::Computed(doubled), "a(n: $n)", json!({ "n": 3 })), 6);
        assert_eq!(size(ListSize::Computed(doubled), "a(n: $n)", json!({})), 0);
    }
}
