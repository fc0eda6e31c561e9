//! How much a request may be.

/// The limits of one request, except for those of its transport. `app` takes them from the settings, where
/// each has its default and its bounds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RequestLimits {
    /// Bytes of a document.
    pub document_size: u32,
    /// Names, numbers, strings and punctuation of a document.
    pub tokens: u32,
    /// Brackets in brackets, and selection sets in each other, also through fragments.
    pub nesting: u32,
    /// Fields in fields.
    pub depth: u32,
    /// In the whole document.
    pub aliases: u32,
    /// In the whole document.
    pub directives: u32,
    /// At one field, fragment or operation.
    pub directives_at_once: u32,
    /// Root fields of a mutation.
    pub mutations: u32,
    /// Fields and fragments of all operations, with every fragment written out.
    pub selections: u32,
    /// Fields of all objects that an answer may have.
    pub complexity: u32,
    /// Lists and objects in each other, within one variable.
    pub variable_depth: u32,
    /// Values of all variables, once for each place that they stand in.
    pub variable_values: u32,
    /// Whether clients may ask for the schema. They are told similar names then, too.
    pub introspection: bool,
    /// Bytes of the documents that are kept.
    pub document_cache: u64,
}

impl RequestLimits {
    /// The settings' defaults, on a developer's machine. For tests; `app` reads the settings.
    pub const fn usual() -> Self {
        Self {
            document_size: 32_768,
            tokens: 1_000,
            nesting: 32,
            depth: 15,
            aliases: 100,
            directives: 100,
            directives_at_once: 8,
            mutations: 10,
            selections: 1_000,
            complexity: 5_000,
            variable_depth: 8,
            variable_values: 2_000,
            introspection: true,
            document_cache: 16 << 20,
        }
    }
}
