//! Users: when they joined, how active and how popular they are.

use rand::{Rng, RngExt};

use super::{
    chances::zipf,
    library::TOPICS,
    names::names,
    timeline::{EpochMillis, Timeline},
};

/// The share of users who never act.
const QUIET: f64 = 0.05;

const FAME_SKEW: f64 = 0.9;
const ACTIVITY_SKEW: f64 = 0.5;
/// Exponent of the times of joining: more users join early.
const EARLY: f64 = 2.0;

/// A user.
#[derive(Clone, PartialEq, Debug)]
pub struct Person {
    pub subject: String,
    pub name: String,
    pub joined_at: EpochMillis,
    /// Weight of actions of others on this user; 0 for users who never act.
    pub fame: f64,
    /// Weight of the user's own actions; 0 for users who never act.
    pub activity: f64,
    /// Topics of the user's notes, the preferred one first.
    pub interests: [usize; 2],
}

/// Users in order of joining.
pub fn people(rng: &mut impl Rng, count: usize, timeline: Timeline) -> Vec<Person> {
    let joined = timeline.rising(rng, count, EARLY);
    let mut fame = zipf(rng, count, FAME_SKEW);
    let mut activity = zipf(rng, count, ACTIVITY_SKEW);
    favour_first(&mut fame);
    favour_first(&mut activity);
    let mut people = Vec::with_capacity(count);
    for (place, name) in names(rng, count).into_iter().enumerate() {
        let is_first = place == 0;
        let voice = if !is_first && rng.random_bool(QUIET) { 0.0 } else { 1.0 };
        people.push(Person {
            subject: name.subject,
            name: name.full,
            joined_at: if is_first { timeline.start() } else { joined[place] },
            fame: voice * fame[place],
            activity: voice * activity[place],
            interests: [rng.random_range(0..TOPICS.len()), rng.random_range(0..TOPICS.len())],
        });
    }
    people
}

/// Gives the first user, whom most visitors act as, the third highest weight.
fn favour_first(weights: &mut [f64]) {
    let mut order: Vec<usize> = (0..weights.len()).collect();
    order.sort_by(|a, b| weights[*b].total_cmp(&weights[*a]));
    if let Some(third) = order.get(2) {
        weights.swap(0, *third);
    }
}

#[cfg(test)]
mod tests {
    use rand::{SeedableRng, rngs::StdRng};

    use super::*;

    const HISTORY: Timeline = Timeline::ending(1_800_000_000_000);

    fn crowd() -> Vec<Person> {
        people(&mut StdRng::seed_from_u64(1), 1_000, HISTORY)
    }

    #[test]
    fn the_first_user_is_known_by_name_and_popular() {
        let crowd = crowd();
        assert_eq!((crowd[0].subject.as_str(), crowd[0].name.as_str()), ("mira.okafor", "Mira Okafor"));
        assert!(crowd.iter().filter(|person| person.fame > crowd[0].fame).count() <= 2);
    }

    #[test]
    fn users_are_in_order_of_joining() {
        let crowd = crowd();
        assert_eq!(crowd[0].joined_at, HISTORY.start());
        assert!(crowd.is_sorted_by_key(|person| person.joined_at));
    }

    #[test]
    fn some_users_never_act() {
        let quiet = crowd().iter().filter(|person| person.activity == 0.0 && person.fame == 0.0).count();
        assert!((20..100).contains(&quiet), "{quiet}");
    }
}
