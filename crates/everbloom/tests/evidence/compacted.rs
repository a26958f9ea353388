//! I9, the compacted filter.

use everbloom::Kind;
use everbloom::compact::compacted::{Losses, VARIANT, compact, expand, fill_after};
use everbloom::internals::cells::{Bits, Packed};
use everbloom::internals::filter::Input;
use everbloom::internals::filter::{Face, Filter, Record};
use everbloom::internals::hash::Generator;
use everbloom::internals::plan::{Goal, Load};
use everbloom::internals::sample::{Sample, Style};

fn random(len: u64, share: f64, seed: u64) -> Bits {
    let mut coins = Generator::new(seed);
    Bits::with_ones(len, (0..len).filter(|_| coins.unit() < share))
}

fn built(n: u64, goal: &Goal) -> Box<dyn Filter> {
    let keys = Sample::new(&Input::KEYS, Style::Random, 0..n);
    VARIANT.build_from(goal, &keys.records()).unwrap()
}

#[test]
fn i9_losses_by_formula() {
    for (blocks, fill, lost, raised) in [
        (6, 0.1, 0.16403, Some(0.00856)),
        (6, 0.05, 0.10181, Some(0.001158)),
        (6, 0.3, 0.18008, Some(0.16308)),
        (14, 0.02, 0.12015, None),
        (3, 0.3, 0.0, Some(0.09)),
    ] {
        let losses = Losses::of(blocks, fill);
        assert!((losses.lost - lost).abs() < 6e-6, "{blocks}, {fill}: {losses:?}");
        assert!(raised.is_none_or(|r| (losses.raised - r).abs() < 6e-6), "{blocks}: {losses:?}");
        let after = fill * (1.0 - losses.lost) + (1.0 - fill) * losses.raised;
        assert!((fill_after(blocks, fill) - after).abs() < 1e-12);
    }
    assert!((Losses::of(6, 0.1).fnr(4) - 0.5116).abs() < 5e-5);
    for blocks in 1..=4 {
        assert_eq!(Losses::of(blocks, 0.37).lost, 0.0, "{blocks} blocks lose nothing");
    }
    assert!(Losses::of(5, 0.37).lost > 0.1);
}

#[test]
fn i9_losses_of_real_arrays() {
    let filters = 20;
    for (blocks, width, fill) in
        [(6, 3, 0.1), (6, 3, 0.05), (6, 3, 0.3), (14, 4, 0.02), (3, 3, 0.3)]
    {
        let (mut lost, mut raised, mut counted) = (0, 0, 0);
        let (mut ones, mut zeros) = (0, 0);
        for seed in 0..filters {
            let bits = random(84_000, fill, seed);
            let (indices, gone) = compact(&bits, blocks, width, seed);
            assert_eq!(indices.len() * u64::from(blocks), 84_000);
            let after = expand(&indices, blocks, bits.len());
            counted += gone;
            for i in 0..bits.len() {
                match (bits.get(i), after.get(i)) {
                    (true, false) => lost += 1,
                    (false, true) => raised += 1,
                    _ => {}
                }
            }
            ones += bits.ones();
            zeros += bits.zeros();
        }
        let losses = Losses::of(blocks, fill);
        let (l, r) = (lost as f64 / ones as f64, raised as f64 / zeros as f64);
        assert_eq!(lost, counted, "compaction knows what it loses");
        // Five standard deviations of so many columns, each of them with up to `blocks` changes.
        let sd = |share: f64, of: u64| (share * f64::from(blocks) / of as f64).sqrt();
        assert!((l - losses.lost).abs() <= 5.0 * sd(losses.lost, ones), "{blocks}, {fill}: {l}");
        assert!(
            (r - losses.raised).abs() <= 5.0 * sd(losses.raised, zeros),
            "{blocks}, {fill}: {r}"
        );
    }
}

