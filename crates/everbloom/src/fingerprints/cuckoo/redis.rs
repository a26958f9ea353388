//! RedisBloom's cuckoo filter: sub-filters that are added when the newest is full, bit for bit.
//!
//! Fingerprints are bytes, H mod 255 + 1 of a 64-bit hash, and the distance of the two buckets is φ·5bd1e995.
//! Insertions look for a free slot from the newest sub-filter to the oldest, then move fingerprints of the newest,
//! slot after slot in rotation, and put everything back if that does not help.

use crate::cells::{Layout, Slots};
use crate::error::{Error, Kind, Result};
use crate::filter::{Answer, Counted, Fact, Part, Rates, Touched, fact, real};
use crate::hash::{Digest, Generator};
use crate::parts::cuckoo_table::{Addressing, CuckooTable, Turn};
use crate::parts::tables::missing;
use crate::plan::{Expect, Load, MAX_CELLS, Request, check_cells};
use crate::state::{Decoder, Encoder, Inline, State, u16_at, u64_at};
use crate::theory::cuckoo as theory;

/// As many sub-filters as insertions are taken with.
pub(super) const MAX_FILTERS: usize = 32;
pub(super) const MAX_EXPANSION: u64 = 32_768;
/// Bits of a fingerprint.
const WIDTH: u32 = 8;
/// Bytes before the slots in a dump.
const HEADER: usize = 38;

/// RedisBloom's buckets and its choice of whom to move.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Redis;

impl Addressing for Redis {
    #[inline]
    fn home(digest: Digest, buckets: u64, most: u64) -> (u64, u64) {
        (digest.h1 & (buckets - 1), 1 + digest.h1 % most)
    }

    #[inline]
    fn distance(fingerprint: u64) -> u64 {
        fingerprint.wrapping_mul(0x5BD1_E995)
    }

    fn victim(_: &mut Generator, at: Turn) -> (u64, u32) {
        (at.bucket, at.kick % at.room)
    }
}

type Table = CuckooTable<Redis>;

/// The first sub-filter, and how many times as large the next one is.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    buckets: u64,
    slots: u32,
    kicks: u32,
    expansion: u32,
}

/// The load at which the first sub-filter is planned not to be full yet. Keys are moved in rotation, which fails
/// far earlier than moving them at random: with buckets of two, now and then at a load of 0.2.
fn load(slots: u32) -> f64 {
    match slots {
        0..=2 => 0.15,
        3 => 0.4,
        _ => 0.65,
    }
}

impl Shape {
    /// By the capacity, as RedisBloom plans; or so that the items asked for fit the first sub-filter, in buckets of
    /// four that are as full as the rate allows.
    pub(super) fn plan(request: &Request<'_>) -> Result<Self> {
        let kicks = request.integer("kicks").unwrap_or(20) as u32;
        // 0 stays: such a filter does not grow.
        let expansion = match request.integer("expansion").unwrap_or(1) as u32 {
            0 => 0,
            expansion => expansion.next_power_of_two(),
        };
        let set = request.integer("slots").map(|slots| slots as u32);
        if let Some(capacity) = request.integer("capacity") {
            let slots = set.unwrap_or(2);
            if capacity < 2 * u64::from(slots) {
                let message = format!("at least two buckets of {slots} slots");
                return Err(Error::setting("capacity", capacity, message));
            }
            let buckets = (capacity / u64::from(slots)).next_power_of_two();
            return Ok(Self { buckets, slots, kicks, expansion });
        }
        let slots = set.unwrap_or(4);
        let buckets = |n: u64, p: f64| {
            let compared = libm::log1p(-p) / libm::log1p(-1.0 / 255.0);
            let load = (compared / (2.0 * f64::from(slots))).min(load(slots));
            libm::exp2(libm::log2(n as f64 / (load * f64::from(slots))).ceil().max(1.0))
        };
        let bits = |n: u64, p: f64| buckets(n, p) * f64::from(slots * WIDTH);
        let (n, p) = request.items_and_rate(bits)?;
        check_cells(n, p, bits(n, p))?;
        Ok(Self { buckets: buckets(n, p) as u64, slots, kicks, expansion })
    }

    /// As long as the first sub-filter is not full; when that is, depends on the keys.
    pub(super) fn expect(&self, load_on: &Load) -> Option<Expect> {
        let slots = self.buckets as f64 * f64::from(self.slots);
        let share = load_on.items as f64 / slots;
        let fpr = theory::fpr_of_table(WIDTH, self.slots, share);
        let first = Expect::one_sided(fpr, slots as u64 * u64::from(WIDTH), Some((share, 0.0)));
        (share <= load(self.slots)).then_some(first)
    }
}

