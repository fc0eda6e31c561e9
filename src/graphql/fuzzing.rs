//! Fuzz targets: properties for any bytes sent as a document, an id or a cursor.

use std::sync::OnceLock;

use async_graphql::Variables;

use super::{
    definition::pages::List,
    errors::Code,
    guard::Guard,
    request::ids::{global_id, key_in, parse_any},
    schema,
};
use plaudit_catalogue::{
    primitives::{Id, Moment, Ranked},
    settings::CostSettings,
};

/// A document, followed by a zero byte and its variables as JSON. The work of measuring is bounded by the number of
/// tokens, and that by the limit; coercing variables twice changes nothing.
pub fn guard(bytes: &[u8]) {
    static GUARD: OnceLock<Guard> = OnceLock::new();
    let limits = CostSettings::of_development();
    let guard = GUARD.get_or_init(|| Guard::new(schema::get(), limits));
    let text = String::from_utf8_lossy(bytes);
    let (text, variables) = text.split_once('\0').unwrap_or((&text, "{}"));

    let (document, work) = guard.measure(text);
    assert!(work.tokens <= u64::from(limits.max_tokens) + 1, "{work:?}");
    let Ok(document) = document else { return };
    assert!(work.selections <= work.tokens, "there are more selections than tokens: {work:?}");
    let Ok(operation) = document.operation(None) else { return };
    let Ok(mut variables) = serde_json::from_str::<Variables>(variables) else { return };
    if guard.admit(&document, operation, &mut variables).is_ok() {
        let before = variables.clone();
        assert!(guard.admit(&document, operation, &mut variables).is_ok());
        assert_eq!(variables, before);
    }
}

/// A text is parsed as an id only if the id's text form is the same text. A text with a key is no id.
pub fn ids(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let parsed = parse_any("id", &text);
    if let Ok(entity) = &parsed {
        assert_eq!(global_id(*entity).as_str(), text);
    }
    if let Some((kind, key)) = key_in(&text) {
        assert_eq!(format!("{}:{key}", kind.name()), text);
        assert!(parsed.is_err_and(|error| error.code() == Code::NotFound));
    }
}

/// A cursor that can be parsed is written back unchanged.
pub fn cursors(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    reads_back::<Id>(&text);
    reads_back::<Moment>(&text);
    reads_back::<Ranked>(&text);
}

fn reads_back<K: std::str::FromStr + std::fmt::Display>(text: &str) {
    const LIST: List = List("notes");
    let read = |text: &str| LIST.page_request::<K>(1, Some(text)).ok().and_then(|request| request.after);
    // Random bytes hardly ever form a cursor, so the text is also tried as the key within one.
    for key in [read(text), text.parse().ok()].into_iter().flatten() {
        let cursor = LIST.cursor(&key).encode();
        assert_eq!(read(&cursor).map(|key| key.to_string()), Some(key.to_string()), "{text:?}");
    }
}
