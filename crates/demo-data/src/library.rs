//! The words and sentences of the demo texts: one file per topic, and small talk that fits every topic.
//!
//! `{slot}` in a sentence stands for one of the topic's words. In a note and its comments a slot always has
//! the same word.

use std::{collections::BTreeMap, sync::LazyLock};

use serde::{Deserialize, de::DeserializeOwned};

/// Sentences and words for the notes of one topic and for their comments.
#[derive(Deserialize)]
pub struct TopicWords {
    /// The topic's group.
    pub group: GroupText,
    pub titles: Vec<String>,
    pub openings: Vec<String>,
    pub middles: Vec<String>,
    pub closings: Vec<String>,
    pub comments: Vec<String>,
    /// Words by slot.
    pub words: BTreeMap<String, Vec<String>>,
}

/// Name and description of a group.
#[derive(Deserialize)]
pub struct GroupText {
    pub name: String,
    pub description: String,
}

/// Sentences that fit every topic.
#[derive(Deserialize)]
pub struct SmallTalk {
    pub comments: Vec<String>,
    /// Short sentences that may follow any comment.
    pub afterthoughts: Vec<String>,
    /// Replies by the note's author.
    pub replies_of_author: Vec<String>,
    /// Replies by other users.
    pub replies: Vec<String>,
}

/// Reasons in the ledger of coins.
#[derive(Deserialize)]
pub struct CoinReasons {
    pub gifts: Vec<String>,
    pub purchases: Vec<String>,
}

/// First and last names of one region.
#[derive(Deserialize)]
pub struct Region {
    pub first: Vec<String>,
    pub last: Vec<String>,
}

macro_rules! topics {
    ($($name:literal),+ $(,)?) => {
        vec![$(read(include_str!(concat!("words/topics/", $name, ".toml")))),+]
    };
}

pub(super) static TOPICS: LazyLock<Vec<TopicWords>> = LazyLock::new(|| {
    topics![
        "baking",
        "books",
        "city",
        "code",
        "cooking",
        "crafts",
        "cycling",
        "music",
        "parenting",
        "photography",
        "plants",
        "repair",
        "swimming",
        "trails",
    ]
});

pub(super) static SMALL_TALK: LazyLock<SmallTalk> =
    LazyLock::new(|| read(include_str!("words/small_talk.toml")));

pub(super) static COIN_REASONS: LazyLock<CoinReasons> =
    LazyLock::new(|| read(include_str!("words/coins.toml")));

pub(super) static REGIONS: LazyLock<Vec<Region>> = LazyLock::new(|| {
    let mut regions: BTreeMap<String, Vec<Region>> = read(include_str!("words/names.toml"));
    regions.remove("region").unwrap_or_default()
});

/// The slots in a sentence.
pub fn slots(line: &str) -> impl Iterator<Item = &str> {
    line.split('{').skip(1).filter_map(|part| Some(part.split_once('}')?.0))
}

fn read<T: DeserializeOwned>(file: &str) -> T {
    toml::from_str(file).expect("the word files are part of the program and checked by tests")
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_slot_has_words() {
        for topic in TOPICS.iter() {
            let lines = [&topic.titles, &topic.openings, &topic.middles, &topic.closings, &topic.comments];
            for line in lines.into_iter().flatten() {
                for slot in slots(line) {
                    assert!(topic.words.get(slot).is_some_and(|words| words.len() >= 10), "{line}");
                }
            }
        }
    }

    #[test]
    fn groups_have_different_names_and_keep_the_limits_of_the_service() {
        let names: HashSet<_> = TOPICS.iter().map(|topic| &topic.group.name).collect();
        assert_eq!(names.len(), TOPICS.len());
        for GroupText { name, description } in TOPICS.iter().map(|topic| &topic.group) {
            assert!((1..=80).contains(&name.chars().count()), "{name}");
            assert!((1..=1_000).contains(&description.chars().count()), "{description}");
        }
    }

    #[test]
    fn small_talk_has_no_slots() {
        let talk = &*SMALL_TALK;
        let lines = [&talk.comments, &talk.afterthoughts, &talk.replies_of_author, &talk.replies];
        assert!(lines.into_iter().flatten().all(|line| !line.contains(['{', '}'])));
    }

    #[test]
    fn there_are_enough_names() {
        assert!(REGIONS.iter().map(|region| region.first.len()).sum::<usize>() >= 120);
        assert!(REGIONS.iter().map(|region| region.last.len()).sum::<usize>() >= 120);
    }
}
