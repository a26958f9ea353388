//! The generalized Bloom filter (Laufer, Velloso, Duarte 2011; catalogue R10; S2, S3 ref. 76, S0 §III-R).
//!
//! A standard filter that is all ones lets everybody pass, so whoever may write the bits (a packet's
//! header on its way through a network) can forge membership of everything. Here a key does not only
//! set the bits of k1 hashes h; it then *resets* those of k0 further hashes g. It passes only if its g
//! bits are zero **and** its h bits are one, which no fill grants to everybody:
//!
//! ```text
//!           h     g   h     gh     h sets, g resets; where both meet, the reset wins
//!           ↓     ↓   ↓     ↓
//!   before  0 1 1 1 0 0 1 1 1 0    any bits at all, from anybody
//!   after   1 1 1 0 0 1 1 1 0 0
//! ```
//!
//! With a share p of zeros, a foreign key passes with p^k0·(1−p)^k1, and that is never more than
//! F_p = (k0/(k0+k1))^k0·(k1/(k0+k1))^k1, reached at p = k0/(k0+k1), the very share that insertions
//! drive the filter to (S2 eq. 18, 19). The price are false negatives: later keys overwrite the bits
//! of earlier ones, so old members get lost first. The last key inserted is always found, because the
//! query skips an h bit that the key's own g resets.
//!
//! **Use it** for a small set whose bits pass through other hands. **Don't** otherwise: at 1 % of
//! false positives and 5 % of false negatives it takes hundreds of bits a key. With k0 = 0 and an empty
//! start it is the standard filter, bit for bit.
//!
//! There is no union and no folding: of two bits that differ nobody can tell which was written and
//! which is just the initial content, and a bit one key reset another one set.

use crate::cells::Bits;
use crate::hash::Generator;
use crate::plan::MAX_CELLS;
use crate::probe::{Coincide, Indices, Probe};
use crate::theory::generalized::{self as theory, Hashes, MOST_HASHES};
use crate::theory::mean_over;
use crate::variant::prelude::*;

/// A set in m bits, of which every key sets k1 and resets k0.
///
/// ```
/// let mut path = everbloom::membership::Generalized::with_rate(10, 0.05)?;
/// path.insert("router 1");
/// path.insert("router 2");
/// assert!(path.contains("router 2"));
/// # Ok::<(), everbloom::error::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Generalized {
    head: Head,
    setting: Probe,
    /// None in the standard filter, which resets nothing.
    resetting: Option<Probe>,
    bits: Bits,
}

state!(Generalized { head, setting, resetting, bits });

/// Makes the g hashes independent of the h hashes.
const RESET: u64 = 0x7265_7365_7400_0001;

impl Generalized {
    /// A filter on bits from anywhere, with `k0` resetting (up to 64) and `k1` setting hashes (1 to 64).
    pub fn on(bits: Bits, k0: u32, k1: u32, hasher: Hasher) -> Result<Self> {
        let m = bits.len();
        if m == 0 || k0 > MOST_HASHES || !(1..=MOST_HASHES).contains(&k1) {
            return Err(Error::parameter(format!(
                "{m} bits with {k0} resetting and {k1} setting hashes: there must be a bit, \
                 at most {MOST_HASHES} hashes of a kind, and one that sets"
            )));
        }
        let resetting = (k0 > 0).then(|| Probe::over(m, k0));
        Ok(Self { head: Head::new(hasher, FORM), setting: Probe::over(m, k1), resetting, bits })
    }

    /// The bits that the key resets, in probe order.
    #[inline]
    fn resets(&self, digest: Digest) -> Indices {
        let salted = digest.salted(RESET);
        self.resetting.as_ref().map(|p| p.collect(salted, Coincide::PerHash)).unwrap_or_default()
    }

    #[inline]
    fn passes(&self, digest: Digest, resets: &Indices) -> bool {
        resets.iter().all(|&i| !self.bits.get(i))
            && self.setting.all(digest, |i| self.bits.get(i) || resets.contains(&i))
    }

