//! How many interests two people share, without naming them (catalogue A67; S3 §III-C \[56\], on §46).
//!
//! ```text
//!   Ann's topics ─▶ filter under the group's key ─┐
//!                                                 ├─▶ ones in both ─▶ about how many topics in common
//!   Bob's topics ─▶ filter under the group's key ─┘
//! ```
//!
//! People of a group share a key; each sends a small keyed filter of their topics. The ones that two filters have in
//! common grow with the topics in common, and S1 §2.4 turns them into a number. Outside of the group, filters under
//! another key have ones in common by chance only.
//!
//! **What leaks:** whoever has the key can test a filter for any topic of a dictionary. That is everybody in the
//! group.

use everbloom::internals::hash::mix64;
use everbloom::internals::theory::bloom as theory;
use everbloom::{Bloom, Hasher, Result, SecretKey};

use crate::{
    Application, Axis, Bound, Chart, Experiment, Form, Lab, Oracle, Report, Rows, Series, bound,
};

/// Someone's topics under a group's key.
///
/// ```
/// use everbloom::SecretKey;
/// use everbloom_lab::applications::trust::interests::Interests;
///
/// let group = SecretKey::new([9; 16]);
/// let ann = Interests::new(["jazz", "chess", "rust", "alps"], &group)?;
/// let bob = Interests::new(["chess", "rust", "tea"], &group)?;
/// assert!((ann.in_common(&bob)?.unwrap_or(0.0) - 2.0).abs() < 1.0);
/// let outside = Interests::new(["chess"], &SecretKey::new([1; 16]))?;
/// assert!(ann.in_common(&outside).is_err(), "filters under different keys can't be compared");
/// # Ok::<(), everbloom::Error>(())
/// ```
pub struct Interests {
    filter: Bloom,
}

const BITS: u64 = 512;
const PROBES: u32 = 4;

impl Interests {
    /// The filter of topics: 64 bytes, for twenty or so.
    pub fn new<T: AsRef<str>>(
        topics: impl IntoIterator<Item = T>,
        group: &SecretKey,
    ) -> Result<Self> {
        let mut filter = Bloom::with_shape(BITS, PROBES, Hasher::keyed(group.clone()))?;
        for topic in topics {
            filter.insert(topic.as_ref());
        }
        Ok(Self { filter })
    }

    /// About how many topics two people share; none where a filter is too full to tell. An error if the keys differ.
    pub fn in_common(&self, other: &Self) -> Result<Option<f64>> {
        self.filter.intersection_size(&other.filter)
    }

    /// Ones that two filters have in common, under whatever keys.
    pub fn ones_in_common(&self, other: &Self) -> u64 {
        self.filter.bits().ones_in_both(other.filter.bits())
    }

    /// Whether a topic may be among them: what everybody with the key can ask.
    pub fn may_have(&self, topic: &str) -> bool {
        self.filter.contains(topic)
    }
}

/// The application.
pub static APPLICATION: Application = Application {
    entry: "A67",
    form: Form::Component,
    uses: &["bloom"],
    oracle: "the sets of topics",
    data: "pairs of people with 20 topics each, of which 0 to 20 are shared",
    experiment: Experiment {
        name: "interests",
        source: "S3 §III-C [56]",
        title: "How many interests two people share, without naming them",
        shows: "Ones in both filters are 10.7, 25.7, 41.2 and 74.1 for 0, 5, 10 and 20 topics in common, and the estimate is \
                right within a topic. Under another key they are those of chance.",
        run,
    },
};

const TOPICS: u64 = 20;

fn key(seed: u64) -> SecretKey {
    SecretKey::new((u128::from(mix64(seed)) << 64 | u128::from(mix64(!seed))).to_le_bytes())
}

/// Two people with `common` topics in common.
fn pair(seed: u64, common: u64, keys: [u64; 2]) -> Result<[Interests; 2]> {
    let topics =
        |first: u64| (first..first + TOPICS).map(move |i| format!("topic {}", mix64(seed ^ i)));
    Ok([
        Interests::new(topics(0), &key(keys[0]))?,
        Interests::new(topics(TOPICS - common), &key(keys[1]))?,
    ])
}

