//! Every instruction set against the scalar twin, bit for bit, and the twin against the definition.

use super::*;
use crate::hash::{Generator, Given};
use crate::probe::Blocked;

fn digests(n: usize, seed: u64) -> Vec<Digest> {
    let mut random = Generator::new(seed);
    (0..n).map(|_| Digest { h1: random.next_u64(), h2: random.next_u64() }).collect()
}

type Lines = [[u64; LINE]];
type Halves = [[u64; HALF]];

/// One implementation's functions.
struct Set {
    name: &'static str,
    line_has: fn(&[u64; LINE], u64) -> bool,
    shared_line_has: fn(&[AtomicU64; LINE], u64) -> bool,
    line_set: fn(&mut [u64; LINE], u64) -> bool,
    half_has: fn(&[u64; HALF], u32) -> bool,
    half_set: fn(&mut [u64; HALF], u32) -> bool,
    lines_have: fn(&Lines, u32, &[Digest], &mut [bool]) -> u64,
    lines_set: fn(&mut Lines, u32, &[Digest]) -> u64,
    halves_have: fn(&Halves, &[Digest], &mut [bool]) -> u64,
    halves_set: fn(&mut Halves, &[Digest]) -> u64,
}

/// Closures that call a module's functions; listed only where its instruction set is there.
macro_rules! set {
    ($module:ident) => {
        Set {
            name: stringify!($module),
            // SAFETY: the instruction set is there.
            line_has: |a, b| unsafe { $module::line_has(a, b) },
            // SAFETY: the instruction set is there.
            shared_line_has: |a, b| unsafe { $module::shared_line_has(a, b) },
            // SAFETY: the instruction set is there.
            line_set: |a, b| unsafe { $module::line_set(a, b) },
            // SAFETY: the instruction set is there.
            half_has: |a, b| unsafe { $module::half_has(a, b) },
            // SAFETY: the instruction set is there.
            half_set: |a, b| unsafe { $module::half_set(a, b) },
            // SAFETY: the instruction set is there.
            lines_have: |a, b, c, d| unsafe { $module::lines_have(a, b, Given(c), d) },
            // SAFETY: the instruction set is there.
            lines_set: |a, b, c| unsafe { $module::lines_set(a, b, Given(c)) },
            // SAFETY: the instruction set is there.
            halves_have: |a, b, c| unsafe { $module::halves_have(a, Given(b), c) },
            // SAFETY: the instruction set is there.
            halves_set: |a, b| unsafe { $module::halves_set(a, Given(b)) },
        }
    };
}

/// The sets this machine has; the chosen one stands for those of other architectures.
fn sets() -> Vec<Set> {
    let mut sets = Vec::new();
    #[cfg(target_arch = "x86_64")]
    {
        if has_avx512() {
            sets.push(set!(avx512));
        }
        if has_avx2() {
            sets.push(set!(avx2));
        }
    }
    #[cfg(target_arch = "aarch64")]
    sets.push(set!(neon));
    sets
}

#[test]
fn single_calls_equal_the_scalar_twin() {
    for set in sets() {
        let (mut line, mut twin) = ([0; LINE], [0; LINE]);
        let (mut half, mut half_twin) = ([0; HALF], [0; HALF]);
        for d in digests(300, 1) {
            let name = set.name;
            let had = scalar::line_has(&twin, d.h2);
            assert_eq!((set.line_has)(&line, d.h2), had, "{name}");
            let shared = line.map(AtomicU64::new);
            assert_eq!((set.shared_line_has)(&shared, d.h2), had, "{name}");
            assert_eq!(scalar::shared_line_has(&shared, d.h2), had);
            assert_eq!(
                (set.half_has)(&half, d.h1 as u32),
                scalar::half_has(&half_twin, d.h1 as u32)
            );
            if d.h2 % 3 == 0 {
                assert_eq!((set.line_set)(&mut line, d.h1), scalar::line_set(&mut twin, d.h1));
                let key = d.h2 as u32;
                assert_eq!(
                    (set.half_set)(&mut half, key),
                    scalar::half_set(&mut half_twin, key),
                    "{name}"
                );
            }
            assert_eq!((line, half), (twin, half_twin), "{name}");
        }
    }
}