    /// Inserts a key: sets, then resets. "New" is as certain as an answer of this filter can be: the
    /// key may have been there and been overwritten.
    #[inline]
    pub fn insert<K: Key + ?Sized>(&mut self, key: &K) -> Seen {
        let digest = self.head.hasher.digest(key);
        let resets = self.resets(digest);
        let seen = if self.passes(digest, &resets) { Seen::Maybe } else { Seen::New };
        let bits = &mut self.bits;
        self.setting.each(digest, |i| {
            bits.set(i);
        });
        resets.iter().for_each(|&i| bits.reset(i));
        self.head.count(1);
        seen
    }

    /// Whether the key may be a member. Older members may be missed, the last one never.
    #[inline]
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        let digest = self.head.hasher.digest(key);
        self.passes(digest, &self.resets(digest))
    }

    /// Number of bits.
    pub fn m(&self) -> u64 {
        self.bits.len()
    }

    /// Number of resetting and of setting hashes.
    pub fn hashes(&self) -> (u32, u32) {
        (self.resetting.as_ref().map_or(0, Probe::k), self.setting.k())
    }

    /// The bits.
    pub fn bits(&self) -> &Bits {
        &self.bits
    }

    fn check(&self) -> Result<()> {
        for probe in self.resetting.iter().chain([&self.setting]) {
            probe.check_flat(self.bits.len())?;
            if probe.k() > MOST_HASHES {
                return Err(Error::corrupt(
                    0,
                    "corrupt filter: not a probe of a generalized filter",
                ));
            }
        }
        Ok(())
    }
}

/// `m` bits, each zero with probability `zeros`, reproducibly.
fn initial_bits(m: u64, zeros: f64, seed: u64) -> Bits {
    let mut bits = Bits::new(m);
    let mut generator = Generator::new(seed);
    if zeros < 1.0 {
        (0..m).filter(|_| generator.unit() >= zeros).for_each(|i| {
            bits.set(i);
        });
    }
    bits
}

/// The false-positive rate of `m` bits of which a share of `zeros` is zero, skip rule included.
///
/// Exact given the bits: all k0 resets must fall on zeros, p^k0; if those are d distinct cells, a set
/// passes on a one or on one of them, (1 − p + d/m)^k1. S2 eq. 9 is this without d; to first order d
/// adds (k0·k1/m)·p^k0·(1−p)^{k1−1}, the catalogue's term.
pub fn fpr_at(m: f64, zeros: f64, k0: u32, k1: u32) -> f64 {
    let free = zeros * m;
    // distinct[d]: probability that the resets, all on zeros, are d distinct cells.
    let mut distinct = vec![0.0; k0 as usize + 1];
    distinct[0] = 1.0;
    for draw in 1..=k0 as usize {
        for d in (1..=draw).rev() {
            let fresh = (free - (d - 1) as f64).max(0.0);
            distinct[d] = (distinct[d] * d as f64 + distinct[d - 1] * fresh) / free;
        }
        distinct[0] = 0.0;
    }
    if k0 > 0 && free <= 0.0 {
        return 0.0;
    }
    let set = |d: usize| libm::pow((1.0 - zeros + d as f64 / m).min(1.0), f64::from(k1));
    let sets: f64 = distinct.iter().enumerate().map(|(d, p)| p * set(d)).sum();
    libm::pow(zeros, f64::from(k0)) * sets
}

/// F_p of a filter of `m` bits with the skip rule: the largest value of p^k0·(1 − p + k0/m)^k1, which
/// is eq. 19 times (1 + k0/m)^{k0+k1}.
pub fn max_fpr(m: f64, k0: u32, k1: u32) -> f64 {
    let hashes = Hashes { k0: f64::from(k0), k1: f64::from(k1) };
    hashes.max_fpr() * libm::pow(1.0 + hashes.k0 / m, hashes.k0 + hashes.k1)
}

