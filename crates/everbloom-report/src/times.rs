//! Times of a filter, measured in interleaved rounds.

/// Nanoseconds per key, one entry a round.
#[derive(Clone, Debug, Default)]
pub struct Times {
    /// To insert a key.
    pub build: Vec<f64>,
    /// To find a member.
    pub hit: Vec<f64>,
    /// To deny a non-member.
    pub miss: Vec<f64>,
}

impl Times {
    /// The medians of what was measured: build, hit, miss.
    pub fn medians(&self) -> [Option<f64>; 3] {
        [&self.build, &self.hit, &self.miss].map(|times| median(times))
    }

    /// The medians as cells of a table.
    pub fn cells(&self) -> [String; 3] {
        self.medians().map(|time| time.map_or("–".to_owned(), |ns| format!("{ns:.1} ns")))
    }
}

/// The median, the upper one of two; none of no values.
fn median(values: &[f64]) -> Option<f64> {
    let mut values = values.to_vec();
    values.sort_unstable_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    pub fn medians_are_not_moved_by_one_slow_round() {
        assert_eq!(median(&[3.0, 900.0, 1.0, 2.0, 2.5]), Some(2.5));
        let times = Times { build: vec![5.0], hit: vec![1.0, 2.04], miss: vec![] };
        assert_eq!(times.cells(), ["5.0 ns", "2.0 ns", "–"]);
    }
}
