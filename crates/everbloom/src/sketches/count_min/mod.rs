//! The count-min sketch (Cormode, Muthukrishnan 2004; catalogue §6; S1 §9).
//!
//! How often did a key come, in a stream far too long to keep? d rows of w counters; a key has one counter in
//! every row, and each holds the sum of all keys that meet there. The least of them is the key's count, or
//! more, never less:
//!
//! ```text
//!          row 0 │ 0 9 0 4 0 0 │      key x: 9, 7, 12   ──▶  at most 7
//!          row 1 │ 7 0 0 0 6 0 │
//!          row 2 │ 0 0 1 0 0 12│      a row of its own for every hash: one shared array would be a
//!                    w = ⌈e/ε⌉        spectral filter
//! ```
//!
//! With w = ⌈e/ε⌉ and d = ⌈ln(1/δ)⌉ a count is too high by more than ε·N with probability δ at most, where N
//! is the total of all counts. The dot product of two sketches' rows bounds that of their counts in the same
//! way: never below, above by more than ε·N₁·N₂ with probability δ. Sketches of one shape add up.
//!
//! Forms:
//!
//! - `strict`: counts go up and down, and no key's total is ever below zero. Removal of more than a counter
//!   holds is refused.
//! - `signed`: totals may be below zero. The middle one of the counters is the estimate, off by more than
//!   3ε·N with probability δ^¼ at most, N the sum of absolute totals; it may be too low, and says that it is
//!   an estimate with a sign.
//! - `heavy`: keys are only inserted, and the largest so far stand beside the rows. Every key that has a share
//!   of φ of the total is among them while ε ≤ φ/2.
//! - `dyadic`: heavy keys under deletions, for integers and keys of at most 8 bytes: a sketch for every length
//!   of prefix, 8 bits apart unless the parameter `step` says otherwise.
//!
//! Counters have 64 bits; at the end of their range they stick and say so.
//!
//! **Slow:** in `dyadic` an update goes to a sketch for every length of prefix.
//!
//! **Use it** for frequencies and heavy hitters in streams with weights and deletions, and for merging the
//! sketches of many machines. **Don't** for keys that are only inserted (`conservative-update` has half the error),
//! nor for light keys in heavy traffic: the error is a share of *all* counts.

#[cfg(target_arch = "x86_64")]
mod avx512;
mod dyadic;
mod many;
mod rows;
mod shape;

pub use shape::Shape;

use many::AHEAD;
use rows::{Rows, middle};

use crate::cells::Signed;
use crate::error::agree;
use crate::filter::{Bound, List, Number};
use crate::hash::rarely;
use crate::parts::candidates::{Candidates, MOST};
use crate::parts::times_of;
use crate::theory::bloom as theory;
use crate::variant::prelude::*;

/// A key that is heavy, and its count.
pub type Heavy = (Vec<u8>, u64);

/// Counts of keys in d rows of w counters.
///
/// ```
/// use everbloom::sketches::CountMin;
///
/// let mut bytes = CountMin::with_error(0.001, 0.01)?;
/// bytes.insert_times("10.0.0.1", 1500)?;
/// bytes.insert_times("10.0.0.1", 40)?;
/// bytes.insert("10.0.0.2")?;
/// bytes.remove_times("10.0.0.1", 40)?;
/// assert_eq!(bytes.count("10.0.0.1"), 1500);
/// assert_eq!(bytes.total(), 1501);
///
/// let mut heavy = CountMin::builder().form("heavy").set("epsilon", 0.001).build()?;
/// (0..1000u32).for_each(|i| _ = heavy.insert(&(i % 7 * i % 3)));
/// assert_eq!(heavy.heavy_hitters(0.5)?[0].0, 0u64.to_le_bytes());
/// # Ok::<(), everbloom::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct CountMin {
    head: Head,
    /// The share of the total from which a key is heavy.
    phi: f64,
    /// Bits per level, of the dyadic form; 64 where there are no levels.
    step: u32,
    /// The counters; behind them those of prefixes, shorter and shorter, in the dyadic form.
    levels: Vec<Rows>,
    candidates: Option<Candidates>,
}

state!(CountMin { head, phi, step, levels, candidates });

impl CountMin {
    /// A sketch whose counts are too high by more than `epsilon` times the total with probability `delta` at most.
    pub fn with_error(epsilon: f64, delta: f64) -> Result<Self> {
        Self::builder().set("epsilon", epsilon).set("delta", delta).build()
    }

