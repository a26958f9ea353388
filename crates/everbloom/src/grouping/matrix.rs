//! The matrix Bloom filter (Geravand, Ahmadi 2011; catalogue I12; S3 §V-B).
//!
//! Copies among N documents. A document is cut into chunks (sentences, shingles, blocks), and its row of
//! m bits is the Bloom filter of them; all rows share the same hash functions, so that they can be laid
//! over each other:
//!
//! ```text
//!   essay     0 1 0 1 1 0 0 1 0 1 1 0 1 0 …
//!   copy      0 1 0 1 1 0 1 1 0 1 1 0 0 0 …    essay AND copy: 6 common ones
//!   sonnet    1 0 0 1 0 0 0 0 1 0 0 1 0 1 …    essay AND sonnet: 1
//! ```
//!
//! Common ones alone prove nothing: two unrelated documents of 1000 chunks in 10,000 bits have 1087 of
//! them by chance, and a threshold below that flags everybody. So [`Matrix::similarity`] also says what
//! chance makes of these two fills, and its score is the share of the way from there to containment.
//!
//! The label of a record is its document, a stable key: documents come, grow and are removed as a whole
//! ([`Matrix::remove_document`]), and their rows may move. A chunk cannot be removed. A query without a
//! document searches all rows.
//!
//! **Use it** to find which documents share chunks, and which contain one. **Don't** to find one chunk among very
//! many documents: a search reads every row.

use crate::cells::Bits;
use crate::error::agree;
use crate::grouping::groups::{Groups, MAX_GROUPS, labeled};
use crate::grouping::likeness::Outline;
pub use crate::grouping::likeness::{Similarity, chance_level};
use crate::parts::labels::label_of;
use crate::parts::row::Row;
use crate::plan::{MAX_CELLS, k_for_m};
use crate::probe::{MAX_K, Probe};
use crate::theory::{blocked, bloom as theory};
use crate::threads::{available, beside};
use crate::variant::prelude::*;

/// Fewer documents than this are compared before another thread has started.
const WORTH_THREADS: usize = 200;

/// A row of bits for every document.
#[derive(Clone, Debug, PartialEq)]
pub struct Matrix {
    head: Head,
    documents: Groups,
    probe: Probe,
    /// One for each document, in order, then those that wait for one: never none at all, so that a file
    /// has as many bits as the next row will take.
    rows: Vec<Row>,
}

state!(Matrix { head, documents, probe, rows });

impl Matrix {
    /// An empty matrix whose rows have `m` bits and `k` probes.
    ///
    /// ```
    /// let mut library = everbloom::grouping::Matrix::with_shape(10_000, 4, Default::default())?;
    /// library.add_document(b"essay", ["to be", "or not", "to be that"])?;
    /// library.add_document(b"copy", ["or not", "to be", "something else"])?;
    /// assert_eq!(library.search("or not"), [b"essay".as_slice(), b"copy"]);
    /// let alike = library.similarity(b"essay", b"copy").expect("both are there");
    /// assert!((alike.score - 2.0 / 3.0).abs() < 0.1);
    /// # Ok::<(), everbloom::Error>(())
    /// ```
    pub fn with_shape(m: u64, k: u32, hasher: Hasher) -> Result<Self> {
        let flat = Flat { m, k }.checked()?;
        Self::empty(&(flat, 1), Head::new(hasher, FORM))
    }

    /// Adds a document, or more chunks to an existing one.
    pub fn add_document<K: Key>(
        &mut self,
        document: &[u8],
        chunks: impl IntoIterator<Item = K>,
    ) -> Result<()> {
        self.row(document)?;
        chunks.into_iter().try_for_each(|chunk| self.insert(&chunk, document).map(drop))
    }

    /// Removes a document with all its chunks; whether it was there. The others keep their names, and the
    /// rows after it move up.
    pub fn remove_document(&mut self, document: &[u8]) -> bool {
        let Some(row) = self.documents.remove(document) else { return false };
        let mut row = self.rows.remove(row as usize);
        self.head.items = self.head.items.saturating_sub(row.items);
        row.items = 0;
        row.bits.clear();
        self.rows.push(row);
        true
    }

    /// The row of a document: of a new one the next that waits, or one more if there is room for it.
    fn row(&mut self, document: &[u8]) -> Result<usize> {
        let full = self.documents.len() == self.rows.len() as u64;
        // Made before the document gets its number, so that a refusal leaves nothing behind.
        let blank = if full && self.documents.find(document).is_none() {
            Some(Row::blank(self.m())?)
        } else {
            None
        };
        let row = self.documents.intern(document, MAX_GROUPS)? as usize;
        self.rows.extend(blank);
        Ok(row)
    }

