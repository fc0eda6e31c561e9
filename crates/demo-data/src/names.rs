//! Names of users, from many places.

use rand::{Rng, RngExt};

use super::library::{REGIONS, Region};

/// The user of the documentation's examples.
const FIRST: (&str, &str) = ("Mira", "Okafor");

/// Position of name pairs from two regions: at 0 they are mixed with the others, at 1 they follow all pairs
/// from one region.
const DISTANCE: f64 = 0.7;

/// The name of a user.
pub struct Name {
    /// The subject in tokens: `mira.okafor`.
    pub subject: String,
    /// The displayed name.
    pub full: String,
}

impl Name {
    /// From the second round on, the subject has a number, because every combination was used.
    fn new((first, last): (&str, &str), round: usize) -> Self {
        let number = if round == 0 { String::new() } else { (round + 1).to_string() };
        Self { subject: format!("{}.{}{number}", ascii(first), ascii(last)), full: format!("{first} {last}") }
    }
}

/// Different names; the first one is always the same.
pub fn names(rng: &mut impl Rng, count: usize) -> Vec<Name> {
    let pairs = shuffled_pairs(rng);
    let others = (0..count).map(|place| Name::new(pairs[place % pairs.len()], place / pairs.len()));
    std::iter::once(Name::new(FIRST, 0)).chain(others).take(count).collect()
}

/// All pairs of first and last names; pairs of one region are mostly first.
fn shuffled_pairs(rng: &mut impl Rng) -> Vec<(&'static str, &'static str)> {
    let (first_names, last_names) = (with_home(|region| &region.first), with_home(|region| &region.last));
    let mut pairs = Vec::with_capacity(first_names.len() * last_names.len());
    for (home, first) in &first_names {
        for (other, last) in &last_names {
            let distance = if home == other { 0.0 } else { DISTANCE };
            pairs.push((distance + rng.random::<f64>(), (*first, *last)));
        }
    }
    pairs.sort_by(|a, b| a.0.total_cmp(&b.0));
    pairs.into_iter().map(|(_, pair)| pair).collect()
}

/// Names with the number of their region.
fn with_home(names: impl Fn(&'static Region) -> &'static [String]) -> Vec<(usize, &'static str)> {
    let numbered = REGIONS.iter().enumerate();
    numbered.flat_map(|(home, region)| names(region).iter().map(move |name| (home, name.as_str()))).collect()
}

/// Lowercase, without accents, apostrophes and spaces.
fn ascii(name: &str) -> String {
    let plain = |letter| match letter {
        'á' | 'à' | 'ã' | 'ä' | 'å' | 'ā' | 'ą' => Some('a'),
        'ç' | 'č' | 'ć' => Some('c'),
        'é' | 'è' | 'ê' | 'ë' | 'ė' | 'ē' => Some('e'),
        'ğ' => Some('g'),
        'í' | 'ı' | 'ï' => Some('i'),
        'ł' => Some('l'),
        'ñ' | 'ń' => Some('n'),
        'ó' | 'ô' | 'ö' | 'ø' | 'õ' | 'ō' => Some('o'),
        'ş' | 'š' | 'ś' => Some('s'),
        'ú' | 'ü' | 'ū' => Some('u'),
        'ý' => Some('y'),
        'ž' | 'ż' | 'ź' => Some('z'),
        letter => letter.is_ascii_alphanumeric().then_some(letter),
    };
    name.to_lowercase().chars().filter_map(plain).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use rand::{SeedableRng, rngs::StdRng};

    use super::*;

    #[test]
    fn subjects_are_unique_and_plain() {
        let names = names(&mut StdRng::seed_from_u64(1), 40_000);
        let subjects: HashSet<_> = names.iter().map(|name| &name.subject).collect();
        assert_eq!(subjects.len(), 40_000);
        for subject in subjects {
            let plain =
                |letter: char| letter == '.' || letter.is_ascii_lowercase() || letter.is_ascii_digit();
            assert!(subject.chars().all(plain) && !subject.starts_with('.'), "{subject}");
        }
    }

    #[test]
    fn no_letter_of_a_name_is_lost_in_the_subject() {
        for name in REGIONS.iter().flat_map(|region| region.first.iter().chain(&region.last)) {
            let letters = name.chars().filter(|letter| letter.is_alphabetic()).count();
            assert_eq!(ascii(name).len(), letters, "{name}");
        }
    }
}
