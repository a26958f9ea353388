//! Where a key's bits are in its block, form by form.

use super::patterns::Patterns;
use super::shape::{LANES, MIXED, PATTERNS, Shape};
use crate::cells::{Bits, Pairing, has_mask, set_bit, set_mask};
use crate::error::{Result, agree};
use crate::filter::{Fact, LentCells, fact};
use crate::hash::{Digest, Digests, Given};
use crate::parts::lent::{Copies, Regions, Whole, copies_are_small};
use crate::parts::line_bits::{self, is_for_lanes, keys_in, ones_by_block, rounds};
use crate::parts::probed_bits::{ProbedBits, Probes};
use crate::parts::{Batched, NEAR};
use crate::probe::{Blocked, Inside, lanes, round_word};
use crate::simd::has_avx2;
use crate::state::{Decoder, Encoder, Inline, State};
use crate::theory::bloom;

/// All bits of a key in one block, drawn from its digest or from a table of patterns.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Blocks {
    pub(super) probe: Blocked,
    pub(super) patterns: Option<Box<Patterns>>,
}

/// Of the patterns only their number is stored: the table follows from it.
impl Inline for Blocks {
    fn save_fields<'a>(&'a self, out: &mut Encoder<'a>) {
        self.probe.save("probe", out);
        out.u64("patterns", self.patterns());
    }

    fn load_fields(src: &mut Decoder<'_>) -> Result<Self> {
        let probe = Blocked::load("probe", src)?;
        let patterns = match src.u64("patterns")? {
            0 => None,
            count => Some(count),
        };
        let form = form_of(&probe, patterns.is_some());
        if patterns.is_some() && form != PATTERNS {
            return Err(src.corrupt("patterns in blocks that have none"));
        }
        let shape = Shape::new(form, probe.blocks(), probe.block(), probe.k(), patterns)
            .map_err(|e| src.corrupt(e.to_string()))?;
        Ok(Self { probe, patterns: shape.table() })
    }
}

impl Blocks {
    pub(super) fn new(shape: &Shape) -> Result<Self> {
        let probe = if shape.inside().is_even() {
            Blocked::in_lanes(shape.blocks, shape.rounds())?
        } else {
            Blocked::new(shape.blocks, shape.block, shape.k)?
        };
        Ok(Self { probe, patterns: shape.table() })
    }

    /// Size of the table of patterns; 0 where there is none.
    fn patterns(&self) -> u64 {
        self.patterns.as_deref().map_or(0, Patterns::count)
    }

    /// The form whose blocks these are.
    pub(super) fn form(&self) -> &'static str {
        form_of(&self.probe, self.patterns.is_some())
    }

    /// How many masks of k bits make a block with this many ones.
    fn masks_in(&self, ones: u64) -> Option<f64> {
        let (block, k) = (self.probe.block(), self.probe.k());
        let zeros = block - ones;
        if self.probe.inside().is_even() {
            return keys_in(self.probe, zeros);
        }
        bloom::cardinality(zeros, block, k)
    }
}

impl Probes for Blocks {
    fn m(&self) -> u64 {
        self.probe.m()
    }

    fn all(&self, digest: Digest, mut f: impl FnMut(u64) -> bool) -> bool {
        let Some(patterns) = &self.patterns else {
            return self.probe.indices(digest).all(f);
        };
        let (block, mask) = (self.probe.block(), patterns.of(digest));
        let inside = |i: &u64| mask[(i / 64) as usize] >> (i % 64) & 1 != 0;
        let start = self.probe.block_of(digest) * block;
        (0..block).filter(inside).all(|i| f(start + i))
    }

    fn set(&self, bits: &mut Bits, digest: Digest) -> bool {
        set_otherwise(self.probe, self.patterns.as_deref(), bits.words_mut(), digest)
    }

    fn has(&self, bits: &Bits, digest: Digest) -> bool {
        has_otherwise(self.probe, self.patterns.as_deref(), bits.words(), digest)
    }

