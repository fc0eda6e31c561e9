//! The complete demo data: deterministic for a size and a time.

use std::fmt;

use rand::{SeedableRng, rngs::StdRng};

use super::{
    coins::{self, LedgerLine},
    comments::{DemoComment, comments},
    graph::{self, DemoEdge},
    groups::{self, DemoGroup},
    notes::{DemoNote, notes},
    people::{Person, people},
    text::Writer,
    timeline::{EpochMillis, Timeline},
};

const SEED: u64 = 0x506c_6175_6469_7401;

/// Size of the demo data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SeedSize {
    pub users: usize,
    pub notes: usize,
}

impl Default for SeedSize {
    /// Enough for lists of many pages.
    fn default() -> Self {
        Self { users: 1_000, notes: 5_000 }
    }
}

impl SeedSize {
    // With few users the numbers per user or note are smaller, too: a note cannot have more likes than there
    // are users.

    const fn follows(self) -> usize {
        self.users * at_most(20, self.users / 5)
    }

    const fn note_likes(self) -> usize {
        self.notes * at_most(16, self.users / 6)
    }

    const fn messages(self) -> usize {
        self.users * at_most(2, self.users / 10)
    }

    const fn comments(self) -> usize {
        self.notes * 2
    }

    const fn comment_likes(self) -> usize {
        self.notes * at_most(3, self.users / 10)
    }
}

const fn at_most(limit: usize, number: usize) -> usize {
    if number < limit { number } else { limit }
}

/// The content for an empty database. Relations refer to positions in these lists. As text: how much there is of each.
#[derive(PartialEq, Debug)]
pub struct DemoData {
    pub people: Vec<Person>,
    pub groups: Vec<DemoGroup>,
    pub members: Vec<DemoEdge>,
    pub notes: Vec<DemoNote>,
    pub comments: Vec<DemoComment>,
    pub follows: Vec<DemoEdge>,
    pub note_likes: Vec<DemoEdge>,
    pub comment_likes: Vec<DemoEdge>,
    pub collects: Vec<DemoEdge>,
    pub messages: Vec<DemoEdge>,
    pub ledger: Vec<LedgerLine>,
    /// Views of each note.
    pub views: Vec<i64>,
}

impl DemoData {
    pub fn new(size: SeedSize, now: EpochMillis) -> Self {
        let (rng, writer) = (&mut StdRng::seed_from_u64(SEED), &mut Writer::new());
        let timeline = Timeline::ending(now);
        let people = people(rng, size.users, timeline);
        let groups = groups::groups(rng, &people, timeline);
        let members = groups::members(rng, &people, &groups, timeline);
        let mut notes = notes(rng, writer, &people, size.notes, timeline);
        groups::post(rng, &mut notes, &members, timeline);
        let comments = comments(rng, writer, &people, &notes, size.comments(), timeline);
        let follows = graph::follows(rng, &people, size.follows(), timeline);
        let note_likes = graph::note_likes(rng, &people, &notes, size.note_likes(), timeline);
        let comment_likes = graph::comment_likes(rng, &people, &comments, size.comment_likes(), timeline);
        let collects = graph::collects(rng, &note_likes, timeline);
        let messages = graph::messages(rng, &people, size.messages(), timeline);
        let ledger = coins::ledger(rng, &people, timeline);
        let views = graph::views(rng, &notes, &note_likes);
        Self {
            people,
            groups,
            members,
            notes,
            comments,
            follows,
            note_likes,
            comment_likes,
            collects,
            messages,
            ledger,
            views,
        }
    }
}

impl fmt::Display for DemoData {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} users, {} groups with {} members, {} notes, {} comments, {} follows, {} likes of notes and {} of \
             comments, {} collects, {} messages, {} grants of coins",
            self.people.len(),
            self.groups.len(),
            self.members.len(),
            self.notes.len(),
            self.comments.len(),
            self.follows.len(),
            self.note_likes.len(),
            self.comment_likes.len(),
            self.collects.len(),
            self.messages.len(),
            self.ledger.len()
        )
    }
}

