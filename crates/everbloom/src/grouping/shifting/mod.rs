//! The shifting Bloom filter (Yang, Liu, Shahzad, Zhong, Fu, Li, Xie, Li 2016; catalogue §5; S3 §VI-A).
//!
//! What is to be known of a key beyond membership is kept as an *offset*, added to the places of the key's
//! bits. A base and what is up to 56 bits behind it come with one read of memory:
//!
//! ```text
//!   multiplicity 3: offset 2           base b₁        base b₂      one read per base
//!                                      ↓              ↓
//!                                  0 0 0 0 1 0 0 0 1 0 0 0 1 1 0
//!                                      └─▶ 1          └─▶ 1        the two reads, ANDed: 0 0 1 …  ──▶  3
//! ```
//!
//! - `membership`: k/2 bases, and one offset o in 1..=56 from one more hash. Both bits of k/2 pairs are tested:
//!   k/2 + 1 hash values and k/2 reads in place of k, at nearly the standard filter's rate.
//! - `association`: which of several sets is a key in? A *region* is a combination of sets; for two sets there
//!   are three. The region's number picks one of the key's offsets, so each region is a test of its own. The true region is
//!   always among the answers; all of two sets' answers are unique for (1 − 2^−k)² of the members.
//! - `multiplicity`: a key that came μ times has offset μ − 1, up to the parameter `c`. The largest offset that
//!   passes is the count: never too low, and right for (1 − f)^{c−μ} of the members.
//!
//! Each has a counting form, whose cells are counters. There a changed value moves a key from one offset to
//! another. The old value must be known exactly: read from the cells it may be too large, and taking the
//! wrong cells down makes other keys false negatives. So these forms hold an exact table of digests beside
//! the cells, as the paper does.
//!
//! **Slow:** the region or the count of a key is found by trying every offset that it might have; the counting
//! forms look into a table of digests besides.
//!
//! **Use it** for small multiplicities and few sets, built once and queried fast. **Don't** for large counts
//! (`spectral`, `count-min`), nor for deletion in the forms without counters.

mod change;
mod shape;

pub use shape::Shape;

use crate::cells::Counters;
use crate::filter::Bound;
use crate::grouping::groups::{Groups, asked};
use crate::parts::exact::Exact;
use crate::plan::PARAM_WIDTH;
use crate::probe::{Indices, Probe};
use crate::theory::bloom as theory;
use crate::theory::shifting::{SPAN, any_of, pair_from_zeros};
use crate::variant::prelude::*;

/// Keys with an offset each.
///
/// ```
/// use everbloom::grouping::Shifting;
///
/// let words = ["to", "be", "or", "not", "to", "be"];
/// let counts = Shifting::builder().form("multiplicity").build_from(words)?;
/// assert_eq!((counts.count("to"), counts.count("or")), (2, 1));
///
/// let (left, right) = (["apple", "fig"], ["fig", "pear"]);
/// let sets = Shifting::of_two(left, right, 0.001)?;
/// assert_eq!(sets.regions("fig"), ["1+2"]);
/// # Ok::<(), everbloom::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Shifting {
    head: Head,
    /// The bases.
    probe: Probe,
    /// Bits, or counters; the last `span` of them are reached by offsets alone.
    cells: Counters,
    /// The largest offset plus one.
    span: u64,
    /// Regions that there are offsets for, of the association forms.
    most: u64,
    /// The sets, by their labels.
    sets: Groups,
    /// The regions seen, each a mask of sets.
    masks: Vec<u64>,
    /// Each key's copies, or its mask, of the counting forms.
    table: Exact,
    /// How often each key was put into each set: it leaves a set with its last copy.
    copies: Exact,
}

state!(Shifting { head, probe, cells, span, most, sets, masks, table, copies });

/// What the offset stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Task {
    Membership,
    Association,
    Multiplicity,
}

impl Task {
    fn of(form: &str) -> Self {
        match form.strip_prefix("counting-").unwrap_or(form) {
            ASSOCIATION => Task::Association,
            MULTIPLICITY => Task::Multiplicity,
            _ => Task::Membership,
        }
    }
}

impl Shifting {
    /// The empty filter that a goal leads to; one of a form that is built at once stays empty.
    pub fn planned(goal: &Goal) -> Result<Self> {
        let (shape, head) = crate::variant::settle::<Self>(goal)?;
        Self::of_shape(&shape, head)
    }

