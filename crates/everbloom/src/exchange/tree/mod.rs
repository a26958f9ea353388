//! Approximate reconciliation by trees (catalogue B5): one side finds most of its keys that the other does not
//! have from one message, and sends them.
//!
//! ```text
//!   Summary: B                                    Search: A
//!      │ ── OPEN: a seed ─────────────────────────▶ │
//!      │ ── LEAVES: Bloom filter of leaf values ──▶ │
//!      │ ── INNER: Bloom filter of the others ────▶ │   walks its own tree
//!      │ ◀──────── KEYS: what B does not have ───── │
//!      │ ◀─────────────────────────────────── END ─ │
//! ```
//!
//! A key that is sent is truly not B's: a Bloom filter has no false negatives. Some are missed, by false
//! positives. A peer that lies can hide differences, or have A send what it has; it can't make A or B take anything
//! for a difference that is none, since B compares what comes with its own keys.

use std::collections::HashSet;

use super::{Frame, List, Outbox, Role, items};
use crate::error::{Error, Kind, Result};
use crate::filter::Face;
use crate::hash::Hasher;
use crate::membership::Bloom;
use crate::reconciling::reconciliation_tree::{Search as Found, Tree, probes};

/// A number, the seed of positions and values.
const OPEN: u8 = 0x70;
/// A Bloom filter.
const LEAVES: u8 = 0x71;
/// A Bloom filter.
const INNER: u8 = 0x72;
/// A list of keys.
const KEYS: u8 = 0x73;
/// Nothing.
const END: u8 = 0x74;

/// The correction level that finds most for its work.
pub const CORRECTION: u32 = 2;
/// Bits per value of each filter.
pub const BITS: u32 = 8;
const MAX_BITS: u32 = 64;

/// The hash of a filter of values under a seed; leaves and inner nodes have seeds of their own.
fn hasher(seed: u64, inner: bool) -> Hasher {
    Hasher::seeded(seed.wrapping_mul(2).wrapping_add(inner.into()))
}

/// An empty filter for `values` values of `bits` bits each.
fn filter(seed: u64, inner: bool, values: usize, bits: u32) -> Result<Bloom> {
    let m = (values.max(1) as u64).saturating_mul(bits.into());
    Bloom::with_shape(m, probes(bits), hasher(seed, inner))
}

fn tree<'a>(seed: u64, keys: impl IntoIterator<Item = &'a Vec<u8>>) -> Tree {
    let hasher = Hasher::seeded(seed);
    Tree::new(keys.into_iter().map(|key| hasher.digest(key.as_slice())))
}

/// The side that sends what its set looks like, and is sent keys that it does not have.
#[derive(Clone, Debug)]
pub struct Summary {
    keys: HashSet<Vec<u8>>,
    seed: u64,
    bits: [u32; 2],
    state: Sent,
    received: HashSet<Vec<u8>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sent {
    Nothing,
    Filters,
    Done,
}

impl Summary {
    /// The summary of a set, 8 bits for each leaf and each inner node.
    pub fn new(keys: impl IntoIterator<Item: AsRef<[u8]>>) -> Self {
        let keys = keys.into_iter().map(|key| key.as_ref().to_vec()).collect();
        let (bits, received) = ([BITS, BITS], HashSet::new());
        Self { keys, seed: 0, bits, state: Sent::Nothing, received }
    }

    /// The same with these numbers of bits per inner node and per leaf, 1 to 64 each.
    #[must_use]
    pub fn bits(self, inner: u32, leaf: u32) -> Self {
        Self { bits: [inner, leaf].map(|bits| bits.clamp(1, MAX_BITS)), ..self }
    }

    /// The same with another seed of positions and values, such as a random one against chosen keys.
    #[must_use]
    pub fn seed(self, seed: u64) -> Self {
        Self { seed, ..self }
    }

    /// Keys that came from the other side, when the exchange is over.
    pub fn received(&self) -> Option<&HashSet<Vec<u8>>> {
        (self.state == Sent::Done).then_some(&self.received)
    }
}

impl Role for Summary {
    const FRAMES: &'static [u8] = &[KEYS, END];

    fn speak(&mut self, out: &mut Outbox) -> Result<()> {
        if self.state != Sent::Nothing {
            return Ok(());
        }
        let tree = tree(self.seed, &self.keys);
        let [for_inner, for_leaf] = self.bits;
        let mut leaves = filter(self.seed, false, tree.len(), for_leaf)?;
        let mut inner = filter(self.seed, true, tree.len().saturating_sub(1), for_inner)?;
        tree.each(|value| _ = leaves.insert(&value), |value| _ = inner.insert(&value));
        self.state = Sent::Filters;
        out.frame(OPEN, &self.seed.to_le_bytes())?;
        out.filter(LEAVES, &leaves)?;
        out.filter(INNER, &inner)
    }

