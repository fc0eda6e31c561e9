//! Reading ahead: a resolver looks at what is selected in the objects that it returns, and reads it for all
//! of them at once. Without it every field would wait for a loader, which costs three times the query itself.
//!
//! It only saves time. What it does not know, or could not read, a field asks the loaders for.

use std::{collections::HashMap, sync::Arc};

use async_graphql::{Context, SelectionField};

use super::{
    loaders::{OwnEdge, load_known},
    scope::{Known, Scope},
};
use crate::{
    catalogue::{EdgeKind, Entity},
    domain::{Comment, Group, Note, inbox_of},
    primitives::{GroupId, UserId},
};

/// The fields by which objects tell of the viewer's edges to them.
const OWN_EDGES: [(&str, EdgeKind); 5] = [
    ("viewerHasLiked", EdgeKind::NoteLike),
    ("viewerHasLiked", EdgeKind::CommentLike),
    ("viewerHasCollected", EdgeKind::NoteCollect),
    ("viewerIsFollowing", EdgeKind::Follow),
    ("viewerIsMember", EdgeKind::GroupJoin),
];

/// What is selected inside a field, through all fragments.
pub struct Selection<'a>(Vec<SelectionField<'a>>);

impl<'a> Selection<'a> {
    /// Inside the field that is being resolved.
    pub fn of(ctx: &'a Context<'a>) -> Self {
        Self(ctx.field().selection_set().collect())
    }

    /// Inside the nodes of the connection that is being resolved.
    pub fn of_nodes(ctx: &'a Context<'a>) -> Self {
        let page = Self::of(ctx);
        let mut nodes = page.inside("nodes");
        nodes.0.extend(page.inside("edges").inside("node").0);
        nodes
    }

    /// Inside the field of that name.
    pub fn inside(&self, name: &str) -> Self {
        Self(self.named(name).flat_map(SelectionField::selection_set).collect())
    }

    /// Whether the text of a user is selected. Its id and counts are known without.
    pub fn has_text_of_user(&self) -> bool {
        self.has("name") || self.has("createdAt")
    }

    /// The same of a group.
    fn has_text_of_group(&self) -> bool {
        ["name", "description", "createdAt", "owner"].iter().any(|field| self.has(field))
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

/// Collects what objects are going to need, then reads it: everything of one sort in one batch.
#[derive(Default)]
pub struct Prefetch {
    counts: Vec<Entity>,
    own_edges: Vec<OwnEdge>,
    users: Vec<UserId>,
    groups: Vec<GroupId>,
    /// What was there to begin with.
    known: Known,
}

impl Prefetch {
    pub fn note(&mut self, note: &Arc<Note>, selection: &Selection<'_>) {
        self.want_own(note.id, selection);
        self.want_named_user("author", note.author, selection);
        if let Some(group) = note.group {
            self.want_group(group, selection);
        }
        self.known.notes.insert(note.id, Some(Arc::clone(note)));
    }

    pub fn comment(&mut self, comment: &Arc<Comment>, selection: &Selection<'_>) {
        self.want_own(comment.id, selection);
        self.want_named_user("author", comment.author, selection);
        self.known.comments.insert(comment.id, Some(Arc::clone(comment)));
    }

    pub fn group(&mut self, group: &Arc<Group>, selection: &Selection<'_>) {
        self.want_own(group.id, selection);
        self.want_named_user("owner", group.owner, selection);
        self.known.groups.insert(group.id, Some(Arc::clone(group)));
    }

    pub fn user(&mut self, user: UserId, selection: &Selection<'_>) {
        self.want_own(user, selection);
        self.inbox(user, &selection.inside("inbox"));
        if selection.has_text_of_user() {
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
        if selection.has_text_of_group() {
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

    /// Reads what was collected, all sorts at the same time, into a scope for these objects.
    pub async fn read(self, scope: &Scope) -> Scope {
        let Self { counts, own_edges, users, groups, known } = self;
        let loaders = scope.loaders();
        let (counts, own_edges, users, found_groups) = tokio::join!(
            load_known(&loaders.counts, counts),
            own_edges_of_viewer(scope, own_edges),
            load_known(&loaders.users, users),
            load_known(&loaders.groups, groups),
        );
        let groups = known.groups.into_iter().chain(found_groups).collect();
        scope.knowing(Known { counts, own_edges, users, groups, ..known })
    }
}

async fn own_edges_of_viewer(scope: &Scope, edges: Vec<OwnEdge>) -> HashMap<OwnEdge, bool> {
    if edges.is_empty() || !scope.viewer().is_signed_in() {
        return HashMap::new();
    }
    load_known(&scope.loaders().own_edges, edges).await
}
