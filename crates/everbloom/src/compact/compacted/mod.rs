//! The compacted Bloom filter (Mosharraf, Jayasumana, Ray 2016; catalogue I9; S3 §V-C, its reference 100).
//!
//! A cheap and lossy way to shorten a filter before it is sent. The m bits are cut into k0 blocks that are
//! laid one over the other, and each column of k0 bits becomes one index of m0 bits:
//!
//! ```text
//!   block 1   0 1 0 1 0 0        no one                  0     (0)
//!   block 2   0 0 0 1 1 0        one, in block r         r     (1)
//!   block 3   0 0 0 1 0 1        half of them, or more   2^m0 − 1: all are taken for ones
//!   block 4   0 0 0 0 0 0        several, fewer          s, one of them: the others are lost
//!   block 5   0 0 0 0 1 0
//!   block 6   0 0 0 0 0 0        m0 = 3, and six columns of six bits become six indices of three
//!   ─────────────────────
//!   indices   0 1 0 7 s 3        s is 2 or 5
//! ```
//!
//! Raised zeros make false positives, and lost ones make **false negatives**: with a share L of the ones
//! lost, 1 − (1 − L)^k of the members are missed. Columns of up to four bits lose none, since two are half of
//! four: the form `one-sided` has k0 = 4, m0 = 3 and no false negatives, at ¾ of the bits. (S3's Table IV
//! says that there are never any, its text that there are. S3 also counts n indices and blocks; they are b,
//! as many as a block has bits, and k0.)
//!
//! Which of several ones is kept is random in the paper, so that two senders send different filters of one
//! set. Here it depends on the column and on the filter's seed alone.
//!
//! **Use it** to see what shortening without a coder costs: if both sides can code, `compressed` is smaller and
//! loses nothing. At 1 % the one-sided form takes 12 bits per key. The lossy form takes 44 and has 10 % false
//! negatives, where the standard filter takes 9.6. **Don't** if false negatives matter.

mod losses;

use crate::cells::{Bits, Packed};
use crate::hash::mix64;
use crate::parts::KeyPart;
use crate::parts::flat_bits::FlatBits;
use crate::plan::{MAX_CELLS, lowest};
use crate::probe::{Coincide, Probe, multiply_shift};
use crate::variant::prelude::*;

pub use losses::{Losses, fill_after};
use losses::{fill_sd, fullest, majority};

/// A standard filter whose columns of bits were each replaced by an index.
#[derive(Clone, Debug, PartialEq)]
pub struct Compacted {
    head: Head,
    probe: Probe,
    blocks: u32,
    indices: Packed,
    /// Ones before compaction.
    ones: u64,
    /// Those of them that read as zeros now.
    lost: u64,
}

state!(Compacted { head, probe, blocks, indices, ones, lost });

/// The indices of `bits` cut into `blocks` blocks, the last one padded with zeros, and the number of ones
/// that they lose. `width` is m0, from 2 to 16, and `blocks` is from 1 to 2^m0 − 2.
pub fn compact(bits: &Bits, blocks: u32, width: u32, seed: u64) -> (Packed, u64) {
    let columns = bits.len().div_ceil(u64::from(blocks));
    let mut indices = Packed::new(columns, width);
    let mut lost = 0;
    for column in 0..columns {
        let is_one = |block: &u32| {
            let i = u64::from(*block) * columns + column;
            i < bits.len() && bits.get(i)
        };
        let ones = (0..blocks).filter(is_one).count() as u32;
        let index = match ones {
            0 => 0,
            _ if majority(ones, blocks) => indices.max(),
            _ => {
                lost += u64::from(ones - 1);
                let chosen = multiply_shift(mix64(seed ^ mix64(column)), u64::from(ones));
                let block = (0..blocks).filter(is_one).nth(chosen as usize);
                u64::from(block.unwrap_or(0)) + 1
            }
        };
        indices.set(column, index);
    }
    (indices, lost)
}

/// The first `len` bits that `indices` of `blocks` blocks stand for.
pub fn expand(indices: &Packed, blocks: u32, len: u64) -> Bits {
    let mut bits = Bits::new(len);
    for (column, index) in (0u64..).zip(indices.iter()) {
        let written = match index {
            0 => 0..0,
            _ if index == indices.max() => 0..u64::from(blocks),
            _ => index - 1..index,
        };
        for i in written.map(|block| block * indices.len() + column).filter(|i| *i < len) {
            bits.set(i);
        }
    }
    bits
}

