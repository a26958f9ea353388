//! I3, the combinatorial filter and filter banks.

use everbloom::Kind;
use everbloom::grouping::Combinatorial;
use everbloom::grouping::combinatorial::{Code, VARIANT, accepted, classified, set_passes};
use everbloom::internals::filter::{Answer, Detail, Face, Filter, Record, Value, Verdict};
use everbloom::internals::hash::Hasher;
use everbloom::internals::plan::{Goal, Load};
use everbloom::internals::theory::{bloom, tail};

/// The entry's example: 35 groups, 1000 keys, half full.
const CODE: Code = Code { bits: 7, weight: 3 };
const M: u64 = 30_297;
const K: u32 = 7;
const N: u64 = 1000;

fn label(group: u64) -> Vec<u8> {
    group.to_string().into_bytes()
}

fn record<'a>(key: &'a [u8], label: &'a [u8]) -> Record<'a> {
    Record::key(key).with(Some(Value::Label(label)))
}

fn filled(seed: u64) -> Combinatorial {
    let mut filter = Combinatorial::with_code(CODE, M, K, Hasher::seeded(seed)).expect("a code");
    for key in 0..N {
        filter.insert(&key, &label(key % 35)).expect("35 groups");
    }
    filter
}

fn typed(goal: &Goal) -> Combinatorial {
    let filter: Box<dyn std::any::Any> = VARIANT.build_from(goal, &[]).expect("a filter");
    *filter.downcast().expect("combinatorial")
}

#[test]
fn i3_formulas() {
    let near = |value: f64, printed: f64, digit: f64| {
        assert!((value - printed).abs() <= digit, "{value} against {printed}");
    };
    let e = set_passes(M as f64, (N * 3) as f64, f64::from(K));
    near(e, 1.0 / 128.0, 1e-6);
    near(classified(1.0 / 128.0, CODE), 0.969_114, 5e-7);
    near(accepted(1.0 / 128.0, CODE, 35.0), 1.617_4e-5, 5e-10);
    assert_eq!(CODE.room(), 35);
    assert_eq!(Code::shortest(35), CODE);
    assert_eq!(Code::shortest(16), Code { bits: 6, weight: 3 });
    assert_eq!(Code::shortest(1), Code { bits: 1, weight: 1 });
}

#[test]
fn i3_codes_are_all_different_and_read_back() {
    for code in [
        CODE,
        Code { bits: 16, weight: 1 },
        Code { bits: 9, weight: 9 },
        Code { bits: 5, weight: 0 },
    ] {
        let mut words: Vec<u64> = (0..code.room()).map(|g| code.word(g)).collect();
        for (g, word) in (0..).zip(&words) {
            assert!(*word > 0 && *word < 1 << code.bits);
            assert!(code.weight == 0 || word.count_ones() == code.weight);
            assert_eq!(code.group(*word), Some(g));
        }
        words.sort_unstable();
        words.dedup();
        assert_eq!(words.len() as u64, code.room());
    }
    assert_eq!(CODE.group(0b1111), None);
    assert_eq!(Code { bits: 64, weight: 32 }.room(), 1_832_624_140_942_590_534);
}

#[test]
fn i3_members_are_classified_or_ambiguous_never_wrong() {
    let (mut right, mut ones) = (0, 0.0);
    for seed in 0..40 {
        let filter = filled(seed);
        ones += filter.fill().expect("a fill") / 40.0;
        for key in 0..N {
            let own = label(key % 35);
            let (verdict, groups) = filter.classify(&key);
            assert!(groups.contains(&own.as_slice()), "no lost bits");
            match verdict {
                Verdict::Present => {
                    assert_eq!(groups, [own.as_slice()]);
                    right += 1;
                }
                Verdict::Undecided => assert!(groups.len() >= 4, "four codes under four ones"),
                Verdict::Absent => panic!("a member was lost"),
            }
            assert_eq!(filter.contains(&key, &own), verdict);
        }
    }
    // 40,000 members: 0.00087 one sigma; a filter's e scatters by 3 %, that is 0.0009/√40 of the share.
    let share = f64::from(right) / 40_000.0;
    assert!((share - 0.969_114).abs() < 0.0038, "{share}");
    // θ·k probes per key: 7 of them more or fewer would show.
    let (mean, sd) = (bloom::fill(M as f64, 21_000.0), bloom::fill_sd(M as f64, 21_000.0));
    assert!((ones - mean).abs() < 4.0 * sd / 40f64.sqrt(), "{ones} of {mean}");
}

