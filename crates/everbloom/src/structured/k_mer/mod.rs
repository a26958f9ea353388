//! The k-mer Bloom filter (Pellow, Filippova, Kingsford 2016; catalogue §21; S3 ref. 131 §VI-E).
//!
//! All pieces of K letters of some sequences, as sequencing works with them. Pieces overlap: whoever is there has
//! a neighbor to its left and one to its right, unless it begins or ends a sequence. So a piece that is a false
//! positive by itself mostly gives itself away by its missing neighbors:
//!
//! ```text
//!   TAAGCCA, K = 4      TAAG ─ AAGC ─ AGCC ─ GCCA        AAGC?  itself, a left and a right neighbor are there: yes
//!                       first                last        AGCT?  itself by mistake; none of GCTA GCTC GCTG GCTT: no
//! ```
//!
//! The bits are a standard filter of all K-mers, with the rate f; first and last K-mers are held exactly, since
//! without them each would be missed. A random K-mer passes
//!
//! | form | asks for | rate |
//! |---|---|---|
//! | `one-sided` | a neighbor on either side, or an end | f·(1 − (1−f)⁸) |
//! | `two-sided` | one on each side, or that end | f·(1 − (1−f)⁴)² |
//! | `plain` | nothing | f |
//! | `blocked` | nothing; all bits of a K-mer in one line, as in `blocked` | f |
//!
//! One that differs from a stored K-mer in its last letter has true neighbors on its left: `two-sided` then keeps
//! one factor, and `one-sided` stays at f. All four letters are tried on each side (S3's example tries one), and
//! a query of a longer sequence looks every K-mer up once: what it has found of one serves its neighbors.
//!
//! Letters other than ACGT split a sequence; what is shorter than K has no K-mers, and a query for it is
//! undecided. K-mers are packed in integers and roll along the sequence. With `strands=both` a K-mer and its
//! reverse complement are one.
//!
//! Who asks for membership only and in bulk takes `blocked`: a K-mer costs one cache miss, and those that follow each
//! other are packed, hashed and looked up many at a time.
//!
//! **Slow:** an item is a sequence, of which every K-mer is packed and looked up; `one-sided` and `two-sided` also
//! try four letters on each side.
//!
//! **Use it** for reads and genomes, at a third of the bits of a standard filter of the same rate. **Don't** for
//! sequences only slightly longer than K: then most K-mers are ends, which take 24 bytes each.

mod bits;
mod letters;
mod shape;

use bits::{Places, in_lines};
use letters::{CHUNK, Holds, Letters};
pub use shape::{Shape, last_letter_rate, random_rate};

use crate::cells::Exact;
use crate::error::agree;
use crate::hash::Batch;
use crate::parts::line_bits;
use crate::parts::probed_bits::ProbedBits;
use crate::parts::{KeyPart, SetPart, union};
use crate::probe::{Blocked, Probe};
use crate::variant::prelude::*;

/// The K-mers of sequences, in a Bloom filter that also checks their neighbors.
///
/// ```
/// let mut genome = everbloom::structured::KMer::builder().items(1000).set("length", 4).build()?;
/// genome.insert("TAAGCCA");
/// assert!(genome.contains("AAGC") && genome.contains("AAGCCA"));
/// assert!(!genome.contains("TTTT"));
/// assert_eq!(genome.found("AAGCNNAA"), (1, 1));
/// # Ok::<(), everbloom::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct KMer {
    head: Head,
    /// Letters per K-mer.
    length: u32,
    /// 1 if a K-mer and its reverse complement are one.
    both_strands: u32,
    flat: ProbedBits<Places>,
    /// First and last K-mers, with [`FIRST`] and [`LAST`] beside them; as they are held, not as they were read.
    ends: Exact,
}

state!(KMer { head, length, both_strands, flat, ends });

const FIRST: u64 = 1;
const LAST: u64 = 2;

impl KMer {
    fn letters(&self) -> Letters {
        Letters { length: self.length, canonical: self.both_strands == 1 }
    }

    /// Whether a K-mer passes only if its neighbors speak for it.
    fn asks_neighbors(&self) -> bool {
        matches!(self.head.form, ONE_SIDED | TWO_SIDED)
    }

    #[inline]
    fn digest(&self, held: u128) -> Digest {
        self.head.hasher.digest_usually(Self::HASH, &held)
    }

