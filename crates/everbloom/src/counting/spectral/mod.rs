//! The spectral Bloom filter (Cohen, Matias 2003; catalogue C3; S0 §III-F, S3 §VI-A, S4).
//!
//! How often was a key inserted? Every key has k counters, and as other keys only add to them, the least of
//! them is the best guess and never too low. It is too high where others share all k, as often as a
//! standard filter errs: (1 − e^{−nk/m})^k for n distinct keys, whatever their frequencies. Three ways to
//! keep the counters:
//!
//! ```text
//!   x, whose counters are     minimum selection     minimum increase     recurring minimum
//!            3 5 3            4 6 4                  4 5 4                4 6 4   two counters agree: trust 4
//!            3 5 4            4 6 5                  4 5 4                4 6 5   only one: x moves to a second,
//!                             all +1                 only the least       emptier filter, and is marked as moved
//! ```
//!
//! *Minimum selection* counts like `counting`, and removes and merges like it. *Minimum increase* adds no
//! more than it must, which leaves a half to three quarters of the errors, but a counter then no longer
//! holds the sum of its keys, and nothing can be taken away again. (S3's example of a removal that makes
//! another key too low, from 3 to 1, happens under minimum increase only.) *Recurring minimum* keeps keys
//! whose least counter stands alone, the likely errors, in a second filter of half the size: about as
//! accurate, and keys can be removed. A filter of markers remembers which keys moved; if the second filter were
//! queried for keys that are not in it, thousands of counts would be too low.
//!
//! Counters take as many bits as their values need, in Elias' δ or γ code ([`Elias`]), so that none
//! overflows and a frequent key takes no space from others. A short index finds the rows of codes, and a few
//! words to spare let them grow.
//!
//! **Slow:** counters have codes of different lengths, so that each of a key's k counters is reached through the
//! codes before it in its row, and a change moves what is behind it.
//!
//! **Use it** for frequencies in streams and joins, and for "which keys occurred at least T times?". **Don't** if
//! every lookup must be fast: finding a counter means reading up to 63 codes before it. `dynamic-count` is faster
//! if all keys are about equally frequent.

mod moved;
mod shape;

pub use shape::{Shape, mean_code_bits};

use moved::Moved;

use crate::cells::Elias;
use crate::error::agree;
use crate::parts::owns;
use crate::parts::tally::{Cells, Tallies, Tally};
use crate::plan::MAX_CELLS;
use crate::probe::Probe;
use crate::variant::prelude::*;

/// A multiset in m counters of as many bits as they need.
///
/// ```
/// let mut words = everbloom::counting::Spectral::with_rate(1000, 0.01)?;
/// words.insert_times("the", 69_971);
/// words.insert("bloom");
/// assert_eq!(words.count("the"), 69_971);
/// assert!(words.at_least("the", 50_000) && !words.at_least("bloom", 50_000));
/// # Ok::<(), everbloom::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Spectral {
    head: Head,
    tallies: Tallies<Elias>,
    /// Only of the form with recurring minima.
    moved: Option<Moved>,
}

state!(Spectral { head, ..tallies; moved });

impl Cells for Elias {
    const NAME: &'static str = "counters";

    fn facts(&self) -> Vec<Fact> {
        vec![text("code", self.code().name()), fact("code bits", self.bits())]
    }

    fn len(&self) -> u64 {
        Elias::len(self)
    }

    fn get(&self, i: u64) -> u64 {
        Elias::get(self, i)
    }

    fn iter(&self) -> impl Iterator<Item = u64> {
        Elias::iter(self)
    }
}

impl Tally for Elias {
    fn raise(&mut self, i: u64, by: u64) -> bool {
        self.change(i, |count| count.saturating_add(by)) == 0
    }

    fn lower(&mut self, i: u64, by: u64) {
        self.change(i, |count| count.saturating_sub(by));
    }

    fn agree(&self, other: &Self) -> Result<()> {
        agree("code", self.code().name(), other.code().name())
    }
}

impl Spectral {
    /// An empty filter of a goal, which may name form, code and sizes.
    pub fn planned(goal: &Goal) -> Result<Self> {
        empty(goal)
    }

    /// Inserts a key, again if already present.
    pub fn insert<K: Key + ?Sized>(&mut self, key: &K) -> Seen {
        self.insert_times(key, 1)
    }

