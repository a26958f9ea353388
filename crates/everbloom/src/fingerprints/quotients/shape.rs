//! Slots and remainders of quotient filters: parameters, plans and rates.

use super::Code;
use crate::cells::{Marks, Runs};
use crate::error::{Error, Result};
use crate::filter::{Ability, Facts, Form, Param};
use crate::plan::{Expect, Load, Request};
use crate::theory::{bloom, tail};

pub(in crate::fingerprints) const RANK_SELECT: &str = "rank-select";
pub(in crate::fingerprints) const STATUS_BITS: &str = "status-bits";

/// More slots than any machine has.
pub(super) const MAX_SLOTS: u64 = 1 << 48;
pub(super) const MAX_REMAINDER: u32 = Runs::MAX_WIDTH;
/// The fullest that tables are planned for, or left at by a merge.
pub(super) const FULLEST: f64 = 0.95;

/// A number of cases too small to be seen.
const RARE: f64 = 1e-9;

/// Slots of all quotient filters.
const PARAM_SLOTS: Param = Param::integer(
    "slots",
    2,
    MAX_SLOTS,
    "slots, rounded up to a multiple of 64 or to a power of two with status bits",
);

/// α.
const PARAM_LOAD: Param = Param::real(
    "load",
    0.01,
    0.99,
    "share of slots in use to plan for, 0.95 or 0.9 with status bits",
);

pub(in crate::fingerprints) const FORMS: &[Form] =
    &[Form::removing(RANK_SELECT, ABILITIES), Form::removing(STATUS_BITS, ABILITIES)];

const ABILITIES: &[Ability] =
    &[Ability::Insert, Ability::Remove, Ability::Count, Ability::Merge, Ability::List];

/// The parameters, under a code whose remainders have `least` bits.
pub(in crate::fingerprints) const fn params(least: u32) -> [Param; 3] {
    let help = "bits of a fingerprint that a slot stores";
    let remainder = Param::integer("remainder", least as u64, MAX_REMAINDER as u64, help);
    [PARAM_SLOTS, PARAM_LOAD, remainder]
}

/// How runs are found, slots, and bits of a remainder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    pub(super) marks: Marks,
    pub(in crate::fingerprints) slots: u64,
    pub(in crate::fingerprints) remainder: u32,
}

impl Shape {
    /// A shape made by hand, if it can be under a code.
    pub(in crate::fingerprints) fn of_code<C: Code>(
        facts: &Facts,
        form: &str,
        slots: u64,
        remainder: u32,
    ) -> Result<Self> {
        let form = facts.form(form).ok_or_else(|| {
            Error::setting("form", form, format!("there are {RANK_SELECT} and {STATUS_BITS}"))
        })?;
        if remainder < C::LEAST {
            let message = format!("its values need bits, {} at least", C::LEAST);
            return Err(Error::setting("remainder", remainder, message));
        }
        let shape = Self::rounded(marks(form.name), slots, remainder);
        shape.possible()?;
        Ok(shape)
    }

