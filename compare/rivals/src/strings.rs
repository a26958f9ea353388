//! Strings of 20 bytes: where hashing is most of the work.

use std::hash::BuildHasher;
use std::hint::black_box;

use cpu_time::ThreadTime;
use everbloom::internals::hash::mix64;
use everbloom::membership::BlockedBloom;

use crate::measure::rounds;
use crate::subject::sbbf_bits;

pub type Key = [u8; 20];

/// Nanoseconds per hit, miss and insert in every round, of ours, of sbbf-rs-safe with XXH3, and of fastbloom with
/// foldhash.
#[derive(Default)]
pub struct Times {
    pub ours: Vec<[f64; 3]>,
    pub sbbf: Vec<[f64; 3]>,
    pub fastbloom: Vec<[f64; 3]>,
}

fn key(i: u64) -> Key {
    let mut key = [0; 20];
    key.copy_from_slice(format!("{:020}", mix64(i)).as_bytes());
    key
}

/// Measures a set of so many strings.
pub fn run(items: u64, rate: f64) -> Times {
    let members: Vec<Key> = (0..items).map(key).collect();
    let non_members: Vec<Key> = (1 << 40..(1 << 40) + items).map(key).collect();
    let fold = foldhash::fast::FixedState::with_seed(1);
    let mut times = Times::default();
    for _ in 0..rounds(items) {
        let mut filter = BlockedBloom::with_rate(items, rate).expect("a possible goal");
        times.ours.push(round(
            &mut filter,
            &members,
            &non_members,
            |f, key| {
                f.insert(key);
            },
            |f, key| f.contains(key),
        ));
        let mut filter = sbbf_rs_safe::Filter::new(sbbf_bits(items, rate), items as usize);
        let hash = xxhash_rust::xxh3::xxh3_64;
        times.sbbf.push(round(
            &mut filter,
            &members,
            &non_members,
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
            &members,
            &non_members,
            |f, key| {
                f.insert_hash(fold.hash_one(Bytes(key)));
            },
            |f, key| f.contains_hash(fold.hash_one(Bytes(key))),
        ));
    }
    times
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
    non_members: &[Key],
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
    [hit, ask(non_members), filled]
}
