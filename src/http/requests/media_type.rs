//! Media types and media ranges of `Content-Type` and `Accept`
//! ([RFC 9110](https://www.rfc-editor.org/rfc/rfc9110), 8.3.1 and 12.5.1).

use std::borrow::Cow;

use axum::http::HeaderValue;

/// The media types of answers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MediaType {
    /// Its HTTP status says whether the request was executed.
    GraphqlResponse,
    /// For older clients: every well-formed request is answered with 200.
    Json,
}

impl MediaType {
    pub const fn header(self) -> HeaderValue {
        match self {
            Self::GraphqlResponse => {
                HeaderValue::from_static("application/graphql-response+json; charset=utf-8")
            }
            Self::Json => HeaderValue::from_static("application/json; charset=utf-8"),
        }
    }
}

/// `type/subtype; name=value…`. Compared without regard to case.
#[derive(Clone, Debug)]
pub struct MediaRange<'a> {
    kind: &'a str,
    subtype: &'a str,
    parameters: &'a str,
}

impl<'a> MediaRange<'a> {
    /// `None` for anything else.
    pub fn parse(text: &'a str) -> Option<Self> {
        let (essence, parameters) = text.split_once(';').unwrap_or((text, ""));
        let (kind, subtype) = essence.trim_matches(BLANK).split_once('/')?;
        (is_token(kind) && is_token(subtype)).then_some(Self { kind, subtype, parameters })
    }

    pub fn is(&self, kind: &str, subtype: &str) -> bool {
        self.kind.eq_ignore_ascii_case(kind) && self.subtype.eq_ignore_ascii_case(subtype)
    }

    /// How specific the match is, higher for more specific; `None` without a match.
    pub fn fits(&self, kind: &str, subtype: &str) -> Option<u8> {
        match (self.kind, self.subtype) {
            _ if self.is(kind, subtype) => Some(2),
            (own, "*") if own.eq_ignore_ascii_case(kind) => Some(1),
            ("*", "*") => Some(0),
            _ => None,
        }
    }

    /// The value of a parameter, without quotes.
    pub fn parameter(&self, name: &str) -> Option<Cow<'a, str>> {
        let mut parameters = split_outside_quotes(self.parameters, ';');
        parameters.find_map(|parameter| {
            let (own, value) = parameter.split_once('=')?;
            own.trim_matches(BLANK).eq_ignore_ascii_case(name).then(|| unquoted(value.trim_matches(BLANK)))
        })
    }

    /// Whether its charset is UTF-8, which is the default.
    pub fn is_utf8(&self) -> bool {
        self.parameter("charset").is_none_or(|charset| charset.eq_ignore_ascii_case("utf-8"))
    }
}

const BLANK: [char; 2] = [' ', '\t'];

/// Splits at each `separator` outside of quoted strings.
pub fn split_outside_quotes(text: &str, separator: char) -> impl Iterator<Item = &str> {
    let (mut is_quoted, mut is_escaped) = (false, false);
    text.split(move |character| {
        let separates = character == separator && !is_quoted;
        match character {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = is_quoted,
            '"' => is_quoted = !is_quoted,
            _ => {}
        }
        separates
    })
}

fn unquoted(value: &str) -> Cow<'_, str> {
    let Some(inner) = value.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) else {
        return value.into();
    };
    if !inner.contains('\\') {
        return inner.into();
    }
    let mut is_escaped = false;
    inner
        .chars()
        .filter(|&c| {
            is_escaped = c == '\\' && !is_escaped;
            !is_escaped
        })
        .collect()
}

/// RFC 9110, 5.6.2.
fn is_token(text: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !text.is_empty() && text.bytes().all(is_allowed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_media_type_has_a_type_a_subtype_and_parameters() {
        let parsed = MediaRange::parse(" Application/JSON ; x=\"a;b=\\\"c\" ;Charset=\"UTF-8\"").unwrap();
        assert!(parsed.is("application", "json") && parsed.is_utf8());
        assert_eq!(parsed.parameter("x").unwrap(), "a;b=\"c");
        assert_eq!(parsed.parameter("b"), None);
        for not_utf8 in ["a/b; charset=iso-8859-1", "a/b; charset=\"utf-16\"", "a/b;charset="] {
            assert!(!MediaRange::parse(not_utf8).unwrap().is_utf8(), "{not_utf8}");
        }
        for bad in ["", "json", "/", "a/", "/b", "a b/c", "a/b/c", "a/b, c/d", "\"a\"/b"] {
            assert!(MediaRange::parse(bad).is_none(), "{bad}");
        }
    }
}