impl Compacted {
    /// Whether the key may be a member; a member may be missed.
    #[inline]
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        self.probe.all(self.head.hasher.digest(key), |i| self.reads_one(i))
    }

    #[inline]
    fn reads_one(&self, i: u64) -> bool {
        let columns = self.indices.len();
        let index = self.indices.get(i % columns);
        index == i / columns + 1 || index == self.indices.max()
    }

    /// The filter as the receiver would expand it.
    pub fn expand(&self) -> Bits {
        expand(&self.indices, self.blocks, self.m())
    }

    /// Number of bits before compaction, and as the receiver reads them.
    pub fn m(&self) -> u64 {
        self.probe.m()
    }

    /// Share of the ones that compaction lost.
    pub fn lost(&self) -> f64 {
        self.lost as f64 / self.ones.max(1) as f64
    }

    /// Share of bits that read as one.
    fn share(&self) -> f64 {
        let read = |index: u64| match index {
            0 => 0,
            _ if index == self.indices.max() => u64::from(self.blocks),
            _ => 1,
        };
        self.indices.iter().map(read).sum::<u64>() as f64 / self.m() as f64
    }

    fn check(&self) -> Result<()> {
        let corrupt = |message: &str| Err(Error::corrupt(0, format!("corrupt filter: {message}")));
        let Some(m) = self.indices.len().checked_mul(self.blocks.into()) else {
            return corrupt("blocks of more than 2^64 bits");
        };
        self.probe.check_flat(m)?;
        if !VARIANT.takes("index-bits", self.indices.width())
            || u64::from(self.blocks) >= self.indices.max()
        {
            return corrupt("more blocks than an index can name");
        }
        let known = |index: u64| index <= self.blocks.into() || index == self.indices.max();
        if !self.indices.iter().all(known) {
            return corrupt("an index names a block that is not there");
        }
        if self.lost > self.ones || self.ones > m {
            return corrupt("more ones than bits");
        }
        if self.head.form == ONE_SIDED && (self.blocks > LOSSLESS || self.lost > 0) {
            return corrupt("a one-sided filter that lost ones");
        }
        Ok(())
    }
}

/// The most blocks of which none is ever lost: there is no number between 1 and 4/2.
const LOSSLESS: u32 = 4;

/// The filter before compaction, and how it is cut.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    flat: Flat,
    blocks: u32,
    width: u32,
}

impl Plan for Compacted {
    type Shape = Shape;

    /// The least filter whose rate *after* compaction is the one asked for and that misses at most a share
    /// `fnr` of its members.
    fn plan(request: &Request<'_>) -> Result<Shape> {
        let width = request.whole("index-bits") as u32;
        let one_sided = request.form() == ONE_SIDED;
        let most = (1 << width) - 2;
        let usual = if one_sided { LOSSLESS.min(most) } else { most };
        let blocks = request.integer("blocks").map_or(usual, |b| b as u32);
        if blocks > most {
            let all = most + 1;
            let message = format!(
                "indices of {width} bits name at most {most} blocks, since 0 and {all} mean none and all"
            );
            return Err(Error::setting("blocks", blocks, message));
        }
        if one_sided && blocks > LOSSLESS {
            let message = format!(
                "more than {LOSSLESS} lose ones, and so members, unlike the form {ONE_SIDED}"
            );
            return Err(Error::setting("blocks", blocks, message));
        }
        let fnr = request.number("fnr");
        let cells = |n: u64, p: f64, k: u32| {
            k as f64 * n as f64 / -libm::log1p(-fullest(blocks, k, p, fnr))
        };
        // Whole columns, as many as it takes.
        let columns = |m: f64| (m / f64::from(blocks)).ceil().max(1.0);
        let k_set = request.integer(PARAM_K.name).map(|k| k as u32);
        if let Some(m) = request.integer(PARAM_M.name) {
            let k = k_set.ok_or_else(|| {
                Error::parameter("{m} also needs {k}: there is no best one before compaction")
            })?;
            let m = columns(m as f64) as u64 * u64::from(blocks);
            return Ok(Shape { flat: Flat { m, k }, blocks, width });
        }
        let sized = |n: u64, p: f64| {
            let (k, m) = match k_set {
                Some(k) => (k, cells(n, p, k)),
                None => lowest(1, |k| cells(n, p, k)),
            };
            (k, columns(m))
        };
        let (n, p) = request.items_and_rate(|n, p| sized(n, p).1 * f64::from(width))?;
        let (k, columns) = sized(n, p);
        // Asked the negative way, so that NaN is refused too.
        let fits = columns * f64::from(blocks) <= MAX_CELLS as f64;
        if !fits {
            return Err(Error::parameter(format!(
                "{n} items at a rate of {p} need {columns:e} indices: use fewer {{items}}, a higher \
                 {{rate}} or more false negatives, {{fnr}}"
            )));
        }
        let flat = Flat { m: columns as u64 * u64::from(blocks), k };
        Ok(Shape { flat, blocks, width })
    }

