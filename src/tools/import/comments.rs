//! The comments of a batch.

use std::collections::HashSet;

use chrono::DateTime;

use super::{
    batch_writer::BatchWriter,
    entities::{ResolvedLine, owned_by},
    line::{CommentLine, Line, Reason},
    names::Names,
    rejects::removed,
};
use plaudit_catalogue::{
    COMMENTS, EntityKind,
    primitives::{CommentId, NoteId},
};
use plaudit_store::{
    StoreResult,
    sql::{
        content::{
            comments::{self, NewComment},
            submissions::Arrival,
        },
        counting::rows::{self, RowKeys},
        import::names::NamedThing,
    },
};

impl<'a> BatchWriter<'a> {
    /// Comments that answer others of the batch follow these.
    pub(super) async fn comments(&mut self) -> StoreResult<()> {
        let lines = self.of_type(|line| if let Line::Comment(of) = line { Some(of) } else { None });
        let mut waiting: Vec<(u64, &'a CommentLine)> = lines.collect();
        self.load(EntityKind::Comment).await?;
        while !waiting.is_empty() {
            let keys: HashSet<&'a str> = waiting.iter().map(|(_, line)| -> &'a str { &line.key }).collect();
            let is_known = |key: &str| self.names.find(EntityKind::Comment, key).is_some();
            let must_wait = |line: &CommentLine| {
                let answered = line.reply_to.as_deref();
                answered.is_some_and(|key| !is_known(key) && keys.contains(key) && key != line.key)
            };
            let (later, now): (Vec<_>, Vec<_>) = waiting.into_iter().partition(|(_, line)| must_wait(line));
            if now.is_empty() {
                for (number, _) in later {
                    self.reject(number, "comments answer each other".into());
                }
                return Ok(());
            }
            self.write_comments(now).await?;
            waiting = later;
        }
        Ok(())
    }

    async fn write_comments(&mut self, lines: Vec<(u64, &'a CommentLine)>) -> StoreResult<()> {
        let placed: Vec<ResolvedLine<'a, NewComment<'a>>> = self.placed(lines.into_iter(), placed_comment);
        let new = self.new_rows(EntityKind::Comment, &placed);
        let added = comments::add_comments(self.tx, &new, Arrival::Past).await?;
        self.rows += added.len() as u64;
        let moved =
            rows::counted(self.tx, &RowKeys::of_things(COMMENTS, added.iter().map(|id| id.0).collect()))
                .await?;
        // Parents of comments.
        self.touched.extend(moved.keys().filter(|entity| entity.kind == EntityKind::Comment));
        self.moved.add_all(moved);
        let gone = "the author was erased, or the note was removed";
        self.must_be_as_placed(EntityKind::Comment, placed, gone).await
    }
}

/// The key of a comment, where it stands, and its row.
fn placed_comment<'a>(
    names: &Names,
    line: &'a CommentLine,
) -> Result<(&'a str, NamedThing, NewComment<'a>), Reason> {
    let (key, author) = (line.key.as_str(), names.user(&line.author)?);
    let is_new = names.find(EntityKind::Comment, key).is_none();
    let note = names.get(EntityKind::Note, &line.note)?;
    if note.is_removed && is_new {
        return Err(removed(EntityKind::Note, &line.note));
    }
    let note = NoteId(note.id);
    let (parent, reply_to) = match &line.reply_to {
        None => (None, None),
        Some(key) => {
            let answered = names.get(EntityKind::Comment, key)?;
            if answered.note != Some(note) {
                return Err(format!("the comment {key:?} is on another note"));
            }
            if answered.is_removed && is_new {
                return Err(removed(EntityKind::Comment, key));
            }
            let id = CommentId(answered.id);
            // The comment below which it stands, and the reply that it answers.
            (Some(answered.parent.unwrap_or(id)), answered.parent.map(|_| id))
        }
    };
    let row = NewComment {
        key: Some(key),
        note,
        author,
        parent,
        reply_to,
        body: &line.body,
        images: &line.images,
        mentions: &[],
        created_at: DateTime::from_timestamp_millis(line.at),
    };
    Ok((key, NamedThing { note: Some(note), parent, ..owned_by(author) }, row))
}
