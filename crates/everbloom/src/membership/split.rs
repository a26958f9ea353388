//! The split Bloom filter, SPBF (Xiao, Dai, Li 2004; catalogue I19; S0 §III-P).
//!
//! For a set of unknown size up to an estimated maximum: s rows of m bits, all there from the start.
//!
//! ```text
//!   hashed: row = h(x)            sequential: rows fill one after the other
//!     row 1  0 1 0 0 1 0 …          row 1  1 1 0 1 1 0 …   full
//!     row 2  1 0 0 1 0 1 …  ◀ x     row 2  0 1 0 0 1 0 …   ◀ inserted here
//!     row 3  0 0 1 0 0 1 …          row 3  0 0 0 0 0 0 …
//! ```
//!
//! S0 does not say how a row is chosen, so both ways are here. `hashed` (the default) touches one row:
//! f = Σ Bin(n, i; 1/s)·f_row(i), slightly above a single filter of s·m bits, since rows fill unevenly.
//! `sequential` asks every row: f = 1 − Π(1 − f_row), s times that of one row; in return a filter that is
//! far from its maximum has only touched its first rows.
//!
//! s is constant: adding rows is the dynamic Bloom filter (and would, in `hashed`, send keys to other rows
//! than those they are in). When the rate exceeds its bound the matrix is rebuilt, larger, from the keys:
//! [`Split::exceeded`] says when, [`Split::rebuilt`] does it.
//!
//! **Use it** for independent rows: one lock, one memory bank or one machine each. **Don't** for accuracy,
//! where one filter of all the bits is better (`bloom`), or where the keys are gone by the time the set
//! has outgrown its estimate (`scalable`).

use crate::cells::Bits;
use crate::plan::MAX_CELLS;
use crate::probe::{MAX_K, Probe, multiply_shift};
use crate::theory::{blocked, bloom as theory};
use crate::variant::prelude::*;

/// Most rows.
const MAX_ROWS: u64 = 1 << 16;
/// The salt of the row: beyond the probes, which use the words 0..k.
const ROW: u64 = 1 << 32;

/// A set in s rows of m bits.
///
/// ```
/// let mut seen = everbloom::membership::Split::with_rate(1000, 0.01)?;
/// seen.insert("apple");
/// assert!(seen.contains("apple") && !seen.contains("pear"));
/// assert!(!seen.exceeded());
/// # Ok::<(), everbloom::error::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Split {
    head: Head,
    /// Keys that a sequential row takes before the next one begins.
    capacity: u64,
    /// Of one row.
    probe: Probe,
    rows: Vec<Row>,
}

state!(Split { head, capacity, probe, rows });

/// A row of bits, and the number of keys that came to it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Row {
    pub(crate) items: u64,
    pub(crate) bits: Bits,
}

state!(Row { items, bits });

impl Row {
    pub(crate) fn blank(m: u64) -> Self {
        Self { items: 0, bits: Bits::new(m) }
    }

    /// The row of both sets. Nobody knows how many keys they share, so their number is estimated from the
    /// zeros, where there are any.
    pub(crate) fn union(&mut self, other: &Row, k: u32) {
        self.bits.union(&other.bits);
        let most = self.items.saturating_add(other.items);
        let size = theory::cardinality(self.bits.zeros(), self.bits.len(), k);
        self.items = size.map_or(most, |n| n.round() as u64).min(most);
    }

    fn check(&self) -> Result<()> {
        Ok(())
    }
}

/// Rate with n keys in s rows by hash: Σ Bin(n, i; 1/s)·f_row(m, i, k), exact in its inner rate.
/// [`blocked::fpr_rows`] has the classic one.
pub fn hashed_rate(rows: u64, m: u64, n: u64, k: u32) -> f64 {
    crate::theory::tail::binomial_mean(n, 1.0 / rows as f64, |i| theory::fpr_exact(m, i, k))
}

/// Rate with rows that are all asked: 1 − Π(1 − f_row).
pub fn sequential_rate(rows: impl Iterator<Item = f64>) -> f64 {
    -libm::expm1(rows.map(|f| libm::log1p(-f)).sum())
}

