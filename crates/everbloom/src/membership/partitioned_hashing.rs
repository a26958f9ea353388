//! Partitioned hashing (Hao, Kodialam, Lakshman 2007; catalogue R12; S3 §IV-B).
//!
//! A set known in advance is split into small groups by a hash of their own. Group after group, t
//! candidate sets of k hash functions are tried on all keys of the group, the one that adds the fewest
//! ones is kept, and a table remembers which it was. A query looks up its group's choice and reads k bits:
//!
//! ```text
//!              group(x) = 2          bits
//!   table   ┌───┬───┬───┬───┐     ┌─────────────────────┐
//!           │ 5 │ 0 │ 3 │ 7 │     │ 0 1 1 0 0 1 0 0 1 0 │
//!           └───┴───┴─┬─┴───┘     └───↑───────↑─────↑───┘
//!                     └─ candidate 3's hashes of x ─┘
//! ```
//!
//! Unlike `two-choices` a stranger has one chance only, f = ρ^k, and the choice is among many. The price
//! is the table, ⌈log2 t⌉ bits a group, and t times the work of building:
//!
//! | 10 bits a key, k = 7 | standard | s = 10, t = 8 | s = 10, t = 16 | s = 5, t = 64 |
//! |---|---|---|---|---|
//! | rate | 0.0082 | 0.0049 | 0.0042 | 0.0023 |
//! | table, bits a key | | 0.3 | 0.4 | 1.2 |
//!
//! Candidates are k fresh functions each (form `fresh`), or, as published, k of H base functions (form
//! `subsets`): H hashes then serve all candidates, but these resemble each other and gain less.
//!
//! **Use it** for fixed sets where the rate matters and building may take long. **Don't** for keys that
//! keep coming: a later key follows its group's choice and is found, but the choice was not made for it.
//! Nor with groups of one or two keys: then the table's bits do more good as cells. Two filters cannot
//! be united, since their tables differ.

use crate::cells::{Bits, Packed};
use crate::memory::check_room;
use crate::plan::MAX_CELLS;
use crate::probe::{Probe, check_search, multiply_shift, place_fewest};
use crate::state::{Decoder, Encoder, State};
use crate::theory::{choice, tail};
use crate::variant::prelude::*;

/// A set in m bits, each group of keys under its own choice of k hash functions.
#[derive(Clone, Debug, PartialEq)]
pub struct PartitionedHashing {
    head: Head,
    candidates: Candidates,
    /// What each group has chosen; empty where there is one candidate only.
    table: Packed,
    bits: Bits,
}

state!(PartitionedHashing { head, candidates, table, bits });

/// The sets of k hash functions to choose from.
#[derive(Clone, Debug, PartialEq)]
struct Candidates {
    /// k probes, under a salt for each candidate; or H > k of which a candidate takes k.
    probe: Probe,
    k: u32,
    count: u64,
    /// Which of the H probes each candidate takes, derived from the rest; empty for fresh functions.
    masks: Vec<u64>,
}

impl Candidates {
    /// `None` for numbers that do not go together.
    fn new(probe: Probe, k: u32, count: u64) -> Option<Self> {
        let base = probe.k();
        let (most, masks) = if base == k {
            (MAX_CANDIDATES, 0)
        } else if k >= 1 && k < base && base <= MAX_BASE {
            (choose(base, k).min(MAX_CANDIDATES), count)
        } else {
            return None;
        };
        if !(1..=most).contains(&count) {
            return None;
        }
        let masks = (0..masks).map(|candidate| subset(base, k, candidate, count)).collect();
        Some(Self { probe, k, count, masks })
    }

    /// Whether `f` holds for every cell of a key under one candidate.
    #[inline]
    fn all(&self, digest: Digest, candidate: u64, mut f: impl FnMut(u64) -> bool) -> bool {
        if self.masks.is_empty() {
            return self.probe.all(digest.salted(candidate), f);
        }
        let mut taken = self.masks[candidate as usize];
        self.probe.all(digest, |i| {
            let skip = taken & 1 == 0;
            taken >>= 1;
            skip || f(i)
        })
    }