#[test]
fn i9_rules_column_by_column() {
    // Six blocks of one column: the bits are the column.
    let index = |ones: &[u64]| compact(&Bits::with_ones(6, ones.iter().copied()), 6, 3, 1).0.get(0);
    assert_eq!(index(&[]), 0);
    for r in 0..6 {
        assert_eq!(index(&[r]), r + 1, "counted from 1");
    }
    for two in [[0, 1], [2, 5], [3, 4]] {
        assert!(two.map(|r| r + 1).contains(&index(&two)), "one of the two is kept");
    }
    assert_eq!(index(&[1, 3, 5]), 7, "half of them is a majority");
    assert_eq!(index(&[0, 1, 2, 3]), 7);
    assert_eq!(index(&[0, 1, 2, 3, 4, 5]), 7);
    // One of two is half of them, but the rule for a single one comes first.
    assert_eq!(compact(&Bits::with_ones(2, [1]), 2, 2, 0).0.get(0), 2);
    assert_eq!(compact(&Bits::with_ones(2, [0, 1]), 2, 2, 0).0.get(0), 3);
    // Five of twelve are fewer than half.
    assert_ne!(compact(&Bits::with_ones(12, 0..5), 12, 4, 0).0.get(0), 15);
    assert_eq!(compact(&Bits::with_ones(12, 0..6), 12, 4, 0).0.get(0), 15);
}

#[test]
fn i9_all_blocks_have_the_same_chance_to_be_kept() {
    let columns = 60_000;
    let bits = Bits::with_ones(
        6 * columns,
        (0..2 * columns).chain(4 * columns..5 * columns).filter(|i| {
            // Of blocks 1, 2 and 5 the first and one of the others.
            *i < columns || (i / columns == 1) == (i % 2 == 0)
        }),
    );
    let (indices, lost) = compact(&bits, 6, 3, 9);
    assert_eq!(lost, columns);
    let kept = |index: u64| indices.iter().filter(|i| *i == index).count();
    assert!((kept(1) as f64 / 30_000.0 - 1.0).abs() < 0.03, "{}", kept(1));
    assert!((kept(2) as f64 / 15_000.0 - 1.0).abs() < 0.04, "{}", kept(2));
    assert!((kept(5) as f64 / 15_000.0 - 1.0).abs() < 0.04, "{}", kept(5));
}

#[test]
fn i9_columns_of_single_ones_survive() {
    for (len, blocks, width) in
        [(6000, 6, 3), (6001, 6, 3), (6005, 6, 3), (14_000, 14, 4), (7, 2, 2)]
    {
        let columns = len as u64;
        let b = columns.div_ceil(u64::from(blocks));
        // In column i the block i mod k0, if it is there.
        let ones = (0..b).map(|i| i % u64::from(blocks) * b + i).filter(|i| *i < columns);
        let bits = Bits::with_ones(columns, ones);
        let (indices, lost) = compact(&bits, blocks, width, 0);
        assert_eq!((lost, expand(&indices, blocks, columns)), (0, bits), "{len} bits");
    }
}

#[test]
fn i9_encoding_is_reproducible() {
    let bits = random(60_000, 0.1, 4);
    assert_eq!(compact(&bits, 6, 3, 1), compact(&bits, 6, 3, 1));
    assert_ne!(compact(&bits, 6, 3, 1), compact(&bits, 6, 3, 2), "the seed chooses");
}

#[test]
fn i9_members_are_missed_as_predicted() {
    let (n, k, filters) = (5000u64, 4, 20);
    // At a fill of 0.1: m = −kn/ln 0.9, cut into six.
    let goal = Goal::default().set("m", 189_824).set("k", k);
    let (mut missed, mut rate, mut from_fill) = (0, 0.0, 0.0);
    for seed in 0..filters {
        let filter = built(n, &goal.clone().seed(seed));
        assert_eq!(filter.memory().cells * 2, 189_828, "half of the bits, padded to whole columns");
        let keys = Sample::new(&Input::KEYS, Style::Random, 0..n);
        missed += keys.records().iter().filter(|r| !filter.contains(r.key)).count();
        let others = Sample::new(&Input::KEYS, Style::Random, n..n + 20_000);
        let wrong = others.records().iter().filter(|r| filter.contains(r.key)).count();
        rate += wrong as f64 / 20_000.0 / filters as f64;
        from_fill += filter.now().fpr.unwrap() / filters as f64;
        assert!((filter.now().fnr.unwrap() - 0.5116).abs() < 0.03, "{:?}", filter.now());
    }
    let fnr = missed as f64 / (n * filters) as f64;
    assert!((fnr - 0.5116).abs() < 0.006, "{fnr}");
    let expect = VARIANT.expect(&goal, &Load::items(n)).unwrap().unwrap();
    assert!((expect.fnr - 0.5116).abs() < 1e-3, "{expect:?}");
    assert!((from_fill / expect.fpr - 1.0).abs() < 0.02, "{from_fill}, {expect:?}");
    // Some 28 of 400,000: within five standard deviations.
    assert!((rate - expect.fpr).abs() < 5.0 * (expect.fpr / 400_000.0).sqrt(), "{rate}");
}

