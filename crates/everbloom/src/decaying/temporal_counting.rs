//! The temporal counting Bloom filter, TCBF (Zhao, Wu 2010; catalogue §28; S3 ref. 136 §VII-B).
//!
//! What was somebody interested in lately? A key sets its k counters to an initial value (ICV), every tick takes
//! the decay step (DF) off all counters, and a key whose counters are all above zero is still of interest:
//!
//! ```text
//!   ICV = 7, DF = 1          x        x         x          lives of the keys around it: 2
//!   before                   0        2         0
//!   insert x, maximum        7        7         7          x is found for 7 ticks
//!   insert x, keep           7        2         7          x is lost after 2: a false negative
//! ```
//!
//! S3 tells the rule `keep`: counters that are not zero stay as they are. Then a key that shares a counter with an
//! older one is lost too early. The form `maximum`, the default, raises every counter to the initial value instead:
//! a key lives exactly as long as it should, and keys that share its counters may seem to live longer.
//!
//! Nobody takes DF off every counter: a cell holds when it dies ([`Fading`]), so that a tick costs next to nothing.
//! Time passes by ticks, or with the records: a record at time t lets t − now ticks pass first, and a query at time
//! t is answered as of then. A record may bring an initial value of its own, as its count.
//!
//! Two filters are merged by the maximum: the lives of their keys stay as they are, and merging twice changes
//! nothing. [`TemporalCounting::reinforce`] adds the counters instead, up to a cap: what both have met lives
//! longer.
//!
//! **Use it** for interests, routes and contacts that fade unless they are renewed, each with its own lifetime.
//! **Don't** if a window is counted in insertions (`decaying`), or if frequencies matter (`time-decaying`).

use crate::cells::{Fading, width_of};
use crate::error::agree;
use crate::filter::Time;
use crate::parts::tally::Tallies;
use crate::probe::Probe;
use crate::theory::bloom as theory;
use crate::variant::prelude::*;

/// Keys that live for a number of ticks each.
///
/// ```
/// let mut interests = everbloom::decaying::TemporalCounting::with_rate(1000, 0.01)?;
/// interests.insert("chess");
/// interests.insert_for("tennis", 3)?;
/// interests.age(3);
/// assert!(interests.contains("chess") && !interests.contains("tennis"));
/// assert_eq!(interests.life("chess"), 4);
/// # Ok::<(), everbloom::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct TemporalCounting {
    head: Head,
    levels: Tallies<Fading>,
    /// ICV, the value that a key sets its counters to unless it brings one of its own.
    initial: u64,
    /// DF, what a tick takes off.
    decay: u64,
    /// Ticks so far.
    time: u64,
}

state!(TemporalCounting { head, ..levels; initial, decay, time });

impl TemporalCounting {
    /// Inserts a key with the initial value.
    pub fn insert<K: Key + ?Sized>(&mut self, key: &K) -> Seen {
        self.put(self.head.hasher.digest(key), self.initial)
    }

    /// Inserts a key with an initial value of its own, from 1 to the cap.
    pub fn insert_for<K: Key + ?Sized>(&mut self, key: &K, value: u64) -> Result<Seen> {
        self.check_value(value)?;
        Ok(self.put(self.head.hasher.digest(key), value))
    }

    fn check_value(&self, value: u64) -> Result<()> {
        if (1..=self.cap()).contains(&value) {
            return Ok(());
        }
        let message = format!("an initial value of {value}: it must be from 1 to {}", self.cap());
        Err(Error::record(message))
    }

    fn put(&mut self, digest: Digest, value: u64) -> Seen {
        let seen = self.levels.contains(digest);
        let keep = self.head.form == KEEP;
        let Tallies { probe, cells } = &mut self.levels;
        probe.each(digest, |i| {
            let left = cells.left(i);
            if left == 0 || !keep && left < value {
                cells.set(i, value);
            }
        });
        self.head.count(1);
        Seen::new_if(!seen)
    }

