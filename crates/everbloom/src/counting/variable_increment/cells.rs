//! The cells of the variable-increment filter: what is added to them, and what their values tell.

use super::rule::{Rule, Sequence};
use super::{BH, DL, MAX_L};
use crate::cells::{Counters, Mark, Marked, Sum};
use crate::error::{Result, agree};
use crate::filter::{Fact, fact, text};
use crate::hash::Digest;
use crate::parts::marks::MarkCells;
use crate::probe::multiply_shift;
use crate::state::{Decoder, Encoder, State};

/// The cells of either form.
#[derive(Clone, Debug, PartialEq)]
pub enum Cells {
    /// L, and one counter per cell: form `dl`.
    Sums(u64, Counters),
    /// The sequence, and a count and a sum per cell: form `bh`.
    Pairs(Sequence, Marked<Sum>),
}

impl Cells {
    /// `m` empty cells under a rule, with counts and sums of these widths.
    pub(super) fn new(m: u64, rule: &Rule, (counts, sums): (u32, u32)) -> Result<Self> {
        Ok(match rule {
            Rule::Least(l) => Cells::Sums(*l, Counters::try_new(m, sums)?),
            Rule::Sequence(s) => Cells::Pairs(s.clone(), Marked::try_new(m, counts, sums)?),
        })
    }

    pub(super) fn form(&self) -> &'static str {
        match self {
            Cells::Sums(..) => DL,
            Cells::Pairs(..) => BH,
        }
    }

    /// The counter that tells whether a cell is in use.
    pub fn counters(&self) -> &Counters {
        match self {
            Cells::Sums(_, sums) => sums,
            Cells::Pairs(_, pairs) => pairs.counts(),
        }
    }
}

impl MarkCells for Cells {
    const SALT: u64 = 0x15;
    const MISSING: &'static str =
        "the key is not in the filter: a cell does not hold its increment";

    /// The increment that a hash chooses.
    #[inline]
    fn mark(&self, salted: Digest, j: u64) -> u64 {
        let hash = salted.word(j);
        match self {
            Cells::Sums(l, _) => l + multiply_shift(hash, *l),
            Cells::Pairs(s, _) => s.values[multiply_shift(hash, s.values.len() as u64) as usize],
        }
    }

    #[inline]
    fn passes(&self, i: u64, v: u64) -> bool {
        match self {
            Cells::Sums(l, sums) => {
                let value = sums.get(i);
                value == sums.max() || value == v || value >= v + l
            }
            Cells::Pairs(s, pairs) => match pairs.get(i) {
                Mark::Lost => true,
                Mark::Known { count, .. } if count > u64::from(s.order) => true,
                // v is among the increments if and only if the others come to the rest: they and v
                // are a multiset with the cell's sum, and there is only one.
                Mark::Known { count, mark } => s.without(count, mark, v),
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
                    Mark::Known { count, mark } => s.without(count, mark, v),
                };
                possible && pairs.take(i, v)
            }
        }
    }

    fn share(&self) -> f64 {
        let cells = self.counters().len();
        let m = cells as f64;
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
                (0..cells).map(pass).sum::<u64>() as f64 / (m * s.values.len() as f64)
            }
        }
    }

    fn counters(&self) -> &Counters {
        Cells::counters(self)
    }

    fn agree(&self, other: &Cells) -> Result<()> {
        match (self, other) {
            (Cells::Sums(l, a), Cells::Sums(other, b)) => {
                agree("L", *l, *other)?;
                agree("counter width", a.width(), b.width())
            }
            (Cells::Pairs(s, a), Cells::Pairs(t, b)) => {
                agree("increments", s.to_string(), t.to_string())?;
                a.agree(b)
            }
            _ => agree("form", self.form(), other.form()),
        }
    }

    fn add(&mut self, other: &Cells) {
        match (self, other) {
            (Cells::Sums(_, a), Cells::Sums(_, b)) => a.add(b),
            (Cells::Pairs(_, a), Cells::Pairs(_, b)) => a.add(b),
            _ => {}
        }
    }

    fn facts(&self) -> Vec<Fact> {
        let (increments, sums) = match self {
            Cells::Sums(l, sums) => (format!("{l} to {}", 2 * l - 1), sums.width()),
            Cells::Pairs(s, pairs) => (s.to_string(), pairs.marks().width()),
        };
        vec![text("increments", increments), fact("width", sums)]
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
