//! One operation of a flagship filter, so many times: what a counter of instructions is to look at.
//!
//! `operations list` names them; `operations NAME COUNT` does one COUNT times on filters of 10,000 keys at
//! a rate of 1 %. `cargo run -p xtask -- instructions` counts them all.

use std::hint::black_box;

use everbloom::Result;
use everbloom::compact::{BinaryFuse, Ribbon};
use everbloom::counting::Counting;
use everbloom::fingerprints::{Cuckoo, Quotient};
use everbloom::internals::hash::{HashId, Hasher, mix64};
use everbloom::membership::{BlockedBloom, Bloom, SplitBlock};
use everbloom::sketches::CountMin;

const ITEMS: u64 = 10_000;
const RATE: f64 = 0.01;

type Operation = (&'static str, fn(&[u64], &[u64]) -> Result<u64>);

/// How many of the keys a filter lets pass; `contains` is inlined.
fn asked(keys: &[u64], contains: impl Fn(&u64) -> bool) -> u64 {
    keys.iter().map(|key| u64::from(contains(key))).sum()
}

/// Everything that is counted: gets the members and the keys to work with.
const OPERATIONS: &[Operation] = &[
    ("nothing", |_, keys| Ok(keys.len() as u64)),
    ("blocked contains", |members, keys| {
        let mut filter = BlockedBloom::with_rate(ITEMS, RATE)?;
        filter.insert_many(members);
        Ok(asked(keys, |key| filter.contains(key)))
    }),
    ("blocked insert", |_, keys| {
        let mut filter = BlockedBloom::with_rate(ITEMS, RATE)?;
        keys.iter().for_each(|key| {
            filter.insert(key);
        });
        Ok(filter.m())
    }),
    ("bloom contains, members", |members, keys| {
        let mut filter = Bloom::with_rate(ITEMS, RATE)?;
        filter.insert_many(members);
        let rounds = keys.len() / members.len();
        Ok((0..rounds).map(|_| asked(members, |key| filter.contains(key))).sum())
    }),
    ("bloom contains, non-members", |members, keys| {
        let mut filter = Bloom::with_rate(ITEMS, RATE)?;
        filter.insert_many(members);
        Ok(asked(keys, |key| filter.contains(key)))
    }),
    ("bloom insert", |_, keys| {
        let mut filter = Bloom::with_rate(ITEMS, RATE)?;
        keys.iter().for_each(|key| {
            filter.insert(key);
        });
        Ok(filter.m())
    }),
    ("split-block contains", |members, keys| {
        let mut filter = SplitBlock::with_rate(ITEMS, RATE)?;
        filter.insert_many(members);
        Ok(asked(keys, |key| filter.contains(key)))
    }),
    ("split-block insert", |_, keys| {
        let mut filter = SplitBlock::with_rate(ITEMS, RATE)?;
        keys.iter().for_each(|key| {
            filter.insert(key);
        });
        Ok(filter.blocks())
    }),
    // One in a thousand keys has a filter planned for it: what is counted per key is in thousands of instructions.
    ("blocked planned, in thousands", |_, keys| {
        let filter = |key: &u64| BlockedBloom::with_rate(black_box(ITEMS + key % 8), RATE);
        keys.iter().step_by(1000).map(|key| Ok(filter(key)?.m())).sum()
    }),
    ("split-block planned, in thousands", |_, keys| {
        let filter = |key: &u64| SplitBlock::with_rate(black_box(ITEMS + key % 8), RATE);
        keys.iter().step_by(1000).map(|key| Ok(filter(key)?.blocks())).sum()
    }),
    ("binary-fuse contains, 8 bits", |members, keys| {
        let hasher = Hasher::with_id(HashId::Quick64, 0)?;
        let filter = BinaryFuse::with_bits(members, 8, hasher)?;
        Ok(asked(keys, |key| filter.contains(key)))
    }),
    ("ribbon contains, 7 bits", |members, keys| {
        let hasher = Hasher::with_id(HashId::Fold64, 0)?;
        let filter = Ribbon::with_bits(members, 7, hasher)?;
        Ok(asked(keys, |key| filter.contains(key)))
    }),
    ("counting contains", |members, keys| {
        let mut filter = Counting::with_rate(ITEMS, RATE)?;
        members.iter().for_each(|key| {
            filter.insert(key);
        });
        Ok(asked(keys, |key| filter.contains(key)))
    }),
    ("cuckoo contains", |members, keys| {
        let mut filter = Cuckoo::with_rate(ITEMS, RATE)?;
        members.iter().try_for_each(|key| filter.insert(key).map(drop))?;
        Ok(asked(keys, |key| filter.contains(key)))
    }),
    ("quotient contains", |members, keys| {
        let mut filter = Quotient::with_rate(ITEMS, RATE)?;
        members.iter().try_for_each(|key| filter.insert(key).map(drop))?;
        Ok(asked(keys, |key| filter.contains(key)))
    }),
    ("count-min insert, five rows", |_, keys| {
        let mut sketch = CountMin::with_error(1e-4, RATE)?;
        keys.iter().try_for_each(|key| sketch.insert(key).map(drop))?;
        Ok(sketch.total() as u64)
    }),
    ("count-min count, five rows", |members, keys| {
        let mut sketch = CountMin::with_error(1e-4, RATE)?;
        sketch.insert_many(members)?;
        Ok(keys.iter().map(|key| sketch.count(key)).sum())
    }),
];

fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let count = args.get(1).and_then(|n| n.parse().ok()).unwrap_or(100_000);
    match args.first().map(String::as_str) {
        Some(name) if name != "list" => {
            let members: Vec<u64> = (0..ITEMS).map(mix64).collect();
            let keys: Vec<u64> = (1 << 40..(1 << 40) + count).map(mix64).collect();
            let found = OPERATIONS.iter().find(|(known, _)| *known == name);
            let Some((_, operation)) = found else {
                eprintln!("no operation {name}: `operations list` names them");
                std::process::exit(2);
            };
            black_box(operation(black_box(&members), black_box(&keys))?);
        }
        _ => OPERATIONS.iter().for_each(|(name, _)| println!("{name}")),
    }
    Ok(())
}
