//! Planning of tables of fingerprints, in buckets of which each key has two.

use super::{Expect, Load, Request, check_cells};
use crate::cells::{Layout, Slots};
use crate::error::{Error, Result};
use crate::filter::Param;
use crate::theory::cuckoo as theory;

/// The most bits of a fingerprint.
pub(crate) const MAX_FINGERPRINT: u32 = 56;
/// The most kicks of an insertion.
pub(crate) const MAX_KICKS: u32 = 65_535;
/// The kicks of an insertion, as the catalogue has them.
pub(crate) const KICKS: u64 = 500;

pub(crate) const PARAM_BUCKETS: Param =
    Param::integer("buckets", 1, 1 << 40, "number of buckets, a power of two");
pub(crate) const PARAM_SLOTS: Param =
    Param::integer("slots", 1, Slots::MAX_ROOM as u64, "slots per bucket");
pub(crate) const PARAM_FINGERPRINT: Param =
    Param::integer("fingerprint", 2, MAX_FINGERPRINT as u64, "bits per fingerprint");
pub(crate) const PARAM_KICKS: Param = Param::integer(
    "kicks",
    1,
    MAX_KICKS as u64,
    "maximum number of fingerprints that an insertion moves before it is refused",
);

pub(crate) const PARAM_FILTERS: Param = Param::integer(
    "filters",
    1,
    1024,
    "filters over which the planned items are spread; the list can shrink to one of them",
);

/// Number of buckets, slots per bucket, bits per slot, and how hard insertions try.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Buckets {
    pub(crate) buckets: u64,
    pub(crate) slots: u32,
    pub(crate) fingerprint: u32,
    pub(crate) kicks: u32,
    pub(crate) layout: Layout,
}

impl Buckets {
    /// f = ⌈log2(2b·0.95/p)⌉ bits, then as many buckets as `load(b, f)` asks for, a power of two.
    pub(crate) fn plan(
        request: &Request<'_>,
        layout: Layout,
        load: impl Fn(u32, u32) -> f64,
    ) -> Result<Self> {
        Self::plan_shared(request, 1, layout, load)
    }

    /// [`Buckets::plan`] of one of several tables that share items, rate and memory.
    pub(crate) fn plan_shared(
        request: &Request<'_>,
        tables: u64,
        layout: Layout,
        load: impl Fn(u32, u32) -> f64,
    ) -> Result<Self> {
        let number = |name| request.integer(name).map(|v| v as u32);
        let slots = number("slots").unwrap_or(4);
        let kicks = number("kicks").unwrap_or(KICKS as u32);
        let by_hand = (request.integer("buckets"), number("fingerprint"));
        let most = if layout == Layout::Sorted { 16 } else { MAX_FINGERPRINT };
        let least = if layout == Layout::Sorted { 5 } else { 2 };
        let bits = |p: f64| {
            let wanted = theory::fingerprint_bits(slots, p / tables as f64).max(f64::from(least));
            // One bit too many stands for any number of them.
            by_hand.1.unwrap_or(wanted.min(f64::from(most) + 1.0) as u32)
        };
        let buckets = |n: u64, f: u32| match by_hand.0 {
            Some(buckets) => buckets as f64,
            None => theory::buckets_for(n.div_ceil(tables), slots, load(slots, f)),
        };
        let size = |n: u64, p: f64| {
            let f = bits(p);
            if f > most {
                return f64::INFINITY;
            }
            tables as f64 * Slots::bits_for(buckets(n, f), slots, f, layout)
        };
        let set = by_hand.0.is_some() && by_hand.1.is_some();
        let (n, p) = request.items_unless(set, size)?;
        let (fingerprint, wanted) = (bits(p), size(n, p));
        if !(least..=most).contains(&fingerprint) {
            return Err(Error::parameter(format!(
                "fingerprints of {fingerprint} bits for a rate of {p}: they have {least} to {most} here; use a \
                higher {{rate}}"
            )));
        }
        check_cells(n, p, wanted)?;
        let buckets = buckets(n, fingerprint) as u64;
        if !buckets.is_power_of_two() {
            let message =
                "must be a power of two, because the other bucket of a fingerprint is found by xor";
            return Err(Error::setting("buckets", buckets, message));
        }
        let shape = Self { buckets, slots, fingerprint, kicks, layout };
        if layout == Layout::Sorted && slots != 4 {
            let message = "sorted buckets have four slots";
            return Err(Error::setting("slots", slots, message));
        }
        Ok(shape)
    }

    /// Number of slots.
    pub(crate) fn len(&self) -> f64 {
        self.buckets as f64 * f64::from(self.slots)
    }

    /// Bits of all slots.
    pub(crate) fn bits(&self) -> u64 {
        Slots::bits_for(self.buckets as f64, self.slots, self.fingerprint, self.layout) as u64
    }

    /// What a table of this shape is like with so many keys in it.
    pub(crate) fn expect(&self, load: &Load) -> Expect {
        // A table takes no more than it has slots.
        let share = (load.items as f64 / self.len()).min(1.0);
        let fpr = theory::fpr_of_table(self.fingerprint, self.slots, share);
        Expect::one_sided(fpr, self.bits(), Some((share, 0.0)))
    }

    /// What a list of such tables is like, as many as the keys fill to the load that one is planned for.
    pub(crate) fn expect_list(&self, load: &Load, planned: f64) -> Expect {
        let n = load.items as f64;
        let tables = (n / (planned * self.len())).ceil().max(1.0);
        let fill = n / (tables * self.len());
        let one = theory::fpr_of_table(self.fingerprint, self.slots, fill);
        let fpr = -libm::expm1(tables * libm::log1p(-one));
        // Tables fill further than that, so that there may be fewer.
        let sd = if tables > 1.0 { fill / tables } else { 0.0 };
        let bits = (tables * self.bits() as f64) as u64;
        Expect::one_sided(fpr, bits, Some((fill, sd)))
    }

    /// Whether digests of 64 bits do: n·2⁻⁶⁴ ≤ p/100 with every slot in use.
    pub(crate) fn narrow(&self) -> bool {
        50.0 * self.buckets as f64 * libm::exp2(f64::from(self.fingerprint) - 64.0) <= 1.0
    }
}