    /// The association filter of two sets, which are called 1 and 2.
    pub fn of_two<A, B>(first: A, second: B, rate: f64) -> Result<Self>
    where
        A: IntoIterator<Item: Key>,
        B: IntoIterator<Item: Key>,
    {
        let mut keys: Vec<(Vec<u8>, &[u8])> = Vec::new();
        keys.extend(first.into_iter().map(|key| (key.with_bytes(<[u8]>::to_vec), &b"1"[..])));
        keys.extend(second.into_iter().map(|key| (key.with_bytes(<[u8]>::to_vec), &b"2"[..])));
        let records: Vec<Record<'_>> =
            keys.iter().map(|(key, set)| Record::key(key).with(Value::Label(set))).collect();
        let items = (records.len() as u64).max(1);
        let goal = Goal::new(items, rate).set("form", ASSOCIATION).set("regions", 3);
        let (shape, head) = crate::variant::settle::<Self>(&goal)?;
        Self::create(&shape, head, &mut Inputs { records: &mut &*records, negatives: None })
    }

    fn of_shape(shape: &Shape, head: Head) -> Result<Self> {
        let bases = if shape.kind == Task::Membership { shape.k / 2 } else { shape.k };
        let probe = Probe::over(shape.m, bases);
        let cells = Counters::try_new(shape.m.saturating_add(shape.span), shape.width)?;
        let (sets, masks, table, copies) = Default::default();
        let (span, most) = (shape.span, shape.regions);
        Ok(Self { head, probe, cells, span, most, sets, masks, table, copies })
    }

    fn task(&self) -> Task {
        Task::of(self.head.form)
    }

    fn counts(&self) -> bool {
        self.head.form.starts_with("counting-")
    }

    /// The one offset of the membership form: 1..=56.
    fn shift(digest: Digest) -> u64 {
        digest.word(SHIFT) % (SPAN - 1) + 1
    }

    /// The offset of a region: 0 for the first, each further one a random step of the key's own behind.
    fn offset(&self, digest: Digest, region: u64) -> u64 {
        let stride = (SPAN - 1) / (self.most - 1).max(1);
        (0..region).map(|r| digest.word(SHIFT + r) % stride + 1).sum()
    }

    /// Which of `len` offsets from `from` on pass: one bit each.
    #[inline]
    fn window(&self, digest: Digest, from: u64, len: u64) -> u64 {
        let mut mask = u64::MAX;
        self.probe.all(digest, |base| {
            mask &= self.cells.window(base + from, len);
            mask != 0
        });
        mask
    }

    /// Whether the key may be a member of any set.
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        self.has(self.head.digest(key))
    }

    fn has(&self, digest: Digest) -> bool {
        match self.task() {
            Task::Membership => {
                let pair = 1 | 1 << Self::shift(digest);
                self.window(digest, 0, SPAN) & pair == pair
            }
            Task::Association => !self.possible(digest).is_empty(),
            Task::Multiplicity => self.largest(digest) > 0,
        }
    }

    /// The regions that a key may be in, by number.
    fn possible(&self, digest: Digest) -> Vec<usize> {
        let mask = self.window(digest, 0, SPAN);
        let passes = |r: &usize| mask >> self.offset(digest, *r as u64) & 1 == 1;
        (0..self.masks.len()).filter(passes).collect()
    }

    /// The regions that a key may be in, each by the labels of its sets, joined by `+`.
    pub fn regions<K: Key + ?Sized>(&self, key: &K) -> Vec<String> {
        let names =
            self.possible(self.head.digest(key)).into_iter().map(|region| self.name(region));
        names.map(|name| String::from_utf8_lossy(&name).into_owned()).collect()
    }

    fn name(&self, region: usize) -> Vec<u8> {
        self.sets.those(|set| self.masks[region] >> set & 1 == 1).join(&b'+')
    }

    /// How often the key came: the largest offset that passes; never too low, up to the parameter `c`.
    pub fn count<K: Key + ?Sized>(&self, key: &K) -> u64 {
        self.largest(self.head.digest(key))
    }

    fn largest(&self, digest: Digest) -> u64 {
        for from in (0..self.span.div_ceil(64)).rev().map(|word| 64 * word) {
            let mask = self.window(digest, from, (self.span - from).min(64));
            if mask != 0 {
                return from + u64::from(64 - mask.leading_zeros());
            }
        }
        0
    }

    /// The distinct cells of a key at some offsets.
    fn places(&self, digest: Digest, offsets: &[u64]) -> Indices {
        let mut places = Indices::new();
        for offset in offsets {
            self.probe.each(digest, |base| {
                if !places.contains(&(base + offset)) {
                    places.push(base + offset);
                }
            });
        }
        places
    }

    fn check(&self) -> Result<()> {
        let task = self.task();
        let regions = match task {
            Task::Association => VARIANT.takes("regions", self.most),
            _ => self.most == 0,
        };
        let span = match task {
            Task::Multiplicity => VARIANT.takes("c", self.span),
            _ => self.span == SPAN,
        };
        let known = 1u64.checked_shl(self.sets.len() as u32).map_or(u64::MAX, |bit| bit - 1);
        let (multiplicity, table) = (task == Task::Multiplicity, &self.table);
        let ok = regions
            && span
            && self.masks.len() as u64 <= self.most
            && self.sets.len() <= MOST_SETS
            && self.masks.iter().all(|mask| *mask != 0 && mask & !known == 0)
            && (self.cells.width() == 1 || self.counts())
            && (table.is_empty() || self.counts() && task != Task::Membership)
            && (self.copies.is_empty() || self.counts() && task == Task::Association)
            && table.iter().all(|(_, number)| multiplicity || self.masks.contains(&number));
        let bases = self.cells.len().checked_sub(self.span);
        match bases.filter(|_| ok) {
            Some(bases) => self.probe.check_flat(bases),
            None => Err(Error::corrupt(0, "corrupt filter: not the cells of its form")),
        }
    }

    /// Share of cells in use, by the cells that probes point at.
    fn used(&self) -> f64 {
        (self.cells.nonzero() as f64 / self.probe.m() as f64).min(1.0)
    }
}

