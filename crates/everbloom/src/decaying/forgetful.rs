//! The forgetful Bloom filter (Subramanyam, Gupta, Leslie, Wang 2015; catalogue §33; S3 ref. 139 §VII-B).
//!
//! Time is cut into epochs, with a filter for each: the future one F₀, the present one F₁ and p past ones. A key
//! goes into the future and the present filter at once; at the end of an epoch all move on by one, and the oldest
//! is dropped:
//!
//! ```text
//!            future   present   past …                           a key is found where two neighbors have it
//!   insert   F₀ x     F₁ x      F₂       F₃       F₄
//!   refresh  F₀       F₁ x      F₂ x     F₃       F₄
//!   refresh  F₀       F₁        F₂ x     F₃ x     F₄
//!   refresh  F₀       F₁        F₂       F₃ x     F₄ x           p = 3: found after 0 … 3 refreshes, then gone
//! ```
//!
//! A non-member passes only if two neighbors let it pass: 1 − Π(1 − fᵢ·fᵢ₊₁), 4·10⁻⁴ where each filter alone has 1
//! %. That needs hash functions of its own for each filter, which it keeps while it grows old. S3 does not say so;
//! but all keys of F₀ are in F₁, too, and under the same hash functions F₁ would have every bit of F₀, so that
//! asking both would be asking one.
//!
//! A key that is found is not inserted again: its life does not begin anew, and one that comes in every epoch is
//! forgotten p + 1 refreshes after its first arrival, and is then new. Likewise, a key that was a false positive when it
//! came is gone as soon as the filters that let it pass are.
//!
//! An epoch ends with a tick, or after as many new keys as the filter is planned for. F₀ then holds n keys and the
//! others 2n. [`Forgetful::adapt`] drops the oldest filters where the rate is too high, as S3 advises.
//!
//! **Use it** to take each key once per few epochs, at a low rate from small filters. **Don't** to find every repetition
//! in a window (`active-active`), or if queries must be cheap: one for a non-member probes up to p + 2 filters.

use super::no_items;
use crate::parts::generations::{Generations, MAX_GENERATIONS};
use crate::parts::several::expected_fill;
use crate::variant::prelude::*;

/// Epochs of new keys, in filters that are queried in pairs.
///
/// ```
/// let mut seen = everbloom::decaying::Forgetful::with_rate(1000, 0.01)?;
/// seen.insert("apple");
/// seen.refresh();
/// assert!(seen.contains("apple"));
/// (0..3).for_each(|_| seen.refresh());
/// assert!(!seen.contains("apple"));
/// # Ok::<(), everbloom::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Forgetful {
    head: Head,
    /// F₀, F₁, …
    filters: Generations,
    /// Insertions after which an epoch ends by itself.
    epoch: u64,
    /// Insertions in this epoch.
    inserted: u64,
}

state!(Forgetful { head, filters, epoch, inserted });

/// The rate of filters with these rates, newest first, if a key passes where two neighbors let it pass.
pub fn pair_rate(rates: &[f64]) -> f64 {
    let absent = rates.windows(2).map(|pair| libm::log1p(-pair[0] * pair[1]));
    -libm::expm1(absent.sum::<f64>())
}

/// The rate of each filter for an overall rate of `fpr` with `past` filters of the past.
pub fn filter_rate(fpr: f64, past: u64) -> f64 {
    (-libm::expm1(libm::log1p(-fpr) / (past + 1) as f64)).sqrt()
}

impl Forgetful {
    /// `past` + 2 filters of `m` bits and `k` probes each; an epoch ends after `epoch` insertions.
    pub fn with_shape(m: u64, k: u32, past: u64, epoch: u64, hasher: Hasher) -> Result<Self> {
        let goal = Goal::of(hasher).set("m", m).set("k", k).set("past", past);
        empty(&Goal { items: Some(epoch), ..goal })
    }

