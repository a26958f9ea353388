//! A tree of hashes over a sorted list: whoever has its root can be shown that something is in the list, or is not.
//!
//! ```text
//!              root = H(2, how many, top)                  proof that "cat" is in it: cat, its place, and the
//!              top                                         hashes beside its way to the top
//!             /   \                  node = H(1, left, right)
//!           12     34                                      proof that "dog" is not: cat and elk with their places,
//!          /  \   /  \               leaf = H(0, serial)   which are next to each other
//!        ape  cat elk fox
//! ```
//!
//! Leaves and nodes are hashed apart. Under one and the same hash the two hashes below a node would pass for a serial
//! in the list. The number of leaves is in the root, so that the last one is known as such.

use everbloom::{Error, Kind, Result};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

/// A SHA-256 hash.
pub type Hash = [u8; 32];

/// The hash of a serial.
pub fn leaf_hash(serial: &[u8]) -> Hash {
    Sha256::new().chain_update([0]).chain_update(serial).finalize().into()
}

/// The hash of a node of the tree.
pub fn node_hash(left: &Hash, right: &Hash) -> Hash {
    Sha256::new().chain_update([1]).chain_update(left).chain_update(right).finalize().into()
}

fn root(size: u64, top: &Hash) -> Hash {
    Sha256::new()
        .chain_update([2])
        .chain_update(size.to_le_bytes())
        .chain_update(top)
        .finalize()
        .into()
}

/// A sorted list and its hashes.
///
/// ```
/// use everbloom_tools::revoked::Tree;
///
/// let tree = Tree::new(["elk", "cat", "ape", "fox"]);
/// assert!(tree.prove(b"cat").shows(b"cat", &tree.root())?);
/// assert!(!tree.prove(b"dog").shows(b"dog", &tree.root())?);
/// assert!(tree.prove(b"cat").shows(b"dog", &tree.root()).is_err());
/// # Ok::<(), everbloom::Error>(())
/// ```
pub struct Tree {
    serials: Vec<Vec<u8>>,
    /// The leaves, then what is above them, to the top. The last of an odd number goes up as it is.
    levels: Vec<Vec<Hash>>,
}

impl Tree {
    /// The tree of some serials, in any order; repeated ones count once.
    pub fn new<S: AsRef<[u8]>>(serials: impl IntoIterator<Item = S>) -> Self {
        let mut serials: Vec<Vec<u8>> = serials.into_iter().map(|s| s.as_ref().to_vec()).collect();
        serials.sort_unstable();
        serials.dedup();
        let mut levels = vec![serials.iter().map(|serial| leaf_hash(serial)).collect::<Vec<_>>()];
        while let Some(below) = levels.last().filter(|level| level.len() > 1) {
            let pair = |pair: &[Hash]| if let [l, r] = pair { node_hash(l, r) } else { pair[0] };
            levels.push(below.chunks(2).map(pair).collect());
        }
        Self { serials, levels }
    }

    /// What the other side has to know.
    pub fn root(&self) -> Hash {
        let top = self.levels.last().and_then(|level| level.first());
        root(self.serials.len() as u64, top.unwrap_or(&Hash::default()))
    }

    /// How many serials there are.
    pub fn len(&self) -> usize {
        self.serials.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.serials.is_empty()
    }

    /// The proof that a serial is in the list, or is not.
    pub fn prove(&self, serial: &[u8]) -> Proof {
        let size = self.serials.len() as u64;
        let leaves = match self.serials.binary_search_by(|s| s.as_slice().cmp(serial)) {
            Ok(at) => vec![self.leaf(at)],
            Err(at) => {
                let around = at.saturating_sub(1)..(at + 1).min(self.serials.len());
                around.map(|at| self.leaf(at)).collect()
            }
        };
        Proof { size, leaves }
    }

    fn leaf(&self, index: usize) -> Leaf {
        let beside = self
            .levels
            .iter()
            .enumerate()
            .filter_map(|(height, level)| level.get((index >> height) ^ 1).copied());
        Leaf { index: index as u64, serial: self.serials[index].clone(), path: beside.collect() }
    }
}

/// A serial of the list, its place there, and the hashes beside its way to the top.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leaf {
    /// Its place, from 0.
    pub index: u64,
    /// The serial.
    pub serial: Vec<u8>,
    /// The hashes, from below.
    pub path: Vec<Hash>,
}

impl Leaf {
    /// Whether the hashes lead to the root of a list of `size`.
    fn leads_to(&self, expected: &Hash, size: u64) -> bool {
        let (mut index, mut width, mut hash) = (self.index, size, leaf_hash(&self.serial));
        let mut path = self.path.iter();
        while width > 1 {
            if index ^ 1 < width {
                let Some(beside) = path.next() else { return false };
                hash = if index & 1 == 0 {
                    node_hash(&hash, beside)
                } else {
                    node_hash(beside, &hash)
                };
            }
            (index, width) = (index >> 1, width.div_ceil(2));
        }
        self.index < size && path.next().is_none() && root(size, &hash) == *expected
    }
}

/// That a serial is in a list, or that it is not: what stands in its place, or next to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proof {
    /// How long the list is.
    pub size: u64,
    /// The serial itself; or the ones before and after it.
    pub leaves: Vec<Leaf>,
}