impl Plan for Shifting {
    type Shape = Shape;

    fn plan(request: &Request<'_>) -> Result<Shape> {
        Shape::plan(request)
    }

    fn expect(shape: &Shape, load: &Load) -> Option<Expect> {
        let throws = load.distinct as f64 * f64::from(shape.k);
        let m = shape.m as f64;
        let fill = (theory::fill(m, throws), theory::fill_sd(m, throws));
        Some(Expect::one_sided(shape.fpr(load), shape.bits(), Some(fill)).probing(shape.k))
    }

    fn beside(request: &Request<'_>, _shape: &Shape, load: &Load) -> u64 {
        shape::tables(request.form(), load.distinct)
    }
}

face!(Shifting: Insert, Remove, Count);
built!(Shifting);

impl Count for Shifting {
    fn count(&self, key: &[u8]) -> Counted {
        self.counted(self.head.digest(key))
    }
}

impl Shifting {
    fn counted(&self, digest: Digest) -> Counted {
        let count = self.largest(digest);
        let bound = if count == self.span { Bound::Saturated } else { Bound::Estimate };
        Counted { bound, ..Counted::about(count) }
    }
}

impl Filter for Shifting {
    fn query(&self, record: Record<'_>) -> Result<Answer> {
        let digest = self.head.digest(record.key);
        Ok(match self.task() {
            Task::Membership => Answer::of(self.has(digest)),
            Task::Multiplicity => Answer::counted(self.counted(digest)),
            Task::Association => {
                let possible = self.possible(digest);
                match asked(&record)? {
                    Some(label) => {
                        let set = self.sets.find(label);
                        let inside =
                            |r: &usize| set.is_some_and(|set| self.masks[*r] >> set & 1 == 1);
                        Answer::of(possible.iter().any(inside))
                    }
                    None => {
                        let names = possible.into_iter().map(|region| self.name(region)).collect();
                        Answer::of(self.has(digest)).with(Detail::Labels(names))
                    }
                }
            }
        })
    }

    fn fill(&self) -> Option<f64> {
        Some(self.used())
    }

    /// In the association forms, the rate of queries that name a set which is a region of its own.
    fn now(&self) -> Rates {
        let (used, k) = (self.used(), f64::from(self.probe.k()));
        Rates::one_sided(match self.task() {
            Task::Membership => libm::pow(pair_from_zeros(1.0 - used), k),
            Task::Association => libm::pow(used, k),
            Task::Multiplicity => any_of(libm::pow(used, k), self.span as f64),
        })
    }

