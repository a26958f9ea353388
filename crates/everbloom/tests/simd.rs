//! Every instruction set that this machine has gives the same files and the same answers.
//!
//! The choice is made once per process, so the test runs itself again with each of them.

use std::process::Command;

use everbloom::compact::{BinaryFuse, Ribbon};
use everbloom::prelude::Face;
use everbloom::sketches::CountMin;
use everbloom::{BlockedBloom, Bloom, SplitBlock, instruction_set, to_bytes};
use xxhash_rust::xxh3::xxh3_128;

const SWITCH: &str = "EVERBLOOM_SIMD";
const KEYS: u64 = 20_000;

/// Digests of the file and of 60,000 answers, one by one and many at once.
macro_rules! digests {
    ($filter:expr) => {{
        let filter = $filter;
        let keys: Vec<u64> = (0..3 * KEYS).collect();
        let single: Vec<u8> = keys.iter().map(|key| filter.contains(key).into()).collect();
        let many: Vec<u8> = filter.contains_many(&keys).into_iter().map(u8::from).collect();
        assert!(single == many, "single calls and calls for many keys differ");
        assert!(single[..KEYS as usize].iter().all(|found| *found == 1), "a key is missing");
        println!(
            "= {} {:x} {:x}",
            filter.facts().slug,
            xxh3_128(&to_bytes(&filter)),
            xxh3_128(&single)
        );
    }};
}

macro_rules! both_ways {
    ($empty:expr) => {{
        let (mut single, mut many) = ($empty, $empty);
        let keys: Vec<u64> = (0..KEYS).collect();
        keys.iter().for_each(|key| {
            single.insert(key);
        });
        many.insert_many(&keys);
        assert!(to_bytes(&single) == to_bytes(&many), "inserted one by one and many at once");
        digests!(many);
    }};
}

/// What the processes below print.
#[test]
fn print_digests() {
    println!("= {}", instruction_set());
    for rate in [0.1, 0.01, 1e-4] {
        both_ways!(Bloom::with_rate(KEYS, rate).expect("a filter"));
        both_ways!(BlockedBloom::with_rate(KEYS, rate).expect("a filter"));
        both_ways!(SplitBlock::with_rate(KEYS, rate).expect("a filter"));
    }
    texts();
    let keys: Vec<u64> = (0..KEYS).collect();
    let mut counts = CountMin::with_error(0.01, 0.01).expect("a sketch");
    counts.insert_many(&keys).expect("it counts");
    assert_eq!(
        counts.count_many(&keys),
        keys.iter().map(|key| counts.count(key)).collect::<Vec<_>>()
    );
    println!("= count-min {:x}", xxh3_128(&to_bytes(&counts)));
    digests!(BinaryFuse::from_keys(&keys, 0.01).expect("a filter"));
    digests!(Ribbon::from_keys(&keys, 0.01).expect("a filter"));
}

/// Keys of one length, and of lengths that can and cannot be hashed several at once.
fn texts() {
    let fixed: Vec<[u8; 20]> =
        (0..KEYS).map(|i| format!("{i:020}").into_bytes().try_into().expect("20")).collect();
    let mixed: Vec<String> =
        (0..KEYS).map(|i| format!("{i:0width$}", width = 15 + (i / 10 % 20) as usize)).collect();
    let empty = || BlockedBloom::with_rate(2 * KEYS, 0.01).expect("a filter");
    let (mut single, mut many) = (empty(), empty());
    fixed.iter().for_each(|key| _ = single.insert(key));
    mixed.iter().for_each(|key| _ = single.insert(key));
    many.insert_many(&fixed);
    many.insert_many(&mixed);
    assert!(to_bytes(&single) == to_bytes(&many), "texts one by one and many at once");
    assert!(
        many.contains_many(&fixed).into_iter().chain(many.contains_many(&mixed)).all(|found| found)
    );
    let absent: Vec<String> = mixed.iter().map(|key| format!("x{key}")).collect();
    let one_by_one: Vec<bool> = absent.iter().map(|key| single.contains(key)).collect();
    assert_eq!(many.contains_many(&absent), one_by_one);
    println!("= texts {:x}", xxh3_128(&to_bytes(&many)));
}

#[test]
fn every_instruction_set_writes_the_same_bytes() {
    let run = |wanted: &str| -> (String, Vec<String>) {
        let this = std::env::current_exe().expect("a path");
        let mut command = Command::new(this);
        command.args(["--exact", "print_digests", "--nocapture"]).env(SWITCH, wanted);
        let output = command.output().expect("it runs");
        assert!(output.status.success(), "{wanted}: {}", String::from_utf8_lossy(&output.stderr));
        let text = String::from_utf8(output.stdout).expect("text");
        let mut lines = text.lines().filter_map(|l| l.split_once("= ").map(|(_, l)| l.to_owned()));
        (lines.next().expect("its instruction set"), lines.collect())
    };
    let (_, digests) = run("best");
    assert_eq!(digests.len(), 13);
    for wanted in ["scalar", "avx2", "avx512"] {
        let (used, same) = run(wanted);
        assert_eq!(same, digests, "{used}");
        // A build for one processor has no switch; others obey it.
        if wanted == "scalar" && !cfg!(target_feature = "avx2") {
            assert_eq!(used, "scalar");
        }
    }
}
