//! Blooming trees: a minimal perfect hash of bitmaps and population counts (Lu, Prabhakar, Bonomi 2005;
//! catalogue B1; S0 §II-C1, reference 14).
//!
//! Keys fall into m buckets. A bucket with one key is a leaf; the keys of one with more are split by the next
//! bit of their hash, again and again, until each is alone. Every level is two bitmaps: which nodes hold a key,
//! and which of those hold more than one:
//!
//! ```text
//!   level 0   nodes  1 0 1 1 0      buckets with a key                 a │ │ b c │ d │
//!             forks  0   1 0        … with more than one                      ↓
//!   level 1   nodes      1 1        two bits for each fork: its children    b   c
//!             forks      0 0        leaves, from top to bottom: a d b c, the numbers 0 1 2 3
//! ```
//!
//! A key's number is that of its leaf, found with one rank per bitmap and level: how many nodes come before it
//! says which fork flag is its own, how many forks come before that says which children are. So the n keys get
//! the numbers 0 to n − 1, in 4.02 bits a key at m = n, and the build cannot fail. `perfect-hash` takes 2.57 bits
//! for that; here nothing is solved, and a key of another set is often known by an empty node: 45 % are, at m = n.
//!
//! That alone is a poor membership test, so that the filter keeps a fingerprint of j bits for each number: a
//! non-member passes if it reaches a leaf and has its fingerprint, 0.548·2^−j.
//!
//! **Use it** for tables of values of a fixed set of keys ([`BloomingTree::index`]), or if queries must use only
//! bitmaps. **Don't** if space matters (`ribbon`, `perfect-hash`).

use crate::cells::{Bits, Packed, Ranked};
use crate::filter::compared;
use crate::hash::multiply_shift;
use crate::parts::static_set::{self, StaticSet, static_set};
use crate::plan::fingerprint::{Fingerprints, MAX_FINGERPRINT, MEANING, PARAM_FINGERPRINT};
use crate::theory::fingerprint::false_positives;
use crate::threads::Cores;
use crate::variant::prelude::*;

/// A fixed set whose keys have the numbers 0 to n − 1, with a fingerprint for each.
///
/// ```
/// use everbloom::keyvalue::BloomingTree;
///
/// let fruits = ["apple", "pear", "fig"];
/// let tree = BloomingTree::from_keys(fruits, 0.000001)?;
/// let mut numbers = fruits.map(|fruit| tree.index(fruit).expect("a member"));
/// numbers.sort();
/// assert_eq!(numbers, [0, 1, 2]);
/// assert!(tree.contains("fig") && !tree.contains("plum"));
/// # Ok::<(), everbloom::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct BloomingTree {
    head: Head,
    levels: Vec<Level>,
    fingerprints: Packed,
}

state!(BloomingTree { head, levels, fingerprints });

/// One level of the tree.
#[derive(Clone, Debug, PartialEq)]
struct Level {
    /// Leaves of the levels above.
    before: u64,
    /// Which nodes hold a key.
    nodes: Ranked,
    /// Which of those hold more than one.
    forks: Ranked,
}

state!(plain Level { before, nodes, forks });

impl Level {
    fn leaves(&self) -> u64 {
        self.nodes.bits().ones() - self.forks.bits().ones()
    }
}

/// Salts of the bucket, the fingerprint, and the first 64 bits that keys are split by.
const BUCKET: u64 = 0x54;
const FINGERPRINT: u64 = 0x55;
const DIGITS: u64 = 0x100;

/// Deeper trees have keys that hash alike under every salt.
const MAX_LEVELS: u64 = 1024;

/// The bit that splits a key's node at level `t`.
#[inline]
fn digit(digest: Digest, t: u64) -> u64 {
    digest.word(DIGITS + t / 64) >> (t % 64) & 1
}

impl BloomingTree {
    /// The filter of these keys, with `ratio` buckets a key (0.5 to 3) and fingerprints of `fingerprint_bits` bits.
    pub fn with_shape<I>(keys: I, ratio: f64, fingerprint_bits: u32, hasher: Hasher) -> Result<Self>
    where
        I: IntoIterator<Item: Key>,
    {
        if !RATIOS.contains(&ratio) {
            return Err(Error::setting("ratio", ratio, "there are 0.5 to 3 buckets a key"));
        }
        let shape = Shape { ratio, bits: Fingerprints::of(fingerprint_bits, MAX_FINGERPRINT) };
        static_set::shaped(&shape, FORM, hasher, keys)
    }

    /// The key's number, 0 to n − 1, different for all members. A non-member has none, or some member's.
    pub fn index<K: Key + ?Sized>(&self, key: &K) -> Option<u64> {
        find(&self.levels, self.head.hasher.digest(key))
    }

