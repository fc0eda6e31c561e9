//! Weight of variables: how many values they have, and how deeply these are nested.

use async_graphql_value::ConstValue;

/// Each 256 bytes of a text count as one more value, because each use of a variable copies the text.
const BYTES: usize = 256;

/// Size and depth of a value. A scalar has depth 0.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Weight {
    /// Number of values, more for long texts.
    pub values: u64,
    /// The part of `values` that is for long texts.
    pub text: u64,
    pub depth: u32,
}

impl Weight {
    /// Recursion is bounded: the JSON parser refuses more than 128 levels.
    pub fn of(value: &ConstValue) -> Self {
        match value {
            ConstValue::List(items) => Self::of_all(items),
            ConstValue::Object(fields) => {
                let names = fields.keys().map(|name| text(name)).sum();
                Self::of_all(fields.values()).with_text(names)
            }
            ConstValue::String(string) => Self::SCALAR.with_text(text(string)),
            _ => Self::SCALAR,
        }
    }

    const SCALAR: Self = Self { values: 1, text: 0, depth: 0 };

    fn of_all<'a>(items: impl IntoIterator<Item = &'a ConstValue>) -> Self {
        let outer = Self { depth: 1, ..Self::SCALAR };
        items.into_iter().map(Self::of).fold(outer, |all, item| Self {
            values: all.values + item.values,
            text: all.text + item.text,
            depth: all.depth.max(item.depth + 1),
        })
    }

    const fn with_text(self, text: u64) -> Self {
        Self { values: self.values + text, text: self.text + text, ..self }
    }
}

/// The additional weight of a long text.
pub const fn text(text: &str) -> u64 {
    bytes(text.len())
}

/// The additional weight of a text with so many bytes.
pub const fn bytes(bytes: usize) -> u64 {
    (bytes / BYTES) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn weight(json: serde_json::Value) -> (u64, u32) {
        let Weight { values, depth, .. } = Weight::of(&ConstValue::from_json(json).unwrap());
        (values, depth)
    }

    #[test]
    fn every_value_counts_and_long_texts_count_more() {
        assert_eq!(weight(serde_json::json!(1)), (1, 0));
        assert_eq!(weight(serde_json::json!([])), (1, 1));
        assert_eq!(weight(serde_json::json!({ "a": [1, null], "b": { "c": [[true]] } })), (8, 4));
        assert_eq!(weight(serde_json::json!("x".repeat(2_560))), (11, 0));
        assert_eq!(weight(serde_json::json!({ "x".repeat(512): 1 })), (4, 1));
    }
}
