//! Writes the answer of a plan: fields in the order of the document, nulls where they failed.

use async_graphql::{
    Name, PathSegment, ServerError, Value,
    parser::types::{BaseType, Type},
};
use bytes::Bytes;

use super::{
    Failed, ObjectSelection, PlannedField, PlannedValue,
    execution::Execution,
    json::{write_scalar, write_text},
    places::ResolvedField,
};
use crate::{
    definition::{
        resolve::Resolve,
        types::Field,
        values::{Object, Output, Scalar},
    },
    errors::{ApiError, ApiResult},
    guard::rejection::{answer_too_large, error_size},
    reading::view::View,
};
use plaudit_domain::Durability;

/// The answer to a request or a message: one JSON object, and the errors in it.
pub struct Answered {
    pub body: Bytes,
    pub errors: Vec<ServerError>,
    /// How many fields were written.
    pub fields: u64,
    /// Bytes that were written, also of an answer that was too large.
    pub written: u64,
}

impl Answered {
    /// The answer to a request that failed as a whole.
    pub fn failed(error: impl Into<ServerError>) -> Self {
        failed_after(error, None)
    }
}

/// The same after mutations that have acted.
fn failed_after(error: impl Into<ServerError>, durability: Option<Durability>) -> Answered {
    let mut writer = AnswerWriter::begin(usize::MAX);
    writer.is_null = true;
    writer.durability = durability;
    writer.errors.push(error.into());
    writer.finish()
}

/// The way to a value, from the inside.
#[derive(Clone, Copy)]
enum AnswerPath<'a> {
    Root,
    Field(&'a AnswerPath<'a>, &'a Name),
    Index(&'a AnswerPath<'a>, usize),
}

impl AnswerPath<'_> {
    fn segments(&self) -> Vec<PathSegment> {
        let (mut above, segment) = match self {
            AnswerPath::Root => return Vec::new(),
            AnswerPath::Field(above, key) => (above.segments(), PathSegment::Field(key.to_string())),
            AnswerPath::Index(above, index) => (above.segments(), PathSegment::Index(*index)),
        };
        above.push(segment);
        above
    }
}

/// The place where objects are, and the execution that knows them.
#[derive(Clone, Copy)]
struct Inside<'a, 'p> {
    execution: &'a Execution<'p>,
    place: usize,
}

/// An object at its place.
#[derive(Clone, Copy)]
struct At<'a, 'p> {
    execution: &'a Execution<'p>,
    place: usize,
    index: usize,
    object: &'a Object,
    /// What is known of an entity.
    view: Option<View<'a>>,
    type_name: &'static str,
}

pub(super) struct AnswerWriter {
    bytes: Vec<u8>,
    /// Most bytes of the answer. Fields are written until it is exceeded, so it may be exceeded by one text.
    max_bytes: usize,
    is_too_large: bool,
    fields: u64,
    errors: Vec<ServerError>,
    error_bytes: usize,
    is_first: bool,
    /// A root field that may not be null failed.
    is_null: bool,
    /// Of a mutation that has acted.
    durability: Option<Durability>,
    is_stale: bool,
}

/// The extension of a mutation's answer.
const DURABILITY: &str = "durability";
/// The extension of a query's answer that was read while Redis was away.
const STALE: &str = "stale";

/// The beginning of an answer.
const DATA: &[u8] = b"{\"data\":{";

impl AnswerWriter {
    pub fn begin(max_bytes: usize) -> Self {
        let mut bytes = Vec::with_capacity(2_048);
        bytes.extend_from_slice(DATA);
        Self {
            bytes,
            max_bytes,
            is_too_large: false,
            fields: 0,
            errors: Vec::new(),
            error_bytes: 0,
            is_first: true,
            is_null: false,
            durability: None,
            is_stale: false,
        }
    }

    /// Says in the extensions what a crash could still take back.
    pub const fn durability(&mut self, durability: Option<Durability>) {
        self.durability = durability;
    }

    /// Says in the extensions that the answer may be older than others.
    pub const fn stale(&mut self, is_stale: bool) {
        self.is_stale = is_stale;
    }