/// Sub-filters, the oldest first.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Scaling {
    /// How many times as many buckets each sub-filter has as the one before; 0 for a filter of one.
    expansion: u32,
    items: u64,
    /// Removals since fingerprints were last moved to older sub-filters.
    deletes: u64,
    filters: Vec<Table>,
}

impl Scaling {
    pub(super) fn new(shape: &Shape) -> Result<Self> {
        let &Shape { buckets, slots, kicks, expansion } = shape;
        let first = Table::of(kicks, Slots::try_new(buckets, slots, WIDTH, Layout::Plain)?);
        Ok(Self { expansion, items: 0, deletes: 0, filters: vec![first] })
    }

    pub(super) fn len(&self) -> usize {
        self.filters.len()
    }

    pub(super) fn items(&self) -> u64 {
        self.items
    }

    fn first(&self) -> &Table {
        &self.filters[0]
    }

    fn newest(&mut self) -> &mut Table {
        let newest = self.filters.len() - 1;
        &mut self.filters[newest]
    }

    pub(super) fn contains(&self, digest: Digest) -> bool {
        self.filters.iter().any(|filter| filter.contains(digest))
    }

    /// Inserts a key, in a new sub-filter if it must; true if it was not there.
    pub(super) fn insert(&mut self, digest: Digest) -> Result<bool> {
        if self.filters.len() >= MAX_FILTERS {
            let message = "the filter has the maximum number of sub-filters and takes no more keys: build one \
                           with a larger {capacity} or {expansion}";
            return Err(Error::new(Kind::CapacityExceeded, message));
        }
        let new = !self.contains(digest);
        let settle = |filter: &mut Table| filter.settle(filter.places(digest));
        if !self.filters.iter_mut().rev().any(settle) {
            let newest = self.newest();
            let places = newest.places(digest);
            if !newest.place(places) {
                self.grow()?;
                settle(self.newest());
            }
        }
        self.items += 1;
        Ok(new)
    }

    fn grow(&mut self) -> Result<()> {
        let (first, grown) = (self.first(), self.filters.len() as u32);
        if self.expansion == 0 {
            let message = format!(
                "no room for the key after {} kicks, and the filter does not grow: build it with a larger \
                 {{capacity}} or an {{expansion}}",
                first.kicks()
            );
            return Err(Error::new(Kind::CapacityExceeded, message));
        }
        let buckets = buckets(first.slots.buckets(), self.expansion, grown);
        let buckets =
            buckets.filter(|b| b.saturating_mul(8 * 255) <= MAX_CELLS).ok_or_else(|| {
                Error::new(
                    Kind::CapacityExceeded,
                    "the next sub-filter would be too large to be addressed",
                )
            })?;
        let slots = Slots::try_new(buckets, first.slots.room(), WIDTH, Layout::Plain)?;
        self.filters.push(Table::of(first.kicks(), slots));
        Ok(())
    }

    /// Removes a key from the newest sub-filter that has its fingerprint: the largest one is the most specific.
    /// Then moves fingerprints to older sub-filters, if a tenth of the keys was removed since that was last done.
    pub(super) fn remove(&mut self, digest: Digest) -> Result<()> {
        let take = |filter: &mut Table| filter.take(filter.places(digest));
        if !self.filters.iter_mut().rev().any(take) {
            return Err(missing());
        }
        self.items -= 1;
        self.deletes = self.deletes.saturating_add(1);
        if self.filters.len() > 1 && self.deletes as f64 > 0.1 * self.items as f64 {
            self.compact(false);
        }
        Ok(())
    }

    /// Moves fingerprints to free slots of older sub-filters, from the newest sub-filter down, and drops those at
    /// the end that are empty then. `onwards` goes on below one that cannot be emptied.
    pub(super) fn compact(&mut self, onwards: bool) {
        for from in (1..self.filters.len()).rev() {
            let (older, newer) = self.filters.split_at_mut(from);
            let emptied = empty_into(older, &mut newer[0]);
            if emptied && from == self.filters.len() - 1 {
                self.filters.pop();
            }
            if !emptied && !onwards {
                break;
            }
        }
        self.deletes = 0;
    }

