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
//! **Use it** to see what shortening without a coder costs: where both sides can code, `compressed` is
//! smaller and loses nothing. At 1 % the one-sided form takes 12 bits a key and the lossy one 44 to miss
//! 10 % of the members, where the standard filter takes 9.6. **Don't** where a missed member matters.

use crate::cells::{Bits, Packed};
use crate::hash::mix64;
use crate::memory::check_room;
use crate::plan::{MAX_CELLS, lowest};
use crate::probe::{Coincide, Probe, multiply_shift};
use crate::theory::tail::binomial_pmf;
use crate::variant::prelude::*;

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

/// Whether `ones` of `blocks` bits are written as all of them.
///
/// S3 says "more than half" and, for the last rule, "less than half". Half is taken for more here: that way
/// no one is lost.
fn majority(ones: u32, blocks: u32) -> bool {
    ones > 1 && 2 * ones >= blocks
}

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

/// What compaction does to an array with a share `fill` of ones.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Losses {
    /// Share of ones that become zeros, L = E[(c − 1)·1{1 < c < k0/2}]/(k0·p) (catalogue I9).
    pub lost: f64,
    /// Share of zeros that become ones, R = E[(k0 − c)·1{c ≥ max(2, k0/2)}]/(k0·(1 − p)).
    pub raised: f64,
}

impl Losses {
    /// Of columns of `blocks` bits, each of them one with probability `fill`.
    pub fn of(blocks: u32, fill: f64) -> Self {
        let columns = |value: &dyn Fn(u32) -> u32| mean(blocks, fill, |c| f64::from(value(c)));
        let lost = columns(&|c| if c > 1 && !majority(c, blocks) { c - 1 } else { 0 });
        let raised = columns(&|c| if majority(c, blocks) { blocks - c } else { 0 });
        let share = |part: f64, whole: f64| if whole > 0.0 { part / whole } else { 0.0 };
        let all = f64::from(blocks);
        Self { lost: share(lost, all * fill), raised: share(raised, all * (1.0 - fill)) }
    }

    /// P(a member is missed), 1 − (1 − L)^k.
    pub fn fnr(&self, k: u32) -> f64 {
        -libm::expm1(f64::from(k) * libm::log1p(-self.lost))
    }
}

/// E[value(c)] for c of `blocks` bits being one.
fn mean(blocks: u32, fill: f64, value: impl Fn(u32) -> f64) -> f64 {
    (0..=blocks).map(|c| binomial_pmf(blocks.into(), fill, c.into()) * value(c)).sum()
}

/// Bits that read as one in a column with `c` ones.
fn read(c: u32, blocks: u32) -> f64 {
    match c {
        0 => 0.0,
        _ if majority(c, blocks) => blocks.into(),
        _ => 1.0,
    }
}

/// Share of bits that read as one after compaction.
pub fn fill_after(blocks: u32, fill: f64) -> f64 {
    mean(blocks, fill, |c| read(c, blocks)) / f64::from(blocks)
}

