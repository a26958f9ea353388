//! The blocked Bloom filter (catalogue I6; Putze, Sanders and Singler).
//!
//! Each item's k probes fall in one block of B bits. How many items a block gets is binomial, and for
//! many blocks Poisson with mean B/c ([`Loads`]); the crowded blocks pay more than the empty ones save:
//!
//! ```text
//! f = Σ_i Poisson(B/c; i) · f_in(B, i, k)
//! ```
//!
//! Blocks are small, so the inner rate is the exact one ([`fpr`], "Bose"); with the classic
//! inner rate ([`fpr_classic`]) the sum is 0.6 to 5 % too low.

use super::gamma::ln_choose;
use super::occupancy::Occupancy;
use super::search::least_for;
use super::{bloom, bound, tail};
use core::f64::consts::LN_2;

/// Most bits per item that [`Blocks::bits_per_item`] spends.
const MOST_BITS_PER_ITEM: f64 = 1000.0;

/// Fewest bits per item looked at: one probe then already reaches every rate above 99.97 %.
const FEWEST_BITS_PER_ITEM: f64 = 0.125;

/// Most probes looked at. Blocking keeps the best k far below c ln 2 when c is large, because
/// the crowded blocks decide: in lines of 512 bits it is 20 at c = 64 and 38 at c = 1000.
pub const MOST_PROBES: u32 = 64;

/// How items spread over blocks.
#[derive(Clone, Copy, Debug)]
pub enum Loads {
    /// Over blocks without number, so many bits per item: Poisson. What sizes are planned by.
    Endless(f64),
    /// Over a number of blocks: binomial. With 13 items in few blocks the Poisson rate is 19 % too high, since
    /// it lets a block have more items than there are.
    Counted {
        /// Number of blocks.
        blocks: u64,
        /// Number of items.
        items: u64,
    },
}

impl From<f64> for Loads {
    fn from(bits_per_item: f64) -> Self {
        Loads::Endless(bits_per_item)
    }
}

impl Loads {
    /// Those of `parts` for each item, each of which goes to a block by chance.
    #[must_use]
    pub fn times(self, parts: u32) -> Self {
        match self {
            Loads::Endless(bits_per_item) => Loads::Endless(bits_per_item / f64::from(parts)),
            Loads::Counted { blocks, items } => {
                Loads::Counted { blocks, items: items.saturating_mul(parts.into()) }
            }
        }
    }

    /// The mean number of items in a block of `block` bits.
    pub fn mean(self, block: f64) -> f64 {
        match self {
            Loads::Endless(bits_per_item) => block / bits_per_item,
            Loads::Counted { blocks, items } => items as f64 / blocks as f64,
        }
    }

    /// P(a block has `i` items), given the mean.
    fn chance(self, mean: f64, i: u64) -> f64 {
        match self {
            Loads::Endless(_) => tail::poisson_pmf(mean, i),
            Loads::Counted { blocks, items } => tail::binomial_pmf(items, 1.0 / blocks as f64, i),
        }
    }

    /// [`Loads::chance`] of 0, 1, 2… items.
    ///
    /// Each from the one before, which takes a twentieth of the time and loses one unit in the last place. Only where that one
    /// is so small that it has lost digits already, as it has before the first, from the formula.
    fn chances(self, mean: f64) -> impl Iterator<Item = f64> {
        let mut last = 0.0;
        (0..).map(move |i| {
            let ratio = |after: f64| match self {
                Loads::Endless(_) => mean / after,
                Loads::Counted { items, .. } if i > items => 0.0,
                Loads::Counted { blocks, items } => {
                    (items - i + 1) as f64 / after / (blocks - 1) as f64
                }
            };
            last = if last < 1e-290 { self.chance(mean, i) } else { last * ratio(i as f64) };
            last
        })
    }

    /// P(a block has `i` items or more), given the mean.
    fn chance_of_more(self, mean: f64, i: u64) -> f64 {
        match self {
            Loads::Endless(_) => tail::poisson_tail(mean, i),
            Loads::Counted { blocks, items } if i <= items => {
                tail::binomial_at_least(items, 1.0 / blocks as f64, i)
            }
            Loads::Counted { .. } => 0.0,
        }
    }
}

/// A kind of blocks: how many bits each has, and how those of an item lie in it.
#[derive(Clone, Copy, Debug)]
pub struct Blocks {
    bits: u64,
    lanes: u32,
    patterns: Option<u64>,
}

