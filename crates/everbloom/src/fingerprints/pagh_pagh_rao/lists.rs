//! Remainders in lists by quotient: in blocks that change, or all in one code.

use super::{STATIC, Shape};
use crate::cells::{Buckets, EliasFano};
use crate::filter::Headed;
use crate::parts::SumPart;
use crate::state::{Decoder, Encoder, State};
use crate::variant::prelude::*;

/// Remainders in lists by quotient.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Lists {
    Blocks(Buckets),
    Code(EliasFano),
}

impl Headed for Lists {
    fn save_fields<'a>(&'a self, out: &mut Encoder<'a>) {
        match self {
            Lists::Blocks(blocks) => blocks.save("lists", out),
            Lists::Code(code) => code.save("code", out),
        }
    }

    fn load_fields(head: &Head, src: &mut Decoder<'_>) -> Result<Self> {
        match head.form {
            STATIC => EliasFano::load("code", src).map(Lists::Code),
            _ => Buckets::load("lists", src).map(Lists::Blocks),
        }
    }
}

/// Salts the digest for the fingerprint.
const FINGERPRINT: u64 = 0x52;

impl Lists {
    pub(super) fn new(shape: &Shape) -> Result<Self> {
        Buckets::try_new(shape.quotients, shape.remainder).map(Lists::Blocks)
    }

    /// The fingerprints of `other` in one code.
    pub(super) fn coded(other: &Self, shape: Shape) -> Result<Self> {
        let Shape { quotients, remainder } = shape;
        let code = EliasFano::try_new(quotients, remainder, other.len(), other.fingerprints());
        code.map(Lists::Code)
    }

    /// The fingerprints of `other` in blocks.
    pub(super) fn in_blocks(other: &Self, shape: Shape) -> Result<Self> {
        let mut lists = Self::new(&shape)?;
        lists.add(other);
        Ok(lists)
    }

    pub(super) fn shape(&self) -> Shape {
        let (quotients, remainder) = match self {
            Lists::Blocks(blocks) => (blocks.len(), blocks.width()),
            Lists::Code(code) => (code.lists(), code.width()),
        };
        Shape { quotients, remainder }
    }

    /// Number of fingerprints.
    pub(super) fn len(&self) -> u64 {
        match self {
            Lists::Blocks(blocks) => blocks.values(),
            Lists::Code(code) => code.len(),
        }
    }

    #[inline]
    fn split(&self, digest: Digest) -> (u64, u64) {
        let shape = self.shape();
        shape.cut(((u128::from(digest.word(FINGERPRINT)) * shape.range()) >> 64) as u64)
    }