impl Proof {
    /// Whether it shows that the serial is in the list with this root (true) or is not (false). A proof that shows
    /// neither is an error.
    pub fn shows(&self, serial: &[u8], expected: &Hash) -> Result<bool> {
        let wrong =
            |why: &str| Err(Error::new(Kind::BadRecord, format!("the proof does not hold: {why}")));
        if !self.leaves.iter().all(|leaf| leaf.leads_to(expected, self.size)) {
            return wrong("a hash does not lead to the root");
        }
        let shown = match &self.leaves[..] {
            [] => self.size == 0 && root(0, &Hash::default()) == *expected,
            [only] if only.serial == serial => return Ok(true),
            [only] if *only.serial < *serial => only.index + 1 == self.size,
            [only] => only.index == 0,
            [before, after] => {
                before.index + 1 == after.index
                    && *before.serial < *serial
                    && *serial < *after.serial
            }
            _ => false,
        };
        if shown {
            Ok(false)
        } else {
            wrong("its serials are not next to the one that was asked for")
        }
    }

    /// Bytes that it takes: places, lengths, serials and hashes.
    pub fn bytes(&self) -> u64 {
        let of = |leaf: &Leaf| 8 + 2 + leaf.serial.len() + 32 * leaf.path.len();
        8 + self.leaves.iter().map(of).sum::<usize>() as u64
    }

    /// As JSON, bytes as hex digits.
    pub fn to_json(&self) -> Value {
        let leaf = |leaf: &Leaf| {
            let path: Vec<String> = leaf.path.iter().map(|hash| to_hex(hash)).collect();
            json!({ "index": leaf.index, "serial": to_hex(&leaf.serial), "path": path })
        };
        json!({ "size": self.size, "leaves": self.leaves.iter().map(leaf).collect::<Vec<_>>() })
    }

    /// Reads what [`Proof::to_json`] writes.
    pub fn from_json(text: &[u8]) -> Result<Self> {
        let read = || -> Option<Self> {
            let value: Value = serde_json::from_slice(text).ok()?;
            let leaf = |leaf: &Value| {
                let path =
                    leaf["path"].as_array()?.iter().map(|h| from_hex(h.as_str()?)?.try_into().ok());
                let (index, serial) =
                    (leaf["index"].as_u64()?, from_hex(leaf["serial"].as_str()?)?);
                Some(Leaf { index, serial, path: path.collect::<Option<_>>()? })
            };
            let leaves =
                value["leaves"].as_array()?.iter().map(leaf).collect::<Option<Vec<_>>>()?;
            // A path is no longer than the bits of a place.
            let short = leaves.iter().all(|leaf| leaf.path.len() <= 64 && leaf.index < u64::MAX);
            short.then_some(Self { size: value["size"].as_u64()?, leaves })
        };
        read().ok_or_else(|| Error::new(Kind::NotOurs, "not a proof as `revoked prove` writes it"))
    }
}

/// Bytes as hex digits.
pub fn to_hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Hex digits as bytes.
pub fn from_hex(text: &str) -> Option<Vec<u8>> {
    let digits: Option<Vec<u8>> = text.chars().map(|c| Some(c.to_digit(16)? as u8)).collect();
    let digits = digits.filter(|digits| digits.len() % 2 == 0)?;
    Some(digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn serials(n: u32) -> Vec<String> {
        (0..n).map(|i| format!("{:04}", 2 * i + 1)).collect()
    }

    #[test]
    fn a29_every_serial_is_shown_in_or_out_by_at_most_log_n_hashes() {
        for n in [0, 1, 2, 3, 4, 5, 7, 8, 9, 33, 100] {
            let tree = Tree::new(serials(n));
            let most = f64::from(n.max(1)).log2().ceil() as usize;
            for i in 0..=2 * n + 2 {
                let serial = format!("{i:04}");
                let proof = tree.prove(serial.as_bytes());
                assert_eq!(
                    proof.shows(serial.as_bytes(), &tree.root()).unwrap(),
                    i % 2 == 1 && i < 2 * n
                );
                assert!(proof.leaves.iter().all(|leaf| leaf.path.len() <= most));
                assert_eq!(
                    Proof::from_json(proof.to_json().to_string().as_bytes()).unwrap(),
                    proof
                );
            }
        }
    }

    #[test]
    fn forged_proofs_are_refused() {
        let tree = Tree::new(serials(9));
        let root = tree.root();
        let refused = |proof: &Proof, serial: &[u8]| proof.shows(serial, &root).is_err();
        // "0005" is in the list: nothing else shows that it is not.
        let [before, member, after] = [1, 2, 3].map(|i| tree.leaf(i));
        for leaves in [
            vec![],
            vec![before.clone()],
            vec![after.clone()],
            vec![before.clone(), after.clone()],
            vec![before.clone(), member.clone()],
            vec![after.clone(), before.clone()],
            vec![tree.leaf(0), tree.leaf(8)],
        ] {
            assert!(refused(&Proof { size: 9, leaves }, b"0005"));
        }
        // A place that is not its own, and another length of the list.
        for change in 0..4 {
            let mut proof = tree.prove(b"0006");
            match change {
                0 => proof.size = 8,
                1 => proof.leaves[1].index += 1,
                2 => proof.leaves[0].path[1][0] ^= 1,
                _ => proof.leaves[0].path.push(Hash::default()),
            }
            assert!(refused(&proof, b"0006"), "{change}");
        }
        // Two hashes below a node are no serial.
        let pair = [tree.levels[0][0], tree.levels[0][1]].concat();
        let path = tree.leaf(0).path[1..].to_vec();
        let forged = Proof { size: 5, leaves: vec![Leaf { index: 0, serial: pair.clone(), path }] };
        assert!(refused(&forged, &pair));
        assert!(Proof::from_json(b"{}").is_err() && Proof::from_json(b"x").is_err());
    }
}
