//! The time-decaying Bloom filter (Cheng, Xiang, Iwaihara, Xu, Mohania 2005; catalogue §30; S0 §III-H).
//!
//! How often did this key come lately, where yesterday counts less than today? Cells are real numbers. A key of
//! weight w adds w to its k cells, and everything loses half of its weight per half-life H, by λ = 2^{−1/H} per
//! unit of time:
//!
//! ```text
//!   weight of a key        4 ┐
//!                            │╲        ┐ came again: + 4
//!                          2 ┤  ╲.     │╲
//!                            │     `·. │  ╲.          the least of its k cells is never below
//!                          1 ┤        `┘     `·.      Σ w·λ^{t − tᵢ}, its decayed weight
//!                          0 └────────────────────▶ t
//!                            0   H   2H  3H
//! ```
//!
//! A decayed weight below `least` counts as zero: very old keys are forgotten by intention. (S0 only says that
//! counters are decremented; by a constant that is `temporal-counting`. Decay by a factor is the paper's.)
//!
//! No clock touches all cells. The form `scaled` keeps one scale for all of them, S = λ^{−(t − t₀)}: it adds w·S,
//! divides on reading, and multiplies all cells by 1/S before S would overflow; while few cells hold weight, those
//! alone. The form `lazy` keeps the time of
//! its last change beside each cell, in twice the bits. Both answer alike.
//!
//! **Slow:** in `lazy` every cell that is read is brought to the present by a power of its own.
//!
//! **Use it** for recent frequencies: hot items, trends, rates per key. **Don't** if you only need to know whether
//! a key occurred within a window (`decaying`, `windowed`), or if counts do not age (`conservative-update`).

use crate::cells::Packed;
use crate::error::agree;
use crate::filter::{Bound, Number, Time};
use crate::probe::{Coincide, Indices, Probe};
use crate::state::{Decoder, Encoder, State};
use crate::theory::{bloom as theory, tail};
use crate::variant::prelude::*;

/// Weights of keys that halve with every half-life.
///
/// ```
/// use everbloom::decaying::TimeDecaying;
///
/// let mut hot: TimeDecaying =
///     TimeDecaying::builder().items(1000).rate(0.01).set("half-life", 5).build()?;
/// hot.add("song", 1.0, 0)?;
/// assert_eq!(hot.weight("song", 10), 0.25);
/// # Ok::<(), everbloom::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct TimeDecaying {
    head: Head,
    probe: Probe,
    /// The bits of real numbers.
    weights: Packed,
    /// When each cell was changed last, in the form `lazy`.
    times: Option<Packed>,
    half_life: f64,
    /// The least weight of a key that is present.
    least: f64,
    /// When the scale was 1.
    start: u64,
    now: u64,
    live: Live,
}

state!(TimeDecaying { head, probe, weights, times, half_life, least, start, now, live });

/// The cells that hold weight, as long as they are few: scaling back then touches no others. Not stored.
#[derive(Clone, Debug)]
enum Live {
    Few(Vec<u64>),
    Many,
}

impl Live {
    /// Notes a cell that was empty; more than an eighth of all are not worth a list.
    fn add(&mut self, cell: u64, cells: u64) {
        if let Live::Few(live) = self {
            live.push(cell);
            if live.len() as u64 > cells / 8 {
                *self = Live::Many;
            }
        }
    }
}

impl PartialEq for Live {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl State for Live {
    fn save<'a>(&'a self, _: &'static str, _: &mut Encoder<'a>) {}

    /// Nobody knows, until all cells were looked at.
    fn load(_: &'static str, _: &mut Decoder<'_>) -> Result<Self> {
        Ok(Live::Many)
    }
}

/// A cell grows no further; sums of a few stay finite.
const MOST: f64 = 1e300;
/// The largest weight of one record.
const MOST_WEIGHT: f64 = 1e100;
/// Half-lives after which cells are scaled back: S and the weights stay far from the largest number.
const RESCALE: f64 = 512.0;

impl TimeDecaying {
    /// Adds `weight`, above 0 and at most 10¹⁰⁰, to a key at `time`. A time before the last one is taken for the
    /// last one.
    pub fn add<K: Key + ?Sized>(&mut self, key: &K, weight: f64, time: u64) -> Result<Seen> {
        if !(weight > 0.0 && weight <= MOST_WEIGHT) {
            return Err(Error::record(format!(
                "a weight of {weight}: it must be above 0 and at most {MOST_WEIGHT:e}"
            )));
        }
        self.advance(time);
        let cells = self.cells(self.head.hasher.digest(key));
        let seen = self.estimate(&cells, self.now) >= self.least;
        let scale = 1.0 / self.faded(self.start, self.now);
        for &i in &cells {
            let grown = match self.times {
                None => self.raw(i) + weight * scale,
                Some(_) => self.decayed(i, self.now) + weight,
            };
            self.put(i, grown);
        }
        self.head.count(1);
        Ok(Seen::new_if(!seen))
    }