    fn room(&self, head: &Frame) -> Result<u64> {
        match (self.state, head.kind) {
            (Sent::Filters, KEYS) => Ok(u64::MAX),
            (Sent::Filters, END) => Ok(0),
            _ => Err(head.wrong("out of order")),
        }
    }

    fn hear(&mut self, frame: Frame, _: &mut Outbox) -> Result<()> {
        match (self.state, frame.kind) {
            (Sent::Filters, KEYS) => items(&frame, |key| {
                if self.keys.contains(key) || !self.received.insert(key.to_vec()) {
                    return Err(frame.wrong("a key that we have, or that came before"));
                }
                Ok(())
            }),
            (Sent::Filters, END) if frame.body.is_empty() => {
                self.state = Sent::Done;
                Ok(())
            }
            _ => Err(frame.wrong("out of order")),
        }
    }

    fn done(&self) -> bool {
        self.state == Sent::Done
    }
}

/// The side that searches its own tree, and sends what the other does not have.
#[derive(Clone, Debug)]
pub struct Search {
    keys: Vec<Vec<u8>>,
    correction: u32,
    state: Heard,
}

#[derive(Clone, Debug)]
enum Heard {
    Nothing,
    Seed(u64),
    Leaves(u64, Box<Bloom>),
    Done(Found),
}

impl Search {
    /// The search through a set, with correction level 2.
    pub fn new(keys: impl IntoIterator<Item: AsRef<[u8]>>) -> Self {
        let keys = keys.into_iter().map(|key| key.as_ref().to_vec()).collect();
        Self { keys, correction: CORRECTION, state: Heard::Nothing }
    }

    /// The same with another correction level: how many matching nodes in a row are not believed.
    #[must_use]
    pub fn correction(self, correction: u32) -> Self {
        Self { correction, ..self }
    }

    /// What was found, when the exchange is over: numbers of keys in the order they were given.
    pub fn found(&self) -> Option<&Found> {
        match &self.state {
            Heard::Done(found) => Some(found),
            _ => None,
        }
    }

    /// The keys that were found.
    pub fn missing(&self) -> impl Iterator<Item = &[u8]> {
        let numbers = self.found().map(|found| found.missing.as_slice()).unwrap_or_default();
        numbers.iter().map(|number| self.keys[*number].as_slice())
    }

    /// A filter of the other side's, if it is hashed as the seed says.
    fn filter(frame: &Frame, seed: u64, inner: bool, out: &Outbox) -> Result<Bloom> {
        let filter: Bloom = out.opener().decode_as(&frame.body)?;
        let (here, there) = (hasher(seed, inner), &filter.head().hasher);
        if here.seed() != there.seed() || there.is_keyed() {
            return Err(Error::new(
                Kind::Incompatible { what: "seed" },
                format!("frame {:#04x} has a filter under another seed than was said", frame.kind),
            ));
        }
        Ok(filter)
    }

    fn search(&mut self, seed: u64, leaves: &Bloom, inner: &Bloom, out: &mut Outbox) -> Result<()> {
        let tree = tree(seed, &self.keys);
        let found = tree.search(self.correction, |v| leaves.contains(&v), |v| inner.contains(&v));
        let mut list = List::default();
        found.missing.iter().for_each(|number| _ = list.push(&self.keys[*number]));
        out.list(KEYS, &mut list)?;
        self.state = Heard::Done(found);
        out.frame(END, &[])
    }
}

impl Role for Search {
    const FRAMES: &'static [u8] = &[OPEN, LEAVES, INNER];

    fn speak(&mut self, _: &mut Outbox) -> Result<()> {
        Ok(())
    }

    fn room(&self, head: &Frame) -> Result<u64> {
        match (&self.state, head.kind) {
            (Heard::Nothing, OPEN) => Ok(8),
            (Heard::Seed(_), LEAVES) | (Heard::Leaves(..), INNER) => Ok(u64::MAX),
            _ => Err(head.wrong("out of order")),
        }
    }

    fn hear(&mut self, frame: Frame, out: &mut Outbox) -> Result<()> {
        match (std::mem::replace(&mut self.state, Heard::Nothing), frame.kind) {
            (Heard::Nothing, OPEN) => self.state = Heard::Seed(frame.number()?),
            (Heard::Seed(seed), LEAVES) => {
                let leaves = Self::filter(&frame, seed, false, out)?;
                self.state = Heard::Leaves(seed, Box::new(leaves));
            }
            (Heard::Leaves(seed, leaves), INNER) => {
                let inner = Self::filter(&frame, seed, true, out)?;
                self.search(seed, &leaves, &inner, out)?;
            }
            _ => return Err(frame.wrong("out of order")),
        }
        Ok(())
    }

    fn done(&self) -> bool {
        matches!(self.state, Heard::Done(_))
    }
}

#[cfg(test)]
mod tests;
