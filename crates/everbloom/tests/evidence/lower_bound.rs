//! F7, the space lower bound.

use std::f64::consts::LOG2_E;

use everbloom::catalog::VARIANTS;
use everbloom::compact::times_bound;
use everbloom::internals::filter::{EntryKind, FalseNegatives};
use everbloom::internals::plan::{Goal, Load};
use everbloom::internals::theory::{bloom, bound};
use everbloom::membership::Bloom;

fn prints(value: f64, printed: f64) {
    assert!((value - printed).abs() < 0.00501, "{value} against {printed}");
}

#[test]
fn f7_a_thousand_items_at_one_percent() {
    prints(bound::lower_bound(1000.0, 0.01), 6643.86);
    prints(bound::lower_bound_in_universe(1e9, 1000.0, 0.01), 6643.78);
    prints(bound::lower_bound_in_universe(1e6, 1000.0, 0.01), 6574.60);
    prints(bloom::bits(1000.0, 0.01), 9585.06);
}

#[test]
fn f7_binomials_by_hand() {
    // A universe of 10 keys, 3 members, ε(u − n) = 0.5·7 is no whole number: by the gamma form,
    // C(10, 3)/C(6.5, 3) = 120/(6.5·5.5·4.5/6).
    let by_hand = (120.0f64 / (6.5 * 5.5 * 4.5 / 6.0)).log2();
    assert!((bound::lower_bound_in_universe(10.0, 3.0, 0.5) - by_hand).abs() < 1e-12);
    // Where every key passes nothing needs to be held, where none does everything: log2 C(u, n).
    assert_eq!(bound::lower_bound_in_universe(10.0, 3.0, 1.0), 0.0);
    let all = bound::lower_bound_in_universe(10.0, 3.0, 1e-15);
    assert!((all - 120f64.log2()).abs() < 1e-9, "{all}");
}

#[test]
fn f7_the_approximation_needs_a_large_universe() {
    // n ≪ εu: 1 % too high at u = 10⁶, right at 10⁹, and never too low.
    let approximate = bound::lower_bound(1000.0, 0.01);
    let mut last = 0.0;
    for u in [1e5, 1e6, 1e7, 1e8, 1e9, 1e12] {
        let exact = bound::lower_bound_in_universe(u, 1000.0, 0.01);
        assert!(exact > last && exact < approximate, "{u}: {exact}");
        last = exact;
    }
    assert!(1.0 - last / approximate < 1e-6);
}

#[test]
fn f7_a_bloom_filter_takes_log2_e_times_the_bound() {
    for p in [0.5, 0.01, 1e-9] {
        let times = bound::times_bound(bloom::bits(1e6, p), 1e6, p).unwrap();
        assert!((times - LOG2_E).abs() < 1e-9, "{times}");
    }
    for j in 1..30 {
        let j = f64::from(j);
        assert!((bloom::fpr_best(j) / 0.6185f64.powf(j) - 1.0).abs() < 0.003);
        assert_eq!(bound::least_fpr(j), 0.5f64.powf(j));
    }
    // A real one, by the rate of its real fill: its k is a whole number and its fill near a half.
    let mut filter = Bloom::with_rate(100_000, 0.01).unwrap();
    (0..100_000u64).for_each(|key| {
        filter.insert(&key);
    });
    let times = times_bound(&filter).unwrap();
    assert!((times / LOG2_E - 1.0).abs() < 0.01, "{times}");
}

#[test]
fn f7_no_formula_in_the_list_beats_the_bound() {
    for variant in VARIANTS.iter().filter(|v| v.kind == EntryKind::Filter) {
        let never = matches!(variant.forms[0].false_negatives, FalseNegatives::Never);
        // Those made for small sets know their universe, or the non-members that will be asked.
        let (n, p) = (1000.min(variant.reach), 0.01);
        let expected = variant.expect(&Goal::new(n, p), &Load::items(n));
        if let (true, Ok(Some(e))) = (never, expected)
            && let Some(times) = bound::times_bound(e.bits as f64, n as f64, e.fpr + e.undecided)
        {
            assert!(times >= 1.0, "{}: {times} times the bound", variant.slug);
        }
    }
}

#[test]
fn f7_stands_in_the_list_as_theory() {
    let entry = everbloom::catalog::by_slug("lower-bound").unwrap();
    assert_eq!((entry.entry, entry.kind), ("F7", EntryKind::Theory));
    let refused = entry.build_from(&Goal::new(10, 0.1), &[]).unwrap_err();
    assert!(refused.to_string().contains("theory"), "{refused}");
    assert_eq!(times_bound(&Bloom::with_rate(10, 0.1).unwrap()), None, "an empty filter");
}
