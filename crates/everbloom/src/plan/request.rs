//! A goal checked against an entry of the list: what planning works from.

use super::{Expect, Goal, Load, PARAM_M};
use crate::error::{Error, Result};
use crate::filter::{Facts, Form, Head, Preset, Setting};
use crate::hash::{HashId, Hasher};

/// The rate used when the goal names none.
pub const DEFAULT_FPR: f64 = 0.01;

/// A goal checked against a variant: what `plan` works from.
#[allow(unnameable_types, reason = "part of a sealed trait")]
#[derive(Debug)]
pub struct Request<'a> {
    facts: &'static Facts,
    goal: &'a Goal,
    hasher: Hasher,
    form: &'static Form,
    settings: Vec<(&'static str, Preset)>,
}

impl<'a> Request<'a> {
    pub(crate) fn new(facts: &'static Facts, goal: &'a Goal) -> Result<Self> {
        if goal.items == Some(0) {
            let message = "a filter is planned for at least 1 item";
            return Err(Error::setting("items", 0, message));
        }
        if let Some(p) = goal.fpr.filter(|p| !(*p > 0.0 && *p < 1.0)) {
            let message = "a false-positive rate must be above 0 and below 1, such as 0.01";
            return Err(Error::setting("rate", p, message));
        }
        if goal.bits == Some(0) {
            return Err(Error::setting("memory", 0, "a filter needs at least one byte"));
        }
        let form = facts.forms.first().ok_or_else(|| {
            Error::unsupported(format!("{} is a {}, not a filter", facts.slug, facts.kind.name()))
        })?;
        let mut request =
            Self { facts, goal, hasher: goal.hasher.clone(), form, settings: Vec::new() };
        for (name, setting) in &goal.settings {
            request.apply(name, setting)?;
        }
        Ok(request)
    }

    fn apply(&mut self, name: &str, setting: &Setting) -> Result<()> {
        let facts = self.facts;
        let bad = |message: String| Error::setting(name, setting, message);
        match name {
            "form" => {
                let form = facts.form(&setting.to_string());
                self.form = form.ok_or_else(|| {
                    let names: Vec<_> = facts.forms.iter().map(|f| f.name).collect();
                    bad(format!("{} has the forms {}", facts.slug, names.join(", ")))
                })?;
            }
            "hash" => {
                let id = HashId::named(&setting.to_string()).ok_or_else(|| {
                    bad(format!("must be one of {}", HashId::ALL.map(HashId::name).join(", ")))
                })?;
                if !(self.hasher.is_named() && self.hasher.id() == id) {
                    self.hasher = Hasher::with_id(id, self.goal.hasher.seed())?;
                }
            }
            _ => {
                let param = facts.params.iter().find(|p| p.name == name).ok_or_else(|| {
                    let names: Vec<_> =
                        facts.params.iter().map(|p| p.name).chain(["form", "hash"]).collect();
                    bad(format!(
                        "{} has no such parameter; it has {}",
                        facts.slug,
                        names.join(", ")
                    ))
                })?;
                let value = param.accept(setting)?;
                self.settings.retain(|(n, _)| *n != param.name);
                self.settings.push((param.name, value));
            }
        }
        Ok(())
    }

    /// The requested hash, if any.
    pub fn named_hash(&self) -> Option<HashId> {
        self.hasher.is_named().then(|| self.hasher.id())
    }

