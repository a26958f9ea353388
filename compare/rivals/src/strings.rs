//! Strings of 20 bytes: where hashing is most of the work.

use std::hash::BuildHasher;
use std::hint::black_box;

use cpu_time::ThreadTime;
use everbloom::Key;
use everbloom::internals::hash::mix64;
use everbloom::membership::BlockedBloom;

use crate::measure::rounds;
use crate::subject::sbbf_bits;

/// Nanoseconds per hit, miss and insert in every round, of ours one by one and in batches, of sbbf-rs-safe with
/// XXH3, and of fastbloom with foldhash.
#[derive(Default)]
pub struct Times {
    pub ours: Vec<[f64; 3]>,
    pub batch: Vec<[f64; 3]>,
    pub sbbf: Vec<[f64; 3]>,
    pub fastbloom: Vec<[f64; 3]>,
}

fn text(i: u64) -> [u8; 20] {
    let mut text = [0; 20];
    text.copy_from_slice(format!("{:020}", mix64(i)).as_bytes());
    text
}

/// Measures a set of so many strings: as arrays, whose length the compiler knows, and as `&str`.
pub fn run(items: u64, rate: f64) -> [Times; 2] {
    let members: Vec<_> = (0..items).map(text).collect();
    let non_members: Vec<_> = (1 << 40..(1 << 40) + items).map(text).collect();
    let arrays = measured(rate, &members, &non_members);
    let [members, non_members] = [&members, &non_members].map(|texts| {
        texts.iter().map(|text| str::from_utf8(text).expect("digits")).collect::<Vec<_>>()
    });
    [arrays, measured(rate, &members, &non_members)]
}

fn measured<K: Key + AsRef<[u8]>>(rate: f64, members: &[K], non_members: &[K]) -> Times {
    let items = members.len() as u64;
    let fold = foldhash::fast::FixedState::with_seed(1);
    let mut times = Times::default();
    for _ in 0..rounds(items) {
        let mut filter = BlockedBloom::with_rate(items, rate).expect("a possible goal");
        times.ours.push(round(
            &mut filter,
            members,
            non_members,
            |f, key| {
                f.insert(key);
            },
            |f, key| f.contains(key),
        ));
        times.batch.push(batches(items, rate, members, non_members));
        let mut filter = sbbf_rs_safe::Filter::new(sbbf_bits(items, rate), items as usize);
        let hash = |key: &K| xxhash_rust::xxh3::xxh3_64(key.as_ref());
        times.sbbf.push(round(
            &mut filter,
            members,
            non_members,
            |f, key| {
                f.insert_hash(hash(key));
            },
            |f, key| f.contains_hash(hash(key)),
        ));
        let builder = fastbloom::BloomFilter::with_false_pos(rate).hasher(fold.clone());
        let mut filter = builder.expected_items(items as usize);
        // As one slice of bytes, since foldhash hashes an array element by element.
        times.fastbloom.push(round(
            &mut filter,
            members,
            non_members,
            |f, key| {
                f.insert_hash(fold.hash_one(Bytes(key.as_ref())));
            },
            |f, key| f.contains_hash(fold.hash_one(Bytes(key.as_ref()))),
        ));
    }
    times
}

/// A round of ours in batches, whose answers stay in the L1 cache.
fn batches<K: Key>(items: u64, rate: f64, members: &[K], non_members: &[K]) -> [f64; 3] {
    let mut filter = BlockedBloom::with_rate(items, rate).expect("a possible goal");
    let start = ThreadTime::now();
    (0..again(items)).for_each(|_| filter.insert_many(black_box(members)));
    let filled = per_key(start, items);
    let ask = |keys: &[K]| {
        let mut answers = [false; 4096];
        let start = ThreadTime::now();
        for _ in 0..again(items) {
            for keys in black_box(keys).chunks(4096) {
                filter.contains_many_into(keys, &mut answers);
                black_box(&answers);
            }
        }
        per_key(start, items)
    };
    let hit = ask(members);
    [hit, ask(non_members), filled]
}

/// Small sets are gone through several times: long enough to measure.
fn again(items: u64) -> u64 {
    (500_000 / items).max(1)
}

fn per_key(start: ThreadTime, items: u64) -> f64 {
    start.elapsed().as_nanos() as f64 / (again(items) * items) as f64
}

struct Bytes<'a>(&'a [u8]);

impl std::hash::Hash for Bytes<'_> {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        state.write(self.0);
    }
}

/// A round key by key. Not inlined: beside everything else of this comparison a loop would be short of registers.
#[inline(never)]
fn round<F, K>(
    filter: &mut F,
    members: &[K],
    non_members: &[K],
    insert: impl Fn(&mut F, &K),
    contains: impl Fn(&F, &K) -> bool,
) -> [f64; 3] {
    let items = members.len() as u64;
    let start = ThreadTime::now();
    for _ in 0..again(items) {
        black_box(members).iter().for_each(|key| insert(filter, key));
    }
    let filled = per_key(start, items);
    let ask = |keys: &[K]| {
        let start = ThreadTime::now();
        for _ in 0..again(items) {
            black_box(keys.iter().map(|key| u64::from(contains(filter, key))).sum::<u64>());
        }
        per_key(start, items)
    };
    let hit = ask(members);
    [hit, ask(non_members), filled]
}
