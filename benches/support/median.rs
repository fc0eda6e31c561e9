//! Medians: on a busy machine single rounds take several times as long, which a mean would show.

/// The middle one; of an even number the upper of the two. There must be one at least.
pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values[values.len() / 2]
}