    /// A sketch of `d` rows of `w` counters.
    pub fn with_shape(w: u64, d: u32, hasher: Hasher) -> Result<Self> {
        empty(&Goal::of(hasher).set("w", w).set("d", d))
    }

    #[inline(always)]
    fn digest<K: Key + ?Sized>(&self, key: &K) -> Digest {
        self.head.hasher.digest_usually(Self::HASH, key)
    }

    #[inline]
    fn signed(&self) -> bool {
        // No other form begins like this, and comparing whole names takes a tenth of a query.
        self.head.form.starts_with("si")
    }

    /// Counts a key. Refused where the form does not take such keys.
    #[inline(always)]
    pub fn insert<K: Key + ?Sized>(&mut self, key: &K) -> Result<Seen> {
        // Always inlined: a call for each key keeps the processor from working on the next one.
        if !self.is_plain() {
            rarely();
            return self.insert_times(key, 1);
        }
        let digest = self.digest(key);
        self.head.count_one();
        let new = self.levels[0].increment(digest);
        // Most keys of a stream came before, so that the form is seldom looked up.
        Ok(if new { self.seen(new) } else { Seen::Maybe })
    }

    /// Whether a key is new of which a counter was zero. In the signed form, a zero may be what is left of keys of both
    /// signs.
    #[inline]
    fn seen(&self, zero: bool) -> Seen {
        Seen::new_if(zero && !self.signed())
    }

    /// Counts a key `times` more times; 0 changes nothing.
    #[inline]
    pub fn insert_times<K: Key + ?Sized>(&mut self, key: &K, times: u64) -> Result<Seen> {
        let digest = self.digest(key);
        if self.is_plain() {
            return Ok(self.raise_rows(digest, times));
        }
        key.with_bytes(|key| self.raise(digest, key, times))
    }

    /// Counts a key once less; see [`CountMin::remove_times`].
    pub fn remove<K: Key + ?Sized>(&mut self, key: &K) -> Result<()> {
        self.remove_times(key, 1)
    }

    /// Counts a key `times` less. Refused, with nothing changed, if a counter holds less; the `signed` form
    /// goes below zero, and the `heavy` form removes nothing.
    pub fn remove_times<K: Key + ?Sized>(&mut self, key: &K, times: u64) -> Result<()> {
        let digest = self.digest(key);
        key.with_bytes(|key| self.lower(digest, key, times))
    }

    /// Digests whose counters are on their way.
    fn fetched(&self, digests: impl Iterator<Item = Digest>) -> Vec<Digest> {
        digests.inspect(|digest| self.levels[0].fetch(*digest)).collect()
    }

    /// How often the key came: never too low, except in the `signed` form.
    #[inline(always)]
    pub fn count<K: Key + ?Sized>(&self, key: &K) -> u64 {
        self.signed_count(key).max(0).cast_unsigned()
    }

    /// The key's total, which in the `signed` form may be below zero.
    #[inline(always)]
    pub fn signed_count<K: Key + ?Sized>(&self, key: &K) -> i64 {
        self.estimate(self.digest(key))
    }

    #[inline(always)]
    fn estimate(&self, digest: Digest) -> i64 {
        if self.signed() {
            rarely();
            return self.levels[0].median(digest);
        }
        self.levels[0].least(digest)
    }

