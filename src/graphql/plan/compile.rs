//! Compiles the plan of an operation.

use std::{
    collections::{BTreeMap, HashSet},
    mem,
};

use async_graphql::{
    Name, Pos, Positioned, Value, Variables,
    indexmap::IndexMap,
    parser::types::{
        Directive, ExecutableDocument, Field as Selected, OperationDefinition, Selection as Node,
        SelectionSet,
    },
};

use super::{ObjectSelection, Plan, PlannedArguments, PlannedField, PlannedValue, Selection};
use crate::{
    definition::{
        arguments::Arguments,
        resolve::Resolve,
        schema::Schema,
        types::{Field, ObjectType, named},
    },
    reading::facts::Reads,
    schema::{self, coerced},
};

/// Compiles an operation that the engine has validated. The values of the variables decide `@skip` and `@include`.
/// `budget`: most fields of the plan, because fragments and the types behind an interface multiply.
pub(super) fn compile(
    document: &ExecutableDocument,
    operation: &OperationDefinition,
    variables: &Variables,
    budget: usize,
) -> Result<Plan, NotPlanned> {
    let schema = schema::get();
    let root = schema.root(operation.ty).ok_or(NotPlanned::Unknown)?;
    let mut compiler = Compiler {
        schema,
        document,
        variables,
        left: budget,
        is_same_for_all: true,
        introspects: false,
        is_for_everybody: false,
    };
    let root = compiler.selection(&[root], &[&operation.selection_set.node])?;
    let Compiler { left, is_same_for_all, introspects, .. } = compiler;
    Ok(Plan { kind: operation.ty, root, fields: budget - left, is_same_for_all, introspects })
}

/// Why an operation has no plan.
#[derive(PartialEq, Eq, Debug)]
pub enum NotPlanned {
    /// It would have more fields than the budget.
    TooLarge,
    /// The schema lacks a field; the engine says which.
    Unknown,
    /// Fields with the same key are not the same field with the same arguments. The engine's validation compares them
    /// only within one type condition.
    Conflict { key: Name, at: Vec<Pos> },
}

impl Plan {
    /// A plan without a budget, for one answer.
    pub fn whole(
        document: &ExecutableDocument,
        operation: &OperationDefinition,
        variables: &Variables,
    ) -> Result<Self, NotPlanned> {
        compile(document, operation, variables, usize::MAX)
    }
}

struct Compiler<'a> {
    schema: &'static Schema,
    document: &'a ExecutableDocument,
    variables: &'a Variables,
    /// How many more fields the plan may have.
    left: usize,
    is_same_for_all: bool,
    introspects: bool,
    /// The objects here are given as everybody sees them.
    is_for_everybody: bool,
}

/// The selected fields of an object by their keys, in order; each with all its occurrences.
type Merged<'a> = IndexMap<Name, Vec<&'a Positioned<Selected>>>;

