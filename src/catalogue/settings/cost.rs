//! Limits of the cost of a request.

use clap::{Args, builder::BoolishValueParser};

use super::values::{mebibytes, mebibytes_in_memory, whole};

/// What a request may cost. All but the bytes of answers is measured before anything is executed.
#[derive(Args, Clone, Copy, PartialEq, Eq, Debug)]
#[command(next_help_heading = "Cost of a request")]
pub struct CostSettings {
    /// Answer __schema and __type, and suggest similar names in errors; default: only with the
    /// generated secret
    #[arg(long, value_name = "BOOL", value_parser = BoolishValueParser::new())]
    #[arg(num_args = 0..=1, default_missing_value = "true")]
    pub introspection: Option<bool>,

    /// Names, numbers, strings and punctuation of a document, 100 to 20000
    ///
    /// As many selections, a tenth as many aliases and directives, a hundredth as many root fields of a mutation.
    #[arg(long, value_name = "TOKENS", default_value = "1000", value_parser = whole(100..=20_000, Some))]
    pub max_tokens: u32,

    /// Bytes of a document.
    #[arg(skip = 32_768_u32)]
    pub max_document_size: u32,

    /// Nested brackets, and selection sets nested through fragments.
    #[arg(skip = 32_u32)]
    pub max_nesting: u32,

    /// Nested fields, 4 to 64; introspection needs 15
    #[arg(long, value_name = "LEVELS", default_value = "15", value_parser = whole(4..=64, Some))]
    pub max_depth: u32,

    /// Aliases in a document.
    #[arg(skip = 100_u32)]
    pub max_aliases: u32,

    /// Directives in a document.
    #[arg(skip = 100_u32)]
    pub max_directives: u32,

    /// Directives at one field or fragment.
    #[arg(skip = 8_u32)]
    pub max_directives_at_once: u32,

    /// Root fields of a mutation. A subscription has one root field.
    #[arg(skip = 10_u32)]
    pub max_mutations: u32,

    /// Fields and fragments of a document with all fragments written out.
    #[arg(skip = 1_000_u32)]
    pub max_selections: u32,

    /// Fields of all objects that an answer may have, 100 to 1000000; an event a twentieth; variables as many values
    ///
    /// A list counts as long as it was asked for; 256 bytes of repeated text as one more.
    #[arg(long, value_name = "FIELDS", default_value = "5000", value_parser = whole(100..=1_000_000, Some))]
    pub max_complexity: u32,

    /// Fields of a message of a subscription. Each change of a watched object is a message.
    #[arg(skip = 250_u32)]
    pub max_event_complexity: u32,

    /// Size of an answer in MiB, 4 to 256; a message of a subscription may have a thirty-second of it
    ///
    /// 4 MiB hold a page of 100 notes with the longest texts. Each subscription keeps its latest message.
    #[arg(long, value_name = "MIB", default_value = "4", value_parser = whole(4..=256, mebibytes_in_memory))]
    pub max_answer: usize,

    /// Bytes of a message of a subscription.
    #[arg(skip = 128_usize << 10)]
    pub max_event: usize,

    /// Nested lists and objects in a variable.
    #[arg(skip = 8_u32)]
    pub max_variable_depth: u32,

    /// Values of all variables, once for each use; 256 bytes of text count as one more.
    #[arg(skip = 5_000_u32)]
    pub max_variable_values: u32,

    /// Memory for executed documents that need not be parsed again, in MiB, 1 to 1024
    ///
    /// As much again for documents that clients introduce (automatic persisted queries).
    #[arg(long, value_name = "MIB", default_value = "16", value_parser = whole(1..=1024, mebibytes))]
    pub document_cache: u64,
}

impl CostSettings {
    /// Whether clients may ask for the schema, and errors name similar names.
    pub fn introspects(&self) -> bool {
        self.introspection == Some(true)
    }

    /// Decides the limits that follow from others.
    pub(super) fn complete(&mut self) {
        let tokens = self.max_tokens;
        self.max_document_size = tokens.saturating_mul(32_768) / 1_000;
        self.max_selections = tokens;
        (self.max_aliases, self.max_directives, self.max_mutations) =
            (tokens / 10, tokens / 10, tokens / 100);
        (self.max_event_complexity, self.max_variable_values) =
            (self.max_complexity / 20, self.max_complexity);
        self.max_event = self.max_answer / 32;
    }

    /// The defaults on a developer's own machine.
    pub fn of_development() -> Self {
        Self { introspection: Some(true), ..Self::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_that_follow_from_others_are_what_follows_from_the_defaults() {
        let mut completed = CostSettings::default();
        completed.complete();
        assert_eq!(completed, CostSettings::default());
    }
}
