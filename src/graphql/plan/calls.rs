//! Fields that are resolved by their functions: each distinct call of a level is made once.

use std::{borrow::Cow, collections::HashMap};

use super::{Selection, places::PlacedObject};
use crate::{
    definition::{
        arguments::Arguments,
        resolve::{Call, Resolve},
        types::Field,
        values::{Object, Output},
    },
    errors::ApiResult,
    reading::{facts::FactsNumber, guards, scope::Scope},
    schema::with_canonical_ids,
};

/// A field that is resolved by its function, and the object that it is a field of.
pub(super) struct FieldCall<'e, 'p> {
    pub field: &'static Field,
    pub placed: &'e PlacedObject<'p>,
    pub arguments: ApiResult<Cow<'p, Arguments>>,
    pub inside: &'p Selection,
}

impl FieldCall<'_, '_> {
    /// Calls with equal keys have equal results.
    fn key(&self) -> Option<CallKey> {
        // Only entities have numbers; there is one root.
        if self.placed.number.is_none() && !matches!(self.placed.object, Object::Root) {
            return None;
        }
        let arguments = serde_json::to_string(&self.arguments.as_ref().ok()?.0).ok()?;
        let field = std::ptr::from_ref(self.field).addr();
        Some((field, self.placed.number, arguments, self.inside.reads_rows()))
    }

    pub async fn output(self, scope: &Scope) -> ApiResult<Output> {
        called(self.field, &self.placed.object, self.arguments, self.inside, scope).await
    }
}

/// The address of a field, its object, its arguments, and whether rows are needed.
type CallKey = (usize, Option<FactsNumber>, String, bool);

/// The calls of a level: equal ones, under several aliases or for an object that is shown several times, are one.
#[derive(Default)]
pub(super) struct Calls<'e, 'p> {
    pub calls: Vec<FieldCall<'e, 'p>>,
    indices: HashMap<CallKey, usize>,
    /// Who wants the result of which call: place, column and index of the object.
    pub wanted: Vec<((usize, usize, usize), usize)>,
}

impl<'e, 'p> Calls<'e, 'p> {
    pub fn add(&mut self, by: (usize, usize, usize), call: FieldCall<'e, 'p>) {
        let next = self.calls.len();
        let index = call.key().map_or(next, |key| *self.indices.entry(key).or_insert(next));
        if index == next {
            self.calls.push(call);
        }
        self.wanted.push((by, index));
    }
}

/// Resolves a field by its function, if its arguments fit and the viewer may use it.
pub(super) async fn called(
    field: &Field,
    object: &Object,
    arguments: ApiResult<Cow<'_, Arguments>>,
    inside: &Selection,
    scope: &Scope,
) -> ApiResult<Output> {
    let arguments = arguments?;
    guards::check(field.who, scope)?;
    let arguments = with_canonical_ids(field, arguments, scope).await?;
    let (needs_rows, shows_counts) = (inside.reads_rows(), inside.reads_counts());
    let call = Call { scope, object, arguments: &arguments, needs_rows, shows_counts };
    match &field.resolve {
        Resolve::Call(resolver) => resolver(call).await,
        _ => Ok(Output::NULL),
    }
}