    /// Inserts a key into the future and the present filter, unless it seems to be there.
    pub fn insert<K: Key + ?Sized>(&mut self, key: &K) -> Seen {
        let digest = self.head.hasher.digest(key);
        self.head.count(1);
        if self.has(digest) {
            return Seen::Maybe;
        }
        self.filters.insert(0, digest);
        self.filters.insert(1, digest);
        self.inserted += 1;
        if self.inserted >= self.epoch {
            self.refresh();
        }
        Seen::New
    }

    /// Whether the key seems to have been new in this epoch or one of the p before it.
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        self.has(self.head.hasher.digest(key))
    }

    /// The newest pair first: most keys that are asked for came lately.
    #[inline]
    fn has(&self, digest: Digest) -> bool {
        let mut before = self.filters.contains(0, digest);
        (1..self.filters.len()).any(|i| {
            let now = self.filters.contains(i, digest);
            std::mem::replace(&mut before, now) && now
        })
    }

    /// Ends the epoch: drops the oldest filter, moves all others on by one, and begins a new future.
    pub fn refresh(&mut self) {
        self.filters.shift();
        self.inserted = 0;
    }

    /// p, the filters of the past.
    pub fn past(&self) -> u64 {
        self.filters.len() as u64 - 2
    }

    /// Sets the number of past filters: drops the oldest, or adds empty ones.
    pub fn keep(&mut self, past: u64) -> Result<()> {
        let most = MAX_GENERATIONS as u64 - 2;
        if past > most {
            return Err(Error::setting("past", past, format!("at most {most} past filters")));
        }
        self.filters.resize(past as usize + 2)
    }

    /// Drops past filters until the rate is at most `fpr`, or none is left; returns how many there are now.
    pub fn adapt(&mut self, fpr: f64) -> u64 {
        let rates = self.rates();
        let fits = |past: &u64| pair_rate(&rates[..*past as usize + 2]) <= fpr;
        let past = (0..=self.past()).rev().find(fits).unwrap_or(0);
        // Dropping allocates nothing.
        let _ = self.filters.resize(past as usize + 2);
        past
    }

    fn rates(&self) -> Vec<f64> {
        (0..self.filters.len()).map(|i| self.filters.fpr(i)).collect()
    }

    fn check(&self) -> Result<()> {
        self.filters.check_len(|len| len >= 2)?;
        if self.inserted < self.epoch {
            return Ok(());
        }
        Err(Error::corrupt(0, "corrupt filter: an epoch that should have ended"))
    }
}

/// One filter's bits and probes, past filters, and keys per epoch.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    flat: Flat,
    past: u64,
    epoch: u64,
}

impl Shape {
    /// What the filter at `i` holds after `n` insertions: those of two epochs, or of one begun.
    fn held(&self, i: u64, n: u64) -> u64 {
        let (done, begun) = (n / self.epoch, n % self.epoch);
        let of = |back: u64| match back {
            0 => begun,
            _ if back <= done => self.epoch,
            _ => 0,
        };
        of(i) + i.checked_sub(1).map_or(0, of)
    }
}

impl Plan for Forgetful {
    type Shape = Shape;

    fn plan(request: &Request<'_>) -> Result<Shape> {
        let past = request.whole("past");
        let held = |n: u64, p: f64| (n.saturating_mul(2), filter_rate(p, past));
        let plan = Flat::plan_held(request, held, |m, _| m * (past + 2) as f64)?;
        Ok(Shape { flat: plan.0.checked()?, past, epoch: plan.1.ok_or_else(no_items)? })
    }

    fn expect(shape: &Shape, load: &Load) -> Option<Expect> {
        let (flat, n) = (shape.flat, load.distinct);
        let held: Vec<u64> = (0..shape.past + 2).map(|i| shape.held(i, n)).collect();
        let rates: Vec<f64> = held.iter().map(|n| flat.fpr(*n)).collect();
        let fill = expected_fill(held.iter().map(|n| (flat.m, flat.fill(*n))));
        let lives = (n % shape.epoch).saturating_add(shape.past.saturating_mul(shape.epoch));
        let fnr = if n == 0 { 0.0 } else { 1.0 - lives.min(n) as f64 / n as f64 };
        let bits = flat.m.saturating_mul(shape.past + 2);
        Some(Expect { fnr, ..Expect::one_sided(pair_rate(&rates), bits, fill).probing(flat.k) })
    }
}