fn run(lab: &Lab) -> Result<Report> {
    let runs = lab.scaled(400);
    let expected =
        |common: f64| theory::inner_product(BITS as f64, PROBES.into(), 20.0, 20.0, common);
    let [x, y] = [Axis::linear("topics in common"), Axis::linear("ones in common")];
    let mut series = Series::new("S1 §2.4", (0..=20).map(f64::from), expected);
    let mut rows = Rows::new("estimates", "Estimated topics in common", Axis::linear("topics"));
    let (mut missed, mut dictionary) = (0, Vec::new());
    for (common, quoted) in [(0, 10.7), (5, 25.7), (10, 41.2), (20, 74.1)] {
        let seen = lab.runs(runs, |seed| {
            let [ann, bob] = pair(seed, common, [seed, seed])?;
            let estimate = ann.in_common(&bob)?.unwrap_or(f64::NAN);
            Ok((ann.ones_in_common(&bob) as f64, estimate))
        })?;
        let ones: Vec<f64> = seen.iter().map(|s| s.0).collect();
        let estimates: Vec<f64> = seen.iter().map(|s| s.1).collect();
        let (mean, _) = bound::mean_and_sd(&ones);
        // Chance ones are about Poisson; those of shared topics come four at a time, less what coincides.
        let sd = expected(0.0).sqrt() + 0.5;
        series.point(
            common as f64,
            quoted,
            mean,
            bound::mean(expected(common as f64), sd, runs).widened(quoted, 0.003),
        );
        let (mean, sd) = bound::mean_and_sd(&estimates);
        rows.row(
            format!("{common} in common"),
            common as f64,
            mean,
            bound::mean(common as f64, 1.2, runs).widened(1.0, 0.15),
        );
        rows.row(format!("{common} in common: spread"), 0.9, sd, Bound::at_most(1.5));
    }
    let seen = lab.runs(runs, |seed| {
        let [ann, bob] = pair(seed, TOPICS, [seed, !seed])?;
        Ok(ann.ones_in_common(&bob) as f64)
    })?;
    let (mean, _) = bound::mean_and_sd(&seen);
    let mut keys =
        Rows::new("keys", "The same 20 topics under two keys", Axis::linear("ones in common"));
    keys.row("chance level", 10.7, mean, bound::mean(expected(0.0), expected(0.0).sqrt(), runs));
    // What the group can do: test a dictionary.
    let tests = 500;
    for seed in 0..lab.scaled(20) {
        let [ann, _] = pair(seed, 0, [seed, seed])?;
        missed +=
            (0..TOPICS).filter(|i| !ann.may_have(&format!("topic {}", mix64(seed ^ i)))).count();
        let wrong = (0..tests).filter(|i| ann.may_have(&format!("other {i}"))).count();
        dictionary.push(wrong as f64 / tests as f64);
    }
    let (rate, _) = bound::mean_and_sd(&dictionary);
    let f = theory::fpr_exact(BITS, TOPICS, PROBES);
    let trials = tests * dictionary.len() as u64;
    keys.row(
        "dictionary test by a group member: wrong topics",
        f,
        rate,
        bound::share(f, trials).widened(f, 0.3),
    );
    let mut oracle = Oracle::default();
    oracle.none("topics that a dictionary test misses", missed as u64);
    let title = "Ones in common of two filters of 20 topics, m = 512, k = 4";
    let chart = Chart::new("common", title, [x, y], [series]);
    Ok(oracle.report().chart(chart).rows(rows).rows(keys).note(
        "Everybody who has the group's key can test a filter for every topic of a dictionary.",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a67_ones_in_common() {
        for (common, quoted) in [(0.0, 10.7), (5.0, 25.7), (10.0, 41.2), (20.0, 74.1)] {
            let ones = theory::inner_product(512.0, 4.0, 20.0, 20.0, common);
            assert!((ones - quoted).abs() < 0.06, "{common}: {ones}");
        }
    }
}