impl Blocks {
    /// Blocks of this many bits, at least 1, in which every probe of an item may fall anywhere.
    pub fn of(bits: u64) -> Self {
        Self { bits: bits.max(1), lanes: 1, patterns: None }
    }

    /// The same in `lanes` equal parts, each of which has as many of an item's k probes. Lanes of one block are independent
    /// once the number of its items is known:
    ///
    /// ```text
    /// f = Σ_i Poisson(B/c; i) · f_in(B/lanes, i, k/lanes)^lanes
    /// ```
    #[must_use]
    pub fn in_lanes(self, lanes: u32) -> Self {
        Self { lanes, ..self }
    }

    /// The same if the k probes of an item are one of this many sets of probes, made once.
    ///
    /// A non-member passes if its own set is among those of the block, which has probability 1 − e^{−μ/P} with μ = B/c items
    /// in a block; or else if the different sets among the other P − 1 cover it. Those are binomial with mean
    /// (P − 1)(1 − e^{−μ/P}); taken for Poisson, which errs by less than μ/P of the small part that the variance of the load
    /// adds, and on the safe side, they are a blocked filter under a slightly lighter load.
    #[must_use]
    pub fn with_patterns(self, patterns: u64) -> Self {
        Self { patterns: Some(patterns), ..self }
    }

    /// Rate at this many bits per item (> 0), or with items counted.
    pub fn fpr(self, loads: impl Into<Loads>, k: u32) -> f64 {
        self.fpr_by(&mut InnerRates::new(self, k), loads.into(), k)
    }

    fn fpr_by(self, rates: &mut InnerRates, loads: Loads, k: u32) -> f64 {
        let mut others = |loads: Loads| over_blocks(self.bits, loads, k, |items| rates.at(items));
        let Some(patterns) = self.patterns else { return others(loads) };
        let (bits, p) = (self.bits as f64, patterns as f64);
        let mean = loads.mean(bits);
        let same = -libm::expm1(-mean / p);
        let lighter = bits / (distinct_patterns(p, mean) * (p - 1.0) / p);
        same + (1.0 - same) * others(lighter.into())
    }

    /// The k of `ks` with the least rate; of equals the first.
    pub fn best_k(self, bits_per_item: f64, ks: impl IntoIterator<Item = u32>) -> u32 {
        let rate = |k: u32| (k, self.fpr(bits_per_item, k));
        let most = self.most_probes(bits_per_item);
        // `min_by` keeps the first of equals.
        let rates = ks.into_iter().take_while(|k| *k <= most).map(rate);
        rates.min_by(|a, b| a.1.total_cmp(&b.1)).map_or(1, |(k, _)| k)
    }

    /// Least bits per item, and its k of `ks`, at which the rate is at most `p`.
    ///
    /// Takes less than a millisecond for a cache line, and time in proportion to larger blocks.
    /// `None` if 1000 bits per item do not reach `p`: the chance that a block of
    /// B bits is crowded puts a floor under the rate that more bits hardly lower.
    pub fn bits_per_item(self, p: f64, ks: impl IntoIterator<Item = u32>) -> Option<(f64, u32)> {
        // Nothing is below the bound for every filter, and small sizes are slow to look at.
        let fewest = bound::lower_bound(1.0, p).max(FEWEST_BITS_PER_ITEM);
        let mut best: Option<(f64, u32)> = None;
        for k in ks {
            let limit = best.map_or(MOST_BITS_PER_ITEM, |(bits_per_item, _)| bits_per_item);
            if k > self.most_probes(limit) {
                break;
            }
            let mut rates = InnerRates::new(self, k);
            let rate = |bits_per_item: f64| self.fpr_by(&mut rates, bits_per_item.into(), k);
            // One look at the best size so far rules out most k.
            let least = least_for(fewest, limit, p, rate);
            best = least.filter(|least| best.is_none() || *least < limit).map(|c| (c, k)).or(best);
        }
        best
    }

    /// No block prefers more probes than a filter of that load as a whole would: crowding only
    /// ever argues for fewer. How many probes a lane has, is for the caller to say.
    fn most_probes(self, bits_per_item: f64) -> u32 {
        let bits = self.bits as f64;
        // That two items have the same set of probes does not depend on k; what is left is a lighter load.
        let lighter =
            self.patterns.map(|p| bits / distinct_patterns(p as f64, bits / bits_per_item));
        let whole = (lighter.unwrap_or(bits_per_item) * LN_2).ceil().max(1.0);
        if self.lanes > 1 { u32::MAX } else { (whole as u32).min(MOST_PROBES) }
    }
}

