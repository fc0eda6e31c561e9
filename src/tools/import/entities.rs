//! The users, groups and notes of a batch.

use super::{
    batch_writer::BatchWriter,
    line::Line,
    rejects::{no_thing, no_user, removed, taken},
};
use plaudit_catalogue::{NOTES, primitives::now};
use plaudit_store::{
    StoreResult,
    sql::{
        counting::rows::{self, RowKeys},
        import::entities::{self, ImportedGroup, ImportedNote, ImportedUser},
    },
};

pub(super) async fn users(writer: &mut BatchWriter<'_>) -> StoreResult<()> {
    let now = now();
    let lines = writer.all().filter_map(|line| match line {
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
    if !writer.is_dry {
        writer.rows += entities::import_users(writer.tx, &users).await?;
    }
    let all = writer.all();
    writer.names.load_users(writer.tx, all).await?;
    if writer.is_dry {
        users.iter().for_each(|user| writer.names.invent_user(user.subject));
    }
    Ok(())
}

pub(super) async fn groups(writer: &mut BatchWriter<'_>) -> StoreResult<()> {
    let mut lines = Vec::new();
    for parsed in writer.lines {
        let Line::Group(line) = &parsed.line else { continue };
        match writer.names.user(&line.owner) {
            Some(owner) => lines.push((parsed.number, owner, line)),
            None => writer.reject(parsed.number, no_user(&line.owner)),
        }
    }
    let all = writer.all();
    writer.names.load_groups(writer.tx, all).await?;
    if writer.is_dry {
        lines.iter().for_each(|(_, owner, line)| writer.names.invent_group(&line.key, *owner));
    } else {
        let new = lines.iter().filter(|(_, _, line)| writer.names.group(&line.key).is_none());
        let groups: Vec<ImportedGroup<'_>> = new
            .map(|(_, owner, line)| ImportedGroup {
                key: &line.key,
                owner: *owner,
                name: &line.name,
                description: &line.description,
                at: line.at,
            })
            .collect();
        writer.rows += entities::import_groups(writer.tx, &groups).await?.len() as u64;
        let all = writer.all();
        writer.names.load_groups(writer.tx, all).await?;
    }
    for (number, owner, line) in lines {
        match writer.names.group(&line.key).map(|group| group.owner) {
            None => writer.reject(number, no_user(&line.owner)),
            Some(other) if other != owner => writer.reject(number, taken("group", &line.key)),
            Some(_) => {}
        }
    }
    Ok(())
}

pub(super) async fn notes(writer: &mut BatchWriter<'_>) -> StoreResult<()> {
    let mut lines = Vec::new();
    for parsed in writer.lines {
        let Line::Note(line) = &parsed.line else { continue };
        let group = match line.group.as_deref().map(|key| (key, writer.names.group(key))) {
            None => Ok(None),
            Some((key, None)) => Err(no_thing("group", key)),
            Some((key, Some(group))) if group.is_removed => Err(removed("group", key)),
            Some((_, Some(group))) => Ok(Some(group.id)),
        };
        match (writer.names.user(&line.author), group) {
            (None, _) => writer.reject(parsed.number, no_user(&line.author)),
            (_, Err(reason)) => writer.reject(parsed.number, reason),
            (Some(author), Ok(group)) => lines.push((parsed.number, author, group, line)),
        }
    }
    let all = writer.all();
    writer.names.load_notes(writer.tx, all).await?;
    if writer.is_dry {
        lines.iter().for_each(|(_, author, _, line)| writer.names.invent_note(&line.key, *author));
    } else {
        let new = lines.iter().filter(|(_, _, _, line)| writer.names.note(&line.key).is_none());
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
        let added = entities::import_notes(writer.tx, &notes).await?;
        writer.rows += added.len() as u64;
        let added = RowKeys::of_things(NOTES, added);
        writer.moved.add_all(rows::counted(writer.tx, &added).await?);
        writer.touched.extend(added.things());
        let all = writer.all();
        writer.names.load_notes(writer.tx, all).await?;
    }
    for (number, author, _, line) in lines {
        match writer.names.note(&line.key).map(|note| note.author) {
            None => writer.reject(number, "the author was erased, or the group was removed".into()),
            Some(other) if other != author => writer.reject(number, taken("note", &line.key)),
            Some(_) => {}
        }
    }
    Ok(())
}