    pub fn root_field(&mut self, execution: &Execution<'_>, root: &PlannedField) {
        if self.is_null {
            return;
        }
        let mut is_first = self.is_first;
        let selected = execution.places[0].selection.of(None);
        let type_name = selected.map_or("", |selected| selected.object.name);
        let object = At { execution, place: 0, index: 0, object: &Object::Root, view: None, type_name };
        self.is_null |= self.field(object, root, &mut is_first, &AnswerPath::Root).is_err();
        self.is_first = is_first;
    }

    pub fn finish(mut self) -> Answered {
        self.is_too_large |= self.size() > self.max_bytes;
        if self.is_too_large {
            let written = self.bytes.len() as u64;
            let failed = failed_after(answer_too_large(self.max_bytes), self.durability);
            return Answered { fields: self.fields, written, ..failed };
        }
        if self.is_null {
            self.bytes.truncate(DATA.len() - 1);
            self.bytes.extend_from_slice(b"null");
        } else {
            self.bytes.push(b'}');
        }
        if let Some(durability) = self.durability {
            let extensions = format!(",\"extensions\":{{\"{DURABILITY}\":\"{}\"}}", durability.name());
            self.bytes.extend_from_slice(extensions.as_bytes());
        } else if self.is_stale {
            self.bytes.extend_from_slice(format!(",\"extensions\":{{\"{STALE}\":true}}").as_bytes());
        }
        if !self.errors.is_empty() {
            self.bytes.extend_from_slice(b",\"errors\":");
            self.bytes.extend(serde_json::to_vec(&self.errors).unwrap_or_default());
        }
        self.bytes.push(b'}');
        let written = self.bytes.len() as u64;
        Answered { body: self.bytes.into(), errors: self.errors, fields: self.fields, written }
    }

    /// Bytes of the answer so far, with its errors.
    const fn size(&self) -> usize {
        self.bytes.len() + self.error_bytes
    }

    fn error(&mut self, error: ServerError) {
        self.error_bytes += error_size(&error);
        self.errors.push(error);
    }

    /// One field of an object, with its key.
    fn field(
        &mut self,
        at: At<'_, '_>,
        planned: &PlannedField,
        is_first: &mut bool,
        above: &AnswerPath<'_>,
    ) -> Result<(), Failed> {
        // Nothing more is written, so the whole answer ends here.
        self.is_too_large |= self.size() > self.max_bytes;
        if self.is_too_large {
            return Err(Failed);
        }
        self.fields += 1;
        if !std::mem::take(is_first) {
            self.bytes.push(b',');
        }
        self.bytes.extend_from_slice(&planned.json_key);
        let path = AnswerPath::Field(above, &planned.key);
        match &planned.value {
            PlannedValue::TypeName => {
                write_text(&mut self.bytes, at.type_name);
                Ok(())
            }
            PlannedValue::Introspection => self.introspected(at.execution, planned),
            PlannedValue::Scalar(field) => match scalar(field, at) {
                Ok(Scalar::Null) if !field.of.nullable => self.missing(planned, &path),
                Ok(value) => {
                    write_scalar(&mut self.bytes, &value);
                    Ok(())
                }
                Err(error) => self.failed(error, &field.of, planned, &path),
            },
            PlannedValue::Resolved { field, column, .. } => {
                let column = &at.execution.places[at.place].columns[*column];
                let inside = Inside { execution: at.execution, place: column.inside.unwrap_or_default() };
                let value = column.values.get(at.index).unwrap_or(&ResolvedField::Unset);
                self.value(inside, value, &field.of, planned, &path)
            }
        }
    }

    /// A field that the engine has answered.
    fn introspected(&mut self, execution: &Execution<'_>, planned: &PlannedField) -> Result<(), Failed> {
        match &execution.introspected {
            Value::Object(fields) => {
                self.bytes.extend(serde_json::to_vec(&fields.get(&planned.key)).unwrap_or_default());
            }
            _ => self.null(),
        }
        Ok(())
    }

