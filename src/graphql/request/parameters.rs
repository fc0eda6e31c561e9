//! Request parameters, the same for every transport: a document or its identifier, operation name and variables.
//!
//! Names and types follow [GraphQL over
//! HTTP](https://graphql.github.io/graphql-over-http/draft/#sec-Request-Parameters); `documentId` is from its appendix
//! on persisted documents, `extensions.persistedQuery` is Apollo's protocol of automatic persisted queries;
//! `extensions.traceparent` is W3C Trace Context's.

use std::fmt::{self, Display};

use async_graphql::Variables;
use plaudit_traces::TraceParent;
use serde::{
    Deserialize, Deserializer,
    de::{Error, IgnoredAny, MapAccess, Visitor, value::MapAccessDeserializer},
};
use sha2::{Digest, Sha256};

use crate::errors::{ApiError, ApiResult, Code};

/// Prefix of a `documentId` that is a hash.
pub(super) const HASH_PREFIX: &str = "sha256:";

/// Most JSON values of one request. More would take milliseconds to read before the guard can count them.
const MAX_VALUES: usize = 20_000;

/// Well-formed parameters; the document may still be unknown or invalid. Deserialised from a JSON object: the body of
/// a request, or the payload of a `subscribe` message.
#[derive(Clone, PartialEq, Debug)]
pub struct Parameters {
    pub document: RequestedDocument,
    pub operation_name: Option<String>,
    pub variables: Variables,
    /// What the client says of its trace.
    pub traceparent: Option<TraceParent>,
}

/// The document to execute.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum RequestedDocument {
    Text(String),
    /// A document that the server should have.
    Stored(DocumentId),
    /// A document for the server to store. The hash is not verified yet.
    Registration {
        text: String,
        hash: DocumentHash,
    },
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum DocumentId {
    Hash(DocumentHash),
    /// An id of the manifest.
    Name(String),
}

/// SHA-256 of a document's text.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct DocumentHash([u8; 32]);

/// The parameters as they were sent, each of the right type. `null` counts as absent.
#[derive(Default, Debug)]
pub struct Fields {
    pub query: Option<String>,
    pub document_id: Option<String>,
    pub operation_name: Option<String>,
    pub variables: Option<Variables>,
    pub extensions: Option<JsonObject<Extensions>>,
}

/// The extensions that this server supports; others are ignored.
#[derive(Deserialize, Debug)]
#[serde(rename_all = "camelCase")]
pub struct Extensions {
    persisted_query: Option<JsonObject<PersistedQuery>>,
    /// For clients that cannot set a header. One that is no traceparent is left out, as in a header.
    #[serde(default, deserialize_with = "traceparent")]
    traceparent: Option<TraceParent>,
}

#[derive(Deserialize, Debug)]
#[serde(rename_all = "camelCase")]
struct PersistedQuery {
    version: u64,
    sha256_hash: String,
}

impl Parameters {
    /// # Errors
    /// [`Code::BadUserInput`], naming the parameter: the text is not a JSON object of parameters, or has more than
    /// [`MAX_VALUES`] values.
    pub fn from_json(text: &[u8]) -> ApiResult<Self> {
        if values_in(text) > MAX_VALUES {
            let message =
                format!("the request has more than {MAX_VALUES} JSON values; send several requests");
            return Err(ApiError::new(Code::BadUserInput, message));
        }
        serde_json::from_slice(text).map_err(|why| ApiError::new(Code::BadUserInput, why.to_string()))
    }
}

/// A lower bound of the number of JSON values in the text: one per comma, list and object.
fn values_in(text: &[u8]) -> usize {
    let (mut values, mut in_string, mut escaped) = (1, false, false);
    for byte in text {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b',' | b'[' | b'{' if !in_string => values += 1,
            _ => {}
        }
    }
    values
}

impl TryFrom<Fields> for Parameters {
    type Error = &'static str;

    fn try_from(fields: Fields) -> Result<Self, Self::Error> {
        let (persisted, traceparent) = match fields.extensions {
            Some(JsonObject(extensions)) => (extensions.persisted_query, extensions.traceparent),
            None => (None, None),
        };
        let identifier = match (fields.document_id, persisted) {
            (Some(_), Some(_)) => {
                return Err("send either documentId or extensions.persistedQuery, not both");
            }
            (Some(id), None) => Some(DocumentId::of_id(id)),
            (None, Some(JsonObject(persisted))) => Some(DocumentId::of_apollo(persisted)?),
            (None, None) => None,
        };
        let document = match (fields.query, identifier) {
            (Some(text), None) => RequestedDocument::Text(text),
            (None, Some(identifier)) => RequestedDocument::Stored(identifier),
            (Some(text), Some(DocumentId::Hash(hash))) => RequestedDocument::Registration { text, hash },
            (Some(_), Some(DocumentId::Name(_))) => {
                return Err(
                    "beside query, documentId must be sha256: and persistedQuery.sha256Hash must be \
                            the text's SHA-256, in 64 hexadecimal digits",
                );
            }
            (None, None) => {
                return Err("query is missing: send a GraphQL document as a string, or its documentId");
            }
        };
        let variables = fields.variables.unwrap_or_default();
        Ok(Self { document, operation_name: fields.operation_name, variables, traceparent })
    }
}