#[test]
fn i9_plans_keep_both_rates() {
    let n = 3000;
    for (p, fnr) in [(0.01, 0.1), (0.01, 0.3), (0.1, 0.05), (0.001, 0.5)] {
        let goal = Goal::new(n, p).set("fnr", fnr);
        let expect = VARIANT.expect(&goal, &Load::items(n)).unwrap().unwrap();
        assert!(expect.fpr <= 1.01 * p && expect.fnr <= 1.01 * fnr, "{p}, {fnr}: {expect:?}");
        assert!(expect.fpr > 0.98 * p || expect.fnr > 0.98 * fnr, "not larger than needed");
    }
    let usual = VARIANT.expect(&Goal::new(n, 0.01), &Load::items(n)).unwrap().unwrap();
    assert!((usual.bits as f64 / n as f64 - 44.0).abs() < 0.5, "{usual:?}, as the essay says");
    let one_sided = Goal::new(n, 0.01).set("form", "one-sided");
    let expect = VARIANT.expect(&one_sided, &Load::items(n)).unwrap().unwrap();
    assert_eq!(expect.fnr, 0.0);
    assert!((expect.fpr / 0.01 - 1.0).abs() < 0.02, "{expect:?}");
    let per_key = expect.bits as f64 / n as f64;
    assert!(per_key > 11.5 && per_key < 12.5, "{per_key}, as the essay says");
    assert_eq!(built(n, &one_sided).now().fnr, Some(0.0));
    let refused = |goal: Goal| VARIANT.build_from(&goal, &[]).unwrap_err().kind();
    assert_eq!(refused(Goal::new(n, 0.01).set("blocks", 7)), Kind::BadParameter);
    assert_eq!(refused(one_sided.set("blocks", 5)), Kind::BadParameter);
    assert!(VARIANT.build_from(&Goal::new(n, 0.01).set("index-bits", 4), &[]).is_ok());
}

#[test]
fn i9_what_is_asked_is_what_the_receiver_expands() {
    use everbloom::compact::Compacted;
    use everbloom::internals::file::{Opener, to_bytes};
    use everbloom::internals::probe::Probe;
    let n = 2000;
    let bytes = to_bytes(&*built(n, &Goal::new(n, 0.01)));
    let filter: Compacted = Opener::new().decode_as(&bytes).unwrap();
    let bits = filter.expand();
    let k = filter.trace(b"").len() as u32;
    let probe = Probe::over(filter.m(), k);
    let keys = Sample::new(&Input::KEYS, Style::Random, 0..2 * n);
    for record in keys.records() {
        let digest = filter.head().hasher.digest(record.key);
        let expected = probe.all(digest, |i| bits.get(i));
        assert_eq!(filter.contains(record.key), expected);
        assert_eq!(filter.query(Record::key(record.key)).unwrap().verdict, {
            use everbloom::internals::filter::Verdict::{Absent, Present};
            if expected { Present } else { Absent }
        });
    }
    assert_eq!(filter.fill(), Some(bits.ones() as f64 / bits.len() as f64));
    let whole: Packed = compact(&bits, 6, 3, 0).0;
    assert_eq!(expand(&whole, 6, bits.len()), bits, "compacting again changes nothing");
}