    /// Inserts all K-mers of a sequence.
    pub fn insert<K: Key + ?Sized>(&mut self, sequence: &K) -> Seen {
        if let Some(lines) = self.flat.probe.lines() {
            return Seen::new_if(sequence.with_bytes(|sequence| match self.length {
                ..=32 => self.insert_chunks::<u64>(lines, sequence),
                _ => self.insert_chunks::<u128>(lines, sequence),
            }));
        }
        let letters = self.letters();
        let (mut new, mut digests) = (false, Vec::new());
        sequence.with_bytes(|sequence| {
            letters.each_run(sequence, |run| {
                digests.clear();
                digests.extend(run.iter().map(|kmer| self.digest(letters.held(*kmer).0)));
                new |= digests.iter().any(|digest| !self.flat.contains(*digest));
                self.flat.insert_all(&digests);
                self.head.count(run.len() as u64);
                if self.asks_neighbors() {
                    self.mark(run[0], FIRST);
                    self.mark(run[run.len() - 1], LAST);
                }
            });
        });
        Seen::new_if(new)
    }

    /// Inserts K-mers into lines; true if one was certainly not there, which is known by the first such one.
    fn insert_chunks<T: Holds + Key>(&mut self, lines: Blocked, sequence: &[u8]) -> bool {
        let (mut new, mut there) = (false, [false; CHUNK]);
        let hasher = self.head.hasher.clone();
        self.letters().each_chunk(sequence, |chunk: &[T]| {
            if !new {
                self.look_up(lines, chunk, &mut there);
                new = !there[..chunk.len()].iter().all(|there| *there);
            }
            let digests = Batch::<_, IN_LINES>::new(&hasher, chunk);
            line_bits::set_all(lines, &mut self.flat.bits, digests);
            self.head.count(chunk.len() as u64);
        });
        new
    }

    /// Which K-mers are in the lines.
    #[inline]
    fn look_up<T: Holds + Key>(&self, lines: Blocked, chunk: &[T], there: &mut [bool; CHUNK]) {
        let digests = Batch::<_, IN_LINES>::new(&self.head.hasher, chunk);
        line_bits::have(lines, &self.flat.bits, digests, there);
    }

    /// [`Self::found`] in lines.
    fn found_chunks<T: Holds + Key>(&self, lines: Blocked, sequence: &[u8]) -> (u64, u64) {
        let (mut found, mut all, mut there) = (0, 0, [false; CHUNK]);
        self.letters().each_chunk(sequence, |chunk: &[T]| {
            self.look_up(lines, chunk, &mut there);
            found += there[..chunk.len()].iter().map(|there| u64::from(*there)).sum::<u64>();
            all += chunk.len() as u64;
        });
        (found, all)
    }

    /// Notes an end of a run. Read from the other strand, its first K-mer is its last; a palindrome is both.
    fn mark(&mut self, kmer: u128, end: u64) {
        let (held, turned) = self.letters().held(kmer);
        let palindrome = self.both_strands == 1 && self.letters().reverse_complement(kmer) == kmer;
        let flags = if palindrome { FIRST | LAST } else { turn(end, turned) };
        self.ends.change(held, |old| old | flags);
    }

    /// How many K-mers of a sequence pass, and how many it has.
    pub fn found<K: Key + ?Sized>(&self, sequence: &K) -> (u64, u64) {
        if let Some(lines) = self.flat.probe.lines() {
            return sequence.with_bytes(|sequence| match self.length {
                ..=32 => self.found_chunks::<u64>(lines, sequence),
                _ => self.found_chunks::<u128>(lines, sequence),
            });
        }
        let letters = self.letters();
        let (mut found, mut all) = (0, 0);
        let (mut digests, mut there) = (Vec::new(), Vec::new());
        sequence.with_bytes(|sequence| {
            letters.each_run(sequence, |run| {
                digests.clear();
                digests.extend(run.iter().map(|kmer| self.digest(letters.held(*kmer).0)));
                there.clear();
                there.resize(run.len(), false);
                self.flat.contains_all(&digests, &mut there);
                let passes = |i: &usize| there[*i] && self.confirmed(run[*i], &there, *i);
                found += (0..run.len()).filter(passes).count() as u64;
                all += run.len() as u64;
            });
        });
        (found, all)
    }

