//! Writes notes, comments and replies from the library.

use std::collections::BTreeMap;

use rand::{Rng, RngExt};

use super::{
    deck::Deck,
    library::{SMALL_TALK, TOPICS, TopicWords, slots},
};

/// Topic and words of a note, so that its comments fit.
#[derive(Clone, PartialEq, Debug)]
pub struct Theme {
    pub topic: usize,
    /// The words that the note uses, with their slots.
    words: Vec<(&'static str, &'static str)>,
}

/// A note's text.
pub struct NoteText {
    pub title: String,
    pub body: String,
    pub theme: Theme,
}

/// Writes texts without repeating recent ones.
pub struct Writer {
    topics: Vec<TopicDecks>,
    comments: Deck,
    afterthoughts: Deck,
    replies: Deck,
    replies_of_author: Deck,
}

/// Decks by slot.
type WordDecks = BTreeMap<&'static str, Deck>;

struct TopicDecks {
    titles: Deck,
    openings: Deck,
    middles: Deck,
    closings: Deck,
    comments: Deck,
    words: WordDecks,
}

impl Writer {
    pub fn new() -> Self {
        Self {
            topics: TOPICS.iter().map(TopicDecks::new).collect(),
            comments: Deck::new(&SMALL_TALK.comments),
            afterthoughts: Deck::new(&SMALL_TALK.afterthoughts),
            replies: Deck::new(&SMALL_TALK.replies),
            replies_of_author: Deck::new(&SMALL_TALK.replies_of_author),
        }
    }

    /// A note of about two to five sentences. Sentences after the opening use only its words.
    pub fn note(&mut self, rng: &mut impl Rng, topic: usize) -> NoteText {
        let decks = &mut self.topics[topic];
        let mut theme = Theme { topic, words: Vec::new() };
        let title = decks.titles.deal(rng, |_| true);
        theme.take_up(rng, title, &mut decks.words);
        let opening = decks.openings.deal(rng, |line| theme.covers(line) || theme.touches(line));
        theme.take_up(rng, opening, &mut decks.words);
        let mut lines = vec![opening];
        for _ in 0..rng.random_range(1..=3) {
            lines.push(decks.middles.deal(rng, |line| theme.covers(line)));
        }
        if rng.random_bool(0.6) {
            lines.push(decks.closings.deal(rng, |line| theme.covers(line)));
        }
        let sentences: Vec<_> = lines.into_iter().map(|line| theme.fill(line)).collect();
        NoteText { title: theme.fill(title), body: sentences.join(" "), theme }
    }

    /// The text of a comment on a note.
    pub fn comment(&mut self, rng: &mut impl Rng, theme: &Theme) -> String {
        let of_topic = rng.random_bool(0.55);
        let deck = if of_topic { &mut self.topics[theme.topic].comments } else { &mut self.comments };
        let mut comment = theme.fill(deck.deal(rng, |line| theme.covers(line)));
        if rng.random_bool(0.3) {
            comment.push(' ');
            comment.push_str(self.afterthoughts.deal(rng, |_| true));
        }
        comment
    }

    /// The text of a reply to a comment.
    pub fn reply(&mut self, rng: &mut impl Rng, by_author_of_note: bool) -> String {
        let deck = if by_author_of_note { &mut self.replies_of_author } else { &mut self.replies };
        let mut reply = deck.deal(rng, |_| true).to_owned();
        if rng.random_bool(0.2) {
            reply.push(' ');
            reply.push_str(self.afterthoughts.deal(rng, |_| true));
        }
        reply
    }
}

impl TopicDecks {
    fn new(topic: &'static TopicWords) -> Self {
        Self {
            titles: Deck::new(&topic.titles),
            openings: Deck::new(&topic.openings),
            middles: Deck::new(&topic.middles),
            closings: Deck::new(&topic.closings),
            comments: Deck::new(&topic.comments),
            words: topic.words.iter().map(|(slot, words)| (slot.as_str(), Deck::new(words))).collect(),
        }
    }
}

impl Theme {
    /// Assigns words to the slots of a line that have none yet.
    fn take_up(&mut self, rng: &mut impl Rng, line: &'static str, decks: &mut WordDecks) {
        for slot in slots(line) {
            if let (false, Some(deck)) = (self.has(slot), decks.get_mut(slot)) {
                self.words.push((slot, deck.deal(rng, |_| true)));
            }
        }
    }

    fn has(&self, slot: &str) -> bool {
        self.words.iter().any(|(known, _)| *known == slot)
    }

    /// Whether all slots of a line have words.
    fn covers(&self, line: &str) -> bool {
        slots(line).all(|slot| self.has(slot))
    }

    /// Whether some slot of a line has a word.
    fn touches(&self, line: &str) -> bool {
        slots(line).any(|slot| self.has(slot))
    }

    /// Replaces the slots by their words and capitalizes the first letter.
    fn fill(&self, line: &str) -> String {
        let mut text = line.to_owned();
        for (slot, word) in &self.words {
            text = text.replace(&format!("{{{slot}}}"), word);
        }
        capitalized(&text)
    }
}

fn capitalized(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use rand::{SeedableRng, rngs::StdRng};

    use super::*;

    #[test]
    fn notes_of_one_topic_do_not_repeat_each_other() {
        let mut rng = StdRng::seed_from_u64(1);
        for topic in 0..TOPICS.len() {
            let mut writer = Writer::new();
            let notes: Vec<_> = (0..8).map(|_| writer.note(&mut rng, topic)).collect();
            assert_eq!(notes.iter().map(|note| &note.title).collect::<HashSet<_>>().len(), notes.len());
            assert_eq!(notes.iter().map(|note| &note.body).collect::<HashSet<_>>().len(), notes.len());
        }
    }

    #[test]
    fn text_is_filled_and_begins_with_a_capital_letter() {
        let (mut rng, mut writer) = (StdRng::seed_from_u64(1), Writer::new());
        for topic in (0..TOPICS.len()).cycle().take(500) {
            let note = writer.note(&mut rng, topic);
            let comment = writer.comment(&mut rng, &note.theme);
            for text in [note.title, note.body, comment] {
                assert!(!text.contains(['{', '}']), "{text}");
                assert!(!text.starts_with(char::is_lowercase), "{text}");
            }
        }
    }
}