    /// The requested form.
    pub fn form(&self) -> &'static str {
        self.form.name
    }

    /// The requested rate, or the default.
    pub fn fpr(&self) -> f64 {
        self.goal.fpr.unwrap_or(DEFAULT_FPR)
    }

    /// The requested number of items, if any.
    pub fn goal_items(&self) -> Option<u64> {
        self.goal.items
    }

    /// The requested rate, if any.
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
        self.settled(&bits)
    }

    /// [`Request::items_and_rate`], compiled once for all variants.
    fn settled(&self, bits: &dyn Fn(u64, f64) -> f64) -> Result<(u64, f64)> {
        let Goal { items, fpr, bits: room, .. } = *self.goal;
        let Some(room) = room.map(|b| b as f64) else {
            let items = items.ok_or_else(|| {
                Error::parameter("give {items}, or {memory} together with {rate}")
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
                    "{n} items at a rate of {p} need {:.0} bytes, but {{memory}} allows {:.0}: omit one of the three",
                    (needed / 8.0).ceil(),
                    room / 8.0
                )))
            }
            (Some(n), None) => {
                // Bisect on ln p: rates span hundreds of orders of magnitude.
                let (mut low, mut high) = (-690.0f64, -1e-9f64);
                if bits(n, libm::exp(high)) > room {
                    return Err(Error::parameter(format!(
                        "{:.0} bytes are too few for {n} items: give more {{memory}}",
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
                        "{:.0} bytes are too few for one item at a rate of {p}: give more {{memory}}",
                        room / 8.0
                    )));
                }
                Ok((low, p))
            }
        }
    }

    /// What `shaped` makes of items and rate, or of any where sizes are `set` by hand; `bits(n, shape)` is the
    /// variant's own sizing.
    pub(crate) fn shape<S>(
        &self,
        set: bool,
        shaped: impl Fn(u64, f64) -> S,
        bits: impl Fn(u64, S) -> u64,
    ) -> Result<S> {
        let (n, p) = self.items_unless(set, |n, p| bits(n, shaped(n, p)) as f64)?;
        Ok(shaped(n, p))
    }

    /// [`Request::items_and_rate`], or any of both where sizes are `set` by hand.
    pub(crate) fn items_unless(
        &self,
        set: bool,
        bits: impl Fn(u64, f64) -> f64,
    ) -> Result<(u64, f64)> {
        if set { Ok((1, 0.5)) } else { self.items_and_rate(bits) }
    }

    fn setting(&self, name: &str) -> Preset {
        let set = self.settings.iter().find(|(n, _)| *n == name).map(|(_, s)| *s);
        let default = || self.facts.params.iter().find(|p| p.name == name).map(|p| p.default);
        set.or_else(default).unwrap_or(Preset::Planned)
    }

    /// A whole number that was set or has a default.
    pub fn integer(&self, name: &str) -> Option<u64> {
        match self.setting(name) {
            Preset::Integer(v) => Some(v),
            _ => None,
        }
    }

    /// A real number that was set or has a default.
    pub fn real(&self, name: &str) -> Option<f64> {
        match self.setting(name) {
            Preset::Real(v) => Some(v),
            _ => None,
        }
    }

    /// The whole number of a parameter that has a default.
    pub(crate) fn whole(&self, name: &str) -> u64 {
        self.integer(name).unwrap_or_else(|| unreachable!("{name} has no default"))
    }

    /// The whole numbers of parameters that have defaults.
    pub(crate) fn wholes<const N: usize>(&self, names: [&str; N]) -> [u64; N] {
        names.map(|name| self.whole(name))
    }

    /// The real number of a parameter that has a default.
    pub(crate) fn number(&self, name: &str) -> f64 {
        self.real(name).unwrap_or_else(|| unreachable!("{name} has no default"))
    }

    /// A word that was set or has a default.
    pub fn choice(&self, name: &str) -> Option<&'static str> {
        match self.setting(name) {
            Preset::Choice(v) => Some(v),
            _ => None,
        }
    }

    /// The head of a filter built to this request, empty, with the target the goal implies: the rate
    /// asked for, or the one that `expected` gives for a size fixed by memory or by hand.
    /// Hashed by `preferred` unless the caller chose.
    pub(crate) fn head(
        &self,
        preferred: HashId,
        expected: &dyn Fn(&Load) -> Option<Expect>,
    ) -> Head {
        let sized = self.goal.bits.is_some() || self.integer(PARAM_M.name).is_some();
        let fpr = match (self.goal.fpr, self.goal.items) {
            (None, Some(n)) if sized => expected(&Load::items(n)).map(|e| e.fpr),
            (None, None) if sized && self.goal.bits.is_none() => None,
            _ => Some(self.fpr()),
        };
        let reading = self.goal.reading.clone();
        Head { fpr, reading, ..Head::new(self.hasher.or(preferred), self.form.name) }
    }
}
