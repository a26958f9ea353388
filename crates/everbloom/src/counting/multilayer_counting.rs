//! The multilayer compressed counting filter, ML-CCBF (Ficara, Giordano, Procissi, Vitucci 2008; catalogue C2;
//! S0 §III-A).
//!
//! Of a counting filter's 4-bit counters half are zero, a third are one, and one in a hundred million needs
//! the fourth bit. Here a counter of φ is φ ones and a zero, the best code for such counters, and the
//! bits of all codes are sorted into layers:
//!
//! ```text
//!   layer 0   1 0 0 1 0 1 0 1     the standard filter: all that a query looks at
//!   layer 1   1 1 0 0             a bit for each one below, in their order: are there more?
//!   layer 2   0 0                 the j-th one of a layer owns the j-th bit of the next
//! ```
//!
//! That is m + nk bits for n keys and k hashes, exactly: 1.69 bits a counter instead of four, where the
//! entropy is 1.59. No counter overflows, ever, and a lookup is as fast as a standard filter's.
//!
//! The layers above 0 are kept for 512 counters at a time ([`Layers`]), so that an update moves a few words
//! and not half the filter, and ranks are counted within 512 bits. (S0 speaks of a hierarchy of hash-based
//! filters; that is the paper's other structure, ML-HCBF.)
//!
//! **Use it** in place of `counting` where memory is scarce and lookups outnumber updates. **Don't** for
//! keys that come thousands of times: a count of f takes f bits and as many steps to change;
//! `dynamic-count` and `spectral` are made for that.

use crate::cells::Layers;
use crate::parts::tally::{self, Tally};
use crate::probe::{Coincide, Probe};
use crate::variant::prelude::*;

/// A multiset in m counters of as many bits as they need.
///
/// ```
/// let mut open = everbloom::counting::MultilayerCounting::with_rate(1000, 0.01)?;
/// (0..20).for_each(|_| { open.insert("file"); });
/// assert_eq!(open.count("file"), 20);
/// open.remove("file")?;
/// assert_eq!(open.count("file"), 19);
/// # Ok::<(), everbloom::error::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct MultilayerCounting {
    head: Head,
    probe: Probe,
    layers: Layers,
}

state!(MultilayerCounting { head, probe, layers });

impl Tally for Layers {
    fn get(&self, i: u64) -> u64 {
        Layers::get(self, i)
    }

    fn any(&self, i: u64) -> bool {
        Layers::any(self, i)
    }

    fn raise(&mut self, i: u64, by: u64) -> bool {
        let zero = !Layers::any(self, i);
        (0..by).for_each(|_| self.increment(i));
        zero
    }

    fn lower(&mut self, i: u64, by: u64) {
        (0..by).for_each(|_| self.decrement(i));
    }
}

impl MultilayerCounting {
    /// A filter of `m` counters and `k` probes.
    pub fn with_shape(m: u64, k: u32, hasher: Hasher) -> Result<Self> {
        let flat = Flat { m: m.max(1), k: k.max(1) };
        Self::empty(&flat, Head::new(hasher, FORM))
    }

    /// Inserts a key, once more if it is there.
    pub fn insert<K: Key + ?Sized>(&mut self, key: &K) -> Seen {
        let digest = self.head.hasher.digest(key);
        self.head.count(1);
        tally::insert(&mut self.layers, &self.probe, digest, 1)
    }

    /// Removes a key that was inserted. Refused, with nothing changed, unless every counter holds at
    /// least as much as the key would take.
    pub fn remove<K: Key + ?Sized>(&mut self, key: &K) -> Result<()> {
        let digest = self.head.hasher.digest(key);
        tally::remove(&mut self.layers, &self.probe, digest)?;
        self.head.items = self.head.items.saturating_sub(1);
        Ok(())
    }