    #[inline]
    fn each(&self, digest: Digest, candidate: u64, mut f: impl FnMut(u64)) {
        self.all(digest, candidate, |i| {
            f(i);
            true
        });
    }
}

impl State for Candidates {
    fn save<'a>(&'a self, name: &'static str, out: &mut Encoder<'a>) {
        out.group(name, |out| {
            self.probe.save("probe", out);
            self.k.save("k", out);
            self.count.save("count", out);
        });
    }

    fn load(name: &'static str, src: &mut Decoder<'_>) -> Result<Self> {
        src.group(name, |src| {
            let probe = Probe::load("probe", src)?;
            let (k, count) = (u32::load("k", src)?, u64::load("count", src)?);
            let base = probe.k();
            Self::new(probe, k, count)
                .ok_or_else(|| src.corrupt(format!("{count} candidates of {k} of {base} hashes")))
        })
    }
}

/// The most candidates a group may choose from.
const MAX_CANDIDATES: u64 = 1 << 16;

/// The most base functions: one bit each in a word.
const MAX_BASE: u32 = 64;

/// Number of k-subsets of `base` functions, base ≤ 64.
fn choose(base: u32, k: u32) -> u64 {
    // C(64, 32) is below 2⁶¹; the product before the division below 2⁶⁷.
    let step = |c: u128, i: u32| c * u128::from(base - i) / u128::from(i + 1);
    if k > base { 0 } else { (0..k).fold(1, step) as u64 }
}

/// The subset that is candidate number `candidate` of `count`, as a mask. Of all k-subsets in
/// lexicographic order every (C/count)-th is one: the first `count` would all share most functions and
/// gain little (k = 7, H = 14, t = 16: a rate of 0.0062 instead of 0.0053).
fn subset(base: u32, k: u32, candidate: u64, count: u64) -> u64 {
    let all = u128::from(choose(base, k));
    let mut rank = (u128::from(candidate) * all / u128::from(count)) as u64;
    let (mut mask, mut left) = (0, k);
    for i in 0..base {
        if left == 0 {
            break;
        }
        // So many subsets of what is left take function i; they come first.
        let with = choose(base - i - 1, left - 1);
        if rank < with {
            mask |= 1 << i;
            left -= 1;
        } else {
            rank -= with;
        }
    }
    mask
}

/// The salt of the hash that assigns groups.
const GROUP: u64 = 0x67_726f_7570;

#[inline]
fn group(digest: Digest, groups: u64) -> u64 {
    multiply_shift(digest.word(GROUP), groups)
}

impl PartitionedHashing {
    /// The filter of these keys, as many as the goal says unless it says nothing.
    ///
    /// ```
    /// use everbloom::{membership::PartitionedHashing, plan::Goal};
    ///
    /// let goal = Goal { fpr: Some(0.001), ..Goal::default() };
    /// let filter = PartitionedHashing::of(&["apple", "pear", "plum"], &goal)?;
    /// assert!(filter.contains("apple") && filter.contains("plum"));
    /// # Ok::<(), everbloom::error::Error>(())
    /// ```
    pub fn of<K: Key>(keys: &[K], goal: &Goal) -> Result<Self> {
        let items = goal.items.or(Some(keys.len().max(1) as u64));
        let goal = Goal { items, ..goal.clone() };
        let (shape, head) = crate::variant::settle::<Self>(&goal)?;
        let digests = keys.iter().map(|key| head.hasher.digest(key)).collect();
        Self::empty(&shape, head)?.search(&shape, digests)
    }

    fn empty(shape: &Shape, head: Head) -> Result<Self> {
        let Shape { flat: Flat { m, k }, base, count, groups } = *shape;
        check_room(shape.bits())?;
        let candidates = Candidates::new(Probe::over(m, base), k, count).ok_or_else(|| {
            Error::parameter(format!("{count} candidates of {k} of {base} hashes"))
        })?;
        let table = Packed::new(if count > 1 { groups } else { 0 }, width(count).max(1));
        Ok(Self { head, candidates, table, bits: Bits::new(m) })
    }