    /// Inserts a chunk of a document.
    #[inline]
    pub fn insert<K: Key + ?Sized>(&mut self, chunk: &K, document: &[u8]) -> Result<Seen> {
        let at = self.row(document)?;
        let (row, mut new) = (&mut self.rows[at], false);
        self.probe.each(self.head.hasher.digest(chunk), |i| new |= row.bits.set(i));
        row.items = row.items.saturating_add(1);
        self.head.count(1);
        Ok(Seen::new_if(new))
    }

    #[inline]
    fn has(&self, row: u64, digest: Digest) -> bool {
        self.probe.all(digest, |i| self.rows[row as usize].bits.get(i))
    }

    /// Whether the chunk may be in the document.
    #[inline]
    pub fn contains<K: Key + ?Sized>(&self, chunk: &K, document: &[u8]) -> bool {
        let digest = self.head.hasher.digest(chunk);
        self.documents.find(document).is_some_and(|row| self.has(row, digest))
    }

    /// The documents that may hold the chunk.
    pub fn search<K: Key + ?Sized>(&self, chunk: &K) -> Vec<&[u8]> {
        let digest = self.head.hasher.digest(chunk);
        self.documents.those(|row| self.has(row, digest))
    }

    /// The documents, in order of their rows.
    pub fn documents(&self) -> &[Vec<u8>] {
        self.documents.labels()
    }

    /// How alike two documents are; `None` if one of them is not there.
    pub fn similarity(&self, a: &[u8], b: &[u8]) -> Option<Similarity> {
        let [a, b] = [a, b].map(|document| self.documents.find(document));
        Some(self.compare(a? as usize, b? as usize))
    }

    fn compare(&self, a: usize, b: usize) -> Similarity {
        let [a, b] = [a, b].map(|row| Outline::of(&self.rows[row].bits));
        a.compare(&b, self.probe.k())
    }

    /// The pairs of documents whose score is above `threshold`, most alike first.
    pub fn copies(&self, threshold: f64) -> Vec<(&[u8], &[u8], Similarity)> {
        self.alike(|alike| alike.score > threshold)
    }

    /// The pairs that may share this part of the shorter document's chunks, most alike first: candidates, to be
    /// compared chunk by chunk.
    pub fn candidates(&self, part: f64) -> Vec<(&[u8], &[u8], Similarity)> {
        self.alike(|alike| alike.may_share(part))
    }

    fn alike(&self, keep: impl Fn(&Similarity) -> bool + Sync) -> Vec<(&[u8], &[u8], Similarity)> {
        let (names, k) = (self.documents(), self.probe.k());
        let rows: Vec<Outline> = self.used().iter().map(|row| Outline::of(&row.bits)).collect();
        let compared = |first: usize, step: usize| {
            let pairs = (first..rows.len())
                .step_by(step)
                .flat_map(|a| (a + 1..rows.len()).map(move |b| (a, b)));
            let alike = pairs.map(|(a, b)| (a, b, rows[a].compare(&rows[b], k)));
            alike.filter(|(.., alike)| keep(alike)).collect::<Vec<_>>()
        };
        // Rows in turn: the first ones have the most to be compared with.
        let cores = if rows.len() < WORTH_THREADS { 1 } else { available() };
        let (mut found, more) = beside(1..cores, |i| compared(i, cores), || compared(0, cores));
        found.extend(more.into_iter().flatten());
        found.sort_by(|x, y| y.2.score.total_cmp(&x.2.score).then((x.0, x.1).cmp(&(y.0, y.1))));
        let named = |row: usize| names[row].as_slice();
        found.into_iter().map(|(a, b, alike)| (named(a), named(b), alike)).collect()
    }

    /// Bits per row.
    pub fn m(&self) -> u64 {
        self.probe.m()
    }

    /// The bits of a document.
    pub fn bits(&self, document: &[u8]) -> Option<&Bits> {
        self.documents.find(document).map(|row| &self.rows[row as usize].bits)
    }

    /// The rows of documents.
    fn used(&self) -> &[Row] {
        &self.rows[..self.documents().len()]
    }

    /// The mean over all documents of something that depends on the share of ones.
    fn mean(&self, of: impl Fn(f64) -> f64) -> f64 {
        let shares = self.used().iter().map(|row| row.bits.fill());
        shares.map(of).sum::<f64>() / self.used().len().max(1) as f64
    }

