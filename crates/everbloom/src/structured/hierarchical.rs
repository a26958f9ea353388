//! The hierarchical Bloom filter (Shanmugasundaram, Brönnimann, Memon 2004; catalogue §23; S0 ref. 30 §III-E, S2
//! ref. 21): payload attribution.
//!
//! Did these bytes go by, inside some payload, and who sent it? A payload is cut into blocks of s bytes, each of
//! which is inserted together with its number; then pairs of neighbors, pairs of pairs and so on, each under its
//! level:
//!
//! ```text
//!   level 2   ABCDEFGHIJKLMNOP:0
//!   level 1   ABCDEFGH:0        IJKLMNOP:1
//!   level 0   ABCD:0   EFGH:1   IJKL:2   MNOP:3   QR       what does not fill a block is left out
//! ```
//!
//! An excerpt is tried at all s alignments and all block numbers that any payload had. Its blocks have to be there
//! one after the other, and so has every pair that lies inside it, on every level. Level 0 alone would accept
//! blocks of two payloads glued together, with certainty; each pair across the seam passes with f alone. With f per
//! lookup, four aligned blocks take 4 + 2 + 1 hits: f⁷.
//!
//! An excerpt of 2s − 1 bytes or more has a full block at every alignment and is never missed. A shorter one need
//! not have any: it is *too short*, and the answer to it is undecided, not absent, unless its offset is known.
//!
//! A record may have a label, the payload's sender; it is hashed along with the blocks. A query with a label asks
//! for that sender, one without for all of them; what is found is told as byte offsets in payloads, or as senders
//! where some are known.
//!
//! **Slow:** an excerpt is tried at every alignment and block number, on every level.
//!
//! **Use it** to find out later who sent or saw a payload that matches a new signature. **Don't** for excerpts
//! shorter than two blocks, or if up to two keys per block take too much space.

use crate::error::agree;
use crate::parts::flat_bits::FlatBits;
use crate::parts::labels::{MAX_LABEL_BYTES, label_of};
use crate::parts::{KeyPart, SetPart, union};
use crate::variant::prelude::*;

/// Payloads in blocks, pairs of blocks and so on, in which excerpts are found.
///
/// ```
/// use everbloom::structured::hierarchical::{Hierarchical, Search};
///
/// let mut seen = Hierarchical::builder().items(1000).set("block", 4).build()?;
/// seen.insert("the quick brown fox jumps")?;
/// assert_eq!(seen.find("quick brown"), Search::At(vec![4]));
/// assert_eq!(seen.find("slick brown"), Search::At(vec![]));
/// assert_eq!(seen.find("quick"), Search::TooShort);
/// # Ok::<(), everbloom::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Hierarchical {
    head: Head,
    /// Bytes per block.
    block: u64,
    /// Blocks of the longest payload.
    longest: u64,
    /// Who sent something, in the order in which they came first; the empty one is nobody in particular.
    senders: Vec<Vec<u8>>,
    flat: FlatBits,
}

state!(Hierarchical { head, block, longest, senders, flat });

/// What became of the search for an excerpt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Search {
    /// The offsets in payloads, in bytes, at which it may have been; none if it was nowhere.
    At(Vec<u64>),
    /// It need not have a whole block.
    TooShort,
}

impl Hierarchical {
    /// Inserts the blocks of a payload. Refused if the payload is longer than 1 MiB.
    pub fn insert<K: Key + ?Sized>(&mut self, payload: &K) -> Result<Seen> {
        self.insert_from(b"", payload)
    }

    /// Inserts the blocks of a payload that `sender` sent.
    pub fn insert_from<K: Key + ?Sized>(&mut self, sender: &[u8], payload: &K) -> Result<Seen> {
        payload.with_bytes(|payload| {
            if payload.len() as u64 > LONGEST {
                return Err(Error::record(format!(
                    "a payload of {} bytes: the maximum is {LONGEST}",
                    payload.len()
                )));
            }
            let known = self.senders.iter().any(|known| known == sender);
            if !known && (self.senders.len() >= MAX_SENDERS || sender.len() > MAX_SENDER_BYTES) {
                return Err(Error::record(format!(
                    "at most {MAX_SENDERS} senders, with names of up to {MAX_SENDER_BYTES} bytes"
                )));
            }
            let blocks = payload.len() as u64 / self.block;
            if blocks > 0 && !known {
                self.senders.push(sender.to_vec());
            }
            self.longest = self.longest.max(blocks);
            let from = self.salt_of(sender);
            let mut new = false;
            for level in self.levels(payload) {
                for (index, run) in self.runs(payload, level, 0) {
                    let digest = self.head.hasher.digest(run);
                    new |= self.flat.insert(digest.salted(place(level, index, from)));
                    self.head.count_one();
                }
            }
            Ok(Seen::new_if(new))
        })
    }

