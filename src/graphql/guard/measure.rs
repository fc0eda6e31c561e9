//! Measures a document: each selection once, each fragment once.

use std::collections::HashMap;

use async_graphql::{
    Name, Positioned,
    parser::types::{
        Directive, ExecutableDocument, Field, FragmentDefinition, OperationDefinition, OperationType,
        Selection, SelectionSet,
    },
};
use async_graphql_value::Value;

use super::{
    cost::Cost,
    fragments,
    refusal::{Limit, Refusal},
    sizes::Arguments,
    types::{Introspected, Parent, Types},
    values,
};
use crate::settings::CostSettings;

/// Fields of the schema that an answer may have. Lists count with their usual lengths; what GraphiQL asks for
/// is four fifths of it.
const INTROSPECTION: u32 = 100_000;
/// The engine compares selections of equal names, in a set and again in each that is around it. So many
/// times more of them may be compared than be selected.
const COMPARED: u32 = 8;

/// What a selection set comes to with all fragments written out. Numbers saturate.
#[derive(Clone, Default)]
pub struct Measured {
    pub selections: u64,
    pub depth: u64,
    pub nesting: u64,
    pub introspection: u64,
    /// Whether the fields of types are listed in it.
    lists_fields: bool,
    /// Fields of the set itself, not those in them.
    pub fields: u64,
    /// What the engine compares of it: the fields and fragments of the set itself, weighed.
    compared: u64,
    pub cost: Cost,
}

/// What was found on the way, fragments as they are written.
#[derive(Default)]
pub struct Found {
    pub steps: u64,
    pub aliases: u64,
    pub directives: u64,
    pub directives_at_once: u64,
    pub compared: u64,
    pub introspects: bool,
    /// How often each variable is used.
    pub uses: HashMap<Name, u64>,
}

/// Goes through a document.
pub struct Measure<'a> {
    types: &'a Types,
    /// Those that are measured: place, and whether another spreads it.
    fragments: HashMap<&'a Name, (usize, bool)>,
    measured: Vec<Measured>,
    pub found: Found,
}

impl<'a> Measure<'a> {
    pub fn new(types: &'a Types) -> Self {
        Self { types, fragments: HashMap::new(), measured: Vec::new(), found: Found::default() }
    }

    /// # Errors
    /// Fragments that contain themselves or that are not there.
    pub fn fragments(&mut self, document: &'a ExecutableDocument) -> Result<(), Refusal> {
        for (name, fragment) in fragments::in_order(document)? {
            let measured = self.fragment(&fragment.node)?;
            self.fragments.insert(name, (self.measured.len(), false));
            self.measured.push(measured);
        }
        Ok(())
    }

    fn fragment(&mut self, fragment: &'a FragmentDefinition) -> Result<Measured, Refusal> {
        self.found.steps += 1;
        self.directives(&fragment.directives);
        let parent = self.types.parent(&fragment.type_condition.node.on.node);
        self.set(&fragment.selection_set.node, parent)
    }

    /// # Errors
    /// A spread of a fragment that is not there.
    pub fn operation(&mut self, operation: &'a OperationDefinition) -> Result<Measured, Refusal> {
        self.found.steps += 1;
        self.directives(&operation.directives);
        for variable in &operation.variable_definitions {
            self.found.steps += 1;
            self.directives(&variable.node.directives);
        }
        let parent = self.types.parent(match operation.ty {
            OperationType::Query => "Query",
            OperationType::Mutation => "Mutation",
            OperationType::Subscription => "Subscription",
        });
        self.set(&operation.selection_set.node, parent)
    }

    fn set(&mut self, set: &'a SelectionSet, parent: Parent<'a>) -> Result<Measured, Refusal> {
        let mut all = Measured::default();
        for selection in &set.items {
            self.found.steps += 1;
            self.directives(selection.node.directives());
            match &selection.node {
                Selection::Field(field) => all.add_field(self.field(&field.node, parent)?, &field.node),
                Selection::InlineFragment(inline) => {
                    let on =
                        inline.node.type_condition.as_ref().map(|on| self.types.parent(&on.node.on.node));
                    let inner = self.set(&inline.node.selection_set.node, on.unwrap_or(parent))?;
                    all.add_fragment(inner);
                }
                Selection::FragmentSpread(spread) => {
                    let name = &spread.node.fragment_name;
                    let Some((place, is_spread)) = self.fragments.get_mut(&name.node) else {
                        return Err(Refusal::UnknownFragment { name: name.node.to_string(), at: spread.pos });
                    };
                    *is_spread = true;
                    let measured = &self.measured[*place];
                    let cost = Cost::of_fragment(*place, &measured.cost);
                    all.add_fragment(Measured { cost, ..measured.without_cost() });
                }
            }
        }
        self.found.compared = self.found.compared.saturating_add(all.compared);
        Ok(all)
    }

