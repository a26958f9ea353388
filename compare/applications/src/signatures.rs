//! Signatures in a stream (A21) beside an automaton.

use std::hint::black_box;

use aho_corasick::AhoCorasick;
use everbloom::internals::hash::Generator;
use everbloom_lab::applications::tracing::signatures::Scanner;

use crate::{medians, weighed};

const TEXT: usize = 4_000_000;
const BITS: f64 = 16.0;

pub fn compare() {
    for (count, lengths) in [(1_000, 1), (1_000, 16), (10_000, 16)] {
        let mut random = Generator::new(count);
        let signatures: Vec<Vec<u8>> = (0..count)
            .map(|i| (0..8 + i % lengths).map(|_| random.next_u64() as u8).collect())
            .collect();
        let mut text: Vec<u8> = (0..TEXT).map(|_| random.next_u64() as u8).collect();
        for _ in 0..1000 {
            let signature = &signatures[random.below(count) as usize];
            let at = random.below((TEXT - signature.len()) as u64) as usize;
            text[at..at + signature.len()].copy_from_slice(signature);
        }
        let (ours, our_bytes) = weighed(|| Scanner::new(&signatures, BITS).expect("signatures"));
        let (theirs, their_bytes) = weighed(|| AhoCorasick::new(&signatures).expect("patterns"));
        let ends = |text| theirs.find_overlapping_iter(text).count();
        assert_eq!(ours.scan(&text).len(), ends(&text));
        let [our_time, their_time] = medians(
            5,
            [&mut || drop(black_box(ours.scan(&text))), &mut || _ = black_box(ends(&text))],
        );
        let speed = |seconds: f64| TEXT as f64 / 1e6 / seconds;
        println!("{count} signatures of {lengths} lengths in {TEXT} random bytes");
        let filters = ours.filter_bits() / 8;
        println!(
            "  everbloom            {:7.1} MB/s, {our_bytes} bytes, of which filters {filters}",
            speed(our_time)
        );
        println!("  aho-corasick         {:7.1} MB/s, {their_bytes} bytes", speed(their_time));
    }
}
