//! How many blocks, and how many bits of a key in each: formulas and planning of the blocked filter.

use super::patterns::{Patterns, TABLE_BITS};
use crate::error::{Error, Result};
use crate::plan::lanes::{self, LINE};
use crate::plan::{Expect, Load, MAX_CELLS, PARAM_K, Request, even_blocks, given_blocks, k_for_m};
use crate::probe::{Inside, LANES as LANES_PER_BLOCK};
use crate::theory::blocked as theory;

pub(super) const LANES: &str = "lanes";
pub(super) const MIXED: &str = "mixed";
pub(super) const PATTERNS: &str = "patterns";

/// Most probes: no plan wants more than 38 in a cache line, at a thousand bits per key.
pub(super) const MOST_K: u32 = theory::MOST_PROBES;

/// Number and size of the blocks, probes, and size of the table of patterns if there is one.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    pub(super) form: &'static str,
    pub(super) blocks: u64,
    pub(super) block: u64,
    pub(super) k: u32,
    pub(super) patterns: Option<u64>,
}

impl Shape {
    pub(super) fn new(
        form: &'static str,
        blocks: u64,
        block: u64,
        k: u32,
        patterns: Option<u64>,
    ) -> Result<Self> {
        let line = block == LINE && lanes::is_k(k);
        if form == LANES && !(line && patterns.is_none()) {
            return Err(Error::parameter(format!(
                "k = {k} in blocks of {block} bits: form lanes has 8 or 16 bits in blocks of {LINE}; use \
                {{form=mixed}} for others"
            )));
        }
        if !block.is_power_of_two() || !(64..=4096).contains(&block) {
            return Err(Error::setting("block", block, "must be a power of two from 64 to 4096"));
        }
        if !(1..=MOST_K).contains(&k) {
            return Err(Error::setting("k", k, format!("must be from 1 to {MOST_K}")));
        }
        if blocks == 0 || blocks > MAX_CELLS / block {
            return Err(Error::parameter(format!(
                "{blocks} blocks of {block} bits: there must be at least one, and at most {MAX_CELLS} bits; change \
                {{items}}, {{rate}} or {{memory}}"
            )));
        }
        let most = TABLE_BITS / block;
        if let Some(count) = patterns.filter(|p| !(1..=most).contains(p)) {
            let message = format!(
                "there must be 1 to {most} of {block} bits, so that the table stays within 960 KiB; \
                 smaller blocks allow more"
            );
            return Err(Error::setting("patterns", count, message));
        }
        Ok(Self { form, blocks, block, k, patterns })
    }

    pub(super) fn inside(&self) -> Inside {
        if self.form == LANES { Inside::Lanes } else { Inside::Anywhere }
    }

    /// Bits per lane and key.
    pub(super) fn rounds(&self) -> u32 {
        self.k / LANES_PER_BLOCK as u32
    }

    pub(super) fn table(&self) -> Option<Box<Patterns>> {
        self.patterns.map(|count| Box::new(Patterns::new(count, self.block, self.k)))
    }

    /// The same with `blocks` blocks, and the best k for the items asked for unless one is set.
    fn sized(self, blocks: u64, request: &Request<'_>) -> Result<Self> {
        let best = |n| self.kind().best_k((blocks * self.block) as f64 / n as f64, self.ks());
        let k = k_for_m(request, best)?;
        Self::new(self.form, blocks, self.block, k, self.patterns)
    }

    /// The blocks, for formulas.
    fn kind(&self) -> theory::Blocks {
        match self.patterns {
            None if self.form == LANES => lanes::blocks(),
            None => theory::Blocks::of(self.block),
            Some(patterns) => theory::Blocks::of(self.block).with_patterns(patterns),
        }
    }

    /// The bits that a key may have.
    fn ks(&self) -> Box<dyn Iterator<Item = u32>> {
        if self.form == LANES { Box::new(lanes::ks()) } else { Box::new(1..=MOST_K) }
    }

    /// The share of ones after `n` distinct keys, and its standard deviation from filter to filter.
    fn fill(&self, n: u64) -> (f64, f64) {
        let [n, blocks, block, k] =
            [n as f64, self.blocks as f64, self.block as f64, f64::from(self.k)];
        let (mean, mut variance) = if self.inside().is_even() {
            theory::fill_lanes(blocks, 64.0, f64::from(self.rounds()), n)
        } else {
            theory::fill(blocks, block, k, n)
        };
        let Some(table) = self.table().filter(|_| n > 0.0) else {
            return (mean, variance.sqrt());
        };
        let (one, m) = (1.0 - mean, blocks * block);
        let missed = |hit: f64| libm::exp(n * libm::log1p(-hit / blocks));
        // The table is the same in every filter, so it is not averaged over: the load of a cell
        // follows from the masks that cover it. How many keys repeat a mask of their block varies like
        // a Poisson number, and each leaves as many ones fewer as a fresh mask would have added.
        let zeros: f64 = table.coverage().into_iter().map(missed).sum();
        let repeats = n - blocks * theory::distinct_patterns(table.count() as f64, n / blocks);
        variance += repeats * (k * one / m) * (k * one / m);
        (1.0 - zeros / block, variance.max(0.0).sqrt())
    }

