//! The types of connections and their fields, which are parts of a page.

use std::sync::Arc;

use super::{
    interfaces::{COMMENT_LIST, GROUP_LIST, NOTE_LIST, USER_LIST},
    resolve::Resolve,
    types::ObjectType,
    values::{Object, Output, Page},
};

/// A connection: a list of nodes of one type.
pub struct Connection {
    /// Its types are named after it: `LikerConnection`, `LikerEdge`.
    pub name: &'static str,
    pub node: &'static str,
    /// The field of its edges that says when the item came into the list: name and description.
    pub at: Option<(&'static str, &'static str)>,
}

impl Connection {
    /// A list whose edges have no time.
    pub const fn of(node: &'static str) -> Self {
        Self { name: node, node, at: None }
    }

    /// A list along an edge of the graph, with the time at which it was switched on.
    pub const fn along(
        name: &'static str,
        node: &'static str,
        at: &'static str,
        description: &'static str,
    ) -> Self {
        Self { name, node, at: Some((at, description)) }
    }

    /// The connection type, and its edge type.
    pub fn types(&self) -> [ObjectType; 2] {
        let Self { name, node, at } = self;
        let named = |suffix: &str| -> &'static str { format!("{name}{suffix}").leak() };
        let edge = ObjectType::new(named("Edge"), "An item of a list.")
            .field(&format!("node: {node}!"), "The item.", Resolve::Page(node_of_edge))
            .field("cursor: String!", "The item's place in the list, for `after`.", Resolve::Page(cursor));
        let edge = at.iter().fold(edge, |edge, (at, description)| {
            edge.field(&format!("{at}: DateTime!"), *description, Resolve::Page(time_of_edge))
        });
        let page = ObjectType::new(named("Connection"), "A page of a list.")
            .field("pageInfo: PageInfo!", "Where the page is in the list.", Resolve::Page(page_info))
            .field(&format!("edges: [{name}Edge!]!"), "The items with their cursors.", Resolve::Page(edges))
            .field(&format!("nodes: [{node}!]!"), "The items.", Resolve::Page(nodes));
        let list = match *node {
            "Note" => Some(NOTE_LIST),
            "User" => Some(USER_LIST),
            "Comment" => Some(COMMENT_LIST),
            "Group" => Some(GROUP_LIST),
            _ => None,
        };
        [list.into_iter().fold(page, ObjectType::implements), edge]
    }
}

pub fn page_info_type() -> ObjectType {
    let has_previous = |object: &Object| page(object).map(|page| page.has_previous.into()).into();
    let has_next = |object: &Object| page(object).map(|page| page.has_next.into()).into();
    let start = |object: &Object| page(object).map(|page| page.cursor(0).into()).into();
    let end = |object: &Object| page(object).map(|page| page.cursor(page.last()).into()).into();
    ObjectType::new("PageInfo", "Where a page is in its list.")
        .field(
            "hasPreviousPage: Boolean!",
            "Whether the page begins after a cursor. Lists are read forwards only.",
            Resolve::Page(has_previous),
        )
        .field("hasNextPage: Boolean!", "Whether there are items after it.", Resolve::Page(has_next))
        .field(
            "startCursor: String",
            "Cursor of the first item. Null on an empty page.",
            Resolve::Page(start),
        )
        .field("endCursor: String", "Cursor of the last item. Null on an empty page.", Resolve::Page(end))
}

const fn page(object: &Object) -> Option<&Arc<Page>> {
    match object {
        Object::Page(page) | Object::Edge(page, _) | Object::PageInfo(page) => Some(page),
        Object::Root | Object::Entity(..) | Object::Record(_) => None,
    }
}

fn page_info(object: &Object) -> Output {
    page(object).map(|page| Object::PageInfo(Arc::clone(page)).into()).into()
}

fn nodes(object: &Object) -> Output {
    page(object).map(|page| Output::List(page.nodes.iter().cloned().map(Output::Object).collect())).into()
}

fn edges(object: &Object) -> Output {
    let edge = |page: &Arc<Page>, index| Object::Edge(Arc::clone(page), index).into();
    page(object)
        .map(|page| Output::List((0..page.nodes.len()).map(|index| edge(page, index)).collect()))
        .into()
}

fn node_of_edge(object: &Object) -> Output {
    match object {
        Object::Edge(page, index) => page.nodes.get(*index).cloned().map(Output::Object).into(),
        _ => Output::NULL,
    }
}

fn cursor(object: &Object) -> Output {
    match object {
        Object::Edge(page, index) => page.cursor(*index).into(),
        _ => Output::NULL,
    }
}

fn time_of_edge(object: &Object) -> Output {
    match object {
        Object::Edge(page, index) => page.at(*index).into(),
        _ => Output::NULL,
    }
}