#[test]
fn i3_non_members_accepted_as_predicted() {
    // Smaller words pass more often, so that there is something to count: k = 3 in the same way.
    let (mut present, mut undecided, mut predicted) = (0u64, 0u64, 0.0);
    const ASKED: u64 = 50_000;
    for seed in 0..24 {
        let mut filter =
            Combinatorial::with_code(CODE, 12_984, 3, Hasher::seeded(seed)).expect("a code");
        for key in 0..N {
            filter.insert(&key, &label(key % 35)).expect("35 groups");
        }
        let e = filter.fill().expect("a fill").powi(3);
        predicted += accepted(e, CODE, 35.0) * ASKED as f64;
        for key in 1 << 40..(1u64 << 40) + ASKED {
            match filter.classify(&key).0 {
                Verdict::Present => present += 1,
                Verdict::Undecided => undecided += 1,
                Verdict::Absent => {}
            }
        }
    }
    // e = 1/8: 4.0 % accepted, 48,000 events.
    let off = present as f64 / predicted - 1.0;
    assert!(off.abs() < 0.015, "{present} against {predicted}");
    // P(four ones or more) at e = 1/8.
    let more = tail::binomial_at_least(7, 0.125, 4);
    let share = undecided as f64 / (24.0 * ASKED as f64);
    assert!((share / more - 1.0).abs() < 0.06, "{share} against {more}");
    // The entry's own shape: 1.6e-5 of 1,200,000.
    let mut hits = 0u64;
    for seed in 0..24 {
        let filter = filled(seed);
        hits += (1 << 40..(1u64 << 40) + ASKED)
            .filter(|key| filter.classify(key).0 == Verdict::Present)
            .count() as u64;
    }
    let (low, high) = tail::binomial_bounds(24 * ASKED, 1.617_4e-5, 1e-6);
    assert!((low..=high).contains(&hits), "{hits} of {low}..{high}");
}

#[test]
fn i3_unassigned_codes_are_nobody() {
    // One group only: words of weight 3 other than its own are not members, nor are larger words that
    // do not cover it.
    let mut filter = Combinatorial::with_code(CODE, 600, 2, Hasher::default()).expect("a code");
    for key in 0..150u64 {
        filter.insert(&key, b"only").expect("a group");
    }
    let mut seen = [0; 3];
    for key in 1 << 40..(1u64 << 40) + 20_000 {
        let (verdict, groups) = filter.classify(&key);
        seen[verdict as usize] += 1;
        assert_eq!(verdict == Verdict::Absent, groups.is_empty());
        assert_eq!(filter.contains(&key, b"only"), verdict, "one group: both questions are one");
        assert_eq!(filter.contains(&key, b"unknown"), Verdict::Absent);
    }
    assert!(seen.iter().all(|n| *n > 50), "{seen:?}");
}

#[test]
fn i3_plain_codes_of_the_survey() {
    // S3: group code 101, Ψ = 3, k = 3: sets 1 and 3 are used, 6 bits are set.
    let goal = Goal::default().set("form", "plain").set("groups", 7).set("m", 100_000).set("k", 3);
    let mut filter = typed(&goal);
    assert_eq!(filter.code(), Code { bits: 3, weight: 0 });
    for group in 0..7 {
        let before = filter.used();
        filter.insert(&(1000 + group), &label(group)).expect("seven groups");
        let ones = (group + 1).count_ones();
        assert_eq!(filter.used() - before, 3 * u64::from(ones), "code {:b}", group + 1);
    }
    assert_eq!(filter.code().word(4), 0b101);
    assert_eq!(
        filter.insert("x", b"an eighth").expect_err("no code").kind(),
        Kind::CapacityExceeded
    );
    // Code 0 belongs to nobody.
    assert_eq!(filter.classify("non-member"), (Verdict::Absent, vec![]));
}

