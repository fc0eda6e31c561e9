//! The walk over a document as it is written: every selection once, and every fragment once however often it is spread.
//!
//! It measures what limits hold, the cost as a formula, and what the rest of the server asks of a document: its root
//! fields, what they count as, uses of variables, and conditions.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use async_graphql::{
    Name, Pos, Positioned,
    parser::types::{
        Directive, ExecutableDocument, Field as Selected, FragmentDefinition, FragmentSpread,
        OperationDefinition, Selection, SelectionSet,
    },
};
use async_graphql_value::Value;

use super::{
    cost::{CostFormula, FragmentCost},
    error::{CostError, Limit},
    values,
};
use crate::definition::{
    list_size::ListSize,
    schema::{IntrospectionSize, ParentType, Schema},
    types::{Field, named},
};
use plaudit_catalogue::settings::CostSettings;
use plaudit_domain::{PerClass, RateClass};

/// The root fields that every schema has.
const OF_INTROSPECTION: [&str; 3] = ["__typename", "__schema", "__type"];
/// Stands for a root field that the schema does not have: clients could send thousands of names.
pub const UNKNOWN: &str = "unknown";
/// Most fields of the schema in a response to introspection. Lists count with their usual lengths; the query of
/// GraphiQL takes two thirds of it.
const INTROSPECTION: u32 = 200_000;
/// The engine compares fields of equal names: within a selection set, and again within each set around it. A
/// document may need this many times more comparisons than it may have selections.
const COMPARED: u32 = 8;
/// To compare two fields, the engine searches each argument of one among the other's arguments, from the first on
/// (async-graphql, `OverlappingFieldsCanBeMerged`): `arguments * arguments` names at most. This many of them are
/// taken to cost as much as a field; `benches/guard.rs` holds that ("many long arguments").
const ARGUMENTS_PER_FIELD: u64 = 16;
/// With more fields and arguments that the schema does not have, a document is refused at once: validation would find
/// each of them, and compare it with every name of its type.
const UNKNOWN_NAMES: usize = 16;

/// The size of a selection set with all fragments written out. Numbers saturate.
#[derive(Clone, Default)]
pub struct SetMeasure {
    pub selections: u64,
    pub depth: u64,
    pub nesting: u64,
    pub introspection: u64,
    /// Whether it selects the fields of types, by introspection.
    lists_fields: bool,
    /// Fields of the set itself, without nested ones.
    pub fields: u64,
    /// Comparisons by the engine: fields and fragments of the set itself, weighted.
    compared: u64,
    /// Long texts of the set itself: what each costs when it is repeated, by its field (the address of its
    /// definition) and its key in the response.
    texts: BTreeMap<(usize, Name), u64>,
    pub cost: CostFormula,
    /// The cost of one message of a subscription.
    pub message: CostFormula,
    /// How many lists are read by a statement of their own.
    pub lists: CostFormula,
    /// The root fields of the set itself.
    pub roots: BTreeSet<&'static str>,
    /// What they count as in a mutation: each is one action.
    pub actions: PerClass,
}

/// Totals of a document as it is written: each fragment counts once.
#[derive(Default)]
pub struct DocumentTotals {
    /// Work of measuring.
    pub steps: u64,
    pub aliases: u64,
    pub directives: u64,
    pub directives_at_once: u64,
    pub compared: u64,
    pub introspects: bool,
    /// Whether it asks for the schema as gateways do.
    pub asks_for_subgraph: bool,
    /// Fields and arguments that the schema does not have.
    unknown: Vec<(Name, Pos)>,
    /// How often each variable is used.
    pub uses: HashMap<Name, u64>,
    /// Variables in arguments of directives.
    pub conditions: BTreeSet<Name>,
}

/// Walks through a document.
pub struct Measurer<'a> {
    schema: &'static Schema,
    document: &'a ExecutableDocument,
    fragments: HashMap<&'a Name, Fragment>,
    /// Of the fragments, each after those that it spreads.
    measures: Vec<SetMeasure>,
    /// Selection sets around the one that is walked, also in fragments: how deep the walk recurses.
    level: u32,
    max_level: u32,
    pub totals: DocumentTotals,
}

