//! An index of K-mers over many sequencing samples (catalogue A71; S3 §VI-E \[131\]).
//!
//! ```text
//!            sample  0 1 2 3 4 …
//!   row 0            0 1 0 0 1       a Bloom filter is a column; a K-mer's probe is a row, read at once for
//!   row 1            1 1 0 1 0       all samples. The AND of k rows is the set of samples that may have the
//!   row 2            0 0 0 1 1       K-mer; a counter for each sample adds them up over a read.
//! ```
//!
//! A read of ℓ K-mers costs k·ℓ rows of N/8 bytes, however many samples there are. Whoever has at least θ·ℓ of its
//! K-mers is reported: no sample that has them is missed, and another is reported with P(Bin(ℓ, f) ≥ θ·ℓ). Many
//! K-mers are asked at once, so a filter may be poor: f = 0.3, one probe and 2.80 bits for a K-mer, gives 7.7e-18 at
//! ℓ = 70, θ = 0.8. A single K-mer needs a small f.
//!
//! Samples of very different sizes go into groups of equal m: in one of them a large sample would be all ones. K-mers
//! are canonical (a K-mer and its reverse complement are one), of at most 32 letters; other letters than ACGT
//! split a sequence. One changed letter changes K of the K-mers.

mod file;

use std::io::{self, BufReader, BufWriter, Read, Seek, Write};
use std::path::Path;

use everbloom::internals::probe::{Probe, Scheme};
use everbloom::internals::theory::{bloom as theory, tail};
use everbloom::sketches::HyperLogLog;
use everbloom::{Error, HashId, Hasher, Kind, Result};
use needletail::Sequence as _;

pub use file::MAGIC;

/// How K-mers are cut and hashed, the same for all samples of an index.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shape {
    /// Letters of a K-mer, 3 to 32.
    pub length: u8,
    /// Rows that a K-mer is in.
    pub probes: u32,
    /// The share of absent K-mers that a sample seems to have, at most.
    pub rate: f64,
}

impl Shape {
    /// K-mers of `length` letters, and the fewest bits for this rate: one probe down to 0.3, two for 0.1, and so on.
    pub fn new(length: u8, rate: f64) -> Result<Self> {
        let probes = libm::round(libm::log2(1.0 / rate)).clamp(1.0, 64.0) as u32;
        Self { length, probes: if rate >= 0.25 { 1 } else { probes }, rate }.checked()
    }

    fn checked(self) -> Result<Self> {
        let bad = |message: &str| Err(Error::new(Kind::BadParameter, message));
        if !(3..=32).contains(&self.length) {
            return bad("K-mers have 3 to 32 letters");
        }
        let rate = self.rate > 0.0 && self.rate < 1.0;
        if !(rate && (1..=64).contains(&self.probes)) {
            return bad("a rate lies between 0 and 1, such as 0.3");
        }
        Ok(self)
    }

    /// Rows for a sample of so many K-mers: enough for the rate, and one of few sizes, so that samples share them.
    fn rows(&self, kmers: u64) -> u64 {
        let k = f64::from(self.probes);
        let least = theory::slice_filled(kmers.max(1) as f64 * k, libm::pow(self.rate, 1.0 / k));
        let least = (least.ceil() as u64).max(64);
        let step = least.next_power_of_two() / 4;
        least.div_ceil(step.max(1)) * step.max(1)
    }
}

/// A sample of an index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sample {
    /// Its name, such as that of its file.
    pub name: String,
    /// Different K-mers, about.
    pub kmers: u64,
    /// Ones in its column.
    pub ones: u64,
}

/// Samples whose columns have the same number of rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// Bits of each column.
    pub rows: u64,
    /// The samples, in the order of their columns.
    pub samples: Vec<Sample>,
}

impl Group {
    fn words(&self) -> u64 {
        (self.samples.len() as u64).div_ceil(64)
    }

    /// P(a sample seems to have an absent K-mer), from its ones.
    pub fn rate(&self, sample: &Sample, probes: u32) -> f64 {
        libm::pow(sample.ones as f64 / self.rows as f64, f64::from(probes))
    }
}

/// A sample to be added: its name, and how its FASTA or FASTQ is opened, twice.
pub struct New<'a> {
    /// Its name.
    pub name: String,
    /// Opens its text.
    pub open: Box<dyn Fn() -> Result<Box<dyn Read + Send + 'a>> + 'a>,
}