    fn set_many(&self, bits: &mut Bits, digests: &[Digest]) {
        self.set_all(bits, Given(digests));
    }

    fn has_many(&self, bits: &Bits, digests: &[Digest], found: &mut [bool]) {
        self.have(bits, Given(digests), found);
    }

    fn lend<'a>(&self, bits: &'a mut Bits) -> Option<Box<dyn LentCells + 'a>> {
        if copies_are_small(bits) {
            let own = self.clone();
            return Some(Box::new(Copies::new(bits, move |copy, digests| {
                own.set_many(copy, digests)
            })));
        }
        if !is_for_lanes(self.probe) {
            return None;
        }
        let (count, rounds) = (self.probe.blocks(), rounds(self.probe));
        let line = move |digest| lanes::line_of(digest, count);
        let lines = bits.blocks_mut();
        if rounds == 1 {
            let place = move |digest: Digest| (line(digest), digest.h2 as u32);
            let set = |lines: &mut [_], notes: &[_]| lanes::lines_set_at::<u32>(lines, 1, notes);
            return Some(Box::new(Regions::new(lines, Whole { place, set })));
        }
        let place = move |digest: Digest| (line(digest), digest.h2);
        let set = move |lines: &mut [_], notes: &[_]| {
            lanes::lines_set_at::<u64>(lines, rounds, notes);
        };
        Some(Box::new(Regions::new(lines, Whole { place, set })))
    }

    /// The mean over the blocks of (ones/B)^k: the mean fill would hide the crowded ones. Lanes count
    /// each for itself. With patterns, those that are in the block pass for certain, and all others as
    /// random masks do.
    fn fpr(&self, bits: &Bits) -> f64 {
        let (blocks, block) = (self.probe.blocks() as f64, self.probe.block() as f64);
        if self.probe.inside().is_even() {
            return line_bits::fpr(self.probe, bits);
        }
        let covered = |ones: u64| {
            let random = libm::pow(ones as f64 / block, f64::from(self.probe.k()));
            let Some(patterns) = &self.patterns else {
                return random;
            };
            let count = patterns.count() as f64;
            let inside = self.masks_in(ones).map_or(1.0, |masks| (masks / count).min(1.0));
            inside + (1.0 - inside) * random
        };
        ones_by_block(self.probe, bits).map(covered).sum::<f64>() / blocks
    }

    fn describe(&self) -> Vec<Fact> {
        let probe = &self.probe;
        let mut facts = vec![
            fact("m", probe.m()),
            fact("k", probe.k()),
            fact("blocks", probe.blocks()),
            fact("block", probe.block()),
        ];
        facts.extend(self.patterns.as_ref().map(|p| fact("patterns", p.count())));
        facts
    }

    fn agree(&self, other: &Self) -> Result<()> {
        let (ours, theirs) = (&self.probe, &other.probe);
        agree("number of blocks", ours.blocks(), theirs.blocks())?;
        agree("block size", ours.block(), theirs.block())?;
        agree("k", ours.k(), theirs.k())?;
        agree("probe scheme", ours.scheme().name(), theirs.scheme().name())?;
        agree("number of patterns", self.patterns(), other.patterns())
    }

    /// From the zeros of each block, summed up. `None` if a block has no zero left.
    fn cardinality(&self, bits: &Bits) -> Option<f64> {
        let distinct = |masks: f64| match &self.patterns {
            None => masks,
            // i keys leave P(1 − (1 − 1/P)^i) different masks.
            Some(p) => p.count() as f64 * -libm::log1p(-(masks / p.count() as f64).min(0.999)),
        };
        ones_by_block(self.probe, bits).map(|ones| self.masks_in(ones).map(distinct)).sum()
    }

    /// Blocks keep their size, since inside one every index has its own hash bits.
    fn fold(&self) -> Result<(Self, Pairing)> {
        let half = Self { probe: self.probe.fold()?, patterns: self.patterns.clone() };
        Ok((half, Pairing::Neighbors(self.probe.block())))
    }
}

