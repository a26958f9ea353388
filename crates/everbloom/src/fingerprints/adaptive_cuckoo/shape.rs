//! Where a key may be and what its slot holds; how many tables, buckets and bits a goal takes.

use smallvec::SmallVec;

use super::{AdaptiveCuckoo, SELECTOR, VARIANT};
use crate::hash::multiply_shift;
use crate::parts::ledger;
use crate::plan::cuckoo::PARAM_KICKS;
use crate::plan::{MAX_CELLS, PARAM_RECORD, check_cells};
use crate::theory::cuckoo as theory;
use crate::variant::prelude::*;

/// Salts of the digest: places from here on, and fingerprints.
const PLACE: u64 = 0xB9;
pub(super) const FINGERPRINT: u64 = 0xB900;

pub(super) const MAX_FINGERPRINT: u32 = 48;
const LOAD: f64 = 0.95;

/// Tables, their buckets, slots of a bucket, bits of a slot, and how hard insertions try.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    pub(super) tables: u32,
    pub(super) buckets: u64,
    pub(super) room: u32,
    pub(super) selector: u32,
    pub(super) fingerprint: u32,
    pub(super) kicks: u32,
}

state!(Shape { tables, buckets, room, selector, fingerprint, kicks });

impl Shape {
    fn check(&self) -> Result<()> {
        let Self { tables, buckets, room, selector, fingerprint, kicks } = *self;
        let sound = VARIANT.takes("d", tables)
            && (1..=MAX_CELLS).contains(&buckets)
            && [1, 4].contains(&room)
            && VARIANT.takes("selector", selector)
            && VARIANT.takes("fingerprint", fingerprint)
            && PARAM_KICKS.takes(kicks);
        let wrong = || Error::corrupt(0, "corrupt filter: impossible tables");
        sound.then_some(()).ok_or_else(wrong)
    }

    pub(super) fn slots(&self) -> u64 {
        self.buckets.saturating_mul(u64::from(self.tables * self.room))
    }

    pub(super) fn width(&self) -> u32 {
        self.selector + self.fingerprint
    }

    /// P(a key that was not asked for before passes) at this load of all tables, 1 − (1 − α/(2^f − 1))^d.
    pub(super) fn fpr(&self, load: f64) -> f64 {
        theory::fpr(self.values() / load, f64::from(self.tables * self.room))
    }

    /// The values of a fingerprint.
    pub(super) fn values(&self) -> f64 {
        libm::exp2(f64::from(self.fingerprint)) - 1.0
    }

    /// The first slot of each of a key's buckets.
    pub(super) fn buckets_of(&self, digest: Digest) -> SmallVec<[u64; 4]> {
        let first = |table: u32| {
            let at = multiply_shift(digest.word(PLACE + u64::from(table)), self.buckets);
            (u64::from(table) * self.buckets + at) * u64::from(self.room)
        };
        (0..self.tables).map(first).collect()
    }

    /// The slots that a key may be in.
    pub(super) fn places(&self, digest: Digest) -> SmallVec<[u64; 8]> {
        let slots = |first: u64| first..first + u64::from(self.room);
        self.buckets_of(digest).into_iter().flat_map(slots).collect()
    }

    /// The fingerprint of a key under one of the functions, never zero.
    pub(super) fn fingerprint(&self, digest: Digest, function: u64) -> u64 {
        let values = (1 << self.fingerprint) - 1;
        1 + multiply_shift(digest.word(FINGERPRINT + function), values)
    }

    /// What a slot holds for a key: the selector above the fingerprint that it selects.
    pub(super) fn cell(&self, digest: Digest, slot: u64, selector: u64) -> u64 {
        let function = if self.room > 1 { slot % u64::from(self.room) } else { selector };
        selector << self.fingerprint | self.fingerprint(digest, function)
    }
}

impl Plan for AdaptiveCuckoo {
    type Shape = Shape;

    /// Slots for a load of 0.95, then f = ⌈log2(d·0.95/p)⌉ bits for the d slots a key is compared with.
    fn plan(request: &Request<'_>) -> Result<Shape> {
        let number = |name| request.integer(name).map(|v| v as u32);
        let kicks = number("kicks").unwrap_or(500);
        let (room, selector) = match (request.form(), number("selector")) {
            (SELECTOR, set) => (1, set.unwrap_or(2)),
            (_, None) => (4, 0),
            (form, Some(set)) => {
                let message = format!("form {form} has none");
                return Err(Error::setting("selector", set, message));
            }
        };
        let tables = number("d").unwrap_or(if room == 1 { 4 } else { 2 });
        let (set, bits) = (request.integer("buckets"), number("fingerprint"));
        let each = f64::from(tables * room);
        let shaped = |n: u64, p: f64| {
            let least = |load: f64| (n as f64 / (load * each)).ceil().max(1.0);
            let buckets = least(load(tables, room));
            // Small tables refuse keys earlier by chance.
            let buckets =
                if buckets * each < 1024.0 { least(0.85 * load(tables, room)) } else { buckets };
            let buckets = set.map_or(buckets, |buckets| buckets as f64);
            let wanted = libm::log2(each * LOAD / p).ceil().max(1.0);
            (buckets, bits.map_or(wanted, f64::from))
        };
        let size = |(buckets, bits): (f64, f64)| {
            let possible = bits <= f64::from(MAX_FINGERPRINT);
            if possible { buckets * each * (bits + f64::from(selector)) } else { f64::INFINITY }
        };
        let by_hand = set.is_some() && bits.is_some();
        let all = |n: u64, p: f64| size(shaped(n, p)) + keys(request, n) as f64;
        let (n, p) = request.items_unless(by_hand, all)?;
        let (buckets, bits) = shaped(n, p);
        if bits > f64::from(MAX_FINGERPRINT) {
            return Err(Error::parameter(format!(
                "fingerprints of {bits} bits for a rate of {p}: they have up to {MAX_FINGERPRINT}; use a higher \
                {{rate}}"
            )));
        }
        check_cells(n, p, size((buckets, bits)))?;
        let fingerprint = bits as u32;
        Ok(Shape { tables, buckets: buckets as u64, room, selector, fingerprint, kicks })
    }

    /// For keys that were not asked for before.
    fn expect(shape: &Shape, load: &Load) -> Option<Expect> {
        let share = (load.distinct as f64 / shape.slots() as f64).min(1.0);
        let bits = shape.slots().saturating_mul(shape.width().into());
        Some(Expect::one_sided(shape.fpr(share), bits, Some((share, 0.0))))
    }

    fn beside(request: &Request<'_>, _shape: &Shape, load: &Load) -> u64 {
        keys(request, load.distinct)
    }
}

/// Bits of the table of `n` whole keys, each with its count.
fn keys(request: &Request<'_>, n: u64) -> u64 {
    ledger::bits_of(n, request.whole(PARAM_RECORD.name).saturating_add(8))
}

/// The load that d tables are planned for, below the one at which they refuse keys.
fn load(tables: u32, room: u32) -> f64 {
    match (tables, room) {
        (1, 1) => 0.05,
        (1, _) => 0.3,
        (2, 1) => 0.45,
        (3, 1) => 0.88,
        _ => LOAD,
    }
}