    /// Adds 1 to a key, now.
    pub fn insert<K: Key + ?Sized>(&mut self, key: &K) -> Seen {
        self.add(key, 1.0, self.now).unwrap_or(Seen::Maybe)
    }

    /// The key's decayed weight at `time`: never below the true one, unless that is below `least`. A time before
    /// the last one is taken for the last one.
    pub fn weight<K: Key + ?Sized>(&self, key: &K, time: u64) -> f64 {
        let weight = self.estimate(&self.cells(self.head.hasher.digest(key)), time.max(self.now));
        if weight >= self.least { weight } else { 0.0 }
    }

    /// Whether the key still seems to have weight, now.
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        self.weight(key, self.now) > 0.0
    }

    /// Lets time pass until `time`; no clock goes backwards.
    pub fn advance(&mut self, time: u64) {
        self.now = self.now.max(time);
        if self.times.is_none() && (self.now - self.start) as f64 / self.half_life > RESCALE {
            let factor = self.faded(self.start, self.now);
            match std::mem::replace(&mut self.live, Live::Few(Vec::new())) {
                Live::Few(cells) => self.scale(cells.into_iter(), factor),
                Live::Many => self.scale(0..self.weights.len(), factor),
            }
            self.start = self.now;
        }
    }

    /// Scales the weights of cells, all that have some. Those that keep some are the live ones.
    fn scale(&mut self, cells: impl Iterator<Item = u64>, factor: f64) {
        for i in cells {
            let weight = self.raw(i) * factor;
            self.weights.set(i, 0);
            self.put(i, weight);
        }
    }

    /// The latest time that the filter was given.
    pub fn now_is(&self) -> u64 {
        self.now
    }

    fn cells(&self, digest: Digest) -> Indices {
        self.probe.collect(digest, Coincide::Distinct)
    }

    /// λ^{to − from}.
    fn faded(&self, from: u64, to: u64) -> f64 {
        libm::exp2(-(to.saturating_sub(from) as f64) / self.half_life)
    }

    fn raw(&self, i: u64) -> f64 {
        f64::from_bits(self.weights.get(i))
    }

    /// Writes a cell as of now. What is too small to keep its digits is nothing.
    fn put(&mut self, i: u64, weight: f64) {
        let weight = if weight < f64::MIN_POSITIVE { 0.0 } else { weight.min(MOST) };
        if weight > 0.0 && self.times.is_none() && self.weights.get(i) == 0 {
            self.live.add(i, self.weights.len());
        }
        self.weights.set(i, weight.to_bits());
        let now = if weight > 0.0 { self.now } else { 0 };
        if let Some(times) = &mut self.times {
            times.set(i, now);
        }
    }

    /// The weight in a cell at `time`, which is not before now.
    fn decayed(&self, i: u64, time: u64) -> f64 {
        let since = self.times.as_ref().map_or(self.start, |times| times.get(i));
        self.raw(i) * self.faded(since, time)
    }

    fn estimate(&self, cells: &[u64], time: u64) -> f64 {
        cells.iter().map(|&i| self.decayed(i, time)).fold(f64::INFINITY, f64::min)
    }

    /// Adds the weights of both, at the later of their times.
    pub fn union(&mut self, other: &Self) -> Result<()> {
        self.head.agree(&other.head)?;
        self.probe.agree(&other.probe)?;
        agree("half-life", self.half_life, other.half_life)?;
        agree("least", self.least, other.least)?;
        self.advance(other.now);
        let scale = self.times.as_ref().map_or(1.0 / self.faded(self.start, self.now), |_| 1.0);
        for i in 0..self.weights.len() {
            let theirs = other.decayed(i, self.now);
            if theirs > 0.0 {
                let own = self.times.as_ref().map_or(self.raw(i), |_| self.decayed(i, self.now));
                self.put(i, own + theirs * scale);
            }
        }
        self.head.count(other.head.items);
        Ok(())
    }

    fn check(&self) -> Result<()> {
        self.probe.check_flat(self.weights.len())?;
        let lazy = self.head.form == LAZY;
        let number = |bits: u64| (0.0..=MOST).contains(&f64::from_bits(bits)) && bits >> 63 == 0;
        let rescaled =
            lazy || (self.now - self.start.min(self.now)) as f64 / self.half_life <= RESCALE;
        let fits = self.weights.width() == 64
            && self.times.is_some() == lazy
            && self.times.as_ref().is_none_or(|times| {
                let told = times.iter().all(|time| time <= self.now);
                (times.len(), times.width()) == (self.weights.len(), 64) && told
            })
            && (HALF_LIFE.0..=HALF_LIFE.1).contains(&self.half_life)
            && (LEAST.0..=LEAST.1).contains(&self.least)
            && self.start <= self.now
            && rescaled;
        if fits && self.weights.iter().all(number) {
            return Ok(());
        }
        Err(Error::corrupt(0, "corrupt filter: weights that do not decay"))
    }
}