/// Number of different sets of probes, of `patterns`, in a block that gets Poisson(`items`) items, on average:
/// P(1 − e^{−items/P}), since each is drawn Poisson(items/P) times.
pub fn distinct_patterns(patterns: f64, items: f64) -> f64 {
    -patterns * libm::expm1(-items / patterns)
}

/// Rate in blocks of `block_bits` ≥ 1, at this many bits per item (> 0) or with items counted.
pub fn fpr(block_bits: u64, loads: impl Into<Loads>, k: u32) -> f64 {
    Blocks::of(block_bits).fpr(loads, k)
}

/// [`fpr`] with the classic rate inside the blocks: the value most papers print.
pub fn fpr_classic(block_bits: u64, loads: impl Into<Loads>, k: u32) -> f64 {
    over_blocks(block_bits, loads.into(), k, |items| {
        bloom::fpr_classic(block_bits.max(1) as f64, items as f64, f64::from(k))
    })
}

/// [`fill`] where a block is eight lanes of `lane` bits and each item has `rounds` bits in each.
///
/// As there, by pairs of cells: those of one lane are missed together with the chance that no throw
/// hits either, those of two lanes of a block with the square of one cell's.
pub fn fill_lanes(blocks: f64, lane: f64, rounds: f64, n: f64) -> (f64, f64) {
    if n == 0.0 {
        return (0.0, 0.0);
    }
    let block = 8.0 * lane;
    let missed = |hit: f64| libm::exp(n * libm::log1p(-hit / blocks));
    let (hit, hit_either) = (bloom::fill(lane, rounds), bloom::fill(lane / 2.0, rounds));
    let one = missed(hit);
    let same_lane = missed(hit_either);
    let same_block = missed(1.0 - (1.0 - hit) * (1.0 - hit));
    let apart = if blocks > 1.0 { missed(2.0 * hit) } else { 0.0 };
    let pairs =
        (one - apart) + (lane - 1.0) * (same_lane - apart) + 7.0 * lane * (same_block - apart);
    let variance =
        pairs / (blocks * block) + if blocks > 1.0 { apart - one * one } else { -one * one };
    (1.0 - one, variance.max(0.0))
}

/// Rate of `n` items in a few rows of `bits` bits, an item in a row by chance: Σ Bin(n, i; 1/rows)·f(i),
/// f the classic rate inside a row (catalogue I19). Poisson, as in [`fpr`], is for very many.
pub fn fpr_rows(rows: u64, bits: u64, n: u64, k: u32) -> f64 {
    tail::binomial_mean(n, 1.0 / rows as f64, |i| {
        bloom::fpr_classic(bits as f64, i as f64, f64::from(k))
    })
}

/// [`fpr`] where the k bits of an item are all different, each subset of the block equally likely (k ≤ B).
///
/// A block passes if its items cover the k bits of the query. Followed item by item: of u bits that are still
/// uncovered, the next item covers j with hypergeometric probability.
pub fn fpr_distinct(block_bits: u64, loads: impl Into<Loads>, k: u32) -> f64 {
    let (block, size) = (block_bits.max(1) as f64, u64::from(k).min(block_bits.max(1)));
    let choose = |n: f64, r: f64| if r > n { 0.0 } else { libm::exp(ln_choose(n, r)) };
    let covers = |u: u64, j: u64| {
        let [u, j, k] = [u, j, size].map(|x| x as f64);
        choose(u, j) * choose(block - u, k - j) / choose(block, k)
    };
    let next: Vec<Vec<f64>> = (0..=size).map(|u| (0..=u).map(|j| covers(u, j)).collect()).collect();
    // uncovered[u]: probability that u of the k bits are uncovered so far.
    let mut uncovered = vec![0.0; next.len()];
    uncovered[next.len() - 1] = 1.0;
    over_blocks(block_bits, loads.into(), k, |items| {
        if items > 0 {
            let mut after = vec![0.0; next.len()];
            for (u, p) in uncovered.iter().enumerate() {
                next[u].iter().enumerate().for_each(|(j, q)| after[u - j] += p * q);
            }
            uncovered = after;
        }
        uncovered[0]
    })
}

