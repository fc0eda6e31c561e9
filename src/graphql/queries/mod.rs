//! The fields of `Query`, by domain word.

pub mod feed;
pub mod history;
pub mod lookups;
pub mod moderation;
pub mod rankings;
pub mod visibility;

use super::definition::types::ObjectType;

pub fn query() -> ObjectType {
    let fields = [
        lookups::lookups,
        feed::feed,
        rankings::rankings,
        history::history,
        moderation::moderation,
        visibility::visibility,
    ];
    fields.into_iter().fold(ObjectType::new("Query", ""), |query, add| add(query))
}
