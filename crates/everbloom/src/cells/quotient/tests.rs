use std::collections::BTreeMap;

use super::*;
use crate::hash::Generator;

/// The same table, as lists by quotient.
type Model = BTreeMap<u64, Vec<u64>>;

fn assert_same(runs: &Runs, model: &Model, what: &str) {
    let held: Model = runs.iter().map(|(q, run)| (q, runs.values(run).collect())).collect();
    assert_eq!(&held, model, "{what}");
    let used = model.values().map(|values| values.len() as u64).sum::<u64>();
    assert_eq!(runs.used(), used, "{what}");
    let found = either!(&runs.slots, slots => slots.used());
    assert_eq!(found, Some(used), "{what}: the check agrees");
    let step = (runs.slots() / 64).max(1) as usize;
    for quotient in (0..runs.slots()).step_by(step).filter(|q| !model.contains_key(q)) {
        assert_eq!(runs.run(quotient).len, 0, "{what}: quotient {quotient}");
    }
}

/// Random changes, around a fill that rises to the last slot and falls to nothing, with quotients from a window
/// of the slots so that runs are long and wrap around.
fn play(marks: Marks, slots: u64, width: u32, window: u64, rounds: u64, seed: u64) {
    let what = format!("{marks:?}, {slots} slots, window {window}, seed {seed}");
    let mut random = Generator::new(seed);
    let mut runs = Runs::try_new(marks, slots, width).expect("small");
    let (slots, mut model) = (runs.slots(), Model::new());
    let base = random.below(slots);
    for round in 0..rounds {
        let quotient = (base + random.below(window)) % slots;
        let list = model.entry(quotient).or_default();
        let up = random.below(rounds) > round;
        let value = random.next_u64() & ((1 << width) - 1);
        match random.below(8) {
            0 => {
                let room = runs.free() + list.len() as u64;
                let len = random.below(room.min(9) + 1);
                *list = (0..len).map(|_| random.next_u64() & ((1 << width) - 1)).collect();
                runs.replace(quotient, list);
            }
            _ if up && runs.free() > 0 => {
                let at = random.below(list.len() as u64 + 1);
                list.insert(at as usize, value);
                runs.insert(quotient, runs.run(quotient), at, value);
            }
            _ if !list.is_empty() => {
                let at = random.below(list.len() as u64);
                list.remove(at as usize);
                runs.remove(quotient, runs.run(quotient), at);
            }
            _ => {}
        }
        if list.is_empty() {
            model.remove(&quotient);
        }
        if slots < 60 || round % (slots / 8) == 0 {
            assert_same(&runs, &model, &what);
        }
    }
    for (quotient, list) in model {
        list.iter().for_each(|_| runs.remove(quotient, runs.run(quotient), 0));
    }
    assert_eq!(runs, Runs::try_new(marks, slots, width).expect("small"), "{what}: emptied");
}

#[test]
fn runs_change_like_lists_by_quotient() {
    for seed in 0..8 {
        for slots in [2, 3, 8, 16, 50, 64] {
            play(Marks::StatusBits, slots, 5, slots, 600, seed);
        }
        for slots in [64, 128, 320] {
            play(Marks::RankSelect, slots, 5, slots, 1200, seed);
            play(Marks::RankSelect, slots, 11, 20, 600, seed);
        }
    }
}

/// Offsets beyond a byte, on both sides of the last slot.
#[test]
fn long_runs_are_found_from_blocks_before() {
    for seed in 0..2 {
        for marks in [Marks::RankSelect, Marks::StatusBits] {
            play(marks, 1024, 3, 3, 3000, seed);
            play(marks, 1024, 3, 700, 4000, seed);
        }
    }
    let mut runs = Runs::try_new(Marks::RankSelect, 640, 4).unwrap();
    (0..639).for_each(|i| runs.insert(630, runs.run(630), i, i % 16));
    assert_eq!((runs.free(), runs.run(630)), (0, Run { start: 630, len: 639 }));
    assert_eq!(runs.run(10).len, 0);
    (0..639).for_each(|_| runs.remove(630, runs.run(630), 0));
    assert_eq!(runs, Runs::try_new(Marks::RankSelect, 640, 4).unwrap());
}

/// Two tables of the same runs find the same ones.
#[test]
fn marks_of_both_kinds_agree() {
    let mut random = Generator::new(5);
    let mut tables =
        [Marks::RankSelect, Marks::StatusBits].map(|marks| Runs::try_new(marks, 256, 8).unwrap());
    for _ in 0..243 {
        let (quotient, value) = (random.below(256), random.below(256));
        tables.iter_mut().for_each(|table| table.insert(quotient, table.run(quotient), 0, value));
    }
    let [ranked, status] = &tables;
    assert!(ranked.iter().eq(status.iter()));
    assert!(ranked.iter().all(|(_, run)| ranked.values(run).eq(status.values(run))));
}

