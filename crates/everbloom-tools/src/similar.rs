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
//! common 774. A fixed threshold below the chance level flags everybody, and the rows of a short and a long file, or
//! of two that are nearly full, prove nothing. So rows only rule pairs out; the others are compared chunk by chunk,
//! and what is printed is counted. Chunks end where the content says ([`Cut::Content`]): an inserted line moves one or
//! two of them, where blocks of a fixed length would all differ.

use std::collections::{HashMap, HashSet};
use std::io::Read;

use everbloom::grouping::Matrix;
use everbloom::grouping::matrix::Similarity;
use everbloom::{Error, Hasher, Kind, Result};

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
    /// Different chunks that both have.
    pub shared: u64,
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
/// let other = "nothing of the sort ".repeat(500);
/// let mut files = Similar::new(8192, Cut::Content)?;
/// let texts = [&essay, &copy, &other];
/// for (name, text) in (0..).zip(texts) {
///     files.add(&[name], text.as_bytes())?;
/// }
/// let pairs = files.pairs(0.5, |name| Ok(texts[usize::from(name[0])].as_bytes()))?;
/// assert_eq!(pairs.len(), 1);
/// assert_eq!((&pairs[0].a[..], &pairs[0].b[..]), (&[0][..], &[1][..]));
/// # Ok::<(), everbloom::Error>(())
/// ```
pub struct Similar {
    matrix: Matrix,
    cut: Cut,
}

impl Similar {
    /// No files yet; rows have `m` bits.
    pub fn new(m: u64, cut: Cut) -> Result<Self> {
        Ok(Self { matrix: Matrix::with_shape(m, PROBES, Hasher::default())?, cut })
    }

    /// Adds a file, or more of one that is there.
    pub fn add(&mut self, name: &[u8], text: impl Read) -> Result<()> {
        let matrix = &mut self.matrix;
        self.cut.each(text, |chunk| matrix.insert(chunk, name).map(drop))
    }

    /// Takes a file out; whether it was there.
    pub fn remove(&mut self, name: &[u8]) -> bool {
        self.matrix.remove_document(name)
    }

    /// The pairs whose rows don't rule out that they share this part of the smaller one's chunks.
    pub fn candidates(&self, least: f64) -> Vec<(&[u8], &[u8], Similarity)> {
        self.matrix.candidates(least)
    }

    /// The pairs that share at least this part of the smaller one's chunks, the most alike first. Candidates are read
    /// again, by `open`, and compared by 128-bit digests of their chunks, 16 bytes for each while it lasts.
    pub fn pairs<R: Read>(
        &self,
        least: f64,
        open: impl Fn(&[u8]) -> Result<R>,
    ) -> Result<Vec<Pair>> {
        let candidates = self.candidates(least);
        let mut chunks: HashMap<&[u8], HashSet<[u64; 2]>> = HashMap::new();
        for name in candidates.iter().flat_map(|(a, b, _)| [*a, *b]) {
            if !chunks.contains_key(name) {
                chunks.insert(name, digests(self.cut, open(name)?)?);
            }
        }
        let pair = |(a, b, _): (&[u8], &[u8], Similarity)| {
            let (one, other) = (&chunks[a], &chunks[b]);
            let shared = one.intersection(other).count() as u64;
            let share = shared as f64 / one.len().min(other.len()).max(1) as f64;
            (shared > 0 && share >= least).then(|| Pair {
                a: a.to_vec(),
                b: b.to_vec(),
                shared,
                share,
            })
        };
        let mut pairs: Vec<Pair> = candidates.into_iter().filter_map(pair).collect();
        pairs.sort_by(|x, y| y.share.total_cmp(&x.share));
        Ok(pairs)
    }

    /// Whether a row has so many ones that it rules hardly any pair out.
    pub fn too_full(&self) -> bool {
        let full = |name: &Vec<u8>| self.matrix.bits(name).is_some_and(|bits| bits.fill() > 0.9);
        self.matrix.documents().iter().any(full)
    }
}

/// The different chunks of a file, by their digests.
fn digests(cut: Cut, text: impl Read) -> Result<HashSet<[u64; 2]>> {
    let (hasher, mut all) = (Hasher::default(), HashSet::new());
    cut.each(text, |chunk| {
        let digest = hasher.digest(chunk);
        all.insert([digest.h1, digest.h2]);
        Ok(())
    })?;
    Ok(all)
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

    fn random(seed: u64, bytes: usize) -> Vec<u8> {
        let mut random = Generator::new(seed);
        (0..bytes).map(|_| random.next_u64() as u8).collect()
    }

    /// Pairs of files that are named for their places.
    fn compared(m: u64, cut: Cut, files: &[&[u8]], least: f64) -> (usize, Vec<Pair>) {
        let mut all = Similar::new(m, cut).unwrap();
        for (i, file) in files.iter().enumerate() {
            all.add(&[i as u8], *file).unwrap();
        }
        let pairs = all.pairs(least, |name| Ok(files[usize::from(name[0])])).unwrap();
        (all.candidates(least).len(), pairs)
    }

    #[test]
    fn files_go_again() {
        let mut files = Similar::new(1024, Cut::Fixed(16)).unwrap();
        let text = random(3, 800);
        files.add(b"a", &text[..]).unwrap();
        files.add(b"b", &text[..]).unwrap();
        let open = |_: &[u8]| Ok(&text[..]);
        assert_eq!(files.pairs(0.9, open).unwrap().len(), 1);
        assert!(files.remove(b"b") && !files.remove(b"b"));
        assert!(files.pairs(0.1, open).unwrap().is_empty() && !files.too_full());
    }

    /// A chunk or two seem to be in a long row by chance alone: a hundred short files and a long one that share
    /// nothing are candidates now and then, and never pairs. Those that share a chunk are found.
    #[test]
    fn a_short_file_is_a_copy_of_a_long_one_only_if_its_text_is_in_it() {
        let long = random(1, 140_000);
        let mut short: Vec<Vec<u8>> = (0..100).map(|i| random(100 + i, 255)).collect();
        short.push(long[..8192].to_vec());
        let files: Vec<&[u8]> =
            std::iter::once(&long[..]).chain(short.iter().map(|f| &f[..])).collect();
        for m in [8192, 2048, 512, 64] {
            let (candidates, pairs) = compared(m, Cut::Content, &files, 0.3);
            assert!(candidates > pairs.len(), "{m}: the rows alone name false ones");
            assert_eq!(pairs.len(), 1, "{m}");
            assert_eq!((&pairs[0].a[..], &pairs[0].b[..]), (&[0][..], &[101][..]));
            assert!(pairs[0].share > 0.9 && pairs[0].shared > 15, "{:?}", pairs[0]);
        }
    }

    /// Rows without room are no reason to lose a copy: what they can't rule out is compared.
    #[test]
    fn copies_are_counted_exactly_however_full_the_rows_are() {
        let text = random(2, 64 * 1000);
        let copy = [&random(4, 64 * 600)[..], &text[..64 * 400]].concat();
        let other = random(5, 64 * 1000);
        for m in [16_000, 3000, 1000, 64] {
            let (_, pairs) = compared(m, Cut::Fixed(64), &[&text, &copy, &other], 0.4);
            let counted: Vec<_> = pairs.iter().map(|pair| (pair.shared, pair.share)).collect();
            assert_eq!(counted, [(400, 0.4)], "{m}");
        }
    }
}