    /// The levels of which `bytes` have a run of blocks: 2^level of them.
    fn levels(&self, bytes: &[u8]) -> std::ops::Range<u32> {
        0..(bytes.len() as u64 / self.block).checked_ilog2().map_or(0, |top| top + 1)
    }

    /// The runs of 2^level blocks in `bytes`, with their numbers on that level, if the bytes begin with block
    /// number `first` of a payload: those that begin at multiples of their own length there.
    fn runs<'a>(
        &self,
        bytes: &'a [u8],
        level: u32,
        first: u64,
    ) -> impl Iterator<Item = (u64, &'a [u8])> + use<'a> {
        let before = first.wrapping_neg() & ((1 << level) - 1);
        let skipped = (before * self.block).min(bytes.len() as u64) as usize;
        let runs = bytes[skipped..].chunks_exact((self.block << level) as usize);
        (((first + before) >> level)..).zip(runs)
    }

    fn salt_of(&self, sender: &[u8]) -> u64 {
        self.head.hasher.digest(sender).word(SENDER)
    }

    /// Whether all blocks on all levels are there if the first is block number `first` of a payload. Those of level
    /// 0 were hashed before; the few places that they leave are worth hashing the others.
    fn survives(&self, bytes: &[u8], blocks: &[Digest], first: u64, from: u64) -> bool {
        let has = |level: u32, index: u64, digest: Digest| {
            self.flat.contains(digest.salted(place(level, index, from)))
        };
        (first..).zip(blocks).all(|(index, digest)| has(0, index, *digest))
            && self.levels(bytes).skip(1).all(|level| {
                let mut runs = self.runs(bytes, level, first);
                runs.all(|(index, run)| has(level, index, self.head.hasher.digest(run)))
            })
    }

    /// The digests of the whole blocks of `bytes`.
    fn blocks(&self, bytes: &[u8]) -> Vec<Digest> {
        self.runs(bytes, 0, 0).map(|(_, block)| self.head.hasher.digest(block)).collect()
    }

    /// Where an excerpt may have been in payloads of anybody.
    pub fn find<K: Key + ?Sized>(&self, excerpt: &K) -> Search {
        let mut all = Vec::new();
        for sender in &self.senders {
            match self.find_from(sender, excerpt) {
                Search::At(offsets) => all.extend(offsets),
                Search::TooShort => return Search::TooShort,
            }
        }
        all.sort_unstable();
        all.dedup();
        if self.senders.is_empty() { self.find_from(b"", excerpt) } else { Search::At(all) }
    }

    /// Where an excerpt may have been in payloads of a sender.
    pub fn find_from<K: Key + ?Sized>(&self, sender: &[u8], excerpt: &K) -> Search {
        excerpt.with_bytes(|excerpt| {
            if (excerpt.len() as u64) < 2 * self.block - 1 {
                return Search::TooShort;
            }
            let (from, block) = (self.salt_of(sender), self.block as usize);
            let mut offsets = Vec::new();
            for alignment in 0..block {
                let bytes = &excerpt[alignment..];
                let blocks = self.blocks(bytes);
                let count = blocks.len() as u64;
                // The bytes before the first block belong to the one before that.
                let earliest = u64::from(alignment > 0);
                let latest = (self.longest + 1).saturating_sub(count);
                let there =
                    (earliest..latest).filter(|first| self.survives(bytes, &blocks, *first, from));
                offsets.extend(there.map(|first| first * self.block - alignment as u64));
            }
            offsets.sort_unstable();
            Search::At(offsets)
        })
    }

    /// Whether an excerpt may have been at this offset of a payload of a sender: one trial, for excerpts of any
    /// length. `None` if no whole block of the payload is in it.
    pub fn contains_at<K: Key + ?Sized>(
        &self,
        sender: &[u8],
        excerpt: &K,
        offset: u64,
    ) -> Option<bool> {
        excerpt.with_bytes(|excerpt| {
            let first = offset.div_ceil(self.block);
            let alignment = usize::try_from(first.checked_mul(self.block)? - offset).ok()?;
            let bytes = excerpt.get(alignment..)?;
            let blocks = self.blocks(bytes);
            let fits = first.checked_add(blocks.len() as u64)? <= self.longest;
            let there = || self.survives(bytes, &blocks, first, self.salt_of(sender));
            (!blocks.is_empty()).then(|| fits && there())
        })
    }

    /// The senders, in the order in which they came first.
    pub fn senders(&self) -> impl Iterator<Item = &[u8]> {
        self.senders.iter().map(Vec::as_slice)
    }

    /// The share of single lookups that pass by mistake.
    pub fn lookup_rate(&self) -> f64 {
        self.flat.fpr()
    }

    /// Makes this the filter of the payloads of both.
    pub fn union(&mut self, other: &Self) -> Result<()> {
        agree("block", self.block, other.block)?;
        let more = other.senders.iter().filter(|sender| !self.senders.contains(sender));
        let more: Vec<Vec<u8>> = more.cloned().collect();
        if self.senders.len() + more.len() > MAX_SENDERS {
            return Err(Error::new(
                Kind::CapacityExceeded,
                format!("the two filters know more than {MAX_SENDERS} senders together"),
            ));
        }
        union((&mut self.head, &mut self.flat), (&other.head, &other.flat))?;
        self.senders.extend(more);
        self.longest = self.longest.max(other.longest);
        Ok(())
    }

    /// The number of distinct blocks on all levels, estimated from the bits.
    pub fn cardinality(&self) -> Option<f64> {
        self.flat.cardinality()
    }

    fn check(&self) -> Result<()> {
        let block = VARIANT.takes("block", self.block);
        let long = block && self.longest <= LONGEST / self.block;
        let senders = self.senders.len() <= MAX_SENDERS
            && self.senders.iter().all(|sender| sender.len() <= MAX_SENDER_BYTES)
            && self.senders.is_empty() == (self.longest == 0);
        let mut sorted: Vec<&[u8]> = self.senders().collect();
        sorted.sort_unstable();
        if long && senders && sorted.windows(2).all(|pair| pair[0] != pair[1]) {
            return Ok(());
        }
        Err(Error::corrupt(0, "corrupt filter: blocks or senders of no such filter"))
    }
}

