//! The memory-optimized Bloom filter (Ahmadi and Wong 2008; catalogue I11; S0 §III-U, S3 §V-C, its
//! reference 102).
//!
//! A standard filter says of each key k times that it is there. Here one further hash function s chooses
//! one of the k cells, and only that one is written and read:
//!
//! ```text
//!   h1(x)   h2(x)     h3(x)        s(x) = 2
//!     ○       ●         ○
//!   0 0 0 1 0 1 0 0 0 0 0 0        one bit a key in place of k
//! ```
//!
//! That is a filter with one hash function, however many there are to choose from: n keys set n bits, and
//! f = 1 − (1 − 1/m)^n of all others pass, 11.8 % at eight bits a key where the standard filter has 2.2 %.
//! Fewer bits are set and fewer keys meet in a cell, but the rate gets worse (S3 says so).
//!
//! What the authors are after is not the bits: it is the table of *items* behind them, where a standard
//! filter's k cells would each hold a copy. Such a table has a cell for each bit, and [`cell`] says which one
//! an item belongs into.
//!
//! **Use it** to address such a table, or if there is time for only one memory access and bits are plenty.
//! **Don't** use it as a filter on its own: `bloom` is far better at any size. T4 lists a cost of removal, but the
//! filter cannot remove keys, because a bit may also belong to another key.
//!
//! [`cell`]: MemoryOptimized::cell

use crate::cells::Bits;
use crate::parts::probed_bits::{ProbedBits, Probes};
use crate::parts::{methods, owns, sets};
use crate::plan::check_cells;
use crate::probe::{Probe, multiply_shift};
use crate::state::{Decoder, Encoder, Inline};
use crate::theory::bloom as theory;
use crate::variant::prelude::*;

/// A set in m bits, one of k candidates set for each key; about items/rate bits.
///
/// ```
/// use everbloom::compact::MemoryOptimized;
///
/// let mut filter = MemoryOptimized::with_rate(1000, 0.01)?;
/// let mut table = vec![Vec::new(); filter.m() as usize];
/// filter.insert("rope");
/// table[filter.cell("rope") as usize].push("rope");
/// assert!(filter.contains("rope"));
/// assert!(table[filter.cell("rope") as usize].contains(&"rope"));
/// # Ok::<(), everbloom::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct MemoryOptimized {
    head: Head,
    chosen: ProbedBits<Chosen>,
}

state!(plain MemoryOptimized { head, ..chosen });

/// Candidates, of which a key has one.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Chosen(Probe);

impl Chosen {
    /// h_{s(x)}(x).
    #[inline]
    fn cell(&self, digest: Digest) -> u64 {
        let which = multiply_shift(digest.word(SELECTOR), u64::from(self.0.k()));
        self.0.nth(which as u32, digest)
    }
}

impl Inline for Chosen {
    fn save_fields<'a>(&'a self, out: &mut Encoder<'a>) {
        self.0.save_fields(out);
    }

    fn load_fields(src: &mut Decoder<'_>) -> Result<Self> {
        Probe::load_fields(src).map(Chosen)
    }
}

impl Probes for Chosen {
    fn m(&self) -> u64 {
        self.0.m()
    }

    /// Only the key's own cell is looked at, since the other candidates were never written for it.
    #[inline]
    fn all(&self, digest: Digest, mut f: impl FnMut(u64) -> bool) -> bool {
        f(self.cell(digest))
    }

    fn fpr(&self, bits: &Bits) -> f64 {
        bits.fill()
    }

    fn describe(&self) -> Vec<Fact> {
        vec![fact("m", self.m()), fact("k", self.0.k())]
    }

    fn check(&self, bits: u64) -> Result<()> {
        self.0.check_flat(bits)
    }

    fn agree(&self, other: &Self) -> Result<()> {
        self.0.agree(&other.0)
    }

    fn cardinality(&self, bits: &Bits) -> Option<f64> {
        theory::cardinality(bits.zeros(), self.m(), 1)
    }
}

