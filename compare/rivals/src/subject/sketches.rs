//! Sketches: they count keys, and are asked for counts.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use datasketches::countmin::CountMinSketch;
use datasketches::hll::{HllSketch, HllType};
use everbloom::sketches::{HyperLogLog, TopK};
use everbloom::sketches::CountMin;
use hyperloglogplus::{HyperLogLog as _, HyperLogLogPF, HyperLogLogPlus};

use super::fold;

/// A sketch, fed with keys and asked for keys.
pub trait Sketch {
    /// Counts the keys.
    fn update(&mut self, keys: &[u64]);
    /// What it says of the keys: the sum of their counts, the number of all keys, or how many of them are heavy.
    fn query(&mut self, keys: &[u64]) -> f64;
}

struct Fed<S, U, Q> {
    sketch: S,
    update: U,
    query: Q,
}

impl<S, U: Fn(&mut S, &[u64]), Q: Fn(&mut S, &[u64]) -> f64> Sketch for Fed<S, U, Q> {
    fn update(&mut self, keys: &[u64]) {
        (self.update)(&mut self.sketch, keys);
    }

    fn query(&mut self, keys: &[u64]) -> f64 {
        (self.query)(&mut self.sketch, keys)
    }
}

fn fed<S: 'static>(
    sketch: S,
    update: impl Fn(&mut S, &[u64]) + 'static,
    query: impl Fn(&mut S, &[u64]) -> f64 + 'static,
) -> Option<Box<dyn Sketch>> {
    Some(Box::new(Fed { sketch, update, query }))
}