    /// Whether the key may have a total other than zero.
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        self.has(self.digest(key))
    }

    fn has(&self, digest: Digest) -> bool {
        let count = self.estimate(digest);
        count > 0 || self.signed() && count < 0
    }

    /// The total of all counts, N.
    pub fn total(&self) -> i128 {
        self.levels[0].total()
    }

    /// Counters per row.
    pub fn w(&self) -> u64 {
        self.levels[0].w()
    }

    /// Number of rows.
    pub fn d(&self) -> u32 {
        self.levels[0].d()
    }

    /// The counters, row after row.
    pub fn counters(&self) -> &Signed {
        &self.levels[0].cells
    }

    /// The sum over all keys of the products of their two counts, at most; in the `signed` form an estimate.
    pub fn inner_product(&self, other: &CountMin) -> Result<i128> {
        self.agree(other)?;
        let mut products = self.levels[0].products(&other.levels[0]);
        let least = products.iter().copied().min();
        Ok(if self.signed() { middle(&mut products) } else { least }.unwrap_or(0))
    }

    /// The keys with at least a share `phi` of the total, largest first: every one of them, and now and then
    /// one that only looks so. In the `heavy` form, of the candidates; in the `dyadic` form, of all keys.
    pub fn heavy_hitters(&self, phi: f64) -> Result<Vec<Heavy>> {
        if !(phi > 0.0 && phi <= 1.0) {
            return Err(Error::setting("phi", phi, "a share must be above 0 and at most 1"));
        }
        let total = self.total().max(0) as f64;
        let threshold = (phi * total).ceil().max(1.0);
        let mut heavy: Vec<Heavy> = match &self.candidates {
            Some(candidates) => {
                let counted = candidates.iter().map(|(key, _)| (key.to_vec(), self.count(key)));
                counted.filter(|(_, count)| *count as f64 >= threshold).collect()
            }
            None if self.head.form == DYADIC => {
                let most = (4.0 / phi).ceil() as usize + 4;
                let threshold = threshold.min(i64::MAX as f64) as i64;
                dyadic::heavy(&self.levels, &self.head.hasher, self.step, threshold, most)?
            }
            None => {
                let message = "this form cannot list heavy keys; forms heavy and dyadic can";
                return Err(Error::unsupported(message));
            }
        };
        heavy.sort_by(|a, b| (b.1, &a.0).cmp(&(a.1, &b.0)));
        Ok(heavy)
    }

    /// Whether all there is are rows of counters.
    #[inline]
    fn is_plain(&self) -> bool {
        self.levels.len() == 1 && self.candidates.is_none()
    }

    /// Counts a key in the rows.
    #[inline]
    fn raise_rows(&mut self, digest: Digest, times: u64) -> Seen {
        let new = self.levels[0].add(digest, i64::try_from(times).unwrap_or(i64::MAX));
        self.head.count(times);
        self.seen(new)
    }

    fn raise(&mut self, digest: Digest, key: &[u8], times: u64) -> Result<Seen> {
        let by = i64::try_from(times).unwrap_or(i64::MAX);
        self.each_prefix(key, |rows, digest| _ = rows.add(digest, by))?;
        let seen = self.raise_rows(digest, times);
        if let Some(candidates) = &mut self.candidates {
            let count = self.levels[0].least(digest).max(0).cast_unsigned();
            candidates.offer(key, count, 1);
        }
        Ok(seen)
    }

    fn lower(&mut self, digest: Digest, key: &[u8], times: u64) -> Result<()> {
        if self.head.form == HEAVY {
            return Err(Error::unsupported("form heavy cannot remove keys; form dyadic can"));
        }
        let by = i64::try_from(times).unwrap_or(i64::MAX);
        let mut enough = self.levels[0].least(digest) >= by;
        self.each_prefix(key, |rows, digest| enough &= rows.least(digest) >= by)?;
        if !(enough || self.signed()) {
            return Err(Error::new(
                Kind::NotDeletable,
                "the key did not occur that often: a counter is smaller than the amount to remove",
            ));
        }
        self.each_prefix(key, |rows, digest| _ = rows.add(digest, -by))?;
        self.levels[0].add(digest, -by);
        self.head.items = self.head.items.saturating_sub(times);
        Ok(())
    }

    /// Calls `f` with the sketch of every prefix of a key, and the prefix's digest.
    fn each_prefix(&mut self, key: &[u8], mut f: impl FnMut(&mut Rows, Digest)) -> Result<()> {
        if self.head.form == DYADIC {
            let prefixes = dyadic::prefixes(&self.head.hasher, key, self.step)?;
            self.levels.iter_mut().skip(1).zip(prefixes).for_each(|(rows, digest)| f(rows, digest));
        }
        Ok(())
    }

    fn agree(&self, other: &CountMin) -> Result<()> {
        self.head.agree(&other.head)?;
        agree("phi", self.phi, other.phi)?;
        agree("step", self.step, other.step)?;
        self.levels[0].probe.agree(&other.levels[0].probe)
    }

    fn check(&self) -> Result<()> {
        let form = self.head.form;
        let levels = if form == DYADIC { dyadic::levels(self.step.max(1)) } else { 1 };
        let step = if form == DYADIC { 1..=MOST_STEP } else { 64..=64 };
        let alike = self.levels.iter().all(|rows| rows.probe == self.levels[0].probe);
        let ok = self.levels.len() == levels as usize
            && step.contains(&self.step)
            && alike
            && self.candidates.is_some() == (form == HEAVY)
            && VARIANT.takes("phi", self.phi);
        if ok { Ok(()) } else { Err(Error::corrupt(0, "corrupt filter: not the rows of its form")) }
    }
}

