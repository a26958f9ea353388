//! The spectral Bloom filter (Cohen, Matias 2003; catalogue C3; S0 §III-F, S3 §VI-A, S4).
//!
//! How often did a key come? Every key has k counters, and as other keys only add to them, the least of
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
//! accurate, and keys can be removed. A filter of markers remembers who moved; asking the second filter
//! about keys that are not there would make their counts too low by the thousand.
//!
//! Counters take as many bits as their values need, in Elias' δ or γ code ([`Elias`]), so that none
//! overflows and a hot key costs nobody else anything. A short index finds the rows of codes, and a few
//! words to spare let them grow.
//!
//! **Use it** for frequencies in streams and joins, and for "who came at least T times?". **Don't** where
//! every lookup counts: counters are found by reading up to 63 codes before them. `dynamic-count` is
//! faster where all keys come about equally often.

use std::cmp::Ordering;

use crate::cells::{Bits, Code, Elias};
use crate::parts::tally::{self, Tally};
use crate::plan::MAX_CELLS;
use crate::probe::{Coincide, Probe};
use crate::theory::{counting::cell_pmf, mean_over, tail};
use crate::variant::prelude::*;

/// A multiset in m counters of as many bits as they need.
#[derive(Clone, Debug, PartialEq)]
pub struct Spectral {
    head: Head,
    probe: Probe,
    counters: Elias,
    /// Only of the form with recurring minima.
    moved: Option<Moved>,
}

state!(Spectral { head, probe, counters, moved });

/// The second filter, and who is in it.
#[derive(Clone, Debug, PartialEq)]
struct Moved {
    probe: Probe,
    counters: Elias,
    marker_probe: Probe,
    marker: Bits,
}

state!(Moved { probe, counters, marker_probe, marker });

/// Salts of the second filter and of the markers, whose hashes are their own.
const SECOND: u64 = 0x3C;
const MARKER: u64 = 0x3D;

impl Moved {
    fn check(&self) -> Result<()> {
        self.probe.check_flat(self.counters.len())?;
        self.marker_probe.check_flat(self.marker.len())
    }

    fn has(&self, digest: Digest) -> bool {
        self.marker_probe.all(digest.salted(MARKER), |i| self.marker.get(i))
    }

    fn mark(&mut self, digest: Digest) {
        let marker = &mut self.marker;
        self.marker_probe.each(digest.salted(MARKER), |i| {
            marker.set(i);
        });
    }

    fn insert(&mut self, digest: Digest, times: u64) {
        tally::insert(&mut self.counters, &self.probe, digest.salted(SECOND), times);
    }

    fn count(&self, digest: Digest) -> u64 {
        tally::count(&self.counters, &self.probe, digest.salted(SECOND))
    }
}

impl Tally for Elias {
    fn get(&self, i: u64) -> u64 {
        Elias::get(self, i)
    }

    fn raise(&mut self, i: u64, by: u64) -> bool {
        self.change(i, |count| count.saturating_add(by)) == 0
    }

    fn lower(&mut self, i: u64, by: u64) {
        self.change(i, |count| count.saturating_sub(by));
    }
}

impl Spectral {
    /// A filter for `items` distinct keys of which `fpr` are counted too high, by minimum selection.
    ///
    /// ```
    /// let mut words = everbloom::counting::Spectral::with_rate(1000, 0.01)?;
    /// words.insert_times("the", 69_971);
    /// words.insert("bloom");
    /// assert_eq!(words.count("the"), 69_971);
    /// assert!(words.at_least("the", 50_000) && !words.at_least("bloom", 50_000));
    /// # Ok::<(), everbloom::error::Error>(())
    /// ```
    pub fn with_rate(items: u64, fpr: f64) -> Result<Self> {
        Self::planned(&Goal::new(items, fpr))
    }

    /// An empty filter of a goal, which may name form, code and sizes.
    pub fn planned(goal: &Goal) -> Result<Self> {
        crate::variant::empty(goal)
    }

    fn digest<K: Key + ?Sized>(&self, key: &K) -> Digest {
        self.head.hasher.digest(key)
    }

    /// Inserts a key, once more if it is there.
    pub fn insert<K: Key + ?Sized>(&mut self, key: &K) -> Seen {
        self.insert_times(key, 1)
    }

