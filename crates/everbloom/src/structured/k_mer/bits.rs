//! The bits of K-mers: anywhere, or all of a K-mer in one line.

use crate::cells::Bits;
use crate::error::{Error, Result};
use crate::filter::{Fact, fact};
use crate::hash::{Digest, Given};
use crate::parts::line_bits;
use crate::parts::probed_bits::{ProbedBits, Probes};
use crate::plan::lanes::{self as line, LINE, is_k};
use crate::plan::{Expect, Flat, Load, PARAM_K, Request, even_blocks, given_blocks, k_for_m};
use crate::probe::{Blocked, Probe, lanes};
use crate::state::{Decoder, Encoder, Inline, State};
use crate::theory::blocked as theory;

/// Where a K-mer's bits are.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Places(pub(super) Probe);

impl Places {
    /// The lines, if a K-mer has all its bits in one.
    #[inline]
    pub(super) fn lines(&self) -> Option<Blocked> {
        match self.0 {
            Probe::Blocked(lines) => Some(lines),
            _ => None,
        }
    }
}

/// A group as that of standard bits inside a filter.
impl State for ProbedBits<Places> {
    fn save<'a>(&'a self, name: &'static str, out: &mut Encoder<'a>) {
        out.group(name, |out| self.save_fields(out));
    }

    fn load(name: &'static str, src: &mut Decoder<'_>) -> Result<Self> {
        src.group(name, Self::load_fields)
    }
}

impl Inline for Places {
    fn save_fields<'a>(&'a self, out: &mut Encoder<'a>) {
        self.0.save_fields(out);
    }

    fn load_fields(src: &mut Decoder<'_>) -> Result<Self> {
        Probe::load_fields(src).map(Self)
    }
}

impl Probes for Places {
    fn m(&self) -> u64 {
        self.0.m()
    }

    #[inline]
    fn all(&self, digest: Digest, f: impl FnMut(u64) -> bool) -> bool {
        self.0.all(digest, f)
    }

    fn set_many(&self, bits: &mut Bits, digests: &[Digest]) {
        match self.lines() {
            Some(lines) => _ = line_bits::set_all(lines, bits, Given(digests)),
            None => self.0.set_many(bits, digests),
        }
    }

    fn has_many(&self, bits: &Bits, digests: &[Digest], found: &mut [bool]) {
        match self.lines() {
            Some(lines) => _ = line_bits::have(lines, bits, Given(digests), found),
            None => self.0.has_many(bits, digests, found),
        }
    }

    fn fpr(&self, bits: &Bits) -> f64 {
        self.lines().map_or_else(|| self.0.fpr(bits), |lines| line_bits::fpr(lines, bits))
    }

    fn describe(&self) -> Vec<Fact> {
        let mut facts = Probes::describe(&self.0);
        facts.extend(self.lines().map(|lines| fact("blocks", lines.blocks())));
        facts
    }

    fn check(&self, bits: u64) -> Result<()> {
        self.0.check(bits)?;
        let in_lines =
            self.lines().is_some_and(|lines| line_bits::is_for_lanes(lines) && is_k(lines.k()));
        if in_lines || self.0.is_planned() {
            return Ok(());
        }
        Err(Error::corrupt(0, "corrupt filter: a probe scheme that is not that of K-mers"))
    }

    fn agree(&self, other: &Self) -> Result<()> {
        self.0.agree(&other.0)
    }

    fn cardinality(&self, bits: &Bits) -> Option<f64> {
        let Some(lines) = self.lines() else { return Probes::cardinality(&self.0, bits) };
        let keys = |ones: u64| line_bits::keys_in(lines, lines.block() - ones);
        line_bits::ones_by_block(lines, bits).map(keys).sum()
    }
}

/// Lines for the goal: number and bits per key as `blocked` has them.
pub(super) fn plan_lines(request: &Request<'_>) -> Result<Flat> {
    let set = request.integer(PARAM_K.name).map(|k| k as u32);
    if let Some(k) = set.filter(|k| !is_k(*k)) {
        return Err(Error::setting("k", k, "a K-mer has 8 or 16 bits in its line"));
    }
    if let Some(blocks) = given_blocks(request, LINE) {
        let m = blocks * LINE;
        let k = k_for_m(request, |n| line::blocks().best_k(m as f64 / n as f64, line::ks()))?;
        if blocks == 0 {
            return Err(Error::parameter(format!(
                "less than one line of {LINE} bits: give more {{memory}}, or a larger {{m}}"
            )));
        }
        return Ok(Flat { m, k });
    }
    let p = request.fpr();
    let ks = line::ks().filter(|k| set.is_none_or(|set| set == *k));
    let (c, k) = line::blocks().bits_per_item(p, ks).ok_or_else(|| {
        Error::parameter(format!("a rate of {p} is out of reach in lines: use {{form=plain}}"))
    })?;
    Ok(Flat { m: even_blocks(request, LINE, c)? * LINE, k })
}

/// The probes of a shape of lines.
pub(super) fn in_lines(flat: Flat) -> Result<Probe> {
    if flat.m / LINE > lanes::MOST_LINES {
        return Err(Error::parameter(format!(
            "more than {} lines: use fewer {{items}}, or use {{form=plain}}",
            lanes::MOST_LINES
        )));
    }
    Blocked::in_lanes(flat.m / LINE, flat.k / 8).map(Probe::Blocked)
}

/// What the formulas say of lines.
pub(super) fn expect_lines(flat: Flat, load: &Load) -> Expect {
    let (blocks, items, rounds) = (flat.m / LINE, load.distinct, flat.k / 8);
    let loads = theory::Loads::Counted { blocks, items };
    let fpr = if items == 0 { 0.0 } else { line::blocks().fpr(loads, flat.k) };
    let (mean, variance) = theory::fill_lanes(blocks as f64, 64.0, f64::from(rounds), items as f64);
    Expect::one_sided(fpr, flat.m, Some((mean, variance.max(0.0).sqrt()))).probing(flat.k)
}
