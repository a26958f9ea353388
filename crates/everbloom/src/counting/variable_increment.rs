//! The variable-increment counting filter, VI-CBF (Rottenstreich, Kanizo, Keslassy 2012; catalogue R15;
//! S3 §IV-E).
//!
//! A counting filter that adds not one but an increment chosen by another hash, and that looks at a
//! counter's *value*: a sum that cannot contain the key's increment proves that the key is not there.
//!
//! ```text
//!   form dl, increments 4 5 6 7              form bh, increments 1 4 8 13
//!   cell holds 5:   asked with 5: passes     count 2, sum 12 = 4 + 8:  asked with 4 or 8: passes
//!                   asked with 4: no, 1 is                             asked with 1 or 13: no
//!                   left and none is so small
//!   cell holds 13:  asked with 7: passes     count 4, sum 25: too many to tell, everybody passes
//!                   (7 + 6), 4: passes
//! ```
//!
//! - **dl** has one counter per cell and D_L = {L, …, 2L−1}: what is left without the key's increment
//!   must be nothing or at least L. One key in a cell is told apart for certain, two now and then.
//! - **bh** counts and sums in two counters. Its increments are a B_ℓ sequence, in which no two
//!   multisets of ℓ increments have one sum, so up to ℓ keys in a cell are told apart for certain.
//!
//! dl is the default: at equal memory its narrower cells beat the sharper ones of bh.
//!
//! Hashes of one key that meet in one cell count and are tested once each. A member always passes: its
//! other increment in that cell is part of the sum, in bh, and leaves at least L, in dl. Counters that
//! overflow stick, and pass.
//!
//! **Use it** in place of `counting` where keys come and go and the memory is given: at 40 bits a key it
//! lets fourteen times fewer strangers pass. **Don't** where multiplicities are asked for (`counting`),
//! where keys only come (`bloom` at the same bits is better by far), or where one key comes many times
//! over: ten increments of L = 4 fill a counter of six bits for ever, fifteen ones a plain one of four.

use crate::cells::{Counters, Mark, Marked, Sum};
use crate::probe::{Coincide, Probe, multiply_shift};
use crate::state::{Decoder, Encoder, State};
use crate::theory::counting::cell_pmf;
use crate::theory::tail::poisson_pmf;
use crate::variant::prelude::*;

/// A set with removals, in m counters raised by increments that tell keys apart.
///
/// ```
/// let mut open = everbloom::counting::VariableIncrement::with_rate(1000, 0.001)?;
/// open.insert("file");
/// open.remove("file")?;
/// assert!(!open.contains("file"));
/// # Ok::<(), everbloom::error::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct VariableIncrement {
    head: Head,
    probe: Probe,
    cells: Cells,
}

state!(VariableIncrement { head, probe, cells });

/// Salts the digest for the choice of increments.
const INCREMENTS: u64 = 0x15;

impl VariableIncrement {
    /// A filter of `m` cells and `k` probes under a rule, with counters of the widths it suggests.
    pub fn with_shape(m: u64, k: u32, rule: Rule, hasher: Hasher) -> Result<Self> {
        let shape = Shape { flat: Flat { m: m.max(1), k: k.max(1) }, widths: rule.widths(), rule };
        let head = Head::new(hasher, shape.rule.form());
        Self::empty(&shape, head)
    }

    /// The key's cells, each with the increment of the hash that points there.
    fn increments(&self, digest: Digest) -> impl Iterator<Item = (u64, u64)> {
        let choice = digest.salted(INCREMENTS);
        let cells = self.probe.collect(digest, Coincide::PerHash);
        cells.into_iter().zip(0..).map(move |(i, j)| (i, self.cells.increment(choice.word(j))))
    }

