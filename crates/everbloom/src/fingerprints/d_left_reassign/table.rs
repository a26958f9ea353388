//! Buckets whose entries share its bits: the more there are, the shorter each is.

use smallvec::SmallVec;

use super::combination::{self, Entries, ROOM};
use super::{SORTED, VARIANT};
use crate::cells::Packed;
use crate::filter::Headed;
use crate::parts::d_left;
use crate::probe::multiply_shift;
use crate::state::{Decoder, Encoder, State};
use crate::variant::prelude::*;

/// Bits that say how many entries there are.
pub(super) const HEADER: u32 = 4;
/// Salts the digest for the fingerprint; buckets take the numbers from 0 on.
pub(super) const FINGERPRINT: u64 = 0xB2;
/// How the entries of a bucket share its bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coding {
    /// One after the other.
    Plain,
    /// As the number of their combination.
    Sorted,
}

impl Coding {
    pub(super) fn of(form: &str) -> Self {
        if form == SORTED { Coding::Sorted } else { Coding::Plain }
    }

    /// Bits of an entry where `z` share `payload` bits, at most 64.
    pub fn entry_bits(self, payload: u32, z: u64) -> u32 {
        let plain = payload.checked_div(z as u32).map_or(0, |bits| bits.min(64));
        match self {
            Coding::Plain => plain,
            // log₂(z!)/z is below two bits for eight entries.
            Coding::Sorted => {
                let fits = |bits: &u32| z > 1 && combination::count(*bits, z) <= 1 << payload;
                (plain + 1..=plain + 2).rfind(fits).unwrap_or(plain)
            }
        }
    }

    fn pack(self, entries: &mut [u64], bits: u32) -> u128 {
        match self {
            Coding::Plain => {
                let put =
                    |packed, (i, entry): (u32, &u64)| packed | u128::from(*entry) << (i * bits);
                (0..).zip(&*entries).fold(0, put)
            }
            Coding::Sorted => {
                entries.sort_unstable();
                combination::rank(entries)
            }
        }
    }

    fn unpack(self, packed: u128, z: u64, bits: u32) -> Entries {
        let most = u64::MAX.checked_shr(64 - bits).unwrap_or(0);
        match self {
            Coding::Plain => (0..z as u32).map(|i| (packed >> (i * bits)) as u64 & most).collect(),
            Coding::Sorted => combination::entries(packed, z, bits),
        }
    }
}

/// P(no entry of a bucket with z of them matches).
pub(super) fn no_match(bits: u32, z: u64) -> f64 {
    if z == 0 {
        return 1.0;
    }
    let one = libm::exp2(-f64::from(bits));
    libm::exp(z as f64 * libm::log1p(-one))
}

/// Buckets of all tables.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Table {
    pub(super) d: u32,
    /// Words of a bucket.
    pub(super) words: u32,
    pub(super) cells: Packed,
    coding: Coding,
    /// Bits of an entry, by how many there are in its bucket.
    widths: [u32; ROOM as usize + 1],
}

impl Headed for Table {
    fn save_fields<'a>(&'a self, out: &mut Encoder<'a>) {
        self.d.save("d", out);
        self.words.save("words", out);
        self.cells.save("cells", out);
    }

    fn load_fields(head: &Head, src: &mut Decoder<'_>) -> Result<Self> {
        let (d, words) = (State::load("d", src)?, State::load("words", src)?);
        Ok(Self::new(d, words, State::load("cells", src)?, Coding::of(head.form)))
    }
}

impl Table {
    pub(super) fn new(d: u32, words: u32, cells: Packed, coding: Coding) -> Self {
        let payload = (64 * words.clamp(1, 2)) - HEADER;
        let widths = std::array::from_fn(|z| coding.entry_bits(payload, z as u64));
        Self { d, words, cells, coding, widths }
    }

    /// Bits of an entry of a bucket with `z` of them.
    fn width(&self, z: u64) -> u32 {
        self.widths[z.min(ROOM) as usize]
    }

    /// Buckets of one table.
    pub(super) fn buckets(&self) -> u64 {
        self.cells.len() / u64::from(self.d * self.words)
    }

    /// The number of entries in a bucket, and the bits they share.
    #[inline]
    pub(super) fn get(&self, bucket: u64) -> (u64, u128) {
        let at = bucket * u64::from(self.words);
        let high = if self.words == 2 { self.cells.get(at + 1) } else { 0 };
        let all = u128::from(high) << 64 | u128::from(self.cells.get(at));
        (all as u64 & ((1 << HEADER) - 1), all >> HEADER)
    }

    pub(super) fn set(&mut self, bucket: u64, z: u64, entries: u128) {
        let all = entries << HEADER | u128::from(z);
        let at = bucket * u64::from(self.words);
        self.cells.set(at, all as u64);
        if self.words == 2 {
            self.cells.set(at + 1, (all >> 64) as u64);
        }
    }

