//! Text of a comment: body, images and mentions, validated against their limits.

use std::collections::BTreeSet;

use crate::{COMMENT_BODY, DomainError, DomainResult, ImageAddress, Text, TextRule};
use plaudit_catalogue::primitives::UserId;

const MAX_IMAGES: usize = 9;
const MAX_MENTIONS: usize = 10;

/// Text of a comment, within its limits.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CommentText {
    pub(crate) body: Text,
    pub(crate) images: Vec<String>,
    pub(crate) mentions: Vec<UserId>,
}

impl CommentText {
    /// # Errors
    /// [`DomainError::BadInput`] naming `body`, `images` or `mentions`.
    pub fn parse(body: &str, images: Vec<String>, mentions: Vec<UserId>) -> DomainResult<Self> {
        let body = Text::parse(body, &body_rule(!images.is_empty()))?;
        Ok(Self { body, images: parsed_images(images)?, mentions: distinct(mentions)? })
    }
}

/// A comment with an image may have no text.
pub(super) fn body_rule(may_have_image: bool) -> TextRule {
    TextRule { min: usize::from(!may_have_image), ..COMMENT_BODY }
}

pub(super) fn parsed_images(images: Vec<String>) -> DomainResult<Vec<String>> {
    if images.len() > MAX_IMAGES {
        let message = format!("images: at most {MAX_IMAGES} addresses, not {}", images.len());
        return Err(DomainError::bad_input("images", message));
    }
    images
        .iter()
        .map(|address| ImageAddress::parse("images", address).map(ImageAddress::into_string))
        .collect()
}

/// Each user once, in the order of their ids.
pub(super) fn distinct(mentions: Vec<UserId>) -> DomainResult<Vec<UserId>> {
    let mentions: BTreeSet<UserId> = mentions.into_iter().collect();
    if mentions.len() > MAX_MENTIONS {
        let message = format!("mentions: at most {MAX_MENTIONS} users, not {}", mentions.len());
        return Err(DomainError::bad_input("mentions", message));
    }
    Ok(mentions.into_iter().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(body: &str, images: &[&str]) -> String {
        let images = images.iter().map(|image| (*image).to_owned()).collect();
        CommentText::parse(body, images, Vec::new()).unwrap_err().to_string()
    }

    #[test]
    fn a_comment_has_text_or_an_image_within_the_limits() {
        assert!(CommentText::parse(&"é".repeat(1_024), Vec::new(), Vec::new()).is_ok());
        assert!(CommentText::parse("", vec!["https://a.example/x.png".into()], Vec::new()).is_ok());
        assert!(refused(&"é".repeat(1_025), &[]).starts_with("body: must have 1 to 1024"));
        assert!(refused(" \n", &[]).starts_with("body: must have 1 to 1024"));
        assert!(refused("nul\0", &[]).contains("U+0000"));
        assert!(refused("x", &["https://a.example/"; 10]).contains("at most 9"));
    }

    #[test]
    fn only_plain_https_addresses_are_images() {
        for bad in [
            "",
            "x",
            "http://a.example/",
            "javascript:alert(1)",
            "https://me:pw@a.example/",
            "data:image/png,x",
        ] {
            assert!(refused("x", &[bad]).starts_with("images:"), "{bad}");
        }
        assert!(refused("x", &[&format!("https://a.example/{}", "x".repeat(2_048))]).contains("2048 bytes"));
    }
}
