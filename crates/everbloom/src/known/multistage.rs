//! The false-positive-free multistage Bloom filter, FPF-MBF (Tapolcai et al. 2015; catalogue R2; S3 §IV-A).
//!
//! A multicast tree travels in the packet: one small filter for each hop, holding the links of the tree
//! at that hop. The routers there ask it about all their links, and which those are is known beforehand.
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
//! key asked for without a stage is looked for in all of them.
//!
//! **Use it** when everybody who will ever ask is known, as in source routing: 5 links among 50 others
//! take 28 bits and no packet goes astray. **Don't** when others ask too: strangers pass more often than
//! they pass a standard filter of the same size, and a stage that excludes nobody lets all of them pass.

use std::collections::{BTreeMap, HashSet};
use std::f64::consts::LN_2;

use crate::keyvalue::labels::{label_of, number, shown};
use crate::parts::flat_bits::FlatBits;
use crate::parts::{KeyPart, SetPart};
use crate::plan::MAX_CELLS;
use crate::probe::MAX_K;
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

const MAX_STAGES: u64 = 1024;
/// The largest number a stage may have.
const LAST_STAGE: u64 = u32::MAX as u64;
/// Most links of a stage: the search takes seconds for that many.
const MAX_LINKS: usize = 4096;

/// The length at which a random filter is free of false positives with probability 1/e:
/// b = ρ·log2(ζ)/ln 2.
pub fn length(include: f64, exclude: f64) -> f64 {
    include * libm::log2(exclude.max(1.0)) / LN_2
}

/// P(no false positive) ≈ (1 − (1 − e^{−kρ/b})^k)^ζ.
pub fn success(b: f64, k: f64, include: f64, exclude: f64) -> f64 {
    let fpr = libm::pow(-libm::expm1(-k * include / b), k);
    libm::exp(exclude * libm::log1p(-fpr))
}