/// A fragment that was met.
#[derive(Clone, Copy)]
enum Fragment {
    /// It is being walked.
    Open,
    /// Index in `measures`, and whether any selection set spreads it.
    Measured(usize, bool),
}

impl<'a> Measurer<'a> {
    pub fn new(schema: &'static Schema, document: &'a ExecutableDocument, limits: &CostSettings) -> Self {
        let (level, max_level) = (0, limits.max_nesting);
        let (fragments, measures, totals) = (HashMap::new(), Vec::new(), DocumentTotals::default());
        Self { schema, document, fragments, measures, level, max_level, totals }
    }

    /// The index of a fragment's measure.
    ///
    /// # Errors
    /// There is no such fragment, or it spreads itself.
    fn fragment(&mut self, name: &'a Name, is_spread: bool, at: Pos) -> Result<usize, CostError> {
        match self.fragments.get_mut(name) {
            Some(Fragment::Open) => return Err(CostError::FragmentCycle { name: name.to_string(), at }),
            Some(Fragment::Measured(index, was_spread)) => {
                *was_spread |= is_spread;
                return Ok(*index);
            }
            None => {}
        }
        let Some(fragment) = self.document.fragments.get(name) else {
            return Err(CostError::UnknownFragment { name: name.to_string(), at });
        };
        // Marked before its inside is visited: a spread of itself meets the mark instead of recursing for ever.
        self.fragments.insert(name, Fragment::Open);
        let measure = self.fragment_definition(&fragment.node)?;
        let index = self.measures.len();
        self.measures.push(measure);
        self.fragments.insert(name, Fragment::Measured(index, is_spread));
        Ok(index)
    }

    fn fragment_definition(&mut self, fragment: &'a FragmentDefinition) -> Result<SetMeasure, CostError> {
        self.totals.steps += 1;
        self.directives(&fragment.directives);
        let parent = self.schema.parent(&fragment.type_condition.node.on.node);
        self.set(&fragment.selection_set.node, parent)
    }

    /// The measures of the fragments that nothing spreads. The engine walks through them before it refuses them.
    ///
    /// # Errors
    /// As [`Self::operation`].
    pub fn unspread(&mut self) -> Result<impl Iterator<Item = &SetMeasure>, CostError> {
        for (name, fragment) in &self.document.fragments {
            self.fragment(name, false, fragment.pos)?;
        }
        let unspread = self.fragments.values().filter_map(|fragment| match fragment {
            Fragment::Measured(index, false) => Some(&self.measures[*index]),
            _ => None,
        });
        Ok(unspread)
    }

    /// # Errors
    /// A spread names no fragment, a fragment spreads itself, sets nest too deeply, or too many names are unknown.
    pub fn operation(&mut self, operation: &'a OperationDefinition) -> Result<SetMeasure, CostError> {
        debug_assert_eq!(self.level, 0, "each walk has come back to where it began");
        self.totals.steps += 1;
        self.directives(&operation.directives);
        for variable in &operation.variable_definitions {
            self.totals.steps += 1;
            self.directives(&variable.node.directives);
        }
        let parent = self.schema.root(operation.ty).map_or(ParentType::Unknown, ParentType::Object);
        self.set(&operation.selection_set.node, parent)
    }