    /// Inserts a key `times` times at once.
    pub fn insert_times<K: Key + ?Sized>(&mut self, key: &K, times: u64) -> Seen {
        let digest = self.head.digest(key);
        self.head.count(times);
        if self.head.form == MINIMUM_INCREASE {
            return Seen::new_if(self.tallies.lift(digest, times));
        }
        let new = self.tallies.insert_times(digest, times);
        if let Some(moved) = &mut self.moved {
            moved.insert(&self.tallies, digest, times);
        }
        Seen::new_if(new)
    }

    /// Removes a key that was inserted. Refused, with nothing changed, unless every counter holds at
    /// least as much as the key would take, and always under minimum increase.
    pub fn remove<K: Key + ?Sized>(&mut self, key: &K) -> Result<()> {
        if self.head.form == MINIMUM_INCREASE {
            return Err(Error::unsupported(
                "minimum increase cannot remove: use form minimum-selection or recurring-minimum",
            ));
        }
        let digest = self.head.digest(key);
        self.tallies.remove(digest)?;
        if let Some(moved) = &mut self.moved {
            moved.remove(digest);
        }
        self.head.count_off();
        Ok(())
    }

    /// Whether the key may be a member.
    ///
    /// The first filter alone decides: the second, queried for a key whose marker is another's, could
    /// deny a member.
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        self.tallies.contains(self.head.digest(key))
    }

    /// How often the key was inserted. Never too low, but for a key that was taken for a moved one under
    /// recurring minima; a key that passes counts at least one.
    pub fn count<K: Key + ?Sized>(&self, key: &K) -> u64 {
        self.counted(self.head.digest(key)).whole()
    }

    fn counted(&self, digest: Digest) -> Counted {
        if self.head.form == MINIMUM_INCREASE {
            return self.tallies.least_count(digest);
        }
        let first = self.tallies.count(digest);
        let moved = self.moved.as_ref().filter(|_| first.whole() > 0);
        match moved.and_then(|moved| moved.count(digest)) {
            Some(count) if count < first.whole() => Counted::about(count.max(1)),
            _ => first,
        }
    }

    /// Whether the key may have been inserted at least `threshold` times.
    pub fn at_least<K: Key + ?Sized>(&self, key: &K, threshold: u64) -> bool {
        self.count(key) >= threshold
    }

    /// The counters of the first filter.
    pub fn counters(&self) -> &Elias {
        &self.tallies.cells
    }

    /// Whether the key is marked as moved to the second filter.
    pub fn is_moved<K: Key + ?Sized>(&self, key: &K) -> bool {
        self.moved.as_ref().is_some_and(|moved| moved.has(self.head.digest(key)))
    }

    fn check(&self) -> Result<()> {
        if self.moved.is_some() != (self.head.form == RECURRING_MINIMUM) {
            return Err(Error::corrupt(0, "corrupt filter: a second filter and another form"));
        }
        self.tallies.check_flat()
    }
}

impl Plan for Spectral {
    type Shape = Shape;

    fn plan(request: &Request<'_>) -> Result<Shape> {
        let bits = |m: f64, n: u64, k: u32| {
            if m > MAX_CELLS as f64 {
                return f64::INFINITY;
            }
            let flat = Flat { m: (m.ceil() as u64).max(1), k };
            Shape::of(request, flat).bits(&Load::items(n))
        };
        Ok(Shape::of(request, Flat::plan_sized(request, bits)?))
    }

    fn expect(shape: &Shape, load: &Load) -> Option<Expect> {
        Some(shape.flat.expect(load, shape.bits(load).ceil() as u64))
    }
}

impl Stream for Spectral {
    fn empty(shape: &Shape, head: Head) -> Result<Self> {
        let Shape { flat: Flat { m, k }, code, second } = *shape;
        let moved = second.map(|second| Moved::new(second, k, code)).transpose()?;
        let cells = Elias::try_new(m, code)?;
        Ok(Self { head, tallies: Tallies { probe: Probe::over(m, k), cells }, moved })
    }
}

face!(Spectral: Insert, Remove, Count, Merge);
planned!(Spectral);

impl Filter for Spectral {
    fn part(&self) -> Option<&dyn Part> {
        Some(&self.tallies)
    }

    /// A count beside the key is a threshold: was it inserted at least so often?
    fn query(&self, record: Record<'_>) -> Result<Answer> {
        let count = self.counted(self.head.digest(record.key));
        let least = match record.value {
            Some(Value::Count(threshold)) => threshold,
            _ => 1,
        };
        Ok(Answer::of(count.whole() >= least).with(Detail::Count(count)))
    }

    fn describe(&self) -> Vec<Fact> {
        let mut facts = self.tallies.describe();
        if let Some(moved) = &self.moved {
            facts.push(fact("second", moved.tallies.m()));
            facts.push(fact("marker", moved.marker.len()));
        }
        facts
    }
}