/// Calls `f` with the id and the letters of every sequence of a FASTA or FASTQ text.
///
/// ```
/// let mut all = Vec::new();
/// let text = b">one\nACGT\nAC\n>two\nGG\n";
/// everbloom_tools::kmer::each_sequence(&text[..], |id, letters| {
///     all.push((id.to_vec(), letters.to_vec()));
///     Ok(())
/// })?;
/// assert_eq!(all, [(b"one".to_vec(), b"ACGTAC".to_vec()), (b"two".to_vec(), b"GG".to_vec())]);
/// # Ok::<(), everbloom::Error>(())
/// ```
pub fn each_sequence(
    input: impl Read + Send,
    mut f: impl FnMut(&[u8], &[u8]) -> Result<()>,
) -> Result<()> {
    let bad = |e: needletail::errors::ParseError| {
        Error::new(Kind::BadRecord, format!("neither FASTA nor FASTQ: {e}"))
    };
    let mut reader = needletail::parse_fastx_reader(input).map_err(bad)?;
    while let Some(record) = reader.next() {
        let record = record.map_err(bad)?;
        let id = record.id().split(|byte| byte.is_ascii_whitespace()).next().unwrap_or_default();
        f(id, &record.seq().normalize(false))?;
    }
    Ok(())
}

/// Calls `f` with the canonical K-mers of a sequence of letters, two bits a letter: what the rows of a file hang on.
pub fn each_kmer(letters: &[u8], length: u8, mut f: impl FnMut(u64)) {
    let (mask, top) = (u64::MAX >> (64 - 2 * length), 2 * (length - 1));
    let (mut forward, mut backward, mut run) = (0u64, 0u64, 0u8);
    for letter in letters {
        let code = match letter {
            b'A' => 0,
            b'C' => 1,
            b'G' => 2,
            b'T' => 3,
            _ => {
                run = 0;
                continue;
            }
        };
        forward = (forward << 2 | code) & mask;
        backward = backward >> 2 | (3 - code) << top;
        run = length.min(run + 1);
        if run == length {
            f(forward.min(backward));
        }
    }
}

/// What K-mers are hashed by, in every index.
fn hasher() -> Result<Hasher> {
    Hasher::with_id(HashId::Xxh3_128, 0)
}

/// Up to 64 columns of one group, on their way into a file: a word for each row.
struct Slab {
    words: Vec<u64>,
    /// The word of the row that these columns are in.
    at: u64,
}

/// A slab that waits in a temporary file.
struct Waiting {
    words: BufReader<std::fs::File>,
    at: u64,
}

impl Slab {
    fn new(rows: u64, at: u64) -> Result<Self> {
        let mut words = Vec::new();
        let rows = usize::try_from(rows).unwrap_or(usize::MAX);
        words.try_reserve_exact(rows).map_err(|_| {
            Error::new(
                Kind::OutOfMemory,
                "64 columns take 8 bytes for each row: give a larger rate",
            )
        })?;
        words.resize(rows, 0);
        Ok(Self { words, at })
    }

    /// Puts the K-mers of a sample into a column; its ones.
    fn fill(&mut self, bit: u64, shape: &Shape, sample: &New<'_>) -> Result<u64> {
        let probe = Probe::flat(Scheme::Mixed, self.words.len() as u64, shape.probes)?;
        let hasher = hasher()?;
        each_sequence((sample.open)()?, |_, letters| {
            each_kmer(letters, shape.length, |kmer| {
                probe.each(hasher.digest(&kmer), |row| self.words[row as usize] |= 1 << bit);
            });
            Ok(())
        })
        .map_err(|e| e.context(&sample.name))?;
        Ok(self.words.iter().filter(|word| *word >> bit & 1 == 1).count() as u64)
    }

    fn wait(self, folder: &Path) -> Result<Waiting> {
        let mut out = BufWriter::new(tempfile::tempfile_in(folder)?);
        self.words.iter().try_for_each(|word| out.write_all(&word.to_le_bytes()))?;
        let mut file = out.into_inner().map_err(io::IntoInnerError::into_error)?;
        file.rewind()?;
        Ok(Waiting { words: BufReader::with_capacity(1 << 16, file), at: self.at })
    }
}

/// An index in a file, whose rows are read when they are asked for.
///
/// ```
/// use everbloom_tools::kmer::{Index, New, Shape};
///
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("samples.evk");
/// let sample = |name: &str, text: &'static str| New {
///     name: name.into(),
///     open: Box::new(move || Ok(Box::new(text.as_bytes()))),
/// };
/// let shape = Shape::new(8, 0.01)?;
/// Index::build(&path, shape, &[sample("phage", ">p\nACGTTGCAAGCTTACGGATTACAGATTACA\n")])?;
/// Index::add(&path, &[sample("yeast", ">y\nTTGACCAGTACCATGGCATTTAGCCCATAG\n")])?;
///
/// let mut index = Index::open(&path)?;
/// let found = index.query(b"GCTTACGGATTACAG", 0.8)?;
/// assert_eq!(found.kmers, 8);
/// assert_eq!(found.hits.iter().map(|hit| &hit.sample[..]).collect::<Vec<_>>(), ["phage"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Index {
    shape: Shape,
    groups: Vec<Group>,
    rows: file::Rows,
}