    fn set(&mut self, set: &'a SelectionSet, parent: ParentType) -> Result<SetMeasure, CostError> {
        if set.items.is_empty() {
            return Ok(SetMeasure::default());
        }
        // Checked on the way down and not at the end, because each level is a frame of the stack.
        if self.level > self.max_level {
            return Err(CostError::Beyond {
                limit: Limit::Nesting,
                maximum: self.max_level.into(),
                measured: None,
            });
        }
        self.level += 1;
        let mut all = SetMeasure::default();
        for selection in &set.items {
            self.totals.steps += 1;
            self.directives(selection.node.directives());
            match &selection.node {
                Selection::Field(field) => all.add_field(self.field(&field.node, parent)?, &field.node),
                Selection::InlineFragment(inline) => {
                    let on =
                        inline.node.type_condition.as_ref().map(|on| self.schema.parent(&on.node.on.node));
                    let inner = self.set(&inline.node.selection_set.node, on.unwrap_or(parent))?;
                    all.add_fragment(inner);
                }
                Selection::FragmentSpread(spread) => all.add_fragment(self.spread(&spread.node, spread.pos)?),
            }
        }
        // Not after an error, which ends the measuring.
        self.level -= 1;
        self.totals.compared = self.totals.compared.saturating_add(all.compared);
        Ok(all)
    }

    fn spread(&mut self, spread: &'a FragmentSpread, at: Pos) -> Result<SetMeasure, CostError> {
        let index = self.fragment(&spread.fragment_name.node, true, at)?;
        Ok(self.measures[index].as_spread(index))
    }

    /// The field with everything nested in it, as if it were the only field of its set.
    fn field(&mut self, field: &'a Selected, parent: ParentType) -> Result<SetMeasure, CostError> {
        self.totals.aliases += u64::from(field.alias.is_some());
        let mut own = CostFormula::constant(1);
        for (_, value) in &field.arguments {
            self.totals.steps += 1;
            own.add(self.value(&value.node));
        }
        let name = field.name.node.as_str();
        self.totals.asks_for_subgraph |= name == "_service";
        let is_introspection = name == "__schema" || name == "__type";
        self.totals.introspects |= is_introspection;
        if is_introspection || matches!(parent, ParentType::Introspection) {
            let (roots, actions) = as_root(name, parent, None);
            let inner = self.set(&field.selection_set.node, ParentType::Introspection)?;
            let length = introspected_length(name, inner.lists_fields, self.schema.introspection);
            let introspection = inner.introspection.saturating_mul(length).saturating_add(1);
            let lists_fields = inner.lists_fields || name == "fields";
            return Ok(SetMeasure { introspection, lists_fields, roots, actions, ..inner.without_cost() });
        }
        let definition = self.schema.field_of(parent, name);
        self.check_names(field, parent, definition)?;
        let within = match definition {
            Some(definition) if !field.selection_set.node.items.is_empty() => {
                self.schema.parent(named(&definition.of))
            }
            _ => ParentType::Unknown,
        };
        let mut inner = self.set(&field.selection_set.node, within)?;
        // Here the set is whole: only now is known which text it has under several keys.
        inner.cost.add(CostFormula::constant(inner.repeated_texts()));
        let (mut texts, mut message, mut lists) =
            (BTreeMap::new(), CostFormula::default(), CostFormula::default());
        if let Some(definition) = definition {
            if definition.long_text > 0 {
                // The address distinguishes fields of two types with one name, and costs no comparison of texts.
                let field_of_type = std::ptr::from_ref(definition).addr();
                let key = (field_of_type, field.response_key().node.clone());
                texts.insert(key, values::bytes(definition.long_text));
            }
            if matches!(definition.size, ListSize::Messages { .. }) {
                // Before it is multiplied: this is what one message costs.
                message = inner.cost.clone();
            }
            own.add(inner.cost.times(definition.size, &field.arguments));
            lists.add(CostFormula::constant(definition.size.is_read_alone().into()));
            lists.add(inner.lists.times(definition.size, &field.arguments));
        } else {
            own.add(inner.cost);
            lists.add(inner.lists);
        }
        let (roots, actions) = as_root(name, parent, definition);
        Ok(SetMeasure { cost: own, texts, message, lists, roots, actions, ..inner })
    }