    fn expect(shape: &Shape, load: &Load) -> Option<Expect> {
        let Shape { flat, blocks, width } = *shape;
        let (fill, _) = flat.fill(load.distinct);
        let columns = flat.m / u64::from(blocks);
        let after = fill_after(blocks, fill);
        let thrown = f64::from(flat.k) * load.distinct as f64 / flat.m as f64;
        let sd = fill_sd(blocks, fill, thrown, columns as f64);
        let (fpr, bits) = (libm::pow(after, flat.k.into()), columns * u64::from(width));
        let fnr = Losses::of(blocks, fill).fnr(flat.k);
        Some(Expect { fnr, ..Expect::one_sided(fpr, bits, Some((after, sd))).probing(flat.k) })
    }
}

impl Create for Compacted {
    fn create(shape: &Shape, mut head: Head, inputs: &mut Inputs<'_>) -> Result<Self> {
        let Shape { flat, blocks, width } = *shape;
        let (mut flat, hasher) = (FlatBits::new(flat)?, head.hasher.clone());
        inputs.records.digests(&hasher, &mut |digests| {
            flat.insert_all(digests);
            head.count(digests.len() as u64);
        })?;
        let FlatBits { probe, bits } = flat;
        let (indices, lost) = compact(&bits, blocks, width, hasher.seed());
        let mut filter = Self { head, probe, blocks, indices, ones: bits.ones(), lost };
        filter.head.fnr = filter.now().fnr;
        Ok(filter)
    }
}

face!(Compacted: );
built!(Compacted);

impl Filter for Compacted {
    fn query(&self, record: Record<'_>) -> Result<Answer> {
        Ok(Answer::of(self.contains(record.key)))
    }

    /// Share of bits that read as one.
    fn fill(&self) -> Option<f64> {
        Some(self.share())
    }

    fn now(&self) -> Rates {
        let k = self.probe.k();
        let losses = Losses { lost: self.lost(), raised: 0.0 };
        let fpr = libm::pow(self.share(), k.into());
        Rates { fpr: Some(fpr), fnr: Some(losses.fnr(k)), undecided: None }
    }

    fn describe(&self) -> Vec<Fact> {
        vec![
            fact("m", self.m()),
            fact("k", self.probe.k()),
            fact("blocks", self.blocks),
            fact("index bits", self.indices.width()),
            real("ones lost", self.lost()),
        ]
    }

    /// The indices of the key's columns.
    fn trace(&self, key: &[u8]) -> Vec<Touched> {
        let columns = self.indices.len();
        let bits = self.probe.collect(self.head.hasher.digest(key), Coincide::PerHash);
        let cell = |&i: &u64| Touched {
            index: i % columns,
            value: self.indices.get(i % columns),
            agrees: self.reads_one(i),
        };
        bits.iter().map(cell).collect()
    }
}

const LOSSY: &str = "lossy";
const ONE_SIDED: &str = "one-sided";

/// The list entry.
pub static VARIANT: Variant = Variant::of::<Compacted>(Facts {
    id: 44,
    slug: "compacted",
    entry: "I9",
    question: "Is it in the set, sent in few bits without an entropy coder?",
    name: "Compacted Bloom filter",
    paper: "N. Mosharraf, A. P. Jayasumana, I. Ray, Compacted Bloom filter, IEEE Int. Conf. on \
            Collaboration and Internet Computing (CIC), 2016",
    family: "compact",
    needs: &["membership", "compact", "static"],
    meaning: "items are keys, the rate is the false-positive rate after compaction",
    forms: &[
        Form::lossy(
            LOSSY,
            &[],
            "of several ones in a column, fewer than half, all but one are lost",
        ),
        Form::exact(ONE_SIDED, &[]),
    ],
    params: &[
        PARAM_M,
        PARAM_K,
        Param::integer(
            "blocks",
            1,
            254,
            "k0, bits per column: 2^m0 − 2, or 4 if no one may be lost",
        ),
        // With one bit no block could be named; with eight, 254 can.
        Param::integer("index-bits", 2, 8, "m0, bits per index").or(Preset::Integer(3)),
        Param::real("fnr", 1e-9, 1.0, "false-negative rate").or(Preset::Real(0.1)),
    ],
    ..Facts::FILTER
});
