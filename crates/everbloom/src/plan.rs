//! From what the user wants to what a variant needs: goals, requests, expectations.

use std::fmt;

use crate::error::{Error, Result};
use crate::filter::Head;
use crate::hash::{HashId, Hasher};
use crate::probe::MAX_K;
use crate::theory::bloom;
use crate::variant::{Form, Param, Range, Setting, Variant};

/// What the user wants, before it is known which variant serves it.
#[derive(Clone, Debug, Default)]
pub struct Goal {
    /// Items to hold.
    pub items: Option<u64>,
    /// Rate of false positives to stay below.
    pub fpr: Option<f64>,
    /// Bits to fit in.
    pub bits: Option<u64>,
    /// Hash and seed or key.
    pub hasher: Hasher,
    /// `--set name=value`, in order; `form` and `hash` are known to every variant.
    pub settings: Vec<(String, String)>,
}

impl Goal {
    /// `items` items at a rate of `fpr`.
    pub fn new(items: u64, fpr: f64) -> Self {
        Self { items: Some(items), fpr: Some(fpr), ..Self::default() }
    }

    /// The same goal with one more setting.
    #[must_use]
    pub fn set(mut self, name: &str, value: impl fmt::Display) -> Self {
        self.settings.push((name.to_owned(), value.to_string()));
        self
    }

    /// The same goal under another seed.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.hasher = Hasher::seeded(seed);
        self
    }
}

/// The rate used when the goal names none.
pub const DEFAULT_FPR: f64 = 0.01;

/// A goal checked against a variant: what `plan` works from.
#[derive(Debug)]
pub struct Request<'a> {
    variant: &'static Variant,
    goal: &'a Goal,
    hasher: Hasher,
    /// Whether the caller chose the hash, so that the variant's own choice yields.
    hash_named: bool,
    form: &'static Form,
    settings: Vec<(&'static str, Setting)>,
}

impl<'a> Request<'a> {
    pub(crate) fn new(variant: &'static Variant, goal: &'a Goal) -> Result<Self> {
        if goal.items == Some(0) {
            return Err(Error::parameter("-n 0: a filter is planned for at least 1 item"));
        }
        if goal.fpr.is_some_and(|p| !(p > 0.0 && p < 1.0)) {
            return Err(Error::parameter(format!(
                "-p {}: a false-positive rate lies between 0 and 1, both excluded, such as 1% or 0.001",
                goal.fpr.unwrap_or(f64::NAN)
            )));
        }
        if goal.bits == Some(0) {
            return Err(Error::parameter("--memory 0: a filter needs at least one byte"));
        }
        let mut request = Self {
            variant,
            goal,
            hasher: goal.hasher.clone(),
            hash_named: goal.hasher.id() != HashId::Xxh3_128,
            form: &variant.forms[0],
            settings: Vec::new(),
        };
        for (name, text) in &goal.settings {
            request.apply(name, text)?;
        }
        Ok(request)
    }

    fn apply(&mut self, name: &str, text: &str) -> Result<()> {
        let variant = self.variant;
        match name {
            "form" => {
                let form = variant.forms.iter().find(|f| f.name == text);
                self.form = form.ok_or_else(|| {
                    let names: Vec<_> = variant.forms.iter().map(|f| f.name).collect();
                    let names = names.join(", ");
                    Error::parameter(format!(
                        "--set form={text}: {} has the forms {names}",
                        variant.slug
                    ))
                })?;
            }
            "hash" => {
                let id = HashId::ALL.into_iter().find(|h| h.name() == text).ok_or_else(|| {
                    let names = HashId::ALL.map(HashId::name).join(", ");
                    Error::parameter(format!("--set hash={text}: must be one of {names}"))
                })?;
                self.hash_named = true;
                if id != self.hasher.id() {
                    self.hasher = Hasher::with_id(id, self.goal.hasher.seed())?;
                }
            }
            _ => {
                let param = variant.params.iter().find(|p| p.name == name).ok_or_else(|| {
                    let names: Vec<_> =
                        variant.params.iter().map(|p| p.name).chain(["form", "hash"]).collect();
                    Error::parameter(format!(
                        "--set {name}: {} has no such parameter; it has {}",
                        variant.slug,
                        names.join(", ")
                    ))
                })?;
                let setting = Setting::parse(param, text)?;
                self.settings.retain(|(n, _)| *n != param.name);
                self.settings.push((param.name, setting));
            }
        }
        Ok(())
    }