#[test]
fn i3_plain_codes_misclassify_silently_and_fixed_weight_does_not() {
    let wrong = |form: &str| {
        let mut wrong = 0;
        for seed in 0..20 {
            let goal =
                Goal::default().set("form", form).set("groups", 7).set("m", 9000).set("k", 4);
            let mut filter = typed(&goal.seed(seed));
            for key in 0..1000u64 {
                filter.insert(&key, &label(key % 7)).expect("seven groups");
            }
            for key in 0..1000u64 {
                let (verdict, groups) = filter.classify(&key);
                let own = label(key % 7);
                assert_ne!(verdict, Verdict::Absent);
                let mistaken = verdict == Verdict::Present && groups != [own.as_slice()];
                wrong += u32::from(mistaken);
                // Asked for its own group, a member is never turned away.
                assert_ne!(filter.contains(&key, &own), Verdict::Absent);
            }
        }
        wrong
    };
    assert!(wrong("plain") > 100);
    assert_eq!(wrong("fixed-weight"), 0);
    assert_eq!(wrong("counting"), 0);
}

#[test]
fn i3_counters_let_keys_leave_and_bits_do_not() {
    let goal = Goal::new(1000, 0.01).set("form", "counting").set("groups", 35);
    let mut filter = typed(&goal);
    for key in 0..1000u64 {
        filter.insert(&key, &label(key % 35)).expect("35 groups");
    }
    let refused = filter.remove(&0u64, b"1").map_err(|e| e.kind());
    assert_eq!(refused, Err(Kind::NotDeletable), "it is in another group");
    assert_eq!(filter.remove(&0u64, b"none").map_err(|e| e.kind()), Err(Kind::NotDeletable));
    for key in 0..500u64 {
        filter.remove(&key, &label(key % 35)).expect("a member");
    }
    assert_eq!(filter.head().items, 500);
    assert!((500..1000u64).all(|key| filter.contains(&key, &label(key % 35)) != Verdict::Absent));
    let left = (0..500u64).filter(|key| filter.classify(key).0 != Verdict::Absent).count();
    assert!(left < 10, "{left}");
    for key in 500..1000u64 {
        filter.remove(&key, &label(key % 35)).expect("a member");
    }
    assert_eq!(filter.used(), 0, "all counters are back at zero");
    let mut bits = filled(0);
    assert_eq!(bits.remove(&0u64, b"0").map_err(|e| e.kind()), Err(Kind::Unsupported));
}

#[test]
fn i3_chunks_take_one_probe_of_every_set() {
    for form in ["fixed-weight", "bank", "code-bank", "plain", "counting"] {
        let goal = Goal::new(5000, 0.01).set("form", form).set("layout", "chunked");
        let keys: Vec<[u8; 8]> = (0..5000u64).map(u64::to_le_bytes).collect();
        let labels: Vec<Vec<u8>> = (0..16).map(label).collect();
        let records: Vec<Record<'_>> =
            keys.iter().enumerate().map(|(i, key)| record(key, &labels[i % 16])).collect();
        let filter = VARIANT.build_from(&goal, &records).expect(form);
        assert!(records.iter().all(|r| filter.query(*r).expect(form).verdict != Verdict::Absent));
        let expect = VARIANT.expect(&goal, &Load::items(5000)).expect(form).expect(form);
        let (mean, sd) = expect.fill.expect(form);
        let fill = filter.fill().expect(form);
        assert!((fill - mean).abs() < 6.0 * sd, "{form}: {fill} against {mean} ± {sd}");
        assert_eq!(filter.memory().cells, expect.bits, "{form}");
        let mut passed = 0;
        for key in 1u64 << 40..(1 << 40) + 200_000 {
            let own = &labels[key as usize % 16];
            let answer = filter.query(record(&key.to_le_bytes(), own)).expect(form);
            passed += u64::from(answer.verdict == Verdict::Present);
        }
        let (low, high) = tail::binomial_bounds(200_000, filter.now().fpr.expect(form), 1e-9);
        assert!((low..=high).contains(&passed), "{form}: {passed} of {low}..{high}");
    }
    // A key of a group with θ ones sets θ cells in every chunk, as long as they do not meet.
    let goal = Goal::default().set("layout", "chunked").set("m", 700_000).set("k", 7);
    for key in 0..50u64 {
        let mut filter = typed(&goal);
        filter.insert(&key, b"a").expect("a group");
        assert!((20..=21).contains(&filter.used()), "{}", filter.used());
    }
}