    /// Inserts a key, once more if it is there.
    pub fn insert<K: Key + ?Sized>(&mut self, key: &K) -> Seen {
        let digest = self.head.hasher.digest(key);
        let hits: smallvec::SmallVec<[_; 16]> = self.increments(digest).collect();
        let there = hits.iter().all(|&(i, v)| self.cells.passes(i, v));
        hits.iter().for_each(|&(i, v)| self.cells.put(i, v));
        self.head.count(1);
        if there { Seen::Maybe } else { Seen::New }
    }

    /// Removes a key that was inserted. Refused, with nothing changed, where a cell without the key's
    /// increments would hold what no keys add up to.
    pub fn remove<K: Key + ?Sized>(&mut self, key: &K) -> Result<()> {
        let digest = self.head.hasher.digest(key);
        let hits: smallvec::SmallVec<[_; 16]> = self.increments(digest).collect();
        for (taken, &(i, v)) in hits.iter().enumerate() {
            if !self.cells.take(i, v) {
                hits[..taken].iter().for_each(|&(i, v)| self.cells.put(i, v));
                return Err(Error::new(
                    Kind::NotDeletable,
                    "the key is not in the filter: a cell does not hold its increment",
                ));
            }
        }
        self.head.items = self.head.items.saturating_sub(1);
        Ok(())
    }

    /// Whether the key may be a member.
    #[inline]
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        let digest = self.head.hasher.digest(key);
        let choice = digest.salted(INCREMENTS);
        let mut probe = 0;
        self.probe.all(digest, |i| {
            let v = self.cells.increment(choice.word(probe));
            probe += 1;
            self.cells.passes(i, v)
        })
    }

    /// The cells.
    pub fn cells(&self) -> &Cells {
        &self.cells
    }

    fn check(&self) -> Result<()> {
        self.probe.check(self.cells.len())?;
        if self.head.form == self.cells.form() {
            Ok(())
        } else {
            Err(Error::corrupt(0, "corrupt filter: the cells are those of the other form"))
        }
    }
}

/// Which increments, and what a cell's value says of them.
#[derive(Clone, Debug, PartialEq)]
pub enum Rule {
    /// D_L = {L, …, 2L−1}: form `dl`.
    Least(u64),
    /// A B_ℓ sequence: form `bh`.
    Sequence(Sequence),
}

impl Rule {
    fn form(&self) -> &'static str {
        match self {
            Rule::Least(_) => DL,
            Rule::Sequence(_) => BH,
        }
    }

    /// Bits of the counts (as C1 has them) and of the sums: nine of the largest increments fit, at the
    /// best loads enough for all but one cell in a million.
    fn widths(&self) -> (u32, u32) {
        let largest = match self {
            Rule::Least(l) => 2 * l - 1,
            Rule::Sequence(s) => s.largest(),
        };
        (4, u64::BITS - (9 * largest).leading_zeros())
    }

    /// The chance that one probe of a foreign key passes, from P(j) = P(j keys' hashes in a cell).
    fn pass(&self, p: impl Fn(u64) -> f64) -> f64 {
        match self {
            Rule::Least(l) => {
                let l = *l as f64;
                1.0 - p(0) - (l - 1.0) / l * p(1) - (l * l - 1.0) / (6.0 * l * l) * p(2)
            }
            Rule::Sequence(s) => {
                let other = 1.0 - 1.0 / s.values.len() as f64;
                let miss = |j| p(j) * libm::pow(other, j as f64);
                1.0 - p(0) - (1..=u64::from(s.order)).map(miss).sum::<f64>()
            }
        }
    }

    /// The rate with `n` keys in `m` cells and `k` probes: (catalogue R15, both formulas)
    ///
    /// - dl: f = (1 − P₀ − (L−1)/L·P₁ − (L²−1)/(6L²)·P₂)^k,
    /// - bh: f = (Σ_{j≤ℓ} P_j(1 − (1−1/u)^j) + P(j>ℓ))^k,
    ///
    /// with P_j the binomial chance of j increments in a cell.
    pub fn fpr(&self, m: u64, n: u64, k: u32) -> f64 {
        libm::pow(self.pass(|j| cell_pmf(m, n, k, j)).clamp(0.0, 1.0), f64::from(k))
    }
}

