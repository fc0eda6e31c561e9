//! Stored documents: trusted documents of the manifest, and persisted queries that clients registered.

use std::{collections::HashMap, sync::Arc};

use async_graphql::Request;
use moka::sync::Cache;

use super::{
    manifest::Manifest,
    parameters::{DocumentHash, DocumentId, Parameters, RequestedDocument},
    viewer::Caller,
};
use crate::errors::{ApiError, Code, Rejection};

/// Bytes that a registered document takes in addition to its text.
const OVERHEAD: usize = 128;

/// Finds the text of the document to execute. Cheap to clone.
#[derive(Clone)]
pub struct Documents {
    trusted: Arc<TrustedDocuments>,
    registered: Cache<DocumentHash, Arc<str>>,
}

#[derive(Default)]
struct TrustedDocuments {
    by_name: HashMap<String, Arc<str>>,
    by_hash: HashMap<DocumentHash, Arc<str>>,
    /// Whether only trusted documents are executed.
    only: bool,
}

impl Documents {
    /// `memory`: most bytes of registered documents; those that are used least are evicted. With `only_trusted`, only
    /// documents of the manifest are executed.
    pub fn new(manifest: Manifest, only_trusted: bool, memory: u64) -> Self {
        let registered = Cache::builder()
            .max_capacity(memory)
            .weigher(|_, text: &Arc<str>| u32::try_from(text.len() + OVERHEAD).unwrap_or(u32::MAX))
            .build();
        Self { trusted: Arc::new(TrustedDocuments::new(manifest, only_trusted)), registered }
    }

    /// The request with the text of its document, for [`Engine::prepare`](crate::Engine::prepare). Every
    /// transport starts with both (`src/http/operation.rs`).
    ///
    /// # Errors
    /// - [`Code::PersistedQueryNotFound`]: the document is not stored, or was evicted; Apollo's and urql's clients then
    ///   register it
    /// - [`Code::BadUserInput`]: the hash does not match the text, or only documents of the manifest are executed
    pub fn resolve(&self, parameters: Parameters, caller: &Caller) -> Result<Request, Rejection> {
        let only_trusted = self.trusted.only && !caller.may_send_any_document();
        let text =
            self.text(parameters.document, only_trusted).map_err(|error| Rejection(vec![error.into()]))?;
        let mut request = Request::new(text).variables(parameters.variables);
        request.operation_name = parameters.operation_name;
        Ok(request)
    }

    fn text(&self, document: RequestedDocument, only_trusted: bool) -> Result<String, ApiError> {
        match document {
            RequestedDocument::Stored(identifier) => {
                self.find(&identifier, only_trusted).map(|text| text.as_ref().to_owned())
            }
            _ if only_trusted => Err(not_trusted()),
            RequestedDocument::Text(text) => Ok(text),
            RequestedDocument::Registration { text, hash } => self.register(text, hash),
        }
    }

    fn find(&self, identifier: &DocumentId, only_trusted: bool) -> Result<Arc<str>, ApiError> {
        if let Some(text) = self.trusted.find(identifier) {
            return Ok(Arc::clone(text));
        }
        match identifier {
            _ if only_trusted => Err(not_trusted()),
            DocumentId::Name(_) => Err(not_found("no document has this id")),
            // Clients recognise this error by its message.
            DocumentId::Hash(hash) => {
                self.registered.get(hash).ok_or_else(|| not_found("PersistedQueryNotFound"))
            }
        }
    }

    fn register(&self, text: String, hash: DocumentHash) -> Result<String, ApiError> {
        if DocumentHash::of(&text) != hash {
            return Err(ApiError::new(Code::BadUserInput, "the hash is not the SHA-256 of query"));
        }
        if !self.registered.contains_key(&hash) {
            self.registered.insert(hash, text.as_str().into());
        }
        Ok(text)
    }
}

impl TrustedDocuments {
    fn new(manifest: Manifest, only: bool) -> Self {
        let mut trusted = Self { only, ..Self::default() };
        for (name, text) in manifest.into_documents() {
            let text: Arc<str> = text.into();
            // A build tool may have hashed another form of the document, and clients send that hash.
            let named = DocumentHash::from_hex(&name);
            for hash in [Some(DocumentHash::of(&text)), named].into_iter().flatten() {
                trusted.by_hash.insert(hash, Arc::clone(&text));
            }
            trusted.by_name.insert(name, text);
        }
        trusted
    }

