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
//! **Slow:** an update puts a bit into every layer that its counters reach, or takes one out, and moves what is
//! behind it. A query is not concerned.
//!
//! **Use it** instead of `counting` if memory is scarce and lookups outnumber updates. **Don't** for keys that are
//! inserted thousands of times: a count of f takes f bits, which move when it changes; use `dynamic-count` or
//! `spectral`.

use crate::cells::Layers;
use crate::parts::owns;
use crate::parts::tally::{Cells, Tallies, Tally};
use crate::probe::Probe;
use crate::variant::prelude::*;

/// A multiset in m counters of as many bits as they need.
///
/// ```
/// let mut open = everbloom::counting::MultilayerCounting::with_rate(1000, 0.01)?;
/// (0..20).for_each(|_| { open.insert("file"); });
/// assert_eq!(open.count("file"), 20);
/// open.remove("file")?;
/// assert_eq!(open.count("file"), 19);
/// # Ok::<(), everbloom::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct MultilayerCounting {
    head: Head,
    tallies: Tallies<Layers>,
}

state!(MultilayerCounting { head, ..tallies });

impl Cells for Layers {
    const NAME: &'static str = "layers";
    const TOLD: bool = false;

    fn facts(&self) -> Vec<Fact> {
        vec![fact("layer bits", self.bits())]
    }

    fn len(&self) -> u64 {
        Layers::len(self)
    }

    fn get(&self, i: u64) -> u64 {
        Layers::get(self, i)
    }

    #[inline]
    fn any(&self, i: u64) -> bool {
        Layers::any(self, i)
    }

    fn nonzero(&self) -> u64 {
        Layers::nonzero(self)
    }
}

impl Tally for Layers {
    fn raise(&mut self, i: u64, by: u64) -> bool {
        let zero = !Layers::any(self, i);
        (0..by).for_each(|_| self.increment(i));
        zero
    }

    fn lower(&mut self, i: u64, by: u64) {
        (0..by).for_each(|_| self.decrement(i));
    }

    fn agree(&self, _other: &Self) -> Result<()> {
        Ok(())
    }

    fn add(&mut self, other: &Self) {
        Layers::add(self, other);
    }
}

impl MultilayerCounting {
    /// A filter of `m` counters and `k` probes.
    pub fn with_shape(m: u64, k: u32, hasher: Hasher) -> Result<Self> {
        empty(&Goal::of(hasher).set("m", m).set("k", k))
    }

    /// The counters.
    pub fn layers(&self) -> &Layers {
        &self.tallies.cells
    }

    /// Inserts a key, again if already present.
    #[inline]
    pub fn insert<K: Key + ?Sized>(&mut self, key: &K) -> Seen {
        let digest = self.head.hasher.digest_usually(Self::HASH, key);
        self.head.count_one();
        Seen::new_if(self.tallies.insert(digest))
    }

    /// Whether the key may be a member.
    #[inline]
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        self.tallies.contains(self.head.hasher.digest_usually(Self::HASH, key))
    }

    /// Removes a key that was inserted. Refused, with nothing changed, if one of its counters is lower than the removal
    /// would take.
    pub fn remove<K: Key + ?Sized>(&mut self, key: &K) -> Result<()> {
        self.tallies.remove(self.head.hasher.digest_usually(Self::HASH, key))?;
        self.head.count_off();
        Ok(())
    }

    /// How often the key was inserted: never too low while only members are removed.
    pub fn count<K: Key + ?Sized>(&self, key: &K) -> u64 {
        self.tallies.count(self.head.hasher.digest_usually(Self::HASH, key)).whole()
    }

    fn check(&self) -> Result<()> {
        self.tallies.check_flat()
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
        Some(shape.expect(load, bits(shape.m, load.items, shape.k)))
    }
}

impl Stream for MultilayerCounting {
    fn empty(&Flat { m, k }: &Flat, head: Head) -> Result<Self> {
        let cells = Layers::try_new(m)?;
        Ok(Self { head, tallies: Tallies { probe: Probe::over(m, k), cells } })
    }
}

face!(MultilayerCounting: Insert, Remove, Count, Merge);
planned!(MultilayerCounting);
owns!(MultilayerCounting { tallies: Tallies<Layers> });
keyed!(MultilayerCounting: Insert, Remove);

impl Count for MultilayerCounting {
    fn count(&self, key: &[u8]) -> Counted {
        self.tallies.count(self.head.hasher.digest(key))
    }
}

by_part!(MultilayerCounting: tallies);

/// The list entry.
pub static VARIANT: Variant = Variant::of::<MultilayerCounting>(Facts {
    id: 51,
    slug: "multilayer-counting",
    entry: "C2",
    question: "How often was it added, with small counters that overflow into further layers?",
    name: "Multilayer compressed counting Bloom filter (ML-CCBF)",
    paper: "D. Ficara, S. Giordano, G. Procissi, F. Vitucci, MultiLayer compressed counting Bloom filters, \
            INFOCOM 2008",
    family: "counting",
    needs: &["membership", "delete", "count", "merge", "compact"],
    forms: &[Form::COUNTING],
    params: &[PARAM_M, PARAM_K],
    ..Facts::MULTISET
});