    /// The form asked for.
    pub fn form(&self) -> &'static str {
        self.form.name
    }

    /// The rate asked for, or the default.
    pub fn fpr(&self) -> f64 {
        self.goal.fpr.unwrap_or(DEFAULT_FPR)
    }

    /// The items asked for, if they were.
    pub fn goal_items(&self) -> Option<u64> {
        self.goal.items
    }

    /// The rate asked for, if one was.
    pub fn goal_fpr(&self) -> Option<f64> {
        self.goal.fpr
    }

    /// The bits to fit in, if the goal says.
    pub fn goal_bits(&self) -> Option<u64> {
        self.goal.bits
    }

    /// Items and rate, one of them derived from the memory if the goal gives that instead.
    ///
    /// `bits` is the variant's own sizing: bits for n items at rate p, growing with n and falling with
    /// p. It may be infinite where a rate is out of reach.
    pub fn items_and_rate(&self, bits: impl Fn(u64, f64) -> f64) -> Result<(u64, f64)> {
        let Goal { items, fpr, bits: room, .. } = *self.goal;
        let Some(room) = room.map(|b| b as f64) else {
            let items = items.ok_or_else(|| {
                Error::parameter("how many items? give -n, or --memory together with -p")
            })?;
            return Ok((items, self.fpr()));
        };
        match (items, fpr) {
            (Some(n), Some(p)) => {
                let needed = bits(n, p);
                if needed <= room {
                    return Ok((n, p));
                }
                Err(Error::parameter(format!(
                    "{n} items at a rate of {p} need {:.0} bytes, but --memory allows {:.0}: \
                     leave out one of the three",
                    (needed / 8.0).ceil(),
                    room / 8.0
                )))
            }
            (Some(n), None) => {
                // Bisect on ln p: rates span hundreds of orders of magnitude.
                let (mut low, mut high) = (-690.0f64, -1e-9f64);
                if bits(n, libm::exp(high)) > room {
                    return Err(Error::parameter(format!(
                        "{:.0} bytes are too few for {n} items: give more --memory",
                        room / 8.0
                    )));
                }
                for _ in 0..60 {
                    let middle = 0.5 * (low + high);
                    if bits(n, libm::exp(middle)) <= room { high = middle } else { low = middle }
                }
                Ok((n, libm::exp(high)))
            }
            (None, _) => {
                let p = self.fpr();
                let (mut low, mut high) = (0u64, 1u64 << 56);
                while high - low > 1 {
                    let middle = low + (high - low) / 2;
                    if bits(middle, p) <= room { low = middle } else { high = middle }
                }
                if low == 0 {
                    return Err(Error::parameter(format!(
                        "{:.0} bytes hold not even one item at a rate of {p}: give more --memory",
                        room / 8.0
                    )));
                }
                Ok((low, p))
            }
        }
    }

    fn setting(&self, name: &str) -> Setting {
        let set = self.settings.iter().find(|(n, _)| *n == name).map(|(_, s)| *s);
        let default = || self.variant.params.iter().find(|p| p.name == name).map(|p| p.default);
        set.or_else(default).unwrap_or(Setting::Planned)
    }

    /// A whole number that was set or has a default.
    pub fn integer(&self, name: &str) -> Option<u64> {
        match self.setting(name) {
            Setting::Integer(v) => Some(v),
            _ => None,
        }
    }

    /// A real number that was set or has a default.
    pub fn real(&self, name: &str) -> Option<f64> {
        match self.setting(name) {
            Setting::Real(v) => Some(v),
            _ => None,
        }
    }

    /// A word that was set or has a default.
    pub fn choice(&self, name: &str) -> Option<&'static str> {
        match self.setting(name) {
            Setting::Choice(v) => Some(v),
            _ => None,
        }
    }

    /// The head of a filter built to this request, empty, with the target the goal implies: the rate
    /// asked for, or the one that `expected` gives for a size fixed by memory or by hand.
    /// Hashed by `preferred` unless the caller chose.
    pub(crate) fn head(
        &self,
        preferred: HashId,
        expected: impl FnOnce(&Load) -> Option<Expect>,
    ) -> Head {
        let sized = self.goal.bits.is_some() || self.integer(PARAM_M.name).is_some();
        let fpr = match (self.goal.fpr, self.goal.items) {
            (None, Some(n)) if sized => expected(&Load::items(n)).map(|e| e.fpr),
            (None, None) if sized && self.goal.bits.is_none() => None,
            _ => Some(self.fpr()),
        };
        let own = Hasher::with_id(preferred, self.hasher.seed()).ok().filter(|_| !self.hash_named);
        let hasher = own.unwrap_or_else(|| self.hasher.clone());
        Head { fpr, ..Head::new(hasher, self.form.name) }
    }
}

