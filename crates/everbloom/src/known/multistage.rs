//! The false-positive-free multistage Bloom filter, FPF-MBF (Tapolcai et al. 2015; catalogue R2; S3 §IV-A).
//!
//! A multicast tree travels in the packet: one small filter for each hop, holding the links of the tree
//! at that hop. The routers there query it for all their links, and which those are is known beforehand.
//! So a filter can be *searched for* that errs on none of them: its length b grows, and for each length
//! every k is tried, until the ρ links of the tree pass and all ζ others fail:
//!
//! ```text
//!                    ┌ hop 1 ┬────── hop 2 ─────┬──── hop 3 ────┐
//!   packet header    │b k 011│b k 0110100101100 │b k 1001011010 │    b and k in Elias' gamma code
//!                    └───────┴──────────────────┴───────────────┘
//!                     └─ dropped when the packet leaves its first router
//! ```
//!
//! At b = ρ·log2(ζ)/ln 2 and k = log2 ζ one filter in e is free of false positives. Trying all lengths
//! finds one at about ρ·log2 ζ bits: luck takes the 44 % that a Bloom filter costs.
//!
//! The label of a record is the number of its stage, and the known non-members, labeled as well, are
//! the links to be excluded there; [`stage_sets`] finds both from a tree and the network around it. A
//! query without a stage looks in all of them.
//!
//! **Use it** when all queries are known, as in source routing: 5 links among 50 others take 28 bits and no packet
//! goes astray. **Don't** when other keys are queried too: they pass more often than in a standard filter of the
//! same size, and all of them pass a stage that excludes no link.

use std::collections::BTreeMap;

use super::packet;
use super::search::{Links, Search, passes};
pub use super::search::{length, success};
use super::stages::{read, stage_of};
pub use super::tree::{StageSets, stage_sets};
use crate::parts::flat_bits::FlatBits;
use crate::parts::several;
use crate::plan::MAX_CELLS;
use crate::variant::prelude::*;

/// A searched-for filter for every stage.
#[derive(Clone, Debug, PartialEq)]
pub struct Multistage {
    head: Head,
    /// The number of the leading stage.
    first: u64,
    stages: Vec<FlatBits>,
}

state!(Multistage { head, first, stages });

/// Drops the leading stages of a filter, one for each hop, and returns how many are left; `None` for a filter that
/// is not
/// multistage.
pub fn forward(filter: &mut dyn Filter, hops: u64) -> Option<u64> {
    let any: &mut dyn std::any::Any = filter;
    let packet = any.downcast_mut::<Multistage>()?;
    (0..hops.min(packet.stages.len() as u64)).for_each(|_| packet.forward());
    Some(packet.stages.len() as u64)
}

const MAX_STAGES: u64 = 1024;
/// The largest number a stage may have.
const LAST_STAGE: u64 = u32::MAX as u64;
impl Multistage {
    /// The filter of a stage for each pair of links to include and to exclude, numbered from `first`.
    ///
    /// ```
    /// use everbloom::{Hasher, known::Multistage};
    ///
    /// let hops = [(vec!["a-b"], vec!["a-c", "a-d"]), (vec!["b-e", "b-f"], vec!["b-a"])];
    /// let tree = Multistage::of(1, hops, Hasher::default())?;
    /// assert!(tree.contains(1, "a-b") && tree.contains(2, "b-f"));
    /// assert!(!tree.contains(1, "a-c") && !tree.contains(2, "b-a"));
    /// # Ok::<(), everbloom::Error>(())
    /// ```
    pub fn of<K: Key>(
        first: u64,
        stages: impl IntoIterator<Item = (Vec<K>, Vec<K>)>,
        hasher: Hasher,
    ) -> Result<Self> {
        let digests = |keys: Vec<K>| keys.iter().map(|key| hasher.digest(key)).collect();
        let sets =
            stages.into_iter().map(|(a, b)| Links { include: digests(a), exclude: digests(b) });
        let numbered = (first.min(LAST_STAGE + 1)..).zip(sets).collect();
        Self::search(&Shape::default(), Head::new(hasher.clone(), FORM), numbered)
    }