    /// Whether the neighbors of a K-mer speak for it, at place `i` of a run of which `there` says what was found.
    fn confirmed(&self, kmer: u128, there: &[bool], i: usize) -> bool {
        let letters = self.letters();
        let any = |near: [u128; 4]| {
            near.iter().any(|kmer| self.flat.contains(self.digest(letters.held(*kmer).0)))
        };
        let left = || (i > 0 && there[i - 1]) || any(letters.left(kmer));
        let right = || there.get(i + 1).is_some_and(|there| *there) || any(letters.right(kmer));
        let ends = || {
            let (held, turned) = letters.held(kmer);
            turn(self.ends.get(held), turned)
        };
        match self.head.form {
            ONE_SIDED => left() || right() || ends() != 0,
            TWO_SIDED => (left() || ends() & FIRST != 0) && (right() || ends() & LAST != 0),
            _ => true,
        }
    }

    /// Whether all K-mers of a sequence may be there, and it has some.
    pub fn contains<K: Key + ?Sized>(&self, sequence: &K) -> bool {
        let (found, all) = self.found(sequence);
        all > 0 && found == all
    }

    /// K, the letters per K-mer.
    pub fn length(&self) -> u32 {
        self.length
    }

    /// The share of single K-mers that pass the bits, before neighbors are checked.
    pub fn base_rate(&self) -> f64 {
        self.flat.fpr()
    }

    /// Makes this the filter of the sequences of both.
    pub fn union(&mut self, other: &Self) -> Result<()> {
        agree("length", self.length, other.length)?;
        agree("strands", self.both_strands, other.both_strands)?;
        union((&mut self.head, &mut self.flat), (&other.head, &other.flat))?;
        other.ends.iter().for_each(|(kmer, flags)| self.ends.change(kmer, |old| old | flags));
        Ok(())
    }

    /// The number of distinct K-mers, estimated from the bits; `None` if there are no zeros left.
    pub fn cardinality(&self) -> Option<f64> {
        self.flat.cardinality()
    }

    fn check(&self) -> Result<()> {
        let bad = |what: &str| Err(Error::corrupt(0, format!("corrupt filter: {what}")));
        if !VARIANT.takes("length", self.length) || self.both_strands > 1 {
            return bad("K-mers of no such length or strands");
        }
        let letters = self.letters();
        let whole = |(kmer, flags): (u128, u64)| {
            kmer >> (2 * self.length) == 0 && !letters.held(kmer).1 && flags <= (FIRST | LAST)
        };
        if !self.ends.iter().all(whole) || (!self.asks_neighbors() && self.ends.len() > 0) {
            return bad("an end that is no K-mer");
        }
        if self.flat.probe.lines().is_some() != (self.head.form == BLOCKED) {
            return bad("bits that are not those of its form");
        }
        Ok(())
    }
}

/// Flags of ends as they are on the strand that was read.
fn turn(flags: u64, turned: bool) -> u64 {
    if turned { (flags & FIRST) << 1 | (flags & LAST) >> 1 } else { flags }
}

impl Stream for KMer {
    fn empty(shape: &Shape, head: Head) -> Result<Self> {
        let Shape { flat, length, both_strands, form } = *shape;
        let flat = flat.checked()?;
        let probe = if form == BLOCKED { in_lines(flat)? } else { Probe::over(flat.m, flat.k) };
        let (flat, ends) = (ProbedBits::probed(Places(probe))?, Exact::default());
        Ok(Self { head, length, both_strands, flat, ends })
    }
}

face!(KMer: Insert, Merge, Estimate);
planned!(KMer: "A filter for `items` K-mers of 31 letters that lets a share of `fpr` of random ones pass.");
keyed!(KMer: Insert, Union, Estimate);

impl Filter for KMer {
    /// Present if all K-mers of the sequence pass, with the share of those that do; undecided without any.
    fn query(&self, record: Record<'_>) -> Result<Answer> {
        Ok(match self.found(record.key) {
            (_, 0) => Answer { verdict: Verdict::Undecided, detail: Detail::None },
            (found, all) => Answer::of(found == all).with(Detail::Score(found as f64 / all as f64)),
        })
    }

    fn fill(&self) -> Option<f64> {
        Some(self.flat.fill())
    }

    /// Of random K-mers.
    fn now(&self) -> Rates {
        let base = (self.base_rate() + self.head.collisions()).min(1.0);
        Rates::one_sided(random_rate(self.head.form, base))
    }

    fn describe(&self) -> Vec<Fact> {
        let mut facts = self.flat.describe();
        facts.extend([
            fact("length", self.length),
            text("strands", if self.both_strands == 1 { BOTH } else { ONE }),
            fact("ends", self.ends.len()),
        ]);
        facts
    }

