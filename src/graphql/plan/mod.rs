//! Plans: a document is validated and compiled once, and answered by its plan from then on.
//!
//! A plan runs level by level. All objects of a level are resolved together, so whatever they show is read with
//! one batch per kind of data. Then the answer is written, in the order of the document, straight into the
//! bytes of the body.
//!
//! - [`cache`]: the plans of a document; [`compile`]: the plan of an operation, with fields merged, fragments
//!   and directives applied
//! - [`answer`]: answers a request or a message; [`execution`]: runs the levels; [`places`]: the objects of the answer;
//!   [`calls`]: fields that are resolved by their functions; [`write`]: writes the answer, with nulls where fields
//!   failed; [`json`]: its scalars
//!
//! The idea of planning a document by levels is Grafast's (<https://grafast.org>).

mod answer;
mod cache;
mod calls;
mod compile;
mod execution;
mod json;
mod places;
mod write;

use std::borrow::Cow;

use async_graphql::{Name, PathSegment, Pos, ServerError, Value, Variables, parser::types::OperationType};

pub use answer::{answer, message, topics};
pub use cache::Plans;
pub use compile::NotPlanned;
use compile::compile;
pub use write::Answered;

use super::{
    definition::{
        arguments::Arguments,
        resolve::Resolve,
        types::{Field, ObjectType},
    },
    errors::{ApiError, ApiResult},
    reading::facts::Reads,
    schema::coerced,
};

/// The plan of one operation, for one choice of its `@skip` and `@include`.
pub struct Plan {
    pub kind: OperationType,
    root: Selection,
    /// How many fields it has, at all levels.
    fields: usize,
    /// Whether the answer is the same for all viewers.
    pub is_same_for_all: bool,
    /// Whether the engine has to answer some of its fields.
    pub introspects: bool,
}

/// A field that may not be null failed. Its object is null, or fails too.
struct Failed;

/// What is selected in the objects at one place of the answer, by their type.
pub struct Selection {
    of_types: Vec<ObjectSelection>,
    /// Number of fields that are resolved before the answer is written.
    columns: usize,
}

/// What is selected in objects of one type.
struct ObjectSelection {
    object: &'static ObjectType,
    fields: Vec<PlannedField>,
    reads: Reads,
}

struct PlannedField {
    key: Name,
    /// `"key":`
    json_key: Box<[u8]>,
    position: Pos,
    value: PlannedValue,
}

impl PlannedField {
    /// An error of the field, or of an item of its list.
    fn error_at(&self, error: ApiError, path: Vec<PathSegment>) -> ServerError {
        ServerError { path, locations: vec![self.position], ..error.into() }
    }
}

enum PlannedValue {
    TypeName,
    /// A field of introspection, which the engine has answered.
    Introspection,
    /// A scalar that is computed while the answer is written.
    Scalar(&'static Field),
    /// A field that is resolved before, with its place in the selection's columns.
    Resolved {
        field: &'static Field,
        column: usize,
        arguments: PlannedArguments,
        inside: Selection,
    },
}

/// Arguments as they stand in the document.
enum PlannedArguments {
    /// Converted to their types.
    Known(Arguments),
    /// With variables in them, and the values of those that are missing; or with a value that does not fit.
    Variable { given: Vec<(Name, async_graphql_value::Value)>, defaults: Arguments },
}

impl PlannedArguments {
    /// The values for a request, converted to their types. An argument whose variable is missing is missing.
    fn with(&self, field: &Field, variables: &Variables) -> ApiResult<Cow<'_, Arguments>> {
        match self {
            Self::Known(arguments) => Ok(Cow::Borrowed(arguments)),
            Self::Variable { given, defaults } => {
                let mut arguments = defaults.clone();
                for (name, value) in given {
                    if let Some(value) = filled(value, variables) {
                        arguments.0.insert(name.clone(), value);
                    }
                }
                coerced(field, arguments).map(Cow::Owned)
            }
        }
    }
}

/// A value with its variables filled in; `None` for a variable that is missing.
fn filled(value: &async_graphql_value::Value, variables: &Variables) -> Option<Value> {
    use async_graphql_value::Value as WithVariables;
    Some(match value {
        WithVariables::Variable(name) => variables.get(name)?.clone(),
        WithVariables::List(items) => {
            Value::List(items.iter().map(|item| filled(item, variables).unwrap_or_default()).collect())
        }
        WithVariables::Object(fields) => {
            let fields =
                fields.iter().filter_map(|(name, value)| Some((name.clone(), filled(value, variables)?)));
            Value::Object(fields.collect())
        }
        constant => constant.clone().into_const()?,
    })
}

impl Plan {
    /// Whether it asks for the schema and nothing else.
    pub fn only_introspects(&self) -> bool {
        let is_of_engine = |field: &PlannedField| {
            matches!(field.value, PlannedValue::TypeName | PlannedValue::Introspection)
        };
        self.introspects && self.root_fields().all(is_of_engine)
    }

    fn root_fields(&self) -> impl Iterator<Item = &PlannedField> {
        self.root.of_types.iter().flat_map(|of| &of.fields)
    }
}

impl Selection {
    /// What is selected in objects of this type; behind an interface the type decides.
    fn of(&self, type_name: Option<&str>) -> Option<&ObjectSelection> {
        match (&self.of_types[..], type_name) {
            ([only], _) => Some(only),
            (several, Some(name)) => several.iter().find(|of| of.object.name == name),
            (_, None) => None,
        }
    }

    /// Whether rows are read of the items of a page that is selected here.
    fn reads_rows(&self) -> bool {
        let in_field = |planned: &PlannedField| match &planned.value {
            PlannedValue::Resolved { field, inside, .. } => {
                matches!(field.resolve, Resolve::Page(_)) && inside.reads_rows()
            }
            _ => false,
        };
        self.of_types.iter().any(|of| of.reads.row || of.fields.iter().any(in_field))
    }

    /// Whether counts are read of the parts of a record that is selected here.
    fn reads_counts(&self) -> bool {
        let in_part = |planned: &PlannedField| match &planned.value {
            PlannedValue::Resolved { field, inside, .. } => {
                matches!(field.resolve, Resolve::Part) && inside.of_types.iter().any(|of| of.reads.counts)
            }
            _ => false,
        };
        self.of_types.iter().any(|of| of.fields.iter().any(in_part))
    }

    /// What is selected inside the field with this column.
    ///
    /// # Panics
    /// If no field has the column.
    fn inside(&self, wanted: usize) -> &Self {
        let fields = self.of_types.iter().flat_map(|of| &of.fields);
        let mut inside = fields.filter_map(|field| match &field.value {
            PlannedValue::Resolved { column, inside, .. } if *column == wanted => Some(inside),
            _ => None,
        });
        inside.next().expect("every column belongs to a field")
    }
}
