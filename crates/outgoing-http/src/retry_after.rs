//! `Retry-After` of an endpoint, bounded.

use std::time::Duration;

use chrono::{DateTime, Utc};
use reqwest::header::{HeaderMap, RETRY_AFTER};

/// Upper bound of the delay.
const LONGEST: Duration = Duration::from_hours(1);

/// Delay from now, given as seconds or as a date (RFC 9110, 10.2.3); `None` if absent or invalid.
pub fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    let wait = match text.parse() {
        Ok(seconds) => Duration::from_secs(seconds),
        Err(_) => until(DateTime::parse_from_rfc2822(text).ok()?.to_utc()),
    };
    Some(wait.min(LONGEST))
}

/// Zero if the date has passed.
fn until(date: DateTime<Utc>) -> Duration {
    (date - Utc::now()).to_std().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(text: &str) -> Option<Duration> {
        retry_after(&HeaderMap::from_iter([(RETRY_AFTER, text.parse().ok()?)]))
    }

    #[test]
    fn seconds_and_dates_are_read_and_bounded() {
        assert_eq!(read("0"), Some(Duration::ZERO));
        assert_eq!(read(" 30 "), Some(Duration::from_secs(30)));
        assert_eq!(read("18446744073709551615"), Some(LONGEST));
        assert_eq!(read("Wed, 21 Oct 2015 07:28:00 GMT"), Some(Duration::ZERO));
        let soon = (Utc::now() + Duration::from_mins(1)).format("%a, %d %b %Y %H:%M:%S GMT").to_string();
        let wait = read(&soon).unwrap();
        assert!((50..=60).contains(&wait.as_secs()), "{wait:?}");
    }

    #[test]
    fn an_invalid_header_is_ignored() {
        for text in ["", "soon", "-1", "1.5"] {
            assert_eq!(read(text), None, "{text}");
        }
        assert_eq!(retry_after(&HeaderMap::new()), None);
    }

    proptest! {
        #[test]
        fn any_header_can_be_read(text in any::<String>()) {
            prop_assert!(read(&text).is_none_or(|wait| wait <= LONGEST));
        }
    }
}