/// The instructions that stand where the call is, against the twin, too.
#[cfg(all(target_arch = "x86_64", not(target_feature = "avx"), not(miri)))]
#[test]
fn inlined_calls_equal_the_scalar_twin() {
    macro_rules! compare {
        ($set:ident) => {{
            let (mut line, mut twin) = ([0; LINE], [0; LINE]);
            let (mut half, mut half_twin) = ([0; HALF], [0; HALF]);
            for d in digests(2000, 7) {
                // SAFETY: the instruction set is there.
                let ours = unsafe {
                    let has = inlined::$set::line_has(&line, d.h2);
                    (has, inlined::$set::half_has(&half, d.h1 as u32))
                };
                let has = scalar::line_has(&twin, d.h2);
                assert_eq!(ours, (has, scalar::half_has(&half_twin, d.h1 as u32)));
                if d.h1 % 5 == 0 {
                    // SAFETY: the instruction set is there.
                    let ours = unsafe {
                        let new = inlined::$set::line_set(&mut line, d.h2);
                        (new, inlined::$set::half_set(&mut half, d.h1 as u32))
                    };
                    let new = scalar::line_set(&mut twin, d.h2);
                    assert_eq!(ours, (new, scalar::half_set(&mut half_twin, d.h1 as u32)));
                    assert_eq!((line, half), (twin, half_twin));
                }
                if line.iter().all(|word| word.count_ones() > 40) {
                    (line, twin, half, half_twin) = ([0; LINE], [0; LINE], [0; HALF], [0; HALF]);
                }
            }
        }};
    }
    if has_avx512() {
        compare!(avx512);
    }
    if has_avx2() {
        compare!(avx2);
    }
}

#[test]
fn many_at_once_equal_one_by_one() {
    // Below and above the sizes from which blocks are prefetched, and fewer keys than are in flight.
    let far = [FETCH_FROM / size_of::<[u64; HALF]>(), NEAR / size_of::<[u64; LINE]>()];
    for blocks in [1, 100].into_iter().chain(far) {
        for n in [0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 1000] {
            for rounds in [1, 2] {
                let (inside, asked) = (digests(n, 2), [digests(n, 2), digests(n, 3)].concat());
                let mut twin = vec![[0; LINE]; blocks];
                assert_eq!(scalar::lines_set(&mut twin, rounds, Given(&inside)), n as u64);
                let mut one_by_one = vec![[0; LINE]; blocks];
                for d in &inside {
                    for round in 0..rounds {
                        let line = &mut one_by_one[line_of(*d, blocks as u64)];
                        line_set(line, round_word(d.h2, round));
                    }
                }
                assert_eq!(twin, one_by_one);
                let mut half_twin = vec![[0; HALF]; blocks];
                assert_eq!(scalar::halves_set(&mut half_twin, Given(&inside)), n as u64);
                let mut expect = [vec![false; asked.len()], vec![false; asked.len()]];
                // One by one, not by the twin: that has its rounds from the same macro as the others.
                for (d, expect) in asked.iter().zip(&mut expect[0]) {
                    let line = &twin[line_of(*d, blocks as u64)];
                    *expect = (0..rounds).all(|r| scalar::line_has(line, round_word(d.h2, r)));
                }
                let mut found = vec![false; asked.len()];
                scalar::lines_have(&twin, rounds, Given(&asked), &mut found);
                assert_eq!(found, expect[0], "scalar {blocks} {n} {rounds}");
                scalar::halves_have(&half_twin, Given(&asked), &mut expect[1]);
                assert!(expect.iter().all(|e| e[..n].iter().all(|f| *f)), "no false negatives");
                for set in sets() {
                    let mut lines = vec![[0; LINE]; blocks];
                    assert_eq!((set.lines_set)(&mut lines, rounds, &inside), n as u64);
                    let mut halves = vec![[0; HALF]; blocks];
                    assert_eq!((set.halves_set)(&mut halves, &inside), n as u64);
                    assert!(lines == twin && halves == half_twin, "{}", set.name);
                    let mut found = [vec![false; asked.len()], vec![true; asked.len()]];
                    (set.lines_have)(&lines, rounds, &asked, &mut found[0]);
                    (set.halves_have)(&halves, &asked, &mut found[1]);
                    assert_eq!(found, expect, "{} {blocks} {n} {rounds}", set.name);
                }
            }
        }
    }
}

#[test]
fn a_line_gets_one_bit_in_each_lane() {
    for d in digests(100, 4) {
        let (mut line, word) = ([0; LINE], d.h2);
        assert!(line_set(&mut line, word));
        // The scheme's own indices.
        let lane = |i: u64| (i / 64 % 8, 1u64 << (i % 64));
        let indices = Blocked::in_lanes(1, 1).unwrap().indices(d).map(lane);
        assert!(indices.eq(line.into_iter().enumerate().map(|(i, bits)| (i as u64, bits))));
        assert!(line_has(&line, word) && !line_set(&mut line, word));
        for lane in 0..8 {
            let mut without = line;
            without[lane] = 0;
            assert!(!line_has(&without, word), "lane {lane}");
            assert!(!scalar::line_has(&without, word), "lane {lane}");
            assert!(!shared_line_has(&without.map(AtomicU64::new), word), "lane {lane}");
        }
    }
}

#[test]
fn answers_stop_where_there_is_no_room() {
    let (mut lines, asked) = (vec![[0; LINE]; 10], digests(200, 6));
    lines_set(&mut lines, 1, Given(&asked));
    for room in [0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 200, 300] {
        let mut found = vec![false; room];
        lines_have(&lines, 1, Given(&asked), &mut found);
        let expect: Vec<bool> = (0..room).map(|i| i < asked.len()).collect();
        assert_eq!(found, expect);
    }
}
