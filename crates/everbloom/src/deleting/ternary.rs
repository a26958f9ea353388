//! The ternary Bloom filter (Lim, Lee, Byun, Yim 2017; catalogue §26; S3 ref. 134 §VII-A).
//!
//! Removal needs to know which cells belong to one key alone, and nothing more. So a cell tells apart
//! no key (0), one key (1) and several (X), where a counting filter spends four bits on the number:
//!
//! ```text
//!   insert x   0→1  0→1  0→1        0 1 0 1 0 0 1 0
//!   insert y   0→1  1→X  0→1        1 1 0 X 0 0 1 1
//!   remove x   1→0  X    1→0        1 0 0 X 0 0 0 1     X stays: how many are left is not known
//! ```
//!
//! The price is a third answer. A key with a 0 among its cells is absent, one with a 1 is present (or a
//! false positive), but of one all of whose cells are X nothing can be said: keys in those cells may
//! have been removed. Such a key is *undecided*, and removing it is refused. X never recovers, so a filter
//! with many insertions and removals has to be rebuilt when too many cells are X.
//!
//! The form `quaternary` puts the fourth value of two bits to use, 0, 1, 2, X: removal takes 2 to 1 to
//! 0, so keys that share a cell in pairs stay removable, and far fewer cells become X. (Three values
//! alone could be packed five to a byte, 1.6 bits a cell, at the cost of a division per probe.)
//!
//! **Use it** instead of a counting filter when space is scarce and an occasional "undecided" is acceptable: in the
//! memory of 4-bit counters it has twice the cells. **Don't** when the same keys are inserted repeatedly: inserting
//! a present key turns its 1s into X. Its answers stay correct, but it can no longer be removed.
//!
//! Hashes of one key that meet in one cell count once; else a key alone could make an X.

use crate::cells::Packed;
use crate::parts::tally::Tallies;
use crate::probe::{Coincide, Indices, Probe};
use crate::theory::tail;
use crate::variant::prelude::*;

/// A set in m cells that know none, one (or two) and many.
///
/// ```
/// use everbloom::Verdict;
///
/// let mut open = everbloom::deleting::Ternary::with_rate(1000, 0.01)?;
/// open.insert("file");
/// assert_eq!(open.query("file"), Verdict::Present);
/// open.remove("file")?;
/// assert_eq!(open.query("file"), Verdict::Absent);
/// # Ok::<(), everbloom::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Ternary {
    head: Head,
    /// Numbers of keys, up to the form's X.
    tallies: Tallies<Packed>,
}

state!(Ternary { head, ..tallies });

impl Ternary {
    /// A filter of `m` cells and `k` probes, with the values 0, 1, X, or 0, 1, 2, X if `quaternary`.
    pub fn with_shape(m: u64, k: u32, quaternary: bool, hasher: Hasher) -> Result<Self> {
        let form = if quaternary { QUATERNARY } else { TWO_BIT };
        empty(&Goal::of(hasher).set("form", form).set("m", m).set("k", k))
    }

    /// X, the value from which on keys are no longer counted.
    #[inline]
    fn many(&self) -> u64 {
        many(self.head.form)
    }

    #[inline]
    fn indices<K: Key + ?Sized>(&self, key: &K) -> Indices {
        self.tallies.probe.collect(self.head.hasher.digest(key), Coincide::Distinct)
    }

    /// Inserts a key. A key that is already present remains present, but may no longer be removable.
    pub fn insert<K: Key + ?Sized>(&mut self, key: &K) -> Seen {
        let (indices, many) = (self.indices(key), self.many());
        let cells = &mut self.tallies.cells;
        let mut new = false;
        for &i in &indices {
            let value = cells.get(i);
            new |= value == 0;
            cells.set(i, (value + 1).min(many));
        }
        self.head.count(1);
        Seen::new_if(new)
    }

    /// Removes a key that was inserted. Refused, with nothing changed, for a key that is certainly not
    /// there, and for one that shares every cell with too many others.
    pub fn remove<K: Key + ?Sized>(&mut self, key: &K) -> Result<()> {
        let indices = self.indices(key);
        match self.verdict(&indices) {
            Verdict::Absent => Err(Error::new(
                Kind::NotDeletable,
                "the key is not in the filter: one of its cells is zero",
            )),
            Verdict::Undecided => Err(Error::new(
                Kind::NotDeletable,
                "the key is undeletable: all of its cells are X, which stands for an unknown number of keys; rebuild \
                the filter from the remaining keys",
            )),
            Verdict::Present => {
                let (many, cells) = (self.many(), &mut self.tallies.cells);
                for &i in &indices {
                    let value = cells.get(i);
                    if value < many {
                        cells.set(i, value - 1);
                    }
                }
                self.head.count_off();
                Ok(())
            }
        }
    }

    /// Absent, present, or undecided. A member is never absent.
    #[inline]
    pub fn query<K: Key + ?Sized>(&self, key: &K) -> Verdict {
        self.verdict(&self.indices(key))
    }

    #[inline]
    fn verdict(&self, indices: &Indices) -> Verdict {
        let (mut verdict, many) = (Verdict::Undecided, self.many());
        for &i in indices {
            match self.tallies.cells.get(i) {
                0 => return Verdict::Absent,
                value if value < many => verdict = Verdict::Present,
                _ => {}
            }
        }
        verdict
    }