    /// The field with what is in it, but as if it were the only one of its set.
    fn field(&mut self, field: &'a Field, parent: Parent<'a>) -> Result<Measured, Refusal> {
        self.found.aliases += u64::from(field.alias.is_some());
        let mut own = Cost::known(1);
        for (_, value) in &field.arguments {
            self.found.steps += 1;
            own.add(self.value(&value.node));
        }
        let name = field.name.node.as_str();
        let begins = name == "__schema" || name == "__type";
        self.found.introspects |= begins;
        if begins || matches!(parent, Parent::Introspection) {
            let inner = self.set(&field.selection_set.node, Parent::Introspection)?;
            let length = introspected_length(name, inner.lists_fields, self.types.introspected);
            let introspection = inner.introspection.saturating_mul(length).saturating_add(1);
            let lists_fields = inner.lists_fields || name == "fields";
            return Ok(Measured { introspection, lists_fields, cost: Cost::default(), ..inner });
        }
        let definition = match parent {
            Parent::Known(fields) => fields.get(&field.name.node),
            _ => None,
        };
        let within = definition.map_or(Parent::Unknown, |definition| self.types.parent(&definition.of));
        let inner = self.set(&field.selection_set.node, within)?;
        own.add(match definition {
            Some(definition) => inner.cost.times(definition.size, &field.arguments),
            None => inner.cost,
        });
        Ok(Measured { cost: own, ..inner })
    }

    fn directives(&mut self, directives: &'a [Positioned<Directive>]) {
        let count = directives.len() as u64;
        self.found.directives += count;
        self.found.directives_at_once = self.found.directives_at_once.max(count);
        for directive in directives {
            self.arguments(&directive.node.arguments);
        }
    }

    fn arguments(&mut self, arguments: &'a Arguments) {
        for (_, value) in arguments {
            self.found.steps += 1;
            self.value(&value.node);
        }
    }

    /// What the texts in an argument cost, and how often variables are used.
    fn value(&mut self, value: &'a Value) -> Cost {
        self.found.steps += 1;
        match value {
            Value::Variable(name) => {
                *self.found.uses.entry(name.clone()).or_default() += 1;
                Cost::text_of(name.clone())
            }
            Value::String(text) => Cost::known(values::text(text)),
            Value::List(items) => self.sum(items),
            Value::Object(fields) => self.sum(fields.values()),
            _ => Cost::default(),
        }
    }

    fn sum(&mut self, values: impl IntoIterator<Item = &'a Value>) -> Cost {
        let mut cost = Cost::default();
        for value in values {
            cost.add(self.value(value));
        }
        cost
    }

    /// Fragments that nobody spreads. The engine goes through them before it refuses them.
    pub fn unspread(&self) -> impl Iterator<Item = &Measured> {
        self.fragments.values().filter(|(_, is_spread)| !is_spread).map(|(place, _)| &self.measured[*place])
    }

    /// Costs of the fragments, each behind those that it spreads.
    pub fn into_costs(self) -> (Vec<Cost>, Found) {
        (self.measured.into_iter().map(|measured| measured.cost).collect(), self.found)
    }
}

impl Measured {
    fn without_cost(&self) -> Self {
        Self { cost: Cost::default(), ..*self }
    }

    fn add_field(&mut self, inner: Self, field: &Field) {
        let has_set = !field.selection_set.node.items.is_empty();
        // Arguments of two fields are compared each with each.
        let arguments = field.arguments.len() as u64;
        self.add(Self {
            selections: inner.selections.saturating_add(1),
            depth: inner.depth.saturating_add(1),
            nesting: if has_set { inner.nesting.saturating_add(1) } else { 0 },
            fields: 1,
            compared: 1 + arguments * arguments / 16,
            ..inner
        });
    }

    fn add_fragment(&mut self, inner: Self) {
        self.add(Self {
            selections: inner.selections.saturating_add(1),
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
    }

    /// Counts what comes of other operations too: the engine goes through all of them.
    pub fn include(&mut self, other: &Self) {
        self.add(other.without_cost());
    }

    /// # Errors
    /// A document that is beyond a limit; `self` is all of its operations.
    pub fn check(&self, found: &Found, limits: &CostSettings) -> Result<(), Refusal> {
        let compared = limits.max_selections.saturating_mul(COMPARED);
        for (limit, measured, maximum) in [
            (Limit::Nesting, self.nesting, limits.max_nesting),
            (Limit::Depth, self.depth, limits.max_depth),
            (Limit::Aliases, found.aliases, limits.max_aliases),
            (Limit::Directives, found.directives, limits.max_directives),
            (Limit::DirectivesAtOnce, found.directives_at_once, limits.max_directives_at_once),
            (Limit::Selections, self.selections, limits.max_selections),
            (Limit::Compared, found.compared, compared),
            (Limit::Introspection, self.introspection, INTROSPECTION),
        ] {
            Refusal::beyond(limit, measured, maximum)?;
        }
        Ok(())
    }
}

/// The usual length of a list in the schema's description of itself. Fields whose types' fields are listed in
/// turn lead to the largest types soonest.
fn introspected_length(field: &str, lists_fields: bool, of: Introspected) -> u64 {
    match field {
        "types" => of.types,
        "fields" if lists_fields => of.most_fields,
        "fields" => of.fields,
        "inputFields" | "enumValues" | "possibleTypes" | "directives" | "locations" => 4,
        "args" | "interfaces" => 2,
        _ => 1,
    }
}
