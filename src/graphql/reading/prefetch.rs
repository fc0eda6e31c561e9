//! Prefetch: a resolver reads what is selected in the objects that it returns, for all of them at once. Without it
//! every field would wait for a loader, which takes three times as long as the query itself.
//!
//! It only saves time: fields read other data from the loaders. A test fails if a field of an object is in
//! none of the lists below, so that no field misses its prefetch silently.

use std::{collections::HashMap, sync::Arc};

use async_graphql::{Context, SelectionField};

use super::{
    loaders::{OwnEdge, load_many},
    scope::{Prefetched, Scope},
};
use crate::{
    catalogue::{EdgeKind, Entity},
    domain::{Comment, Group, Note, inbox_of},
    primitives::{GroupId, UserId},
};

/// Fields that show the viewer's own edges.
const OWN_EDGES: [(&str, EdgeKind); 5] = [
    ("viewerHasLiked", EdgeKind::NoteLike),
    ("viewerHasLiked", EdgeKind::CommentLike),
    ("viewerHasCollected", EdgeKind::NoteCollect),
    ("viewerIsFollowing", EdgeKind::Follow),
    ("viewerIsMember", EdgeKind::GroupJoin),
];

/// Fields of a user that are in its row. The id and the counts are known without it.
const ROW_OF_USER: [&str; 2] = ["name", "createdAt"];
/// Fields of a group that are in its row.
const ROW_OF_GROUP: [&str; 4] = ["name", "description", "createdAt", "owner"];

/// The selections inside a field, through all fragments.
pub struct Selection<'a>(Vec<SelectionField<'a>>);

impl<'a> Selection<'a> {
    /// Selections inside the field that is being resolved.
    pub fn of(ctx: &'a Context<'a>) -> Self {
        Self(ctx.field().selection_set().collect())
    }

    /// Selections inside the nodes of the connection that is being resolved.
    pub fn of_nodes(ctx: &'a Context<'a>) -> Self {
        let page = Self::of(ctx);
        let mut nodes = page.inside("nodes");
        nodes.0.extend(page.inside("edges").inside("node").0);
        nodes
    }

    /// Selections inside the field of this name.
    pub fn inside(&self, name: &str) -> Self {
        Self(self.named(name).flat_map(SelectionField::selection_set).collect())
    }

    /// Whether a field of a user's row is selected.
    pub fn needs_user(&self) -> bool {
        self.has_any(&ROW_OF_USER)
    }

    fn needs_group(&self) -> bool {
        self.has_any(&ROW_OF_GROUP)
    }

    fn has_any(&self, fields: &[&str]) -> bool {
        fields.iter().any(|field| self.has(field))
    }

    fn has(&self, name: &str) -> bool {
        self.named(name).next().is_some()
    }

    fn has_counts(&self) -> bool {
        self.0.iter().any(|field| is_count(field.name()))
    }

    fn named(&self, name: &str) -> impl Iterator<Item = &SelectionField<'a>> {
        self.0.iter().filter(move |field| field.name() == name)
    }
}

fn is_count(field: &str) -> bool {
    field.ends_with("Count") || field == "countsVersion" || field == "ratingAverage"
}

/// Collects what the selected fields of objects need, then reads it, with one batch per kind of data.
#[derive(Default)]
pub struct Prefetch {
    counts: Vec<Entity>,
    own_edges: Vec<OwnEdge>,
    users: Vec<UserId>,
    groups: Vec<GroupId>,
    /// Objects that the resolver has already read.
    prefetched: Prefetched,
}

impl Prefetch {
    pub fn note(&mut self, note: &Arc<Note>, selection: &Selection<'_>) {
        self.want_own(note.id, selection);
        self.want_named_user("author", note.author, selection);
        if let Some(group) = note.group {
            self.want_group(group, selection);
        }
        self.prefetched.notes.insert(note.id, Some(Arc::clone(note)));
    }

    pub fn comment(&mut self, comment: &Arc<Comment>, selection: &Selection<'_>) {
        self.want_own(comment.id, selection);
        self.want_named_user("author", comment.author, selection);
        self.prefetched.comments.insert(comment.id, Some(Arc::clone(comment)));
    }