    /// Whether the key may be a member: layer 0 alone knows.
    #[inline]
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        tally::contains(&self.layers, &self.probe, self.head.hasher.digest(key))
    }

    /// How often the key was inserted: never too low while only members are removed.
    pub fn count<K: Key + ?Sized>(&self, key: &K) -> u64 {
        tally::count(&self.layers, &self.probe, self.head.hasher.digest(key))
    }

    /// The counters.
    pub fn layers(&self) -> &Layers {
        &self.layers
    }

    fn check(&self) -> Result<()> {
        self.probe.check_flat(self.layers.len())
    }

    fn used(&self) -> f64 {
        self.layers.nonzero() as f64 / self.layers.len() as f64
    }
}

/// Bits of all layers with `n` keys inserted, m + nk; at the best k, 1 + ln 2 = 1.6931 a counter
/// (catalogue C2).
pub fn bits(m: u64, n: u64, k: u32) -> u64 {
    m.saturating_add(n.saturating_mul(k.into()))
}

impl Plan for MultilayerCounting {
    type Shape = Flat;

    fn plan(request: &Request<'_>) -> Result<Flat> {
        Flat::plan_sized(request, |m, n, k| m + n as f64 * f64::from(k))
    }

    fn expect(shape: &Flat, load: &Load) -> Option<Expect> {
        let bits = bits(shape.m, load.items, shape.k);
        let n = load.distinct;
        Some(Expect::one_sided(shape.fpr(n), bits, Some(shape.fill(n))))
    }
}

impl Stream for MultilayerCounting {
    fn empty(shape: &Flat, head: Head) -> Result<Self> {
        Ok(Self { head, probe: Probe::over(shape.m, shape.k), layers: Layers::new(shape.m) })
    }
}

face!(MultilayerCounting: Insert, Remove, Count, Merge);
planned!(MultilayerCounting);

impl Filter for MultilayerCounting {
    fn query(&self, record: Record<'_>) -> Result<Answer> {
        let count = self.count(record.key);
        Ok(Answer::of(count > 0).with(Detail::Count(Counted::about(count))))
    }

    fn fill(&self) -> Option<f64> {
        Some(self.used())
    }

    fn now(&self) -> Rates {
        Rates::one_sided(libm::pow(self.used(), f64::from(self.probe.k())))
    }

    fn describe(&self) -> Vec<Fact> {
        vec![
            fact("m", self.layers.len()),
            fact("k", self.probe.k()),
            fact("layer bits", self.layers.bits()),
        ]
    }

    fn trace(&self, key: &[u8]) -> Vec<Touched> {
        let indices = self.probe.collect(self.head.hasher.digest(key), Coincide::PerHash);
        touched(&indices, |i| self.layers.get(i))
    }
}

keyed!(MultilayerCounting: Insert, Remove, Count);

impl Merge for MultilayerCounting {
    fn law(&self) -> MergeLaw {
        MergeLaw::Multiset
    }

    fn merge(&mut self, other: &dyn Filter) -> Result<()> {
        let other: &MultilayerCounting = other.as_same()?;
        self.head.agree(&other.head)?;
        self.probe.agree(&other.probe)?;
        self.layers.add(&other.layers);
        self.head.count(other.head.items);
        Ok(())
    }
}

const FORM: &str = "standard";

/// The list entry.
pub static VARIANT: Variant = Variant {
    facts: Facts {
        id: 51,
        slug: "multilayer-counting",
        entry: "C2",
        name: "Multilayer compressed counting Bloom filter (ML-CCBF)",
        paper: "D. Ficara, S. Giordano, G. Procissi, F. Vitucci, MultiLayer compressed counting Bloom filters, \
                INFOCOM 2008",
        family: "counting",
        needs: &["membership", "delete", "count", "merge", "compact"],
        meaning: "items are insertions minus removals, the rate is that of false positives",
        forms: &[Form {
            name: FORM,
            abilities: &[Ability::Insert, Ability::Remove, Ability::Count, Ability::Merge],
            false_negatives: FalseNegatives::NeverWhile("only keys that were inserted are removed"),
        }],
        params: &[PARAM_M, PARAM_K],
        ..Facts::FILTER
    },
    ops: Ops::of::<MultilayerCounting>(),
};