/// A B_ℓ sequence: increments of which all sums of ℓ, repetitions allowed, are different.
#[derive(Clone, Debug, PartialEq)]
pub struct Sequence {
    values: Vec<u64>,
    order: u32,
    /// `sums[j − 1][s]`: whether j increments can come to s; follows from the rest.
    sums: Vec<Vec<bool>>,
}

/// Bounds on sequences, so that their tables stay small.
const MAX_INCREMENTS: usize = 8;
const MAX_ORDER: u32 = 4;
const MAX_INCREMENT: u64 = 1023;

impl Sequence {
    /// The sequence of these increments, refused unless they grow and are a B_ℓ sequence of this order.
    pub fn new(values: &[u64], order: u32) -> Result<Self> {
        let grow = values.windows(2).all(|w| w[0] < w[1]);
        let range = values.iter().all(|v| (1..=MAX_INCREMENT).contains(v));
        let size = (1..=MAX_INCREMENTS).contains(&values.len()) && (1..=MAX_ORDER).contains(&order);
        if !(grow && range && size) {
            return Err(Error::parameter(format!(
                "increments are 1 to {MAX_INCREMENTS} growing numbers up to {MAX_INCREMENT}, \
                 of order 1 to {MAX_ORDER}"
            )));
        }
        let mut sequence = Self { values: values.to_vec(), order, sums: Vec::new() };
        // Multisets in ascending order: each is extended by its last increment and those after it.
        let mut sets = vec![(0, 0)];
        for j in 1..=u64::from(order) {
            sets = sets
                .into_iter()
                .flat_map(|(sum, last)| (last..values.len()).map(move |i| (sum + values[i], i)))
                .collect();
            let mut sums = vec![false; (j * sequence.largest()) as usize + 1];
            for &(sum, _) in &sets {
                if std::mem::replace(&mut sums[sum as usize], true) {
                    return Err(Error::parameter(format!(
                        "{values:?} is no B_{order} sequence: two sums of {j} come to {sum}"
                    )));
                }
            }
            sequence.sums.push(sums);
        }
        Ok(sequence)
    }

    /// A sequence of `u` increments: the published {1, 4, 8, 13} where it will do, else the greedy one,
    /// which takes the least number that keeps all sums apart.
    pub fn of_size(u: usize, order: u32) -> Result<Self> {
        if u == 4 && order <= 3 {
            return Self::new(&[1, 4, 8, 13], order);
        }
        let mut values = vec![1];
        while values.len() < u {
            let last = values[values.len() - 1];
            let next = (last + 1..=MAX_INCREMENT)
                .find(|&v| Self::new(&[&values[..], &[v]].concat(), order).is_ok());
            values
                .push(next.ok_or_else(|| Error::parameter("no such sequence: lower u or order"))?);
        }
        Self::new(&values, order)
    }

    fn largest(&self) -> u64 {
        self.values.last().copied().unwrap_or(1)
    }

    /// Whether `count` increments can come to `sum`; beyond the order nobody knows.
    fn possible(&self, count: u64, sum: u64) -> bool {
        match count.checked_sub(1) {
            None => sum == 0,
            Some(j) => match self.sums.get(j as usize) {
                Some(sums) => sums.get(sum as usize).copied().unwrap_or(false),
                None => true,
            },
        }
    }
}

/// The cells of either form.
#[derive(Clone, Debug, PartialEq)]
pub enum Cells {
    /// L, and one counter per cell: form `dl`.
    Sums(u64, Counters),
    /// The sequence, and a count and a sum per cell: form `bh`.
    Pairs(Sequence, Marked<Sum>),
}

