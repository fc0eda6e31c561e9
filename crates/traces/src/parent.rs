//! `traceparent`, as [W3C Trace Context](https://www.w3.org/TR/trace-context/) specifies: the trace of a
//! client, the span that the request is a part of, and whether the client records it.

use std::{fmt, str::FromStr};

/// Length of version 00: version, trace, span and flags with a dash between them.
const LENGTH: usize = 2 + 1 + 32 + 1 + 16 + 1 + 2;
const SAMPLED: u8 = 1;

/// A trace's id; never 0. Displays as 32 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct TraceId(u128);

/// What a client says of its trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TraceParent {
    trace: TraceId,
    span: u64,
    is_sampled: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("no traceparent as W3C Trace Context specifies, such as 00-<32 hexadecimal digits>-<16 of them>-01")]
pub struct BadTraceParent;

impl TraceId {
    #[cfg(feature = "otlp")]
    pub(crate) const fn new(id: u128) -> Self {
        Self(id)
    }

    pub const fn get(self) -> u128 {
        self.0
    }
}

impl fmt::Display for TraceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl TraceParent {
    pub const fn trace(self) -> TraceId {
        self.trace
    }

    /// The client's span.
    pub const fn span(self) -> u64 {
        self.span
    }

    /// Whether the client records the trace.
    pub const fn is_sampled(self) -> bool {
        self.is_sampled
    }
}

impl FromStr for TraceParent {
    type Err = BadTraceParent;

    fn from_str(text: &str) -> Result<Self, BadTraceParent> {
        parse(text).ok_or(BadTraceParent)
    }
}

/// A later version may append fields, which are left out.
fn parse(text: &str) -> Option<TraceParent> {
    let (known, more) = text.split_at_checked(LENGTH)?;
    let mut fields = known.split('-');
    let version = u8::try_from(hex(fields.next()?, 2)?).ok()?;
    let trace = hex(fields.next()?, 32).filter(|id| *id != 0)?;
    let span = hex(fields.next()?, 16).filter(|id| *id != 0)?;
    let flags = u8::try_from(hex(fields.next()?, 2)?).ok()?;
    let is_whole = match version {
        0 => more.is_empty(),
        u8::MAX => false,
        _ => more.is_empty() || more.starts_with('-'),
    };
    let parent = TraceParent {
        trace: TraceId(trace),
        span: span.try_into().ok()?,
        is_sampled: flags & SAMPLED == SAMPLED,
    };
    is_whole.then_some(parent)
}

/// Small letters only, as the specification demands.
fn hex(digits: &str, length: usize) -> Option<u128> {
    let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    let is_hex = digits.len() == length && digits.bytes().all(is_digit);
    is_hex.then(|| u128::from_str_radix(digits, 16).ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
    const SPAN: &str = "00f067aa0ba902b7";

    #[test]
    fn the_parts_of_a_traceparent_are_read() {
        for (flags, is_sampled) in [("01", true), ("00", false), ("03", true), ("fe", false)] {
            let parent: TraceParent = format!("00-{TRACE}-{SPAN}-{flags}").parse().unwrap();
            assert_eq!(parent.trace().to_string(), TRACE);
            assert_eq!(format!("{:016x}", parent.span()), SPAN);
            assert_eq!(parent.is_sampled(), is_sampled, "{flags}");
        }
    }

    #[test]
    fn a_later_version_may_have_more_fields() {
        for text in [format!("01-{TRACE}-{SPAN}-01"), format!("cc-{TRACE}-{SPAN}-01-what-is-new")] {
            assert!(text.parse::<TraceParent>().unwrap().is_sampled(), "{text}");
        }
    }

    #[test]
    fn what_the_specification_forbids_is_no_traceparent() {
        let zeros = |digits: usize| "0".repeat(digits);
        for bad in [
            String::new(),
            "é".repeat(LENGTH),
            format!("00-{TRACE}-{SPAN}"),
            format!("00-{TRACE}-{SPAN}-1"),
            format!("00-{TRACE}-{SPAN}-01-"),
            format!("ff-{TRACE}-{SPAN}-01"),
            format!("01-{TRACE}-{SPAN}-01x"),
            format!("00-{}-{SPAN}-01", zeros(32)),
            format!("00-{TRACE}-{}-01", zeros(16)),
            format!("00-{}-{SPAN}-01", TRACE.to_uppercase()),
            format!("00-{TRACE}-{SPAN}-0g"),
            format!("00-{TRACE}-{SPAN}-+1"),
            format!("00_{TRACE}_{SPAN}_01"),
            format!(" 0-{TRACE}-{SPAN}-01"),
        ] {
            assert_eq!(bad.parse::<TraceParent>(), Err(BadTraceParent), "{bad}");
        }
    }
}