/// A sample that may hold a sequence.
#[derive(Clone, Debug, PartialEq)]
pub struct Hit {
    /// The sample.
    pub sample: String,
    /// How many of the sequence's K-mers its filter lets pass: those that it has, and a share of the others.
    pub found: u64,
    /// How many a filter of its fill lets pass on average if the sample has none: f·ℓ.
    pub expected: f64,
    /// How many it has, estimated without bias: (found − f·ℓ)/(1 − f), between 0 and `found`.
    pub has: f64,
    /// P(a sample as full as this one has so many by chance).
    pub chance: f64,
}

impl Hit {
    /// What `found` of `kmers` K-mers say about a sample whose filter lets a share `f` of absent ones pass.
    fn new(sample: &str, found: u64, kmers: u64, f: f64) -> Self {
        let (seen, expected) = (found as f64, f * kmers as f64);
        // Nothing is told by a filter that lets all pass.
        let has = if f < 1.0 { ((seen - expected) / (1.0 - f)).clamp(0.0, seen) } else { 0.0 };
        let chance = tail::binomial_at_least(kmers, f, found);
        Self { sample: sample.to_owned(), found, expected, has, chance }
    }
}

/// What became of a query.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// K-mers of the sequence.
    pub kmers: u64,
    /// The samples above the threshold, those that have the most first.
    pub hits: Vec<Hit>,
    /// Rows that were read for it: one for each probe of each K-mer, for each group.
    pub rows: u64,
}

