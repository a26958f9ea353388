//! Strings of 20 bytes: where hashing is most of the work.

use std::hash::BuildHasher;
use std::hint::black_box;

use cpu_time::ThreadTime;
use everbloom::hash::mix64;
use everbloom::membership::BlockedBloom;

use crate::measure::{median, rounds};
use crate::subject::sbbf_bits;

pub type Key = [u8; 20];

/// Nanoseconds per hit, miss and insert of ours, one by one and in batches, of sbbf-rs-safe with XXH3, and of
/// fastbloom with foldhash.
pub struct Times {
    pub ours: [f64; 3],
    pub batch: [f64; 3],
    pub sbbf: [f64; 3],
    pub fastbloom: [f64; 3],
}

fn key(i: u64) -> Key {
    let mut key = [0; 20];
    key.copy_from_slice(format!("{:020}", mix64(i)).as_bytes());
    key
}

/// Measures a set of so many strings.
pub fn run(items: u64, rate: f64) -> Times {
    let members: Vec<Key> = (0..items).map(key).collect();
    let strangers: Vec<Key> = (1 << 40..(1 << 40) + items).map(key).collect();
    let fold = foldhash::fast::FixedState::with_seed(1);
    let mut all: [Vec<[f64; 3]>; 4] = Default::default();
    for _ in 0..rounds(items) {
        let mut filter = BlockedBloom::with_rate(items, rate).expect("a possible goal");
        all[0].push(round(
            &mut filter,
            &members,
            &strangers,
            |f, key| {
                f.insert(key);
            },
            |f, key| f.contains(key),
        ));
        all[3].push(batches(items, rate, &members, &strangers));
        let mut filter = sbbf_rs_safe::Filter::new(sbbf_bits(items, rate), items as usize);
        let hash = xxhash_rust::xxh3::xxh3_64;
        all[1].push(round(
            &mut filter,
            &members,
            &strangers,
            |f, key| {
                f.insert_hash(hash(key));
            },
            |f, key| f.contains_hash(hash(key)),
        ));
        let builder = fastbloom::BloomFilter::with_false_pos(rate).hasher(fold.clone());
        let mut filter = builder.expected_items(items as usize);
        // As one slice of bytes, since foldhash hashes an array element by element.
        all[2].push(round(
            &mut filter,
            &members,
            &strangers,
            |f, key| {
                f.insert_hash(fold.hash_one(Bytes(key)));
            },
            |f, key| f.contains_hash(fold.hash_one(Bytes(key))),
        ));
    }
    let medians = |rounds: &Vec<[f64; 3]>| {
        std::array::from_fn(|i| median(rounds.iter().map(|round| round[i]).collect()))
    };
    let [ours, sbbf, fastbloom, batch] = [0, 1, 2, 3].map(|i| medians(&all[i]));
    Times { ours, batch, sbbf, fastbloom }
}

/// A round of ours in batches whose answers stay in the first cache.
fn batches(items: u64, rate: f64, members: &[Key], strangers: &[Key]) -> [f64; 3] {
    let mut filter = BlockedBloom::with_rate(items, rate).expect("a possible goal");
    let per_key = |start: ThreadTime| start.elapsed().as_nanos() as f64 / members.len() as f64;
    let start = ThreadTime::now();
    filter.insert_batch(members);
    let filled = per_key(start);
    let ask = |keys: &[Key]| {
        let start = ThreadTime::now();
        let mut answers = [false; 4096];
        for keys in keys.chunks(answers.len()) {
            filter.contains_batch(keys, &mut answers);
            black_box(answers.iter().map(|found| u64::from(*found)).sum::<u64>());
        }
        per_key(start)
    };
    let hit = ask(members);
    [hit, ask(strangers), filled]
}

struct Bytes<'a>(&'a Key);

impl std::hash::Hash for Bytes<'_> {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        state.write(self.0);
    }
}

fn round<F>(
    filter: &mut F,
    members: &[Key],
    strangers: &[Key],
    insert: impl Fn(&mut F, &Key),
    contains: impl Fn(&F, &Key) -> bool,
) -> [f64; 3] {
    let per_key = |start: ThreadTime| start.elapsed().as_nanos() as f64 / members.len() as f64;
    let start = ThreadTime::now();
    members.iter().for_each(|key| insert(filter, key));
    let filled = per_key(start);
    let ask = |keys: &[Key]| {
        let start = ThreadTime::now();
        black_box(keys.iter().map(|key| u64::from(contains(filter, key))).sum::<u64>());
        per_key(start)
    };
    let hit = ask(members);
    [hit, ask(strangers), filled]
}
