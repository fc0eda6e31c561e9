//! Pages of lists, as Relay's connections.

use std::{fmt::Display, str::FromStr};

use async_graphql::OutputType;
use async_graphql::connection::{Connection, CursorType, Edge, OpaqueCursor};

use super::errors::{ApiError, ApiResult};
use crate::{
    catalogue::{Entity, EntityKind},
    primitives::PageRequest,
};

/// The most items of one page.
pub const MAX_PAGE: i32 = 100;

/// A page of `N`.
pub type Page<N> = Connection<Cursor, N>;

/// The text of a place in a list: after this item. Each list has its own kind of place; clients see an opaque
/// text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Cursor(String);

impl Cursor {
    pub fn new(place: impl Display) -> Self {
        Self(place.to_string())
    }
}

impl CursorType for Cursor {
    type Error = &'static str;

    fn decode_cursor(text: &str) -> Result<Self, Self::Error> {
        let OpaqueCursor::<String>(place) =
            OpaqueCursor::decode_cursor(text).map_err(|_| "it is not a cursor that a page gave")?;
        Ok(Self(place))
    }

    fn encode_cursor(&self) -> String {
        OpaqueCursor(self.0.clone()).encode_cursor()
    }
}

/// Reads the arguments of a list of `kind`.
///
/// # Errors
/// [`Code::BadUserInput`](super::Code::BadUserInput) naming `first` or `after`.
pub fn page_request(first: i32, after: Option<&str>, kind: EntityKind) -> ApiResult<PageRequest> {
    let first = size(first)?;
    let item: Option<Entity> = after.map(place).transpose()?;
    if item.is_some_and(|item| item.kind != kind) {
        return Err(refused("it is a cursor of another list"));
    }
    Ok(PageRequest { first, before: item.map(|item| item.id) })
}

/// Reads how many items a page shall have.
///
/// # Errors
/// [`Code::BadUserInput`](super::Code::BadUserInput) naming `first`.
pub fn size(first: i32) -> ApiResult<usize> {
    if (1..=MAX_PAGE).contains(&first) {
        return Ok(first as usize);
    }
    Err(ApiError::bad_input("first", format!("first: a page has 1 to {MAX_PAGE} items, not {first}")))
}

/// Reads after what a page shall begin.
///
/// # Errors
/// [`Code::BadUserInput`](super::Code::BadUserInput) naming `after`.
pub fn place<P: FromStr>(after: &str) -> ApiResult<P> {
    let Cursor(place) = Cursor::decode_cursor(after).map_err(refused)?;
    place.parse().map_err(|_| refused("it is not a cursor that a page of this list gave"))
}

fn refused(why: &str) -> ApiError {
    ApiError::bad_input("after", format!("after: {why}; pass a page's endCursor"))
}

/// Makes a page of what was read for `request`.
pub fn page<I: Into<Entity>, N: OutputType>(
    request: PageRequest,
    has_more: bool,
    nodes: impl IntoIterator<Item = (I, N)>,
) -> Page<N> {
    let edges = nodes.into_iter().map(|(id, node)| -> (Entity, N) { (id.into(), node) });
    page_of(request.before.is_some(), has_more, edges)
}

/// Makes a page of nodes with their places.
pub fn page_of<P: Display, N: OutputType>(
    has_previous: bool,
    has_more: bool,
    nodes: impl IntoIterator<Item = (P, N)>,
) -> Page<N> {
    let mut page = Connection::new(has_previous, has_more);
    page.edges.extend(nodes.into_iter().map(|(place, node)| Edge::new(Cursor::new(place), node)));
    page
}

/// Complexity of a page: each of its items costs as much as one.
pub fn cost(first: Option<i32>, child_complexity: usize) -> usize {
    1 + first.unwrap_or(MAX_PAGE).clamp(1, MAX_PAGE) as usize * child_complexity
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::primitives::{Id, NoteId};

    fn note(id: i64) -> NoteId {
        NoteId(Id::try_from(id).unwrap())
    }

    fn message(first: i32, after: Option<&str>) -> String {
        let error = page_request(first, after, EntityKind::Note).unwrap_err();
        async_graphql::Error::from(error).message
    }

    #[test]
    fn a_cursor_leads_to_the_items_after_its_own() {
        let cursor = Cursor::new(Entity::from(note(42))).encode_cursor();
        let request = page_request(20, Some(&cursor), EntityKind::Note).unwrap();
        assert_eq!((request.first, request.before), (20, Some(note(42).0)));
    }

    #[test]
    fn a_page_has_at_least_one_item_and_at_most_the_limit() {
        assert!(page_request(1, None, EntityKind::Note).is_ok());
        assert!(page_request(MAX_PAGE, None, EntityKind::Note).is_ok());
        for first in [-1, 0, MAX_PAGE + 1] {
            assert_eq!(message(first, None), format!("first: a page has 1 to 100 items, not {first}"));
        }
    }

    #[test]
    fn only_a_cursor_of_the_same_list_is_taken() {
        for text in ["", "note_42", "NDI", "%%%"] {
            assert!(message(20, Some(text)).starts_with("after: it is not a cursor"), "{text}");
        }
        let of_another = Cursor::new(Entity::new(EntityKind::Comment, note(42).0)).encode_cursor();
        assert!(message(20, Some(&of_another)).starts_with("after: it is a cursor of another list"));
    }

    #[test]
    fn a_page_tells_whether_there_is_more_on_either_side() {
        let first = PageRequest { first: 2, before: None };
        let page = page(first, true, [(note(9), 9), (note(8), 8)]);
        assert!(page.has_next_page && !page.has_previous_page);
        assert_eq!(page.edges[1].cursor, Cursor::new(Entity::from(note(8))));
    }
}