/// The rate after `n` keys in `m` bits, 1 − (1 − 1/m)^n, whatever k is (catalogue I11).
pub fn fpr(m: u64, n: u64) -> f64 {
    theory::fill(m as f64, n as f64)
}

/// The fewest bits that keep `n` keys at a rate of `p`, 1/(1 − (1 − p)^{1/n}).
pub fn bits_for(n: u64, p: f64) -> f64 {
    (-1.0 / libm::expm1(libm::log1p(-p) / n as f64)).ceil().max(1.0)
}

impl MemoryOptimized {
    /// A filter of `m` bits and `k` candidates, at least one of each.
    pub fn with_shape(m: u64, k: u32, hasher: Hasher) -> Result<Self> {
        Self::empty(&Flat { m, k }, Head::new(hasher, FORM))
    }

    /// The cell that is the key's own: h_{s(x)}(x), one of m.
    #[inline]
    pub fn cell<K: Key + ?Sized>(&self, key: &K) -> u64 {
        self.chosen.probe.cell(self.head.hasher.digest(key))
    }

    /// Number of bits.
    pub fn m(&self) -> u64 {
        self.chosen.m()
    }

    /// Number of candidates per key.
    pub fn k(&self) -> u32 {
        self.chosen.probe.0.k()
    }

    /// The bits.
    pub fn bits(&self) -> &Bits {
        &self.chosen.bits
    }
}

/// The salt of the hash that selects.
const SELECTOR: u64 = 0x5E1E_C708;

impl Plan for MemoryOptimized {
    type Shape = Flat;

    fn plan(request: &Request<'_>) -> Result<Flat> {
        let k = request.whole(PARAM_K.name) as u32;
        if let Some(m) = request.integer(PARAM_M.name) {
            return Ok(Flat { m, k });
        }
        let (n, p) = request.items_and_rate(bits_for)?;
        let wanted = bits_for(n, p);
        check_cells(n, p, wanted)?;
        Ok(Flat { m: wanted as u64, k })
    }

    fn expect(shape: &Flat, load: &Load) -> Option<Expect> {
        let (m, n) = (shape.m as f64, load.distinct as f64);
        let fill = (theory::fill(m, n), theory::fill_sd(m, n));
        Some(Expect::one_sided(fpr(shape.m, load.distinct), shape.m, Some(fill)).probing(shape.k))
    }
}

impl Stream for MemoryOptimized {
    fn empty(flat: &Flat, head: Head) -> Result<Self> {
        let Flat { m, k } = flat.checked()?;
        Ok(Self { head, chosen: ProbedBits::probed(Chosen(Probe::over(m, k)))? })
    }
}

face!(MemoryOptimized: Insert, Merge, Bulk, BulkInsert);
planned!(MemoryOptimized);
owns!(MemoryOptimized { chosen: ProbedBits<Chosen> });
methods!(MemoryOptimized:
    insert, contains, clear, insert_many, contains_many, contains_many_into, contains_iter);
keyed!(MemoryOptimized: Insert);
sets!(@union MemoryOptimized: chosen);

by_part!(MemoryOptimized: chosen);

/// The list entry.
pub static VARIANT: Variant = Variant::of::<MemoryOptimized>(Facts {
    id: 45,
    slug: "memory-optimized",
    entry: "I11",
    question: "Is it in the set, with one cell written and read per key?",
    name: "Memory-optimized Bloom filter",
    paper: "M. Ahmadi, S. Wong, A memory-optimized Bloom filter using an additional hashing function, \
            IEEE GLOBECOM, 2008",
    family: "compact",
    needs: &["membership", "merge", "fast"],
    forms: &[Form::exact(FORM, &[Ability::Insert, Ability::Merge])],
    params: &[
        PARAM_M,
        Param {
            // The rate does not depend on them.
            default: Preset::Integer(4),
            help: "candidate cells of a key, of which one is used",
            ..PARAM_K
        },
    ],
    ..Facts::FILTER
});