#[cfg(test)]
mod tests {
    use std::{
        collections::{HashMap, HashSet},
        sync::LazyLock,
    };

    use super::*;

    const NOW: EpochMillis = 1_800_000_000_000;
    const SMALL: SeedSize = SeedSize { users: 50, notes: 100 };

    static FULL: LazyLock<DemoData> = LazyLock::new(|| DemoData::new(SeedSize::default(), NOW));

    fn per_target(edges: &[DemoEdge], targets: usize) -> Vec<usize> {
        let mut counts = vec![0; targets];
        edges.iter().for_each(|edge| counts[edge.target] += 1);
        counts
    }

    /// Edges in each hour of the last week, the latest hour first.
    fn per_hour(edges: &[DemoEdge]) -> Vec<usize> {
        let mut counts = vec![0; 7 * 24];
        for edge in edges {
            let age = (NOW - edge.since) / (60 * 60 * 1_000);
            if let Some(count) = counts.get_mut(age as usize) {
                *count += 1;
            }
        }
        counts
    }

    #[test]
    fn the_same_size_and_time_give_the_same_data() {
        assert_eq!(DemoData::new(SMALL, NOW), DemoData::new(SMALL, NOW));
        assert_ne!(DemoData::new(SMALL, NOW), DemoData::new(SMALL, NOW + 1_000));
    }

    #[test]
    fn the_data_has_the_requested_size() {
        assert_eq!((FULL.people.len(), FULL.notes.len()), (1_000, 5_000));
        assert!((60_000..=100_000).contains(&FULL.note_likes.len()), "{}", FULL.note_likes.len());
        assert!((15_000..=25_000).contains(&FULL.follows.len()), "{}", FULL.follows.len());
        assert_eq!(FULL.comments.len(), 10_000);
        assert!((1_500..=2_000).contains(&FULL.messages.len()), "{}", FULL.messages.len());
        let small = DemoData::new(SMALL, NOW);
        assert_eq!((small.people.len(), small.notes.len(), small.comments.len()), (50, 100, 200));
        assert!((400..=800).contains(&small.note_likes.len()), "{}", small.note_likes.len());
        assert!((250..=500).contains(&small.follows.len()), "{}", small.follows.len());
    }

    #[test]
    fn without_users_there_is_no_data() {
        let nobody = DemoData::new(SeedSize { users: 0, notes: 10 }, NOW);
        assert!(nobody.people.is_empty() && nobody.notes.is_empty() && nobody.comments.is_empty());
        assert!(nobody.groups.is_empty() && nobody.ledger.is_empty() && nobody.messages.is_empty());
        let alone = DemoData::new(SeedSize { users: 1, notes: 10 }, NOW);
        assert_eq!((alone.notes.len(), alone.follows.len()), (10, 0));
    }

    #[test]
    fn the_best_hundredth_of_the_notes_has_more_than_a_tenth_of_the_likes() {
        let mut likes = per_target(&FULL.note_likes, FULL.notes.len());
        likes.sort_unstable_by(|a, b| b.cmp(a));
        let (best, all): (usize, usize) = (likes[..50].iter().sum(), likes.iter().sum());
        assert!(best * 10 > all, "{best} of {all}");
        assert!(likes[0] < 800, "{} of 1,000 users like the same note", likes[0]);
    }

    #[test]
    fn some_users_and_notes_have_no_activity() {
        let likes = per_target(&FULL.note_likes, FULL.notes.len());
        let lonely = (0..FULL.notes.len())
            .filter(|note| likes[*note] == 0 && FULL.views[*note] == 0)
            .filter(|note| FULL.comments.iter().all(|comment| comment.note != *note));
        assert!(lonely.count() > 20);
        let silent = (0..FULL.people.len())
            .filter(|user| FULL.notes.iter().all(|note| note.author != *user))
            .filter(|user| FULL.follows.iter().all(|edge| edge.actor != *user && edge.target != *user))
            .filter(|user| FULL.note_likes.iter().all(|edge| edge.actor != *user));
        assert!(silent.count() > 20);
    }