impl Blocks {
    #[inline]
    fn set_all(&self, bits: &mut Bits, digests: impl Digests) -> u64 {
        let probe = self.probe;
        if is_for_lanes(probe) {
            return line_bits::set_all(probe, bits, digests);
        }
        let words = bits.words_mut();
        digests.for_each(|_, digest| {
            set_otherwise(probe, self.patterns.as_deref(), words, digest);
        })
    }

    #[inline]
    fn have(&self, bits: &Bits, digests: impl Digests, found: &mut [bool]) -> u64 {
        let (probe, words) = (self.probe, bits.words());
        if is_for_lanes(probe) {
            return line_bits::have(probe, bits, digests, found);
        }
        digests.for_each(|i, digest| {
            if let Some(found) = found.get_mut(i as usize) {
                *found = has_otherwise(probe, self.patterns.as_deref(), words, digest);
            }
        })
    }
}

impl Batched for ProbedBits<Blocks> {
    #[inline]
    fn set_all(&mut self, digests: impl Digests) -> u64 {
        self.probe.set_all(&mut self.bits, digests)
    }

    #[inline]
    fn have(&self, digests: impl Digests, found: &mut [bool]) -> u64 {
        self.probe.have(&self.bits, digests, found)
    }

    #[inline]
    fn is_near(&self) -> bool {
        size_of_val(self.bits.words()) < NEAR
    }

    #[inline]
    fn takes_texts(&self) -> bool {
        has_avx2() && is_for_lanes(self.probe.probe) && rounds(self.probe.probe) == 1
    }
}

/// The form of blocks with these probes, with or without a table of patterns.
fn form_of(probe: &Blocked, patterns: bool) -> &'static str {
    match (probe.inside(), patterns) {
        (Inside::Anywhere, true) => PATTERNS,
        (Inside::Anywhere, false) | (Inside::Products, _) => MIXED,
        (Inside::Lanes | Inside::Fields, _) => LANES,
    }
}

/// What lanes take of H2. Said so that the compiler knows, too: the rest need not be computed then.
#[inline(always)]
pub(super) fn low(h2: u64) -> u64 {
    u64::from(h2 as u32)
}

/// Slow path for what is not one word of lanes; true if a bit was zero. Takes the filter in parts: were it lent whole, the
/// compiler would have to assume that the call changes it, and loops over keys would load its shape again
/// with every key.
#[cold]
#[inline(never)]
pub(super) fn set_otherwise(
    probe: Blocked,
    patterns: Option<&Patterns>,
    words: &mut [u64],
    digest: Digest,
) -> bool {
    if probe.inside() == Inside::Lanes {
        let line = lanes::line_mut(words.as_chunks_mut().0, digest);
        let set = |new, round| new | lanes::line_set(line, round_word(digest.h2, round));
        return (0..rounds(probe)).fold(false, set);
    }
    if let Some(patterns) = patterns {
        let at = probe.block_of(digest) * probe.block() / 64;
        return set_mask(words, at, patterns.of(digest));
    }
    probe.indices(digest).fold(false, |new, i| new | set_bit(words, i))
}

/// Slow path of a query: whether all bits of a key are set.
#[cold]
#[inline(never)]
pub(super) fn has_otherwise(
    probe: Blocked,
    patterns: Option<&Patterns>,
    words: &[u64],
    digest: Digest,
) -> bool {
    if probe.inside() == Inside::Lanes {
        let line = lanes::line(words.as_chunks().0, digest);
        return (0..rounds(probe)).all(|round| lanes::line_has(line, round_word(digest.h2, round)));
    }
    if let Some(patterns) = patterns {
        return has_mask(words, probe.block_of(digest) * probe.block() / 64, patterns.of(digest));
    }
    probe.indices(digest).all(|i| words[(i / 64) as usize] >> (i % 64) & 1 != 0)
}