#[test]
fn i3_banks_answer_with_the_set_of_positive_classes() {
    let goal = Goal::new(1600, 0.01).set("form", "bank").set("groups", 4);
    let mut filter = typed(&goal);
    for key in 0..1600u64 {
        filter.insert(&key, &label(key % 4)).expect("four groups");
    }
    filter.insert(&0u64, b"2").expect("a second class");
    let key = 0u64.to_le_bytes();
    let Answer { verdict: Verdict::Present, detail: Detail::Labels(found) } =
        filter.query(Record::key(&key)).expect("a query")
    else {
        panic!("classes")
    };
    assert!(found.contains(&b"0".to_vec()) && found.contains(&b"2".to_vec()));
    // Each of the four filters is F1's for 400 keys and k = 7: 3835 bits at the real k, 3838 at this one.
    assert_eq!((filter.m() / 4, bloom::bits_for(400, 0.01)), (3838, 3835));
    assert_eq!(filter.fill().map(|f| (f * 100.0).round() / 100.0), Some(0.52));
    let wrong = (1u64 << 40..(1 << 40) + 100_000)
        .filter(|key| filter.contains(key, &label(key % 4)) == Verdict::Present)
        .count() as u64;
    let (low, high) = tail::binomial_bounds(100_000, filter.now().fpr.expect("a rate"), 1e-9);
    assert!((low..=high).contains(&wrong), "{wrong} of {low}..{high}");
    assert!((filter.now().fpr.expect("a rate") / 0.01 - 1.0).abs() < 0.25);
    // One filter per code bit: ⌈log2(γ + 1)⌉, since code 0 would be in none.
    let code_bank = typed(&Goal::new(1600, 0.01).set("form", "code-bank").set("groups", 4));
    assert_eq!(code_bank.code(), Code { bits: 3, weight: 0 });
}

#[test]
fn i3_plans_bound_both_errors() {
    for form in ["fixed-weight", "counting", "plain", "code-bank"] {
        for (groups, p) in [(2u64, 0.1), (16, 0.01), (35, 0.001), (1000, 0.01)] {
            let goal = Goal::new(20_000, p).set("form", form).set("groups", groups);
            let mut filter = typed(&goal);
            for key in 0..20_000u64 {
                filter.insert(&key, &label(key % groups)).expect(form);
            }
            let facts = filter.describe();
            let of = |name: &str| {
                let fact = facts.iter().find(|f| f.name == name).expect(name);
                fact.value.to_string().parse::<f64>().expect(name)
            };
            assert!(1.0 - of("members classified") < 1.15 * p, "{form} {groups} {p}");
            assert!(of("non-members accepted") < 1.15 * p, "{form} {groups} {p}");
        }
    }
    let refused = |goal: Goal| VARIANT.build_from(&goal, &[]).expect_err("no code").kind();
    let goal = Goal::new(10, 0.1).set("groups", 36);
    assert_eq!(refused(goal.clone().set("code-bits", 7)), Kind::BadParameter);
    assert_eq!(refused(goal.clone().set("form", "bank").set("code-bits", 7)), Kind::BadParameter);
    assert_eq!(refused(goal.clone().set("form", "plain").set("code-bits", 5)), Kind::BadParameter);
    assert_eq!(refused(goal.set("form", "plain").set("weight", 2)), Kind::BadParameter);
}