impl Compacted {
    /// Compacts the filter that `bits` is, of probes `probe`.
    fn of(head: Head, probe: Probe, bits: &Bits, blocks: u32, width: u32) -> Self {
        let (indices, lost) = compact(bits, blocks, width, head.hasher.seed());
        Self { head, probe, blocks, indices, ones: bits.ones(), lost }
    }

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
        if !WIDTHS.contains(&self.indices.width()) || u64::from(self.blocks) >= self.indices.max() {
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

/// Bits of an index. With one bit no block could be named; with eight, 254 can.
const WIDTHS: std::ops::RangeInclusive<u32> = 2..=8;

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
        let width = request.integer("index-bits").unwrap_or(3) as u32;
        let one_sided = request.form() == ONE_SIDED;
        let most = (1 << width) - 2;
        let usual = if one_sided { LOSSLESS.min(most) } else { most };
        let blocks = request.integer("blocks").map_or(usual, |b| b as u32);
        if blocks > most {
            return Err(Error::parameter(format!(
                "indices of {width} bits name at most {most} blocks, not {blocks}: \
                 0 and {} mean none and all",
                most + 1
            )));
        }
        if one_sided && blocks > LOSSLESS {
            return Err(Error::parameter(format!(
                "{blocks} blocks lose ones, and so members: form {ONE_SIDED} has at most {LOSSLESS}"
            )));
        }
        let fnr = request.real("fnr").unwrap_or(FNR);
        let cells = |n: u64, p: f64, k: u32| {
            k as f64 * n as f64 / -libm::log1p(-fullest(blocks, k, p, fnr))
        };
        // Whole columns, as many as it takes.
        let columns = |m: f64| (m / f64::from(blocks)).ceil().max(1.0);
        let k_set = request.integer(PARAM_K.name).map(|k| k as u32);
        if let Some(m) = request.integer(PARAM_M.name) {
            let k = k_set.ok_or_else(|| {
                Error::parameter("--set m needs k too: there is no best one before compaction")
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
                "{n} items at a rate of {p} need {columns:e} indices: ask for fewer items, a higher \
                 rate or more false negatives"
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
        // The columns would be independent but for the number of throws, which is given: what they have
        // in common with it does not vary. A one was thrown at λ/ρ times on average.
        let thrown = f64::from(flat.k) * load.distinct as f64 / flat.m as f64;
        let all = f64::from(blocks);
        let square = mean(blocks, fill, |c| read(c, blocks) * read(c, blocks));
        let shared = mean(blocks, fill, |c| read(c, blocks) * f64::from(c));
        let variance = if thrown > 0.0 {
            let common = shared * thrown / fill - all * after * all * thrown;
            square - (all * after) * (all * after) - common * common / (all * thrown)
        } else {
            0.0
        };
        let sd = (variance.max(0.0) / columns as f64).sqrt() / all;
        Some(Expect {
            fpr: libm::pow(after, flat.k.into()),
            fnr: Losses::of(blocks, fill).fnr(flat.k),
            undecided: 0.0,
            bits: columns * u64::from(width),
            fill: Some((after, sd)),
        })
    }
}

impl Create for Compacted {
    fn create(shape: &Shape, head: Head, inputs: &mut Inputs<'_>) -> Result<Self> {
        let Shape { flat, blocks, width } = *shape;
        check_room(flat.m)?;
        let (mut head, probe) = (head, Probe::over(flat.m, flat.k));
        let mut bits = Bits::new(flat.m);
        inputs.records.batches(&mut |batch| {
            for record in batch {
                probe.each(head.hasher.digest(record.key), |i| {
                    bits.set(i);
                });
            }
            head.count(batch.len() as u64);
            Ok(())
        })?;
        let mut filter = Self::of(head, probe, &bits, blocks, width);
        filter.head.fnr = filter.now().fnr;
        Ok(filter)
    }
}

/// The largest share of ones before compaction that keeps rate `p` and false negatives `fnr` after it,
/// with `k` probes.
fn fullest(blocks: u32, k: u32, p: f64, fnr: f64) -> f64 {
    // The rate grows with the fill. The losses fall again where majorities take over, but they are zero
    // at zero, so that bisection ends where they are small enough.
    let good = |fill: f64| {
        libm::pow(fill_after(blocks, fill), k.into()) <= p && Losses::of(blocks, fill).fnr(k) <= fnr
    };
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if good(middle) { low = middle } else { high = middle }
    }
    low
}

face!(Compacted: );

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

/// The share of members that may be missed unless said otherwise.
const FNR: f64 = 0.1;

/// The list entry.
pub static VARIANT: Variant = Variant {
    facts: Facts {
        id: 44,
        slug: "compacted",
        entry: "I9",
        name: "Compacted Bloom filter",
        paper: "N. Mosharraf, A. P. Jayasumana, I. Ray, Compacted Bloom filter, IEEE Int. Conf. on \
                Collaboration and Internet Computing (CIC), 2016",
        family: "compact",
        needs: &["membership", "compact", "static"],
        meaning: "items are keys, the rate is that of false positives after compaction",
        forms: &[
            Form {
                name: LOSSY,
                abilities: &[],
                false_negatives: FalseNegatives::Possible(
                    "of several ones in a column, fewer than half, all but one are lost",
                ),
            },
            Form { name: ONE_SIDED, abilities: &[], false_negatives: FalseNegatives::Never },
        ],
        params: &[
            PARAM_M,
            PARAM_K,
            Param {
                name: "blocks",
                range: Range::Integer(1, 254),
                default: Preset::Planned,
                help: "k0, bits to a column: 2^m0 − 2 or, where no one may be lost, 4",
            },
            Param {
                name: "index-bits",
                range: Range::Integer(*WIDTHS.start() as u64, *WIDTHS.end() as u64),
                default: Preset::Integer(3),
                help: "m0, bits to an index",
            },
            Param {
                name: "fnr",
                range: Range::Real(1e-9, 1.0),
                default: Preset::Real(FNR),
                help: "share of members that may be missed",
            },
        ],
        ..Facts::FILTER
    },
    ops: Ops::of::<Compacted>(),
};
