//! Pages: Relay connections and their cursors.

use std::{
    convert::Infallible,
    fmt::{self, Display},
    str::FromStr,
};

use async_graphql::{
    OutputType,
    connection::{Connection, CursorType, Edge, OpaqueCursor},
};

use super::{prefetch::Prefetch, scope::Scope};
use crate::{
    graphql::errors::{ApiError, ApiResult},
    primitives::{PageRequest, Slice},
};

/// Most items of a page.
pub const MAX_PAGE: i32 = 100;
/// Items of a page by default.
pub const FIRST: i32 = 20;

/// Longest cursor that is decoded, in bytes: every item of an enclosing list decodes its own copy. Cursors of this
/// server are shorter than 100.
const MAX_CURSOR: usize = 256;

/// A page of `N`.
pub type Page<N> = Connection<Cursor, N>;

/// The name of a list, so that other lists refuse its cursors.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct List(pub &'static str);

/// A position in a list, after an item: the name of the list and the key of the item. Opaque to clients.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Cursor(String);

impl CursorType for Cursor {
    type Error = Infallible;

    fn decode_cursor(text: &str) -> Result<Self, Infallible> {
        // A cursor of another server is a position in no list.
        let decoded = OpaqueCursor::<String>::decode_cursor(text);
        Ok(Self(decoded.map_or_else(|_| String::new(), |OpaqueCursor(place)| place)))
    }

    fn encode_cursor(&self) -> String {
        OpaqueCursor(self.0.clone()).encode_cursor()
    }
}

impl List {
    /// Reads the page arguments of this list, whose items have keys `K`.
    ///
    /// # Errors
    /// [`Code::BadUserInput`](crate::graphql::Code::BadUserInput) naming `first` or `after`.
    pub fn page_request<K: FromStr>(self, first: i32, after: Option<&str>) -> ApiResult<PageRequest<K>> {
        if !(1..=MAX_PAGE).contains(&first) {
            let message = format!("first: a page has 1 to {MAX_PAGE} items, not {first}");
            return Err(ApiError::bad_input("first", message));
        }
        let after = after.map(|text| self.key(text)).transpose()?;
        Ok(PageRequest { first: first as usize, after })
    }

    fn key<K: FromStr>(self, text: &str) -> ApiResult<K> {
        let refused = |why| ApiError::bad_input("after", format!("after: {why}; pass a page's endCursor"));
        if text.len() > MAX_CURSOR {
            return Err(refused("it is not a cursor of this server"));
        }
        let Ok(Cursor(place)) = Cursor::decode_cursor(text);
        let (list, key) =
            place.split_once(' ').ok_or_else(|| refused("it is not a cursor of this server"))?;
        if list != self.0 {
            return Err(refused("it is a cursor of another list"));
        }
        key.parse().map_err(|_| refused("it is not a cursor of this server"))
    }

    pub fn cursor(self, key: &impl Display) -> Cursor {
        Cursor(format!("{self} {key}"))
    }

    /// Makes a page of the nodes that were read for `request`, each with its key.
    pub fn page<K: Display, N: OutputType>(
        self,
        request: &PageRequest<K>,
        has_more: bool,
        nodes: impl IntoIterator<Item = (K, N)>,
    ) -> Page<N> {
        let mut page = Connection::new(request.after.is_some(), has_more);
        page.edges.extend(nodes.into_iter().map(|(key, node)| Edge::new(self.cursor(&key), node)));
        page
    }

    /// Makes a page of items, each with its key in the list, after a prefetch for all of them. `want` adds the
    /// data that an item needs; `node` makes its object, or omits the item.
    pub async fn prefetched_page<K: Display, T, N: OutputType>(
        self,
        request: &PageRequest<K>,
        items: Slice<(K, T)>,
        scope: &Scope,
        want: impl Fn(&mut Prefetch, &T),
        node: impl Fn(T, Scope) -> Option<N>,
    ) -> Page<N> {
        let mut prefetch = Prefetch::default();
        for (_, item) in &items.items {
            want(&mut prefetch, item);
        }
        let scope = prefetch.read(scope).await;
        let nodes = items.items.into_iter().filter_map(|(key, item)| Some((key, node(item, scope.clone())?)));
        self.page(request, items.has_more, nodes)
    }
}

impl Display for List {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::primitives::{Id, Moment};

    const NOTES: List = List("notes");

    fn id(raw: i64) -> Id {
        Id::try_from(raw).unwrap()
    }

    fn message(first: i32, after: Option<&str>) -> String {
        let error = NOTES.page_request::<Id>(first, after).unwrap_err();
        async_graphql::Error::from(error).message
    }

    #[test]
    fn a_cursor_leads_to_the_items_after_its_own() {
        let cursor = NOTES.cursor(&id(42)).encode_cursor();
        let request = NOTES.page_request(20, Some(&cursor)).unwrap();
        assert_eq!((request.first, request.after), (20, Some(id(42))));
        let moment = Moment { micros: 1_763_700_000_000_000, id: id(42) };
        let cursor = NOTES.cursor(&moment).encode_cursor();
        assert_eq!(NOTES.page_request(20, Some(&cursor)).unwrap().after, Some(moment));
    }

    #[test]
    fn a_page_has_at_least_one_item_and_at_most_the_limit() {
        assert!(NOTES.page_request::<Id>(1, None).is_ok());
        assert!(NOTES.page_request::<Id>(MAX_PAGE, None).is_ok());
        for first in [-1, 0, MAX_PAGE + 1] {
            assert_eq!(message(first, None), format!("first: a page has 1 to 100 items, not {first}"));
        }
    }

    #[test]
    fn only_a_cursor_of_the_same_list_is_accepted() {
        for text in ["", "note_42", "NDI", "%%%", &"x".repeat(100_000)] {
            assert!(message(20, Some(text)).starts_with("after: it is not a cursor"), "{text}");
        }
        let of_another = List("comments").cursor(&id(42)).encode_cursor();
        assert!(message(20, Some(&of_another)).starts_with("after: it is a cursor of another list"));
        let of_no_id = NOTES.cursor(&"x").encode_cursor();
        assert!(message(20, Some(&of_no_id)).starts_with("after: it is not a cursor"));
    }

    #[test]
    fn a_page_has_its_neighbours_in_page_info() {
        let first = PageRequest { first: 2, after: None };
        let page = NOTES.page(&first, true, [(id(9), 9), (id(8), 8)]);
        assert!(page.has_next_page && !page.has_previous_page);
        assert_eq!(page.edges[1].cursor, NOTES.cursor(&id(8)));
    }
}