    /// The key's buckets, one in each table.
    pub(super) fn places(&self, digest: Digest) -> SmallVec<[u64; 4]> {
        let buckets = self.buckets();
        let place = |table: u64| table * buckets + multiply_shift(digest.word(table), buckets);
        (0..u64::from(self.d)).map(place).collect()
    }

    /// The entries of a bucket, and how many bits each has.
    pub(super) fn entries(&self, bucket: u64) -> (u32, Entries) {
        let (z, packed) = self.get(bucket);
        let bits = self.width(z);
        (bits, self.coding.unpack(packed, z, bits))
    }

    /// Whether an entry of a bucket is the beginning of the fingerprint.
    fn matches(&self, bucket: u64, fingerprint: u64) -> bool {
        let (bits, entries) = self.entries(bucket);
        entries.iter().any(|entry| *entry == fingerprint >> (64 - bits))
    }

    pub(super) fn contains(&self, digest: Digest) -> bool {
        let fingerprint = digest.word(FINGERPRINT);
        self.places(digest).iter().any(|bucket| self.matches(*bucket, fingerprint))
    }

    pub(super) fn insert(&mut self, digest: Digest) -> Result<()> {
        let places = self.places(digest);
        let loads: SmallVec<[u64; 4]> = places.iter().map(|bucket| self.get(*bucket).0).collect();
        let chosen = d_left::choose(&loads, ROOM)?;
        let (bucket, z) = (places[chosen], loads[chosen] + 1);
        let (before, mut entries) = self.entries(bucket);
        let bits = self.width(z);
        // Everybody keeps the top bits, as many as there is room for now.
        entries.iter_mut().for_each(|entry| *entry >>= before - bits);
        entries.push(digest.word(FINGERPRINT) >> (64 - bits));
        self.set(bucket, z, self.coding.pack(&mut entries, bits));
        Ok(())
    }

    /// Entries of each bucket, table by table.
    pub(super) fn loads(&self) -> impl Iterator<Item = u64> + '_ {
        (0..self.buckets() * u64::from(self.d)).map(|bucket| self.get(bucket).0)
    }

    pub(super) fn check(&self) -> Result<()> {
        let wrong = || Err(Error::corrupt(0, "corrupt filter: impossible buckets"));
        let shaped = VARIANT.takes("d", self.d)
            && [1, 2].contains(&self.words)
            && self.cells.width() == 64
            && !self.cells.is_empty()
            && self.cells.len().is_multiple_of(u64::from(self.d * self.words));
        if !shaped {
            return wrong();
        }
        let sound = |bucket: u64| {
            let (z, entries) = self.get(bucket);
            let bits = self.width(z);
            let known = match self.coding {
                Coding::Plain => entries.checked_shr(z as u32 * bits).unwrap_or(0) == 0,
                Coding::Sorted => entries < combination::count(bits, z.min(ROOM)),
            };
            z <= ROOM && known
        };
        if (0..self.buckets() * u64::from(self.d)).all(sound) { Ok(()) } else { wrong() }
    }
}

impl Part for Table {
    fn answer(&self, digest: Digest) -> Answer {
        Answer::of(self.contains(digest))
    }

    fn fill(&self) -> f64 {
        let buckets = self.buckets() as f64 * f64::from(self.d);
        self.loads().sum::<u64>() as f64 / (buckets * ROOM as f64)
    }

    /// 1 − Π over the tables of P(no entry of one of its buckets matches).
    fn rates(&self) -> Rates {
        let buckets = self.buckets();
        let none: [f64; ROOM as usize + 1] =
            std::array::from_fn(|z| no_match(self.widths[z], z as u64));
        let absent = |table: u64| {
            let all = table * buckets..(table + 1) * buckets;
            let sum: f64 = all.map(|bucket| none[self.get(bucket).0 as usize]).sum();
            sum / buckets as f64
        };
        Rates::one_sided(1.0 - (0..u64::from(self.d)).map(absent).product::<f64>())
    }

    fn describe(&self) -> Vec<Fact> {
        let all = self.buckets() as f64 * f64::from(self.d);
        vec![
            fact("d", self.d),
            fact("buckets", self.buckets()),
            fact("width", 64 * self.words),
            fact("fullest", self.loads().max().unwrap_or(0)),
            real("load", self.loads().sum::<u64>() as f64 / all),
        ]
    }

    /// The d buckets, how many entries each has, and whether one of them matches.
    fn trace(&self, digest: Digest) -> Vec<Touched> {
        let fingerprint = digest.word(FINGERPRINT);
        let touched = |bucket: u64| Touched {
            index: bucket,
            value: self.get(bucket).0,
            agrees: self.matches(bucket, fingerprint),
        };
        self.places(digest).into_iter().map(touched).collect()
    }
}