/// A name, and how to make an empty sketch.
pub type Named = (&'static str, fn() -> Option<Box<dyn Sketch>>);

/// 2^14 registers of six bits.
const P: u8 = 14;

/// HyperLogLogs, ours first.
pub const HYPERLOGLOG: &[Named] = &[
    ("everbloom hyperloglog", || {
        fed(
            HyperLogLog::with_precision(P.into()).ok()?,
            |s, keys| keys.iter().for_each(|key| _ = s.insert(key)),
            |s, _| s.estimate(),
        )
    }),
    ("everbloom hyperloglog, batch", || {
        fed(
            HyperLogLog::with_precision(P.into()).ok()?,
            |s, keys| s.insert_many(keys),
            |s, _| s.estimate(),
        )
    }),
    // The estimate that depends on the registers alone, as all others here do.
    ("datasketches Hll6", || {
        fed(
            HllSketch::new(P, HllType::Hll6).ok()?,
            |s, keys| keys.iter().for_each(|key| s.update(key)),
            |s, _| s.composite_estimate(),
        )
    }),
    ("hyperloglogplus PF + foldhash", || {
        fed(
            HyperLogLogPF::<u64, _>::new(P, fold()).ok()?,
            |s, keys| keys.iter().for_each(|key| s.insert(key)),
            |s, _| s.count(),
        )
    }),
    ("hyperloglogplus Plus + foldhash", || {
        fed(
            HyperLogLogPlus::<u64, _>::new(P, fold()).ok()?,
            |s, keys| keys.iter().for_each(|key| s.insert(key)),
            |s, _| s.count(),
        )
    }),
];

/// ε and δ of count-min sketches: 27,183 counters in each of five rows.
pub const EPSILON: f64 = 1e-4;
const DELTA: f64 = 0.01;
const W: usize = 27_183;
const D: usize = 5;

/// The sum of numbers.
fn sum(counts: impl Iterator<Item = u64>) -> f64 {
    counts.sum::<u64>() as f64
}

/// Count-min sketches with counters of 64 bits, ours first.
pub const COUNT_MIN: &[Named] = &[
    ("everbloom count-min", || {
        fed(
            CountMin::with_error(EPSILON, DELTA).ok()?,
            |s, keys| keys.iter().for_each(|key| _ = s.insert(key)),
            |s, keys| sum(keys.iter().map(|key| s.count(key))),
        )
    }),
    ("everbloom count-min, batch", || {
        fed(
            CountMin::with_error(EPSILON, DELTA).ok()?,
            |s, keys| _ = s.insert_many(keys),
            |s, keys| keys.chunks(4096).map(|keys| sum(s.count_many(keys).into_iter())).sum(),
        )
    }),
    ("datasketches count-min", || {
        fed(
            CountMinSketch::<u64>::new(D as u8, W as u32).ok()?,
            |s, keys| keys.iter().for_each(|key| s.update(key)),
            |s, keys| sum(keys.iter().map(|key| s.estimate(key))),
        )
    }),
    ("pdatastructs + foldhash", || {
        use pdatastructs::countminsketch::CountMinSketch;
        fed(
            CountMinSketch::<u64, u64, Fixed>::with_params_and_hasher(W, D, Fixed),
            |s, keys| keys.iter().for_each(|key| _ = s.add(key)),
            |s, keys| sum(keys.iter().map(|key| s.query_point(key))),
        )
    }),
    ("probabilistic-collections + foldhash", || {
        use foldhash::fast::FixedState;
        use probabilistic_collections::count_min_sketch::{CountMinSketch, CountMinStrategy};
        let hashers = [1, 2].map(FixedState::with_seed);
        fed(
            CountMinSketch::<CountMinStrategy, u64, _>::with_hashers(D, W, hashers),
            |s, keys| keys.iter().for_each(|key| s.insert(key, 1)),
            |s, keys| sum(keys.iter().map(|key| s.count(key).cast_unsigned())),
        )
    }),
];

/// foldhash for a crate that compares its builders.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Fixed;

impl std::hash::BuildHasher for Fixed {
    type Hasher = super::tables::Fold;

    fn build_hasher(&self) -> Self::Hasher {
        Self::Hasher::default()
    }
}

/// How many keys are listed, and the rows behind the lists.
pub const K: usize = 100;
const WIDTH: usize = 8192;
const DEPTH: usize = 4;
const DECAY: f64 = 0.9;

/// How many of the keys are listed.
fn listed(listed: impl Iterator<Item = u64>, keys: &[u64]) -> f64 {
    listed.filter(|key| keys.contains(key)).count() as f64
}

fn our_top_k() -> Option<TopK> {
    let builder = TopK::builder().set("k", K as u64).set("w", WIDTH as u64);
    builder.set("d", DEPTH as u64).build().ok()
}

fn our_list(sketch: &mut TopK, keys: &[u64]) -> f64 {
    let key = |(key, _): (&[u8], u64)| key.try_into().map(u64::from_le_bytes).ok();
    listed(sketch.list().filter_map(key), keys)
}

/// The heaviest keys, ours first.
pub const TOP_K: &[Named] = &[
    ("everbloom top-k", || {
        fed(our_top_k()?, |s, keys| keys.iter().for_each(|key| _ = s.add(key, 1)), our_list)
    }),
    ("everbloom top-k, batch", || fed(our_top_k()?, |s, keys| s.add_many(keys), our_list)),
    ("heap over datasketches count-min", || {
        fed(
            Heap::new()?,
            |s, keys| keys.iter().for_each(|key| s.add(*key)),
            |s, keys| listed(s.counts.keys().copied(), keys),
        )
    }),
    ("heavykeeper TopK + foldhash", || {
        fed(
            heavykeeper::TopK::<u64, _>::with_hasher(K, WIDTH, DEPTH, DECAY, fold()),
            |s, keys| keys.iter().for_each(|key| s.add(key, 1)),
            |s, keys| listed(s.list().into_iter().map(|node| node.item), keys),
        )
    }),
    ("heavykeeper BucketedTopK", || {
        fed(
            heavykeeper::BucketedTopK::<u64>::new(K, WIDTH, DEPTH, DECAY),
            |s, keys| keys.iter().for_each(|key| s.add(key, 1)),
            |s, keys| listed(s.list().into_iter().map(|node| node.item), keys),
        )
    }),
];

/// The keys of the largest counts of a count-min sketch. Counts in the heap may be old ones: whoever comes up with
/// one is put back with the count that it has by now.
struct Heap {
    sketch: CountMinSketch<u64>,
    counts: HashMap<u64, u64, foldhash::fast::FixedState>,
    least: BinaryHeap<Reverse<(u64, u64)>>,
}

impl Heap {
    fn new() -> Option<Self> {
        Some(Self {
            sketch: CountMinSketch::new(DEPTH as u8, WIDTH as u32).ok()?,
            counts: HashMap::with_hasher(fold()),
            least: BinaryHeap::new(),
        })
    }

    fn add(&mut self, key: u64) {
        self.sketch.update(key);
        let count = self.sketch.estimate(key);
        let least = self.least.peek().map_or(0, |Reverse((count, _))| *count);
        if count <= least && self.counts.len() == K {
            return;
        }
        if self.counts.insert(key, count).is_none() {
            self.least.push(Reverse((count, key)));
        }
        while self.counts.len() > K {
            let Some(Reverse((old, key))) = self.least.pop() else { return };
            match self.counts.get(&key) {
                Some(&count) if count > old => self.least.push(Reverse((count, key))),
                _ => _ = self.counts.remove(&key),
            }
        }
    }
}