/// Cells and probes, half-life, least weight, and whether cells have times of their own.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    flat: Flat,
    half_life: f64,
    least: f64,
    lazy: bool,
}

impl Plan for TimeDecaying {
    type Shape = Shape;

    fn plan(request: &Request<'_>) -> Result<Shape> {
        let lazy = request.form() == LAZY;
        let flat = Flat::plan(request, if lazy { 128 } else { 64 })?.checked()?;
        let half_life = request.number("half-life");
        Ok(Shape { flat, half_life, least: request.number("least"), lazy })
    }

    /// For keys of weight 1 that came `load.age` ago. A cell counts if it holds c keys or more, with c·λ^age ≥ `least`.
    fn expect(shape: &Shape, load: &Load) -> Option<Expect> {
        let Flat { m, k } = shape.flat;
        let bits = m.saturating_mul(if shape.lazy { 128 } else { 64 });
        let keys = shape.least / libm::exp2(-(load.age as f64) / shape.half_life);
        if keys <= 1.0 {
            return Some(shape.flat.expect(load, bits));
        }
        let (throws, keys) = (load.distinct.saturating_mul(k.into()), keys.ceil().min(1e15) as u64);
        let holds = |keys: u64| tail::binomial_at_least(throws, 1.0 / m as f64, keys);
        let fill = holds(keys);
        let fpr = libm::pow(fill, f64::from(k));
        let fnr = 1.0 - libm::pow(holds(keys - 1), f64::from(k));
        let fill = Some((fill, theory::fill_sd(m as f64, throws as f64)));
        Some(Expect { fnr, ..Expect::one_sided(fpr, bits, fill).probing(k) })
    }
}

impl Stream for TimeDecaying {
    fn empty(shape: &Shape, head: Head) -> Result<Self> {
        let Shape { flat: Flat { m, k }, half_life, least, lazy } = *shape;
        let weights = Packed::try_new(m, 64)?;
        let times = if lazy { Some(Packed::try_new(m, 64)?) } else { None };
        let probe = Probe::over(m, k);
        let live = Live::Few(Vec::new());
        Ok(Self { head, probe, weights, times, half_life, least, start: 0, now: 0, live })
    }
}

face!(TimeDecaying: Insert, Count, Age, Merge);
planned!(TimeDecaying);

impl Filter for TimeDecaying {
    /// As of the record's time, where it has one. The value beside the key is its weight, as in a build, and does
    /// not matter here.
    fn query(&self, record: Record<'_>) -> Result<Answer> {
        let weight = self.weight(record.key, record.time.unwrap_or(self.now));
        Ok(Answer::of(weight > 0.0).with(Detail::Count(counted(weight))))
    }

    fn fill(&self) -> Option<f64> {
        let heavy = |i: &u64| self.raw(*i) > 0.0 && self.decayed(*i, self.now) >= self.least;
        let used = (0..self.weights.len()).filter(heavy).count();
        Some(used as f64 / self.weights.len() as f64)
    }

    /// From the cells that are not too light. How old its keys are the filter does not know.
    fn now(&self) -> Rates {
        let fpr = self.fill().map(|fill| libm::pow(fill, f64::from(self.probe.k())));
        Rates { fpr, fnr: None, undecided: None }
    }

    fn describe(&self) -> Vec<Fact> {
        vec![
            fact("m", self.probe.m()),
            fact("k", self.probe.k()),
            real("half-life", self.half_life),
            real("least", self.least),
            fact("time", self.now),
        ]
    }

    /// Weights rounded down to whole numbers.
    fn trace(&self, key: &[u8]) -> Vec<Touched> {
        let cell = |&index: &u64| {
            let weight = self.decayed(index, self.now);
            Touched { index, value: weight as u64, agrees: weight >= self.least }
        };
        self.cells(self.head.hasher.digest(key)).iter().map(cell).collect()
    }
}

fn counted(weight: f64) -> Counted {
    Counted { value: Number::Real(weight), bound: Bound::Estimate }
}

impl Count for TimeDecaying {
    fn count(&self, key: &[u8]) -> Counted {
        counted(self.weight(key, self.now))
    }
}

