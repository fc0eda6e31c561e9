//! The manifest of trusted documents: a JSON object `{ "<id>": "<document>" }`, as written by Relay's compiler and
//! other build tools.

use std::{
    fmt, fs, io,
    path::{Path, PathBuf},
    str::FromStr,
};

use async_graphql::parser::parse_query;
use serde::{
    Deserialize, Deserializer,
    de::{Error, MapAccess, Visitor},
};

use super::parameters::{DocumentHash, HASH_PREFIX};

/// Documents by their ids. All of them can be parsed.
#[derive(Default, Debug)]
pub struct Manifest(Vec<(String, String)>);

/// Messages are for the author of the file.
#[derive(Debug, thiserror::Error)]
pub enum ManifestError {
    #[error("cannot read the trusted documents in {}: {source}", path.display())]
    Unreadable { path: PathBuf, source: io::Error },
    #[error("the trusted documents in {} cannot be used: {reason}", path.display())]
    Bad { path: PathBuf, reason: String },
}

impl Manifest {
    /// # Errors
    /// The file cannot be read, or is not a manifest; the message names the entry.
    pub fn read(path: &Path) -> Result<Self, ManifestError> {
        let path = || path.to_owned();
        let text = fs::read_to_string(path())
            .map_err(|source| ManifestError::Unreadable { path: path(), source })?;
        text.parse().map_err(|reason| ManifestError::Bad { path: path(), reason })
    }

    pub fn into_documents(self) -> impl Iterator<Item = (String, String)> {
        self.0.into_iter()
    }
}

impl FromStr for Manifest {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let manifest: Self = serde_json::from_str(text).map_err(|why| why.to_string())?;
        for (id, document) in &manifest.0 {
            check(id, document).map_err(|why| format!("entry {id:?}: {why}"))?;
        }
        let mut ids: Vec<&str> = manifest.0.iter().map(|(id, _)| id.as_str()).collect();
        ids.sort_unstable();
        match ids.windows(2).find(|pair| pair[0] == pair[1]) {
            Some(pair) => Err(format!("entry {:?} appears twice", pair[0])),
            None => Ok(manifest),
        }
    }
}

fn check(id: &str, document: &str) -> Result<(), String> {
    if id.is_empty() {
        return Err("the id is empty".into());
    }
    if let Some(hash) = id.strip_prefix(HASH_PREFIX)
        && DocumentHash::from_hex(hash) != Some(DocumentHash::of(document))
    {
        return Err("the id is not the SHA-256 of the document".into());
    }
    parse_query(document).map(drop).map_err(|why| format!("the document cannot be parsed: {why}"))
}

impl<'de> Deserialize<'de> for Manifest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Entries)
    }
}

struct Entries;

impl<'de> Visitor<'de> for Entries {
    type Value = Manifest;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON object with a document for each id")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Manifest, A::Error> {
        let mut entries = Vec::new();
        while let Some(id) = map.next_key::<String>()? {
            let document =
                map.next_value().map_err(|why| A::Error::custom(format!("entry {id:?}: {why}")))?;
            entries.push((id, document));
        }
        Ok(Manifest(entries))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manifest_has_a_document_for_each_id() {
        let manifest: Manifest = r#"{ "a": "{ x }", "b": "mutation { y }" }"#.parse().unwrap();
        let ids: Vec<_> = manifest.into_documents().map(|(id, _)| id).collect();
        assert_eq!(ids, ["a", "b"]);
    }

    #[test]
    fn an_invalid_manifest_is_refused_naming_the_entry() {
        for (text, expected) in [
            ("", "EOF"),
            ("[]", "expected a JSON object with a document for each id"),
            (r#"{ "a": 7 }"#, "entry \"a\": invalid type"),
            (r#"{ "": "{ x }" }"#, "the id is empty"),
            (r#"{ "a": "{ x }", "b": "{ x" }"#, "entry \"b\": the document cannot be parsed"),
            (r#"{ "a": "{ x }", "a": "{ y }" }"#, "entry \"a\" appears twice"),
            (r#"{ "sha256:00": "{ x }" }"#, "entry \"sha256:00\": the id is not the SHA-256"),
        ] {
            let why = text.parse::<Manifest>().unwrap_err();
            assert!(why.contains(expected), "{text}: {why}");
        }
    }
}
