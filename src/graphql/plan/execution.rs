//! The execution of a plan: one level after another.

use std::ops::Range;

use async_graphql::Variables;
use futures_util::future::join_all;

use super::{ObjectSelection, Plan, PlannedArguments, PlannedField, PlannedValue, Selection};
use crate::{
    catalogue::Entity,
    graphql::{
        definition::{
            types::{Call, Field, Resolve},
            values::{Object, Output, Presence, Scalar},
        },
        errors::{ApiError, ApiResult},
        reading::{
            facts::{self, Facts, FactsMap, Reads, View},
            guards,
            scope::Scope,
        },
    },
};

/// The objects of the answer so far, by their places in it, and what is known of them.
pub(super) struct Execution<'p> {
    variables: &'p Variables,
    pub scope: Scope,
    pub places: Vec<Place<'p>>,
    pub known: FactsMap,
}

/// Objects of one place that belong to the level.
struct NewObjects {
    place: usize,
    indices: Range<usize>,
}

/// All objects at one place of the answer: with the same path, apart from indices of lists.
pub(super) struct Place<'p> {
    pub selection: &'p Selection,
    pub objects: Vec<Object>,
    pub slots: Vec<FieldSlot>,
    /// How many of the objects belong to this level or to earlier ones.
    taken: usize,
}

/// The values of one field of all objects at a place.
#[derive(Default)]
pub(super) struct FieldSlot {
    /// Where its objects are.
    pub inside: Option<usize>,
    /// By the index of the object.
    pub values: Vec<ResolvedField>,
}

/// The value of a field of one object.
#[derive(Default)]
pub(super) enum ResolvedField {
    /// The object does not exist, or is of another type.
    #[default]
    Unset,
    Failed(ApiError),
    Scalar(Scalar<'static>),
    /// The object with this index inside the field.
    Object(usize),
    List(Vec<Self>),
}

impl<'p> Execution<'p> {
    pub fn new(plan: &'p Plan, variables: &'p Variables, scope: Scope) -> Self {
        let root = Place::new(&plan.root, vec![Object::Root]);
        Self { variables, scope, places: vec![root], known: FactsMap::default() }
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
        let selection = self.places[place].selection;
        for index in new {
            let object = self.places[place].objects[index].clone();
            let Some(of) = selection.of(object.type_name()) else { continue };
            if let Object::Entity(entity, Presence::Read(row)) = &object
                && of.reads.row
            {
                self.known.entry(*entity).or_default().give_row(row.clone());
            }
            for planned in &of.fields {
                if let PlannedValue::Resolved { field, slot, .. } = &planned.value
                    && let Some(output) = self.linked(field, &object)
                {
                    self.add(place, *slot, index, output);
                }
            }
        }
    }

    /// Reads what is selected of the entities of a level.
    async fn read(&mut self, level: &[NewObjects]) {
        let mut wanted = Vec::new();
        for NewObjects { place, indices } in level {
            let place = &self.places[*place];
            for object in &place.objects[indices.clone()] {
                let Object::Entity(entity, presence) = object else { continue };
                let reads = place.selection.of(object.type_name()).map_or(Reads::NOTHING, |of| of.reads);
                let is_sought = matches!(presence, Presence::Sought);
                let reads = if is_sought { reads.with(Reads::ROW) } else { reads };
                if reads != Reads::NOTHING {
                    wanted.push((*entity, reads));
                }
            }
        }
        if !wanted.is_empty() {
            facts::read(self.scope.reader(), &mut self.known, wanted).await;
        }
    }

    /// Resolves the fields of a level that are left: they follow from what was read, or read lists.
    async fn resolve(&mut self, level: &[NewObjects]) {
        let (mut found, mut calls) = (Vec::new(), Vec::new());
        let this = &*self;
        for NewObjects { place: number, indices } in level {
            let place = &this.places[*number];
            for index in indices.clone() {
                let object = &place.objects[index];
                let Some(of) = this.of_existing(place, object) else { continue };
                for planned in &of.fields {
                    let PlannedValue::Resolved { field, slot, arguments, .. } = &planned.value else {
                        continue;
                    };
                    if place.slots[*slot].is_set(index) {
                        continue;
                    }
                    match &field.resolve {
                        Resolve::Call(_) => calls.push(async move {
                            let output = this.called(field, object, arguments).await;
                            (*number, *slot, index, output)
                        }),
                        _ => found
                            .extend(this.linked(field, object).map(|output| (*number, *slot, index, output))),
                    }
                }
            }
        }
        let called = join_all(calls).await;
        for (place, slot, index, output) in found.into_iter().chain(called) {
            self.add(place, slot, index, output);
        }
    }

