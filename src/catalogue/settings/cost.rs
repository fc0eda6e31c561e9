//! Limits of the cost of a request.

use clap::{Args, builder::BoolishValueParser};

use super::values::{kibibytes, mebibytes, mebibytes_in_memory, whole};

/// What a request may cost. All but the bytes of answers is measured before anything is executed.
#[derive(Args, Clone, Copy, PartialEq, Eq, Debug)]
#[command(next_help_heading = "Cost of a request")]
pub struct CostSettings {
    /// Answer __schema and __type, and suggest similar names in errors; default: only with the
    /// generated secret
    #[arg(long, value_name = "BOOL", value_parser = BoolishValueParser::new())]
    #[arg(num_args = 0..=1, default_missing_value = "true")]
    pub introspection: Option<bool>,

    /// Bytes of a document, 1000 to 262144
    #[arg(long, value_name = "BYTES", default_value = "32768", value_parser = whole(1_000..=262_144, Some))]
    pub max_document_size: u32,

    /// Names, numbers, strings and punctuation of a document, 100 to 20000
    #[arg(long, value_name = "TOKENS", default_value = "1000", value_parser = whole(100..=20_000, Some))]
    pub max_tokens: u32,

    /// Nested brackets, and selection sets nested through fragments, 8 to 64
    #[arg(long, value_name = "LEVELS", default_value = "32", value_parser = whole(8..=64, Some))]
    pub max_nesting: u32,

    /// Nested fields, 4 to 64; introspection needs 15
    #[arg(long, value_name = "LEVELS", default_value = "15", value_parser = whole(4..=64, Some))]
    pub max_depth: u32,

    /// Aliases in a document, 0 to 10000
    #[arg(long, value_name = "COUNT", default_value = "100", value_parser = whole(0..=10_000, Some))]
    pub max_aliases: u32,

    /// Directives in a document, 0 to 10000
    #[arg(long, value_name = "COUNT", default_value = "100", value_parser = whole(0..=10_000, Some))]
    pub max_directives: u32,

    /// Directives at one field or fragment, 1 to 100
    #[arg(long, value_name = "COUNT", default_value = "8", value_parser = whole(1..=100, Some))]
    pub max_directives_at_once: u32,

    /// Root fields of a mutation, 1 to 100
    ///
    /// A subscription has one root field.
    #[arg(long, value_name = "COUNT", default_value = "10", value_parser = whole(1..=100, Some))]
    pub max_mutations: u32,

    /// Fields and fragments of a document with all fragments written out, 100 to 20000
    #[arg(long, value_name = "COUNT", default_value = "1000", value_parser = whole(100..=20_000, Some))]
    pub max_selections: u32,

    /// Fields of all objects that an answer may have, 100 to 1000000
    ///
    /// A list counts as long as it was asked for; 256 bytes of text in an argument or of a repeated text as one more.
    #[arg(long, value_name = "FIELDS", default_value = "5000", value_parser = whole(100..=1_000_000, Some))]
    pub max_complexity: u32,

    /// Fields of an event of a subscription, 20 to 100000
    ///
    /// Each change of a watched object is an event.
    #[arg(long, value_name = "FIELDS", default_value = "250", value_parser = whole(20..=100_000, Some))]
    pub max_event_complexity: u32,

    /// Size of an answer in MiB, 4 to 256
    ///
    /// 4 MiB hold a page of 100 notes with the longest texts. The bytes are counted while the answer is written.
    #[arg(long, value_name = "MIB", default_value = "4", value_parser = whole(4..=256, mebibytes_in_memory))]
    pub max_answer: usize,

    /// Size of an event of a subscription in KiB, 64 to 4096
    ///
    /// Each subscription keeps its latest event.
    #[arg(long, value_name = "KIB", default_value = "128", value_parser = whole(64..=4_096, kibibytes))]
    pub max_event: usize,

    /// Nested lists and objects in a variable, 2 to 64
    #[arg(long, value_name = "LEVELS", default_value = "8", value_parser = whole(2..=64, Some))]
    pub max_variable_depth: u32,

    /// Values of all variables, once for each use; 256 bytes of text count as one more; 100 to 100000
    #[arg(long, value_name = "VALUES", default_value = "5000", value_parser = whole(100..=100_000, Some))]
    pub max_variable_values: u32,

    /// Memory for executed documents that need not be parsed again, in MiB, 0 to 1024
    #[arg(long, value_name = "MIB", default_value = "16", value_parser = whole(0..=1024, mebibytes))]
    pub document_cache: u64,
}

impl CostSettings {
    /// Whether clients may ask for the schema, and are told similar names.
    pub fn introspects(&self) -> bool {
        self.introspection == Some(true)
    }

    /// The defaults on a developer's own machine.
    pub fn of_development() -> Self {
        Self { introspection: Some(true), ..Self::default() }
    }
}