    /// Matches in both buckets of every sub-filter. A key whose buckets are one and the same counts double, as it
    /// does in RedisBloom.
    pub(super) fn count(&self, digest: Digest) -> Counted {
        let matches = |filter: &Table| {
            let places = filter.places(digest);
            let count = |bucket| filter.slots.count(bucket, places.fingerprint);
            count(places.first) + count(places.second)
        };
        Counted::about(self.filters.iter().map(matches).sum())
    }

    fn slots(&self) -> u64 {
        self.filters.iter().map(|filter| filter.slots.len()).sum()
    }

    fn used(&self) -> u64 {
        self.filters.iter().map(|filter| filter.slots.used()).sum()
    }

    /// The dump: a header of 38 bytes, then the bytes of all slots, the oldest sub-filter first.
    pub(super) fn dump(&self) -> Vec<u8> {
        let (first, mut out) = (self.first(), Vec::new());
        let numbers = [self.items, first.slots.buckets(), self.deletes, self.filters.len() as u64];
        numbers.iter().for_each(|number| out.extend_from_slice(&number.to_le_bytes()));
        let shorts = [first.slots.room(), first.kicks(), self.expansion];
        shorts.iter().for_each(|short| out.extend_from_slice(&(*short as u16).to_le_bytes()));
        for filter in &self.filters {
            let bytes = filter.slots.words().iter().flat_map(|word| word.to_le_bytes());
            out.extend(bytes.take(filter.slots.len() as usize));
        }
        out
    }

    /// What [`Scaling::dump`] wrote, or RedisBloom.
    pub(super) fn from_dump(dump: &[u8]) -> Result<Self> {
        let wrong = |what: &str| Error::corrupt(0, format!("corrupt dump: {what}"));
        let Some((header, mut bytes)) = dump.split_at_checked(HEADER) else {
            return Err(wrong("it is shorter than its header of 38 bytes"));
        };
        let [items, first, deletes, count] = [0, 8, 16, 24].map(|at| u64_at(header, at));
        let [room, kicks, expansion] = [32, 34, 36].map(|at| u32::from(u16_at(header, at)));
        let mut filters = Vec::new();
        for number in 0..count.min(1 << 16) {
            let buckets = buckets(first, expansion, number as u32);
            let len = buckets.and_then(|b| b.checked_mul(room.into())).filter(|len| *len > 0);
            let len = len.and_then(|len| usize::try_from(len).ok());
            let Some((held, rest)) = len.and_then(|len| bytes.split_at_checked(len)) else {
                return Err(wrong("it ends before its last sub-filter"));
            };
            bytes = rest;
            let buckets = (held.len() / room as usize) as u64;
            let mut slots = Slots::try_new(buckets, room, WIDTH, Layout::Plain)?;
            for (at, byte) in (0..).zip(held) {
                slots.set(at / u64::from(room), (at % u64::from(room)) as u32, u64::from(*byte));
            }
            filters.push(Table::of(kicks, slots));
        }
        if !bytes.is_empty() {
            return Err(wrong("bytes follow its last sub-filter"));
        }
        let scaling = Self { expansion, items, deletes, filters };
        scaling.check()?;
        Ok(scaling)
    }

    fn check(&self) -> Result<()> {
        let Some(first) = self.filters.first() else {
            return Err(Error::corrupt(0, "corrupt filter: no sub-filter"));
        };
        let alike = |(number, filter): (u32, &Table)| {
            let shape = |t: &Table| (t.kicks(), t.slots.room(), t.slots.width(), t.slots.layout());
            shape(filter) == (first.kicks(), first.slots.room(), WIDTH, Layout::Plain)
                && buckets(first.slots.buckets(), self.expansion, number)
                    == Some(filter.slots.buckets())
        };
        let expansion = u64::from(self.expansion) <= MAX_EXPANSION
            && (self.expansion == 0 || self.expansion.is_power_of_two());
        let kicks = (1..=65_535).contains(&first.kicks());
        let sound = expansion
            && kicks
            && first.slots.buckets().is_power_of_two()
            && (0..).zip(&self.filters).all(alike)
            && self.used() == self.items;
        let wrong = || Error::corrupt(0, "corrupt filter: sub-filters that do not fit together");
        sound.then_some(()).ok_or_else(wrong)
    }
}

/// Buckets of a sub-filter, first·expansion^number; one that does not grow has the first alone.
fn buckets(first: u64, expansion: u32, number: u32) -> Option<u64> {
    if number == 0 {
        return Some(first);
    }
    u64::from(expansion).checked_pow(number)?.checked_mul(first).filter(|b| *b > 0)
}