/// The false-negative rate averaged over `n` members: S2 eq. 12 over all positions.
pub fn mean_fnr(shape: &theory::Shape, n: u64) -> f64 {
    mean_over(n, |later| shape.fnr(later))
}

/// Standard deviation of the share of ones after `n` keys, from filter to filter.
///
/// Var = (v(1−v) + (m−1)w)/m with v the mean share and w the covariance of two bits. One key takes
/// (v, w) to (r·v + q1, A·w + g(v)), where r and A are the chances that it leaves one and two given
/// bits alone and g is quadratic in v; all of g's coefficients are differences (1−2/m)^k − (1−1/m)^2k,
/// computed as such since (1−2/m)/(1−1/m)² = 1 − 1/(m−1)². The recurrence is summed in closed form.
pub fn fill_sd(shape: &theory::Shape, initial_zeros: f64, n: f64) -> f64 {
    let theory::Shape { m, k0, k1 } = *shape;
    let v = 1.0 - shape.zeros_after(initial_zeros, n);
    if m < 2.0 || n < 1.0 {
        return (v * (1.0 - v) / m).sqrt();
    }
    // (1 − 2/m)^k = (1 − 1/m)^2k·(1 + excess(k)).
    let excess = |k: f64| {
        if k == 0.0 { 0.0 } else { libm::expm1(k * libm::log1p(-1.0 / ((m - 1.0) * (m - 1.0)))) }
    };
    let missed = |k: f64| libm::exp(k * libm::log1p(-1.0 / m));
    let (t0, t1, e0, e1) = (missed(k0), missed(k1), excess(k0), excess(k1));
    let (r, e) = (missed(k0 + k1), excess(k0 + k1));
    let both = r * r * (1.0 + e);
    // g(v) = a·v² + 2b·v + c.
    let a = r * r * e;
    let b = t0 * t0 * (e0 * (t1 - t1 * t1) - (1.0 + e0) * t1 * t1 * e1);
    let c = t0 * t0 * (e0 * (1.0 - t1) * (1.0 - t1) + (1.0 + e0) * t1 * t1 * e1);
    // v after i keys is steady + start·r^i.
    let steady = shape.sets() / (shape.resets() + shape.sets());
    let start = 1.0 - initial_zeros - steady;
    let (both_n, r_n) = (libm::pow(both, n), libm::pow(r, n));
    let sum_1 = (1.0 - both_n) / (1.0 - both);
    let sum_r = (r_n - both_n) / (r - both);
    let sum_rr = libm::pow(r, 2.0 * (n - 1.0)) * libm::expm1(n * libm::log1p(e)) / e;
    let w = (a * steady * steady + 2.0 * b * steady + c) * sum_1
        + 2.0 * (a * steady + b) * start * sum_r
        + a * start * start * sum_rr;
    ((v * (1.0 - v) + (m - 1.0) * w).max(0.0) / m).sqrt()
}

/// Bits, hashes, the initial content and the bound on false negatives.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    m: u64,
    k0: u32,
    k1: u32,
    zeros: f64,
    init_seed: u64,
    fnr: Option<f64>,
}

impl Shape {
    fn exact(&self) -> theory::Shape {
        theory::Shape { m: self.m as f64, k0: f64::from(self.k0), k1: f64::from(self.k1) }
    }

    fn bound(&self) -> f64 {
        Hashes { k0: f64::from(self.k0), k1: f64::from(self.k1) }.max_fpr()
    }
}

/// How much of the goal leaves which hashes and size to choose.
struct Planner {
    k0: Option<u32>,
    k1: Option<u32>,
    zeros: f64,
    fnr: f64,
}

