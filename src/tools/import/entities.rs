//! The users, groups and notes of a batch, and what things of all kinds have in common: what exists stays as it is.

use std::collections::HashSet;

use chrono::DateTime;

use super::{
    batch_writer::BatchWriter,
    line::{GroupLine, Line, NoteLine, Reason},
    names::Names,
    rejects::{removed, taken},
};
use plaudit_catalogue::NOTES;
use plaudit_catalogue::{
    EntityKind,
    primitives::{GroupId, Id, UserId},
};
use plaudit_store::{
    StoreResult,
    sql::{
        content::{
            groups::{self, GroupRow},
            notes::{self, NoteRow},
            submissions::Arrival,
        },
        counting::rows::{self, RowKeys},
        import::names::NamedThing,
        people::users::{self, UserRow},
    },
};

/// A line of a thing, whose names are known.
pub(super) struct ResolvedLine<'a, R> {
    pub number: u64,
    pub key: &'a str,
    /// What it names, as the thing is or would be; the id is not known.
    pub thing: NamedThing,
    pub row: R,
}

/// A thing of an owner without an id.
pub(super) const fn owned_by(owner: UserId) -> NamedThing {
    NamedThing { id: Id::HIGHEST, owner, is_removed: false, note: None, parent: None }
}

impl<'a> BatchWriter<'a> {
    pub(super) async fn users(&mut self) -> StoreResult<()> {
        let lines = self.of_type(|line| if let Line::User(of) = line { Some(of) } else { None });
        let rows: Vec<UserRow<'_>> = lines
            .map(|(_, line)| UserRow {
                subject: &line.subject,
                name: Some(&line.name),
                avatar_url: line.avatar_url.as_deref(),
                created_at: line.at.and_then(DateTime::from_timestamp_millis),
            })
            .collect();
        if !self.is_dry {
            self.rows += users::add_users(self.tx, &rows).await?.len() as u64;
        }
        self.load(EntityKind::User).await?;
        if self.is_dry {
            let nobody = owned_by(UserId(Id::HIGHEST));
            rows.iter().for_each(|row| self.names.invent(EntityKind::User, row.subject, nobody));
        }
        Ok(())
    }

    pub(super) async fn groups(&mut self) -> StoreResult<()> {
        let row = |names: &Names, line: &'a GroupLine| {
            let owner = names.user(&line.owner)?;
            let (key, name, description) = (line.key.as_str(), &line.name, &line.description);
            let row = GroupRow {
                owner,
                key: Some(key),
                name,
                description,
                created_at: DateTime::from_timestamp_millis(line.at),
            };
            Ok((key, owned_by(owner), row))
        };
        let placed =
            self.placed(self.of_type(|line| if let Line::Group(of) = line { Some(of) } else { None }), row);
        self.load(EntityKind::Group).await?;
        let new = self.new_rows(EntityKind::Group, &placed);
        self.rows += groups::add_groups(self.tx, &new).await?.len() as u64;
        self.must_be_as_placed(EntityKind::Group, placed, "the owner was erased").await
    }

    pub(super) async fn notes(&mut self) -> StoreResult<()> {
        let row = |names: &Names, line: &'a NoteLine| {
            let (author, key) = (names.user(&line.author)?, line.key.as_str());
            let group = line.group.as_deref().map(|group| group_of(names, group)).transpose()?;
            let row = NoteRow {
                author,
                group,
                key: Some(key),
                url: line.url.as_deref(),
                title: &line.title,
                body: &line.body,
                created_at: DateTime::from_timestamp_millis(line.at),
                featured_at: line.featured_at.and_then(DateTime::from_timestamp_millis),
            };
            Ok((key, owned_by(author), row))
        };
        let placed =
            self.placed(self.of_type(|line| if let Line::Note(of) = line { Some(of) } else { None }), row);
        self.load(EntityKind::Note).await?;
        let new = self.new_rows(EntityKind::Note, &placed);
        let added = notes::add_notes(self.tx, &new, Arrival::Past).await?;
        self.rows += added.len() as u64;
        let added = RowKeys::of_things(NOTES, added.iter().map(|note| note.id.0).collect());
        self.moved.add_all(rows::counted(self.tx, &added).await?);
        self.touched.extend(added.things());
        let gone = "the author was erased, or the group was removed";
        self.must_be_as_placed(EntityKind::Note, placed, gone).await
    }

    /// These lines, each with its key, what it names, and its row. The others are rejected.
    pub(super) fn placed<L: 'a, R>(
        &mut self,
        lines: impl Iterator<Item = (u64, &'a L)>,
        row: impl Fn(&Names, &'a L) -> Result<(&'a str, NamedThing, R), Reason>,
    ) -> Vec<ResolvedLine<'a, R>> {
        let mut placed = Vec::new();
        for (number, line) in lines {
            match row(self.names, line) {
                Ok((key, thing, row)) => placed.push(ResolvedLine { number, key, thing, row }),
                Err(reason) => self.reject(number, reason),
            }
        }
        placed
    }

    /// The rows of things that do not exist, one of each. In a dry run none: these are remembered as if they existed.
    pub(super) fn new_rows<R: Copy>(&mut self, kind: EntityKind, placed: &[ResolvedLine<'a, R>]) -> Vec<R> {
        if self.is_dry {
            placed.iter().for_each(|of| self.names.invent(kind, of.key, of.thing));
        }
        let mut keys = HashSet::new();
        let mut is_new = |key: &'a str| self.names.find(kind, key).is_none() && keys.insert(key);
        placed.iter().filter_map(|of| is_new(of.key).then_some(of.row)).collect()
    }

    /// Rejects lines whose things are others than they say, or are not there: `gone` says why.
    pub(super) async fn must_be_as_placed<R>(
        &mut self,
        kind: EntityKind,
        placed: Vec<ResolvedLine<'a, R>>,
        gone: &str,
    ) -> StoreResult<()> {
        self.load(kind).await?;
        for ResolvedLine { number, key, thing, .. } in placed {
            match self.names.find(kind, key) {
                None => self.reject(number, gone.into()),
                Some(found) if (found.owner, found.note) != (thing.owner, thing.note) => {
                    self.reject(number, taken(kind, key));
                }
                Some(_) => {}
            }
        }
        Ok(())
    }

    pub(super) async fn load(&mut self, kind: EntityKind) -> StoreResult<()> {
        let all = self.all();
        self.names.load(self.tx, kind, all).await
    }
}

fn group_of(names: &Names, key: &str) -> Result<GroupId, Reason> {
    match names.get(EntityKind::Group, key)? {
        group if group.is_removed => Err(removed(EntityKind::Group, key)),
        group => Ok(GroupId(group.id)),
    }
}
