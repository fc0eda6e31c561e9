//! What the shared cache of Redis holds of rows.

use plaudit_catalogue::primitives::{Id, UserId};

use crate::{
    redis::CachedValue,
    sql::{
        content::{groups::Group, notes::Note, threads::Comment},
        people::users::User,
    },
};

/// Its texts are short.
impl CachedValue for User {}

impl CachedValue for UserId {}

impl CachedValue for Id {}

impl CachedValue for Note {
    fn without_texts(&self) -> Option<Self> {
        let record =
            Self { title: String::new(), body: String::new(), url: None, edit: None, ..self.clone() };
        Some(Self { rejected_because: None, ..record })
    }
}

impl CachedValue for Comment {
    fn without_texts(&self) -> Option<Self> {
        let (images, mentions) = (Vec::new(), Vec::new());
        let record = Self { body: String::new(), images, mentions, edit: None, ..self.clone() };
        Some(Self { rejected_because: None, ..record })
    }
}

impl CachedValue for Group {
    fn without_texts(&self) -> Option<Self> {
        Some(Self { description: String::new(), ..self.clone() })
    }
}