    fn search(shape: &Shape, head: Head, mut links: BTreeMap<u64, Links>) -> Result<Self> {
        let first = links.keys().next().copied().unwrap_or(0);
        let last = links.keys().next_back().copied();
        let count = last.map_or(0, |last| (last - first).saturating_add(1));
        if count > MAX_STAGES || last > Some(LAST_STAGE) {
            return Err(Error::record(format!(
                "the stages are numbered from {first} to {}: there can be at most {MAX_STAGES}, and the last number \
                is at most {LAST_STAGE}",
                last.unwrap_or(0)
            )));
        }
        let mut items = 0;
        let mut stages = Vec::new();
        for number in first..first + count {
            let mut links = links.remove(&number).unwrap_or_default();
            links.settle().map_err(|e| e.context(format!("stage {number}")))?;
            stages
                .push(shape.search.find(&links).map_err(|e| e.context(format!("stage {number}")))?);
            items += links.include.len() as u64;
        }
        let bits: u64 = stages.iter().map(FlatBits::m).sum();
        if bits > shape.room {
            return Err(Error::parameter(format!(
                "the stages take {bits} bits, more than the {} allowed: give more {{memory}}",
                shape.room
            )));
        }
        Ok(Self { head: Head { items, fpr: None, ..head }, first, stages })
    }

    /// Whether the key may be a link of the stage; certain for all that were included or excluded.
    #[inline]
    pub fn contains<K: Key + ?Sized>(&self, stage: u64, key: &K) -> bool {
        let stage = stage.checked_sub(self.first).and_then(|i| usize::try_from(i).ok());
        let filter = stage.and_then(|i| self.stages.get(i));
        filter.is_some_and(|filter| passes(filter, self.head.hasher.digest(key)))
    }

    /// The stages the key may be a link of.
    pub fn stages_of<K: Key + ?Sized>(&self, key: &K) -> Vec<u64> {
        let digest = self.head.hasher.digest(key);
        let stages = (self.first..).zip(&self.stages);
        stages.filter(|(_, filter)| passes(filter, digest)).map(|(number, _)| number).collect()
    }

    /// Drops the leading stage, as a router does before it hands the packet on.
    pub fn forward(&mut self) {
        if !self.stages.is_empty() {
            self.stages.remove(0);
            self.first += 1;
        }
    }

    /// Bits and probes of every stage.
    pub fn shapes(&self) -> impl Iterator<Item = Flat> {
        self.stages.iter().map(|part| Flat { m: part.m(), k: part.k() })
    }

    /// The stages as they travel: for each b and k in Elias' gamma code, then the b bits. A one precedes
    /// each stage and a zero ends the packet. Hash, seed and the first stage's number are agreed on.
    pub fn to_packet(&self) -> Vec<bool> {
        packet::write(&self.stages)
    }

    /// The filter that [`to_packet`](Self::to_packet) wrote.
    pub fn from_packet(packet: &[bool], first: u64, hasher: Hasher) -> Result<Self> {
        let stages = packet::read(packet, MAX_STAGES)?;
        let filter = Self { head: Head::new(hasher, FORM), first, stages };
        filter.check()?;
        Ok(filter)
    }

    /// The length of [`to_packet`](Self::to_packet).
    pub fn packet_bits(&self) -> u64 {
        packet::bits(&self.stages)
    }

    fn check(&self) -> Result<()> {
        if self.stages.len() as u64 <= MAX_STAGES && self.first <= LAST_STAGE + 1 {
            return Ok(());
        }
        Err(Error::corrupt(0, "corrupt filter: impossible stages"))
    }
}

/// How long filters are searched for; their sizes come with the records.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    search: Search,
    room: u64,
}

impl Default for Shape {
    fn default() -> Self {
        Self { search: Search::default(), room: MAX_CELLS }
    }
}

