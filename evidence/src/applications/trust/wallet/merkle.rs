//! A partial Merkle tree: proves that some transactions are in a block without showing the others (BIP 37).
//!
//! ```text
//!            root                bits 1 where a leaf below is wanted, depth first; a hash for each 0 and for
//!          /      \              each wanted leaf. One wanted leaf of n costs about log₂ n hashes.
//!       1            0 hash
//!     1   0 hash
//! ```

use everbloom::{Error, Kind, Result};

use sha2::{Digest, Sha256};

/// SHA-256 twice: what names blocks and transactions.
pub(super) fn hash(bytes: &[u8]) -> [u8; 32] {
    Sha256::digest(Sha256::digest(bytes)).into()
}

type Hash = [u8; 32];

fn pair(left: &Hash, right: &Hash) -> Hash {
    hash(&[*left, *right].concat())
}

/// The root over all; the last of an odd number is paired with itself.
pub(super) fn root(leaves: &[Hash]) -> Hash {
    let mut level = leaves.to_vec();
    while level.len() > 1 {
        level = level.chunks(2).map(|two| pair(&two[0], two.last().unwrap_or(&two[0]))).collect();
    }
    level.first().copied().unwrap_or_default()
}

/// A proof for some leaves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartialTree {
    leaves: u32,
    hashes: Vec<Hash>,
    bits: Vec<bool>,
}

fn width(leaves: u32, height: u32) -> u64 {
    (u64::from(leaves) + (1 << height) - 1) >> height
}

fn top(leaves: u32) -> u32 {
    (0..33).find(|height| width(leaves, *height) <= 1).unwrap_or(0)
}

impl PartialTree {
    /// The proof for the leaves that are wanted.
    pub fn new(leaves: &[Hash], wanted: &[bool]) -> Self {
        let mut tree = Self { leaves: leaves.len() as u32, hashes: Vec::new(), bits: Vec::new() };
        if !leaves.is_empty() {
            tree.add(top(tree.leaves), leaves, wanted);
        }
        tree
    }

    fn add(&mut self, height: u32, leaves: &[Hash], wanted: &[bool]) {
        let some = wanted.contains(&true);
        self.bits.push(some);
        if height == 0 || !some {
            self.hashes.push(lifted(leaves, height));
            return;
        }
        let half = (1usize << (height - 1)).min(leaves.len());
        self.add(height - 1, &leaves[..half], &wanted[..half]);
        if half < leaves.len() {
            self.add(height - 1, &leaves[half..], &wanted[half..]);
        }
    }

    /// The wanted leaves, if this is a proof for the root.
    pub fn prove(&self, root: &Hash) -> Result<Vec<Hash>> {
        let wrong = |what: &str| {
            let message = format!("a partial Merkle tree {what}: ask another node");
            Error::new(Kind::Corrupt { offset: 0 }, message)
        };
        // A transaction has 60 bytes at least, a block 4,000,000 at most.
        if self.leaves == 0 || self.leaves > 66_666 {
            return Err(wrong("of no block"));
        }
        let (mut bits, mut hashes, mut found) = (self.bits.iter(), self.hashes.iter(), Vec::new());
        let above = walk(top(self.leaves), self.leaves.into(), &mut bits, &mut hashes, &mut found);
        let used_up = bits.next().is_none() && hashes.next().is_none();
        match above {
            Some(above) if above == *root && used_up => Ok(found),
            _ => Err(wrong("that does not lead to the block's root")),
        }
    }

    /// Bytes on the wire beside the block's header.
    pub fn bytes(&self) -> usize {
        4 + 1 + 32 * self.hashes.len() + 1 + self.bits.len().div_ceil(8)
    }

    /// Transactions in the block, and hashes in the proof.
    pub fn size(&self) -> (u32, usize) {
        (self.leaves, self.hashes.len())
    }
}

/// The hash `height` levels above some leaves, which may be the end of a row.
fn lifted(leaves: &[Hash], height: u32) -> Hash {
    let mut level = leaves.to_vec();
    for _ in 0..height {
        level = level.chunks(2).map(|two| pair(&two[0], two.last().unwrap_or(&two[0]))).collect();
    }
    level.first().copied().unwrap_or_default()
}

fn walk<'a>(
    height: u32,
    leaves: u64,
    bits: &mut impl Iterator<Item = &'a bool>,
    hashes: &mut impl Iterator<Item = &'a Hash>,
    found: &mut Vec<Hash>,
) -> Option<Hash> {
    let some = *bits.next()?;
    if height == 0 || !some {
        let hash = *hashes.next()?;
        if some {
            found.push(hash);
        }
        return Some(hash);
    }
    let half = (1u64 << (height - 1)).min(leaves);
    let left = walk(height - 1, half, bits, hashes, found)?;
    if half == leaves {
        return Some(pair(&left, &left));
    }
    let right = walk(height - 1, leaves - half, bits, hashes, found)?;
    // Two equal halves would let a transaction be shown twice under the same root.
    (left != right).then(|| pair(&left, &right))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn proofs_of_all_sizes_and_every_change_is_refused() {
        for n in 1..40u8 {
            let leaves: Vec<Hash> = (0..n).map(|i| hash(&[i])).collect();
            let root = root(&leaves);
            for wanted in
                [&(|i| i == n / 2) as &dyn Fn(u8) -> bool, &|_| true, &|_| false, &|i| i % 3 == 0]
            {
                let wanted: Vec<bool> = (0..n).map(wanted).collect();
                let tree = PartialTree::new(&leaves, &wanted);
                let expected: Vec<Hash> =
                    leaves.iter().zip(&wanted).filter(|(_, w)| **w).map(|(l, _)| *l).collect();
                assert_eq!(tree.prove(&root).unwrap(), expected, "{n}");
                for i in 0..tree.hashes.len() {
                    let mut other = tree.clone();
                    other.hashes[i][0] ^= 1;
                    assert!(other.prove(&root).is_err());
                }
                let mut more = tree.clone();
                more.hashes.push([0; 32]);
                assert!(more.prove(&root).is_err());
                let mut fewer = tree.clone();
                fewer.bits.pop();
                assert!(fewer.prove(&root).is_err());
            }
        }
        assert!(PartialTree::new(&[], &[]).prove(&[0; 32]).is_err());
    }
}