    /// Number of levels.
    pub fn levels(&self) -> usize {
        self.levels.len()
    }

    /// Keys that are alone in a node of each level.
    pub fn leaves(&self) -> impl Iterator<Item = u64> + '_ {
        self.levels.iter().map(Level::leaves)
    }

    /// Bits of the tree, without the counts that make ranks quick and without the fingerprints.
    pub fn tree_bits(&self) -> u64 {
        let bits = |level: &Level| level.nodes.bits().len() + level.forks.bits().len();
        self.levels.iter().map(bits).sum()
    }

    /// The share of non-members that get a number: a leaf of level t is reached by one of m·2^t.
    pub fn reached(&self) -> f64 {
        let Some(top) = self.levels.first() else { return 0.0 };
        let m = top.nodes.bits().len() as f64;
        let share = |(t, level): (i32, &Level)| level.leaves() as f64 / (m * 2f64.powi(t));
        (0..).zip(&self.levels).map(share).sum()
    }

    fn check(&self) -> Result<()> {
        let (mut leaves, mut nodes) = (0, self.levels.first().map(|top| top.nodes.bits().len()));
        let sound = self.levels.iter().all(|level| {
            let (ones, forks) = (level.nodes.bits().ones(), level.forks.bits());
            let fits = nodes == Some(level.nodes.bits().len())
                && forks.len() == ones
                && level.before == leaves;
            nodes = forks.ones().checked_mul(2);
            leaves += ones.saturating_sub(forks.ones());
            fits
        });
        let ended = self.levels.is_empty() || nodes == Some(0);
        let top = self.levels.first().is_none_or(|top| !top.nodes.bits().is_empty());
        let known = self.levels.len() as u64 <= MAX_LEVELS && ended && top && sound;
        if known && leaves == self.head.items && leaves == self.fingerprints.len() {
            return Ok(());
        }
        Err(Error::corrupt(0, "corrupt filter: levels that do not follow each other"))
    }
}

/// One level of groups of keys that share a node, and the groups that are left.
fn split(
    digests: &mut [Digest],
    groups: &[(usize, usize)],
    t: u64,
) -> (Bits, Bits, Vec<(usize, usize)>) {
    let mut nodes = Bits::new(2 * groups.len() as u64);
    let mut children = Vec::new();
    for (group, &(start, end)) in (0..).zip(groups) {
        let keys = &mut digests[start..end];
        keys.sort_by_key(|digest| digit(*digest, t));
        let ones = start + keys.partition_point(|digest| digit(*digest, t) == 0);
        for (child, (start, end)) in [(start, ones), (ones, end)].into_iter().enumerate() {
            if end > start {
                nodes.set(2 * group + child as u64);
                children.push((start, end));
            }
        }
    }
    let (forks, left) = forked(&children);
    (nodes, forks, left)
}

/// Which groups have more than one key, as bits and by themselves.
fn forked(groups: &[(usize, usize)]) -> (Bits, Vec<(usize, usize)>) {
    let mut forks = Bits::new(groups.len() as u64);
    let more = |(i, group): (u64, &(usize, usize))| {
        (group.1 - group.0 > 1).then(|| {
            forks.set(i);
            *group
        })
    };
    let left = (0..).zip(groups).filter_map(more).collect();
    (forks, left)
}

/// The levels of a tree with m buckets.
fn grow(mut digests: Vec<Digest>, m: u64) -> Result<Vec<Level>> {
    let bucket = |digest: &Digest| multiply_shift(digest.word(BUCKET), m);
    digests.sort_by_cached_key(|digest| (bucket(digest), digest.h1, digest.h2));
    let (mut nodes, mut groups, mut start) = (Bits::try_new(m)?, Vec::new(), 0);
    for group in digests.chunk_by(|a, b| bucket(a) == bucket(b)) {
        nodes.set(bucket(&group[0]));
        groups.push((start, start + group.len()));
        start += group.len();
    }
    let (mut forks, mut left) = forked(&groups);
    let (mut levels, mut before) = (Vec::new(), 0);
    loop {
        let level =
            Level { before, nodes: Ranked::try_new(nodes)?, forks: Ranked::try_new(forks)? };
        before += level.leaves();
        levels.push(level);
        if left.is_empty() {
            return Ok(levels);
        }
        let t = levels.len() as u64 - 1;
        if t + 1 >= MAX_LEVELS {
            let message =
                "some keys cannot be distinguished: build with another seed, or with a secret key";
            return Err(Error::parameter(message));
        }
        (nodes, forks, left) = split(&mut digests, &left, t);
    }
}