/// Nothing is predicted: the sizes are found by searching, so no formula knows them.
impl Plan for Multistage {
    type Shape = Shape;

    fn plan(request: &Request<'_>) -> Result<Shape> {
        let room = request.goal_bits().unwrap_or(MAX_CELLS);
        // Stages are searched for from one bit a link upward, and excluding takes more than that.
        if request.goal_items().is_some_and(|n| n > room) {
            return Err(Error::parameter(format!(
                "{room} bits are too few for that many links: give more {{memory}}"
            )));
        }
        let max_k = request.integer("max-k").map(|k| k as u32);
        Ok(Shape { search: Search { max_bits: request.integer("max-bits"), max_k }, room })
    }
}

impl Create for Multistage {
    fn create(shape: &Shape, head: Head, inputs: &mut Inputs<'_>) -> Result<Self> {
        let mut links: BTreeMap<u64, Links> = BTreeMap::new();
        read(inputs.records, "record", &head.hasher, |stage, link| {
            links.entry(stage).or_default().include.push(link);
        })?;
        if let Some(excluded) = &mut inputs.negatives {
            read(&mut **excluded, "excluded record", &head.hasher, |stage, link| {
                links.entry(stage).or_default().exclude.push(link);
            })?;
        }
        Self::search(shape, head, links)
    }
}

face!(Multistage: );

impl Filter for Multistage {
    fn query(&self, record: Record<'_>) -> Result<Answer> {
        if record.value.is_some() {
            return Ok(Answer::of(self.contains(stage_of(&record)?, record.key)));
        }
        let stages = self.stages_of(record.key);
        let names = stages.iter().map(|stage| stage.to_string().into_bytes()).collect();
        Ok(Answer::of(!stages.is_empty()).with(Detail::Labels(names)))
    }

    /// Share of ones over all stages.
    fn fill(&self) -> Option<f64> {
        several::fill(&self.stages)
    }

    /// For unknown keys that name a stage, any of them; for the excluded links it is zero.
    fn now(&self) -> Rates {
        let sum: f64 = self.stages.iter().map(FlatBits::fpr).sum();
        Rates::one_sided(sum / self.stages.len().max(1) as f64)
    }

    fn describe(&self) -> Vec<Fact> {
        vec![
            fact("first stage", self.first),
            fact("stages", self.stages.len() as u64),
            fact("longest stage", self.stages.iter().map(FlatBits::m).max().unwrap_or(0)),
            fact("largest k", self.stages.iter().map(FlatBits::k).max().unwrap_or(0)),
            fact("packet bits", self.packet_bits()),
        ]
    }

    fn trace(&self, key: &[u8]) -> Vec<Touched> {
        let digest = self.head.hasher.digest(key);
        several::trace(self.stages.iter().map(|stage| (stage, digest)))
    }
}

/// The list entry.
pub static VARIANT: Variant = Variant::of::<Multistage>(Facts {
    id: 13,
    slug: "multistage",
    entry: "R2",
    question: "Which links does a multicast packet take, without a wrong one at any hop?",
    name: "False-positive-free multistage Bloom filter",
    paper: "J. Tapolcai et al., Optimal false-positive-free Bloom filter design for scalable multicast forwarding, IEEE/ACM Transactions on Networking 23(6), 2015",
    family: "known",
    needs: &["membership", "known-queries", "static", "exact"],
    input: Input::valued(ValueKind::Label).with_negatives(Negatives::Required),
    meaning: "items are the links read, whatever was planned, and the label of each is the number of its \
              stage; no rate is planned: the excluded links never pass, and others pass at the rate of the shortest filter",
    forms: &[Form::exact(FORM, &[])],
    params: &[
        Param::integer(
            "max-bits",
            1,
            1 << 32,
            "longest filter to try for a stage; by default four times the formula's",
        ),
        Param::integer(
            "max-k",
            1,
            64,
            "maximum number of probes to try for a stage; by default 10 or more",
        ),
    ],
    reach: 1_000,
    ..Facts::COLLECTED
});