impl Cells {
    fn form(&self) -> &'static str {
        match self {
            Cells::Sums(..) => DL,
            Cells::Pairs(..) => BH,
        }
    }

    fn len(&self) -> u64 {
        match self {
            Cells::Sums(_, sums) => sums.len(),
            Cells::Pairs(_, pairs) => pairs.len(),
        }
    }

    /// The increment that a hash chooses.
    #[inline]
    fn increment(&self, hash: u64) -> u64 {
        match self {
            Cells::Sums(l, _) => l + multiply_shift(hash, *l),
            Cells::Pairs(s, _) => s.values[multiply_shift(hash, s.values.len() as u64) as usize],
        }
    }

    /// Whether the cell may hold the increment `v`.
    #[inline]
    fn passes(&self, i: u64, v: u64) -> bool {
        match self {
            Cells::Sums(l, sums) => {
                let value = sums.get(i);
                value == sums.max() || value == v || value >= v + l
            }
            Cells::Pairs(s, pairs) => match pairs.get(i) {
                Mark::Lost => true,
                Mark::Known { count: 0, .. } => false,
                Mark::Known { count, .. } if count > u64::from(s.order) => true,
                // v is among the increments if and only if the others come to the rest: they and v
                // are a multiset with the cell's sum, and there is only one.
                Mark::Known { count, mark } => {
                    mark.checked_sub(v).is_some_and(|left| s.possible(count - 1, left))
                }
            },
        }
    }

    fn put(&mut self, i: u64, v: u64) {
        match self {
            Cells::Sums(_, sums) => sums.raise(i, v),
            Cells::Pairs(_, pairs) => pairs.put(i, v),
        }
    }

    /// Takes `v` out, if what is left is possible; a counter that sticks keeps its value.
    fn take(&mut self, i: u64, v: u64) -> bool {
        match self {
            Cells::Sums(l, sums) => {
                let value = sums.get(i);
                let held = sums.stuck(i) || value == v || value >= v + *l;
                if held {
                    sums.lower(i, v);
                }
                held
            }
            Cells::Pairs(s, pairs) => {
                let possible = match pairs.get(i) {
                    Mark::Lost => true,
                    Mark::Known { count, mark } => {
                        count > 0 && {
                            mark.checked_sub(v).is_some_and(|left| s.possible(count - 1, left))
                        }
                    }
                };
                possible && pairs.take(i, v)
            }
        }
    }

    /// The share of all pairs of cell and increment that pass.
    fn pass(&self) -> f64 {
        let m = self.len() as f64;
        match self {
            Cells::Sums(l, sums) => {
                let share = |value: u64| {
                    let passes = |v: &u64| value == *v || value >= v + l;
                    (*l..2 * l).filter(passes).count() as f64 / *l as f64
                };
                // From 3L on every increment passes.
                let table: Vec<f64> = (0..3 * l).map(share).collect();
                let max = sums.max();
                let one = |value: u64| match table.get(value as usize) {
                    Some(share) if value != max => *share,
                    _ => 1.0,
                };
                sums.iter().map(one).sum::<f64>() / m
            }
            Cells::Pairs(s, _) => {
                let pass = |i: u64| s.values.iter().filter(|v| self.passes(i, **v)).count() as u64;
                (0..self.len()).map(pass).sum::<u64>() as f64 / (m * s.values.len() as f64)
            }
        }
    }

    /// The counter that tells whether a cell is in use.
    pub fn counters(&self) -> &Counters {
        match self {
            Cells::Sums(_, sums) => sums,
            Cells::Pairs(_, pairs) => pairs.counts(),
        }
    }

    fn agree(&self, other: &Cells) -> Result<()> {
        match (self, other) {
            (Cells::Sums(l, a), Cells::Sums(other, b)) => {
                crate::error::agree("L", *l, *other)?;
                crate::error::agree("counter width", a.width(), b.width())
            }
            (Cells::Pairs(s, a), Cells::Pairs(t, b)) => {
                let shown = |s: &Sequence| format!("{:?} of order {}", s.values, s.order);
                crate::error::agree("increments", shown(s), shown(t))?;
                a.agree(b)
            }
            _ => crate::error::agree("form", self.form(), other.form()),
        }
    }

    fn add(&mut self, other: &Cells) {
        match (self, other) {
            (Cells::Sums(_, a), Cells::Sums(_, b)) => a.add(b),
            (Cells::Pairs(_, a), Cells::Pairs(_, b)) => a.add(b),
            _ => {}
        }
    }
}