    /// The remainders of a quotient.
    #[inline]
    fn list(&self, quotient: u64) -> impl Iterator<Item = u64> + '_ {
        let (blocks, code) = match self {
            Lists::Blocks(blocks) => (Some(blocks.bucket(quotient)), None),
            Lists::Code(code) => (None, Some(code.list(quotient))),
        };
        blocks.into_iter().flatten().chain(code.into_iter().flatten())
    }

    /// The blocks, for those who change them.
    fn blocks(&mut self) -> Result<&mut Buckets> {
        match self {
            Lists::Blocks(blocks) => Ok(blocks),
            Lists::Code(_) => Err(unchanging()),
        }
    }

    pub(super) fn insert(&mut self, digest: Digest) -> Result<bool> {
        let (quotient, x) = self.split(digest);
        Ok(put(self.blocks()?, quotient, x))
    }

    #[inline]
    pub(super) fn contains(&self, digest: Digest) -> bool {
        let (quotient, x) = self.split(digest);
        match self {
            Lists::Blocks(blocks) => blocks.bucket(quotient).any(|other| other == x),
            Lists::Code(code) => code.list(quotient).any(|other| other == x),
        }
    }

    /// Refused if no equal fingerprint is there.
    pub(super) fn remove(&mut self, digest: Digest) -> Result<()> {
        let (quotient, x) = self.split(digest);
        let blocks = self.blocks()?;
        let at = blocks.bucket(quotient).position(|other| other == x).ok_or_else(|| {
            let message = "the key is not in the filter: its list does not hold its fingerprint";
            Error::new(Kind::NotDeletable, message)
        })?;
        blocks.remove(quotient, at as u64);
        Ok(())
    }

    /// How often the fingerprint is there: too high only if another key has the same one.
    pub(super) fn count(&self, digest: Digest) -> Counted {
        let (quotient, x) = self.split(digest);
        Counted::about(self.list(quotient).filter(|other| *other == x).count() as u64)
    }

    /// Every fingerprint in order, copies one by one.
    pub(super) fn fingerprints(&self) -> impl Iterator<Item = u64> + '_ {
        let (blocks, code) = match self {
            Lists::Blocks(blocks) => (Some(listed(blocks)), None),
            Lists::Code(code) => (None, Some(code.numbers())),
        };
        blocks.into_iter().flatten().chain(code.into_iter().flatten())
    }

    fn distinct(&self) -> u64 {
        let mut before = None;
        self.fingerprints().filter(|h| before.replace(*h) != Some(*h)).count() as u64
    }

    /// Remainders are in order; those of a code are, or it was not loaded.
    pub(super) fn check(&self) -> Result<()> {
        let in_order = || matches!(self, Lists::Code(_)) || self.fingerprints().is_sorted();
        if self.shape().is_possible() && in_order() {
            return Ok(());
        }
        Err(Error::corrupt(0, "corrupt filter: lists of remainders that are not in order"))
    }
}

/// The fingerprints of blocks, in order.
fn listed(blocks: &Buckets) -> impl Iterator<Item = u64> + '_ {
    let width = blocks.width();
    let list = move |q| blocks.bucket(q).map(move |x| q << width | x);
    (0..blocks.len()).flat_map(list)
}

/// Inserts a remainder into its list, in order; true if it was not there.
fn put(blocks: &mut Buckets, quotient: u64, x: u64) -> bool {
    let (mut at, mut new) = (0, true);
    for other in blocks.bucket(quotient).take_while(|other| *other <= x) {
        (at, new) = (at + 1, new && other != x);
    }
    blocks.insert(quotient, at, x);
    new
}

fn unchanging() -> Error {
    Error::unsupported("a static filter cannot change: thaw it, or build it in form blocks")
}

impl SumPart for Lists {
    fn agree(&self, other: &Self) -> Result<()> {
        if matches!(self, Lists::Code(_)) {
            return Err(unchanging());
        }
        crate::error::agree("fingerprints", self.shape().range(), other.shape().range())
    }

    /// Adds fingerprints to blocks; a code stays as it is.
    fn add(&mut self, other: &Self) {
        let shape = self.shape();
        if let Lists::Blocks(blocks) = self {
            for h in other.fingerprints() {
                let (quotient, x) = shape.cut(h);
                put(blocks, quotient, x);
            }
        }
    }
}

impl Part for Lists {
    fn answer(&self, digest: Digest) -> Answer {
        Answer::counted(self.count(digest))
    }

    /// Keys per list, which may be above 1.
    fn fill(&self) -> f64 {
        self.len() as f64 / self.shape().quotients as f64
    }

    /// A non-member passes exactly if its fingerprint is one of those inside.
    fn rates(&self) -> Rates {
        Rates::one_sided(self.distinct() as f64 / self.shape().range() as f64)
    }

    fn describe(&self) -> Vec<Fact> {
        let Shape { quotients, remainder } = self.shape();
        vec![fact("quotients", quotients), fact("remainder", remainder), real("load", self.fill())]
    }

    /// The remainders of the key's list.
    fn trace(&self, digest: Digest) -> Vec<Touched> {
        let (quotient, x) = self.split(digest);
        let list = self.list(quotient);
        list.map(|value| Touched { index: quotient, value, agrees: value == x }).collect()
    }
}
