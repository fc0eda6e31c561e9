//! The users, groups and notes of a batch.

use super::{
    line::Line,
    rejects::{no_thing, no_user, removed, taken},
    write::BatchWriter,
};
use crate::{
    catalogue::Counts,
    primitives::now,
    store::{
        StoreResult,
        sql::{
            content::notes::count_note,
            import::entities::{self, ImportedGroup, ImportedNote, ImportedUser},
        },
    },
};

impl BatchWriter<'_> {
    pub(super) async fn users(&mut self) -> StoreResult<()> {
        let now = now();
        let lines = self.all().filter_map(|line| match line {
            Line::User(line) => Some(line),
            _ => None,
        });
        let users: Vec<ImportedUser<'_>> = lines
            .map(|line| ImportedUser {
                subject: &line.subject,
                name: &line.name,
                avatar_url: line.avatar_url.as_deref(),
                at: line.at.unwrap_or(now),
            })
            .collect();
        if !self.is_dry {
            self.rows += entities::import_users(self.tx, &users).await?;
        }
        let all = self.all();
        self.names.load_users(self.tx, all).await?;
        if self.is_dry {
            users.iter().for_each(|user| self.names.invent_user(user.subject));
        }
        Ok(())
    }

    pub(super) async fn groups(&mut self) -> StoreResult<()> {
        let mut lines = Vec::new();
        for parsed in self.lines {
            let Line::Group(line) = &parsed.line else { continue };
            match self.names.user(&line.owner) {
                Some(owner) => lines.push((parsed.number, owner, line)),
                None => self.reject(parsed.number, no_user(&line.owner)),
            }
        }
        let all = self.all();
        self.names.load_groups(self.tx, all).await?;
        if self.is_dry {
            lines.iter().for_each(|(_, owner, line)| self.names.invent_group(&line.key, *owner));
        } else {
            let new = lines.iter().filter(|(_, _, line)| self.names.group(&line.key).is_none());
            let groups: Vec<ImportedGroup<'_>> = new
                .map(|(_, owner, line)| ImportedGroup {
                    key: &line.key,
                    owner: *owner,
                    name: &line.name,
                    description: &line.description,
                    at: line.at,
                })
                .collect();
            self.rows += entities::import_groups(self.tx, &groups).await?.len() as u64;
            let all = self.all();
            self.names.load_groups(self.tx, all).await?;
        }
        for (number, owner, line) in lines {
            match self.names.group(&line.key).map(|group| group.owner) {
                None => self.reject(number, no_user(&line.owner)),
                Some(other) if other != owner => self.reject(number, taken("group", &line.key)),
                Some(_) => {}
            }
        }
        Ok(())
    }

    pub(super) async fn notes(&mut self) -> StoreResult<()> {
        let mut lines = Vec::new();
        for parsed in self.lines {
            let Line::Note(line) = &parsed.line else { continue };
            let group = match line.group.as_deref().map(|key| (key, self.names.group(key))) {
                None => Ok(None),
                Some((key, None)) => Err(no_thing("group", key)),
                Some((key, Some(group))) if group.is_removed => Err(removed("group", key)),
                Some((_, Some(group))) => Ok(Some(group.id)),
            };
            match (self.names.user(&line.author), group) {
                (None, _) => self.reject(parsed.number, no_user(&line.author)),
                (_, Err(reason)) => self.reject(parsed.number, reason),
                (Some(author), Ok(group)) => lines.push((parsed.number, author, group, line)),
            }
        }
        let all = self.all();
        self.names.load_notes(self.tx, all).await?;
        if self.is_dry {
            lines.iter().for_each(|(_, author, _, line)| self.names.invent_note(&line.key, *author));
        } else {
            let new = lines.iter().filter(|(_, _, _, line)| self.names.note(&line.key).is_none());
            let notes: Vec<ImportedNote<'_>> = new
                .map(|(_, author, group, line)| ImportedNote {
                    key: &line.key,
                    author: *author,
                    group: *group,
                    url: line.url.as_deref(),
                    title: &line.title,
                    body: &line.body,
                    at: line.at,
                    featured_at: line.featured_at.filter(|_| group.is_some()),
                })
                .collect();
            let added = entities::import_notes(self.tx, &notes).await?;
            self.rows += added.len() as u64;
            for note in added {
                self.touched.insert(note.id.into());
                if note.is_shown {
                    count_note(&note.place, &Counts::default(), 1, &mut self.moved.totals);
                }
            }
            let all = self.all();
            self.names.load_notes(self.tx, all).await?;
        }
        for (number, author, _, line) in lines {
            match self.names.note(&line.key).map(|note| note.author) {
                None => self.reject(number, "the author was erased, or the group was removed".into()),
                Some(other) if other != author => self.reject(number, taken("note", &line.key)),
                Some(_) => {}
            }
        }
        Ok(())
    }
}