impl State for Cells {
    fn save<'a>(&'a self, name: &'static str, out: &mut Encoder<'a>) {
        out.group(name, |out| match self {
            Cells::Sums(l, sums) => {
                out.u64("L", *l);
                sums.save("sums", out);
            }
            Cells::Pairs(sequence, pairs) => {
                out.u64("L", 0);
                out.u64("order", sequence.order.into());
                sequence.values.save("increments", out);
                pairs.save("pairs", out);
            }
        });
    }

    fn load(name: &'static str, src: &mut Decoder<'_>) -> Result<Self> {
        src.group(name, |src| match src.u64("L")? {
            0 => {
                let order = u32::load("order", src)?;
                let values = Vec::<u64>::load("increments", src)?;
                let sequence = Sequence::new(&values, order);
                let sequence = sequence.map_err(|e| src.corrupt(e.to_string()))?;
                Ok(Cells::Pairs(sequence, Marked::load("pairs", src)?))
            }
            l @ 1..=MAX_L => Ok(Cells::Sums(l, Counters::load("sums", src)?)),
            l => Err(src.corrupt(format!("L is {l}, above {MAX_L}"))),
        })
    }
}

/// Number of cells and probes, the rule, and the widths of counts and sums.
#[derive(Clone, Debug)]
pub struct Shape {
    flat: Flat,
    rule: Rule,
    widths: (u32, u32),
}

impl Shape {
    fn cell_bits(&self) -> u64 {
        match self.rule {
            Rule::Least(_) => self.widths.1.into(),
            Rule::Sequence(_) => u64::from(self.widths.0 + self.widths.1),
        }
    }
}

impl Plan for VariableIncrement {
    type Shape = Shape;

    fn plan(request: &Request<'_>) -> Result<Shape> {
        let number = |name| request.integer(name).map(|v| v as u32);
        let rule = if request.form() == DL {
            Rule::Least(request.integer("L").unwrap_or(4))
        } else {
            let (u, order) = (number("u").unwrap_or(4), number("order").unwrap_or(3));
            Rule::Sequence(Sequence::of_size(u as usize, order)?)
        };
        let (counts, sums) = rule.widths();
        let widths = (number("counts").unwrap_or(counts), number("width").unwrap_or(sums));
        let mut shape = Shape { flat: Flat { m: 1, k: 1 }, rule, widths };
        let pass = |load: f64| shape.rule.pass(|j| poisson_pmf(load, j));
        shape.flat = Flat::plan_for(request, shape.cell_bits(), pass)?;
        Ok(shape)
    }

    /// For distinct keys: a key that is inserted again adds to its own cells only, which the formula
    /// does not know.
    fn expect(shape: &Shape, load: &Load) -> Option<Expect> {
        let (flat, n) = (shape.flat, load.distinct);
        let fpr = shape.rule.fpr(flat.m, n, flat.k);
        Some(Expect::one_sided(fpr, flat.m * shape.cell_bits(), Some(flat.fill(n))))
    }
}

impl Stream for VariableIncrement {
    fn empty(shape: &Shape, head: Head) -> Result<Self> {
        let Flat { m, k } = shape.flat;
        let (counts, sums) = shape.widths;
        let cells = match &shape.rule {
            Rule::Least(l) => Cells::Sums(*l, Counters::new(m, sums)),
            Rule::Sequence(s) => Cells::Pairs(s.clone(), Marked::new(m, counts, sums)),
        };
        Ok(Self { head, probe: Probe::over(m, k), cells })
    }
}

