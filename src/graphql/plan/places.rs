//! The objects of an answer by their places in it, and the values of their fields.

use super::{ObjectSelection, Selection};
use crate::{
    definition::values::{Object, Scalar},
    errors::ApiError,
    reading::facts::FactsNumber,
};

/// All objects at one place of the answer: with the same path, apart from indices of lists.
pub(super) struct Place<'p> {
    pub selection: &'p Selection,
    pub objects: Vec<PlacedObject<'p>>,
    pub columns: Vec<FieldColumn>,
    /// How many of the objects belong to this level of the execution or to earlier ones.
    pub taken: usize,
}

/// An object of the answer.
pub(super) struct PlacedObject<'p> {
    pub object: Object,
    /// What is selected in objects of its type.
    pub selected: Option<&'p ObjectSelection>,
    /// Where the facts of an entity are.
    pub number: Option<FactsNumber>,
}

/// The values of one field of all objects at a place.
#[derive(Default)]
pub(super) struct FieldColumn {
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

impl<'p> Place<'p> {
    pub fn new(selection: &'p Selection) -> Self {
        let columns = std::iter::repeat_with(FieldColumn::default).take(selection.columns).collect();
        Self { selection, objects: Vec::new(), columns, taken: 0 }
    }
}

impl FieldColumn {
    pub fn is_set(&self, index: usize) -> bool {
        self.values.get(index).is_some_and(|value| !matches!(value, ResolvedField::Unset))
    }

    pub fn set(&mut self, index: usize, value: ResolvedField) {
        if self.values.len() <= index {
            self.values.resize_with(index + 1, ResolvedField::default);
        }
        self.values[index] = value;
    }
}
