//! Target notes of a storm: those that visitors see first, or given ones, drawn by Zipf's law.

use std::{collections::HashSet, iter::zip};

use rand::{Rng, seq::IndexedRandom};
use rand_distr::{Distribution, Zipf};
use serde::Deserialize;
use serde_json::{Value, json};

use super::StormApi;

/// Zipf exponent: of 30 notes, the first attracts a quarter of all actions.
const SKEW: f64 = 1.0;

/// The newest page, and the hottest notes of the day.
const DEFAULT_TARGETS: &str = "{
    hotNotes(orderBy: DAY, first: 10) { nodes { ...Target } }
    feed(first: 20) { nodes { ...Target } } }
fragment Target on Note { id author { id } comments(first: 3) { nodes { id } } }";

const TARGETS_BY_ID: &str = "query ($ids: [ID!]!) { nodes(ids: $ids) { ...Target } }
fragment Target on Note { id author { id } comments(first: 3) { nodes { id } } }";

/// Notes in order of popularity. There is at least one.
pub struct TargetNotes {
    notes: Vec<NoteTarget>,
    popularity: Zipf<f64>,
}

/// Why there are no targets.
#[derive(Debug)]
pub enum FindError<E> {
    /// The API refused or failed to answer.
    Execution(E),
    NoNotes,
}

/// A note with its author and its first comments.
#[derive(Deserialize)]
pub struct NoteTarget {
    id: String,
    author: Option<NodeId>,
    comments: Option<Nodes<NodeId>>,
}

#[derive(Deserialize)]
struct NodeId {
    id: String,
}

#[derive(Deserialize)]
struct Nodes<T> {
    nodes: Vec<T>,
}

impl TargetNotes {
    /// The notes with these ids; without ids, those that visitors see first.
    ///
    /// # Errors
    /// [`FindError::NoNotes`] when there is none.
    pub async fn find<A: StormApi>(api: &A, ids: &[String]) -> Result<Self, FindError<A::Error>> {
        let (document, variables) = match ids {
            [] => (DEFAULT_TARGETS, json!({})),
            ids => (TARGETS_BY_ID, json!({ "ids": ids })),
        };
        let response =
            api.execute(&api.visitor(), document, variables).await.map_err(FindError::Execution)?;
        let notes = if ids.is_empty() {
            interleave(notes_at(&response, "/hotNotes/nodes"), notes_at(&response, "/feed/nodes"))
        } else {
            notes_at(&response, "/nodes")
        };
        let popularity = Zipf::new(notes.len() as f64, SKEW).map_err(|_| FindError::NoNotes)?;
        Ok(Self { notes, popularity })
    }

    /// Draws a note; notes of a high rank are drawn more often.
    pub fn draw(&self, rng: &mut impl Rng) -> &NoteTarget {
        let rank = self.popularity.sample(rng) as usize;
        &self.notes[rank.clamp(1, self.notes.len()) - 1]
    }
}

impl NoteTarget {
    pub fn id(&self) -> &str {
        &self.id
    }

    pub fn author(&self) -> Option<&str> {
        self.author.as_ref().map(|author| author.id.as_str())
    }

    /// One of its first comments.
    pub fn comment(&self, rng: &mut impl Rng) -> Option<&str> {
        self.comments.as_ref()?.nodes.choose(rng).map(|comment| comment.id.as_str())
    }
}

/// Skips nodes that are null or not notes.
fn notes_at(response: &Value, path: &str) -> Vec<NoteTarget> {
    let nodes = response.pointer(path).and_then(Value::as_array).into_iter().flatten();
    nodes.filter_map(|node| NoteTarget::deserialize(node).ok()).collect()
}

/// Alternates between both lists, so that the hottest and the newest come first; each note once.
fn interleave(hot: Vec<NoteTarget>, new: Vec<NoteTarget>) -> Vec<NoteTarget> {
    let mut ranked: Vec<_> = zip(0.., hot).chain(zip(0.., new)).collect();
    ranked.sort_by_key(|(rank, _)| *rank);
    let mut ids = HashSet::new();
    ranked.into_iter().map(|(_, note)| note).filter(|note| ids.insert(note.id.clone())).collect()
}

#[cfg(test)]
mod tests {
    use rand::{SeedableRng, rngs::StdRng};

    use super::*;

    fn notes(ids: &[&str]) -> Vec<NoteTarget> {
        let note = |id: &&str| NoteTarget { id: (*id).to_owned(), author: None, comments: None };
        ids.iter().map(note).collect()
    }

    #[test]
    fn hot_and_new_notes_alternate_without_duplicates() {
        let interleaved = interleave(notes(&["a", "b", "c"]), notes(&["d", "a", "e", "f"]));
        let ids: Vec<&str> = interleaved.iter().map(NoteTarget::id).collect();
        assert_eq!(ids, ["a", "d", "b", "c", "e", "f"]);
    }

    #[test]
    fn the_first_note_is_drawn_most_and_every_note_is_drawn() {
        let ids: Vec<String> = (0..30).map(|id| id.to_string()).collect();
        let notes = notes(&ids.iter().map(String::as_str).collect::<Vec<_>>());
        let targets = TargetNotes { notes, popularity: Zipf::new(30.0, SKEW).unwrap() };
        let mut rng = StdRng::seed_from_u64(1);
        let mut drawn = [0; 30];
        for _ in 0..10_000 {
            drawn[targets.draw(&mut rng).id().parse::<usize>().unwrap()] += 1;
        }
        assert!(drawn[0] > 2_000 && drawn.iter().all(|times| *times > 20), "{drawn:?}");
    }
}