    pub fn group(&mut self, group: &Arc<Group>, selection: &Selection<'_>) {
        self.want_own(group.id, selection);
        self.want_named_user("owner", group.owner, selection);
        self.prefetched.groups.insert(group.id, Some(Arc::clone(group)));
    }

    pub fn user(&mut self, user: UserId, selection: &Selection<'_>) {
        self.want_own(user, selection);
        self.inbox(user, &selection.inside("inbox"));
        if selection.needs_user() {
            self.users.push(user);
        }
    }

    pub fn inbox(&mut self, owner: UserId, selection: &Selection<'_>) {
        self.want_own(inbox_of(owner), selection);
    }

    fn want_named_user(&mut self, field: &str, user: UserId, selection: &Selection<'_>) {
        if selection.has(field) {
            self.user(user, &selection.inside(field));
        }
    }

    fn want_group(&mut self, group: GroupId, selection: &Selection<'_>) {
        let selection = selection.inside("group");
        self.want_own(group, &selection);
        if selection.needs_group() {
            self.groups.push(group);
        }
    }

    /// The entity's counts, and the viewer's edges to it.
    fn want_own(&mut self, of: impl Into<Entity>, selection: &Selection<'_>) {
        let entity = of.into();
        if selection.has_counts() {
            self.counts.push(entity);
        }
        for (field, kind) in OWN_EDGES {
            if kind.target() == entity.kind && selection.has(field) {
                self.own_edges.push((kind, entity.id));
            }
        }
    }

    /// Reads everything that was collected at the same time. Returns the scope for these objects.
    pub async fn read(self, scope: &Scope) -> Scope {
        let Self { counts, own_edges, users, groups, prefetched } = self;
        let loaders = scope.loaders();
        let (counts, own_edges, users, found_groups) = tokio::join!(
            load_many(&loaders.counts, counts),
            own_edges_of_viewer(scope, own_edges),
            load_many(&loaders.users, users),
            load_many(&loaders.groups, groups),
        );
        let groups = prefetched.groups.into_iter().chain(found_groups).collect();
        scope.with_prefetched(Prefetched { counts, own_edges, users, groups, ..prefetched })
    }
}

async fn own_edges_of_viewer(scope: &Scope, edges: Vec<OwnEdge>) -> HashMap<OwnEdge, bool> {
    if edges.is_empty() || !scope.viewer().is_signed_in() {
        return HashMap::new();
    }
    load_many(&scope.loaders().own_edges, edges).await
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use async_graphql::parser::{
        parse_schema,
        types::{TypeKind, TypeSystemDefinition},
    };

    use super::*;
    use crate::graphql::sdl;

    /// Fields of users and groups that need no row: the id, and lists and objects that are read by themselves.
    const WITHOUT_ROW: [&str; 9] = [
        "id",
        "notes",
        "followers",
        "following",
        "groups",
        "members",
        "likedNotes",
        "collectedNotes",
        "inbox",
    ];

    fn fields_of(object: &str) -> BTreeSet<String> {
        let definitions = parse_schema(sdl()).unwrap().definitions;
        let fields = definitions.into_iter().find_map(|definition| match definition {
            TypeSystemDefinition::Type(found) if found.node.name.node == object => match found.node.kind {
                TypeKind::Object(kind) => Some(kind.fields),
                _ => None,
            },
            _ => None,
        });
        fields.unwrap().into_iter().map(|field| field.node.name.node.to_string()).collect()
    }

    #[test]
    fn every_field_of_users_and_groups_is_prefetched_or_read_by_itself() {
        for (object, row) in [("User", &ROW_OF_USER[..]), ("Group", &ROW_OF_GROUP[..])] {
            let fields = fields_of(object);
            let is_listed = |field: &str| {
                is_count(field)
                    || row.contains(&field)
                    || WITHOUT_ROW.contains(&field)
                    || OWN_EDGES.iter().any(|(own, _)| *own == field)
            };
            for field in &fields {
                assert!(is_listed(field), "{object}.{field}: add it to ROW_OF_{object} or to WITHOUT_ROW");
            }
            for field in row {
                assert!(fields.contains(*field), "{object}.{field} is not in the schema");
            }
        }
    }
}