    fn describe(&self) -> Vec<Fact> {
        let bases = u64::from(self.probe.k());
        // A key without a set is asked for in the regions that are in use, however many there is room for.
        let regions = [fact("regions", self.masks.len() as u64), fact("most regions", self.most)];
        let (k, more) = match self.task() {
            Task::Membership => (2 * bases, vec![fact("hashes", bases + 1)]),
            Task::Association => (bases, regions.to_vec()),
            Task::Multiplicity => (bases, vec![fact("c", self.span)]),
        };
        let mut facts = vec![fact("m", self.probe.m()), fact("k", k), fact("reads", bases)];
        facts.extend(more);
        facts
    }

    fn trace(&self, key: &[u8]) -> Vec<Touched> {
        let digest = self.head.digest(key);
        let offsets: Vec<u64> = match self.task() {
            Task::Membership => vec![0, Self::shift(digest)],
            Task::Association => {
                (0..self.masks.len() as u64).map(|r| self.offset(digest, r)).collect()
            }
            Task::Multiplicity => (0..self.span.min(64)).collect(),
        };
        touched(&self.places(digest, &offsets), |i| self.cells.get(i))
    }
}

const MEMBERSHIP: &str = "membership";
const ASSOCIATION: &str = "association";
const MULTIPLICITY: &str = "multiplicity";

/// Beyond the words that bases derive from.
const SHIFT: u64 = 1 << 40;
/// A set is a bit of a mask.
const MOST_SETS: u64 = 56;

/// The list entry.
pub static VARIANT: Variant = Variant::of::<Shifting>(Facts {
    id: 63,
    slug: "shifting",
    entry: "§5",
    question: "Which of two sets is it in, or how often did it come, in half the hashes?",
    name: "Shifting Bloom filter",
    paper: "T. Yang, A. X. Liu, M. Shahzad, Y. Zhong, Q. Fu, Z. Li, G. Xie, X. Li, A shifting Bloom filter framework \
            for set queries, PVLDB 9(5), 2016",
    family: "grouping",
    needs: &["membership", "groups", "count", "delete", "fast"],
    input: Input::valued(ValueKind::Label),
    meaning: "items are distinct keys to plan for, and records when counted; labels name sets in the association \
              forms and are ignored elsewhere; the rate is that of queries that name a set, or of all",
    forms: &[
        Form::exact(MEMBERSHIP, &[Ability::Insert]),
        Form::exact(ASSOCIATION, &[]),
        Form::exact(MULTIPLICITY, &[Ability::Count]),
        Form::removing("counting-membership", &[Ability::Insert, Ability::Remove]),
        Form::removing("counting-association", &[Ability::Insert, Ability::Remove]),
        Form::removing(
            "counting-multiplicity",
            &[Ability::Insert, Ability::Remove, Ability::Count],
        ),
    ],
    params: &[
        PARAM_M,
        PARAM_K,
        Param::integer("c", 1, 1 << 16, "largest multiplicity, of the multiplicity forms")
            .or(Preset::Integer(20)),
        // Every region has an offset of its own.
        Param::integer(
            "regions",
            2,
            SPAN,
            "combinations of sets, of the association forms: 3 for two sets",
        )
        .or(Preset::Integer(16)),
        Param { help: "bits per counter, of the counting forms", ..PARAM_WIDTH },
    ],
    reach: 1_000_000,
    ..Facts::COLLECTED
});

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shared_tests::lies_are_refused;
    use crate::{Opener, to_bytes};

    #[test]
    fn files_of_another_form_are_refused() {
        for form in VARIANT.forms {
            let goal = Goal::new(10, 0.05).set("form", form.name);
            let record = Record::key(b"key").with(Value::Label(b"set"));
            let filter = VARIANT.build_from(&goal, &[record]).unwrap();
            let filter: &Shifting = filter.as_same().unwrap();
            let counting = filter.counts();
            for other in VARIANT.forms.iter().filter(|other| other.name != form.name) {
                let head = Head { form: other.name, ..filter.head.clone() };
                let forged = Shifting { head, ..filter.clone() };
                let task = Task::of(other.name);
                // The cells of pairs are also those of multiplicities up to 57.
                let fits = task == filter.task()
                    || (filter.task(), task) == (Task::Membership, Task::Multiplicity);
                let same = fits && (!counting || forged.counts());
                // Bits are counters of one bit, whose table may be empty.
                let opened = Opener::new().decode(&to_bytes(&forged));
                assert!(opened.is_err() || same, "{} as {}", form.name, other.name);
            }
            let lies: [fn(&mut Shifting); 2] = [|f| f.span += 1, |f| f.masks.push(1 << 60)];
            lies_are_refused(filter, lies);
        }
    }
}