    /// Whether the key may be a member.
    #[inline]
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        self.query(key) != Verdict::Absent
    }

    /// The cells: numbers of keys, of which the largest the form knows stands for X.
    pub fn cells(&self) -> &Packed {
        &self.tallies.cells
    }

    /// Number of cells that are X, for deciding when to rebuild.
    pub fn crowded(&self) -> u64 {
        let many = self.many();
        self.cells().iter().filter(|&c| c == many).count() as u64
    }

    fn check(&self) -> Result<()> {
        self.tallies.check_flat()?;
        let many = self.many();
        if self.cells().width() != CELL_BITS || self.cells().iter().any(|c| c > many) {
            return Err(Error::corrupt(0, "corrupt filter: not the cells of a ternary filter"));
        }
        Ok(())
    }
}

/// X in the cells of a form.
#[inline]
fn many(form: &str) -> u64 {
    if form == QUATERNARY { 3 } else { 2 }
}

/// Number of cells and probes, and the value that stands for X.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Cells and probes.
    pub flat: Flat,
    /// X: 2 in the form two-bit, 3 in quaternary.
    pub many: u64,
}

impl Shape {
    /// The share of cells that at least `keys` of `n` keys use; a key uses a cell with probability
    /// 1 − (1−1/m)^k. With 1 and 2 these are 1 − p_0 and 1 − p_0 − p_1 of catalogue §25.
    pub fn used_by(&self, keys: u64, n: u64) -> f64 {
        let Flat { m, k } = self.flat;
        let uses = -libm::expm1(f64::from(k) * libm::log1p(-1.0 / m as f64));
        tail::binomial_at_least(n, uses, keys)
    }

    /// The share of `n` members all of whose cells are X: each cell is used by others as well.
    pub fn undeletable(&self, n: u64) -> f64 {
        let others = self.used_by(self.many - 1, n.saturating_sub(1));
        libm::pow(others, f64::from(self.flat.k))
    }
}

impl Plan for Ternary {
    type Shape = Shape;

    fn plan(request: &Request<'_>) -> Result<Shape> {
        let flat = Flat::plan(request, u64::from(CELL_BITS))?;
        Ok(Shape { flat, many: many(request.form()) })
    }

    fn expect(shape: &Shape, load: &Load) -> Option<Expect> {
        let Shape { flat, many } = *shape;
        let (n, k) = (load.distinct, f64::from(flat.k));
        let undecided = libm::pow(shape.used_by(many, n), k);
        let fpr = libm::pow(shape.used_by(1, n), k) - undecided;
        Some(Expect { fpr, undecided, ..flat.expect(load, flat.m * u64::from(CELL_BITS)) })
    }
}

impl Stream for Ternary {
    fn empty(shape: &Shape, head: Head) -> Result<Self> {
        let Flat { m, k } = shape.flat;
        let cells = Packed::try_new(m, CELL_BITS)?;
        Ok(Self { head, tallies: Tallies { probe: Probe::over(m, k), cells } })
    }
}

face!(Ternary: Insert, Remove);
planned!(Ternary);

keyed!(Ternary: Insert, Remove);

impl Filter for Ternary {
    fn part(&self) -> Option<&dyn Part> {
        Some(&self.tallies)
    }

    fn query(&self, record: Record<'_>) -> Result<Answer> {
        Ok(Answer { verdict: Ternary::query(self, record.key), detail: Detail::None })
    }

    fn now(&self) -> Rates {
        let crowded = self.crowded() as f64 / self.tallies.m() as f64;
        let undecided = libm::pow(crowded, f64::from(self.tallies.k()));
        let fpr = self.tallies.fpr() - undecided;
        Rates { undecided: Some(undecided), ..Rates::one_sided(fpr) }
    }

    fn describe(&self) -> Vec<Fact> {
        let mut facts = self.tallies.describe();
        facts.push(fact("crowded", self.crowded()));
        facts
    }

    /// Each distinct cell once, as insertion and removal touch them.
    fn trace(&self, key: &[u8]) -> Vec<Touched> {
        touched(&self.indices(key), |i| self.cells().get(i))
    }
}

const TWO_BIT: &str = "two-bit";
const QUATERNARY: &str = "quaternary";
const CELL_BITS: u32 = 2;

const ABILITIES: &[Ability] = &[Ability::Insert, Ability::Remove];

/// The list entry.
pub static VARIANT: Variant = Variant::of::<Ternary>(Facts {
    id: 7,
    slug: "ternary",
    entry: "§26",
    question: "Is it in the set, when keys are removed again and counters cost too much?",
    name: "Ternary Bloom filter",
    paper: "H. Lim, J. Lee, H. Byun, C. Yim, Ternary Bloom filter replacing counting Bloom filter, \
            IEEE Communications Letters 21(2), 2017",
    family: "deleting",
    needs: &["membership", "delete"],
    meaning: "items are insertions minus removals, the rate is that of false positives and undecided answers together",
    forms: &[Form::removing(TWO_BIT, ABILITIES), Form::removing(QUATERNARY, ABILITIES)],
    params: &[PARAM_M, PARAM_K],
    ..Facts::FILTER
});