    #[test]
    fn no_user_follows_themselves_or_more_than_the_limit() {
        assert!(FULL.follows.iter().all(|edge| edge.actor != edge.target));
        let actors =
            FULL.follows.iter().map(|edge| DemoEdge { target: edge.actor, ..*edge }).collect::<Vec<_>>();
        assert!(per_target(&actors, FULL.people.len()).iter().all(|most| *most <= graph::MOST_FOLLOWED));
    }

    #[test]
    fn no_edge_is_repeated() {
        for edges in [
            &FULL.follows,
            &FULL.members,
            &FULL.note_likes,
            &FULL.comment_likes,
            &FULL.collects,
            &FULL.messages,
        ] {
            let pairs: HashSet<_> = edges.iter().map(|edge| (edge.actor, edge.target)).collect();
            assert_eq!(pairs.len(), edges.len());
        }
    }

    #[test]
    fn no_event_is_before_its_cause_or_after_now() {
        for note in &FULL.notes {
            assert!(note.written_at > FULL.people[note.author].joined_at && note.written_at <= NOW);
        }
        for comment in &FULL.comments {
            assert!(comment.written_at >= FULL.notes[comment.note].written_at && comment.written_at <= NOW);
            assert!(comment.written_at >= FULL.people[comment.author].joined_at);
        }
        for like in &FULL.note_likes {
            assert!(like.since >= FULL.notes[like.target].written_at && like.since <= NOW);
        }
        for join in &FULL.members {
            let earliest = FULL.people[join.actor].joined_at.max(FULL.groups[join.target].founded_at);
            assert!(join.since >= earliest && join.since <= NOW);
        }
        assert!(FULL.ledger.iter().all(|grant| grant.at <= NOW));
        assert!(FULL.notes.is_sorted_by_key(|note| note.written_at));
        assert!(FULL.comments.is_sorted_by_key(|comment| comment.written_at));
    }

    #[test]
    fn every_collected_note_was_liked_before_by_the_same_user() {
        let likes: HashMap<_, _> =
            FULL.note_likes.iter().map(|like| ((like.actor, like.target), like.since)).collect();
        assert!(FULL.collects.iter().all(|edge| likes[&(edge.actor, edge.target)] <= edge.since));
        assert!((likes.len() / 10..likes.len() / 3).contains(&FULL.collects.len()));
    }

    #[test]
    fn every_hour_of_the_last_week_has_likes_and_recent_hours_have_more() {
        let likes = per_hour(&FULL.note_likes);
        assert!(likes.iter().all(|likes| *likes > 30) && likes[0] > 2 * likes[100], "{likes:?}");
        assert!(per_hour(&DemoData::new(SMALL, NOW).note_likes)[0] > 0);
    }

    #[test]
    fn replies_have_an_earlier_top_level_comment_of_their_note_as_parent() {
        let mut replies = 0;
        for (place, comment) in FULL.comments.iter().enumerate() {
            let Some(parent) = comment.parent else { continue };
            assert!(parent < place && FULL.comments[parent].parent.is_none());
            assert_eq!(FULL.comments[parent].note, comment.note);
            replies += 1;
        }
        assert!(replies > 3_000);
    }

    #[test]
    fn a_note_has_at_least_as_many_views_as_likes() {
        let likes = per_target(&FULL.note_likes, FULL.notes.len());
        assert!(FULL.views.iter().zip(&likes).all(|(views, likes)| *views >= *likes as i64));
    }

    #[test]
    fn a_page_of_the_feed_repeats_no_title() {
        for page in FULL.notes.chunks(20) {
            assert_eq!(page.iter().map(|note| &note.title).collect::<HashSet<_>>().len(), page.len());
        }
    }

    #[test]
    fn hardly_any_comment_text_is_repeated_on_a_note() {
        let texts: HashSet<_> = FULL.comments.iter().map(|comment| (comment.note, &comment.body)).collect();
        assert!(FULL.comments.len() - texts.len() < 20, "{}", FULL.comments.len() - texts.len());
    }
}
