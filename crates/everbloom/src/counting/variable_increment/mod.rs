//! The variable-increment counting filter, VI-CBF (Rottenstreich, Kanizo, Keslassy 2012; catalogue R15;
//! S3 §IV-E).
//!
//! A counting filter that adds not one but an increment chosen by another hash, and that looks at a
//! counter's *value*: a sum that cannot contain the key's increment proves that the key is not there.
//!
//! ```text
//!   form dl, increments 4 5 6 7              form bh, increments 1 4 8 13
//!   cell holds 5:   queried with 5: passes   count 2, sum 12 = 4 + 8:  queried with 4 or 8: passes
//!                   queried with 4: no, 1 is                           queried with 1 or 13: no
//!                   left and none is so small
//!   cell holds 13:  queried with 7: passes   count 4, sum 25: too many to tell, every key passes
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
//! **Use it** instead of `counting` if keys are removed and the memory is given: at 40 bits per key it has a
//! fourteenth of the false positives. **Don't** if you need multiplicities (`counting`), if keys are only inserted
//! (`bloom` is far better in the same bits), or if one key is inserted many times: ten increments of L = 4 fill a
//! counter of six bits for good, and fifteen ones fill a plain counter of four.

mod cells;
mod rule;

pub use cells::Cells;
pub use rule::{Rule, Sequence};

use crate::parts::marks::Marks;
use crate::parts::owns;
use crate::probe::Probe;
use crate::theory::tail::poisson_pmf;
use crate::variant::prelude::*;

/// A set with removals, in m counters with increments that distinguish keys.
///
/// ```
/// let mut open = everbloom::counting::VariableIncrement::with_rate(1000, 0.001)?;
/// open.insert("file");
/// open.remove("file")?;
/// assert!(!open.contains("file"));
/// # Ok::<(), everbloom::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct VariableIncrement {
    head: Head,
    marks: Marks<Cells>,
}

state!(VariableIncrement { head, ..marks });

impl VariableIncrement {
    /// A filter of `m` cells and `k` probes under a rule, with counters of the widths it suggests.
    pub fn with_shape(m: u64, k: u32, rule: Rule, hasher: Hasher) -> Result<Self> {
        let form = match rule {
            Rule::Least(l) => PARAM_L.accept(&l.into()).map(|_| DL)?,
            Rule::Sequence(_) => BH,
        };
        let shape = Shape { flat: Flat::new(m, k)?, widths: rule.widths(), rule };
        Self::empty(&shape, Head::new(hasher, form))
    }

    /// The cells.
    pub fn cells(&self) -> &Cells {
        &self.marks.cells
    }

    /// Inserts a key, again if already present.
    #[inline]
    pub fn insert<K: Key + ?Sized>(&mut self, key: &K) -> Seen {
        let digest = self.head.hasher.digest_usually(Self::HASH, key);
        self.head.count_one();
        Seen::new_if(self.marks.insert(digest))
    }

    /// Whether the key may be a member.
    #[inline]
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        self.marks.contains(self.head.hasher.digest_usually(Self::HASH, key))
    }

    /// Removes a key that was inserted. Refused, with nothing changed, if one of its cells does not hold its increment.
    /// A cell that is stuck keeps its value.
    pub fn remove<K: Key + ?Sized>(&mut self, key: &K) -> Result<()> {
        self.marks.remove(self.head.hasher.digest_usually(Self::HASH, key))?;
        self.head.count_off();
        Ok(())
    }

    fn check(&self) -> Result<()> {
        if self.head.form == self.cells().form() {
            Ok(())
        } else {
            Err(Error::corrupt(0, "corrupt filter: the cells are those of the other form"))
        }
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
            Rule::Least(request.whole("L"))
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
        let flat = shape.flat;
        let fpr = shape.rule.fpr(flat.m, load.distinct, flat.k);
        Some(Expect { fpr, ..flat.expect(load, flat.m * shape.cell_bits()) })
    }
}

impl Stream for VariableIncrement {
    fn empty(shape: &Shape, head: Head) -> Result<Self> {
        let Flat { m, k } = shape.flat;
        let cells = Cells::new(m, &shape.rule, shape.widths)?;
        Ok(Self { head, marks: Marks { probe: Probe::over(m, k), cells } })
    }
}

face!(VariableIncrement: Insert, Remove, Merge);
planned!(VariableIncrement);
owns!(VariableIncrement { marks: Marks<Cells> });
keyed!(VariableIncrement: Insert, Remove);

by_part!(VariableIncrement: marks);

const DL: &str = "dl";
const BH: &str = "bh";
const MAX_L: u64 = 64;

const PARAM_L: Param =
    Param::integer("L", 1, MAX_L, "dl: increments from L to 2L-1").or(Preset::Integer(4));

const ABILITIES: &[Ability] = &[Ability::Insert, Ability::Remove, Ability::Merge];

/// The list entry.
pub static VARIANT: Variant = Variant::of::<VariableIncrement>(Facts {
    id: 25,
    slug: "variable-increment",
    entry: "R15",
    question: "Is it in the set, when keys are removed again, with fewer errors than counters make?",
    name: "Variable-increment counting Bloom filter (VI-CBF)",
    paper: "O. Rottenstreich, Y. Kanizo, I. Keslassy, The variable-increment counting Bloom filter, INFOCOM 2012",
    family: "counting",
    needs: &["membership", "delete", "merge", "accurate"],
    forms: &[Form::removing(DL, ABILITIES), Form::removing(BH, ABILITIES)],
    params: &[
        PARAM_M,
        PARAM_K,
        PARAM_L,
        Param::integer("u", 1, rule::MAX_INCREMENTS as u64, "bh: number of increments")
            .or(Preset::Integer(4)),
        Param::integer(
            "order",
            1,
            rule::MAX_ORDER as u64,
            "bh: keys in a cell that can be distinguished",
        )
        .or(Preset::Integer(3)),
        Param::integer("counts", 1, 16, "bh: bits per count"),
        Param::integer("width", 1, 16, "bits per sum"),
    ],
    ..Facts::MULTISET
});