    /// Resolves a field by its function, if its arguments fit and the viewer may use it.
    async fn called(
        &self,
        field: &Field,
        object: &Object,
        arguments: &PlannedArguments,
    ) -> ApiResult<Output> {
        let arguments = arguments.with(field, self.variables)?;
        let call = Call { scope: &self.scope, object, arguments: &arguments };
        guards::check(field.who, call.scope, call.entity().ok()).await?;
        match &field.resolve {
            Resolve::Call(resolver) => resolver(call).await,
            _ => Ok(Output::NULL),
        }
    }

    /// Resolves one root field.
    pub async fn resolve_root(&mut self, root: &PlannedField) {
        let PlannedValue::Resolved { field, slot, arguments, .. } = &root.value else { return };
        let output = self.called(field, &Object::Root, arguments).await;
        self.add(0, *slot, 0, output);
    }

    /// The value of a field that needs no call; `None` if a read is missing.
    fn linked(&self, field: &Field, object: &Object) -> Option<ApiResult<Output>> {
        match (&field.resolve, object) {
            (Resolve::Link(objects), Object::Entity(entity, _)) => {
                let view = self.view(*entity);
                view.facts.is_row_known().then(|| objects(&view))
            }
            (Resolve::Part, Object::Record(record)) => Some(Ok(record.part(field.name).cloned().into())),
            (Resolve::Page(part), _) => Some(Ok(part(object))),
            _ => None,
        }
    }

    pub fn view(&self, entity: Entity) -> View<'_> {
        static NOTHING: Facts = Facts::NONE;
        let facts = self.known.get(&entity).unwrap_or(&NOTHING);
        View { entity, facts, is_signed_in: self.scope.reader().may_own() }
    }

    /// What is selected in the object; `None` if it does not exist.
    fn of_existing(&self, place: &Place<'p>, object: &Object) -> Option<&'p ObjectSelection> {
        let of = place.selection.of(object.type_name())?;
        matches!(self.existence(of, object), Ok(true)).then_some(of)
    }

    /// Whether the object exists, if that was read.
    ///
    /// # Errors
    /// It could not be read whether the object exists.
    pub fn existence(&self, of: &ObjectSelection, object: &Object) -> ApiResult<bool> {
        let Object::Entity(entity, presence) = object else { return Ok(true) };
        match presence {
            Presence::Sought => self.view(*entity).exists(),
            _ if of.reads.row => Ok(!self.view(*entity).facts.is_gone()),
            _ => Ok(true),
        }
    }

    /// Adds a value, and its objects to the next level.
    pub fn add(&mut self, place: usize, slot: usize, index: usize, output: ApiResult<Output>) {
        let resolved = match output {
            Ok(output) => self.resolved(place, slot, output),
            Err(error) => ResolvedField::Failed(error),
        };
        self.places[place].slots[slot].set(index, resolved);
    }

    fn resolved(&mut self, place: usize, slot: usize, output: Output) -> ResolvedField {
        match output {
            Output::Scalar(scalar) => ResolvedField::Scalar(scalar),
            Output::List(items) => {
                ResolvedField::List(items.into_iter().map(|item| self.resolved(place, slot, item)).collect())
            }
            Output::Object(object) => {
                let inside = self.inside(place, slot);
                let objects = &mut self.places[inside].objects;
                objects.push(object);
                ResolvedField::Object(objects.len() - 1)
            }
        }
    }

    /// The place of the objects inside a field.
    fn inside(&mut self, place: usize, slot: usize) -> usize {
        if let Some(inside) = self.places[place].slots[slot].inside {
            return inside;
        }
        let number = self.places.len();
        let selection = self.places[place].selection.inside(slot);
        self.places.push(Place::new(selection, Vec::new()));
        self.places[place].slots[slot].inside = Some(number);
        number
    }
}

impl<'p> Place<'p> {
    fn new(selection: &'p Selection, objects: Vec<Object>) -> Self {
        let slots = std::iter::repeat_with(FieldSlot::default).take(selection.slots).collect();
        Self { selection, objects, slots, taken: 0 }
    }
}

impl FieldSlot {
    fn is_set(&self, index: usize) -> bool {
        self.values.get(index).is_some_and(|value| !matches!(value, ResolvedField::Unset))
    }

    fn set(&mut self, index: usize, value: ResolvedField) {
        if self.values.len() <= index {
            self.values.resize_with(index + 1, ResolvedField::default);
        }
        self.values[index] = value;
    }
}

impl Selection {
    /// What is selected inside the field with this slot.
    ///
    /// # Panics
    /// If no field has the slot.
    fn inside(&self, wanted: usize) -> &Self {
        let fields = self.of_types.iter().flat_map(|of| &of.fields);
        let mut inside = fields.filter_map(|field| match &field.value {
            PlannedValue::Resolved { slot, inside, .. } if *slot == wanted => Some(inside),
            _ => None,
        });
        inside.next().expect("every slot belongs to a field")
    }
}
