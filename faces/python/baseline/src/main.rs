//! The library alone, with the keys of `bench.py`: nanoseconds per key of each call, as JSON.

use std::hint::black_box;
use std::time::Instant;

use everbloom::{BlockedBloom, Bloom, Key};
use serde_json::{Value, json};

/// The keys that `bench.py` has, and as many others.
fn numbers(n: u64) -> [Vec<u64>; 2] {
    let number = |i: u64| i.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    [(0..n).map(number).collect(), (n..2 * n).map(number).collect()]
}

fn texts(n: u64) -> [Vec<String>; 2] {
    let text = |i: u64| format!("user-{}", i * 7919);
    [(0..n).map(text).collect(), (n..2 * n).map(text).collect()]
}

/// Nanoseconds for each of `n` keys.
fn per_key(n: usize, work: impl FnOnce()) -> f64 {
    let start = Instant::now();
    work();
    start.elapsed().as_nanos() as f64 / n as f64
}

macro_rules! measured {
    ($type:ty, $keys:expr, $others:expr) => {{
        let (keys, others) = ($keys, $others);
        let n = keys.len();
        let mut found = vec![false; n];
        let round = |_| {
            let mut filter = <$type>::with_rate(n as u64, 0.01).expect("a filter");
            let add = per_key(n, || filter.insert_many_parallel(keys));
            let contains =
                per_key(n, || shared(&filter, others, &mut found, <$type>::contains_many_into));
            black_box(&found);
            (add, contains)
        };
        // The first round only warms the memory.
        let times: Vec<(f64, f64)> = (0..4).map(round).skip(1).collect();
        let median = |mut all: Vec<f64>| {
            all.sort_by(f64::total_cmp);
            all[all.len() / 2]
        };
        let (add, contains) = times.into_iter().unzip();
        json!({ "add": median(add), "contains": median(contains) })
    }};
}

/// Asks on all cores, since the wheel does: the library leaves threads for queries to its callers.
fn shared<F: Sync, K: Key + Sync>(
    filter: &F,
    keys: &[K],
    found: &mut [bool],
    ask: impl Fn(&F, &[K], &mut [bool]) + Send + Sync + Copy,
) {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let share = keys.len().div_ceil(threads).max(1);
    std::thread::scope(|scope| {
        for (keys, found) in keys.chunks(share).zip(found.chunks_mut(share)) {
            scope.spawn(move || ask(filter, keys, found));
        }
    });
}

fn main() {
    let n: u64 = std::env::args().nth(1).and_then(|n| n.parse().ok()).unwrap_or(1_000_000);
    let ([keys, others], [words, other_words]) = (numbers(n), texts(n));
    let slices =
        |words: &'static [String]| -> Vec<&[u8]> { words.iter().map(|w| w.as_bytes()).collect() };
    let (words, other_words) = (slices(words.leak()), slices(other_words.leak()));
    let report: Value = json!({
        "Bloom": { "int": measured!(Bloom, &keys, &others), "str": measured!(Bloom, &words, &other_words) },
        "Blocked": {
            "int": measured!(BlockedBloom, &keys, &others),
            "str": measured!(BlockedBloom, &words, &other_words),
        },
    });
    println!("{report}");
}