/// The salt of a block's place: its level, its number there, its sender.
fn place(level: u32, index: u64, from: u64) -> u64 {
    crate::hash::mix64(from ^ crate::hash::mix64(index << 6 | u64::from(level)))
}

/// P(an excerpt that went by nowhere is found), with `f` per lookup, if it is as short as can be searched for.
fn found_anywhere(f: f64, trials: u64) -> f64 {
    -libm::expm1(trials as f64 * libm::log1p(-f))
}

/// Lookups for an excerpt of one block at each of s alignments, among `blocks` places: the first place is left out where
/// bytes of the block before it are known.
fn trials(block: u64, blocks: u64) -> u64 {
    (block * blocks).saturating_sub(block - 1)
}

/// The bits, bytes per block, and blocks of the longest payload.
#[derive(Clone, Debug)]
pub struct Shape {
    flat: Flat,
    block: u64,
    longest: u64,
}

impl Plan for Hierarchical {
    type Shape = Shape;

    fn plan(request: &Request<'_>) -> Result<Shape> {
        let block = request.whole("block");
        let longest = (request.whole("longest") / block).max(1);
        let trials = (block * longest) as f64;
        let lookup = |p: f64| -libm::expm1(libm::log1p(-p) / trials);
        let cells = |n: u64, p: f64, k: u32| {
            let k = f64::from(k);
            k * n as f64 / -libm::log1p(-libm::pow(lookup(p), 1.0 / k))
        };
        // All s alignments at all places, a per cent more than are tried in payloads of many blocks.
        let rate = |flat: Flat, n: u64| found_anywhere(flat.fpr(n), block * longest);
        let (flat, _) = Flat::search(request, |_| 0, cells, rate)?;
        Ok(Shape { flat, block, longest })
    }

    fn expect(shape: &Shape, load: &Load) -> Option<Expect> {
        let Shape { flat, block, longest } = *shape;
        let n = load.distinct;
        let fpr = found_anywhere(flat.fpr(n), trials(block, longest));
        Some(Expect::one_sided(fpr, flat.m, Some(flat.fill(n))).probing(flat.k))
    }
}

impl Stream for Hierarchical {
    fn empty(shape: &Shape, head: Head) -> Result<Self> {
        let (flat, block) = (FlatBits::new(shape.flat)?, shape.block);
        Ok(Self { head, block, longest: 0, senders: Vec::new(), flat })
    }
}

face!(Hierarchical: Insert, Merge, Estimate);
planned!(
    Hierarchical:
    "A filter for `items` blocks of 16 bytes, on all levels, that finds a share of `fpr` of the shortest excerpts \
     that were nowhere, in payloads of up to 1500 bytes."
);
keyed!(Hierarchical: Union, Estimate);