impl Planner {
    /// The hashes whose F_p is at most `p`, as few as the false negatives like best (S2 §IV-B).
    fn hashes(&self, p: f64) -> Option<(u32, u32)> {
        let ok = |k0: u32, k1: u32| Hashes { k0: f64::from(k0), k1: f64::from(k1) }.max_fpr() <= p;
        match (self.k0, self.k1) {
            (Some(k0), Some(k1)) => Some((k0, k1)),
            (Some(0), None) => {
                let bits = |k1: &u32| self.standard_bits(1.0, p, *k1);
                let best = (1..=MOST_HASHES).min_by(|a, b| bits(a).total_cmp(&bits(b)));
                best.map(|k1| (0, k1))
            }
            (Some(k0), None) => (1..=MOST_HASHES).find(|&k1| ok(k0, k1)).map(|k1| (k0, k1)),
            (None, Some(k1)) => (1..=MOST_HASHES).find(|&k0| ok(k0, k1)).map(|k0| (k0, k1)),
            (None, None) => theory::design(p, self.fnr).map(|d| (d.k0, d.k1)),
        }
    }

    /// Bits for n keys at rate p with k probes and no resets: fill^k = p for a fill that starts at
    /// 1 − `zeros`; infinite where the start alone is too full.
    fn standard_bits(&self, n: f64, p: f64, k: u32) -> f64 {
        let k = f64::from(k);
        let untouched = (1.0 - libm::pow(p, 1.0 / k)) / self.zeros;
        if untouched < 1.0 { k * n / -libm::log(untouched) } else { f64::INFINITY }
    }

    /// Bits that keep both bounds for n keys; infinite where no filter does.
    fn bits(&self, n: u64, p: f64) -> f64 {
        let Some((k0, k1)) = self.hashes(p) else { return f64::INFINITY };
        if k0 == 0 {
            return self.standard_bits(n as f64, p, k1);
        }
        let hashes = Hashes { k0: f64::from(k0), k1: f64::from(k1) };
        let per_item = theory::bits_per_item_for(hashes, self.fnr).unwrap_or(f64::INFINITY);
        // The skip rule lifts F_p by (1 + k0/m)^{k0+k1}, so m must not be too small for the bound
        // either; where F_p has no slack, 1 % is let pass.
        let slack = (p / hashes.max_fpr()).max(1.01);
        let least = hashes.k0 / libm::expm1(libm::log(slack) / (hashes.k0 + hashes.k1));
        (per_item * n as f64).max(least)
    }
}

impl Plan for Generalized {
    type Shape = Shape;

    fn plan(request: &Request<'_>) -> Result<Shape> {
        let number = |name| request.integer(name).map(|k| k as u32);
        let zeros = request.real("zeros").unwrap_or(1.0);
        let fnr = request.real("fnr").unwrap_or(0.05);
        let planner = Planner { k0: number("k0"), k1: number("k1"), zeros, fnr };
        let init_seed = request.integer("init-seed").unwrap_or(0);
        let (n, p, m) = match request.integer(PARAM_M.name) {
            Some(m) => (request.goal_items(), request.fpr(), m as f64),
            None => {
                let (n, p) = request.items_and_rate(|n, p| planner.bits(n, p))?;
                (Some(n), p, planner.bits(n, p).ceil())
            }
        };
        let hashes = planner.hashes(p).filter(|_| m <= MAX_CELLS as f64);
        let Some((k0, k1)) = hashes else {
            return Err(Error::parameter(format!(
                "no generalized filter bounds false positives by {p} and false negatives by {fnr} \
                 in {MAX_CELLS} bits: allow more of either, or set k0 and k1 by hand"
            )));
        };
        let m = (m as u64).max(1);
        let hashes = Hashes { k0: f64::from(k0), k1: f64::from(k1) };
        let by_hand = || n.map(|n| hashes.max_fnr(m as f64 / n as f64));
        let fnr = match request.integer(PARAM_M.name) {
            _ if k0 == 0 => Some(0.0),
            Some(_) => by_hand(),
            None => Some(fnr),
        };
        Ok(Shape { m, k0, k1, zeros, init_seed, fnr })
    }

