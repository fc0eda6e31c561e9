//! What a field computes its value from: the facts of its entity, as the viewer may see them.

use super::{
    facts::{Facts, Row, own_copy, unread},
    reader::FactsReader,
};
use crate::errors::{ApiError, ApiResult};
use plaudit_catalogue::{EdgeKind, Entity};
use plaudit_counting::hub::CountsAt;
use plaudit_domain::{Comment, Group, Note, User};

/// An entity and its facts, as its fields see them.
#[derive(Clone, Copy)]
pub struct View<'a> {
    pub entity: Entity,
    pub facts: &'a Facts,
    pub reader: &'a FactsReader,
}

impl<'a> View<'a> {
    fn row(&self) -> ApiResult<&'a Row> {
        match self.facts.row.as_ref() {
            Some(Ok(Some(row))) => Ok(row),
            Some(Ok(None)) => Err(ApiError::not_found(self.entity.kind.name())),
            Some(Err(error)) => Err(own_copy(error)),
            None => Err(unread("row")),
        }
    }

    /// Whether there is such an entity.
    pub fn exists(&self) -> ApiResult<bool> {
        match self.facts.row.as_ref() {
            Some(Ok(row)) => Ok(row.is_some()),
            Some(Err(error)) => Err(own_copy(error)),
            None => Err(unread("row")),
        }
    }

    pub fn user(&self) -> ApiResult<&'a User> {
        if let Row::User(user) = self.row()? { Ok(user) } else { Err(unread("user")) }
    }

    /// The user's subject, if the viewer may see it.
    pub fn subject(&self) -> ApiResult<Option<&'a str>> {
        let subject = self.user()?.subject.as_deref();
        Ok(subject.filter(|subject| self.reader.may_see_subject(subject)))
    }

    pub fn note(&self) -> ApiResult<&'a Note> {
        if let Row::Note(note) = self.row()? { Ok(note) } else { Err(unread("note")) }
    }

    pub fn comment(&self) -> ApiResult<&'a Comment> {
        if let Row::Comment(comment) = self.row()? { Ok(comment) } else { Err(unread("comment")) }
    }

    pub fn group(&self) -> ApiResult<&'a Group> {
        if let Row::Group(group) = self.row()? { Ok(group) } else { Err(unread("group")) }
    }

    /// All counts of the entity, of one version.
    pub fn counted(&self) -> ApiResult<&'a CountsAt> {
        match self.facts.counts.as_ref() {
            Some(Ok(Some(counted))) => Ok(counted),
            Some(Ok(None)) => Err(ApiError::not_found(self.entity.kind.name())),
            Some(Err(error)) => Err(own_copy(error)),
            None => Err(unread("counts")),
        }
    }

    /// Whether an edge of the viewer to the entity is on; `None` without a token.
    pub fn own_edge(&self, kind: EdgeKind) -> ApiResult<Option<bool>> {
        if !self.reader.may_own() {
            return Ok(None);
        }
        match &self.facts.own_failed {
            Some(error) => Err(own_copy(error)),
            None if self.facts.own_read.has(kind) => Ok(Some(self.facts.own_on.has(kind))),
            None => Err(unread("edge")),
        }
    }

    /// The viewer's rating; `None` without a token, and without a rating.
    pub fn own_rating(&self) -> ApiResult<Option<i16>> {
        if !self.reader.may_own() {
            return Ok(None);
        }
        match &self.facts.rating {
            Some(rating) => rating.as_ref().copied().map_err(own_copy),
            None => Err(unread("rating")),
        }
    }
}