    /// Whether the key seems to be alive.
    #[inline]
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        self.levels.contains(self.head.hasher.digest(key))
    }

    /// The ticks for which the key will still be found; an upper bound of its own life.
    pub fn life<K: Key + ?Sized>(&self, key: &K) -> u64 {
        self.levels.least(self.head.hasher.digest(key)).div_ceil(self.decay)
    }

    /// Advances the clock by `ticks`: subtracts the decay step from every counter that many times.
    pub fn age(&mut self, ticks: u64) {
        self.levels.cells.age(ticks.saturating_mul(self.decay));
        self.time = self.time.saturating_add(ticks);
    }

    /// Lets time pass until `time`; no clock goes backwards.
    pub fn advance(&mut self, time: u64) {
        self.age(time.saturating_sub(self.time));
    }

    /// Ticks so far.
    pub fn time(&self) -> u64 {
        self.time
    }

    /// The largest value of a counter.
    pub fn cap(&self) -> u64 {
        self.cells().longest()
    }

    /// The counters.
    pub fn cells(&self) -> &Fading {
        &self.levels.cells
    }

    /// Takes the other filter in by the larger of both counters: every key lives as long as in the filter where it
    /// lives longer.
    pub fn union(&mut self, other: &Self) -> Result<()> {
        self.combine(other, u64::max)
    }

    /// Takes the other filter in by the sum of both counters, up to the cap: keys of both live longer.
    pub fn reinforce(&mut self, other: &Self) -> Result<()> {
        self.combine(other, u64::saturating_add)
    }

    /// Both at the later of their times.
    fn combine(&mut self, other: &Self, join: impl Fn(u64, u64) -> u64) -> Result<()> {
        self.head.agree(&other.head)?;
        self.levels.probe.agree(&other.levels.probe)?;
        agree("cap", self.cap(), other.cap())?;
        agree("decay", self.decay, other.decay)?;
        agree("initial", self.initial, other.initial)?;
        self.advance(other.time);
        let since = (self.time - other.time).saturating_mul(self.decay);
        let cells = &mut self.levels.cells;
        for (i, left) in (0..).zip(other.cells().iter()).filter(|(_, left)| *left > since) {
            cells.set(i, join(cells.left(i), left - since));
        }
        self.head.count(other.head.items);
        let zeros = self.cells().iter().filter(|left| *left == 0).count() as u64;
        if let Some(n) = theory::cardinality(zeros, self.levels.m(), self.levels.k()) {
            self.head.items = n.round() as u64;
        }
        Ok(())
    }

    fn check(&self) -> Result<()> {
        self.levels.check_flat()?;
        if self.cells().blocks() == 0 && self.decay > 0 && self.check_value(self.initial).is_ok() {
            return Ok(());
        }
        Err(Error::corrupt(0, "corrupt filter: counters that do not decay"))
    }
}

/// Cells and probes, initial value, decay step and cap.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    flat: Flat,
    initial: u64,
    decay: u64,
    cap: u64,
}

impl Shape {
    fn width(&self) -> u32 {
        width_of(self.cap) + 1
    }
}

impl Plan for TemporalCounting {
    type Shape = Shape;

    fn plan(request: &Request<'_>) -> Result<Shape> {
        let [initial, decay] = request.wholes(["initial", "decay"]);
        // Room for sums of two, and for lives of their own.
        let cap = request.integer("cap").unwrap_or(2 * initial + 1);
        if cap < initial {
            let message = format!("the cap must be at least the initial value, {initial}");
            return Err(Error::setting("cap", cap, message));
        }
        let shape = Shape { flat: Flat { m: 1, k: 1 }, initial, decay, cap };
        Ok(Shape { flat: Flat::plan(request, shape.width().into())?, ..shape })
    }

    /// `load.age` ticks after the keys came.
    fn expect(shape: &Shape, load: &Load) -> Option<Expect> {
        let bits = shape.flat.m.saturating_mul(shape.width().into());
        if load.age < shape.initial.div_ceil(shape.decay) {
            return Some(shape.flat.expect(load, bits));
        }
        Some(Expect {
            fnr: 1.0,
            ..Expect::one_sided(0.0, bits, Some((0.0, 0.0))).probing(shape.flat.k)
        })
    }
}

impl Stream for TemporalCounting {
    fn empty(shape: &Shape, head: Head) -> Result<Self> {
        let Shape { flat, initial, decay, cap } = *shape;
        let Flat { m, k } = flat.checked()?;
        let levels = Tallies { probe: Probe::over(m, k), cells: Fading::stamped(m, cap)? };
        Ok(Self { head, levels, initial, decay, time: 0 })
    }
}

face!(TemporalCounting: Insert, Age, Merge);
planned!(TemporalCounting: "A filter for `items` living keys at a false-positive rate of `fpr`.");

impl Filter for TemporalCounting {
    fn part(&self) -> Option<&dyn Part> {
        Some(&self.levels)
    }

    /// As of the record's time, where it has one, with the ticks that the key has left. A value beside the key is
    /// its initial value, as in a build, and does not matter here.
    fn query(&self, record: Record<'_>) -> Result<Answer> {
        let after = record.time.map_or(0, |time| time.saturating_sub(self.time));
        let left = self.life(record.key).saturating_sub(after);
        Ok(Answer::counted(Counted::about(left)))
    }

    fn now(&self) -> Rates {
        // Under `keep` nobody knows which keys were lost too early.
        let fnr = (self.head.form == MAXIMUM).then_some(0.0);
        Rates { fnr, ..self.levels.rates() }
    }