/// The share of ones after `n` items of k probes each in `blocks` blocks of `block` bits, and its
/// variance from filter to filter.
///
/// An item misses a given cell with probability 1 − a, a = h/blocks, where h is the chance that k throws
/// into a block hit the cell. Two cells are missed together with 1 − h₂/blocks if they share a block,
/// with 1 − 2a if not; the variance is that of the sum over all pairs, exactly. It is above the flat
/// filter's, because cells of one block fill and stay empty together.
pub fn fill(blocks: f64, block: f64, k: f64, n: f64) -> (f64, f64) {
    fill_of_hits(blocks, block, bloom::fill(block, k), bloom::fill(block / 2.0, k), n)
}

/// [`fill`] for any way of drawing bits in a block: an item that comes there hits a given cell with
/// probability `hit`, and at least one of two given cells with `hit_either`.
pub fn fill_of_hits(blocks: f64, block: f64, hit: f64, hit_either: f64, n: f64) -> (f64, f64) {
    if n == 0.0 {
        return (0.0, 0.0);
    }
    let m = blocks * block;
    let missed = |hit: f64| libm::exp(n * libm::log1p(-hit / blocks));
    let one = missed(hit);
    let together = missed(hit_either);
    // (1 − 2a)ⁿ = one²·(1 − a²/(1 − a)²)ⁿ; a single block has no cells apart.
    let odds = hit / (blocks - hit);
    let less = if blocks > 1.0 { libm::expm1(n * libm::log1p(-odds * odds)) } else { 0.0 };
    let apart = one * one * (1.0 + less);
    let variance = (one + (block - 1.0) * together - block * apart) / m + one * one * less;
    (1.0 - one, variance.max(0.0))
}

/// The k with the least [`fpr`], of 1 to 64; of equals the smallest.
pub fn best_k(block_bits: u64, bits_per_item: f64) -> u32 {
    Blocks::of(block_bits).best_k(bits_per_item, 1..=MOST_PROBES)
}

/// [`Blocks::bits_per_item`] with any k from 1 to 64.
pub fn bits_per_item_for(block_bits: u64, p: f64) -> Option<(f64, u32)> {
    Blocks::of(block_bits).bits_per_item(p, 1..=MOST_PROBES)
}

/// The exact rate inside a block by its number of items, computed once and as far as asked:
/// it does not depend on the size of the filter, which the planner searches.
struct InnerRates {
    occupancy: Occupancy,
    lanes: u32,
    by_items: Vec<f64>,
}

impl InnerRates {
    fn new(blocks: Blocks, k: u32) -> Self {
        let Blocks { bits, lanes, .. } = blocks;
        let occupancy = Occupancy::new((bits / u64::from(lanes)).max(1), k / lanes);
        Self { occupancy, lanes, by_items: Vec::new() }
    }

    fn at(&mut self, items: u64) -> f64 {
        let items = items as usize;
        while self.by_items.len() <= items {
            if !self.by_items.is_empty() {
                self.occupancy.insert();
            }
            self.by_items.push((0..self.lanes).map(|_| self.occupancy.fpr()).product());
        }
        self.by_items[items]
    }
}

/// The mean of `inner` over the number of items in a block; asks for 0, 1, 2… in order.
fn over_blocks(block_bits: u64, loads: Loads, k: u32, mut inner: impl FnMut(u64) -> f64) -> f64 {
    let block = block_bits.max(1) as f64;
    let mean = loads.mean(block);
    if !mean.is_finite() || mean < 0.0 {
        return 1.0;
    }
    // From here on a block is full but for a chance of e^{−40}, and passes everyone. Without
    // this an absurdly small filter would take forever to be found useless.
    let full = (block * (libm::log(block) + 40.0) / f64::from(k)).ceil() as u64;
    let mut sum = 0.0;
    for (items, weight) in (0..full).zip(loads.chances(mean)) {
        sum += weight * inner(items);
        // No inner rate exceeds 1, so the tail of the weights bounds what is left.
        if items as f64 > mean && weight <= sum * 1e-17 {
            return sum;
        }
    }
    sum + loads.chance_of_more(mean, full)
}

#[cfg(test)]
mod tests {
    use super::super::assert_prints;
    use super::*;