impl Index {
    /// Writes a new index of these samples.
    pub fn build(path: impl AsRef<Path>, shape: Shape, samples: &[New<'_>]) -> Result<()> {
        Self::extend(path.as_ref(), shape.checked()?, Vec::new(), None, samples, None)
    }

    /// The same with columns of so many rows, whatever the sizes of the samples.
    pub fn build_sized(
        path: impl AsRef<Path>,
        shape: Shape,
        samples: &[New<'_>],
        rows: u64,
    ) -> Result<()> {
        Self::extend(path.as_ref(), shape.checked()?, Vec::new(), None, samples, Some(rows))
    }

    /// Adds samples to an index: the file is replaced by one with more columns, whole or not at all.
    pub fn add(path: impl AsRef<Path>, samples: &[New<'_>]) -> Result<()> {
        let path = path.as_ref();
        let (shape, groups, rows) = file::open(path)?;
        Self::extend(path, shape, groups, Some(rows), samples, None)
    }

    /// The same with columns of so many rows.
    pub fn add_sized(path: impl AsRef<Path>, samples: &[New<'_>], size: u64) -> Result<()> {
        let path = path.as_ref();
        let (shape, groups, rows) = file::open(path)?;
        Self::extend(path, shape, groups, Some(rows), samples, Some(size))
    }

    fn extend(
        path: &Path,
        shape: Shape,
        old: Vec<Group>,
        mut rows: Option<file::Rows>,
        samples: &[New<'_>],
        size: Option<u64>,
    ) -> Result<()> {
        let (mut groups, mut waiting) = (old.clone(), Vec::new());
        for (number, samples) in grouped(&mut groups, &shape, samples, size)? {
            let slabs = columns(&mut groups[number], &shape, &samples, folder_of(path))?;
            waiting.extend(slabs.into_iter().map(|slab| (number, slab)));
        }
        file::write(path, &shape, &groups, |number, at, words| {
            words.fill(0);
            if let (Some(rows), Some(before)) = (&mut rows, old.get(number)) {
                let before = before.words() as usize;
                rows.read(&old, number, at, &mut words[..before]).map_err(io::Error::other)?;
            }
            for (_, slab) in waiting.iter_mut().filter(|(group, _)| *group == number) {
                let mut word = [0; 8];
                slab.words.read_exact(&mut word)?;
                words[slab.at as usize] |= u64::from_le_bytes(word);
            }
            Ok(())
        })
    }

    /// Opens an index.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let (shape, groups, rows) = file::open(path.as_ref())?;
        Ok(Self { shape, groups, rows })
    }

    /// How its K-mers are cut and hashed.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// Its groups of samples.
    pub fn groups(&self) -> &[Group] {
        &self.groups
    }

    /// The samples whose filters let at least a share `threshold` of the K-mers of a sequence of letters pass. None that
    /// has so many is missed; how many a sample has is told by [`Hit::has`].
    pub fn query(&mut self, letters: &[u8], threshold: f64) -> Result<Found> {
        if !(threshold > 0.0 && threshold <= 1.0) {
            let message = "a threshold is a share above 0 and at most 1, such as 0.8";
            return Err(Error::new(Kind::BadParameter, message));
        }
        let mut kmers = Vec::new();
        let letters = letters.normalize(false);
        each_kmer(&letters, self.shape.length, |kmer| kmers.push(kmer));
        let mut found = Found { kmers: kmers.len() as u64, hits: Vec::new(), rows: 0 };
        if kmers.is_empty() {
            return Ok(found);
        }
        let least = (threshold * kmers.len() as f64).ceil() as u64;
        for number in 0..self.groups.len() {
            let (counts, rows) = self.count(number, &kmers)?;
            found.rows += rows;
            let group = &self.groups[number];
            for (sample, count) in group.samples.iter().zip(counts).filter(|(_, c)| *c >= least) {
                let f = group.rate(sample, self.shape.probes);
                found.hits.push(Hit::new(&sample.name, count, found.kmers, f));
            }
        }
        found.hits.sort_by(|a, b| b.has.total_cmp(&a.has).then(a.sample.cmp(&b.sample)));
        Ok(found)
    }

    /// How many of the K-mers each sample of a group seems to have, and how many rows were read.
    pub fn count(&mut self, number: usize, kmers: &[u64]) -> Result<(Vec<u64>, u64)> {
        let group = &self.groups[number];
        let probe = Probe::flat(Scheme::Mixed, group.rows, self.shape.probes)?;
        let (hasher, words) = (hasher()?, group.words() as usize);
        let (mut counts, mut read) = (vec![0; group.samples.len()], 0);
        let (mut both, mut row, mut places) = (vec![0u64; words], vec![0u64; words], Vec::new());
        for kmer in kmers {
            places.clear();
            probe.each(hasher.digest(kmer), |at| places.push(at));
            both.fill(u64::MAX);
            for &at in &places {
                self.rows.read(&self.groups, number, at, &mut row)?;
                both.iter_mut().zip(&row).for_each(|(both, word)| *both &= word);
                read += 1;
            }
            for (i, count) in counts.iter_mut().enumerate() {
                *count += both[i / 64] >> (i % 64) & 1;
            }
        }
        Ok((counts, read))
    }
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// The new samples of each group, by its number, with their K-mers; groups that are missing are added, empty.
#[allow(clippy::type_complexity)]
fn grouped<'s, 'a>(
    groups: &mut Vec<Group>,
    shape: &Shape,
    samples: &'s [New<'a>],
    size: Option<u64>,
) -> Result<Vec<(usize, Vec<(&'s New<'a>, u64)>)>> {
    let mut found: Vec<(usize, Vec<(&New<'_>, u64)>)> = Vec::new();
    for sample in samples {
        let known = |s: &Sample| s.name == sample.name;
        let twice = found.iter().flat_map(|(_, new)| new).any(|(new, _)| new.name == sample.name);
        if twice || groups.iter().flat_map(|g| &g.samples).any(known) {
            let message = format!("the index has a sample {} already", sample.name);
            return Err(Error::new(Kind::BadRecord, message));
        }
        if sample.name.len() > usize::from(u16::MAX) {
            return Err(Error::new(Kind::BadRecord, "a name of more than 65,535 bytes"));
        }
        let mut distinct = HyperLogLog::with_precision(14)?;
        each_sequence((sample.open)()?, |_, letters| {
            each_kmer(letters, shape.length, |kmer| _ = distinct.insert(&kmer));
            Ok(())
        })
        .map_err(|e| e.context(&sample.name))?;
        let kmers = distinct.count();
        // The estimate may be too low by a percent or two.
        let rows = size.unwrap_or_else(|| shape.rows(kmers + kmers / 50));
        let number = groups.iter().position(|group| group.rows == rows).unwrap_or_else(|| {
            groups.push(Group { rows, samples: Vec::new() });
            groups.len() - 1
        });
        match found.iter_mut().find(|(group, _)| *group == number) {
            Some((_, new)) => new.push((sample, kmers)),
            None => found.push((number, vec![(sample, kmers)])),
        }
    }
    Ok(found)
}

/// The columns of new samples of a group, 64 at a time in memory.
fn columns(
    group: &mut Group,
    shape: &Shape,
    samples: &[(&New<'_>, u64)],
    folder: &Path,
) -> Result<Vec<Waiting>> {
    let (mut done, mut slab) = (Vec::new(), None::<Slab>);
    for (new, kmers) in samples {
        let column = group.samples.len() as u64;
        if slab.as_ref().is_some_and(|slab| slab.at != column / 64) {
            done.extend(slab.take().map(|slab| slab.wait(folder)).transpose()?);
        }
        let open = match &mut slab {
            Some(slab) => slab,
            None => slab.insert(Slab::new(group.rows, column / 64)?),
        };
        let ones = open.fill(column % 64, shape, new)?;
        group.samples.push(Sample { name: new.name.clone(), kmers: *kmers, ones });
    }
    done.extend(slab.map(|slab| slab.wait(folder)).transpose()?);
    Ok(done)
}

#[cfg(test)]
mod tests;