    fn expect(shape: &Shape, load: &Load) -> Option<Expect> {
        let (exact, n) = (shape.exact(), load.items as f64);
        let zeros = exact.zeros_after(shape.zeros, n);
        Some(Expect {
            fpr: fpr_at(exact.m, zeros, shape.k0, shape.k1),
            fnr: mean_fnr(&exact, load.items),
            undecided: 0.0,
            bits: shape.m,
            fill: Some((1.0 - zeros, fill_sd(&exact, shape.zeros, n))),
        })
    }
}

impl Stream for Generalized {
    fn empty(shape: &Shape, head: Head) -> Result<Self> {
        let bits = initial_bits(shape.m, shape.zeros, shape.init_seed);
        let hasher = head.hasher.clone();
        // Hashes set by hand may bound the rate less tightly than the goal; then the bound is the target.
        let fpr =
            head.fpr.map(|target| if shape.k0 > 0 { target.max(shape.bound()) } else { target });
        Ok(Self {
            head: Head { fpr, fnr: shape.fnr, ..head },
            ..Self::on(bits, shape.k0, shape.k1, hasher)?
        })
    }
}

face!(Generalized: Insert);
planned!(Generalized);

impl Filter for Generalized {
    fn query(&self, record: Record<'_>) -> Result<Answer> {
        Ok(Answer::of(self.contains(record.key)))
    }

    fn fill(&self) -> Option<f64> {
        Some(self.bits.ones() as f64 / self.m() as f64)
    }

    /// False positives from the real bits; false negatives for as many keys as were inserted, each of
    /// them once.
    fn now(&self) -> Rates {
        let ((k0, k1), m) = (self.hashes(), self.m() as f64);
        let exact = theory::Shape { m, k0: f64::from(k0), k1: f64::from(k1) };
        Rates {
            fpr: Some(fpr_at(m, self.bits.zeros() as f64 / m, k0, k1)),
            fnr: Some(mean_fnr(&exact, self.head.items)),
            undecided: None,
        }
    }

    fn describe(&self) -> Vec<Fact> {
        let (k0, k1) = self.hashes();
        let bound = max_fpr(self.m() as f64, k0, k1).min(1.0);
        vec![fact("m", self.m()), fact("k0", k0), fact("k1", k1), real("fpr bound", bound)]
    }
}

keyed!(Generalized: Insert);

const FORM: &str = "standard";

/// The list entry.
pub static VARIANT: Variant = Variant {
    facts: Facts {
        id: 11,
        slug: "generalized",
        entry: "R10",
        name: "Generalized Bloom filter",
        paper: "R. P. Laufer, P. B. Velloso, O. C. M. B. Duarte, A generalized Bloom filter to secure \
                distributed network applications, Computer Networks 55(8), 2011",
        family: "hostile",
        needs: &["membership", "hostile"],
        meaning: "items are keys, the rate bounds false positives whatever the bits become",
        forms: &[Form {
            name: FORM,
            abilities: &[Ability::Insert],
            false_negatives: FalseNegatives::Possible(
                "later keys overwrite the bits of earlier ones; the last key is never missed",
            ),
        }],
        params: &[
            PARAM_M,
            Param {
                name: "k0",
                range: Range::Integer(0, MOST_HASHES as u64),
                default: Preset::Planned,
                help: "number of resetting hashes; 0 is the standard filter",
            },
            Param {
                name: "k1",
                range: Range::Integer(1, MOST_HASHES as u64),
                default: Preset::Planned,
                help: "number of setting hashes",
            },
            Param {
                name: "fnr",
                range: Range::Real(1e-9, 0.999),
                default: Preset::Real(0.05),
                help: "bound on the rate of false negatives",
            },
            Param {
                name: "zeros",
                range: Range::Real(0.0, 1.0),
                default: Preset::Real(1.0),
                help: "share of zeros among the initial bits",
            },
            Param {
                name: "init-seed",
                range: Range::Integer(0, u64::MAX),
                default: Preset::Integer(0),
                help: "seed that draws the initial bits where they are mixed",
            },
        ],
        reach: 1_000_000,
        ..Facts::FILTER
    },
    ops: Ops::of::<Generalized>(),
};