    /// Inserts a key `times` times at once.
    pub fn insert_times<K: Key + ?Sized>(&mut self, key: &K, times: u64) -> Seen {
        let digest = self.digest(key);
        self.head.count(times);
        if self.head.form == MINIMUM_INCREASE {
            return tally::lift(&mut self.counters, &self.probe, digest, times);
        }
        let seen = tally::insert(&mut self.counters, &self.probe, digest, times);
        if let Some(moved) = &mut self.moved {
            if moved.has(digest) {
                moved.insert(digest, times);
            } else if let Some(least) = single_minimum(&self.counters, &self.probe, digest) {
                moved.insert(digest, least);
                moved.mark(digest);
            }
        }
        seen
    }

    /// Removes a key that was inserted. Refused, with nothing changed, unless every counter holds at
    /// least as much as the key would take, and always under minimum increase.
    pub fn remove<K: Key + ?Sized>(&mut self, key: &K) -> Result<()> {
        if self.head.form == MINIMUM_INCREASE {
            return Err(Error::new(
                crate::error::Kind::Unsupported,
                "minimum increase cannot remove: build with --set form=minimum-selection or \
                 recurring-minimum",
            ));
        }
        let digest = self.digest(key);
        tally::remove(&mut self.counters, &self.probe, digest)?;
        if let Some(moved) = self.moved.as_mut().filter(|moved| moved.has(digest)) {
            // Refused where a counter is zero: the marker was another's.
            let _ = tally::remove(&mut moved.counters, &moved.probe, digest.salted(SECOND));
        }
        self.head.items = self.head.items.saturating_sub(1);
        Ok(())
    }

    /// Whether the key may be a member.
    ///
    /// The first filter alone decides: the second, asked about a key whose marker is another's, could
    /// deny a member.
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        tally::contains(&self.counters, &self.probe, self.digest(key))
    }

    /// How often the key was inserted. Never too low, but for a key that was taken for a moved one under
    /// recurring minima; a key that passes counts at least one.
    pub fn count<K: Key + ?Sized>(&self, key: &K) -> u64 {
        let digest = self.digest(key);
        if self.head.form == MINIMUM_INCREASE {
            let cells = self.probe.collect(digest, Coincide::Distinct);
            return cells.iter().map(|&i| self.counters.get(i)).min().unwrap_or(0);
        }
        let count = tally::count(&self.counters, &self.probe, digest);
        match &self.moved {
            Some(moved) if count > 0 && moved.has(digest) => count.min(moved.count(digest)).max(1),
            _ => count,
        }
    }

    /// Whether the key may have come at least `threshold` times.
    pub fn at_least<K: Key + ?Sized>(&self, key: &K, threshold: u64) -> bool {
        self.count(key) >= threshold
    }

    /// The counters of the first filter.
    pub fn counters(&self) -> &Elias {
        &self.counters
    }

    /// Whether the key is marked as moved to the second filter.
    pub fn is_moved<K: Key + ?Sized>(&self, key: &K) -> bool {
        self.moved.as_ref().is_some_and(|moved| moved.has(self.digest(key)))
    }

    fn check(&self) -> Result<()> {
        if self.moved.is_some() != (self.head.form == RECURRING_MINIMUM) {
            return Err(Error::corrupt(0, "corrupt filter: a second filter and another form"));
        }
        self.probe.check_flat(self.counters.len())
    }

    fn used(&self) -> f64 {
        self.counters.nonzero() as f64 / self.counters.len() as f64
    }
}

/// The least of the key's counters, if only one of several distinct cells holds it.
fn single_minimum(counters: &Elias, probe: &Probe, digest: Digest) -> Option<u64> {
    let hits = tally::hits(probe, digest);
    let (mut least, mut holders) = (u64::MAX, 0);
    for (cell, hashes) in &hits {
        let count = counters.get(*cell) / hashes;
        match count.cmp(&least) {
            Ordering::Less => (least, holders) = (count, 1),
            Ordering::Equal => holders += 1,
            Ordering::Greater => {}
        }
    }
    (holders == 1 && hits.len() > 1).then_some(least)
}

/// Mean and variance of the bits of a counter's code, where counters are c·repeats with a chance of
/// `pmf(c)` and c is `load` on average.
fn code_bits(code: Code, load: f64, repeats: f64, pmf: impl Fn(u64) -> f64) -> (f64, f64) {
    let bits = |c: f64| code.bits((c * repeats) as u64 + 1) as f64;
    if load > 1000.0 {
        // Relative to such a mean counters hardly differ, and their logarithms less.
        return (bits(load), 0.0);
    }
    let (mut mean, mut square) = (0.0, 0.0);
    for c in 0..(load + 12.0 * load.sqrt()) as u64 + 20 {
        let (p, bits) = (pmf(c), bits(c as f64));
        mean += p * bits;
        square += p * bits * bits;
    }
    (mean, (square - mean * mean).max(0.0))
}