/// The share of non-members that reach a leaf with `lambda` keys a bucket: a node with k keys lets g(k) of them
/// through, g(k) = Σ C(k,i)·2^−k·g(i).
pub fn reaching(lambda: f64) -> f64 {
    mean(lambda, |k, halves| match k {
        0 => 0.0,
        1 => 1.0,
        _ => halves / (1.0 - libm::exp2(-(k as f64))),
    })
}

/// Bits of the tree per bucket with `lambda` keys a bucket: a bit for the bucket, one for the flag of a node with
/// keys, two for the children of one with more.
pub fn bits_per_bucket(lambda: f64) -> f64 {
    let below = |k: usize, halves: f64| {
        let none = libm::exp2(-(k as f64));
        if k < 2 { 0.0 } else { (2.0 + 2.0 * (1.0 - none) + 2.0 * halves) / (1.0 - 2.0 * none) }
    };
    1.0 - libm::expm1(-lambda) + mean(lambda, below)
}

/// The mean over buckets of what `f` says of k keys, given the mean over smaller halves Σ_{i<k} C(k,i)·2^−k·f(i).
fn mean(lambda: f64, f: impl Fn(usize, f64) -> f64) -> f64 {
    const MOST: usize = 60;
    let (mut values, mut weights) = (Vec::with_capacity(MOST), vec![1.0]);
    let (mut poisson, mut sum) = (libm::exp(-lambda), 0.0);
    for k in 0..MOST {
        // weights[i] = C(k,i)·2^−k.
        let halves: f64 = weights.iter().zip(&values).map(|(w, v): (&f64, &f64)| w * v).sum();
        values.push(f(k, halves));
        sum += poisson * values[k];
        poisson *= lambda / (k + 1) as f64;
        let next = |i: usize| {
            let at = |i: Option<usize>| i.and_then(|i| weights.get(i)).copied().unwrap_or(0.0);
            0.5 * (at(Some(i)) + at(i.checked_sub(1)))
        };
        weights = (0..=k + 1).map(next).collect();
    }
    sum
}

/// The number of the leaf that a key comes to.
#[inline]
fn find(levels: &[Level], digest: Digest) -> Option<u64> {
    let mut at = multiply_shift(digest.word(BUCKET), levels.first()?.nodes.bits().len());
    for (t, level) in (0..).zip(levels) {
        if !level.nodes.get(at) {
            return None;
        }
        let node = level.nodes.rank(at);
        let forks = level.forks.rank(node);
        if !level.forks.get(node) {
            return Some(level.before + node - forks);
        }
        at = 2 * forks + digit(digest, t);
    }
    None
}

impl StaticSet for BloomingTree {
    type Word = Digest;

    fn assemble(shape: &Shape, head: Head, digests: Vec<Digest>, cores: Cores) -> Result<Self> {
        let (digests, items) = static_set::distinct(digests, cores);
        let (j, _) = shape.settle(items)?;
        let levels =
            if items == 0 { Vec::new() } else { grow(digests.clone(), shape.buckets(items))? };
        let head = shape.bits.head(head, items, reaching(1.0 / shape.ratio) * false_positives(j));
        let number = |digest| find(&levels, digest);
        let fingerprints = static_set::fingerprints(&digests, j, FINGERPRINT, number)?;
        Ok(Self { head, levels, fingerprints })
    }

    #[inline]
    fn has(&self, digest: Digest) -> bool {
        let number = find(&self.levels, digest);
        static_set::is_at(&self.fingerprints, number, digest.word(FINGERPRINT))
    }
}

/// Buckets a key, and what the goal says of the fingerprints; their number comes with the records.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    ratio: f64,
    bits: Fingerprints,
}

impl Shape {
    fn buckets(&self, n: u64) -> u64 {
        ((n as f64 * self.ratio).ceil() as u64).max(1)
    }

    /// Bits of the tree for `n` keys, on average.
    fn tree_bits(&self, n: u64) -> f64 {
        let m = self.buckets(n) as f64;
        if n == 0 { 0.0 } else { m * bits_per_bucket(n as f64 / m) }
    }

    /// Fingerprint bits and bits in all for `n` keys, if they fit.
    fn settle(&self, n: u64) -> Result<(u32, u64)> {
        let tree = self.tree_bits(n);
        let j = self.bits.settle(n, n as f64, tree + 6.0 * bits_sd(n))?;
        Ok((j, (n as f64 * f64::from(j) + tree).ceil() as u64))
    }
}