    fn find(&self, identifier: &DocumentId) -> Option<&Arc<str>> {
        match identifier {
            DocumentId::Hash(hash) => self.by_hash.get(hash),
            DocumentId::Name(name) => self.by_name.get(name),
        }
    }
}

fn not_found(message: &str) -> ApiError {
    ApiError::new(Code::PersistedQueryNotFound, message)
}

fn not_trusted() -> ApiError {
    let message = "only documents of this server's manifest are executed: send the documentId of one";
    ApiError::new(Code::BadUserInput, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "{ __typename }";

    fn documents(only_trusted: bool, memory: u64) -> Documents {
        let manifest =
            format!(r#"{{ "feed": "{{ feed {{ nodes {{ id }} }} }}", "{}": "{TEXT} #" }}"#, hex('a'));
        Documents::new(manifest.parse().unwrap(), only_trusted, memory)
    }

    fn hex(digit: char) -> String {
        digit.to_string().repeat(64)
    }

    fn resolve(documents: &Documents, document: RequestedDocument) -> Result<String, String> {
        let parameters =
            Parameters { document, operation_name: None, variables: Default::default(), traceparent: None };
        let resolved = documents.resolve(parameters, &Caller::nobody());
        resolved.map(|request| request.query).map_err(|Rejection(errors)| {
            format!("{:?}", errors[0].extensions.as_ref().unwrap().get("code").unwrap())
        })
    }

    fn registration(text: &str) -> RequestedDocument {
        RequestedDocument::Registration { text: text.to_owned(), hash: DocumentHash::of(text) }
    }

    fn stored(text: &str) -> RequestedDocument {
        RequestedDocument::Stored(DocumentId::Hash(DocumentHash::of(text)))
    }

    fn named(name: &str) -> RequestedDocument {
        RequestedDocument::Stored(DocumentId::Name(name.to_owned()))
    }

    #[test]
    fn a_registered_document_is_found_by_its_hash() {
        let documents = documents(false, 10_000);
        assert!(resolve(&documents, stored(TEXT)).unwrap_err().contains("PERSISTED_QUERY_NOT_FOUND"));
        for _ in 0..2 {
            assert_eq!(resolve(&documents, registration(TEXT)).unwrap(), TEXT);
            assert_eq!(resolve(&documents, stored(TEXT)).unwrap(), TEXT);
        }
        let forged =
            RequestedDocument::Registration { text: "{ other }".into(), hash: DocumentHash::of(TEXT) };
        assert!(resolve(&documents, forged).unwrap_err().contains("BAD_USER_INPUT"));
        assert_eq!(resolve(&documents, stored(TEXT)).unwrap(), TEXT);
    }

    #[test]
    fn registered_documents_are_bounded_in_bytes() {
        let documents = documents(false, 10_000);
        for n in 0..1_000 {
            resolve(&documents, registration(&format!("{{ field{n} }} # {}", "x".repeat(1_000)))).unwrap();
        }
        documents.registered.run_pending_tasks();
        assert!(documents.registered.weighted_size() <= 10_000);
        // A document that does not fit is executed all the same.
        assert!(resolve(&documents, registration(&"#".repeat(20_000))).is_ok());
    }

    #[test]
    fn a_trusted_document_is_found_by_its_id_and_its_hash() {
        for only_trusted in [false, true] {
            let documents = documents(only_trusted, 10_000);
            let feed = resolve(&documents, named("feed")).unwrap();
            assert_eq!(resolve(&documents, stored(&feed)).unwrap(), feed);
            let by_given_hash = DocumentId::Hash(DocumentHash::from_hex(&hex('a')).unwrap());
            assert_eq!(
                resolve(&documents, RequestedDocument::Stored(by_given_hash)).unwrap(),
                format!("{TEXT} #")
            );
        }
        assert!(resolve(&documents(false, 0), named("fed")).unwrap_err().contains("NOT_FOUND"));
    }

    #[test]
    fn with_only_trusted_documents_all_others_are_refused() {
        let documents = documents(true, 10_000);
        for refused in [RequestedDocument::Text(TEXT.into()), registration(TEXT), stored(TEXT), named("fed")]
        {
            assert!(resolve(&documents, refused).unwrap_err().contains("BAD_USER_INPUT"));
        }
    }
}