impl Plan for CountMin {
    type Shape = Shape;

    const HASH: HashId = HashId::Fold64;

    /// Digests of 64 bits where keys that share one are rarer than others that pass: n·2⁻⁶⁴ ≤ p/100 with half of the
    /// counters in use, as in `bloom`.
    fn hash(shape: &Shape) -> HashId {
        let (w, d) = (shape.w as f64, f64::from(shape.d));
        let narrow = 100.0 * core::f64::consts::LN_2 * w * libm::exp2(d - 64.0) <= 1.0;
        if narrow { Self::HASH } else { HashId::Xxh3_128 }
    }

    fn plan(request: &Request<'_>) -> Result<Shape> {
        Shape::plan(request)
    }

    fn expect(shape: &Shape, load: &Load) -> Option<Expect> {
        let (w, n) = (shape.w as f64, load.distinct as f64);
        let fill = theory::fill(w, n);
        let sd = theory::fill_sd(w, n) / f64::from(shape.d).sqrt();
        Some(Expect::one_sided(shape.passing(shape.d, fill), shape.bits(), Some((fill, sd))))
    }
}

impl Stream for CountMin {
    fn empty(shape: &Shape, head: Head) -> Result<Self> {
        let rows = |_| Rows::new(shape.w, shape.d, &head.hasher);
        let levels = (0..shape.levels()).map(rows).collect::<Result<_>>()?;
        let fpr = head.fpr.filter(|_| !shape.by_hand);
        Ok(Self {
            head: Head { fpr, ..head },
            phi: shape.phi,
            step: shape.step.unwrap_or(64),
            levels,
            candidates: shape.candidates.map(|room| Candidates::new(room.min(MOST))),
        })
    }
}

face!(CountMin: Insert, Remove, Count, Merge, List, Bulk);
planned!(CountMin: "A sketch in which a share of `fpr` of all other keys has a count after `items` distinct keys.");

impl Filter for CountMin {
    /// The value beside the key is its count, as in a build, and does not matter here.
    fn query(&self, record: Record<'_>) -> Result<Answer> {
        let digest = self.digest(record.key);
        Ok(Answer::of(self.has(digest)).with(Detail::Count(self.counted(digest))))
    }

    fn fill(&self) -> Option<f64> {
        let used = self.counters().iter().filter(|count| *count != 0).count();
        Some(used as f64 / self.counters().len() as f64)
    }

    fn now(&self) -> Rates {
        Rates::one_sided((self.levels[0].passing(self.signed()) + self.head.collisions()).min(1.0))
    }

    fn describe(&self) -> Vec<Fact> {
        let (w, d) = (self.w(), self.d());
        let mut facts = vec![
            fact("w", w),
            fact("d", d),
            real("epsilon", core::f64::consts::E / w as f64),
            real("delta", libm::exp(-f64::from(d))),
        ];
        if self.head.form == DYADIC {
            facts.push(fact("levels", self.levels.len() as u64));
        }
        if let Some(candidates) = &self.candidates {
            facts.push(fact("candidates", candidates.room()));
        }
        facts
    }

    fn trace(&self, key: &[u8]) -> Vec<Touched> {
        self.levels[0].trace(self.digest(key))
    }
}

impl CountMin {
    fn counted(&self, digest: Digest) -> Counted {
        let count = self.estimate(digest);
        let bound = if Signed::stuck(count) { Bound::Saturated } else { Bound::Estimate };
        let value = match u64::try_from(count) {
            Ok(count) if !self.signed() => Number::Whole(count),
            Err(_) if !self.signed() => Number::Whole(0),
            _ => Number::Signed(count),
        };
        Counted { value, bound }
    }
}

impl Count for CountMin {
    fn count(&self, key: &[u8]) -> Counted {
        self.counted(self.digest(key))
    }
}

impl Insert for CountMin {
    fn insert(&mut self, record: Record<'_>) -> Result<Seen> {
        self.insert_times(record.key, times_of(&record)?)
    }

