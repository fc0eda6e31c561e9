//! The execution of a plan: one level after another.

use std::ops::Range;

use async_graphql::{Value, Variables};
use futures_util::future::join_all;

use super::{
    ObjectSelection, Plan, PlannedField, PlannedValue,
    calls::{Calls, FieldCall, called},
    places::{Place, PlacedObject, ResolvedField},
};
use crate::{
    definition::{
        resolve::Resolve,
        types::Field,
        values::{Object, Output, Presence},
    },
    errors::ApiResult,
    reading::{
        facts::{FactsMap, Reads},
        reader,
        scope::Scope,
        view::View,
    },
};
use plaudit_domain::Durability;

/// The objects of the answer so far, by their places in it, and what is known of them.
pub(super) struct Execution<'p> {
    variables: &'p Variables,
    /// What the engine has answered: an object with the fields of introspection, or null.
    pub introspected: &'p Value,
    pub scope: Scope,
    pub places: Vec<Place<'p>>,
    pub known: FactsMap,
}

/// Objects of one place that belong to the level.
struct NewObjects {
    place: usize,
    indices: Range<usize>,
}

impl<'p> Execution<'p> {
    pub fn new(plan: &'p Plan, variables: &'p Variables, scope: Scope) -> Self {
        let introspected = &Value::Null;
        let mut root = Place::new(&plan.root);
        root.objects.push(PlacedObject { object: Object::Root, selected: plan.root.of(None), number: None });
        Self { variables, introspected, scope, places: vec![root], known: FactsMap::default() }
    }

    /// Runs level after level, until all objects are resolved.
    pub async fn run(&mut self) {
        loop {
            let level = self.expand();
            if level.is_empty() {
                return;
            }
            self.read(&level).await;
            self.resolve(&level).await;
        }
    }

    /// Runs the levels inside the root fields, which are resolved.
    pub async fn run_inside(&mut self) {
        self.places[0].taken = 1;
        self.run().await;
    }

    /// Takes the new objects, and all that they name without anything being read: together they are one level.
    fn expand(&mut self) -> Vec<NewObjects> {
        let mut level = Vec::new();
        let mut place = 0;
        while place < self.places.len() {
            let new = self.places[place].taken..self.places[place].objects.len();
            self.places[place].taken = new.end;
            if !new.is_empty() {
                self.link(place, new.clone());
                level.push(NewObjects { place, indices: new });
            }
            place += 1;
        }
        level
    }

    /// Resolves the fields of new objects that need no read.
    fn link(&mut self, place: usize, new: Range<usize>) {
        let mut linked = Vec::new();
        for index in new {
            let placed = &self.places[place].objects[index];
            let Some(selected) = placed.selected else { continue };
            if let (Object::Entity(_, Presence::Read(row)), Some(number)) = (&placed.object, placed.number)
                && selected.reads.row
            {
                self.known.of_mut(number).give_row(row.clone());
            }
            for planned in &selected.fields {
                if let PlannedValue::Resolved { field, column, .. } = &planned.value {
                    linked.extend(self.linked(field, placed).map(|output| (*column, index, output)));
                }
            }
        }
        for (column, index, output) in linked {
            self.add(place, column, index, output);
        }
    }

    /// Reads what is selected of the entities of a level.
    async fn read(&mut self, level: &[NewObjects]) {
        let mut wanted = Vec::new();
        for NewObjects { place, indices } in level {
            for placed in &self.places[*place].objects[indices.clone()] {
                let (Object::Entity(_, presence), Some(number)) = (&placed.object, placed.number) else {
                    continue;
                };
                let reads = placed.selected.map_or(Reads::NOTHING, |selected| selected.reads);
                let is_sought = matches!(presence, Presence::Sought);
                let reads = if is_sought { reads.with(Reads::ROW) } else { reads };
                if reads != Reads::NOTHING {
                    wanted.push((number, reads));
                }
            }
        }
        if !wanted.is_empty() {
            reader::read(self.scope.reader(), &mut self.known, wanted).await;
        }
    }