    /// The least number of blocks with the best k or the given one, so that the rate stays below p;
    /// even, so that the filter folds.
    pub(super) fn plan(request: &Request<'_>) -> Result<Shape> {
        let block = request.whole("block");
        let patterns = match (request.form(), request.integer("patterns")) {
            (PATTERNS, count) => Some(count.unwrap_or(TABLE_BITS / block)),
            (_, None) => None,
            (_, Some(count)) => {
                return Err(Error::setting("patterns", count, "needs the {form} patterns"));
            }
        };
        let k = request.integer(PARAM_K.name).map(|k| k as u32);
        let one = Shape::new(request.form(), 1, block, k.unwrap_or(8), patterns)?;
        if let Some(blocks) = given_blocks(request, block) {
            return one.sized(blocks, request);
        }
        let p = request.fpr();
        let ks = one.ks().filter(|any| k.is_none_or(|k| k == *any));
        let (c, k) = one.kind().bits_per_item(p, ks).ok_or_else(|| {
            Error::parameter(format!(
                "a rate of {p} is out of reach of {} in blocks of {block} bits: {}",
                k.map_or("any k".to_owned(), |k| format!("k = {k}")),
                match request.form() {
                    PATTERNS => "use smaller blocks and more {patterns}, or the {form} mixed",
                    MIXED => "set a larger {block}, or use the variant bloom",
                    _ => "use the {form} mixed with larger blocks, or the variant bloom",
                }
            ))
        })?;
        let blocks = even_blocks(request, block, c)?;
        Shape::new(request.form(), blocks, block, k, patterns)
    }

    /// What the formulas say of this shape.
    pub(super) fn expect(&self, load: &Load) -> Expect {
        let (n, m) = (load.distinct, self.blocks * self.block);
        let loads = theory::Loads::Counted { blocks: self.blocks, items: n };
        let fpr = if n == 0 { 0.0 } else { self.kind().fpr(loads, self.k) };
        Expect::one_sided(fpr, m, Some(self.fill(n))).probing(self.k)
    }
}

#[cfg(test)]
mod tests {
    use super::super::VARIANT;
    use super::*;
    use crate::error::Kind;
    use crate::plan::Goal;

    fn plan(goal: &Goal) -> Result<Shape> {
        Shape::plan(&Request::new(&VARIANT, goal)?)
    }

    fn fpr(goal: &Goal, n: u64) -> f64 {
        plan(goal).unwrap().expect(&Load::items(n)).fpr
    }

    #[test]
    fn planned_blocks_meet_the_rate_and_fold() {
        let n = 1_000_000;
        for p in [0.1, 0.01, 1e-3, 1e-5] {
            let rate = fpr(&Goal::new(n, p), n);
            assert!(rate <= p && rate > 0.995 * p, "lanes {p}: {rate}");
        }
        for (form, block, p) in [
            (MIXED, 64, 0.1),
            (MIXED, 512, 0.01),
            (MIXED, 512, 1e-4),
            (MIXED, 4096, 1e-3),
            (PATTERNS, 64, 1e-3),
            (PATTERNS, 512, 0.01),
        ] {
            let goal = Goal::new(n, p).set("form", form).set("block", block);
            let Shape { blocks, .. } = plan(&goal).unwrap();
            assert!(blocks.is_multiple_of(2));
            let rate = fpr(&goal, n);
            assert!(rate <= p && rate > 0.995 * p, "{form} {block} {p}: {rate}");
            let rate = fpr(&goal.set("k", 4), n);
            assert!(rate <= p && rate > 0.995 * p, "{form} {block} {p} k = 4: {rate}");
        }
        // The patterns of a cache line cost bits, those of a word hardly any.
        let bits = |goal: Goal| plan(&goal).map(|s| s.blocks * s.block).unwrap();
        let line = Goal::new(n, 0.01).set("form", MIXED);
        let (with, without) = (bits(line.clone().set("form", PATTERNS)), bits(line.clone()));
        assert!((1.05..1.1).contains(&(with as f64 / without as f64)), "{with} {without}");
        let word = line.set("block", 64);
        assert!(bits(word.clone().set("form", PATTERNS)) < bits(word) / 100 * 101);
    }

    #[test]
    fn memory_is_kept() {
        for form in [LANES, MIXED, PATTERNS] {
            for bytes in [64u64, 100, 192, 12_345, 1 << 20] {
                let room = Some(8 * bytes);
                let any = Goal { bits: room, ..Goal::default() }.set("form", form);
                for (items, fpr) in [(Some(10), None), (None, Some(0.02)), (Some(10), Some(0.3))] {
                    let shape = plan(&Goal { items, fpr, ..any.clone() }).unwrap();
                    assert!(shape.blocks * 512 <= 8 * bytes, "{form} {bytes} {items:?} {fpr:?}");
                }
            }
        }
        let one = plan(&Goal { bits: Some(8 << 20), ..Goal::new(1, 0.1) }).unwrap();
        assert_eq!(one.blocks, 2);
    }

    #[test]
    fn shapes_that_cannot_be_are_refused() {
        let goal = || Goal::new(1000, 0.01);
        for bad in [
            goal().set("block", 500),
            goal().set("block", 256),
            goal().set("k", 7),
            goal().set("patterns", 100),
            goal().set("form", PATTERNS).set("patterns", 15_361),
            goal().set("form", PATTERNS).set("patterns", 10),
            goal().set("m", 511),
            Goal::default().set("m", 5120),
            Goal::new(1000, 1e-12).set("block", 64).set("form", MIXED),
            Goal::new(1000, 1e-300),
            Goal::new(u64::MAX, 0.01),
            Goal { bits: Some(8 * 63), ..Goal { fpr: None, ..goal() } },
        ] {
            let error = plan(&bad).unwrap_err();
            assert_eq!(error.kind(), Kind::BadParameter, "{error}");
        }
        assert!(Shape::new(MIXED, 1 << 60, 64, 1, None).is_err());
        assert!(Shape::new(MIXED, 0, 64, 1, None).is_err());
        assert!(Shape::new(MIXED, 1, 64, 65, None).is_err());
    }
}
