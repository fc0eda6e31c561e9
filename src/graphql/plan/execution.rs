//! The execution of a plan: one level after another.

use std::{borrow::Cow, collections::HashMap, ops::Range};

use async_graphql::Variables;
use futures_util::future::join_all;

use super::{ObjectSelection, Plan, PlannedField, PlannedValue, Selection};
use crate::{
    domain::Durability,
    graphql::{
        definition::{
            arguments::Arguments,
            types::{Call, Field, Resolve},
            values::{Object, Output, Presence, Scalar},
        },
        errors::{ApiError, ApiResult},
        reading::{
            facts::{FactsMap, FactsNumber, Reads},
            guards, reader,
            scope::Scope,
            view::View,
        },
        schema::with_canonical_ids,
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
    pub objects: Vec<PlacedObject<'p>>,
    pub slots: Vec<FieldSlot>,
    /// How many of the objects belong to this level or to earlier ones.
    taken: usize,
}

/// An object of the answer.
pub(super) struct PlacedObject<'p> {
    pub object: Object,
    /// What is selected in objects of its type.
    pub selected: Option<&'p ObjectSelection>,
    /// Where the facts of an entity are.
    number: Option<FactsNumber>,
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
        let mut root = Place::new(&plan.root);
        root.objects.push(PlacedObject { object: Object::Root, selected: plan.root.of(None), number: None });
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
                if let PlannedValue::Resolved { field, slot, .. } = &planned.value {
                    linked.extend(self.linked(field, placed).map(|output| (*slot, index, output)));
                }
            }
        }
        for (slot, index, output) in linked {
            self.add(place, slot, index, output);
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
                    let PlannedValue::Resolved { field, slot, arguments, inside } = &planned.value else {
                        continue;
                    };
                    if place.slots[*slot].is_set(index) {
                        continue;
                    }
                    match &field.resolve {
                        Resolve::Call(_) => {
                            let arguments = arguments.with(field, this.variables);
                            calls
                                .add((*number, *slot, index), FieldCall { field, placed, arguments, inside });
                        }
                        _ => found
                            .extend(this.linked(field, placed).map(|output| (*number, *slot, index, output))),
                    }
                }
            }
        }
        let Calls { calls, wanted, .. } = calls;
        let outputs = join_all(calls.into_iter().map(|call| call.output(&this.scope))).await;
        let called = wanted
            .into_iter()
            .map(|((place, slot, index), call)| (place, slot, index, outputs[call].clone()));
        for (place, slot, index, output) in found.into_iter().chain(called) {
            self.add(place, slot, index, output);
        }
    }

    /// Resolves one root field of a mutation.
    pub async fn resolve_root(&mut self, root: &PlannedField) {
        let PlannedValue::Resolved { field, slot, arguments, inside } = &root.value else { return };
        let arguments = arguments.with(field, self.variables);
        let output = called(field, &Object::Root, arguments, inside, &self.scope).await;
        if output.is_ok() {
            self.scope.acts().durability.note(Durability::Database); // unless the mutation has noted a lower one
        }
        self.add(0, *slot, 0, output);
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
            Output::Failed(error) => ResolvedField::Failed(error),
            Output::List(items) => {
                ResolvedField::List(items.into_iter().map(|item| self.resolved(place, slot, item)).collect())
            }
            Output::Object(object) => {
                let inside = self.inside(place, slot);
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
    fn inside(&mut self, place: usize, slot: usize) -> usize {
        if let Some(inside) = self.places[place].slots[slot].inside {
            return inside;
        }
        let number = self.places.len();
        let selection = self.places[place].selection.inside(slot);
        self.places.push(Place::new(selection));
        self.places[place].slots[slot].inside = Some(number);
        number
    }
}

/// A field that is resolved by its function, and the object that it is a field of.
struct FieldCall<'e, 'p> {
    field: &'static Field,
    placed: &'e PlacedObject<'p>,
    arguments: ApiResult<Cow<'p, Arguments>>,
    inside: &'p Selection,
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

    async fn output(self, scope: &Scope) -> ApiResult<Output> {
        called(self.field, &self.placed.object, self.arguments, self.inside, scope).await
    }
}

/// The address of a field, its object, its arguments, and whether rows are needed.
type CallKey = (usize, Option<FactsNumber>, String, bool);

/// The calls of a level: equal ones, under several aliases or for an object that is shown several times, are one.
#[derive(Default)]
struct Calls<'e, 'p> {
    calls: Vec<FieldCall<'e, 'p>>,
    indices: HashMap<CallKey, usize>,
    /// Who wants the result of which call: place, slot and index of the object.
    wanted: Vec<((usize, usize, usize), usize)>,
}

impl<'e, 'p> Calls<'e, 'p> {
    fn add(&mut self, by: (usize, usize, usize), call: FieldCall<'e, 'p>) {
        let next = self.calls.len();
        let index = call.key().map_or(next, |key| *self.indices.entry(key).or_insert(next));
        if index == next {
            self.calls.push(call);
        }
        self.wanted.push((by, index));
    }
}

/// Resolves a field by its function, if its arguments fit and the viewer may use it.
async fn called(
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

impl<'p> Place<'p> {
    fn new(selection: &'p Selection) -> Self {
        let slots = std::iter::repeat_with(FieldSlot::default).take(selection.slots).collect();
        Self { selection, objects: Vec::new(), slots, taken: 0 }
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
