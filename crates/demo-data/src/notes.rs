//! Notes: authors, times and popularity.

use rand::{Rng, RngExt};

use super::{
    chances::{Chances, zipf},
    library::TOPICS,
    people::Person,
    text::{Theme, Writer},
    timeline::{EpochMillis, Timeline},
};

/// The share of notes without reactions.
const UNSEEN: f64 = 0.08;

const CHARM_SKEW: f64 = 0.75;
/// Exponent of the author's fame in a note's appeal.
const HALO: f64 = 0.25;
/// The share of its reactions that a new note does not have yet.
const YOUTH: f64 = 0.5;
/// Exponent of the author's fame: popular users write more, but less than in proportion.
const DILIGENCE: f64 = 0.75;

/// A note. Its author is a position in the list of users.
#[derive(Clone, PartialEq, Debug)]
pub struct DemoNote {
    pub author: usize,
    pub title: String,
    pub body: String,
    pub theme: Theme,
    pub written_at: EpochMillis,
    /// Weight of reactions to it; 0 for some notes.
    pub appeal: f64,
    /// Position of its group.
    pub group: Option<usize>,
    pub featured_at: Option<EpochMillis>,
}

/// Notes in order of time, without groups.
pub fn notes(
    rng: &mut impl Rng,
    writer: &mut Writer,
    people: &[Person],
    count: usize,
    timeline: Timeline,
) -> Vec<DemoNote> {
    let authors = Chances::new(people.iter().map(|person| person.fame.powf(DILIGENCE)));
    let charms = zipf(rng, count, CHARM_SKEW);
    let mut notes = Vec::with_capacity(count);
    for (written_at, charm) in timeline.rising(rng, count, 1.0).into_iter().zip(charms) {
        let Some(author) = author_at(rng, &authors, people, written_at) else { break };
        let topic = topic(rng, &people[author]);
        let text = writer.note(rng, topic);
        let seen = if rng.random_bool(UNSEEN) { 0.0 } else { 1.0 };
        let appeal =
            seen * charm * people[author].fame.powf(HALO) * (1.0 - YOUTH * timeline.newness(written_at));
        notes.push(DemoNote {
            author,
            title: text.title,
            body: text.body,
            theme: text.theme,
            written_at,
            appeal,
            group: None,
            featured_at: None,
        });
    }
    notes
}

/// A user who had joined by then. The first user always had, so this terminates.
fn author_at(rng: &mut impl Rng, authors: &Chances, people: &[Person], at: EpochMillis) -> Option<usize> {
    loop {
        let author = authors.draw(rng)?;
        if people[author].joined_at < at {
            return Some(author);
        }
    }
}

fn topic(rng: &mut impl Rng, author: &Person) -> usize {
    match rng.random_range(0..10) {
        0..6 => author.interests[0],
        6..9 => author.interests[1],
        _ => rng.random_range(0..TOPICS.len()),
    }
}