    /// Chooses group after group, greedily.
    fn search(self, shape: &Shape, mut keys: Vec<Digest>) -> Result<Self> {
        let probes = (keys.len() as u64).saturating_mul(shape.base.into());
        check_search(PARAM_T.name, shape.count, probes)?;
        let Self { mut head, candidates, mut table, mut bits } = self;
        head.count(keys.len() as u64);
        let groups = table.len();
        keys.sort_unstable_by_key(|key| group(*key, groups));
        for keys in keys.chunk_by(|a, b| group(*a, groups) == group(*b, groups)) {
            let (chosen, _) = place_fewest(&mut bits, candidates.count, |candidate, mark| {
                keys.iter().for_each(|key| candidates.each(*key, candidate, &mut *mark));
            });
            if groups > 0 {
                table.set(group(keys[0], groups), chosen);
            }
        }
        Ok(Self { head, candidates, table, bits })
    }

    #[inline]
    fn choice(&self, digest: Digest) -> u64 {
        if self.table.is_empty() { 0 } else { self.table.get(group(digest, self.table.len())) }
    }

    /// Inserts a key by what its group has chosen. It is found from now on, but the choice was made
    /// without it.
    #[inline]
    pub fn insert<K: Key + ?Sized>(&mut self, key: &K) -> Seen {
        let digest = self.head.hasher.digest(key);
        let choice = self.choice(digest);
        let bits = &mut self.bits;
        let mut new = false;
        self.candidates.each(digest, choice, |i| new |= bits.set(i));
        self.head.count(1);
        if new { Seen::New } else { Seen::Maybe }
    }

    /// Whether the key may be a member.
    #[inline]
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        let digest = self.head.hasher.digest(key);
        self.candidates.all(digest, self.choice(digest), |i| self.bits.get(i))
    }

    /// Number of bits, the table apart.
    pub fn m(&self) -> u64 {
        self.bits.len()
    }

    /// Number of probes per key.
    pub fn k(&self) -> u32 {
        self.candidates.k
    }

    /// The choices of the groups, in ⌈log2 t⌉ bits each.
    pub fn table(&self) -> &Packed {
        &self.table
    }

    /// The bits.
    pub fn bits(&self) -> &Bits {
        &self.bits
    }

    fn check(&self) -> Result<()> {
        let Candidates { probe, k, count, .. } = &self.candidates;
        probe.check_flat(self.bits.len())?;
        let form = self.head.form == SUBSETS || probe.k() == *k;
        let table = match count {
            1 => (self.table.len(), self.table.width()) == (0, 1),
            _ => !self.table.is_empty() && self.table.width() == width(*count),
        };
        // A field without spare values cannot hold a wrong one.
        let known = || count.is_power_of_two() || self.table.iter().all(|c| c < *count);
        if form && table && known() {
            Ok(())
        } else {
            Err(Error::corrupt(
                0,
                "corrupt filter: the table of choices does not fit the candidates",
            ))
        }
    }
}

/// Bits of one choice among `count`.
fn width(count: u64) -> u32 {
    u64::BITS - count.saturating_sub(1).leading_zeros()
}

/// Ones that a group of `size` keys on average adds where a share `z` of the bits is zero, if it has
/// `count` candidates of `k` fresh functions: mean and variance.
///
/// Group sizes are Poisson; what their spread does to one group is made up for by the others, since
/// all keys together are n: the variance is the one around the straight line through the sizes.
fn added(size: f64, k: u32, count: u64, luck: (f64, f64), z: f64) -> (f64, f64) {
    let throws = size * f64::from(k);
    if size > 64.0 {
        // Groups that large are normal, and hardly curved within the spread of their sizes.
        let sigma = (throws * z * (1.0 - z)).sqrt();
        return (throws * z - luck.0 * sigma, (luck.1 * sigma).powi(2));
    }
    let most = (size + 7.0 * size.sqrt() + 12.0) as u64;
    let (mut mean, mut within, mut square, mut with_size) = (0.0, 0.0, 0.0, 0.0);
    for keys in 1..=most {
        let chance = tail::poisson_pmf(size, keys);
        let (ones, variance) = choice::fewest(keys * u64::from(k), z, count);
        mean += chance * ones;
        within += chance * variance;
        square += chance * ones * ones;
        with_size += chance * ones * keys as f64;
    }
    let slope = (with_size - mean * size) / size;
    (mean, (within + square - mean * mean - slope * slope * size).max(0.0))
}

