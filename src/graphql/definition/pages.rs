//! Pages: Relay connections and their cursors.

use std::{
    fmt::{self, Display},
    str::FromStr,
};

use async_graphql::connection::{CursorType, OpaqueCursor};
use chrono::{DateTime, Utc};

use super::{
    arguments::Arguments,
    values::{Object, Output, Page, Places},
};
use crate::errors::{ApiError, ApiResult};
use plaudit_catalogue::primitives::{Id, Moment, PageRequest, Ranked, Slice};

/// Most items of a page.
pub const MAX_PAGE: i32 = 100;
/// Items of a page by default.
pub const FIRST: i32 = 20;

/// Longest cursor that is decoded, in bytes: every item of an enclosing list decodes its own copy. The longest are of
/// lists by name: 300 bytes.
const MAX_CURSOR: usize = 512;

/// The arguments of a page, in the schema's text. `default`: items of a page if the client does not say.
pub fn arguments(default: i32) -> String {
    format!(
        "(\"Number of items: 1 to {MAX_PAGE}.\" first: Int = {default}, \"Only items after this cursor.\" after: String)"
    )
}

/// The name of a list, so that other lists refuse its cursors.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct List(pub &'static str);

/// A position in a list, after an item: the name of the list and the key of the item. Opaque to clients.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Cursor(String);

impl Cursor {
    /// A cursor of another server is a position in no list.
    fn decode(text: &str) -> Self {
        let decoded = OpaqueCursor::<String>::decode_cursor(text);
        Self(decoded.map_or_else(|_| String::new(), |OpaqueCursor(place)| place))
    }

    pub fn encode(&self) -> String {
        OpaqueCursor(self.0.clone()).encode_cursor()
    }
}

impl List {
    /// Reads the page arguments of this list, whose items have keys `K`.
    ///
    /// # Errors
    /// [`Code::BadUserInput`](crate::Code::BadUserInput) naming `first` or `after`.
    pub fn page_request<K: FromStr>(self, first: i32, after: Option<&str>) -> ApiResult<PageRequest<K>> {
        if !(1..=MAX_PAGE).contains(&first) {
            let message = format!("first: a page has 1 to {MAX_PAGE} items, not {first}");
            return Err(ApiError::bad_input("first", message));
        }
        let after = after.map(|text| self.key(text)).transpose()?;
        Ok(PageRequest { first: first as usize, after })
    }

    fn key<K: FromStr>(self, text: &str) -> ApiResult<K> {
        self.place("after", "a page's endCursor", text)
    }

    /// The key in a cursor of this list. `source`: where clients have it from.
    ///
    /// # Errors
    /// [`Code::BadUserInput`](crate::Code::BadUserInput) naming `argument`.
    pub fn place<K: FromStr>(self, argument: &'static str, source: &str, text: &str) -> ApiResult<K> {
        let refused = |why| ApiError::bad_input(argument, format!("{argument}: {why}; pass {source}"));
        if text.len() > MAX_CURSOR {
            return Err(refused("it is not a cursor of this server"));
        }
        let Cursor(place) = Cursor::decode(text);
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

    /// The page that the arguments `first` and `after` ask for.
    ///
    /// # Errors
    /// As [`Self::page_request`].
    pub fn request<K: FromStr>(self, arguments: &Arguments, default: i32) -> ApiResult<PageRequest<K>> {
        self.page_request(arguments.int("first").unwrap_or(default), arguments.text("after").as_deref())
    }

    /// The page of the items that were read for `request`, each with its key in the list.
    pub fn page<K: ListKey>(self, request: &PageRequest<K>, items: Slice<(K, impl Into<Object>)>) -> Output {
        let is_between = (request.after.is_some(), items.has_more);
        let (keys, nodes): (Vec<K>, Vec<Object>) =
            items.items.into_iter().map(|(key, item)| (key, item.into())).unzip();
        Page::new(nodes, is_between, Keys { list: self, keys }).into()
    }
}

/// The key of an item in its list.
pub trait ListKey: Display + Send + Sync + 'static {
    /// When the item came into the list, if the key begins with it.
    fn at(&self) -> Option<DateTime<Utc>> {
        None
    }
}

impl ListKey for Id {}
impl ListKey for Ranked {}

impl ListKey for Moment {
    fn at(&self) -> Option<DateTime<Utc>> {
        DateTime::from_timestamp_micros(self.micros)
    }
}

/// The keys of a page's items.
struct Keys<K> {
    list: List,
    keys: Vec<K>,
}

impl<K: ListKey> Places for Keys<K> {
    fn cursor(&self, index: usize) -> Option<String> {
        Some(self.list.cursor(self.keys.get(index)?).encode())
    }

    fn at(&self, index: usize) -> Option<DateTime<Utc>> {
        self.keys.get(index)?.at()
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
    use crate::definition::values::Scalar;
    use plaudit_catalogue::primitives::UserId;

    const NOTES: List = List("notes");

    fn id(raw: i64) -> Id {
        Id::try_from(raw).unwrap()
    }

    fn message(first: i32, after: Option<&str>) -> String {
        let error = NOTES.page_request::<Id>(first, after).unwrap_err();
        error.message().to_owned()
    }

    #[test]
    fn a_cursor_leads_to_the_items_after_its_own() {
        let cursor = NOTES.cursor(&id(42)).encode();
        let request = NOTES.page_request(20, Some(&cursor)).unwrap();
        assert_eq!((request.first, request.after), (20, Some(id(42))));
        let moment = Moment { micros: 1_763_700_000_000_000, id: id(42) };
        let cursor = NOTES.cursor(&moment).encode();
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
        let of_another = List("comments").cursor(&id(42)).encode();
        assert!(message(20, Some(&of_another)).starts_with("after: it is a cursor of another list"));
        let of_no_id = NOTES.cursor(&"x").encode();
        assert!(message(20, Some(&of_no_id)).starts_with("after: it is not a cursor"));
    }

    #[test]
    fn a_page_has_its_neighbours_in_page_info() {
        let first = PageRequest { first: 2, after: None };
        let items = Slice { items: vec![(id(9), UserId(id(9))), (id(8), UserId(id(8)))], has_more: true };
        let Output::Object(Object::Page(page)) = NOTES.page(&first, items) else { panic!() };
        assert!(page.has_next && !page.has_previous);
        assert_eq!(page.cursor(page.last()), Scalar::Text(NOTES.cursor(&id(8)).encode().into()));
        assert_eq!(page.at(0), Scalar::Null, "an id is no time");
        let moment = Moment { micros: 1_763_700_000_000_000, id: id(9) };
        let items = Slice { items: vec![(moment, UserId(id(9)))], has_more: false };
        let request = PageRequest { first: 2, after: Some(moment) };
        let Output::Object(Object::Page(page)) = NOTES.page(&request, items) else { panic!() };
        assert_eq!(page.at(0), Scalar::Time("2025-11-21T04:40:00Z".parse().unwrap()));
        let empty = Slice { items: Vec::<(Id, UserId)>::new(), has_more: false };
        let Output::Object(Object::Page(page)) = NOTES.page(&first, empty) else { panic!() };
        assert_eq!((page.cursor(0), page.cursor(page.last())), (Scalar::Null, Scalar::Null));
    }
}