    /// # Errors
    /// This is one unknown name too many.
    fn check_names(
        &mut self,
        Selected { name, arguments, .. }: &Selected,
        parent: ParentType,
        definition: Option<&Field>,
    ) -> Result<(), CostError> {
        match definition {
            Some(definition) => {
                let has = |of: &Name| definition.arguments.iter().any(|argument| *of == argument.name);
                let unknown = arguments.iter().filter(|(name, _)| !has(&name.node));
                self.totals.unknown.extend(unknown.map(|(name, _)| (name.node.clone(), name.pos)));
            }
            None if matches!(parent, ParentType::Unknown) || name.node == "__typename" => {}
            None => self.totals.unknown.push((name.node.clone(), name.pos)),
        }
        // Refused here and not by validation, which would compare each of them with all names of the type.
        if self.totals.unknown.len() <= UNKNOWN_NAMES {
            return Ok(());
        }
        self.totals.unknown.truncate(UNKNOWN_NAMES);
        Err(CostError::UnknownNames(std::mem::take(&mut self.totals.unknown)))
    }

    fn directives(&mut self, directives: &'a [Positioned<Directive>]) {
        let count = directives.len() as u64;
        self.totals.directives += count;
        self.totals.directives_at_once = self.totals.directives_at_once.max(count);
        for (_, value) in directives.iter().flat_map(|directive| &directive.node.arguments) {
            self.totals.steps += 1;
            if let Value::Variable(name) = &value.node {
                self.totals.conditions.insert(name.clone());
            }
            self.value(&value.node);
        }
    }

    /// The cost of the texts in an argument. Counts the uses of variables.
    fn value(&mut self, value: &'a Value) -> CostFormula {
        self.totals.steps += 1;
        match value {
            Value::Variable(name) => {
                *self.totals.uses.entry(name.clone()).or_default() += 1;
                CostFormula::text_of(name.clone())
            }
            Value::String(text) => CostFormula::constant(values::text(text)),
            Value::List(items) => self.sum(items),
            Value::Object(fields) => self.sum(fields.values()),
            _ => CostFormula::default(),
        }
    }

    fn sum(&mut self, values: impl IntoIterator<Item = &'a Value>) -> CostFormula {
        let mut cost = CostFormula::default();
        for value in values {
            cost.add(self.value(value));
        }
        cost
    }

    /// Costs of the fragments, each after those that it spreads.
    pub fn into_costs(self) -> (Vec<FragmentCost>, DocumentTotals) {
        let cost = |SetMeasure { cost, lists, .. }| FragmentCost { fields: cost, lists };
        (self.measures.into_iter().map(cost).collect(), self.totals)
    }
}

impl SetMeasure {
    /// What a spread of the fragment with this index adds. Its formulas are not copied: a document may spread a long
    /// fragment a thousand times.
    fn as_spread(&self, index: usize) -> Self {
        Self {
            cost: CostFormula::of_fragment(index, &self.cost),
            lists: CostFormula::of_fragment(index, &self.lists),
            message: self.message.clone(),
            texts: self.texts.clone(),
            roots: self.roots.clone(),
            actions: self.actions,
            ..self.without_cost()
        }
    }

    fn without_cost(&self) -> Self {
        let nothing = CostFormula::default;
        Self {
            cost: nothing(),
            texts: BTreeMap::new(),
            message: nothing(),
            lists: nothing(),
            roots: BTreeSet::new(),
            actions: PerClass::default(),
            ..*self
        }
    }

    /// What long texts cost that are selected under several keys, each beyond the first: an answer has them several
    /// times, while the document grows by a few bytes.
    fn repeated_texts(&self) -> u64 {
        // The map is sorted by field, so the keys of one field are neighbours.
        let fields = self.texts.iter().zip(self.texts.iter().skip(1));
        let repeated = fields.filter(|(((of, _), _), ((next, _), _))| of == next);
        repeated.fold(0, |sum, (_, (_, cost))| sum.saturating_add(*cost))
    }