/// Bits and probes, functions and candidates to choose from, groups.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    flat: Flat,
    /// H for subsets, k for fresh functions.
    base: u32,
    count: u64,
    groups: u64,
}

impl Shape {
    /// Cells and table.
    fn bits(&self) -> u64 {
        self.flat.m.saturating_add(table_bits(self.groups, self.count))
    }

    /// Fill after a build of `n` keys, by the equation of large filters (see [`choice`]).
    fn fill(&self, n: u64) -> (f64, f64) {
        let Shape { flat: Flat { m, k }, count, groups, .. } = *self;
        let (size, m) = (n as f64 / groups as f64, m as f64);
        if n == 0 {
            return (0.0, 0.0);
        }
        let luck = choice::largest_normal(count);
        choice::fill_after(groups as f64 / m, m, |z| added(size, k, count, luck, z))
    }
}

fn table_bits(groups: u64, count: u64) -> u64 {
    groups.saturating_mul(width(count).into())
}

impl Plan for PartitionedHashing {
    type Shape = Shape;

    /// The fewest bits over all k. Subsets have no formula: they get the standard filter's size, and
    /// what they gain lowers the rate.
    fn plan(request: &Request<'_>) -> Result<Shape> {
        let fresh = request.form() == FRESH;
        let wanted = request.integer(PARAM_T.name);
        let count = wanted.unwrap_or(16);
        let counted = if fresh { count } else { 1 };
        let size = request.integer(PARAM_SIZE.name).unwrap_or(10).max(1);
        let set = request.integer(PARAM_GROUPS.name);
        let groups_of = |n: u64| set.unwrap_or(n.div_ceil(size)).max(1);
        let luck = choice::largest_normal(counted);
        let cells = |n: u64, p: f64, k: u32| {
            let groups = groups_of(n) as f64;
            let size = n as f64 / groups;
            let fill = libm::pow(p, 1.0 / f64::from(k));
            groups / choice::steps_for(fill, |z| added(size, k, counted, luck, z))
        };
        let rate = |flat: Flat, n: u64| {
            let shape = Shape { flat, base: flat.k, count: counted, groups: groups_of(n) };
            libm::pow(shape.fill(n).0, f64::from(flat.k))
        };
        let extra = |n: u64| table_bits(groups_of(n), count);
        let (flat, items) = Flat::search(request, extra, cells, rate)?;
        let groups = items.map(groups_of).or(set).ok_or_else(|| {
            Error::parameter("--set m without -n needs --set groups, to cut the set into groups")
        })?;
        let (base, count) = if fresh {
            (flat.k, count)
        } else {
            let base = request.integer(PARAM_BASE.name).unwrap_or(2 * u64::from(flat.k));
            subsets(flat.k, base, wanted)?
        };
        let shape = Shape { flat, base, count, groups };
        if shape.bits() > MAX_CELLS {
            return Err(Error::parameter(format!(
                "the choices of {groups} groups take more than {MAX_CELLS} bits: set fewer groups"
            )));
        }
        Ok(shape)
    }

    fn expect(shape: &Shape, load: &Load) -> Option<Expect> {
        if shape.base != shape.flat.k {
            return None;
        }
        let fill = shape.fill(load.distinct);
        let fpr = libm::pow(fill.0, f64::from(shape.flat.k));
        Some(Expect::one_sided(fpr, shape.bits(), Some(fill)))
    }
}

impl Create for PartitionedHashing {
    fn create(shape: &Shape, head: Head, inputs: &mut Inputs<'_>) -> Result<Self> {
        let digests = digests(&head.hasher, inputs.records)?;
        Self::empty(shape, head)?.search(shape, digests)
    }
}