/// No table with a wrong mark passes the check.
#[test]
fn flipped_marks_are_noticed() {
    let mut random = Generator::new(9);
    for marks in [Marks::RankSelect, Marks::StatusBits] {
        let mut runs = Runs::try_new(marks, 128, 4).unwrap();
        for _ in 0..100 {
            let quotient = random.below(128);
            runs.insert(quotient, runs.run(quotient), 0, 1 + random.below(15));
        }
        let used = |slots: &Slots| either!(slots, slots => slots.used());
        for slot in 0..128 {
            let mut wrong = runs.clone();
            match &mut wrong.slots {
                Slots::Ranked(table) => {
                    table.flip_end(slot);
                    assert_eq!(used(&wrong.slots), None, "run end {slot}");
                    let mut wrong = runs.clone();
                    let Slots::Ranked(table) = &mut wrong.slots else { continue };
                    table.flip_occupied(slot);
                    assert_eq!(used(&wrong.slots), None, "quotient {slot}");
                }
                Slots::Status(table) => {
                    // An empty slot that is marked as occupied holds a zero.
                    let first = u32::from(table.shown(slot) == "000.0");
                    for bit in first..3 {
                        table.flip(slot, bit);
                        assert_eq!(used(&Slots::Status(table.clone())), None, "{slot} {bit}");
                        table.flip(slot, bit);
                    }
                }
            }
        }
    }
}

/// The catalogue's table: quotients of 3 bits, remainders of 4, and what stands in each slot.
#[test]
fn the_catalogues_table_slot_by_slot() {
    let mut runs = Runs::try_new(Marks::StatusBits, 8, 4).unwrap();
    let inserted = [(1, 0xa), (1, 0xb), (3, 0xc), (3, 0xd), (3, 0xe), (4, 0xf), (6, 1)];
    for (quotient, value) in inserted {
        let run = runs.run(quotient);
        runs.insert(quotient, run, run.len, value);
    }
    let Slots::Status(table) = &runs.slots else { panic!("status bits") };
    let slots: Vec<_> = (0..8).map(|slot| table.shown(slot)).collect();
    assert_eq!(slots, ["000.0", "100.a", "011.b", "100.c", "111.d", "011.e", "101.f", "001.1"]);
}

/// Runs one behind another, whose values rise: every run has its own values, and none of its neighbors'.
#[test]
fn a_run_holds_its_own_values_alone() {
    for (marks, seed) in [(Marks::RankSelect, 1), (Marks::StatusBits, 2)] {
        let (mut runs, mut random) = (Runs::try_new(marks, 128, 4).unwrap(), Generator::new(seed));
        let mut model = Model::new();
        for _ in 0..122 {
            let list = model.entry(random.below(128)).or_default();
            list.push(random.below(16));
            list.sort_unstable();
        }
        for (quotient, list) in &model {
            runs.replace(*quotient, list);
        }
        for (quotient, value) in (0..128).flat_map(|q| (0..16).map(move |value| (q, value))) {
            let there = model.get(&quotient).is_some_and(|list| list.contains(&value));
            assert_eq!(runs.holds(quotient, value), there, "{marks:?}: {value} of {quotient}");
        }
    }
}

/// Whatever is found without a walk is what a walk finds, at every load and for values of every width; and most runs
/// are found that way.
#[test]
fn near_runs_are_those_of_a_walk() {
    for (slots, width, seed) in
        [(1024, 1, 1), (1024, 7, 2), (1024, 13, 3), (512, 40, 4), (512, 61, 5)]
    {
        let mut runs = Runs::try_new(Marks::RankSelect, slots, width).unwrap();
        let mut random = Generator::new(seed);
        let mut model = Model::new();
        for inserted in 1..slots {
            let (quotient, value) = (random.below(slots), random.next_u64() & ((1 << width) - 1));
            let list = model.entry(quotient).or_default();
            let at = list.partition_point(|held| *held < value);
            list.insert(at, value);
            runs.insert(quotient, runs.run(quotient), at as u64, value);
            if inserted % (slots / 8) != 0 && inserted + 1 < slots {
                continue;
            }
            let (mut near, none) = (0, Vec::new());
            for quotient in 0..slots {
                let list = model.get(&quotient).unwrap_or(&none);
                let others =
                    [0, 1, value, (1 << width) - 1, list.first().map_or(0, |held| held ^ 1)];
                for value in list.iter().copied().chain(others) {
                    let held = list.contains(&value);
                    assert_eq!(runs.holds(quotient, value), held, "{width}: {value} of {quotient}");
                    let seen = runs.seems(quotient, value);
                    let known = Some((held, list.len() as u64));
                    assert!(seen.is_none() || seen == known, "{width}: {value} of {quotient}");
                    near += u64::from(seen.is_some());
                }
            }
            let fitting = if width > 20 { 0 } else { 4 * slots };
            assert!(
                inserted * 10 > slots * 9 || near > fitting,
                "{width}: {near} after {inserted}"
            );
        }
    }
}