/// What a formula may need to know of the load on a filter.
#[derive(Clone, Copy, Debug, Default)]
pub struct Load {
    /// Items inserted, repetitions included.
    pub items: u64,
    /// Distinct items among them.
    pub distinct: u64,
}

impl Load {
    /// `n` distinct items.
    pub fn items(n: u64) -> Self {
        Self { items: n, distinct: n }
    }
}

/// What a variant's formulas predict of a filter that is not built yet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Expect {
    /// P(present | not a member).
    pub fpr: f64,
    /// P(absent | a member), averaged over the members.
    pub fnr: f64,
    /// P(undecided | not a member).
    pub undecided: f64,
    /// Bits of cells; their mean, where they depend on the keys ([`Filter::bits_sd`]).
    ///
    /// [`Filter::bits_sd`]: crate::filter::Filter::bits_sd
    pub bits: u64,
    /// Fraction of cells in use, and its standard deviation from filter to filter.
    pub fill: Option<(f64, f64)>,
}

impl Expect {
    /// One-sided error and nothing undecided.
    pub fn one_sided(fpr: f64, bits: u64, fill: Option<(f64, f64)>) -> Self {
        Self { fpr, fnr: 0.0, undecided: 0.0, bits, fill }
    }
}

/// The shape of a filter whose k probes range over all its m cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flat {
    /// Number of cells.
    pub m: u64,
    /// Number of probes.
    pub k: u32,
}

/// `--set m=`, for flat shapes.
pub const PARAM_M: Param = Param {
    name: "m",
    range: Range::Integer(1, 1 << 48),
    default: Setting::Planned,
    help: "number of cells",
};

/// `--set k=`, for flat shapes.
pub const PARAM_K: Param = Param {
    name: "k",
    range: Range::Integer(1, MAX_K as u64),
    default: Setting::Planned,
    help: "number of probes per key",
};

impl Flat {
    /// m and k as the standard filter has them (S0 eq. 6 and 9), for cells of `cell_bits` bits.
    ///
    /// m = ⌈−n·ln p/(ln 2)²⌉ made even, so that the filter folds; k is the better neighbor of
    /// (m/n)·ln 2. A k that is set by hand changes m to what that k needs: m = kn/−ln(1 − p^{1/k}).
    pub fn plan(request: &Request<'_>, cell_bits: u64) -> Result<Self> {
        Self::plan_sized(request, |m, _, _| m * cell_bits as f64)
    }

    /// [`Flat::plan`] for cells whose size depends on what is in them: `bits(m, n, k)` is that of all m
    /// together.
    pub fn plan_sized(request: &Request<'_>, bits: impl Fn(f64, u64, u32) -> f64) -> Result<Self> {
        let cells = |n: u64, p: f64, k: Option<u32>| match k {
            None => bloom::bits_for(n, p) as f64,
            Some(k) => f64::from(k) * n as f64 / -libm::log1p(-libm::pow(p, 1.0 / f64::from(k))),
        };
        Self::settle(request, bits, cells, bloom::best_k)
    }