/// Moves every fingerprint that fits into an older sub-filter; true if none is left.
fn empty_into(older: &mut [Table], newest: &mut Table) -> bool {
    let mut emptied = true;
    for bucket in 0..newest.slots.buckets() {
        for slot in 0..newest.slots.room() {
            let fingerprint = newest.slots.get(bucket, slot);
            if fingerprint == 0 {
                continue;
            }
            // The bucket of a smaller power of two is the remainder of that of a larger one.
            let moved =
                older.iter_mut().any(|filter| filter.settle(filter.places_of(bucket, fingerprint)));
            if moved {
                newest.slots.set(bucket, slot, 0);
            }
            emptied &= moved;
        }
    }
    emptied
}

impl Inline for Scaling {
    fn save_fields<'a>(&'a self, out: &mut Encoder<'a>) {
        self.expansion.save("expansion", out);
        self.items.save("items", out);
        self.deletes.save("deletes", out);
        self.filters.save("filters", out);
    }

    fn load_fields(src: &mut Decoder<'_>) -> Result<Self> {
        let expansion = u32::load("expansion", src)?;
        let (items, deletes) = (src.u64("items")?, src.u64("deletes")?);
        let scaling = Self { expansion, items, deletes, filters: Vec::load("filters", src)? };
        scaling.check()?;
        Ok(scaling)
    }
}

impl Part for Scaling {
    fn answer(&self, digest: Digest) -> Answer {
        Answer::counted(self.count(digest))
    }

    fn fill(&self) -> f64 {
        self.used() as f64 / self.slots() as f64
    }

    /// 1 − Π(1 − f) over all sub-filters.
    fn rates(&self) -> Rates {
        let absent: f64 = self.filters.iter().map(|filter| 1.0 - filter.fpr()).product();
        Rates::one_sided(1.0 - absent)
    }

    fn describe(&self) -> Vec<Fact> {
        let first = self.first();
        vec![
            fact("buckets", first.slots.buckets()),
            fact("slots", first.slots.room()),
            fact("fingerprint", WIDTH),
            fact("kicks", first.kicks()),
            fact("expansion", self.expansion),
            fact("sub-filters", self.filters.len() as u64),
            real("load", self.fill()),
        ]
    }

    fn trace(&self, digest: Digest) -> Vec<Touched> {
        self.filters.iter().flat_map(|filter| filter.trace(digest)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::{HashId, Hasher};

    /// "hello" → H 0x1e68d17c457bf117, φ 159, buckets 279 and 156 of 512.
    #[test]
    fn b7_redis_golden() {
        let shape = Shape { buckets: 512, slots: 2, kicks: 20, expansion: 1 };
        let scaling = Scaling::new(&shape).unwrap();
        let digest = Hasher::with_id(HashId::Murmur64A, 0).unwrap().digest("hello");
        assert_eq!(digest.h1, 0x1E68_D17C_457B_F117);
        let places = scaling.first().places(digest);
        assert_eq!((places.first, places.second, places.fingerprint), (279, 156, 159));
    }

    #[test]
    fn dumps_that_do_not_add_up_are_refused() {
        let shape = Shape { buckets: 4, slots: 2, kicks: 20, expansion: 2 };
        let mut scaling = Scaling::new(&shape).unwrap();
        let hasher = Hasher::with_id(HashId::Murmur64A, 0).unwrap();
        (0..20u64).for_each(|key| _ = scaling.insert(hasher.digest(&key)).unwrap());
        assert!(scaling.len() > 1);
        let dump = scaling.dump();
        assert_eq!(Scaling::from_dump(&dump).unwrap(), scaling);
        for len in 0..dump.len() {
            assert!(Scaling::from_dump(&dump[..len]).is_err(), "{len} bytes");
        }
        assert!(Scaling::from_dump(&[&dump[..], &[0]].concat()).is_err());
        // Items, buckets, sub-filters, slots, kicks and expansion.
        for (at, byte) in
            [(0, 7), (8, 3), (8, 8), (24, 0), (24, 1), (32, 3), (34, 0), (36, 3), (37, 255)]
        {
            let mut other = dump.clone();
            other[at] = byte;
            assert!(Scaling::from_dump(&other).is_err(), "byte {at} = {byte}");
        }
        let mut huge = dump.clone();
        huge[24..32].fill(255);
        assert!(Scaling::from_dump(&huge).is_err());
    }
}