impl Insert for TimeDecaying {
    fn insert(&mut self, record: Record<'_>) -> Result<Seen> {
        let weight = match record.value {
            None => 1.0,
            Some(Value::Count(count)) => count as f64,
            Some(Value::Weight(weight)) => weight,
            Some(_) => return Err(Error::record("the value of the key must be its weight")),
        };
        self.add(record.key, weight, record.time.unwrap_or(self.now))
    }
}

impl Age for TimeDecaying {
    fn age(&mut self, ticks: u64) {
        self.advance(self.now.saturating_add(ticks));
    }
}

impl Merge for TimeDecaying {
    fn law(&self) -> MergeLaw {
        MergeLaw::Multiset
    }

    fn merge(&mut self, other: &dyn Filter) -> Result<()> {
        self.union(other.as_same()?)
    }
}

const SCALED: &str = "scaled";
const LAZY: &str = "lazy";
const HALF_LIFE: (f64, f64) = (1e-3, 1e15);
const LEAST: (f64, f64) = (1e-100, 1e9);

const fn form(name: &'static str) -> Form {
    let abilities = &[Ability::Insert, Ability::Count, Ability::Age, Ability::Merge];
    Form::exact_while(name, abilities, "the decayed weight of a key is at least the minimum")
}

/// The list entry.
pub static VARIANT: Variant = Variant::of::<TimeDecaying>(Facts {
    id: 82,
    slug: "time-decaying",
    entry: "§30",
    question: "How often did it come lately, with weights that fade?",
    name: "Time-decaying Bloom filter",
    paper: "K. Cheng, L. Xiang, M. Iwaihara, H. Xu, M. M. Mohania, Time-decaying Bloom filters for data \
            streams with skewed distributions, RIDE-SDMA 2005",
    family: "decaying",
    needs: &["decay", "count", "merge"],
    input: Input::valued(ValueKind::Count).with_time(Time::Optional),
    meaning: "items are distinct keys; the count after a key is its weight; the rate is that of non-members that \
              seem to have one",
    forms: &[form(SCALED), form(LAZY)],
    params: &[
        PARAM_M,
        PARAM_K,
        Param::real("half-life", HALF_LIFE.0, HALF_LIFE.1, "half-life of a weight")
            .or(Preset::Real(1000.0)),
        Param::real("least", LEAST.0, LEAST.1, "weight below which a key is forgotten")
            .or(Preset::Real(1e-6)),
    ],
    ..Facts::FILTER
});

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shared_tests::lies_are_refused;
    use crate::{Opener, to_bytes};

    /// With a half-life far below the time between records, every one of them scales the cells back: the live ones.
    #[test]
    fn scaling_back_touches_live_cells_only() {
        let build = |form: &str| -> TimeDecaying {
            let goal = Goal::new(200_000, 0.01).set("half-life", 0.001).set("form", form);
            empty(&goal).unwrap()
        };
        let (mut scaled, mut lazy) = (build(SCALED), build(LAZY));
        for time in 0..2000u64 {
            for filter in [&mut scaled, &mut lazy] {
                filter.add(&time, 1.0, time).unwrap();
                filter.add(&(time % 7), 1.0, time).unwrap();
            }
            assert!(matches!(&scaled.live, Live::Few(cells) if cells.len() < 100));
            assert_eq!(scaled.weight(&(time % 7), time), lazy.weight(&(time % 7), time));
        }
        // Opened, nobody knows which they are, until all were looked at.
        let mut back: TimeDecaying = Opener::new().decode_as(&to_bytes(&scaled)).unwrap();
        assert!(back == scaled && matches!(back.live, Live::Many));
        for filter in [&mut back, &mut scaled] {
            filter.add("key", 2.0, 5000).unwrap();
        }
        assert!(back == scaled && matches!(back.live, Live::Few(_)));
        assert_eq!(to_bytes(&back), to_bytes(&scaled));
    }

    #[test]
    fn files_with_weights_that_cannot_be_are_refused() {
        for form in [SCALED, LAZY] {
            let mut f: TimeDecaying = empty(&Goal::new(10, 0.1).set("form", form)).unwrap();
            f.add("a", 2.0, 77).unwrap();
            let lies: [fn(&mut TimeDecaying); 9] = [
                |f| f.weights.set(0, f64::NAN.to_bits()),
                |f| f.weights.set(0, (-1.0f64).to_bits()),
                |f| f.weights.set(0, 1e301f64.to_bits()),
                |f| f.half_life = f64::NAN,
                |f| f.half_life = 0.0,
                |f| f.least = -1.0,
                |f| f.start = 78,
                |f| f.times = if f.times.is_some() { None } else { Some(f.weights.clone()) },
                |f| f.weights = Packed::new(3, 64),
            ];
            lies_are_refused(&f, lies);
        }
    }
}