    /// m and k for cells that pass more rarely than a bit does.
    ///
    /// `pass` is the chance that one probe of a foreign key passes at a load of λ = kn/m, growing with
    /// λ. Since ln f = k·ln pass(λ) and m = kn/λ, the least m maximizes λ·ln(1/pass(λ)): the best load
    /// does not depend on the rate. (For bits it is ln 2, and this is [`Flat::plan`] again.)
    pub fn plan_for(
        request: &Request<'_>,
        cell_bits: u64,
        pass: impl Fn(f64) -> f64,
    ) -> Result<Self> {
        let best = best_load(&pass);
        let sized = |n: u64, p: f64, k: u32| {
            let k = f64::from(k);
            // A little more room than that: the binomial fill of a few keys lies above Poisson's.
            k * n as f64 / load_for(&pass, libm::pow(p, 1.0 / k)) + 1.0
        };
        let probes = |p: f64| {
            let real = libm::log(p) / libm::log(pass(best));
            let floor = real.floor().clamp(1.0, f64::from(crate::probe::MAX_K - 1)) as u32;
            [floor, floor + 1]
        };
        let cells = |n: u64, p: f64, k: Option<u32>| match k {
            Some(k) => sized(n, p, k),
            None => probes(p).map(|k| sized(n, p, k)).into_iter().fold(f64::INFINITY, f64::min),
        };
        let best_k = |m: u64, n: u64| {
            let ratio = n as f64 / m as f64;
            let floor = (best / ratio).floor().clamp(1.0, f64::from(crate::probe::MAX_K - 1));
            let rate = |k: f64| libm::pow(pass(k * ratio), k);
            if rate(floor + 1.0) < rate(floor) { floor as u32 + 1 } else { floor as u32 }
        };
        Self::settle(request, |m, _, _| m * cell_bits as f64, cells, best_k)
    }

    /// The cells that `cells` asks for, unless m or k is set by hand.
    fn settle(
        request: &Request<'_>,
        bits: impl Fn(f64, u64, u32) -> f64,
        cells: impl Fn(u64, f64, Option<u32>) -> f64,
        best_k: impl Fn(u64, u64) -> u32,
    ) -> Result<Self> {
        let k_set = request.integer(PARAM_K.name).map(|k| k as u32);
        // A filter far too large for its items would like more probes than anybody has time for.
        let best_k = |m: u64, n: u64| best_k(m, n).min(MAX_K);
        if let Some(m) = request.integer(PARAM_M.name) {
            let k = match (k_set, request.goal_items()) {
                (Some(k), _) => k,
                (None, Some(n)) => best_k(m, n),
                (None, None) => {
                    return Err(Error::parameter(
                        "--set m without k needs -n, to choose the best k",
                    ));
                }
            };
            return Ok(Self { m, k });
        }
        let k_for = |m: u64, n: u64| k_set.unwrap_or_else(|| best_k(m, n));
        let (n, p) = request.items_and_rate(|n, p| {
            let m = cells(n, p, k_set);
            bits(m, n, k_for(m.ceil() as u64, n))
        })?;
        let wanted = cells(n, p, k_set).ceil();
        if wanted > MAX_CELLS as f64 {
            return Err(Error::parameter(format!(
                "{n} items at a rate of {p} need {wanted:e} cells, more than {MAX_CELLS}: \
                 ask for fewer items or a higher rate"
            )));
        }
        let mut m = (wanted as u64).max(2).next_multiple_of(2);
        let too_many = |room: u64| bits(m as f64, n, k_for(m, n)) > room as f64;
        if m > 2 && request.goal_bits().is_some_and(too_many) {
            m -= 2;
        }
        Ok(Self { m, k: k_for(m, n) })
    }