    /// Resolves the fields of a level that are left: they follow from what was read, or read lists.
    async fn resolve(&mut self, level: &[NewObjects]) {
        let (mut found, mut calls) = (Vec::new(), Calls::default());
        let this = &*self;
        for NewObjects { place: number, indices } in level {
            let place = &this.places[*number];
            for index in indices.clone() {
                let placed = &place.objects[index];
                let Some(selected) = this.selected_in_existing(placed) else { continue };
                for planned in &selected.fields {
                    let PlannedValue::Resolved { field, column, arguments, inside } = &planned.value else {
                        continue;
                    };
                    if place.columns[*column].is_set(index) {
                        continue;
                    }
                    match &field.resolve {
                        Resolve::Call(_) => {
                            let arguments = arguments.with(field, this.variables);
                            calls.add(
                                (*number, *column, index),
                                FieldCall { field, placed, arguments, inside },
                            );
                        }
                        _ => found.extend(
                            this.linked(field, placed).map(|output| (*number, *column, index, output)),
                        ),
                    }
                }
            }
        }
        let Calls { calls, wanted, .. } = calls;
        let outputs = join_all(calls.into_iter().map(|call| call.output(&this.scope))).await;
        let called = wanted
            .into_iter()
            .map(|((place, column, index), call)| (place, column, index, outputs[call].clone()));
        for (place, column, index, output) in found.into_iter().chain(called) {
            self.add(place, column, index, output);
        }
    }

    /// Resolves one root field of a mutation.
    pub async fn resolve_root(&mut self, root: &PlannedField) {
        let PlannedValue::Resolved { field, column, arguments, inside } = &root.value else { return };
        let arguments = arguments.with(field, self.variables);
        let output = called(field, &Object::Root, arguments, inside, &self.scope).await;
        if output.is_ok() {
            self.scope.acts().durability.note(Durability::Database); // unless the mutation has noted a lower one
        }
        self.add(0, *column, 0, output);
    }

    /// The value of a field that needs no call; `None` if a read is missing.
    fn linked(&self, field: &Field, placed: &PlacedObject<'_>) -> Option<ApiResult<Output>> {
        match (&field.resolve, &placed.object) {
            (Resolve::Link(objects), _) => {
                let view = self.view(placed)?;
                view.facts.is_row_known().then(|| objects(&view))
            }
            (Resolve::Part, Object::Record(record)) => Some(Ok(record.part(field.name).cloned().into())),
            (Resolve::Page(part), object) => Some(Ok(part(object))),
            _ => None,
        }
    }

    /// What is known of an entity.
    pub fn view(&self, placed: &PlacedObject<'_>) -> Option<View<'_>> {
        let facts = self.known.of(placed.number?);
        let Object::Entity(entity, _) = placed.object else { return None };
        Some(View { entity, facts, reader: self.scope.reader() })
    }

    /// What is selected in the object; `None` if it does not exist.
    fn selected_in_existing(&self, placed: &PlacedObject<'p>) -> Option<&'p ObjectSelection> {
        placed.selected.filter(|_| matches!(self.existence(placed), Ok(true)))
    }

    /// Whether the object exists, if that was read.
    ///
    /// # Errors
    /// It could not be read whether the object exists.
    pub fn existence(&self, placed: &PlacedObject<'_>) -> ApiResult<bool> {
        let (Object::Entity(_, presence), Some(view)) = (&placed.object, self.view(placed)) else {
            return Ok(true);
        };
        match presence {
            Presence::Sought => view.exists(),
            _ if placed.selected.is_some_and(|selected| selected.reads.row) => Ok(!view.facts.is_gone()),
            _ => Ok(true),
        }
    }

    /// Adds a value, and its objects to the next level.
    pub fn add(&mut self, place: usize, column: usize, index: usize, output: ApiResult<Output>) {
        let resolved = match output {
            Ok(output) => self.resolved(place, column, output),
            Err(error) => ResolvedField::Failed(error),
        };
        self.places[place].columns[column].set(index, resolved);
    }

    fn resolved(&mut self, place: usize, column: usize, output: Output) -> ResolvedField {
        match output {
            Output::Scalar(scalar) => ResolvedField::Scalar(scalar),
            Output::Failed(error) => ResolvedField::Failed(error),
            Output::List(items) => ResolvedField::List(
                items.into_iter().map(|item| self.resolved(place, column, item)).collect(),
            ),
            Output::Object(object) => {
                let inside = self.inside(place, column);
                ResolvedField::Object(self.place(inside, object))
            }
        }
    }

    /// Adds an object to a place. Returns its index there.
    fn place(&mut self, place: usize, object: Object) -> usize {
        let Place { selection, objects, .. } = &mut self.places[place];
        let number = match object {
            Object::Entity(entity, _) => Some(self.known.number(entity)),
            _ => None,
        };
        objects.push(PlacedObject { selected: selection.of(object.type_name()), object, number });
        objects.len() - 1
    }

    /// The place of the objects inside a field.
    fn inside(&mut self, place: usize, column: usize) -> usize {
        if let Some(inside) = self.places[place].columns[column].inside {
            return inside;
        }
        let number = self.places.len();
        let selection = self.places[place].selection.inside(column);
        self.places.push(Place::new(selection));
        self.places[place].columns[column].inside = Some(number);
        number
    }
}