impl Split {
    /// `rows` rows of `m` bits and `k` probes, chosen by hash.
    pub fn hashed(rows: u64, m: u64, k: u32, hasher: Hasher) -> Result<Self> {
        let shape = Shape::new(HASHED, rows, Flat { m, k }, 1)?;
        Self::empty(&shape, Head::new(hasher, HASHED))
    }

    /// `rows` rows of `m` bits and `k` probes, filled one after the other with `capacity` keys each.
    pub fn sequential(rows: u64, m: u64, k: u32, capacity: u64, hasher: Hasher) -> Result<Self> {
        let shape = Shape::new(SEQUENTIAL, rows, Flat { m, k }, capacity.max(1))?;
        Self::empty(&shape, Head::new(hasher, SEQUENTIAL))
    }

    /// The row of a key, if its hash decides.
    #[inline]
    fn row_of(&self, digest: Digest) -> Option<usize> {
        let row = || multiply_shift(digest.word(ROW), self.rows.len() as u64) as usize;
        (self.head.form == HASHED).then(row)
    }

    /// The first row that is not full; the last one takes whatever comes.
    fn next_row(&self) -> usize {
        let room = |row: &Row| row.items < self.capacity;
        self.rows.iter().position(room).unwrap_or(self.rows.len() - 1)
    }

    /// Inserts a key. Beyond the estimated maximum rows take more than planned, and the rate rises: see
    /// [`Split::exceeded`].
    #[inline]
    pub fn insert<K: Key + ?Sized>(&mut self, key: &K) -> Seen {
        let digest = self.head.hasher.digest(key);
        let at = self.row_of(digest).unwrap_or_else(|| self.next_row());
        let (row, mut new) = (&mut self.rows[at], false);
        self.probe.each(digest, |i| new |= row.bits.set(i));
        row.items = row.items.saturating_add(1);
        self.head.count(1);
        if new { Seen::New } else { Seen::Maybe }
    }

    /// Whether the key may be a member.
    #[inline]
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        let digest = self.head.hasher.digest(key);
        let has = |row: &Row| self.probe.all(digest, |i| row.bits.get(i));
        match self.row_of(digest) {
            Some(row) => has(&self.rows[row]),
            None => self.rows.iter().any(has),
        }
    }

    /// Insertions into every row.
    pub fn row_items(&self) -> impl Iterator<Item = u64> {
        self.rows.iter().map(|row| row.items)
    }

    /// Share of ones in every row.
    pub fn row_fills(&self) -> impl Iterator<Item = f64> {
        let m = self.probe.m() as f64;
        self.rows.iter().map(move |row| row.bits.ones() as f64 / m)
    }

    fn rate(&self) -> f64 {
        let rates = self.row_fills().map(|fill| libm::pow(fill, self.probe.k().into()));
        match self.head.form {
            HASHED => rates.sum::<f64>() / self.rows.len() as f64,
            _ => sequential_rate(rates),
        }
    }

    /// Whether the rate, as estimated from the fill, is above the bound the filter was planned for: time
    /// to rebuild. Chance alone moves the rate of a full filter by a few percent, so that counts as above.
    pub fn exceeded(&self) -> bool {
        self.head.fpr.is_some_and(|bound| self.rate() > 1.05 * bound)
    }

    /// The filter for twice as many keys, with as many rows of twice the bits, built from the keys: rows
    /// cannot be enlarged without them.
    pub fn rebuilt<K: Key>(&self, keys: impl IntoIterator<Item = K>) -> Result<Split> {
        let m = self.probe.m().saturating_mul(2);
        let capacity = self.capacity.saturating_mul(2);
        let flat = Flat { m, k: self.probe.k() };
        let shape = Shape::new(self.head.form, self.rows.len() as u64, flat, capacity)?;
        let mut larger = Self::empty(&shape, Head { items: 0, ..self.head.clone() })?;
        keys.into_iter().for_each(|key| {
            larger.insert(&key);
        });
        Ok(larger)
    }

    fn check(&self) -> Result<()> {
        let fits = (1..=MAX_ROWS).contains(&(self.rows.len() as u64))
            && self.capacity > 0
            && self.probe == Probe::over(self.probe.m(), self.probe.k())
            && self.rows.iter().all(|row| row.bits.len() == self.probe.m());
        if fits { Ok(()) } else { Err(Error::corrupt(0, "corrupt filter: rows do not fit")) }
    }
}