fn traceparent<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<TraceParent>, D::Error> {
    let sent = serde_json::Value::deserialize(deserializer)?;
    Ok(sent.as_str().and_then(|text| text.parse().ok()))
}

impl DocumentId {
    fn of_id(id: String) -> Self {
        let hash = id.strip_prefix(HASH_PREFIX).and_then(DocumentHash::from_hex);
        hash.map_or(Self::Name(id), Self::Hash)
    }

    /// Apollo's protocol also carries ids of the manifest in place of hashes.
    fn of_apollo(persisted: PersistedQuery) -> Result<Self, &'static str> {
        match DocumentHash::from_hex(&persisted.sha256_hash) {
            _ if persisted.version != 1 => Err("extensions.persistedQuery.version must be 1"),
            Some(hash) => Ok(Self::Hash(hash)),
            None => Ok(Self::Name(persisted.sha256_hash)),
        }
    }
}

impl DocumentHash {
    pub fn of(text: &str) -> Self {
        Self(Sha256::digest(text).into())
    }

    /// Reads 64 hexadecimal digits.
    pub fn from_hex(digits: &str) -> Option<Self> {
        let (mut hash, digits) = ([0; 32], digits.as_bytes());
        if digits.len() != 2 * hash.len() {
            return None;
        }
        for (byte, pair) in hash.iter_mut().zip(digits.chunks_exact(2)) {
            *byte = hex_digit(pair[0])? << 4 | hex_digit(pair[1])?;
        }
        Some(Self(hash))
    }
}

impl Display for DocumentHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

fn hex_digit(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16)?.try_into().ok()
}

impl<'de> Deserialize<'de> for Parameters {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let fields = deserializer.deserialize_map(FieldsVisitor)?;
        fields.try_into().map_err(D::Error::custom)
    }
}

struct FieldsVisitor;

impl<'de> Visitor<'de> for FieldsVisitor {
    type Value = Fields;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("one JSON object (no batch) with query, and optionally variables and operationName")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Fields, A::Error> {
        let mut fields = Fields::default();
        while let Some(name) = map.next_key::<String>()? {
            match name.as_str() {
                "query" => take(&mut map, &mut fields.query, "query", "a string")?,
                "documentId" => take(&mut map, &mut fields.document_id, "documentId", "a string")?,
                "operationName" => take(&mut map, &mut fields.operation_name, "operationName", "a string")?,
                "variables" => take(&mut map, &mut fields.variables, "variables", "an object")?,
                "extensions" => take(&mut map, &mut fields.extensions, "extensions", "an object")?,
                _ => _ = map.next_value::<IgnoredAny>()?,
            }
        }
        Ok(fields)
    }
}

/// Reads one parameter. Refuses a repeated name: a proxy before this server may have read the other value.
fn take<'de, A: MapAccess<'de>, T: Deserialize<'de>>(
    map: &mut A,
    field: &mut Option<T>,
    name: &'static str,
    what: &str,
) -> Result<(), A::Error> {
    if field.is_some() {
        return Err(A::Error::duplicate_field(name));
    }
    *field =
        map.next_value().map_err(|why| A::Error::custom(format!("{name} must be {what} or null: {why}")))?;
    Ok(())
}