    #[test]
    fn i6_rates_of_cache_lines() {
        // c, k, classic, Bose, standard filter, each with its last printed digit.
        #[rustfmt::skip]
        let rows = [
            (8.0, 5, (0.023121, 1e-6), (0.023263, 1e-6), (0.021679, 1e-6)),
            (10.0, 7, (0.009571, 1e-6), (0.009686, 1e-6), (0.008194, 1e-6)),
            (16.0, 11, (8.596e-4, 1e-7), (8.855e-4, 1e-7), (4.587e-4, 1e-7)),
            (20.0, 14, (2.199e-4, 1e-7), (2.303e-4, 1e-7), (6.71e-5, 1e-7)),
        ];
        for (c, k, classic, bose, standard) in rows {
            assert_prints(fpr_classic(512, c, k), classic.0, classic.1);
            assert_prints(fpr(512, c, k), bose.0, bose.1);
            assert_prints(bloom::fpr_asymptotic(c, 1.0, f64::from(k)), standard.0, standard.1);
        }
        assert_eq!(best_k(512, 20.0), 11);
        assert_prints(fpr_classic(512, 20.0, 11), 1.915e-4, 1e-7);
        assert_prints(fpr(512, 20.0, 11), 1.978e-4, 1e-7);
    }

    #[test]
    fn no_block_wants_more_probes_than_are_tried() {
        for block in [8, 64, 512, 4096] {
            for c in [1.0, 2.0, 3.0, 5.0, 8.0, 12.0, 20.0] {
                let tried = Blocks::of(block).most_probes(c);
                let best = fpr(block, c, best_k(block, c));
                assert!((tried + 1..tried + 8).all(|k| fpr(block, c, k) > best), "{block} {c}");
            }
        }
        assert_eq!([64.0, 1000.0].map(|c| best_k(512, c)), [20, 38]);
    }

    #[test]
    fn the_planned_size_is_just_enough() {
        for block in [64, 256, 512] {
            for p in [0.3, 0.05, 0.01, 1e-3, 1e-4] {
                let (c, k) = bits_per_item_for(block, p).unwrap();
                assert!(fpr(block, c, k) <= p && fpr(block, c - 1e-4, k) > p);
                assert_eq!(k, best_k(block, c));
            }
        }
    }

    #[test]
    fn chances_one_after_another_are_those_of_the_formulas() {
        let counted = |blocks, items| Loads::Counted { blocks, items };
        // The last two begin where the first chances are too small to go on from.
        let all = [
            8.0.into(),
            counted(1, 5),
            counted(2, 5),
            counted(1000, 51_200),
            0.125.into(),
            counted(2, 3000),
        ];
        for loads in all {
            let mean = Loads::mean(loads, 512.0);
            for (i, chance) in (0..6000).zip(loads.chances(mean)) {
                let formula = loads.chance(mean, i);
                let off = (chance - formula).abs();
                assert!(off <= 1e-11 * formula + 1e-280, "{loads:?} {i}: {chance:e} {formula:e}");
            }
        }
    }

    #[test]
    fn lanes_and_patterns_are_planned_by_their_own_rates() {
        let (line, word) = (Blocks::of(512), Blocks::of(64));
        for (blocks, ks) in [
            (line.in_lanes(8), vec![8, 16]),
            (Blocks::of(256).in_lanes(8), vec![8]),
            (line.with_patterns(15_360), (1..=MOST_PROBES).collect()),
            (word.with_patterns(122_880), vec![5]),
        ] {
            for p in [0.05, 0.01] {
                let (c, k) = blocks.bits_per_item(p, ks.clone()).unwrap();
                let rate = |c: f64| blocks.fpr(c, blocks.best_k(c, ks.clone()));
                assert!(blocks.fpr(c, k) <= p && rate(c - 1e-4) > p, "{blocks:?} {p}");
            }
        }
        // With one lane there is one block, and with very many patterns hardly two items have the same.
        assert_eq!(line.in_lanes(1).fpr(10.0, 7), fpr(512, 10.0, 7));
        assert!((line.with_patterns(1 << 50).fpr(10.0, 7) / fpr(512, 10.0, 7) - 1.0).abs() < 1e-10);
    }

    #[test]
    fn rates_out_of_reach_are_refused() {
        assert_eq!(bits_per_item_for(8, 1e-4), None);
        assert_eq!(bits_per_item_for(512, 0.0), None);
        assert_eq!(bits_per_item_for(512, 1.0), Some((FEWEST_BITS_PER_ITEM, 1)));
    }

    #[test]
    fn the_edges_answer() {
        assert_eq!(fpr(512, 0.0, 7), 1.0);
        assert_eq!(fpr(512, -1.0, 7), 1.0);
        assert_eq!(fpr(512, 1e-9, 7), 1.0);
        assert_eq!(fpr(0, 8.0, 1), fpr(1, 8.0, 1));
        assert!((fpr(512, 8.0, 0) - 1.0).abs() < 1e-12);
        assert_eq!(best_k(512, 0.0), 1);
    }
}
