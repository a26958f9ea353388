//! The sets of hash functions of a combinatorial filter: which form uses which code and how many arrays, how large
//! those are, and how often the filter errs.

use crate::error::{Error, Result};
use crate::grouping::code::{Code, MAX_CODE_BITS, choose};
use crate::memory::check_room;
use crate::plan::{Expect, Flat, Load, PARAM_K, PARAM_M, Request, check_cells, k_for_m};
use crate::probe::{MAX_K, Partitioned, Probe};
use crate::theory::bloom as theory;

pub(super) const FIXED: &str = "fixed-weight";
pub(super) const COUNTING: &str = "counting";
pub(super) const PLAIN: &str = "plain";
pub(super) const BANK: &str = "bank";
pub(super) const CODE_BANK: &str = "code-bank";
pub(super) const FIXED_BANK: &str = "fixed-bank";
pub(super) const CHUNKED: &str = "chunked";

/// P(a member is classified right), (1 − e)^{Ψ−θ}.
pub fn classified(e: f64, code: Code) -> f64 {
    libm::pow(1.0 - e, f64::from(code.bits - code.weight))
}

/// P(a non-member is accepted) with `groups` groups, γ·e^θ·(1 − e)^{Ψ−θ}.
pub fn accepted(e: f64, code: Code, groups: f64) -> f64 {
    groups * libm::pow(e, f64::from(code.weight)) * classified(e, code)
}

/// e = ρ^k, P(all k bits of one set are ones by chance), after `sets` sets went into `m` cells.
pub fn set_passes(m: f64, sets: f64, k: f64) -> f64 {
    libm::pow(-libm::expm1(-sets * k / m), k)
}

/// Whether every code bit has an array of its own.
pub(super) fn separate(form: &str) -> bool {
    matches!(form, BANK | CODE_BANK | FIXED_BANK)
}

/// Whether codes are the numbers of the groups, of any weight.
fn plain(form: &str) -> bool {
    matches!(form, PLAIN | CODE_BANK)
}

/// Whether a form tells so many groups apart by this code.
pub(super) fn suits(form: &str, code: Code, groups: u64) -> bool {
    let of_form = match form {
        BANK => u64::from(code.bits) == groups && code.weight == 1,
        _ => code.bits <= MAX_CODE_BITS && (code.weight == 0) == plain(form),
    };
    of_form && code.weight <= code.bits && code.room() >= groups
}

/// The rates of queries that name a group, averaged over the first `groups` of a code: present and
/// undecided; and the share of members that are classified right. `chance` is e of a code bit.
pub(super) fn rates(
    code: Code,
    bank: bool,
    groups: u64,
    chance: impl Fn(u64) -> f64,
) -> (f64, f64, f64) {
    let (mut present, mut undecided, mut right) = (0.0, 0.0, 0.0);
    for g in 0..groups {
        let mut all = 1.0;
        code.each(g, |b| all *= chance(b));
        let alone: f64 = if bank { 1.0 } else { code.zeros(g).map(|b| 1.0 - chance(b)).product() };
        present += all * alone;
        undecided += all * (1.0 - alone);
        right += alone;
    }
    let n = groups.max(1) as f64;
    (present / n, undecided / n, right / n)
}

/// Form, groups, code, layout, one array's cells and probes, and bits per cell.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    pub(super) form: &'static str,
    pub(super) groups: u64,
    pub(super) code: Code,
    pub(super) chunked: bool,
    pub(super) flat: Flat,
    pub(super) width: u32,
}

