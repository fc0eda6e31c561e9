//! Name of a schema of PostgreSQL.

use std::{fmt, str::FromStr};

/// A name that needs no quotes: a letter or `_`, then letters, digits and `_`, all in lower case. At most 63
/// characters.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SchemaName(String);

#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error(
    "the name of a schema is needed, such as plaudit: lower-case letters, digits and _, up to 63, not beginning with a digit \
     or pg_"
)]
pub struct ParseSchemaNameError;

/// PostgreSQL cuts longer names.
const LONGEST: usize = 63;

impl SchemaName {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// PostgreSQL's own default.
impl Default for SchemaName {
    fn default() -> Self {
        Self("public".to_owned())
    }
}

impl FromStr for SchemaName {
    type Err = ParseSchemaNameError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let is_plain = |letter: char| matches!(letter, 'a'..='z' | '0'..='9' | '_');
        let begins_well = text.starts_with(|first: char| first.is_ascii_lowercase() || first == '_');
        let is_reserved = text.starts_with("pg_") || text == "information_schema";
        let fits = begins_well && text.len() <= LONGEST && text.chars().all(is_plain) && !is_reserved;
        if fits { Ok(Self(text.to_owned())) } else { Err(ParseSchemaNameError) }
    }
}

impl fmt::Display for SchemaName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_needs_no_quotes_and_is_no_name_of_postgresql() {
        for good in ["public", "plaudit", "_a1", &"a".repeat(63)] {
            assert_eq!(good.parse::<SchemaName>().unwrap().as_str(), good);
        }
        for bad in
            ["", "1a", "Plaudit", "a-b", "a b", "a\"", "pg_temp", "information_schema", &"a".repeat(64)]
        {
            assert!(bad.parse::<SchemaName>().is_err(), "{bad:?}");
        }
    }
}
