//! What the subjects and keys of lines name, remembered from batch to batch in bounded memory.

use std::collections::{HashMap, HashSet};

use super::line::{CarriedLine, Line};
use plaudit_catalogue::{
    EdgeKind,
    primitives::{CommentId, GroupId, Id, NoteId, UserId},
};
use plaudit_store::{
    StoreResult,
    sql::{
        Tx,
        import::names::{self, NamedComment, NamedGroup, NamedNote},
        people::users,
    },
};

/// Names of one kind that are remembered at most, about 100 bytes each.
const REMEMBERED: usize = 500_000;

/// Ids by subjects and keys. Neither changes, so what is remembered stays true once its transaction has committed.
#[derive(Default)]
pub struct Names {
    users: HashMap<String, UserId>,
    groups: HashMap<String, NamedGroup>,
    notes: HashMap<String, NamedNote>,
    comments: HashMap<String, NamedComment>,
    /// The id of this installation, once a line names one.
    installation: Option<String>,
    /// Ids given to what a dry run would create, from the highest id downwards.
    invented: i64,
}

impl Names {
    /// Forgets everything: what a transaction added that was not committed does not exist.
    pub fn clear(&mut self) {
        *self = Self::default();
    }

    /// Keeps the memory bounded, between batches. A dry run remembers what it would have created.
    pub fn shrink_unless(&mut self, is_dry: bool) {
        if is_dry {
            return;
        }
        let lengths = [self.users.len(), self.groups.len(), self.notes.len(), self.comments.len()];
        if lengths.into_iter().any(|length| length > REMEMBERED) {
            self.clear();
        }
    }

    pub fn user(&self, subject: &str) -> Option<UserId> {
        self.users.get(subject).copied()
    }

    pub fn group(&self, key: &str) -> Option<&NamedGroup> {
        self.groups.get(key)
    }

    pub fn note(&self, key: &str) -> Option<&NamedNote> {
        self.notes.get(key)
    }

    pub fn comment(&self, key: &str) -> Option<&NamedComment> {
        self.comments.get(key)
    }

    /// The target of an edge by its key or subject, and its owner.
    pub fn target(&self, kind: EdgeKind, key: &str) -> Option<(Id, UserId)> {
        match kind {
            EdgeKind::NoteLike | EdgeKind::NoteCollect => self.note(key).map(|note| (note.id.0, note.author)),
            EdgeKind::CommentLike => self.comment(key).map(|comment| (comment.id.0, comment.author)),
            EdgeKind::Follow => self.user(key).map(|user| (user.0, user)),
            EdgeKind::GroupJoin => self.group(key).map(|group| (group.id.0, group.owner)),
        }
    }

    /// Looks up the users of these lines that are not remembered, in one statement, as below.
    pub async fn load_users(&mut self, tx: &mut Tx, lines: impl Iterator<Item = &Line>) -> StoreResult<()> {
        let missing = missing(lines.flat_map(Line::subjects), &self.users);
        if !missing.is_empty() {
            self.users.extend(users::users_by_subjects_in(tx, &missing).await?);
        }
        Ok(())
    }

    /// Looks up this installation, if a line names one.
    pub async fn load_installation(
        &mut self,
        tx: &mut Tx,
        mut lines: impl Iterator<Item = &Line>,
    ) -> StoreResult<()> {
        let names_one = |line: &Line| line.carried().is_some_and(|line| line.from.is_some());
        if self.installation.is_none() && lines.any(names_one) {
            self.installation = Some(names::installation_id(tx).await?);
        }
        Ok(())
    }

    /// Whether it says the total of this installation.
    pub fn is_from_here(&self, line: &CarriedLine) -> bool {
        line.from.is_some() && line.from == self.installation
    }

    pub async fn load_groups(&mut self, tx: &mut Tx, lines: impl Iterator<Item = &Line>) -> StoreResult<()> {
        let missing = missing(lines.flat_map(Line::group_keys), &self.groups);
        if !missing.is_empty() {
            let found = names::groups_named(tx, &missing).await?;
            self.groups.extend(found.into_iter().map(|group| (group.key.clone(), group)));
        }
        Ok(())
    }

    pub async fn load_notes(&mut self, tx: &mut Tx, lines: impl Iterator<Item = &Line>) -> StoreResult<()> {
        let missing = missing(lines.flat_map(Line::note_keys), &self.notes);
        if !missing.is_empty() {
            let found = names::notes_named(tx, &missing).await?;
            self.notes.extend(found.into_iter().map(|note| (note.key.clone(), note)));
        }
        Ok(())
    }

    pub async fn load_comments(
        &mut self,
        tx: &mut Tx,
        lines: impl Iterator<Item = &Line>,
    ) -> StoreResult<()> {
        let missing = missing(lines.flat_map(Line::comment_keys), &self.comments);
        if !missing.is_empty() {
            let found = names::comments_named(tx, &missing).await?;
            self.comments.extend(found.into_iter().map(|comment| (comment.key.clone(), comment)));
        }
        Ok(())
    }
}

/// What a dry run would create.
impl Names {
    pub fn invent_user(&mut self, subject: &str) {
        if !self.users.contains_key(subject) {
            let id = UserId(self.next_id());
            self.users.insert(subject.to_owned(), id);
        }
    }

    pub fn invent_group(&mut self, key: &str, owner: UserId) {
        if !self.groups.contains_key(key) {
            let id = GroupId(self.next_id());
            self.groups
                .insert(key.to_owned(), NamedGroup { key: key.to_owned(), id, owner, is_removed: false });
        }
    }

    pub fn invent_note(&mut self, key: &str, author: UserId) {
        if !self.notes.contains_key(key) {
            let id = NoteId(self.next_id());
            self.notes
                .insert(key.to_owned(), NamedNote { key: key.to_owned(), id, author, is_removed: false });
        }
    }

    pub fn invent_comment(&mut self, key: &str, note: NoteId, author: UserId, parent: Option<CommentId>) {
        if !self.comments.contains_key(key) {
            let (key, id) = (key.to_owned(), CommentId(self.next_id()));
            let comment = NamedComment { key: key.clone(), id, note, author, parent, is_removed: false };
            self.comments.insert(key, comment);
        }
    }

    fn next_id(&mut self) -> Id {
        self.invented += 1;
        Id::try_from(Id::MAX - self.invented).unwrap_or(Id::HIGHEST)
    }
}

fn missing<'a, V>(names: impl Iterator<Item = &'a str>, known: &HashMap<String, V>) -> Vec<&'a str> {
    let missing: HashSet<&str> = names.filter(|name| !known.contains_key(*name)).collect();
    missing.into_iter().collect()
}