    /// Takes in the documents of another matrix. Those of one name become one, with the chunks of both.
    pub fn union(&mut self, other: &Matrix) -> Result<()> {
        self.head.agree(&other.head)?;
        agree("m", self.m(), other.m())?;
        self.probe.agree(&other.probe)?;
        let rows = self.documents.join(&other.documents, MAX_GROUPS)?;
        for (at, row) in rows.into_iter().zip(&other.rows) {
            match self.rows.get_mut(at as usize) {
                Some(own) => own.union(row, self.probe.k()),
                None => self.rows.push(row.clone()),
            }
        }
        self.head.items = 0;
        self.rows.iter().for_each(|row| self.head.count(row.items));
        Ok(())
    }

    fn check(&self) -> Result<()> {
        let waiting = self.rows.iter().skip(self.documents().len());
        let fits = self.documents.len() <= self.rows.len() as u64
            && !self.rows.is_empty()
            && self.probe.is_planned()
            && self.probe.m() == self.m()
            && self.rows.iter().all(|row| row.bits.len() == self.m())
            && waiting.clone().all(|row| row.items == 0 && row.bits.ones() == 0);
        if fits {
            return Ok(());
        }
        Err(Error::corrupt(0, "corrupt filter: rows, documents and probes do not fit"))
    }
}

impl Plan for Matrix {
    /// Bits and probes of a row, and how many documents are planned.
    type Shape = (Flat, u64);

    /// Rows for the longest document; memory is that of all rows.
    fn plan(request: &Request<'_>) -> Result<Self::Shape> {
        let documents = request.whole("documents");
        let k_set = request.integer(PARAM_K.name).map(|k| k as u32);
        let flat = |n: u64, p: f64| {
            let m = match k_set {
                None => theory::bits_for(n, p) as f64,
                Some(k) => {
                    let k = f64::from(k);
                    (k * n as f64 / -libm::log1p(-libm::pow(p, 1.0 / k))).ceil().max(1.0)
                }
            };
            let k = k_set.unwrap_or_else(|| theory::best_k(m as u64, n));
            (m, k.min(MAX_K))
        };
        let (m, k) = match request.integer(PARAM_M.name) {
            Some(m) => (m as f64, k_for_m(request, |n| theory::best_k(m, n).min(MAX_K))?),
            None => {
                let (n, p) = request.items_and_rate(|n, p| flat(n, p).0 * documents as f64)?;
                flat(n, p)
            }
        };
        let fits = m * documents as f64 <= MAX_CELLS as f64;
        if !fits {
            return Err(Error::parameter(format!(
                "{documents} rows of {m:e} bits are more than {MAX_CELLS}: use fewer {{items}} or a \
                 higher {{rate}}"
            )));
        }
        Ok((Flat { m: m as u64, k }, documents))
    }

    /// For as many documents as were planned, and chunks that are spread among them by chance: with all of
    /// the load in one document the rate is the one asked for, evenly spread it is far below.
    fn expect(&(Flat { m, k }, documents): &Self::Shape, load: &Load) -> Option<Expect> {
        let n = load.distinct;
        let (mean, variance) = blocked::fill(documents as f64, m as f64, k.into(), n as f64);
        let fpr = blocked::fpr_rows(documents, m, n, k);
        Some(Expect::one_sided(fpr, m * documents, Some((mean, variance.sqrt()))).probing(k))
    }
}

impl Stream for Matrix {
    fn empty(&(Flat { m, k }, _): &Self::Shape, head: Head) -> Result<Self> {
        let rows = vec![Row::blank(m)?];
        Ok(Self { head, documents: Groups::default(), probe: Probe::over(m, k), rows })
    }
}

face!(Matrix: Insert, Merge);
planned!(Matrix);
labeled!(Matrix);
keyed!(Matrix: Union);

impl Filter for Matrix {
    fn query(&self, record: Record<'_>) -> Result<Answer> {
        let digest = self.head.hasher.digest(record.key);
        self.documents.query(&record, |row| self.has(row, digest))
    }

    fn fill(&self) -> Option<f64> {
        Some(self.mean(|share| share))
    }

    /// Averaged over the documents.
    fn now(&self) -> Rates {
        Rates::one_sided(self.mean(|share| libm::pow(share, self.probe.k().into())))
    }

    fn describe(&self) -> Vec<Fact> {
        vec![
            fact("m", self.m()),
            fact("k", self.probe.k()),
            fact("documents", self.documents.len()),
            fact("chunks of the longest", self.rows.iter().map(|row| row.items).max().unwrap_or(0)),
        ]
    }

