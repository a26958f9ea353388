//! Copied passages among files (catalogue A33; S3 §V-C \[103\]).
//!
//! ```text
//!   file ──▶ chunks ──▶ a row of m bits       rows laid over each other: common ones
//!                                               ─ those that chance makes of two unrelated rows
//!                                               ─▶ inverted (S1 §2.4): how many chunks the files share
//! ```
//!
//! Each file is a row of a [`Matrix`]: a Bloom filter of its chunks, all with the same hash functions. With m = 8192,
//! k = 3 and 500 chunks a row has 1371 ones; two unrelated rows share 229, and two with half of their chunks in
//! common 774. A fixed threshold below the chance level flags everybody, so what is compared is the estimated
//! number of common chunks. Chunks end where the content says ([`Cut::Content`]): an inserted line moves one or two
//! of them, where blocks of a fixed length would all differ.

use std::io::Read;

use everbloom::grouping::Matrix;
use everbloom::{Error, Hasher, Kind, Result, Seen};

use crate::chunks::Cut;

/// Probes of a chunk, and bits of a row for each chunk of the largest file.
pub const PROBES: u32 = 3;
/// Bits of a row for each chunk of the largest file, as in the catalogue's example.
pub const BITS: u64 = 16;

/// Files that are told apart.
pub const MOST_FILES: usize = 1 << 16;

/// Refuses more files than there may be rows, before any is read.
pub fn check_number(files: usize) -> Result<()> {
    if files <= MOST_FILES {
        return Ok(());
    }
    let message =
        format!("{files} files, of which {MOST_FILES} can be compared at once: name fewer folders");
    Err(Error::new(Kind::BadParameter, message))
}

/// Two files that share chunks.
#[derive(Clone, Debug, PartialEq)]
pub struct Pair {
    /// One of them.
    pub a: Vec<u8>,
    /// The other.
    pub b: Vec<u8>,
    /// Chunks that both have, estimated.
    pub shared: f64,
    /// The same as a share of the smaller one's chunks.
    pub share: f64,
}

/// Files whose passages are compared.
///
/// ```
/// use everbloom_tools::chunks::Cut;
/// use everbloom_tools::similar::Similar;
///
/// let essay: String = (0..2000).map(|i| format!("sentence {} of the essay. ", i * i % 997)).collect();
/// let copy = format!("Something new in front. {}", &essay[10_000..]);
/// let mut files = Similar::new(8192, Cut::Content)?;
/// files.add(b"essay", essay.as_bytes())?;
/// files.add(b"copy", copy.as_bytes())?;
/// files.add(b"other", "nothing of the sort ".repeat(500).as_bytes())?;
/// let pairs = files.pairs(0.5);
/// assert_eq!(pairs.len(), 1);
/// assert_eq!((&pairs[0].a[..], &pairs[0].b[..]), (&b"essay"[..], &b"copy"[..]));
/// # Ok::<(), everbloom::Error>(())
/// ```
pub struct Similar {
    matrix: Matrix,
    cut: Cut,
    /// Different chunks of each file, about.
    chunks: std::collections::HashMap<Vec<u8>, u64>,
}

impl Similar {
    /// No files yet; rows have `m` bits.
    pub fn new(m: u64, cut: Cut) -> Result<Self> {
        let matrix = Matrix::with_shape(m, PROBES, Hasher::default())?;
        Ok(Self { matrix, cut, chunks: Default::default() })
    }

    /// Adds a file, or more of one that is there; how many different chunks it has.
    pub fn add(&mut self, name: &[u8], text: impl Read) -> Result<u64> {
        let (matrix, mut new) = (&mut self.matrix, 0);
        self.cut.each(text, |chunk| {
            new += u64::from(matrix.insert(chunk, name)? == Seen::New);
            Ok(())
        })?;
        let chunks = self.chunks.entry(name.to_vec()).or_default();
        *chunks += new;
        Ok(*chunks)
    }

    /// Takes a file out; whether it was there.
    pub fn remove(&mut self, name: &[u8]) -> bool {
        self.chunks.remove(name);
        self.matrix.remove_document(name)
    }

    /// The pairs that share at least this share of the smaller one's chunks, the most alike first.
    pub fn pairs(&self, least: f64) -> Vec<Pair> {
        let pair = |(a, b, alike): (&[u8], &[u8], everbloom::grouping::matrix::Similarity)| {
            let count = |name: &[u8]| self.chunks.get(name).copied().unwrap_or(0);
            let (shared, smaller) = (alike.shared?, count(a).min(count(b)).max(1) as f64);
            let shared = shared.clamp(0.0, smaller);
            let share = shared / smaller;
            // A chunk or less is what chance makes of files of a few chunks.
            let counts = share >= least && shared >= 1.0;
            counts.then(|| Pair { a: a.to_vec(), b: b.to_vec(), shared, share })
        };
        let mut pairs: Vec<Pair> =
            self.matrix.copies(least / 2.0).into_iter().filter_map(pair).collect();
        pairs.sort_by(|x, y| y.share.total_cmp(&x.share));
        pairs
    }

    /// Whether a row has so many ones that what it shares can't be told.
    pub fn too_full(&self) -> bool {
        let full = |name: &Vec<u8>| self.matrix.bits(name).is_some_and(|bits| bits.fill() > 0.9);
        self.matrix.documents().iter().any(full)
    }
}

#[cfg(test)]
mod tests {
    use everbloom::internals::hash::Generator;

    use super::*;

    #[test]
    fn more_files_than_rows_are_refused_beforehand() {
        assert!(check_number(MOST_FILES).is_ok());
        let refused = check_number(MOST_FILES + 1).unwrap_err().to_string();
        assert!(refused.contains("65537 files"), "{refused}");
        // There are so many rows, and no more.
        let mut matrix = Matrix::with_shape(64, 1, Hasher::default()).unwrap();
        let mut add = |i: usize| matrix.add_document(&i.to_le_bytes(), [i as u64]);
        (0..MOST_FILES).for_each(|i| add(i).unwrap());
        assert!(add(MOST_FILES).is_err());
    }

    #[test]
    fn files_go_again() {
        let mut files = Similar::new(1024, Cut::Fixed(16)).unwrap();
        let mut random = Generator::new(3);
        let text: Vec<u8> = (0..800).map(|_| random.next_u64() as u8).collect();
        assert!(files.add(b"a", &text[..]).unwrap() >= 45);
        files.add(b"b", &text[..]).unwrap();
        assert_eq!(files.pairs(0.9).len(), 1);
        assert!(files.remove(b"b") && !files.remove(b"b"));
        assert!(files.pairs(0.1).is_empty() && !files.too_full());
    }
}
