//! Comments and replies.

use std::collections::HashSet;

use rand::{Rng, RngExt};

use super::{
    chances::{Chances, zipf},
    notes::DemoNote,
    people::Person,
    text::Writer,
    timeline::{EpochMillis, Timeline},
};

/// The share of comments that are replies.
const REPLIES: f64 = 0.35;
/// The share of replies by the note's author, at most one per comment.
const BY_AUTHOR: f64 = 0.4;

const WIT_SKEW: f64 = 0.7;

/// Exponent of a note's popularity: comments are less unequal than likes.
const RESTRAINT: f64 = 0.8;

/// Attempts to find a text that the note does not have yet.
const REWORDINGS: usize = 10;

/// A comment. The note, its author and its parent are positions.
#[derive(Clone, PartialEq, Debug)]
pub struct DemoComment {
    pub note: usize,
    pub author: usize,
    /// The top-level comment that it replies to.
    pub parent: Option<usize>,
    pub body: String,
    pub written_at: EpochMillis,
    /// Weight of reactions to it.
    pub appeal: f64,
}

/// Comments in order of time.
pub fn comments(
    rng: &mut impl Rng,
    writer: &mut Writer,
    people: &[Person],
    notes: &[DemoNote],
    count: usize,
    timeline: Timeline,
) -> Vec<DemoComment> {
    let replies = (count as f64 * REPLIES) as usize;
    let mut comments = top_level(rng, people, notes, count - replies, timeline);
    add_replies(rng, &mut comments, people, notes, replies, timeline);
    let mut comments = in_order(comments);
    write_texts(rng, writer, &mut comments, notes);
    comments
}

fn top_level(
    rng: &mut impl Rng,
    people: &[Person],
    notes: &[DemoNote],
    count: usize,
    timeline: Timeline,
) -> Vec<DemoComment> {
    let popular = Chances::new(notes.iter().map(|note| note.appeal.powf(RESTRAINT)));
    let active = Chances::new(people.iter().map(|person| person.activity));
    let mut comments = Vec::with_capacity(count);
    for wit in zipf(rng, count, WIT_SKEW) {
        let (Some(note), Some(author)) = (popular.draw(rng), active.draw(rng)) else { break };
        let written_at = timeline.soon_after(rng, people[author].joined_at.max(notes[note].written_at));
        let appeal = wit * notes[note].appeal;
        comments.push(DemoComment { note, author, parent: None, body: String::new(), written_at, appeal });
    }
    comments
}

/// Appends replies to the list of comments.
fn add_replies(
    rng: &mut impl Rng,
    comments: &mut Vec<DemoComment>,
    people: &[Person],
    notes: &[DemoNote],
    count: usize,
    timeline: Timeline,
) {
    let popular = Chances::new(comments.iter().map(|comment| comment.appeal.sqrt()));
    let active = Chances::new(people.iter().map(|person| person.activity));
    let mut answered = HashSet::new();
    for wit in zipf(rng, count, WIT_SKEW) {
        let (Some(parent), Some(anybody)) = (popular.draw(rng), active.draw(rng)) else { break };
        let DemoComment { note, written_at, .. } = comments[parent];
        let by_author = rng.random_bool(BY_AUTHOR) && answered.insert(parent);
        let author = if by_author { notes[note].author } else { anybody };
        comments.push(DemoComment {
            note,
            author,
            parent: Some(parent),
            body: String::new(),
            written_at: timeline.soon_after(rng, people[author].joined_at.max(written_at)),
            appeal: wit * notes[note].appeal,
        });
    }
}

/// Sorts by time; a parent stays before its replies.
fn in_order(comments: Vec<DemoComment>) -> Vec<DemoComment> {
    let mut numbered: Vec<_> = comments.into_iter().enumerate().collect();
    numbered.sort_by_key(|(_, comment)| comment.written_at);
    let mut places = vec![0; numbered.len()];
    for (place, (former, _)) in numbered.iter().enumerate() {
        places[*former] = place;
    }
    let with_new_parent =
        |comment: DemoComment| DemoComment { parent: comment.parent.map(|former| places[former]), ..comment };
    numbered.into_iter().map(|(_, comment)| with_new_parent(comment)).collect()
}

/// Writes the texts of the comments, with no text twice on one note if possible.
fn write_texts(rng: &mut impl Rng, writer: &mut Writer, comments: &mut [DemoComment], notes: &[DemoNote]) {
    let mut texts: HashSet<(usize, String)> = HashSet::new();
    for comment in comments {
        let note = &notes[comment.note];
        for _ in 0..REWORDINGS {
            comment.body = match comment.parent {
                None => writer.comment(rng, &note.theme),
                Some(_) => writer.reply(rng, comment.author == note.author),
            };
            if texts.insert((comment.note, comment.body.clone())) {
                break;
            }
        }
    }
}