face!(VariableIncrement: Insert, Remove, Merge);
planned!(VariableIncrement);

impl Filter for VariableIncrement {
    fn query(&self, record: Record<'_>) -> Result<Answer> {
        Ok(Answer::of(self.contains(record.key)))
    }

    fn fill(&self) -> Option<f64> {
        Some(self.cells.counters().nonzero() as f64 / self.cells.len() as f64)
    }

    fn now(&self) -> Rates {
        Rates::one_sided(libm::pow(self.cells.pass(), f64::from(self.probe.k())))
    }

    fn describe(&self) -> Vec<Fact> {
        let increments = match &self.cells {
            Cells::Sums(l, _) => format!("{l} to {}", 2 * l - 1),
            Cells::Pairs(s, _) => format!("{:?} of order {}", s.values, s.order),
        };
        let sums = match &self.cells {
            Cells::Sums(_, sums) => sums.width(),
            Cells::Pairs(_, pairs) => pairs.marks().width(),
        };
        vec![
            fact("m", self.cells.len()),
            fact("k", self.probe.k()),
            text("increments", increments),
            fact("width", sums),
            fact("saturated", self.cells.counters().saturated()),
        ]
    }
}

keyed!(VariableIncrement: Insert, Remove);

impl Merge for VariableIncrement {
    fn law(&self) -> MergeLaw {
        MergeLaw::Multiset
    }

    fn merge(&mut self, other: &dyn Filter) -> Result<()> {
        let other: &VariableIncrement = other.as_same()?;
        self.head.agree(&other.head)?;
        self.probe.agree(&other.probe)?;
        self.cells.agree(&other.cells)?;
        self.cells.add(&other.cells);
        self.head.count(other.head.items);
        Ok(())
    }
}

const DL: &str = "dl";
const BH: &str = "bh";
const MAX_L: u64 = 64;

const ABILITIES: &[Ability] = &[Ability::Insert, Ability::Remove, Ability::Merge];
const WHILE: FalseNegatives =
    FalseNegatives::NeverWhile("only keys that were inserted are removed");

/// The list entry.
pub static VARIANT: Variant = Variant {
    facts: Facts {
        id: 25,
        slug: "variable-increment",
        entry: "R15",
        name: "Variable-increment counting Bloom filter (VI-CBF)",
        paper: "O. Rottenstreich, Y. Kanizo, I. Keslassy, The variable-increment counting Bloom filter, INFOCOM 2012",
        family: "counting",
        needs: &["membership", "delete", "merge", "accurate"],
        meaning: "items are insertions minus removals, the rate is that of false positives",
        forms: &[
            Form { name: DL, abilities: ABILITIES, false_negatives: WHILE },
            Form { name: BH, abilities: ABILITIES, false_negatives: WHILE },
        ],
        params: &[
            PARAM_M,
            PARAM_K,
            Param {
                name: "L",
                range: Range::Integer(1, MAX_L),
                default: Preset::Integer(4),
                help: "dl: increments from L to 2L-1",
            },
            Param {
                name: "u",
                range: Range::Integer(1, MAX_INCREMENTS as u64),
                default: Preset::Integer(4),
                help: "bh: number of increments",
            },
            Param {
                name: "order",
                range: Range::Integer(1, MAX_ORDER as u64),
                default: Preset::Integer(3),
                help: "bh: keys in a cell that are told apart",
            },
            Param {
                name: "counts",
                range: Range::Integer(1, 16),
                default: Preset::Planned,
                help: "bh: bits per count",
            },
            Param {
                name: "width",
                range: Range::Integer(1, 16),
                default: Preset::Planned,
                help: "bits per sum",
            },
        ],
        ..Facts::FILTER
    },
    ops: Ops::of::<VariableIncrement>(),
};