/// How rows are chosen, how many, bits and probes of one, and how many keys it takes in turn.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    form: &'static str,
    rows: u64,
    flat: Flat,
    capacity: u64,
}

impl Shape {
    fn new(form: &'static str, rows: u64, flat: Flat, capacity: u64) -> Result<Self> {
        let bits = flat.m.checked_mul(rows).filter(|bits| (1..=MAX_CELLS).contains(bits));
        if bits.is_some() && (1..=MAX_ROWS).contains(&rows) && (1..=MAX_K).contains(&flat.k) {
            return Ok(Self { form, rows, flat, capacity });
        }
        Err(Error::parameter(format!(
            "{rows} rows of {} bits with {} probes: at most {MAX_ROWS} rows, {MAX_CELLS} bits in all and \
             {MAX_K} probes, and at least one of each; ask for fewer items or a higher rate",
            flat.m, flat.k
        )))
    }

    fn rate(&self, n: u64) -> f64 {
        let Flat { m, k } = self.flat;
        match self.form {
            HASHED => blocked::fpr_rows(self.rows, m, n, k),
            _ => sequential_rate(
                self.loads(n).map(|i| theory::fpr_classic(m as f64, i as f64, k.into())),
            ),
        }
    }

    /// Keys in every row, if they fill one after the other.
    fn loads(&self, n: u64) -> impl Iterator<Item = u64> {
        let Self { rows, capacity, .. } = *self;
        (0..rows).map(move |row| {
            let left = n.saturating_sub(row.saturating_mul(capacity));
            if row + 1 == rows { left } else { left.min(capacity) }
        })
    }
}

impl Plan for Split {
    type Shape = Shape;

    /// Rows for n/s keys each. By hash, each at the rate asked for; in sequence at f_row with
    /// 1 − (1 − f_row)^s = p, since every row errs.
    fn plan(request: &Request<'_>) -> Result<Shape> {
        let (form, rows) = (request.form(), request.integer("rows").unwrap_or(4));
        let k_set = request.integer(PARAM_K.name).map(|k| k as u32);
        let share = |n: u64| n.div_ceil(rows).max(1);
        if let Some(m) = request.integer("m") {
            let n = request.goal_items();
            let k = k_set.or(n.map(|n| theory::best_k(m, share(n)).min(MAX_K)));
            let k = k.ok_or_else(|| {
                Error::parameter("--set m without k needs -n, to choose the best k")
            })?;
            let full = || theory::capacity(m as f64, k.into(), request.fpr()) as u64;
            return Shape::new(form, rows, Flat { m, k }, n.map_or_else(full, share).max(1));
        }
        let flat = |n: u64, p: f64| {
            let p = if form == HASHED { p } else { -libm::expm1(libm::log1p(-p) / rows as f64) };
            let k = k_set.unwrap_or_else(|| {
                let m = theory::bits_for(share(n), p);
                theory::best_k(m, share(n)).min(MAX_K)
            });
            let kf = f64::from(k);
            // With many keys to a row; the rest of the way below, where rows fill unevenly.
            let m = kf * share(n) as f64 / -libm::log1p(-libm::pow(p, 1.0 / kf));
            (m.ceil().max(1.0), k)
        };
        let sized = |n: u64, p: f64| {
            let (mut m, k) = flat(n, p);
            let with =
                |m: f64| Shape { form, rows, flat: Flat { m: m as u64, k }, capacity: share(n) };
            // Uneven rows, and the few cells by which the formula is short, cost some percent at most.
            for _ in 0..200 {
                let fits = m * rows as f64 <= MAX_CELLS as f64;
                if !fits || with(m).rate(n) <= p {
                    break;
                }
                m = (m * 1.002).max(m + 1.0).ceil();
            }
            (m, k)
        };
        let (n, p) = request.items_and_rate(|n, p| sized(n, p).0 * rows as f64)?;
        let (m, k) = sized(n, p);
        Shape::new(form, rows, Flat { m: m.min(1e18) as u64, k }, share(n))
    }

