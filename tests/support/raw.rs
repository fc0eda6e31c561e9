//! Raw HTTP requests that a GraphQL client would not send.

use reqwest::{
    Method, RequestBuilder,
    header::{CONTENT_TYPE, HeaderMap},
};
use serde_json::Value;

/// A raw response.
#[derive(Debug)]
pub struct Raw {
    pub status: u16,
    pub headers: HeaderMap,
    pub bytes: Vec<u8>,
}

impl Raw {
    pub async fn of(request: RequestBuilder) -> Self {
        let response = request.send().await.unwrap();
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        Self { status, headers, bytes: response.bytes().await.unwrap().into() }
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }

    /// The media type, without its parameters.
    pub fn media_type(&self) -> &str {
        self.header("content-type").unwrap_or_default().split(';').next().unwrap_or_default()
    }

    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.bytes)
            .unwrap_or_else(|_| panic!("no JSON: {}", String::from_utf8_lossy(&self.bytes)))
    }

    /// The message of the only error. The response must have no data.
    pub fn refusal(&self) -> String {
        let body = self.json();
        assert!(body.get("data").is_none(), "{body}");
        assert_eq!(body["errors"].as_array().map(Vec::len), Some(1), "{body}");
        assert!(body["errors"][0]["extensions"]["code"].is_string(), "{body}");
        body["errors"][0]["message"].as_str().unwrap().to_owned()
    }
}

/// A request without additional headers.
pub fn request(method: &str, url: &str) -> RequestBuilder {
    let client = reqwest::Client::builder().pool_max_idle_per_host(0).build().unwrap();
    client.request(Method::from_bytes(method.as_bytes()).unwrap(), url)
}

/// `POST /graphql` with this body as JSON.
pub fn post(server: &str, body: impl Into<reqwest::Body>) -> RequestBuilder {
    request("POST", &format!("{server}/graphql")).header(CONTENT_TYPE, "application/json").body(body)
}