/// Mean bits of a code of counters + 1 in a large filter of load λ = nk/m: at ln 2, γ 2.0666 and δ 2.5333
/// (catalogue C3).
pub fn mean_code_bits(code: Code, load: f64) -> f64 {
    code_bits(code, load, 1.0, |c| tail::poisson_pmf(load, c)).0
}

/// The share of n distinct keys that move, where each comes once: those whose least counter stood alone
/// at the time, Σ_v k·P(c = v)·P(c > v)^{k−1}, on average over the loads so far.
fn share_moved(m: u64, n: u64, k: u32) -> f64 {
    const SAMPLES: u64 = 32;
    let (k, last) = (f64::from(k), f64::from(k) * n as f64 / m as f64);
    if k < 2.0 {
        return 0.0;
    }
    mean_over(SAMPLES, |i| {
        let load = last * (i + 0.5) / SAMPLES as f64;
        let alone = |v: u64| {
            let above = tail::poisson_tail(load, v + 1);
            k * tail::poisson_pmf(load, v) * libm::pow(above, k - 1.0)
        };
        (0..(2.0 * load.min(1000.0)) as u64 + 16).map(alone).sum::<f64>()
    })
}

/// Number of counters and probes, the code, and the sizes behind recurring minima.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    flat: Flat,
    code: Code,
    second: Option<Second>,
}

/// Counters of the second filter, and bits of the markers.
#[derive(Clone, Copy, Debug)]
struct Second {
    m: u64,
    marker: u64,
}

impl Shape {
    /// What is asked for, with m counters.
    fn of(request: &Request<'_>, flat: Flat) -> Self {
        let code = match request.choice("code") {
            Some(name) if name == Code::Gamma.name() => Code::Gamma,
            _ => Code::Delta,
        };
        let second = (request.form() == RECURRING_MINIMUM).then(|| Second {
            m: request.integer("second").unwrap_or(flat.m / 2).max(1),
            marker: request.integer("marker").unwrap_or(flat.m),
        });
        Self { flat, code, second }
    }

    /// Bits that the codes and markers hardly ever exceed: six standard deviations above their mean.
    /// Minimum increase has smaller counters, and no longer ones.
    fn bits(&self, load: &Load) -> f64 {
        let Flat { m, k } = self.flat;
        let (n, repeats) = (load.distinct, load.items as f64 / load.distinct.max(1) as f64);
        let room = |m: u64, n: u64| {
            let load = n as f64 * f64::from(k) / m as f64;
            let (mean, variance) = code_bits(self.code, load, repeats, |c| cell_pmf(m, n, k, c));
            m as f64 * mean + 6.0 * (m as f64 * variance).sqrt()
        };
        let second = self.second.map_or(0.0, |second| {
            let moved = (share_moved(m, n, k) * n as f64).ceil() as u64;
            room(second.m, moved) + second.marker as f64
        });
        room(m, n) + second
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
        let n = load.distinct;
        let bits = shape.bits(load).ceil() as u64;
        Some(Expect::one_sided(shape.flat.fpr(n), bits, Some(shape.flat.fill(n))))
    }
}

impl Stream for Spectral {
    fn empty(shape: &Shape, head: Head) -> Result<Self> {
        let Shape { flat: Flat { m, k }, code, second } = *shape;
        let moved = second.map(|Second { m, marker }| Moved {
            probe: Probe::over(m, k),
            counters: Elias::new(m, code),
            marker_probe: Probe::over(marker, k),
            marker: Bits::new(marker),
        });
        Ok(Self { head, probe: Probe::over(m, k), counters: Elias::new(m, code), moved })
    }
}

face!(Spectral: Insert, Remove, Count, Merge);

impl Filter for Spectral {
    /// A count beside the key is a threshold: did it come at least so often?
    fn query(&self, record: Record<'_>) -> Result<Answer> {
        let count = self.count(record.key);
        let present = match record.value {
            Some(Value::Count(threshold)) => count >= threshold,
            _ => count > 0,
        };
        Ok(Answer::of(present).with(Detail::Count(Counted::about(count))))
    }

