//! Query string of `GET /graphql?query=…`: the same parameters as in a JSON body
//! ([GraphQL over HTTP](https://graphql.github.io/graphql-over-http/draft/#sec-GET)).

use serde::de::DeserializeOwned;
use url::form_urlencoded;

use super::{body::status_of_refused, request_error::RequestError};
use plaudit_graphql::{ApiError, Code, Fields, Parameters};

/// Reads a query string. `variables` and `extensions` are JSON; empty values are absent.
///
/// # Errors
/// 422, with the name of the parameter; 400 if it should be JSON and is not.
pub fn parameters(query_string: &str) -> Result<Parameters, RequestError> {
    let mut fields = Fields::default();
    for (name, value) in form_urlencoded::parse(query_string.as_bytes()) {
        let value = Some(value.into_owned()).filter(|value| !value.is_empty());
        match name.as_ref() {
            "query" => put("query", &mut fields.query, value)?,
            "documentId" => put("documentId", &mut fields.document_id, value)?,
            "operationName" => put("operationName", &mut fields.operation_name, value)?,
            "variables" => put("variables", &mut fields.variables, json("variables", value)?)?,
            "extensions" => put("extensions", &mut fields.extensions, json("extensions", value)?)?,
            _ => {}
        }
    }
    fields.try_into().map_err(refused)
}

/// Refuses a repeated name: a proxy before this server may have read the other value.
fn put<T>(name: &str, field: &mut Option<T>, value: Option<T>) -> Result<(), RequestError> {
    if field.is_some() {
        return Err(refused(format!("{name} is given twice")));
    }
    *field = value;
    Ok(())
}

fn json<T: DeserializeOwned>(name: &str, value: Option<String>) -> Result<Option<T>, RequestError> {
    let Some(text) = value else { return Ok(None) };
    serde_json::from_str(&text).map_err(|why| {
        let message = format!("{name} must be a JSON object: {why}");
        RequestError::new(status_of_refused(text.as_bytes()), ApiError::new(Code::BadUserInput, message))
    })
}

/// It can be read, and is no request.
fn refused(message: impl Into<String>) -> RequestError {
    RequestError::of(ApiError::new(Code::BadUserInput, message))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(query_string: &str) -> Option<Parameters> {
        parameters(query_string).ok()
    }

    #[test]
    fn a_query_string_has_the_same_parameters_as_a_body() {
        let body = r#"{ "query": "{ a + \"é\" }", "operationName": "A", "variables": { "n": 1 } }"#;
        let sent = "query=%7B+a+%2B+%22%C3%A9%22+%7D&operationName=A&variables=%7B%22n%22%3A1%7D&other=1";
        assert_eq!(read(sent), Some(Parameters::from_json(body.as_bytes()).unwrap()));
        let bare = Parameters::from_json(br#"{ "query": "{a}" }"#).unwrap();
        for absent in
            ["", "&operationName=&variables=&extensions=&documentId=", "&variables=null&extensions=null"]
        {
            assert_eq!(read(&format!("query=%7Ba%7D{absent}")), Some(bare.clone()), "{absent}");
        }
    }

    #[test]
    fn an_invalid_query_string_is_refused() {
        for bad in [
            "",
            "query=",
            "query=a&query=b",
            "query=a&variables=1",
            "query=a&variables=%5B%5D",
            "query=a&variables=%7B",
            "query=a&extensions=%22x%22",
            "variables=%7B%7D",
        ] {
            assert!(read(bad).is_none(), "{bad}");
        }
    }
}