impl<'a> Compiler<'a> {
    fn selection(
        &mut self,
        objects: &[&'static ObjectType],
        sets: &[&'a SelectionSet],
    ) -> Result<Selection, NotPlanned> {
        // One numbering for all types: objects of each stand in the same place, and share its columns.
        let mut columns = 0;
        let of_types = objects
            .iter()
            .map(|object| self.object(object, sets, &mut columns))
            .collect::<Result<Vec<_>, _>>()?;
        Ok(Selection { of_types, columns })
    }

    fn object(
        &mut self,
        object: &'static ObjectType,
        sets: &[&'a SelectionSet],
        columns: &mut usize,
    ) -> Result<ObjectSelection, NotPlanned> {
        let mut merged = Merged::new();
        for set in sets {
            // Each occurrence of the field around is a set of its own, and may spread the same fragments once more.
            self.merge(object, set, &mut merged, &mut HashSet::new());
        }
        let mut reads = Reads::NOTHING;
        let mut fields = Vec::with_capacity(merged.len());
        for (key, occurrences) in merged {
            // Only here is known which fields an object really has: validation compares fields of one type condition.
            are_the_same(&key, &occurrences)?;
            let planned = self.field(object, key, &occurrences, columns)?;
            reads = reads.with(match &planned.value {
                PlannedValue::TypeName | PlannedValue::Introspection => Reads::NOTHING,
                PlannedValue::Scalar(field) | PlannedValue::Resolved { field, .. } => field.resolve.reads(),
            });
            fields.push(planned);
        }
        Ok(ObjectSelection { object, fields, reads })
    }

    /// Collects the fields of a selection set, as the specification's `CollectFields`.
    fn merge(
        &self,
        object: &ObjectType,
        set: &'a SelectionSet,
        merged: &mut Merged<'a>,
        seen: &mut HashSet<&'a Name>,
    ) {
        for item in set.items.iter().filter(|item| self.is_included(item.node.directives())) {
            match &item.node {
                Node::Field(field) => {
                    merged.entry(field.node.response_key().node.clone()).or_default().push(field);
                }
                Node::InlineFragment(fragment) => {
                    let on = fragment.node.type_condition.as_ref().map(|on| &on.node.on.node);
                    if on.is_none_or(|on| object.is_a(on)) {
                        self.merge(object, &fragment.node.selection_set.node, merged, seen);
                    }
                }
                Node::FragmentSpread(spread) => {
                    let name = &spread.node.fragment_name.node;
                    if let Some(fragment) = self.document.fragments.get(name)
                        // Once: sixty fragments, each of which spreads the next one thrice, would be 3^60 visits.
                        && seen.insert(name)
                        && object.is_a(&fragment.node.type_condition.node.on.node)
                    {
                        self.merge(object, &fragment.node.selection_set.node, merged, seen);
                    }
                }
            }
        }
    }

    fn is_included(&self, directives: &[Positioned<Directive>]) -> bool {
        directives.iter().all(|directive| {
            let is_true = || match directive.node.get_argument("if").map(|value| &value.node) {
                Some(async_graphql_value::Value::Boolean(value)) => *value,
                Some(async_graphql_value::Value::Variable(name)) => {
                    self.variables.get(name) == Some(&Value::Boolean(true))
                }
                // Validation has refused anything else.
                _ => false,
            };
            match directive.node.name.node.as_str() {
                "skip" => !is_true(),
                "include" => is_true(),
                _ => true,
            }
        })
    }

    fn field(
        &mut self,
        object: &'static ObjectType,
        key: Name,
        occurrences: &[&'a Positioned<Selected>],
        columns: &mut usize,
    ) -> Result<PlannedField, NotPlanned> {
        // Taken before the field is compiled, so a document that multiplies ends here and not in memory.
        self.left = self.left.checked_sub(1).ok_or(NotPlanned::TooLarge)?;
        let first = occurrences.first().ok_or(NotPlanned::Unknown)?;
        let name = &first.node.name.node;
        let value = if name == "__typename" {
            PlannedValue::TypeName
        } else if name.starts_with("__") && object.name == "Query" {
            self.introspects = true;
            PlannedValue::Introspection
        } else {
            self.value(object.field_named(name).ok_or(NotPlanned::Unknown)?, occurrences, columns)?
        };
        // Escaped once: an answer has this key for every object.
        let json_key = format!("{}:", serde_json::Value::from(key.as_str())).into_bytes().into();
        Ok(PlannedField { json_key, position: first.pos, key, value })
    }

    fn value(
        &mut self,
        field: &'static Field,
        occurrences: &[&'a Positioned<Selected>],
        columns: &mut usize,
    ) -> Result<PlannedValue, NotPlanned> {
        let is_of_row = field.resolve.reads() == Reads::ROW;
        self.is_same_for_all &= field.is_same_for_all || self.is_for_everybody && is_of_row;
        let of = named(&field.of);
        let objects = self.schema.behind(of);
        if objects.is_empty() && !matches!(field.resolve, Resolve::Call(_)) {
            return Ok(PlannedValue::Scalar(field));
        }
        // What is called or has objects is read level by level, and its answers wait in this column until they are
        // written. A scalar is computed while it is written.
        let column = *columns;
        *columns += 1;
        let sets: Vec<&SelectionSet> =
            occurrences.iter().map(|field| &field.node.selection_set.node).collect();
        // Holds for the objects of this field only; their fields set it for those below.
        let around = mem::replace(&mut self.is_for_everybody, field.shows_everybody);
        let inside = self.selection(&objects, &sets)?;
        self.is_for_everybody = around;
        let first = occurrences.first().ok_or(NotPlanned::Unknown)?;
        Ok(PlannedValue::Resolved { field, column, arguments: arguments(field, &first.node), inside })
    }
}

/// GraphQL specification, section 5.3.2 "Field Selection Merging".
fn are_the_same(key: &Name, occurrences: &[&Positioned<Selected>]) -> Result<(), NotPlanned> {
    let Some((first, others)) = occurrences.split_first() else { return Ok(()) };
    let arguments = |field: &Selected| -> BTreeMap<Name, String> {
        field.arguments.iter().map(|(name, value)| (name.node.clone(), value.node.to_string())).collect()
    };
    let is_same = |other: &Positioned<Selected>| {
        other.node.name.node == first.node.name.node
            && (other.node.arguments.is_empty() && first.node.arguments.is_empty()
                || arguments(&other.node) == arguments(&first.node))
    };
    match others.iter().find(|other| !is_same(other)) {
        Some(other) => Err(NotPlanned::Conflict { key: key.clone(), at: vec![first.pos, other.pos] }),
        None => Ok(()),
    }
}

fn arguments(field: &Field, selected: &Selected) -> PlannedArguments {
    let defaults = field
        .arguments
        .iter()
        .filter_map(|argument| argument.default.clone().map(|default| (Name::new(argument.name), default)));
    let defaults = Arguments(defaults.collect());
    let mut known = defaults.clone();
    for (name, value) in &selected.arguments {
        if let Some(constant) = value.node.clone().into_const() {
            known.0.insert(name.node.clone(), constant);
        }
    }
    // Arguments without variables are coerced now and not once per request. Those that cannot be are kept as they
    // were given: the error belongs into the answer, at the field.
    let has_variables = selected.arguments.iter().any(|(_, value)| value.node.clone().into_const().is_none());
    match coerced(field, known) {
        Ok(known) if !has_variables => PlannedArguments::Known(known),
        _ => {
            let given =
                selected.arguments.iter().map(|(name, value)| (name.node.clone(), value.node.clone()));
            PlannedArguments::Variable { given: given.collect(), defaults }
        }
    }
}

#[cfg(test)]
mod tests {
    use async_graphql::parser::parse_query;
    use serde_json::json;

    use super::*;

    fn compiled(query: &str, variables: serde_json::Value, budget: usize) -> Result<Plan, NotPlanned> {
        let document = parse_query(query).unwrap();
        let (_, operation) = document.operations.iter().next().unwrap();
        compile(&document, &operation.node, &Variables::from_json(variables), budget)
    }

    fn plan(query: &str) -> Plan {
        compiled(query, json!({}), usize::MAX).ok().unwrap()
    }

    /// The keys of a plan, with those inside.
    fn keys(selection: &Selection) -> Vec<String> {
        let of_field = |field: &PlannedField| match &field.value {
            PlannedValue::Resolved { inside, .. } => format!("{} {{{}}}", field.key, keys(inside).join(" ")),
            _ => field.key.to_string(),
        };
        let of_type = |of: &ObjectSelection| of.fields.iter().map(of_field).collect::<Vec<_>>();
        selection.of_types.iter().flat_map(of_type).collect()
    }

    #[test]
    fn fields_are_merged_in_the_order_of_their_first_occurrence() {
        let plan = plan(
            "{ note(id: 1) { ...A title } note(id: 1) { likes: likeCount ...A id } }
             fragment A on Note { id author { id } ... { author { name } } }",
        );
        assert_eq!(keys(&plan.root), ["note {id author {id name} title likes}"]);
    }

    #[test]
    fn fields_that_are_skipped_are_not_planned() {
        let query = "query ($yes: Boolean!, $no: Boolean!) { note(id: 1) {
            a: id @include(if: $yes) b: id @include(if: $no) c: id @skip(if: $yes) d: id @skip(if: $no)
            e: id @skip(if: true) ... @include(if: $no) { f: id } ...G @skip(if: $no) } } fragment G on Note { g: id }";
        let plan = compiled(query, json!({ "yes": true, "no": false }), usize::MAX).ok().unwrap();
        assert_eq!(keys(&plan.root), ["note {a d g}"]);
    }

    #[test]
    fn behind_an_interface_each_type_has_its_fields() {
        let plan = plan("{ node(id: 1) { ... on Note { title } ... on Node { id } ... on User { name } } }");
        let PlannedValue::Resolved { inside, .. } = &plan.root.of_types[0].fields[0].value else { panic!() };
        let fields = |name| {
            inside.of(Some(name)).unwrap().fields.iter().map(|field| field.key.as_str()).collect::<Vec<_>>()
        };
        assert_eq!(
            (fields("Note"), fields("User"), fields("Group")),
            (vec!["title", "id"], vec!["id", "name"], vec!["id"])
        );
    }

    #[test]
    fn a_plan_that_exceeds_its_budget_is_not_made() {
        let query = "{ note(id: 1) { id title } }";
        assert_eq!(compiled(query, json!({}), 3).ok().unwrap().fields, 3);
        assert_eq!(compiled(query, json!({}), 2).err(), Some(NotPlanned::TooLarge));
    }

    #[test]
    fn fields_with_one_key_must_be_the_same_field_with_the_same_arguments() {
        for (same, query) in [
            (true, "{ note(id: 1) { id } note(id: 1) { title } }"),
            (
                true,
                "{ feed(first: 1, after: \"x\") { __typename } feed(after: \"x\", first: 1) { __typename } }",
            ),
            (false, "{ note(id: 1) { id } ... on Query { note(id: 2) { id } } }"),
            (
                false,
                "{ note(id: 1) { comments(first: 1) { __typename } } note(id: 1) { comments { __typename } } }",
            ),
            (false, "{ x: viewer { user { id } } ... { x: note(id: 1) { id } } }"),
        ] {
            let is_conflict =
                matches!(compiled(query, json!({}), usize::MAX), Err(NotPlanned::Conflict { .. }));
            assert_eq!(!is_conflict, same, "{query}");
        }
    }

    #[test]
    fn a_fragment_that_is_spread_often_is_visited_once() {
        let fragments =
            (0..60).map(|i| format!("fragment F{i} on Note {{ ...F{n} ...F{n} ...F{n} }}", n = i + 1));
        let query = format!(
            "subscription {{ noteCountsChanged(noteIds: []) {{ ...F0 }} }} {} fragment F60 on Note {{ id }}",
            fragments.collect::<String>()
        );
        assert_eq!(keys(&plan(&query).root), ["noteCountsChanged {id}"]);
    }

    #[test]
    fn introspection_is_left_to_the_engine() {
        assert!(plan("{ __schema { types { name } } viewer { user { id } } }").introspects);
        assert!(!plan("{ __typename viewer { user { id } } }").introspects);
    }

    #[test]
    fn an_answer_depends_on_the_viewer_if_any_field_does() {
        for shared in [
            "subscription { noteCountsChanged(noteIds: []) { __typename id likeCount countsVersion } }",
            "subscription { n: noteCountsChanged(noteIds: []) { author { name groups { nodes { id } } } } }",
            "subscription { commentCountsChanged(commentIds: []) { likes: likeCount } }",
            "subscription { noteCountsChanged(noteIds: []) { ...A ...A } } fragment A on Note { ... { title } }",
        ] {
            assert!(plan(shared).is_same_for_all, "{shared}");
        }
        for own in [
            "subscription { inboxCountsChanged { id } }",
            "subscription { noteCountsChanged(noteIds: []) { likeCount: viewerHasLiked } }",
            "subscription { commentCountsChanged(commentIds: []) { body } }",
            "subscription { noteCountsChanged(noteIds: []) { comments { nodes { author { name } } } } }",
            "subscription { noteCountsChanged(noteIds: []) { author { notes { nodes { id } } } } }",
            "subscription { noteCountsChanged(noteIds: []) { author { ...A } } } fragment A on User { visibility { isHidden } }",
            "subscription { noteCountsChanged(noteIds: []) { ... on Note { viewerRating } } }",
        ] {
            assert!(!plan(own).is_same_for_all, "{own}");
        }
    }
}