/// How much the bits of trees of `n` keys differ: measured, 1.5·√n at m = n.
fn bits_sd(n: u64) -> f64 {
    2.0 * (n as f64).sqrt()
}

impl Plan for BloomingTree {
    type Shape = Shape;

    fn plan(request: &Request<'_>) -> Result<Shape> {
        let ratio = request.real(PARAM_RATIO.name).unwrap_or(1.0);
        let margin = reaching(1.0 / ratio);
        let shape = Shape {
            ratio,
            bits: Fingerprints::plan(request, &PARAM_FINGERPRINT, MAX_FINGERPRINT, margin),
        };
        // What does not fit the keys that are announced is refused before they are read.
        shape.settle(request.goal_items().unwrap_or(0))?;
        Ok(shape)
    }

    fn expect(shape: &Shape, load: &Load) -> Option<Expect> {
        let n = load.distinct;
        let (j, bits) = shape.settle(n).ok()?;
        let reached = if n == 0 { 0.0 } else { reaching(n as f64 / shape.buckets(n) as f64) };
        Some(Expect::one_sided(reached * false_positives(j), bits, None))
    }
}

face!(BloomingTree: Bulk);
static_set!(BloomingTree);

impl Filter for BloomingTree {
    fn now(&self) -> Rates {
        let fpr = self.reached() * false_positives(self.fingerprints.width());
        Rates::one_sided((fpr + self.head.collisions()).min(1.0))
    }

    fn bits_sd(&self) -> f64 {
        bits_sd(self.head.items)
    }

    fn describe(&self) -> Vec<Fact> {
        let keys = self.head.items.max(1) as f64;
        vec![
            fact("buckets", self.levels.first().map_or(0, |top| top.nodes.bits().len())),
            fact("levels", self.levels.len() as u64),
            fact("fingerprint bits", self.fingerprints.width()),
            real("tree bits per key", self.tree_bits() as f64 / keys),
            real("reached", self.reached()),
        ]
    }

    /// The fingerprint that the key is compared with.
    fn trace(&self, key: &[u8]) -> Vec<Touched> {
        compared(self.index(key), |at| self.fingerprints.get(at), self.contains(key))
    }
}

const RATIOS: std::ops::RangeInclusive<f64> = 0.5..=3.0;

/// m/n.
const PARAM_RATIO: Param =
    Param::real("ratio", 0.5, 3.0, "buckets per key; 1 to 1.5 take the fewest bits")
        .or(Preset::Real(1.0));

/// The list entry.
pub static VARIANT: Variant = Variant::of::<BloomingTree>(Facts {
    id: 98,
    slug: "blooming-tree",
    entry: "B1",
    question: "Which number from 0 to n − 1 does a key of a fixed set have?",
    name: "Blooming tree (minimal perfect hashing)",
    paper: "Y. Lu, B. Prabhakar, F. Bonomi, Perfect hashing for network applications, ISIT 2006",
    family: "keyvalue",
    needs: &["membership", "static"],
    meaning: MEANING,
    forms: &[Form::exact(FORM, &[])],
    operations: &[tell!(
        BloomingTree,
        "number",
        "The number of a member, 0 to n − 1, different for all members.",
        [],
        [Keys],
        |tree, given| Ok(tree
            .index(given.record.key)
            .map_or(Detail::None, |at| Detail::Count(Counted::exactly(at))))
    )],
    params: &[PARAM_RATIO, PARAM_FINGERPRINT],
    ..Facts::COLLECTED
});

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shared_tests::lies_are_refused;
    use crate::{Opener, to_bytes};

    #[test]
    fn files_whose_levels_do_not_follow_are_refused() {
        let build = |n: u64| BloomingTree::with_shape(0..n, 1.0, 5, Hasher::default()).unwrap();
        let good = build(100);
        let lies: [fn(&mut BloomingTree); 8] = [
            |t| t.head.items = 99,
            |t| t.fingerprints = Packed::new(99, 5),
            |t| _ = t.levels.pop(),
            |t| t.levels.clear(),
            |t| t.levels[1].before += 1,
            |t| t.levels.swap(1, 2),
            |t| t.levels[1].forks = Ranked::try_new(Bits::new(0)).unwrap(),
            // Nothing forks in the last level, so that only its length can lie.
            |t| {
                let forks = &mut t.levels.last_mut().unwrap().forks;
                *forks = Ranked::try_new(Bits::new(forks.bits().len() + 1)).unwrap();
            },
        ];
        lies_are_refused(&good, lies);
        for n in [0, 1, 2] {
            let small = build(n);
            assert_eq!(Opener::new().decode_as::<BloomingTree>(&to_bytes(&small)).unwrap(), small);
        }
    }
}
