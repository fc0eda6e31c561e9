//! The comments of a batch.

use std::collections::HashSet;

use super::{
    batch_writer::{BatchWriter, ParsedLine},
    line::{CommentLine, Line, Reason},
    rejects::{no_thing, no_user, removed, taken},
};
use plaudit_catalogue::{
    Entity,
    primitives::{CommentId, NoteId, UserId},
};
use plaudit_store::{
    StoreResult,
    sql::{
        import::entities::{self, ImportedComment},
        moderation::decisions::count_comment,
    },
};

/// What a comment answers.
#[derive(Clone, Copy, Default)]
struct ReplyTo {
    /// The comment below which it stands.
    parent: Option<CommentId>,
    /// The reply that it answers.
    reply: Option<CommentId>,
}

impl<'a> BatchWriter<'a> {
    /// Comments that answer others of the batch follow these.
    pub(super) async fn comments(&mut self) -> StoreResult<()> {
        let of_line = |parsed: &'a ParsedLine| match &parsed.line {
            Line::Comment(line) => Some((parsed.number, line)),
            _ => None,
        };
        let mut waiting: Vec<(u64, &'a CommentLine)> = self.lines.iter().filter_map(of_line).collect();
        let all = self.all();
        self.names.load_comments(self.tx, all).await?;
        while !waiting.is_empty() {
            let keys: HashSet<&'a str> = waiting.iter().map(|(_, line)| -> &'a str { &line.key }).collect();
            let is_known = |key: &str| self.names.comment(key).is_some();
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
        let mut placed = Vec::new();
        for (number, line) in lines {
            match self.place(line) {
                Ok((note, author, answered)) => placed.push((number, note, author, answered, line)),
                Err(reason) => self.reject(number, reason),
            }
        }
        if self.is_dry {
            for (_, note, author, answered, line) in &placed {
                self.names.invent_comment(&line.key, *note, *author, answered.parent);
            }
        } else {
            let mut keys = HashSet::new();
            let new = placed.iter().filter(|(_, _, _, _, line)| {
                self.names.comment(&line.key).is_none() && keys.insert(line.key.as_str())
            });
            let comments: Vec<ImportedComment<'_>> = new
                .map(|(_, note, author, answered, line)| ImportedComment {
                    key: &line.key,
                    note: *note,
                    author: *author,
                    parent: answered.parent,
                    reply_to: answered.reply,
                    body: &line.body,
                    images: &line.images,
                    at: line.at,
                })
                .collect();
            let added = entities::import_comments(self.tx, &comments).await?;
            self.rows += added.len() as u64;
            for header in added.iter().filter(|header| header.is_counted) {
                count_comment(header, 1, &mut self.moved.totals);
                self.touched.extend(header.parent.map(Entity::from));
            }
            let all = self.all();
            self.names.load_comments(self.tx, all).await?;
        }
        for (number, note, author, _, line) in placed {
            match self.names.comment(&line.key).map(|comment| (comment.note, comment.author)) {
                None => self.reject(number, "the author was erased, or the note was removed".into()),
                Some(other) if other != (note, author) => self.reject(number, taken("comment", &line.key)),
                Some(_) => {}
            }
        }
        Ok(())
    }

    /// The note and author of a comment, and what it answers.
    fn place(&self, line: &CommentLine) -> Result<(NoteId, UserId, ReplyTo), Reason> {
        let author = self.names.user(&line.author).ok_or_else(|| no_user(&line.author))?;
        let note = self.names.note(&line.note).ok_or_else(|| no_thing("note", &line.note))?;
        if note.is_removed && self.names.comment(&line.key).is_none() {
            return Err(removed("note", &line.note));
        }
        let Some(key) = &line.reply_to else { return Ok((note.id, author, ReplyTo::default())) };
        let answered = self.names.comment(key).ok_or_else(|| no_thing("comment", key))?;
        if answered.note != note.id {
            return Err(format!("the comment {key:?} is on another note"));
        }
        if answered.is_removed && self.names.comment(&line.key).is_none() {
            return Err(removed("comment", key));
        }
        let parent = answered.parent.unwrap_or(answered.id);
        let reply = answered.parent.map(|_| answered.id);
        Ok((note.id, author, ReplyTo { parent: Some(parent), reply }))
    }
}