    fn fill(&self) -> Option<f64> {
        Some(self.used())
    }

    fn now(&self) -> Rates {
        Rates::one_sided(libm::pow(self.used(), f64::from(self.probe.k())))
    }

    fn describe(&self) -> Vec<Fact> {
        let mut facts = vec![
            fact("m", self.counters.len()),
            fact("k", self.probe.k()),
            text("code", self.counters.code().name()),
            fact("code bits", self.counters.bits()),
        ];
        if let Some(moved) = &self.moved {
            facts.push(fact("second", moved.counters.len()));
            facts.push(fact("marker", moved.marker.len()));
        }
        facts
    }

    fn trace(&self, key: &[u8]) -> Vec<Touched> {
        let indices = self.probe.collect(self.head.hasher.digest(key), Coincide::PerHash);
        touched(&indices, |i| self.counters.get(i))
    }
}

keyed!(Spectral: Insert, Remove, Count);

impl Merge for Spectral {
    fn law(&self) -> MergeLaw {
        MergeLaw::Multiset
    }

    fn merge(&mut self, other: &dyn Filter) -> Result<()> {
        let other: &Spectral = other.as_same()?;
        self.head.agree(&other.head)?;
        self.probe.agree(&other.probe)?;
        crate::error::agree("code", self.counters.code().name(), other.counters.code().name())?;
        for (i, count) in (0..).zip(other.counters.iter()).filter(|(_, count)| *count > 0) {
            self.counters.raise(i, count);
        }
        self.head.count(other.head.items);
        Ok(())
    }
}

const MINIMUM_SELECTION: &str = "minimum-selection";
const MINIMUM_INCREASE: &str = "minimum-increase";
const RECURRING_MINIMUM: &str = "recurring-minimum";
const MEMBERS_ONLY: FalseNegatives =
    FalseNegatives::NeverWhile("only keys that were inserted are removed");

/// The list entry.
pub static VARIANT: Variant = Variant {
    facts: Facts {
        id: 52,
        slug: "spectral",
        entry: "C3",
        name: "Spectral Bloom filter",
        paper: "S. Cohen, Y. Matias, Spectral Bloom filters, SIGMOD 2003",
        family: "counting",
        needs: &["membership", "delete", "count", "merge", "compact"],
        meaning: "items are distinct keys to plan for, and insertions minus removals when counted; the rate is \
                  that of strangers that pass and, by minimum selection, of members counted too high",
        forms: &[
            Form {
                name: MINIMUM_SELECTION,
                abilities: &[Ability::Insert, Ability::Remove, Ability::Count, Ability::Merge],
                false_negatives: MEMBERS_ONLY,
            },
            Form::exact(MINIMUM_INCREASE, &[Ability::Insert, Ability::Count]),
            Form {
                name: RECURRING_MINIMUM,
                abilities: &[Ability::Insert, Ability::Remove, Ability::Count],
                false_negatives: MEMBERS_ONLY,
            },
        ],
        params: &[
            PARAM_M,
            PARAM_K,
            Param {
                name: "code",
                range: Range::Choice(&["delta", "gamma"]),
                default: Preset::Choice("delta"),
                help: "Elias code of the counters: gamma is shorter below 16, delta above",
            },
            Param {
                name: "second",
                range: Range::Integer(1, MAX_CELLS),
                default: Preset::Planned,
                help: "counters of the second filter, for recurring minima; by default m/2",
            },
            Param {
                name: "marker",
                range: Range::Integer(1, MAX_CELLS),
                default: Preset::Planned,
                help: "bits that mark moved keys, for recurring minima; by default m",
            },
        ],
        ..Facts::FILTER
    },
    ops: Ops::of::<Spectral>(),
};

#[cfg(test)]
mod tests {
    use super::*;
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
            let digest = filter.digest(&key);
            filter.moved.as_mut().unwrap().mark(digest);
            filter.insert(&key);
            let moved = filter.moved.as_ref().unwrap();
            let first = |i: &u64| filter.counters.get(*i) > 0;
            let second = |i: &u64| moved.counters.get(*i) > 0;
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
        short.counters = Elias::new(999, Code::Delta);
        let mut unmarked = filter.clone();
        unmarked.moved.as_mut().unwrap().marker = Bits::new(999);
        for alien in [plain, short, unmarked] {
            assert!(Opener::new().decode(&to_bytes(&alien)).is_err());
        }
    }
}