impl Multistage {
    /// The filter of a stage for each pair of links to include and to exclude, numbered from `first`.
    ///
    /// ```
    /// use everbloom::hash::Hasher;
    /// use everbloom::membership::Multistage;
    ///
    /// let hops = [(vec!["a-b"], vec!["a-c", "a-d"]), (vec!["b-e", "b-f"], vec!["b-a"])];
    /// let tree = Multistage::of(1, hops, Hasher::default())?;
    /// assert!(tree.contains(1, "a-b") && tree.contains(2, "b-f"));
    /// assert!(!tree.contains(1, "a-c") && !tree.contains(2, "b-a"));
    /// # Ok::<(), everbloom::error::Error>(())
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
                "the stages are numbered from {first} to {}: at most {MAX_STAGES} follow each other, \
                 and the last number is {LAST_STAGE}",
                last.unwrap_or(0)
            )));
        }
        let mut items = 0;
        let mut stages = Vec::new();
        for number in first..first + count {
            let mut links = links.remove(&number).unwrap_or_default();
            links.settle().map_err(|e| e.context(format!("stage {number}")))?;
            stages.push(shape.find(&links).map_err(|e| e.context(format!("stage {number}")))?);
            items += links.include.len() as u64;
        }
        let bits: u64 = stages.iter().map(FlatBits::m).sum();
        if bits > shape.room {
            return Err(Error::parameter(format!(
                "the stages take {bits} bits, more than the {} allowed: give more --memory",
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
        let mut out = Vec::new();
        for part in &self.stages {
            out.push(true);
            gamma(&mut out, part.m());
            gamma(&mut out, part.k().into());
            out.extend((0..part.m()).map(|i| part.bits.get(i)));
        }
        out.push(false);
        out
    }

    /// The filter that [`to_packet`](Self::to_packet) wrote.
    pub fn from_packet(packet: &[bool], first: u64, hasher: Hasher) -> Result<Self> {
        let cut = || Error::corrupt(0, "the packet ends in the middle of a stage");
        let mut rest = packet.iter().copied();
        let mut stages = Vec::new();
        while rest.next().ok_or_else(cut)? {
            let (b, k) = read_gamma(&mut rest).zip(read_gamma(&mut rest)).ok_or_else(cut)?;
            if b > rest.len() as u64 {
                return Err(cut());
            }
            if k > u64::from(MAX_K) || stages.len() as u64 == MAX_STAGES {
                return Err(Error::corrupt(
                    0,
                    format!("a stage of {k} probes, or too many stages"),
                ));
            }
            let mut part = FlatBits::new(Flat { m: b, k: k as u32 })?;
            for (i, bit) in (0..b).zip(&mut rest) {
                if bit {
                    part.bits.set(i);
                }
            }
            stages.push(part);
        }
        let filter = Self { head: Head::new(hasher, FORM), first, stages };
        filter.check()?;
        Ok(filter)
    }

    fn check(&self) -> Result<()> {
        let count = self.stages.len() as u64;
        if count <= MAX_STAGES && self.first <= LAST_STAGE + 1 {
            Ok(())
        } else {
            Err(Error::corrupt(0, "corrupt filter: impossible stages"))
        }
    }
}

/// Salted by the length, since each length has to be a fresh try: reduced to b and to b + 1 cells by
/// multiplication, one digest would meet nearly the same others.
fn passes(filter: &FlatBits, digest: Digest) -> bool {
    filter.contains(digest.salted(filter.m()))
}

/// Appends x ≥ 1 in 2⌊log2 x⌋ + 1 bits: as many zeros as bits follow the leading one, then x.
fn gamma(out: &mut Vec<bool>, x: u64) {
    let length = x.ilog2();
    out.extend((0..length).map(|_| false));
    out.extend((0..=length).rev().map(|i| x >> i & 1 != 0));
}

fn read_gamma(bits: &mut impl Iterator<Item = bool>) -> Option<u64> {
    let mut length = 0;
    while !bits.next()? {
        length += 1;
    }
    if length > 63 {
        return None;
    }
    (0..length).try_fold(1, |x, _| Some(x << 1 | u64::from(bits.next()?)))
}

/// A stage's links on their way into a filter.
#[derive(Default)]
struct Links {
    include: Vec<Digest>,
    exclude: Vec<Digest>,
}

impl Links {
    /// Leaves every link once, and refuses those that are to be included and excluded.
    fn settle(&mut self) -> Result<()> {
        for links in [&mut self.include, &mut self.exclude] {
            links.sort_unstable_by_key(|d| (d.h1, d.h2));
            links.dedup();
        }
        if self.include.len() > MAX_LINKS {
            return Err(Error::record(format!(
                "{} links, but a filter is searched for at most {MAX_LINKS}",
                self.include.len()
            )));
        }
        let include: HashSet<&Digest> = self.include.iter().collect();
        if self.exclude.iter().any(|link| include.contains(link)) {
            return Err(Error::record(
                "a link is to be included and excluded: it is either in the tree at this stage or not",
            ));
        }
        Ok(())
    }
}

/// The links of one stage of a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StageSets<N> {
    /// Links of the tree at this distance from the root.
    pub include: Vec<(N, N)>,
    /// The other links of the nodes they start at, also those back to where the packet came from.
    pub exclude: Vec<(N, N)>,
}

/// What every stage has to include and to exclude, for a tree of directed links and the links of the
/// network around it. Stage i is for the nodes i links from the root.
pub fn stage_sets<N: Ord + Clone>(
    root: &N,
    tree: &[(N, N)],
    network: &[(N, N)],
) -> Result<Vec<StageSets<N>>> {
    let mut here = vec![root.clone()];
    let mut reached: Vec<N> = here.clone();
    let mut stages = Vec::new();
    loop {
        let starts_here = |link: &&(N, N)| here.contains(&link.0);
        let include: Vec<(N, N)> = tree.iter().filter(starts_here).cloned().collect();
        if include.is_empty() {
            break;
        }
        let others = network.iter().filter(starts_here).filter(|link| !include.contains(link));
        let exclude = others.cloned().collect();
        here = include.iter().map(|link| link.1.clone()).collect();
        reached.extend(here.iter().cloned());
        stages.push(StageSets { include, exclude });
        // In a tree every link reaches a node of its own, so this ends whatever is given.
        if reached.len() > tree.len() + 1 {
            break;
        }
    }
    reached.sort_unstable();
    if reached.len() != tree.len() + 1 || reached.windows(2).any(|pair| pair[0] == pair[1]) {
        return Err(Error::record(
            "the links are no tree: each must start at the root or where another one ends, \
             and no two may end at the same node",
        ));
    }
    Ok(stages)
}

/// How long filters are searched for; their sizes come with the records.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    max_bits: Option<u64>,
    max_k: Option<u32>,
    room: u64,
}

impl Default for Shape {
    fn default() -> Self {
        Self { max_bits: None, max_k: None, room: MAX_CELLS }
    }
}