    fn add_field(&mut self, inner: Self, field: &Selected) {
        let has_set = !field.selection_set.node.items.is_empty();
        let arguments = field.arguments.len() as u64;
        self.add(Self {
            selections: inner.selections.saturating_add(1),
            depth: inner.depth.saturating_add(1),
            nesting: if has_set { inner.nesting.saturating_add(1) } else { 0 },
            fields: 1,
            compared: 1 + arguments * arguments / ARGUMENTS_PER_FIELD,
            ..inner
        });
    }

    fn add_fragment(&mut self, inner: Self) {
        self.add(Self {
            selections: inner.selections.saturating_add(1),
            // A level of the walk and none of the answer, so `depth` stays.
            nesting: inner.nesting.saturating_add(1),
            compared: inner.compared.saturating_add(1),
            ..inner
        });
    }

    fn add(&mut self, other: Self) {
        self.selections = self.selections.saturating_add(other.selections);
        self.introspection = self.introspection.saturating_add(other.introspection);
        self.lists_fields |= other.lists_fields;
        self.fields = self.fields.saturating_add(other.fields);
        self.compared = self.compared.saturating_add(other.compared);
        self.depth = self.depth.max(other.depth);
        self.nesting = self.nesting.max(other.nesting);
        self.cost.add(other.cost);
        self.message.add(other.message);
        self.lists.add(other.lists);
        self.texts.extend(other.texts);
        self.roots.extend(other.roots);
        self.actions = self.actions.plus(other.actions);
    }

    /// Adds another operation, without its cost: the engine validates all operations, and executes one.
    pub fn include(&mut self, other: &Self) {
        self.add(other.without_cost());
    }

    /// # Errors
    /// The document exceeds a limit; `self` is the sum of its operations.
    pub fn check(&self, totals: &DocumentTotals, limits: &CostSettings) -> Result<(), CostError> {
        let compared = limits.max_selections.saturating_mul(COMPARED);
        for (limit, measured, maximum) in [
            (Limit::Nesting, self.nesting, limits.max_nesting),
            (Limit::Depth, self.depth, limits.max_depth),
            (Limit::Aliases, totals.aliases, limits.max_aliases),
            (Limit::Directives, totals.directives, limits.max_directives),
            (Limit::DirectivesAtOnce, totals.directives_at_once, limits.max_directives_at_once),
            (Limit::Selections, self.selections, limits.max_selections),
            (Limit::Compared, totals.compared, compared),
            (Limit::Introspection, self.introspection, INTROSPECTION),
        ] {
            CostError::beyond(limit, measured, maximum)?;
        }
        Ok(())
    }
}

/// The name of a root field, and what it counts as.
fn as_root(
    name: &str,
    parent: ParentType,
    definition: Option<&'static Field>,
) -> (BTreeSet<&'static str>, PerClass) {
    let ParentType::Object(object) = parent else { return (BTreeSet::new(), PerClass::default()) };
    let is_mutation = object.name == "Mutation";
    if !is_mutation && !["Query", "Subscription"].contains(&object.name) {
        return (BTreeSet::new(), PerClass::default());
    }
    let of_introspection = || OF_INTROSPECTION.into_iter().find(|known| *known == name);
    let known = definition.map(|definition| definition.name).or_else(of_introspection);
    let creates = definition.is_some_and(|definition| definition.creates);
    let actions = match is_mutation {
        true if creates => PerClass::one(RateClass::Creation),
        true => PerClass::one(RateClass::Write),
        false => PerClass::default(),
    };
    (BTreeSet::from([known.unwrap_or(UNKNOWN)]), actions)
}

/// The usual length of a list of introspection. Nested lists of fields count with the largest type, which they
/// reach soonest.
fn introspected_length(field: &str, lists_fields: bool, of: IntrospectionSize) -> u64 {
    match field {
        "types" => of.types,
        "fields" if lists_fields => of.most_fields,
        "fields" => of.fields,
        "inputFields" | "enumValues" | "possibleTypes" | "directives" | "locations" => 4,
        "args" | "interfaces" => 2,
        _ => 1,
    }
}