/// H, and the number of candidates: the one wanted, or as many as there are up to 16.
///
/// The paper has k ≤ t ≤ C(H, k) (S3 §IV-B); nothing breaks with fewer than k candidates.
fn subsets(k: u32, base: u64, wanted: Option<u64>) -> Result<(u32, u64)> {
    let base = base.min((MAX_BASE + 1).into()) as u32;
    if k >= base || base > MAX_BASE {
        return Err(Error::parameter(format!(
            "a candidate takes k = {k} of `base` functions, and k < base ≤ {MAX_BASE}: set base or k, or \
             use --set form={FRESH}"
        )));
    }
    let all = choose(base, k);
    match wanted {
        Some(t) if t > all => Err(Error::parameter(format!(
            "there are only {all} ways to take {k} of {base} functions: set t to at most that"
        ))),
        wanted => Ok((base, wanted.unwrap_or(all.min(16)))),
    }
}

face!(PartitionedHashing: Insert);

impl Filter for PartitionedHashing {
    fn query(&self, record: Record<'_>) -> Result<Answer> {
        Ok(Answer::of(self.contains(record.key)))
    }

    fn fill(&self) -> Option<f64> {
        Some(self.bits.ones() as f64 / self.m() as f64)
    }

    fn now(&self) -> Rates {
        let fill = self.bits.ones() as f64 / self.m() as f64;
        Rates::one_sided(libm::pow(fill, f64::from(self.k())))
    }

    fn describe(&self) -> Vec<Fact> {
        let Candidates { probe, k, count, .. } = &self.candidates;
        let mut facts = vec![
            fact("m", self.m()),
            fact("k", *k),
            fact("t", *count),
            fact("groups", self.table.len()),
            text("scheme", probe.scheme().name()),
        ];
        if probe.k() != *k {
            facts.push(fact("base", probe.k()));
        }
        facts
    }
}

keyed!(PartitionedHashing: Insert);

const FRESH: &str = "fresh";
const SUBSETS: &str = "subsets";

const PARAM_T: Param = Param {
    name: "t",
    range: Range::Integer(1, MAX_CANDIDATES),
    default: Preset::Planned,
    help: "candidates a group chooses from, 16 unless set",
};

const PARAM_SIZE: Param = Param {
    name: "size",
    range: Range::Integer(1, 1 << 20),
    default: Preset::Integer(10),
    help: "average number of keys in a group",
};

const PARAM_GROUPS: Param = Param {
    name: "groups",
    range: Range::Integer(1, 1 << 40),
    default: Preset::Planned,
    help: "number of groups, instead of their size",
};

const PARAM_BASE: Param = Param {
    name: "base",
    range: Range::Integer(2, MAX_BASE as u64),
    default: Preset::Planned,
    help: "base functions of which a subset takes k, 2k unless set",
};