impl Shape {
    /// All but the size, which the goal decides; the cells are counters, or bits.
    fn coded(request: &Request<'_>, counters: bool) -> Result<Self> {
        let form = request.form();
        let groups = request.integer("groups").unwrap_or(16);
        let [bits, weight] =
            ["code-bits", "weight"].map(|name| request.integer(name).map(|v| v as u32));
        let code = match form {
            BANK => Code { bits: bits.unwrap_or(groups as u32), weight: weight.unwrap_or(1) },
            PLAIN | CODE_BANK => {
                let needed = 64 - groups.leading_zeros();
                Code { bits: bits.unwrap_or(needed), weight: weight.unwrap_or(0) }
            }
            _ => match (bits, weight) {
                (None, None) => Code::shortest(groups),
                (Some(bits), weight) => {
                    let light = (1..=bits).find(|&w| choose(bits, w) >= groups);
                    Code { bits, weight: weight.or(light).unwrap_or(bits / 2).max(1) }
                }
                (None, Some(weight)) => {
                    let fits = |bits: &u32| choose(*bits, weight) >= groups;
                    let bits = (weight..=MAX_CODE_BITS).find(fits);
                    Code { bits: bits.unwrap_or(MAX_CODE_BITS), weight }
                }
            },
        };
        if !suits(form, code, groups) {
            return Err(Error::parameter(format!(
                "a code of {} bits and weight {} has no word for each of {groups} groups in the form \
                 {form}: leave out {{code-bits}} or {{weight}}",
                code.bits, code.weight
            )));
        }
        Ok(Self {
            form,
            groups,
            code,
            chunked: request.choice("layout") == Some(CHUNKED),
            flat: Flat { m: 1, k: 1 },
            width: if counters { request.integer("width").unwrap_or(4) as u32 } else { 1 },
        })
    }

    pub(super) fn arrays(&self) -> u64 {
        if separate(self.form) { self.code.bits.into() } else { 1 }
    }

    pub(super) fn probe(&self) -> Probe {
        let Flat { m, k } = self.flat;
        if self.chunked {
            Probe::Partitioned(Partitioned::new(m / u64::from(k), k))
        } else {
            Probe::over(m, k)
        }
    }

    /// How many of the groups use each array, and how often all of them use it.
    fn uses(&self) -> Vec<u64> {
        let mut uses = vec![0; self.arrays() as usize];
        let last = uses.len() - 1;
        (0..self.groups).for_each(|g| self.code.each(g, |b| uses[(b as usize).min(last)] += 1));
        uses
    }

    /// The chance e of a set at which neither error is above `p`: non-members accepted, and members not
    /// classified. A member of a plain code may have Ψ − 1 zeros, a non-member Ψ.
    fn chance(&self, p: f64) -> f64 {
        let of = |zeros: f64| -libm::expm1(libm::log1p(-p) / zeros);
        match self.form {
            BANK => p,
            form if plain(form) => of(self.code.bits.into()),
            _ => {
                let Code { bits, weight } = self.code;
                let zeros = if bits > weight { of((bits - weight).into()) } else { 1.0 };
                zeros.min(libm::pow(p / self.groups as f64, 1.0 / f64::from(weight)))
            }
        }
    }

    /// The same shape with the least array for `sets` sets at chance `e`, or infinitely many cells.
    fn sized(&self, sets: f64, e: f64, k_set: Option<u32>) -> (f64, u32) {
        let best = (-libm::log2(e)).floor().clamp(1.0, f64::from(MAX_K - 1)) as u32;
        let ks = k_set.map_or(best..=best + 1, |k| k..=k);
        let cells = |k: u32| {
            let kf = f64::from(k);
            let m = kf * sets / -libm::log1p(-libm::pow(e, 1.0 / kf));
            if self.chunked { (m / kf).ceil().max(1.0) * kf } else { m.ceil().max(1.0) }
        };
        let sizes = ks.map(|k| (cells(k), k));
        sizes.min_by(|a, b| a.0.total_cmp(&b.0)).unwrap_or((f64::INFINITY, 1))
    }