/// Like `T`, but only from a JSON object: a derived implementation would also accept an array.
#[derive(Debug)]
pub struct JsonObject<T>(T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for JsonObject<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct OfMap<T>(std::marker::PhantomData<T>);

        impl<'de, T: Deserialize<'de>> Visitor<'de> for OfMap<T> {
            type Value = T;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
                T::deserialize(MapAccessDeserializer::new(map))
            }
        }

        deserializer.deserialize_map(OfMap(std::marker::PhantomData)).map(Self)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    const HASH: &str = "ecf4edb46db40b5132295c0291d62fb65d6759a9eedfa4d5d612dd5ec54a6b38";

    fn read(body: &Value) -> Result<Parameters, String> {
        serde_json::from_slice(body.to_string().as_bytes()).map_err(|why| why.to_string())
    }

    #[test]
    fn a_document_is_text_or_stored_or_registered() {
        let hash = DocumentHash::of("{__typename}");
        assert_eq!(DocumentHash::from_hex(HASH), Some(hash));
        let text = || "{__typename}".to_owned();
        let persisted = json!({ "persistedQuery": { "version": 1, "sha256Hash": HASH } });
        for (body, document) in [
            (json!({ "query": text() }), RequestedDocument::Text(text())),
            (json!({ "query": text(), "extensions": { "other": [1] } }), RequestedDocument::Text(text())),
            (json!({ "documentId": "feed" }), RequestedDocument::Stored(DocumentId::Name("feed".into()))),
            (json!({ "documentId": HASH }), RequestedDocument::Stored(DocumentId::Name(HASH.into()))),
            (
                json!({ "documentId": format!("sha256:{HASH}") }),
                RequestedDocument::Stored(DocumentId::Hash(hash)),
            ),
            (json!({ "extensions": persisted }), RequestedDocument::Stored(DocumentId::Hash(hash))),
            (
                json!({ "query": text(), "extensions": persisted }),
                RequestedDocument::Registration { text: text(), hash },
            ),
            (
                json!({ "query": text(), "documentId": format!("sha256:{HASH}") }),
                RequestedDocument::Registration { text: text(), hash },
            ),
        ] {
            assert_eq!(read(&body).unwrap().document, document, "{body}");
        }
    }

    #[test]
    fn the_extensions_may_say_what_trace_the_operation_is_a_part_of() {
        let parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
        for (sent, is_read) in
            [(json!(parent), true), (json!("00-bad"), false), (json!(7), false), (json!(null), false)]
        {
            let read = read(&json!({ "query": "{a}", "extensions": { "traceparent": sent } })).unwrap();
            assert_eq!(read.traceparent, is_read.then(|| parent.parse().unwrap()), "{sent}");
        }
    }

    #[test]
    fn null_counts_as_absent() {
        let body = json!({
            "query": "{a}", "documentId": null, "operationName": null, "variables": null, "extensions": null,
        });
        assert_eq!(read(&body), read(&json!({ "query": "{a}" })));
    }

    #[test]
    fn invalid_parameters_are_refused_by_name() {
        let with = |name: &str, value: Value| {
            let mut body = json!({ "query": "{a}" });
            body[name] = value;
            body
        };
        let persisted = |value: Value| with("extensions", json!({ "persistedQuery": value }));
        let mut cases = vec![
            (json!([{ "query": "{a}" }]), "one JSON object (no batch)"),
            (json!(["{a}"]), "one JSON object (no batch)"),
            (json!("{a}"), "one JSON object"),
            (json!({}), "query is missing"),
            (json!({ "qeury": "{a}" }), "query is missing"),
            (with("documentId", json!("feed")), "sha256"),
            (persisted(json!([1, HASH])), "extensions must be"),
            (persisted(json!({ "version": 2, "sha256Hash": HASH })), "version must be 1"),
            (persisted(json!({ "version": 1 })), "sha256Hash"),
            (persisted(json!({ "version": 1, "sha256Hash": "abc" })), "64 hexadecimal digits"),
        ];
        for wrong in [json!(0), json!(false), json!(["a"])] {
            cases.push((with("query", wrong.clone()), "query must be a string"));
            cases.push((with("operationName", wrong.clone()), "operationName must be a string"));
            cases.push((with("documentId", wrong.clone()), "documentId must be a string"));
            cases.push((with("variables", wrong.clone()), "variables must be an object"));
            cases.push((with("extensions", wrong), "extensions must be an object"));
        }
        for (body, expected) in cases {
            let why = read(&body).unwrap_err();
            assert!(why.contains(expected), "{body}: {why}");
        }
        let twice = r#"{ "query": "{a}", "query": "{b}" }"#;
        let why = serde_json::from_str::<Parameters>(twice).unwrap_err().to_string();
        assert!(why.contains("duplicate field `query`"), "{why}");
    }

    #[test]
    fn a_request_has_a_bounded_number_of_values_and_those_in_strings_do_not_count() {
        let request =
            |values: usize| format!(r#"{{"query":"{{a}}","variables":{{"n":[{}1]}}}}"#, "1,".repeat(values));
        assert!(Parameters::from_json(request(19_990).as_bytes()).is_ok());
        assert!(Parameters::from_json(request(20_000).as_bytes()).is_err());
        let text = format!(r#"{{"query":"\"{}"}}"#, ",[{".repeat(20_000));
        assert!(Parameters::from_json(text.as_bytes()).is_ok());
    }
}