impl Shape {
    /// The first filter, by length and then by k, that lets all included links pass and no excluded one.
    fn find(&self, links: &Links) -> Result<FlatBits> {
        let Links { include, exclude } = links;
        let filter = |b: u64, k: u32| -> Result<FlatBits> {
            let mut part = FlatBits::new(Flat { m: b, k })?;
            include.iter().for_each(|link| {
                part.insert(link.salted(b));
            });
            Ok(part)
        };
        // Nobody to tell apart: one bit says yes to all, or no.
        if include.is_empty() || exclude.is_empty() {
            return filter(1, 1);
        }
        let (rho, zeta) = (include.len() as f64, exclude.len() as f64);
        let guess = length(rho, zeta);
        let max_bits = self.max_bits.unwrap_or(4 * libm::ceil(guess) as u64 + 64);
        let max_k = self.max_k.unwrap_or((libm::ceil(libm::log2(zeta)) as u32 + 4).max(10));
        // Small filters are lucky beyond the formula; large ones are not, and hopeless tries take time.
        let hopeless = |b: u64, k: u32| {
            include.len() > 64 && success(b as f64, f64::from(k), rho, zeta) < 1e-6
        };
        // Every length where a bit matters; from 128 links on, steps of a thousandth of the length.
        let lengths = (include.len() as u64..=max_bits).step_by(1 + include.len() / 128);
        let tries = lengths.flat_map(|b| (1..=max_k).map(move |k| (b, k)));
        for (b, k) in tries.filter(|(b, k)| !hopeless(*b, *k)) {
            let part = filter(b, k)?;
            if !exclude.iter().any(|link| passes(&part, *link)) {
                return Ok(part);
            }
        }
        Err(Error::parameter(format!(
            "no filter of up to {max_bits} bits and {max_k} probes tells {rho} links from {zeta} others: \
             raise --set max-bits, or build with another seed"
        )))
    }
}

/// The stage a record names.
fn stage_of(record: &Record<'_>) -> Result<u64> {
    let label = label_of(record)
        .map_err(|_| Error::record("the link has no stage: write LINK, a TAB and its number"))?;
    number(label).ok_or_else(|| {
        Error::record(format!("{} is no stage: stages are whole numbers", shown(label)))
    })
}

/// Calls `f` with stage and digest of every record.
fn read(
    records: &mut dyn Source,
    what: &str,
    hasher: &Hasher,
    mut f: impl FnMut(u64, Digest),
) -> Result<()> {
    let mut line = 0;
    records.batches(&mut |batch| {
        for record in batch {
            line += 1;
            let stage = stage_of(record).map_err(|e| e.context(format!("{what} {line}")))?;
            f(stage, hasher.digest(record.key));
        }
        Ok(())
    })
}

impl Plan for Multistage {
    type Shape = Shape;

    fn plan(request: &Request<'_>) -> Result<Shape> {
        let room = request.goal_bits().unwrap_or(MAX_CELLS);
        // Stages are searched for from one bit a link upward, and excluding takes more than that.
        if request.goal_items().is_some_and(|n| n > room) {
            return Err(Error::parameter(format!(
                "{room} bits are too few for that many links: give more --memory"
            )));
        }
        Ok(Shape {
            max_bits: request.integer("max-bits"),
            max_k: request.integer("max-k").map(|k| k as u32),
            room,
        })
    }

    /// The sizes are found by searching, so no formula knows them.
    fn expect(_: &Shape, _: &Load) -> Option<Expect> {
        None
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
        let ones: u64 = self.stages.iter().map(|part| part.bits.ones()).sum();
        let bits: u64 = self.stages.iter().map(FlatBits::m).sum();
        (bits > 0).then(|| ones as f64 / bits as f64)
    }

    /// For strangers that name a stage, any of them; for the excluded links it is zero.
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
}

impl Multistage {
    /// The length of [`to_packet`](Self::to_packet).
    pub fn packet_bits(&self) -> u64 {
        let coded = |x: u64| 2 * u64::from(x.max(1).ilog2()) + 1;
        let stage = |part: &FlatBits| 1 + coded(part.m()) + coded(part.k().into()) + part.m();
        self.stages.iter().map(stage).sum::<u64>() + 1
    }
}

const FORM: &str = "standard";

/// The list entry.
pub static VARIANT: Variant = Variant {
    facts: Facts {
        id: 13,
        slug: "multistage",
        entry: "R2",
        name: "False-positive-free multistage Bloom filter",
        paper: "J. Tapolcai et al., Optimal false-positive-free Bloom filter design for scalable multicast forwarding, IEEE/ACM Transactions on Networking 23(6), 2015",
        family: "known",
        needs: &["membership", "known-queries", "static", "exact"],
        input: Input { negatives: Negatives::Required, ..Input::valued(ValueKind::Label) },
        meaning: "items are the links read, whatever was planned, and the label of each is the number of its \
                  stage; no rate is asked for: the excluded links never pass, and others as the shortest \
                  filter lets them",
        forms: &[Form::exact(FORM, &[])],
        params: &[
            Param {
                name: "max-bits",
                range: Range::Integer(1, 1 << 32),
                default: Preset::Planned,
                help: "longest filter to try for a stage; by default four times the formula's",
            },
            Param {
                name: "max-k",
                range: Range::Integer(1, 64),
                default: Preset::Planned,
                help: "most probes to try for a stage; by default 10 or more",
            },
        ],
        build: Build::Collected,
        reach: 1_000,
        ..Facts::FILTER
    },
    ops: Ops::of::<Multistage>(),
};