    /// The rate bounds both errors: non-members accepted, and members not classified. Arrays are all sized
    /// for the one that most groups use, if groups are of equal size.
    pub(super) fn plan(request: &Request<'_>, counters: bool) -> Result<Self> {
        let mut shape = Self::coded(request, counters)?;
        let most = shape.uses().into_iter().max().unwrap_or(0) as f64 / shape.groups as f64;
        let k_set = request.integer(PARAM_K.name).map(|k| k as u32);
        let (arrays, width) = (shape.arrays() as f64, f64::from(shape.width));
        if let Some(m) = request.integer(PARAM_M.name) {
            let m = m / shape.arrays();
            let best = |n: u64| theory::best_k(m.max(1), (n as f64 * most).ceil() as u64);
            let k = k_for_m(request, best)?;
            let k64 = u64::from(k);
            let m = if shape.chunked { m / k64 * k64 } else { m };
            if m == 0 {
                return Err(Error::parameter("{m} has not a cell for each array or chunk"));
            }
            shape.flat = Flat { m, k };
        } else {
            let sized = |n: u64, p: f64| shape.sized(n as f64 * most, shape.chance(p), k_set);
            let (n, p) = request.items_and_rate(|n, p| sized(n, p).0 * arrays * width)?;
            let (m, k) = sized(n, p);
            check_cells(n, p, m * arrays)?;
            shape.flat = Flat { m: m as u64, k };
        }
        check_room((shape.flat.m * shape.arrays()).saturating_mul(shape.width.into()))?;
        Ok(shape)
    }

    /// For groups of equal size. The fill varies with the throws, and with how many keys a group gets.
    pub(super) fn expect(&self, load: &Load) -> Expect {
        let (n, Flat { m, k }) = (load.distinct as f64, self.flat);
        let (m, k, groups) = (m as f64, f64::from(k), self.groups as f64);
        // A set of k probes misses a given cell; one probe of them, where each has a chunk.
        let miss = if self.chunked { 1.0 - k / m } else { libm::pow(1.0 - 1.0 / m, k) };
        let spread = |sets: f64| match self.chunked {
            true => theory::fill_sd(m / k, sets) / k.sqrt(),
            false => theory::fill_sd(m, sets * k),
        };
        let arrays = self.arrays() as f64;
        let zeros: Vec<f64> = if separate(self.form) {
            let used = |uses: u64| libm::log1p(-(uses as f64 / groups) * (1.0 - miss));
            self.uses().into_iter().map(|uses| libm::exp(n * used(uses))).collect()
        } else {
            let missed = |g| libm::pow(miss, f64::from(self.code.word(g).count_ones()));
            let mean = (0..self.groups).map(missed).sum::<f64>() / groups;
            vec![libm::exp(n * libm::log(mean))]
        };
        let last = zeros.len() - 1;
        let zero = |b: u64| zeros[(b as usize).min(last)];
        let throws: f64 =
            self.uses().iter().map(|uses| spread(n * *uses as f64 / groups).powi(2)).sum();
        // To first order, a key of group g fills this much of all cells.
        let share = |g: u64| {
            let mut sum = 0.0;
            self.code.each(g, |b| sum -= libm::log(miss) * zero(b) / arrays);
            sum
        };
        let mean = (0..self.groups).map(share).sum::<f64>() / groups;
        let variance = (0..self.groups).map(|g| (share(g) - mean).powi(2)).sum::<f64>() / groups;
        let fill = 1.0 - zeros.iter().sum::<f64>() / arrays;
        let sd = (throws / (arrays * arrays) + n * variance).sqrt();
        let chance = |b: u64| libm::pow(1.0 - zero(b), k);
        let (fpr, undecided, _) = rates(self.code, self.form == BANK, self.groups, chance);
        let bits = self.flat.m * self.arrays() * u64::from(self.width);
        Expect { undecided, ..Expect::one_sided(fpr, bits, Some((fill, sd))).probing(self.flat.k) }
    }
}

/// The rates of a bank whose several classes are undecided, from the chance of each filter.
pub(super) fn alone(chances: &[f64]) -> (f64, f64, f64) {
    let none: f64 = chances.iter().map(|chance| libm::log1p(-chance.min(1.0 - 1e-12))).sum();
    let (mut present, mut undecided, mut right) = (0.0, 0.0, 0.0);
    for chance in chances {
        let others = libm::exp(none - libm::log1p(-chance.min(1.0 - 1e-12)));
        present += chance * others;
        undecided += chance * (1.0 - others);
        right += others;
    }
    let n = chances.len().max(1) as f64;
    (present / n, undecided / n, right / n)
}
