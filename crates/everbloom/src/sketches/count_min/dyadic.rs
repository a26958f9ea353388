//! Heavy hitters without a list of candidates: a sketch for every length of prefix.
//!
//! ```text
//!   key 0x2a07 =  2a 07      level 1 counts   2a**             1 of 256 is heavy
//!                            level 0 counts   2a07             256 below it are looked at
//! ```
//!
//! Every level holds the whole total, so that a heavy key has heavy prefixes all the way up, whatever was
//! removed meanwhile. The way down follows them: at most 1/φ a level are heavy, and a few more look so.

use super::rows::Rows;
use crate::error::{Error, Kind, Result};
use crate::hash::{Digest, Hasher};

/// A key of at most 8 bytes as an integer, and its length: an integer is its 8 little-endian bytes.
#[derive(Clone, Copy)]
struct Node {
    len: u8,
    prefix: u64,
}

/// The longest key that has levels.
const LONGEST: usize = 8;

/// Number of levels at so many bits each.
pub(super) fn levels(step: u32) -> u32 {
    64u32.div_ceil(step)
}

/// The digests of a key's prefixes, from level 1 up.
pub(super) fn prefixes(
    hasher: &Hasher,
    key: &[u8],
    step: u32,
) -> Result<impl Iterator<Item = Digest>> {
    if key.len() > LONGEST {
        return Err(Error::record(format!(
            "the dyadic form takes integers, or keys of at most {LONGEST} bytes; this one has {}",
            key.len()
        )));
    }
    let (len, value) = (key.len() as u8, integer(key));
    let node = move |level: u32| Node { len, prefix: value >> (level * step) };
    Ok((1..levels(step)).map(move |level| node(level).digest(hasher, level)))
}

fn integer(key: &[u8]) -> u64 {
    key.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte))
}

impl Node {
    fn key(&self) -> Vec<u8> {
        self.prefix.to_le_bytes()[..usize::from(self.len)].to_vec()
    }

    fn digest(&self, hasher: &Hasher, level: u32) -> Digest {
        if level == 0 {
            return hasher.digest(&*self.key());
        }
        let mut bytes = [level as u8, self.len, 0, 0, 0, 0, 0, 0, 0, 0];
        bytes[2..].copy_from_slice(&self.prefix.to_le_bytes());
        hasher.digest(&bytes)
    }

    /// The largest prefix that keys of this length have after `shift` bits are cut off.
    fn largest(len: u8, shift: u32) -> u64 {
        let value = if len == 0 { 0 } else { u64::MAX >> (64 - 8 * u32::from(len)) };
        value >> shift
    }

    fn children(self, shift: u32, step: u32) -> impl Iterator<Item = Node> {
        let first = self.prefix << step;
        let last = Self::largest(self.len, shift).min(first | ((1 << step) - 1));
        (first..=last).map(move |prefix| Node { prefix, ..self })
    }
}

/// The keys whose count is at least `threshold`, at most `most` of them on every level.
pub(super) fn heavy(
    levels: &[Rows],
    hasher: &Hasher,
    step: u32,
    threshold: i64,
    most: usize,
) -> Result<Vec<(Vec<u8>, u64)>> {
    let top = levels.len() as u32 - 1;
    let all = |len| (0..=Node::largest(len, top * step)).map(move |prefix| Node { len, prefix });
    let mut nodes: Vec<Node> = (0..=LONGEST as u8).flat_map(all).collect();
    for (level, rows) in levels.iter().enumerate().rev() {
        let level = level as u32;
        nodes.retain(|node| rows.least(node.digest(hasher, level)) >= threshold);
        if nodes.len() > most {
            return Err(Error::new(
                Kind::Undecodable,
                "more keys look heavy than possible: the rows are too short for this total",
            ));
        }
        if let Some(below) = level.checked_sub(1) {
            nodes = nodes.into_iter().flat_map(|n| n.children(below * step, step)).collect();
        }
    }
    let count = |node: &Node| levels[0].least(node.digest(hasher, 0)).cast_unsigned();
    Ok(nodes.iter().map(|node| (node.key(), count(node))).collect())
}