    /// The cells of one document after the other.
    fn trace(&self, key: &[u8]) -> Vec<Touched> {
        let digest = self.head.hasher.digest(key);
        let mut cells = Vec::new();
        for (row, bits) in (0..).zip(self.rows.iter().map(|row| &row.bits)) {
            self.probe.each(digest, |i| {
                let value = u64::from(bits.get(i));
                cells.push(Touched { index: row * bits.len() + i, value, agrees: value != 0 });
            });
        }
        cells
    }
}

/// For `copies`.
const SCORE: Param = Param::real("score", 0.0, 1.0, "similarity above which pairs are printed")
    .or(Preset::Real(0.5));

/// The list entry.
pub static VARIANT: Variant = Variant::of::<Matrix>(Facts {
    id: 40,
    slug: "matrix",
    entry: "I12",
    question: "Which documents share text?",
    name: "Matrix Bloom filter",
    paper: "S. Geravand, M. Ahmadi, A novel adjustable matrix Bloom filter-based copy detection system \
            for digital libraries, CIT 2011",
    family: "grouping",
    needs: &["groups", "similar", "merge"],
    input: Input::valued(ValueKind::Label),
    meaning: "items are the chunks of the longest document, the label of each is its document; the rate is \
              that of false positives in such a document, and memory is that of all documents planned",
    forms: &[Form::exact(FORM, &[Ability::Insert, Ability::Merge])],
    operations: &[
        change!(
            Matrix,
            "remove-document",
            "Remove documents, by their names, with all their chunks.",
            [],
            [Keys],
            |filter, given| Ok(filter.remove_document(given.record.key))
        ),
        tell!(
            Matrix,
            "similarity",
            "How alike two documents are; queries are NAME, a TAB and the other name.",
            [],
            [Keys],
            |filter, given| {
                let alike = filter.similarity(given.record.key, label_of(&given.record)?);
                Ok(alike.map_or(Detail::None, |alike| Detail::Score(alike.score)))
            }
        ),
        tell!(
            Matrix,
            "copies",
            "The pairs of documents that are more alike than that, most alike first.",
            [SCORE],
            [],
            |filter, given| {
                let pair = |(a, b, alike): (&[u8], &[u8], Similarity)| {
                    [a, b, format!("{:.3}", alike.score).as_bytes()].join(&b'\t')
                };
                Ok(Detail::List(filter.copies(given.real(0)).into_iter().map(pair).collect()))
            }
        ),
    ],
    params: &[
        PARAM_M,
        PARAM_K,
        Param::integer(
            "documents",
            1,
            MAX_GROUPS,
            "documents that share the memory; more may come",
        )
        .or(Preset::Integer(16)),
    ],
    ..Facts::FILTER
});

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Opener, to_bytes};

    /// On several cores, too, every pair is compared once, and the order is that of one.
    #[test]
    fn copies_are_those_of_all_pairs() {
        let mut matrix = Matrix::with_shape(2000, 3, Hasher::default()).unwrap();
        let count = WORTH_THREADS as u64 + 37;
        for document in 0..count {
            // Every tenth is a copy of the one before, in part or as a whole.
            let from = if document % 10 == 9 { document - 1 } else { document };
            let chunks = (0..50u64).map(|i| i + 1000 * from + document % 3 * 5);
            matrix.add_document(&document.to_be_bytes(), chunks).unwrap();
        }
        let mut all = Vec::new();
        for (a, b) in (0..count).flat_map(|a| (a + 1..count).map(move |b| (a, b))) {
            let [a, b] = [a, b].map(|document| matrix.documents()[document as usize].as_slice());
            let alike = matrix.similarity(a, b).unwrap();
            all.extend((alike.score > 0.2).then_some((a, b, alike)));
        }
        all.sort_by(|x, y| y.2.score.total_cmp(&x.2.score));
        assert!(all.len() > 20 && matrix.copies(0.2) == all);
    }

    #[test]
    fn files_whose_rows_do_not_fit_are_refused() {
        let mut matrix = Matrix::with_shape(200, 3, Hasher::default()).unwrap();
        for document in [b"a", b"b"] {
            matrix.add_document(document, [1u64, 2]).expect("room");
        }
        let back: Matrix = Opener::new().decode_as(&to_bytes(&matrix)).expect("a matrix");
        assert_eq!(back, matrix);
        let lies: [fn(&mut Matrix); 5] = [
            |m| drop(m.rows.pop()),
            |m| (m.documents, m.rows) = Default::default(),
            |m| m.rows[1].bits = Bits::new(199),
            |m| m.probe = Probe::over(201, 3),
            |m| {
                m.documents.remove(b"a");
            },
        ];
        for lie in lies {
            let mut liar = matrix.clone();
            lie(&mut liar);
            assert!(Opener::new().decode(&to_bytes(&liar)).is_err());
        }
    }
}