impl Stream for Forgetful {
    fn empty(shape: &Shape, head: Head) -> Result<Self> {
        let filters = Generations::new(shape.flat, shape.past as usize + 2)?;
        Ok(Self { head, filters, epoch: shape.epoch, inserted: 0 })
    }
}

face!(Forgetful: Insert, Age);
planned!(
    Forgetful:
    "A filter for epochs of `items` new keys, which finds those of the last three, at a false-positive rate of `fpr`."
);
keyed!(Forgetful: Insert);

impl Filter for Forgetful {
    fn query(&self, record: Record<'_>) -> Result<Answer> {
        Ok(Answer::of(self.contains(record.key)))
    }

    fn fill(&self) -> Option<f64> {
        Some(self.filters.fill())
    }

    /// Members are the keys that were new in this epoch or one of the p before it.
    fn now(&self) -> Rates {
        Rates::one_sided(pair_rate(&self.rates()))
    }

    fn describe(&self) -> Vec<Fact> {
        let mut facts = self.filters.describe();
        facts.extend([fact("past", self.past()), fact("epoch", self.epoch)]);
        facts.push(fact("inserted in this epoch", self.inserted));
        facts
    }

    fn trace(&self, key: &[u8]) -> Vec<Touched> {
        self.filters.trace(0..self.filters.len(), self.head.hasher.digest(key))
    }
}

impl Age for Forgetful {
    /// A tick ends an epoch.
    fn age(&mut self, ticks: u64) {
        if ticks > 0 {
            self.filters.age(ticks);
            self.inserted = 0;
        }
    }
}

const PAST: Param =
    Param::integer("past", 0, 1000, "filters of the past, beside the present and the future one")
        .or(Preset::Integer(3));

/// The list entry.
pub static VARIANT: Variant = Variant::of::<Forgetful>(Facts {
    id: 85,
    slug: "forgetful",
    entry: "§33",
    question: "Was it new in one of the last few epochs?",
    name: "Forgetful Bloom filter",
    paper: "R. Subramanyam, I. Gupta, L. M. Leslie, W. Wang, Idempotent distributed counters using a \
            forgetful Bloom filter, ICCAC 2015",
    family: "decaying",
    needs: &["decay", "accurate"],
    meaning: "items are the new keys of an epoch, the rate is the false-positive rate for ever",
    forms: &[Form::lossy(
        FORM,
        &[Ability::Insert, Ability::Age],
        "keys are forgotten some epochs after the one in which they were new; coming again does not renew them",
    )],
    operations: &[
        change!(
            Forgetful,
            "adapt",
            "Drop the oldest filters until the false-positive rate is low enough.",
            [Param::real("fpr", 0.0, 1.0, "maximum false-positive rate")],
            [],
            |filter, given| {
                let before = filter.past();
                Ok(filter.adapt(given.real(0)) < before)
            }
        ),
        change!(
            Forgetful,
            "keep",
            "Set the number of past filters: drop the oldest, or add empty ones.",
            [Param { default: Preset::Planned, ..PAST }],
            [],
            |filter, given| {
                let before = filter.past();
                filter.keep(given.whole(0))?;
                Ok(filter.past() != before)
            }
        ),
    ],
    params: &[Param { help: "bits of each filter", ..PARAM_M }, PARAM_K, PAST],
    ..Facts::FILTER
});

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shared_tests::lies_are_refused;

    #[test]
    fn files_with_epochs_that_should_have_ended_are_refused() {
        let mut f = Forgetful::with_shape(100, 3, 2, 4, Hasher::default()).unwrap();
        f.extend(["a", "b", "c"]);
        let lies: [fn(&mut Forgetful); 3] =
            [|f| f.epoch = 3, |f| f.inserted = 4, |f| f.filters.resize(1).unwrap()];
        lies_are_refused(&f, lies);
    }
}