keyed!(Spectral: Insert, Remove);
owns!(Spectral { tallies: Tallies<Elias> });

impl Count for Spectral {
    fn count(&self, key: &[u8]) -> Counted {
        self.counted(self.head.digest(key))
    }
}

const MINIMUM_SELECTION: &str = "minimum-selection";
const MINIMUM_INCREASE: &str = "minimum-increase";
const RECURRING_MINIMUM: &str = "recurring-minimum";

/// The list entry.
pub static VARIANT: Variant = Variant::of::<Spectral>(Facts {
    id: 52,
    slug: "spectral",
    entry: "C3",
    question: "How often was it added, without a limit to the counts?",
    name: "Spectral Bloom filter",
    paper: "S. Cohen, Y. Matias, Spectral Bloom filters, SIGMOD 2003",
    family: "counting",
    needs: &["membership", "delete", "count", "merge", "compact"],
    meaning: "items are distinct keys to plan for, and insertions minus removals when counted; the rate is that of \
              false positives and, with minimum selection, of members counted too high",
    forms: &[
        Form { name: MINIMUM_SELECTION, ..Form::COUNTING },
        Form::exact(MINIMUM_INCREASE, &[Ability::Insert, Ability::Count]),
        Form::removing(RECURRING_MINIMUM, &[Ability::Insert, Ability::Remove, Ability::Count]),
    ],
    params: &[
        PARAM_M,
        PARAM_K,
        Param::first_of(
            "code",
            &["delta", "gamma"],
            "Elias code of the counters: gamma is shorter below 16, delta above",
        ),
        Param::integer(
            "second",
            1,
            MAX_CELLS,
            "counters of the second filter, with recurring minima; by default m/2",
        ),
        Param::integer(
            "marker",
            1,
            MAX_CELLS,
            "bits that mark moved keys, with recurring minima; by default m",
        ),
    ],
    ..Facts::FILTER
});

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cells::{Bits, Code};
    use crate::{Opener, to_bytes};

    fn recurring() -> Spectral {
        let goal = Goal::default().set("form", RECURRING_MINIMUM).set("m", 1000).set("k", 5);
        Spectral::planned(&goal.set("second", 1000).set("marker", 1000)).unwrap()
    }

    /// Counts beyond all limits are held at the limit, in the filter and in its file.
    #[test]
    fn endless_repetition_ends_at_the_limit() {
        let mut filter = Spectral::with_rate(10, 0.01).unwrap();
        filter.insert_times("key", u64::MAX);
        filter.insert_times("key", u64::MAX);
        assert_eq!(filter.head.items, crate::state::MAX_ITEMS);
        assert!(Opener::new().decode_as::<Spectral>(&to_bytes(&filter)).unwrap().contains("key"));
    }

    #[test]
    fn second_filter_and_markers_have_hashes_of_their_own() {
        let mut shared = 0;
        for key in 0..100u64 {
            let mut filter = recurring();
            let digest = filter.head.digest(&key);
            filter.moved.as_mut().unwrap().mark(digest);
            filter.insert(&key);
            let moved = filter.moved.as_ref().unwrap();
            let first = |i: &u64| filter.counters().get(*i) > 0;
            let second = |i: &u64| moved.tallies.cells.get(*i) > 0;
            let marker = |i: &u64| moved.marker.get(*i);
            assert!((0..1000).filter(second).count() >= 4 && (0..1000).filter(marker).count() >= 4);
            let both =
                |i: &u64| first(i) && second(i) || second(i) && marker(i) || first(i) && marker(i);
            shared += (0..1000).filter(both).count();
        }
        // 25 pairs of each kind meet with a chance of 1/1000: 7.5 of a hundred keys, against 500 or more.
        assert!(shared < 25, "{shared}");
    }

    #[test]
    fn files_of_another_form_or_with_cells_missing_are_refused() {
        let mut filter = recurring();
        (0..50u64).for_each(|key| {
            filter.insert_times(&key, key);
        });
        let back: Spectral = Opener::new().decode_as(&to_bytes(&filter)).unwrap();
        assert_eq!(back, filter);
        let mut plain = filter.clone();
        plain.moved = None;
        let mut short = filter.clone();
        short.tallies.cells = Elias::try_new(999, Code::Delta).unwrap();
        let mut unmarked = filter.clone();
        unmarked.moved.as_mut().unwrap().marker = Bits::new(999);
        for alien in [plain, short, unmarked] {
            assert!(Opener::new().decode(&to_bytes(&alien)).is_err());
        }
    }
}