    fn describe(&self) -> Vec<Fact> {
        let mut facts = self.levels.describe();
        facts.extend([fact("initial", self.initial), fact("decay", self.decay)]);
        facts.extend([fact("cap", self.cap()), fact("time", self.time)]);
        facts
    }
}

impl Insert for TemporalCounting {
    fn insert(&mut self, record: Record<'_>) -> Result<Seen> {
        let value = match record.value {
            None => self.initial,
            Some(Value::Count(value)) => value,
            Some(_) => return Err(Error::record("the value of the key must be a count")),
        };
        self.check_value(value)?;
        self.advance(record.time.unwrap_or(self.time));
        self.insert_for(record.key, value)
    }
}

impl Age for TemporalCounting {
    fn age(&mut self, ticks: u64) {
        TemporalCounting::age(self, ticks);
    }
}

keyed!(TemporalCounting: Union);

const MAXIMUM: &str = "maximum";
const KEEP: &str = "keep";
const MOST: u64 = 1 << 48;
const ABILITIES: &[Ability] = &[Ability::Insert, Ability::Age, Ability::Merge];

/// The list entry.
pub static VARIANT: Variant = Variant::of::<TemporalCounting>(Facts {
    id: 80,
    slug: "temporal-counting",
    entry: "§28",
    question: "Was it seen recently, by counters that fade with every tick?",
    name: "Temporal counting Bloom filter",
    paper: "Y. Zhao, J. Wu, B-SUB: a practical Bloom-filter-based publish-subscribe system for human \
            networks, ICDCS 2010",
    family: "decaying",
    needs: &["decay", "merge"],
    input: Input::valued(ValueKind::Count).with_time(Time::Optional),
    meaning: "items are living keys, the count after a key is its initial value, the rate is that of \
            false positives",
    forms: &[
        Form::exact_while(MAXIMUM, ABILITIES, "keys are queried within their lifetime"),
        // Merging by the maximum would undo what the rule forgets.
        Form::lossy(
            KEEP,
            &[Ability::Insert, Ability::Age],
            "a key that shares a counter with an older one is lost with it",
        ),
    ],
    operations: &[change!(
        TemporalCounting,
        "reinforce",
        "Add the counters of other filters: keys of both live longer.",
        [],
        [Filters],
        |filter, given| {
            let others = given.filters_of()?;
            others.iter().try_for_each(|other| filter.reinforce(other))?;
            Ok(!others.is_empty())
        }
    )],
    params: &[
        PARAM_M,
        PARAM_K,
        Param::integer("initial", 1, MOST, "value that a key sets its counters to")
            .or(Preset::Integer(7)),
        Param::integer("decay", 1, MOST, "amount subtracted from every counter at a tick")
            .or(Preset::Integer(1)),
        Param::integer(
            "cap",
            1,
            1 << 50,
            "largest value of a counter; twice the initial one and one",
        ),
    ],
    ..Facts::FILTER
});

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shared_tests::lies_are_refused;

    /// S3's example: one of x's three counters is at 2 already.
    fn example(form: &str) -> TemporalCounting {
        let goal = Goal::default().set("m", 60).set("k", 3).set("form", form);
        let mut f: TemporalCounting = empty(&goal).unwrap();
        let digest = f.head.hasher.digest("x");
        let cells = f.levels.probe.collect(digest, crate::probe::Coincide::Distinct);
        assert_eq!(cells.len(), 3);
        f.levels.cells.set(cells[1], 2);
        f.insert("x");
        let left: Vec<u64> = cells.iter().map(|&i| f.cells().left(i)).collect();
        assert_eq!(left, if form == KEEP { [7, 2, 7] } else { [7, 7, 7] });
        f
    }

    #[test]
    fn s28_keeping_counters_loses_a_key_and_the_maximum_does_not() {
        let mut kept = example(KEEP);
        kept.age(1);
        assert!(kept.contains("x"));
        kept.age(1);
        assert!(!kept.contains("x"), "lost after 2 ticks, although its life is 7");
        let mut repaired = example(MAXIMUM);
        repaired.age(6);
        assert!(repaired.contains("x"));
        repaired.age(1);
        assert!(!repaired.contains("x"));
    }

    #[test]
    fn files_that_do_not_decay_are_refused() {
        let f = example(MAXIMUM);
        let lies: [fn(&mut TemporalCounting); 4] = [
            |f| f.initial = 0,
            |f| f.initial = 16,
            |f| f.decay = 0,
            |f| f.levels.cells = Fading::counted(60, 15, 3).unwrap(),
        ];
        lies_are_refused(&f, lies);
    }
}