    /// m and k of bit filters with a rate of their own: the k that needs the fewest cells. Also the
    /// items it is planned for, where they are known.
    ///
    /// `cells(n, p, k)` is the least m that keeps n items at rate p with k probes, and `rate(flat, n)`
    /// the rate of a shape; both have one valley over k. `extra(n)` are the bits beside the cells,
    /// which count towards the memory.
    pub(crate) fn search(
        request: &Request<'_>,
        extra: impl Fn(u64) -> u64,
        cells: impl Fn(u64, f64, u32) -> f64,
        rate: impl Fn(Flat, u64) -> f64,
    ) -> Result<(Self, Option<u64>)> {
        let k_set = request.integer(PARAM_K.name).map(|k| k as u32);
        if let Some(m) = request.integer(PARAM_M.name) {
            let k = match (k_set, request.goal_items()) {
                (Some(k), _) => k,
                (None, Some(n)) => lowest(bloom::best_k(m, n), |k| rate(Self { m, k }, n)).0,
                (None, None) => {
                    return Err(Error::parameter(
                        "--set m without k needs -n, to choose the best k",
                    ));
                }
            };
            return Ok((Self { m, k }, request.goal_items()));
        }
        let sized = |n: u64, p: f64| {
            let (k, cells) = match k_set {
                Some(k) => (k, cells(n, p, k)),
                None => lowest((-libm::log2(p)).ceil() as u32, |k| cells(n, p, k)),
            };
            (k, cells.ceil().max(1.0))
        };
        let (n, p) = request.items_and_rate(|n, p| sized(n, p).1 + extra(n) as f64)?;
        let (k, wanted) = sized(n, p);
        // Asked the negative way, so that NaN is refused too.
        let fits = wanted <= MAX_CELLS as f64;
        if !fits {
            return Err(Error::parameter(format!(
                "{n} items at a rate of {p} need {wanted:e} cells, more than {MAX_CELLS}: \
                 ask for fewer items or a higher rate"
            )));
        }
        Ok((Self { m: wanted as u64, k }, Some(n)))
    }

    /// Fraction of cells in use after `n` distinct keys, with its spread from filter to filter.
    pub fn fill(&self, n: u64) -> (f64, f64) {
        let throws = n as f64 * f64::from(self.k);
        (bloom::fill(self.m as f64, throws), bloom::fill_sd(self.m as f64, throws))
    }

    /// The false-positive rate after `n` distinct keys.
    pub fn fpr(&self, n: u64) -> f64 {
        bloom::fpr_classic(self.m as f64, n as f64, f64::from(self.k))
    }
}

/// The k at the bottom of the valley that holds `start`, and the value there.
pub(crate) fn lowest(start: u32, value: impl Fn(u32) -> f64) -> (u32, f64) {
    let mut best = start.clamp(1, MAX_K);
    let mut least = value(best);
    let mut walk = |step: i32| {
        while let Some(next) = best.checked_add_signed(step).filter(|k| (1..=MAX_K).contains(k))
            && value(next) < least
        {
            (best, least) = (next, value(next));
        }
    };
    walk(1);
    walk(-1);
    (best, least)
}

/// The load λ with the largest λ·ln(1/pass(λ)), by ternary search: one peak between empty and full.
fn best_load(pass: impl Fn(f64) -> f64) -> f64 {
    let worth = |load: f64| -load * libm::log(pass(load));
    let (mut low, mut high) = (1e-6, 16.0);
    for _ in 0..80 {
        let (a, b) = (low + (high - low) / 3.0, high - (high - low) / 3.0);
        if worth(a) < worth(b) { low = a } else { high = b }
    }
    0.5 * (low + high)
}

/// The load at which `pass` reaches `wanted`; the search is in ln λ, since loads span many orders of
/// magnitude.
fn load_for(pass: impl Fn(f64) -> f64, wanted: f64) -> f64 {
    let (mut low, mut high) = (-690.0f64, 9.0f64);
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if pass(libm::exp(middle)) <= wanted { low = middle } else { high = middle }
    }
    libm::exp(low)
}

/// No array is planned larger than this many cells: 2⁴⁸ bits are 32 TiB.
pub const MAX_CELLS: u64 = 1 << 48;