    fn value(
        &mut self,
        at: Inside<'_, '_>,
        value: &ResolvedField,
        of: &Type,
        planned: &PlannedField,
        path: &AnswerPath<'_>,
    ) -> Result<(), Failed> {
        let begin = self.bytes.len();
        let written = match value {
            ResolvedField::Failed(error) => return self.failed(error.clone(), of, planned, path),
            ResolvedField::Unset | ResolvedField::Scalar(Scalar::Null) if of.nullable => {
                self.null();
                Ok(())
            }
            ResolvedField::Unset | ResolvedField::Scalar(Scalar::Null) => return self.missing(planned, path),
            ResolvedField::Scalar(scalar) => {
                write_scalar(&mut self.bytes, scalar);
                Ok(())
            }
            ResolvedField::List(items) => self.list(at, items, of, planned, path),
            ResolvedField::Object(index) => self.object(at, *index, of, planned, path),
        };
        if written.is_err() && of.nullable {
            self.bytes.truncate(begin);
            self.null();
            return Ok(());
        }
        written
    }

    fn list(
        &mut self,
        at: Inside<'_, '_>,
        items: &[ResolvedField],
        of: &Type,
        planned: &PlannedField,
        path: &AnswerPath<'_>,
    ) -> Result<(), Failed> {
        let BaseType::List(of_item) = &of.base else { return self.missing(planned, path) };
        self.bytes.push(b'[');
        for (index, item) in items.iter().enumerate() {
            if index > 0 {
                self.bytes.push(b',');
            }
            self.value(at, item, of_item, planned, &AnswerPath::Index(path, index))?;
        }
        self.bytes.push(b']');
        Ok(())
    }

    fn object(
        &mut self,
        at: Inside<'_, '_>,
        index: usize,
        of: &Type,
        planned: &PlannedField,
        path: &AnswerPath<'_>,
    ) -> Result<(), Failed> {
        let Inside { execution, place } = at;
        let placed = &execution.places[place].objects[index];
        let Some(selected) = placed.selected else { return self.missing(planned, path) };
        match execution.existence(placed) {
            Ok(true) => {
                let (object, type_name) = (&placed.object, selected.object.name);
                let view = execution.view(placed);
                self.fields(At { execution, place, index, object, view, type_name }, selected, path)
            }
            Ok(false) if of.nullable => {
                self.null();
                Ok(())
            }
            Ok(false) => {
                let what = placed.object.kind_name().unwrap_or("object");
                self.failed(ApiError::not_found(what), of, planned, path)
            }
            Err(error) => self.failed(error, of, planned, path),
        }
    }

    fn fields(
        &mut self,
        at: At<'_, '_>,
        selected: &ObjectSelection,
        path: &AnswerPath<'_>,
    ) -> Result<(), Failed> {
        self.bytes.push(b'{');
        let mut is_first = true;
        for planned in &selected.fields {
            self.field(at, planned, &mut is_first, path)?;
        }
        self.bytes.push(b'}');
        Ok(())
    }

    /// Notes the error. Null if the type allows it.
    fn failed(
        &mut self,
        error: ApiError,
        of: &Type,
        planned: &PlannedField,
        path: &AnswerPath<'_>,
    ) -> Result<(), Failed> {
        self.error(planned.error_at(error, path.segments()));
        if of.nullable {
            self.null();
            return Ok(());
        }
        Err(Failed)
    }

    /// A field without a value whose type allows no null: a mistake in its resolver.
    fn missing(&mut self, planned: &PlannedField, path: &AnswerPath<'_>) -> Result<(), Failed> {
        tracing::error!(field = %planned.key, "a field that is never null has no value");
        self.error(planned.error_at(ApiError::internal(), path.segments()));
        Err(Failed)
    }

    fn null(&mut self) {
        self.bytes.extend_from_slice(b"null");
    }
}

/// The value of a field that is computed now.
fn scalar<'a>(field: &Field, at: At<'a, '_>) -> ApiResult<Scalar<'a>> {
    match (&field.resolve, at.object) {
        (Resolve::Fact(_, value), _) => value.of(&at.view.ok_or_else(ApiError::internal)?),
        (Resolve::Part, Object::Record(record)) => match record.part(field.name) {
            Some(Output::Scalar(scalar)) => Ok(scalar.clone()),
            _ => Ok(Scalar::Null),
        },
        (Resolve::Page(part), object) => match part(object) {
            Output::Scalar(scalar) => Ok(scalar),
            _ => Ok(Scalar::Null),
        },
        _ => Err(ApiError::internal()),
    }
}