    /// The bits of the sequence's first K-mer.
    fn trace(&self, key: &[u8]) -> Vec<Touched> {
        let letters = self.letters();
        let mut cells = Vec::new();
        letters.each_run(key, |run| {
            if cells.is_empty() {
                cells = self.flat.trace(self.digest(letters.held(run[0]).0));
            }
        });
        cells
    }
}

const ONE_SIDED: &str = "one-sided";
const TWO_SIDED: &str = "two-sided";
const PLAIN: &str = "plain";
const BLOCKED: &str = "blocked";
/// The hash of lines.
const LANE: HashId = HashId::Lane64;
const IN_LINES: u16 = LANE as u16;
const ONE: &str = "one";
const BOTH: &str = "both";
const LENGTH: u64 = 31;

const ABILITIES: &[Ability] = &[Ability::Insert, Ability::Merge, Ability::Estimate];

/// Sequences of one K-mer each.
fn example(i: u64) -> Vec<u8> {
    let letters = crate::hash::mix64(i) >> 2;
    (0..LENGTH).map(|at| b"ACGT"[(letters >> (2 * at) & 3) as usize]).collect()
}

/// The list entry.
pub static VARIANT: Variant = Variant::of::<KMer>(Facts {
    id: 76,
    slug: "k-mer",
    entry: "§21",
    question: "Is it a piece of these sequences?",
    name: "k-mer Bloom filter",
    paper: "D. Pellow, D. Filippova, C. Kingsford, Improving Bloom filter performance on sequence data using \
            k-mer Bloom filters, RECOMB 2016",
    family: "structured",
    needs: &["pieces", "merge", "estimate"],
    input: Input::of(KeyKind::Sequence).with_examples(example),
    meaning: "items are K-mers (a sequence of L letters has L − K + 1); the rate is that of random K-mers",
    forms: &[
        Form::exact(ONE_SIDED, ABILITIES),
        Form::exact(TWO_SIDED, ABILITIES),
        Form::exact(PLAIN, ABILITIES),
        Form::exact(BLOCKED, ABILITIES),
    ],
    params: &[
        PARAM_M,
        PARAM_K,
        Param::integer("length", 2, 63, "letters per K-mer").or(Preset::Integer(LENGTH)),
        Param::first_of("strands", &[ONE, BOTH], "whether a K-mer equals its reverse complement"),
    ],
    ..Facts::FILTER
});

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shared_tests::lies_are_refused;

    const PIECES: [&str; 4] = ["TAAG", "AAGC", "AGCC", "GCCA"];

    fn of(form: &str, strands: &str) -> KMer {
        let built = KMer::builder().items(1000).rate(1e-6).set("length", 4).form(form);
        let mut filter = built.set("strands", strands).build().unwrap();
        filter.insert("TAAGCCA");
        filter
    }

    #[test]
    fn without_its_ends_the_two_sided_form_loses_exactly_those() {
        for strands in [ONE, BOTH] {
            let mut filter = of(TWO_SIDED, strands);
            assert!(PIECES.iter().all(|piece| filter.contains(*piece)));
            filter.ends.clear();
            let lost: Vec<&str> =
                PIECES.into_iter().filter(|piece| !filter.contains(*piece)).collect();
            assert_eq!(lost, ["TAAG", "GCCA"]);
            // One neighbor is enough for the other form.
            let mut filter = of(ONE_SIDED, strands);
            filter.ends.clear();
            assert!(PIECES.iter().all(|piece| filter.contains(*piece)));
        }
    }

    #[test]
    fn files_with_ends_that_are_none_are_refused() {
        let good = of(TWO_SIDED, BOTH);
        let lies: [fn(&mut KMer); 6] = [
            |f| f.length = 64,
            |f| f.both_strands = 2,
            |f| f.ends.change(1 << 8, |_| FIRST),
            |f| f.ends.change(255, |_| FIRST),
            |f| f.ends.change(0, |_| 4),
            |f| f.head.form = PLAIN,
        ];
        lies_are_refused(&good, lies);
        // Of one strand no K-mer is turned, so that its length alone tells.
        lies_are_refused(&of(TWO_SIDED, ONE), [|f: &mut KMer| f.ends.change(1 << 8, |_| FIRST)]);
        lies_are_refused(&of(PLAIN, ONE), [|f: &mut KMer| f.head.form = BLOCKED]);
        lies_are_refused(&of(BLOCKED, BOTH), [|f: &mut KMer| f.head.form = PLAIN]);
    }
}
