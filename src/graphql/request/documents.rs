//! The documents that need not be sent: those of a manifest, and those that clients have introduced.

use std::{collections::HashMap, sync::Arc};

use async_graphql::Request;
use moka::sync::Cache;

use super::{
    error::Rejected,
    manifest::Manifest,
    parameters::{Document, Hash, Identifier, Parameters},
};
use crate::graphql::errors::{ApiError, Code};

/// Bytes that an introduced document takes beside its text.
const OVERHEAD: usize = 128;

/// Finds the text of what is to be executed. Cheap to clone.
#[derive(Clone)]
pub struct Documents {
    trusted: Arc<Trusted>,
    introduced: Cache<Hash, Arc<str>>,
}

#[derive(Default)]
struct Trusted {
    by_name: HashMap<String, Arc<str>>,
    by_hash: HashMap<Hash, Arc<str>>,
    /// Whether nothing else is executed.
    only: bool,
}

impl Documents {
    /// `memory`: bytes that introduced documents may take; those that are asked for least are forgotten.
    /// With `only_trusted` nothing is executed but what is in the manifest.
    pub fn new(manifest: Manifest, only_trusted: bool, memory: u64) -> Self {
        let introduced = Cache::builder()
            .max_capacity(memory)
            .weigher(|_, text: &Arc<str>| u32::try_from(text.len() + OVERHEAD).unwrap_or(u32::MAX))
            .build();
        Self { trusted: Arc::new(Trusted::new(manifest, only_trusted)), introduced }
    }

    /// The request with its document's text, for [`Engine::prepare`](crate::graphql::Engine::prepare). Every transport
    /// begins with this:
    /// `documents.resolve(parameters).and_then(|request| engine.prepare(request, caller))`.
    ///
    /// # Errors
    /// - [`Code::PersistedQueryNotFound`]: the document is not known (any more); Apollo's and urql's clients
    ///   then introduce it by themselves
    /// - [`Code::BadUserInput`]: the hash is not the text's, or only documents of the manifest are executed
    pub fn resolve(&self, parameters: Parameters) -> Result<Request, Rejected> {
        let text = self.text(parameters.document).map_err(|error| Rejected(vec![error.into()]))?;
        let mut request = Request::new(text).variables(parameters.variables);
        request.operation_name = parameters.operation_name;
        Ok(request)
    }

    fn text(&self, document: Document) -> Result<String, ApiError> {
        match document {
            Document::Known(identifier) => self.find(&identifier).map(|text| text.as_ref().to_owned()),
            _ if self.trusted.only => Err(only_trusted()),
            Document::Text(text) => Ok(text),
            Document::Introduced { text, hash } => self.introduce(text, hash),
        }
    }

    fn find(&self, identifier: &Identifier) -> Result<Arc<str>, ApiError> {
        if let Some(text) = self.trusted.find(identifier) {
            return Ok(Arc::clone(text));
        }
        match identifier {
            _ if self.trusted.only => Err(only_trusted()),
            Identifier::Name(_) => Err(not_found("no document has this id")),
            // Clients know this one by its message.
            Identifier::Hash(hash) => {
                self.introduced.get(hash).ok_or_else(|| not_found("PersistedQueryNotFound"))
            }
        }
    }

    fn introduce(&self, text: String, hash: Hash) -> Result<String, ApiError> {
        if Hash::of(&text) != hash {
            return Err(ApiError::new(Code::BadUserInput, "the hash is not the SHA-256 of query"));
        }
        if !self.introduced.contains_key(&hash) {
            self.introduced.insert(hash, text.as_str().into());
        }
        Ok(text)
    }
}

impl Trusted {
    fn new(manifest: Manifest, only: bool) -> Self {
        let mut trusted = Self { only, ..Self::default() };
        for (name, text) in manifest.into_documents() {
            let text: Arc<str> = text.into();
            // Other tools may have hashed another form of the document, and clients ask by their hash.
            let given = Hash::from_hex(&name);
            for hash in [Some(Hash::of(&text)), given].into_iter().flatten() {
                trusted.by_hash.insert(hash, Arc::clone(&text));
            }
            trusted.by_name.insert(name, text);
        }
        trusted
    }

    fn find(&self, identifier: &Identifier) -> Option<&Arc<str>> {
        match identifier {
            Identifier::Hash(hash) => self.by_hash.get(hash),
            Identifier::Name(name) => self.by_name.get(name),
        }
    }
}

fn not_found(message: &str) -> ApiError {
    ApiError::new(Code::PersistedQueryNotFound, message)
}

fn only_trusted() -> ApiError {
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

    fn resolve(documents: &Documents, document: Document) -> Result<String, String> {
        let parameters = Parameters { document, operation_name: None, variables: Default::default() };
        let resolved = documents.resolve(parameters);
        resolved.map(|request| request.query).map_err(|Rejected(errors)| {
            format!("{:?}", errors[0].extensions.as_ref().unwrap().get("code").unwrap())
        })
    }

    fn introduced(text: &str) -> Document {
        Document::Introduced { text: text.to_owned(), hash: Hash::of(text) }
    }

    fn known(text: &str) -> Document {
        Document::Known(Identifier::Hash(Hash::of(text)))
    }

    fn named(name: &str) -> Document {
        Document::Known(Identifier::Name(name.to_owned()))
    }

    #[test]
    fn an_introduced_document_is_known_by_its_hash() {
        let documents = documents(false, 10_000);
        assert!(resolve(&documents, known(TEXT)).unwrap_err().contains("PERSISTED_QUERY_NOT_FOUND"));
        for _ in 0..2 {
            assert_eq!(resolve(&documents, introduced(TEXT)).unwrap(), TEXT);
            assert_eq!(resolve(&documents, known(TEXT)).unwrap(), TEXT);
        }
        let forged = Document::Introduced { text: "{ other }".into(), hash: Hash::of(TEXT) };
        assert!(resolve(&documents, forged).unwrap_err().contains("BAD_USER_INPUT"));
        assert_eq!(resolve(&documents, known(TEXT)).unwrap(), TEXT);
    }

    #[test]
    fn introduced_documents_are_bounded_by_their_bytes() {
        let documents = documents(false, 10_000);
        for n in 0..1_000 {
            resolve(&documents, introduced(&format!("{{ field{n} }} # {}", "x".repeat(1_000)))).unwrap();
        }
        documents.introduced.run_pending_tasks();
        assert!(documents.introduced.weighted_size() <= 10_000);
        // One that has no room is executed all the same.
        assert!(resolve(&documents, introduced(&"#".repeat(20_000))).is_ok());
    }

    #[test]
    fn a_trusted_document_is_known_by_its_name_and_its_hash() {
        for only_trusted in [false, true] {
            let documents = documents(only_trusted, 10_000);
            let feed = resolve(&documents, named("feed")).unwrap();
            assert_eq!(resolve(&documents, known(&feed)).unwrap(), feed);
            let by_given_hash = Identifier::Hash(Hash::from_hex(&hex('a')).unwrap());
            assert_eq!(resolve(&documents, Document::Known(by_given_hash)).unwrap(), format!("{TEXT} #"));
        }
        assert!(resolve(&documents(false, 0), named("fed")).unwrap_err().contains("NOT_FOUND"));
    }

    #[test]
    fn nothing_but_trusted_documents_is_executed_if_so_set() {
        let documents = documents(true, 10_000);
        for refused in [Document::Text(TEXT.into()), introduced(TEXT), known(TEXT), named("fed")] {
            assert!(resolve(&documents, refused).unwrap_err().contains("BAD_USER_INPUT"));
        }
    }
}