impl Filter for Hierarchical {
    /// With a label, where the excerpt was in what that sender sent. Without, who sent it, or where it was if
    /// nobody is known. Undecided if it is too short.
    fn query(&self, record: Record<'_>) -> Result<Answer> {
        let sender = record.value.map(|_| label_of(&record)).transpose()?;
        let named = self.senders().any(|sender| !sender.is_empty());
        if sender.is_none() && named && record.key.len() as u64 > 2 * self.block - 2 {
            let sent =
                |sender: &&[u8]| self.find_from(sender, record.key) != Search::At(Vec::new());
            let labels: Vec<Vec<u8>> = self.senders().filter(sent).map(<[u8]>::to_vec).collect();
            return Ok(Answer::of(!labels.is_empty()).with(Detail::Labels(labels)));
        }
        Ok(match self.find_from(sender.unwrap_or(b""), record.key) {
            Search::TooShort => Answer { verdict: Verdict::Undecided, detail: Detail::None },
            Search::At(offsets) => {
                let texts = offsets.iter().map(|offset| offset.to_string().into_bytes());
                Answer::of(!offsets.is_empty()).with(Detail::List(texts.collect()))
            }
        })
    }

    fn fill(&self) -> Option<f64> {
        Some(self.flat.fill())
    }

    /// Of the shortest excerpts that can be searched for, in what one sender sent.
    fn now(&self) -> Rates {
        let lookup = (self.lookup_rate() + self.head.collisions()).min(1.0);
        Rates::one_sided(found_anywhere(lookup, trials(self.block, self.longest)))
    }

    fn describe(&self) -> Vec<Fact> {
        let mut facts = self.flat.describe();
        facts.extend([
            fact("block", self.block),
            fact("longest", self.longest * self.block),
            fact("senders", self.senders.len() as u64),
        ]);
        facts
    }

    /// The bits of the first block, as nobody's in particular and at the start of a payload.
    fn trace(&self, key: &[u8]) -> Vec<Touched> {
        let first = self.blocks(key).first().copied();
        let digest = first.map(|digest| digest.salted(place(0, 0, self.salt_of(b""))));
        digest.map_or_else(Vec::new, |digest| self.flat.trace(digest))
    }
}

impl Insert for Hierarchical {
    fn insert(&mut self, record: Record<'_>) -> Result<Seen> {
        let sender = record.value.map(|_| label_of(&record)).transpose()?;
        self.insert_from(sender.unwrap_or(b""), record.key)
    }
}

const BLOCK: u64 = 16;
/// Bytes of the longest payload: every one of them is a place to search at.
const LONGEST: u64 = 1 << 20;
const MAX_SENDERS: usize = 4096;
const MAX_SENDER_BYTES: usize = MAX_LABEL_BYTES / MAX_SENDERS;
const SENDER: u64 = 0x7365_6E64_6572_0001;

/// Payloads as short as can be searched for.
fn example(i: u64) -> Vec<u8> {
    let letters = crate::hash::mix64(i) >> 2;
    (0..2 * BLOCK - 1).map(|at| b"ACGT"[(letters >> (2 * at) & 3) as usize]).collect()
}

/// The list entry.
pub static VARIANT: Variant = Variant::of::<Hierarchical>(Facts {
    id: 78,
    slug: "hierarchical",
    entry: "§23",
    question: "Who sent a payload with these bytes in it?",
    name: "Hierarchical Bloom filter",
    paper: "K. Shanmugasundaram, H. Brönnimann, N. Memon, Payload attribution via hierarchical Bloom filters, \
            CCS 2004",
    family: "structured",
    needs: &["pieces", "groups", "merge", "estimate"],
    input: Input::of(KeyKind::Sequence).with_value(ValueKind::Label).with_examples(example),
    meaning: "items are blocks on all levels, up to two for each block of a payload; the rate is that of the \
              shortest excerpts nobody sent, for one sender",
    forms: &[Form::exact_while(
        FORM,
        &[Ability::Insert, Ability::Merge, Ability::Estimate],
        "excerpts have at least two blocks less one byte",
    )],
    operations: &[tell!(
        Hierarchical,
        "senders",
        "The senders whose payloads are in the filter.",
        [],
        [],
        |filter, _| { Ok(Detail::List(filter.senders().map(<[u8]>::to_vec).collect())) }
    )],
    params: &[
        PARAM_M,
        PARAM_K,
        Param::integer("block", 1, 4096, "bytes per block").or(Preset::Integer(BLOCK)),
        Param::integer("longest", 1, LONGEST, "bytes of the longest payload to plan for")
            // That of a packet.
            .or(Preset::Integer(1500)),
    ],
    ..Facts::FILTER
});

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shared_tests::lies_are_refused;

    #[test]
    fn files_of_payloads_that_cannot_be_are_refused() {
        let mut good = Hierarchical::builder().items(50).set("block", 4).build().unwrap();
        good.insert_from(b"ann", "some bytes that went by").unwrap();
        good.insert_from(b"bob", "other bytes").unwrap();
        let lies: [fn(&mut Hierarchical); 5] = [
            |f| f.block = 0,
            |f| f.longest = LONGEST,
            |f| f.longest = 0,
            |f| f.senders[1] = b"ann".to_vec(),
            |f| f.senders.clear(),
        ];
        lies_are_refused(&good, lies);
    }
}
