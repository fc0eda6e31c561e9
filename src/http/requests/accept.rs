//! Content negotiation: the media type of the answer by `Accept`
//! ([GraphQL over HTTP](https://graphql.github.io/graphql-over-http/draft/#sec-Accept),
//! [RFC 9110](https://www.rfc-editor.org/rfc/rfc9110#section-12.5.1)).

use axum::http::{HeaderMap, StatusCode, header};

use super::{
    media_type::{MediaRange, MediaType, split_outside_quotes},
    request_error::RequestError,
};
use plaudit_graphql::{ApiError, Code};

/// The media type that the client prefers. On a tie JSON, which every client reads, unless the client names
/// graphql-response+json.
///
/// # Errors
/// 406 if it accepts neither.
pub fn negotiate(headers: &HeaderMap) -> Result<MediaType, RequestError> {
    let graphql = quality(headers, "application", "graphql-response+json");
    let json = quality(headers, "application", "json");
    match (graphql.thousandths, json.thousandths) {
        (0, 0) => Err(not_acceptable()),
        (graphql, json) if graphql < json => Ok(MediaType::Json),
        (same, json) if same == json && !graphql.is_named => Ok(MediaType::Json),
        _ => Ok(MediaType::GraphqlResponse),
    }
}

/// The weight of a media type.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Quality {
    /// 0: not acceptable.
    pub thousandths: u16,
    /// Whether it is named, not only matched by a wildcard.
    pub is_named: bool,
}

/// The quality that `Accept` gives a media type by its most specific matching range. Without `Accept`
/// everything is accepted. Invalid ranges, and ranges with another charset than UTF-8, are ignored.
pub fn quality(headers: &HeaderMap, kind: &str, subtype: &str) -> Quality {
    let mut elements = elements(headers).peekable();
    if elements.peek().is_none() {
        return Quality { thousandths: 1000, is_named: false };
    }
    let ranges = elements.filter_map(MediaRange::parse).filter(MediaRange::is_utf8);
    let fitting = ranges.filter_map(|range| Some((range.fits(kind, subtype)?, weight(&range)?)));
    match fitting.max() {
        Some((fit, thousandths)) => Quality { thousandths, is_named: fit == 2 },
        None => Quality::default(),
    }
}

/// Elements of all `Accept` headers. Bytes that are not text are an invalid range.
fn elements(headers: &HeaderMap) -> impl Iterator<Item = &str> {
    let lines = headers.get_all(header::ACCEPT).iter();
    lines
        .flat_map(|line| split_outside_quotes(line.to_str().unwrap_or("?"), ','))
        .filter(|element| !element.trim().is_empty())
}

/// In thousandths; `None` for an invalid weight.
fn weight(range: &MediaRange<'_>) -> Option<u16> {
    let Some(weight) = range.parameter("q") else { return Some(1000) };
    let (whole, decimals) = weight.split_once('.').unwrap_or((&weight, ""));
    let is_weight = matches!(whole, "0" | "1")
        && decimals.len() <= 3
        && decimals.bytes().all(|digit| digit.is_ascii_digit());
    if !is_weight {
        return None;
    }
    let thousandths = format!("{whole}{decimals:0<3}").parse().ok()?;
    (thousandths <= 1000).then_some(thousandths)
}

fn not_acceptable() -> RequestError {
    let message = "Accept must allow application/graphql-response+json or application/json";
    RequestError::new(StatusCode::NOT_ACCEPTABLE, ApiError::new(Code::BadUserInput, message))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use axum::http::HeaderValue;

    use super::{MediaType::*, *};

    fn headers(lines: &[&str]) -> HeaderMap {
        lines.iter().map(|line| (header::ACCEPT, HeaderValue::try_from(*line).unwrap())).collect()
    }

    fn chosen(lines: &[&str]) -> Option<MediaType> {
        negotiate(&headers(lines)).ok()
    }

    #[test]
    fn the_media_type_with_the_highest_quality_is_chosen() {
        for (accept, expected) in [
            ("application/graphql-response+json", Some(GraphqlResponse)),
            ("application/json", Some(Json)),
            ("*/*", Some(Json)),
            ("application/*", Some(Json)),
            ("", Some(Json)),
            ("application/graphql-response+json, application/json;q=0.9", Some(GraphqlResponse)),
            ("application/json, application/graphql-response+json", Some(GraphqlResponse)),
            ("application/json, application/graphql-response+json;q=0.9", Some(Json)),
            ("application/graphql-response+json;q=0.5, */*;q=0.1", Some(GraphqlResponse)),
            ("application/graphql-response+json;q=0.1, */*", Some(Json)),
            ("application/json;q=0, */*", Some(GraphqlResponse)),
            ("application/json; charset=UTF-8", Some(Json)),
            ("APPLICATION/GraphQL-Response+JSON", Some(GraphqlResponse)),
            ("application/json; charset=iso-8859-1", None),
            ("text/html,application/xhtml+xml;q=0.9", None),
            ("text/html, */*;q=0.8", Some(Json)),
            ("application/json;q=0", None),
            ("application/json;q=2", None),
            ("application/json;q=0.1234", None),
            ("json", None),
        ] {
            assert_eq!(chosen(&[accept]), expected, "{accept}");
        }
        assert_eq!(chosen(&[]), Some(Json));
        assert_eq!(chosen(&["text/html", "application/json;q=0.1"]), Some(Json));
    }

    fn media_type() -> impl Strategy<Value = &'static str> {
        prop::sample::select(vec![
            "application/graphql-response+json",
            "application/json",
            "application/*",
            "*/*",
            "text/html",
            "text/event-stream",
        ])
    }

    proptest! {
        #[test]
        fn no_header_value_causes_a_panic(text in "[ -~]{0,200}") {
            let _ = chosen(&[&text]);
        }

        #[test]
        fn the_order_of_elements_and_lines_makes_no_difference(
            ranges in prop::collection::vec((media_type(), 0..=1000u16), 1..8)
        ) {
            let mut elements: Vec<String> = ranges
                .iter()
                .map(|(range, q)| format!("{range} ; q={}.{:03}", q / 1000, q % 1000))
                .collect();
            let together = chosen(&[&elements.join(" , ")]);
            elements.reverse();
            let apart: Vec<&str> = elements.iter().map(String::as_str).collect();
            prop_assert_eq!(chosen(&apart), together);
        }

        #[test]
        fn the_chosen_media_type_is_acceptable_and_no_other_has_a_higher_quality(
            ranges in prop::collection::vec((media_type(), 0..=1000u16), 0..8)
        ) {
            let elements: Vec<String> = ranges
                .iter()
                .map(|(range, q)| format!("{range};q={}.{:03}", q / 1000, q % 1000))
                .collect();
            let headers = headers(&[&elements.join(",")]);
            let graphql = quality(&headers, "application", "graphql-response+json").thousandths;
            let json = quality(&headers, "application", "json").thousandths;
            match negotiate(&headers).ok() {
                Some(GraphqlResponse) => prop_assert!(graphql > 0 && graphql >= json),
                Some(Json) => prop_assert!(json > 0 && json >= graphql),
                None => prop_assert!(graphql == 0 && json == 0),
            }
        }
    }
}