    fn expect(shape: &Shape, load: &Load) -> Option<Expect> {
        let Shape { rows, flat: Flat { m, k }, .. } = *shape;
        let (n, mf, kf, s) = (load.distinct, m as f64, f64::from(k), rows as f64);
        let (mean, variance) = match shape.form {
            HASHED => blocked::fill(s, mf, kf, n as f64),
            _ => {
                let mean = shape.loads(n).map(|i| theory::fill(mf, i as f64 * kf)).sum::<f64>();
                let sds = shape.loads(n).map(|i| theory::fill_sd(mf, i as f64 * kf));
                (mean / s, sds.map(|sd| sd * sd).sum::<f64>() / (s * s))
            }
        };
        Some(Expect::one_sided(shape.rate(n), m * rows, Some((mean, variance.sqrt()))))
    }
}

impl Stream for Split {
    fn empty(shape: &Shape, head: Head) -> Result<Self> {
        let Flat { m, k } = shape.flat;
        let rows = (0..shape.rows).map(|_| Row::blank(m)).collect();
        Ok(Self { head, capacity: shape.capacity, probe: Probe::over(m, k), rows })
    }
}

face!(Split: Insert, Merge);
planned!(Split);

impl Filter for Split {
    fn query(&self, record: Record<'_>) -> Result<Answer> {
        Ok(Answer::of(self.contains(record.key)))
    }

    fn fill(&self) -> Option<f64> {
        Some(self.row_fills().sum::<f64>() / self.rows.len() as f64)
    }

    fn now(&self) -> Rates {
        Rates::one_sided(self.rate())
    }

    fn describe(&self) -> Vec<Fact> {
        vec![
            fact("rows", self.rows.len() as u64),
            fact("m", self.probe.m()),
            fact("k", self.probe.k()),
            fact("most keys in a row", self.row_items().max().unwrap_or(0)),
            text("rebuild", if self.exceeded() { "due" } else { "not needed" }),
        ]
    }
}

keyed!(Split: Insert);

impl Merge for Split {
    fn law(&self) -> MergeLaw {
        MergeLaw::Set
    }

    /// Row by row: a key is in the same row of both. Rows that fill in sequence hold what came when.
    fn merge(&mut self, other: &dyn Filter) -> Result<()> {
        let other: &Split = other.as_same()?;
        self.head.agree(&other.head)?;
        crate::error::agree("rows", self.rows.len(), other.rows.len())?;
        self.probe.agree(&other.probe)?;
        if self.head.form != HASHED {
            return Err(Error::new(Kind::Unsupported, "rows that fill in sequence have no union"));
        }
        self.head.items = 0;
        for (row, theirs) in self.rows.iter_mut().zip(&other.rows) {
            row.union(theirs, self.probe.k());
            self.head.count(row.items);
        }
        Ok(())
    }
}

const HASHED: &str = "hashed";
const SEQUENTIAL: &str = "sequential";

/// The list entry.
pub static VARIANT: Variant = Variant {
    facts: Facts {
        id: 42,
        slug: "split",
        entry: "I19",
        name: "Split Bloom filter",
        paper: "M. Xiao, Y. Dai, X. Li, Split Bloom filter, Acta Electronica Sinica 32(2), 2004",
        family: "membership",
        needs: &["membership", "merge", "parallel"],
        meaning: "items are the most keys there will be, the rate is that of false positives with all of them",
        forms: &[
            Form::exact(HASHED, &[Ability::Insert, Ability::Merge]),
            Form::exact(SEQUENTIAL, &[Ability::Insert]),
        ],
        params: &[
            Param {
                name: "rows",
                range: Range::Integer(1, MAX_ROWS),
                default: Preset::Integer(4),
                help: "rows of the matrix, for ever",
            },
            Param {
                name: "m",
                range: Range::Integer(1, MAX_CELLS),
                default: Preset::Planned,
                help: "bits per row",
            },
            PARAM_K,
        ],
        ..Facts::FILTER
    },
    ops: Ops::of::<Split>(),
};