    fn insert_all(&mut self, records: &[Record<'_>]) -> std::result::Result<(), (usize, Error)> {
        for (chunk, records) in records.chunks(AHEAD).enumerate() {
            let digests = self.fetched(records.iter().map(|record| self.digest(record.key)));
            for (i, (record, digest)) in records.iter().zip(digests).enumerate() {
                let taken =
                    times_of(record).and_then(|times| self.raise(digest, record.key, times));
                taken.map_err(|e| (chunk * AHEAD + i, e))?;
            }
        }
        Ok(())
    }
}

impl Remove for CountMin {
    fn remove(&mut self, record: Record<'_>) -> Result<()> {
        self.remove_times(record.key, times_of(&record)?)
    }
}

impl Merge for CountMin {
    fn law(&self) -> MergeLaw {
        MergeLaw::Multiset
    }

    fn merge(&mut self, other: &dyn Filter) -> Result<()> {
        let other: &Self = other.as_same()?;
        self.agree(other)?;
        for (ours, theirs) in self.levels.iter_mut().zip(&other.levels) {
            ours.cells.combine(&theirs.cells);
        }
        if let (Some(ours), Some(theirs)) = (&self.candidates, &other.candidates) {
            // All counts have risen: those of both are told anew, and the largest stay.
            let mut both = Candidates::new(ours.room());
            for (key, _) in ours.iter().chain(theirs.iter()) {
                both.offer(key, self.count(key), 1);
            }
            self.candidates = Some(both);
        }
        self.head.count(other.head.items);
        Ok(())
    }
}

impl List for CountMin {
    /// The keys with at least a share φ of the total.
    fn list(&self, f: &mut dyn FnMut(&[u8], Answer)) -> Result<()> {
        for (key, _) in self.heavy_hitters(self.phi)? {
            let count = self.counted(self.digest(&*key));
            f(&key, Answer::counted(count));
        }
        Ok(())
    }
}

const STRICT: &str = "strict";
const SIGNED: &str = "signed";
const HEAVY: &str = "heavy";
const DYADIC: &str = "dyadic";

/// The most rows: δ = 10⁻³⁰⁰ needs 691.
const MOST_ROWS: u32 = 1023;
const MOST_STEP: u32 = 8;

const TURNSTILE: &[Ability] = &[Ability::Insert, Ability::Remove, Ability::Count, Ability::Merge];

/// The list entry.
pub static VARIANT: Variant = Variant::of::<CountMin>(Facts {
    id: 64,
    slug: "count-min",
    entry: "§6",
    question: "How much did each key bring, in a stream with deletions, and which keys are heavy?",
    name: "Count-min sketch",
    paper: "G. Cormode, S. Muthukrishnan, An improved data stream summary: the count-min sketch and its \
            applications, LATIN 2004 and J. Algorithms 55(1), 2005",
    family: "sketches",
    needs: &["membership", "delete", "count", "merge"],
    input: Input::valued(ValueKind::Count),
    meaning: "items are distinct keys to plan for, and the total of all counts when counted; the rate is that \
              of non-members with a count; the parameters `epsilon` and `delta` plan for the error of counts instead",
    forms: &[
        Form::removing(STRICT, TURNSTILE),
        Form::exact_while(SIGNED, TURNSTILE, "no total is below zero"),
        Form::exact(HEAVY, &[Ability::Insert, Ability::Count, Ability::Merge, Ability::List]),
        Form::removing(
            DYADIC,
            &[Ability::Insert, Ability::Remove, Ability::Count, Ability::Merge, Ability::List],
        ),
    ],
    operations: &[
        tell!(
            CountMin,
            "inner-product",
            "The sum over all keys of the products of their counts in this sketch and another one, at most.",
            [],
            [Filters],
            |sketch, given| {
                let products = given
                    .filters_of::<CountMin>()?
                    .into_iter()
                    .map(|other| sketch.inner_product(other));
                let text = |product: i128| product.to_string().into_bytes();
                Ok(Detail::List(products.map(|product| product.map(text)).collect::<Result<_>>()?))
            }
        ),
        tell!(
            CountMin,
            "heavy",
            "The keys with at least this share of the total, and their counts.",
            [Param::real("phi", 0.0, 1.0, "share of the total")],
            [],
            |sketch, given| {
                let row =
                    |(key, count): Heavy| [&key[..], count.to_string().as_bytes()].join(&b'\t');
                Ok(Detail::List(
                    sketch.heavy_hitters(given.real(0))?.into_iter().map(row).collect(),
                ))
            }
        ),
    ],
    params: &[
        Param::real(
            "epsilon",
            1e-12,
            1.0,
            "error of a count as a share of the total; w = ⌈e/epsilon⌉",
        ),
        Param::real("delta", 1e-300, 0.99, "probability of a larger error; d = ⌈ln(1/delta)⌉"),
        Param::integer("w", 1, 1 << 42, "counters per row"),
        Param::integer("d", 1, MOST_ROWS as u64, "number of rows; odd in the signed form"),
        Param::real(
            "phi",
            // Lists stay short, and so do files.
            1e-5,
            1.0,
            "lowest share of the total of a heavy key, in the forms that list",
        )
        .or(Preset::Real(0.01)),
        Param::integer("step", 1, MOST_STEP as u64, "bits per level, of the dyadic form")
            .or(Preset::Integer(8)),
    ],
    ..Facts::MULTISET
});

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Opener, to_bytes};

    #[test]
    fn files_whose_rows_are_of_another_form_are_refused() {
        let sketch = |form: &str| {
            let mut sketch =
                CountMin::builder().form(form).set("w", 20).set("d", 3).build().unwrap();
            sketch.insert_times("flow", 7).unwrap();
            sketch
        };
        for form in [STRICT, SIGNED, HEAVY, DYADIC] {
            let honest = sketch(form);
            let back: CountMin = Opener::new().decode_as(&to_bytes(&honest)).unwrap();
            assert_eq!(back, honest);
            for other in [STRICT, HEAVY, DYADIC].into_iter().filter(|other| *other != form) {
                if form == SIGNED && other == STRICT {
                    continue;
                }
                let head = Head { form: other, ..honest.head.clone() };
                assert!(
                    Opener::new().decode(&to_bytes(&CountMin { head, ..honest.clone() })).is_err()
                );
            }
            let mut short = honest.clone();
            short.levels.pop();
            assert!(Opener::new().decode(&to_bytes(&short)).is_err(), "{form}: a level is missing");
            let loud = CountMin { phi: f64::NAN, ..honest };
            assert!(Opener::new().decode(&to_bytes(&loud)).is_err(), "{form}: no share");
        }
    }

    /// Whatever the number of rows: those without a loop, few, and more than there are factors in the table.
    #[test]
    fn many_keys_at_once_count_like_one_by_one() {
        let keys: Vec<u64> = (0..1000).map(|i| i * i % 177).collect();
        let asked: Vec<u64> = (0..300).collect();
        for form in [STRICT, SIGNED, HEAVY, DYADIC] {
            for (d, hash) in [3, 5, 7, 21]
                .map(|d| (d, HashId::Fold64))
                .into_iter()
                .chain([(5, HashId::Xxh3_128)])
            {
                let make = || CountMin::builder().form(form).set("w", 200).set("d", d).hash(hash);
                let (mut one, mut many) = (make().build().unwrap(), make().build().unwrap());
                keys.iter().for_each(|key| _ = one.insert(key).unwrap());
                many.insert_many(&keys).unwrap();
                assert_eq!(one, many, "{form}, {d} rows, {hash}");
                assert_eq!(one.signed(), form == SIGNED);
                let counts: Vec<u64> = asked.iter().map(|key| one.count(key)).collect();
                assert_eq!(many.count_many(&asked), counts, "{form}, {d} rows, {hash}");
            }
        }
    }

    /// The second time a key comes, it is not new; in the signed form nothing is known to be.
    #[test]
    fn only_the_first_time_is_new() {
        for form in [STRICT, SIGNED, HEAVY, DYADIC] {
            let mut sketch =
                CountMin::builder().form(form).set("w", 200).set("d", 5).build().unwrap();
            assert_eq!(sketch.insert(&1u64).unwrap(), Seen::new_if(form != SIGNED), "{form}");
            assert_eq!(sketch.insert(&1u64).unwrap(), Seen::Maybe, "{form}");
        }
    }

    #[test]
    fn counters_stick_and_say_so() {
        let mut sketch = CountMin::with_shape(50, 3, Hasher::default()).unwrap();
        sketch.insert_times("heavy", u64::MAX).unwrap();
        sketch.insert_times("heavy", 5).unwrap();
        sketch.insert_times("light", 5).unwrap();
        let count = |key: &str| Count::count(&sketch, key.as_bytes());
        assert_eq!(count("heavy"), Counted::stuck_if(true, i64::MAX as u64));
        assert_eq!(count("light"), Counted::about(5));
    }
}