    pub(in crate::fingerprints) fn form(&self) -> &'static str {
        form(self.marks)
    }

    fn rounded(marks: Marks, slots: u64, remainder: u32) -> Self {
        let slots = slots.clamp(2, 2 * MAX_SLOTS);
        let slots = match marks {
            Marks::RankSelect => slots.next_multiple_of(Runs::BLOCK),
            Marks::StatusBits => slots.next_power_of_two(),
        };
        Self { marks, slots, remainder }
    }

    /// Slots for the load, then remainders for the rate: ⌈log₂(n/ε)⌉ bits in all where slots are a power of two.
    pub(in crate::fingerprints) fn plan(request: &Request<'_>, least: u32) -> Result<Self> {
        let marks = marks(request.form());
        let fullest = if marks == Marks::StatusBits { 0.9 } else { FULLEST };
        let load = request.real(PARAM_LOAD.name).unwrap_or(fullest);
        let (slots, remainder) = (request.integer(PARAM_SLOTS.name), request.integer("remainder"));
        let shaped = |n: u64, p: f64| {
            let planned = (n as f64 / load).ceil().max(n as f64 + 1.0) as u64;
            let shape = Self::rounded(marks, slots.unwrap_or(planned), 0);
            let bits = libm::ceil(libm::log2(n as f64 / (shape.slots as f64 * p)));
            let planned = bits.clamp(f64::from(least), f64::from(MAX_REMAINDER) + 1.0);
            Self { remainder: remainder.unwrap_or(planned as u64) as u32, ..shape }
        };
        let set = slots.is_some() && remainder.is_some();
        let shape = request.shape(set, shaped, |_, shape| shape.bits())?;
        shape.possible()?;
        Ok(shape)
    }

    fn possible(&self) -> Result<()> {
        let Self { slots, remainder, .. } = *self;
        let wide = remainder <= MAX_REMAINDER && slots.ilog2() + remainder <= 63;
        if wide && (2..=MAX_SLOTS).contains(&slots) && self.bits() < u64::MAX {
            return Ok(());
        }
        Err(Error::parameter(format!(
            "{slots} slots with remainders of {remainder} bits exceed the 2^64 possible fingerprints: \
             use fewer {{items}} or a higher {{rate}}"
        )))
    }

    /// Whether 64 bits of a digest leave a key's fingerprint as good as independent of the others': a hundredth of the
    /// rate at most comes from keys that share all of them.
    pub(in crate::fingerprints) fn is_narrow(&self) -> bool {
        100 * range(self.slots, self.remainder) <= 1 << 64
    }

    fn bits(&self) -> u64 {
        Runs::bits_for(self.marks, self.slots, self.remainder)
    }

    /// Slots are in use one by one but where keys share a fingerprint, and a non-member passes if it has the fingerprint
    /// of a member.
    pub(in crate::fingerprints) fn expect<C: Code>(&self, load: &Load) -> Expect {
        let range = range(self.slots, self.remainder) as f64;
        let (saved, sd) = self.saved::<C>(range, load.distinct.min(self.slots - 1) as f64);
        let slots = self.slots as f64;
        let used = load.items.min(self.slots - 1) as f64 - saved;
        let fill = Some((used / slots, sd / slots));
        Expect::one_sided(bloom::fill(range, load.distinct as f64), self.bits(), fill)
    }

    /// Slots that `n` keys don't take since some have one fingerprint and are counted together, with the standard
    /// deviation: a Poisson number of keys, of mean n / R, has each of the R fingerprints.
    fn saved<C: Code>(&self, range: f64, n: f64) -> (f64, f64) {
        let (mut mean, mut variance) = (0.0, 0.0);
        let mut copies = C::COPIES.saturating_add(1);
        while copies < u64::MAX && range * tail::poisson_tail(n / range, copies) > RARE {
            let saved = copies as f64 - C::slots(self.remainder, copies);
            let shared = range * tail::poisson_pmf(n / range, copies);
            mean += shared * saved;
            variance += shared * saved * saved;
            copies += 1;
        }
        // So few are not spread as a normal number is: six deviations are to hold all but what is rare.
        let most = (0..36).find(|most| tail::poisson_tail(variance, most + 1) <= RARE);
        (mean, variance.sqrt().max(most.map_or(0.0, |most| most as f64 / 6.0)))
    }
}

fn marks(form: &str) -> Marks {
    if form == STATUS_BITS { Marks::StatusBits } else { Marks::RankSelect }
}

pub(super) fn form(marks: Marks) -> &'static str {
    if marks == Marks::StatusBits { STATUS_BITS } else { RANK_SELECT }
}

/// R, the number of fingerprints there are.
pub(super) fn range(slots: u64, remainder: u32) -> u128 {
    u128::from(slots) << remainder
}