/// The list entry.
pub static VARIANT: Variant = Variant {
    facts: Facts {
        id: 22,
        slug: "partitioned-hashing",
        entry: "R12",
        name: "Bloom filter with partitioned hashing",
        paper: "F. Hao, M. Kodialam, T. V. Lakshman, Building high accuracy Bloom filters using \
                partitioned hashing, SIGMETRICS 2007",
        family: "membership",
        needs: &["membership", "accurate", "static"],
        forms: &[
            Form {
                name: FRESH,
                abilities: &[Ability::Insert],
                false_negatives: FalseNegatives::Never,
            },
            Form::exact(SUBSETS, &[Ability::Insert]),
        ],
        params: &[PARAM_M, PARAM_K, PARAM_T, PARAM_SIZE, PARAM_GROUPS, PARAM_BASE],
        build: Build::Collected,
        reach: 1_000_000,
        ..Facts::FILTER
    },
    ops: Ops::of::<PartitionedHashing>(),
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Kind;
    use crate::hash::Hasher;
    use crate::{Opener, to_bytes};

    fn plan(goal: &Goal) -> Result<Shape> {
        PartitionedHashing::plan(&Request::new(&VARIANT, goal)?)
    }

    #[test]
    fn subsets_are_different_and_spread() {
        assert_eq!(
            (choose(14, 7), choose(64, 32), choose(3, 4)),
            (3432, 1_832_624_140_942_590_534, 0)
        );
        for (base, k, count) in [(8, 7, 8), (9, 7, 36), (14, 7, 16), (64, 32, 1000), (2, 1, 2)] {
            let mut masks: Vec<u64> = (0..count).map(|c| subset(base, k, c, count)).collect();
            assert!(masks.iter().all(|m| m.count_ones() == k && m >> (base - 1) <= 1));
            // Every function serves some candidate, and no candidate is there twice.
            assert_eq!(masks.iter().fold(0, |a, m| a | m), u64::MAX >> (64 - base));
            masks.sort_unstable();
            masks.dedup();
            assert_eq!(masks.len() as u64, count);
        }
    }

    #[test]
    fn plans_meet_the_rate_and_count_the_table() {
        for (p, t) in [(0.1, 16), (0.01, 1), (0.01, 16), (1e-6, 256)] {
            let goal = Goal::new(100_000, p).set("t", t);
            let shape = plan(&goal).unwrap();
            let expect = PartitionedHashing::expect(&shape, &Load::items(100_000)).unwrap();
            assert!((expect.fpr / p - 1.0).abs() < 0.005, "{p}, {t}: {}", expect.fpr);
            assert_eq!(expect.bits, shape.flat.m + 10_000 * u64::from(width(t)));
        }
        let goal = Goal { items: Some(1000), bits: Some(10_000), ..Goal::default() };
        let shape = plan(&goal).unwrap();
        assert!((9990..=10_000).contains(&shape.bits()), "{shape:?}");
    }

    #[test]
    fn impossible_choices_are_refused() {
        let refused = |goal: Goal| plan(&goal).unwrap_err().kind() == Kind::BadParameter;
        let subsets = || Goal::new(1000, 0.01).set("form", SUBSETS);
        assert!(refused(subsets().set("k", 7).set("base", 8).set("t", 9)));
        assert!(refused(subsets().set("k", 7).set("base", 7)));
        assert!(refused(subsets().set("k", 40)));
        assert!(plan(&subsets().set("k", 7).set("base", 8).set("t", 8)).is_ok());
        assert!(refused(Goal::default().set("m", 1000).set("k", 7)));
        assert!(plan(&Goal::default().set("m", 1000).set("k", 7).set("groups", 10)).is_ok());
        assert!(refused(Goal::new(u64::MAX, 0.01).set("m", 1000).set("size", 1)));
        let shape = plan(&Goal::new(1_000_000, 0.01).set("t", MAX_CANDIDATES)).unwrap();
        let filter =
            PartitionedHashing::empty(&shape, Head::new(Hasher::default(), FRESH)).unwrap();
        let keys = vec![Digest { h1: 0, h2: 0 }; 1_000_000];
        assert_eq!(filter.search(&shape, keys).unwrap_err().kind(), Kind::BadParameter);
    }

    #[test]
    fn files_with_tables_that_do_not_fit_are_refused() {
        let shape = plan(&Goal::new(100, 0.01).set("t", 5)).unwrap();
        let filter =
            PartitionedHashing::empty(&shape, Head::new(Hasher::default(), FRESH)).unwrap();
        let refused = |f: &PartitionedHashing| Opener::new().decode(&to_bytes(f)).is_err();
        assert!(!refused(&filter));
        let mut wrong = filter.clone();
        wrong.table.set(3, 5);
        assert!(refused(&wrong), "candidate 5 of 0..5");
        assert!(refused(&PartitionedHashing { table: Packed::new(10, 4), ..filter.clone() }));
        assert!(refused(&PartitionedHashing { table: Packed::new(0, 3), ..filter.clone() }));
        for count in [0, 1, MAX_CANDIDATES + 1] {
            let mut other = filter.clone();
            other.candidates.count = count;
            assert!(refused(&other), "{count} candidates");
        }
        for k in [0, filter.k() - 1, filter.k() + 1] {
            let mut subset = filter.clone();
            subset.candidates.k = k;
            assert!(refused(&subset), "fresh functions are no subsets");
        }
    }
}
