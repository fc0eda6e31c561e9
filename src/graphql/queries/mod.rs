//! The fields of `Query`, by domain word.

pub mod entities;
pub mod events;
pub mod explain;
pub mod export;
pub mod feed;
pub mod lists;
pub mod lookups;
pub mod moderation;
pub mod rankings;

use super::definition::types::ObjectType;

pub fn query() -> ObjectType {
    let fields = [
        lookups::lookups,
        feed::feeds,
        lists::lists,
        rankings::rankings,
        moderation::moderation,
        export::export,
        explain::explanations,
        entities::entities,
        events::events,
    ];
    fields.into_iter().fold(ObjectType::new("Query", "What can be read."), |query, add| add(query))
}
