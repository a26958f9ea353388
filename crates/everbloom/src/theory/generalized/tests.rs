//! The paper's figures and numbers.

use super::super::assert_prints;
use super::*;

fn hashes(k0: u32, k1: u32) -> Hashes {
    Hashes { k0: f64::from(k0), k1: f64::from(k1) }
}

fn shape(m: u32, k0: u32, k1: u32) -> Shape {
    Shape { m: f64::from(m), k0: f64::from(k0), k1: f64::from(k1) }
}

#[test]
fn r10_probabilities_of_one_insertion() {
    let shape = shape(10, 2, 3);
    let q = |k: f64| libm::pow(0.9, k);
    assert!((shape.resets() - (1.0 - q(2.0))).abs() < 1e-15);
    assert!((shape.sets() - (1.0 - q(3.0)) * q(2.0)).abs() < 1e-15);
    assert!((shape.untouched() - q(5.0)).abs() < 1e-15);
    assert!((shape.resets() + shape.sets() + shape.untouched() - 1.0).abs() < 1e-15);
}

#[test]
fn r10_standard_filter_is_a_special_case() {
    let standard = shape(80_000, 0, 5);
    let zeros = standard.zeros_after(1.0, 10_000.0);
    let rate = bloom::fpr_classic(80_000.0, 10_000.0, 5.0);
    assert!((standard.fpr(zeros) / rate - 1.0).abs() < 1e-3);
    assert_prints(shape(1_000_000, 0, 5).bits_set(), 5.0, 1e-4);
    assert_eq!(standard.fnr(10_000.0), 0.0);
    assert_eq!(hashes(0, 5).max_fnr(8.0), 0.0);
    assert_eq!(hashes(0, 5).max_fpr(), 1.0);
}

#[test]
fn r10_fig_4() {
    for (k, rate) in [(1, 0.5), (2, 0.25), (3, 0.125), (4, 0.0625)] {
        assert_eq!(hashes(0, k).fpr(0.5), rate);
    }
}

#[test]
fn r10_fig_6() {
    for (k, half, max) in [(1, 0.25, 0.25), (2, 0.125, 0.148148), (3, 0.0625, 0.105469)] {
        for hashes in [hashes(k, 1), hashes(1, k)] {
            assert_eq!(hashes.fpr(0.5), half);
            assert_prints(hashes.max_fpr(), max, 1e-6);
        }
        assert!((1.0 - hashes(k, 1).worst_zeros() - 1.0 / f64::from(k + 1)).abs() < 1e-15);
    }
}

#[test]
fn r10_fig_7() {
    for k in 1..=8 {
        assert_eq!(hashes(k, k).max_fpr(), libm::pow(4.0, -f64::from(k)));
        assert_eq!(hashes(k, k).worst_zeros(), 0.5);
    }
}

#[test]
fn r10_bounds_in_the_text() {
    for (k0, k1, bound, percent) in
        [(2, 2, 0.0625, 6.3), (3, 3, 0.015625, 1.6), (4, 4, 0.00390625, 0.4), (2, 3, 0.03456, 3.5)]
    {
        assert_prints(hashes(k0, k1).max_fpr(), bound, 1e-12);
        assert_prints(100.0 * hashes(k0, k1).max_fpr(), percent, 0.1);
    }
    for (k0, k1, c, bound, percent) in
        [(2, 2, 128.0, 0.060128, 6.0), (2, 3, 256.0, 0.045575, 4.6), (2, 3, 512.0, 0.023109, 2.3)]
    {
        assert_prints(hashes(k0, k1).max_fnr(c), bound, 1e-6);
        assert_prints(100.0 * hashes(k0, k1).max_fnr(c), percent, 0.1);
    }
}

#[test]
fn r10_simplified_survival_gives_the_same_bound() {
    let (hashes, c) = (hashes(2, 3), 64.0);
    let kept = libm::pow(hashes.stays_zero(c), 2.0) * libm::pow(hashes.stays_one(c), 3.0);
    assert!((1.0 - kept - hashes.max_fnr(c)).abs() < 1e-15);
}

#[test]
fn r10_fig_8() {
    let oldest = [0.013915, 0.027568, 0.040963, 0.054108];
    let fifth = [0.007767, 0.015447, 0.02304, 0.030549];
    for k0 in 1..=4u32 {
        let shape = shape(1280, k0, 1);
        let i = k0 as usize - 1;
        assert_prints(shape.fnr(9.0), oldest[i], 1e-6);
        assert_prints(shape.fnr(5.0), fifth[i], 1e-6);
        assert_eq!(shape.fnr(0.0), 0.0);
    }
}

#[test]
fn r10_fig_9() {
    for (k, oldest) in [(1, 0.013915), (2, 0.054282), (3, 0.117531), (4, 0.198536)] {
        assert_prints(shape(1280, k, k).fnr(9.0), oldest, 1e-6);
    }
}

#[test]
fn r10_fig_10() {
    for (c, bounds) in [
        (32.0, [0.05967, 0.11492, 0.16615]),
        (64.0, [0.03053, 0.05990, 0.08816]),
        (128.0, [0.01544, 0.03059, 0.04544]),
        (256.0, [0.00777, 0.01546, 0.02308]),
    ] {
        for (k0, bound) in (1..).zip(bounds) {
            assert_prints(hashes(k0, 1).max_fnr(c), bound, 1e-5);
        }
    }
}

#[test]
fn r10_fig_11() {
    for (k0, zeros, rate) in [
        (2, 0.0, 0.004687),
        (2, 1.0, 0.004687),
        (2, 0.5, 0.0625),
        (1, 1.0, 0.005255),
        (1, 0.0, 0.034905),
        (1, 0.5, 0.129527),
        (3, 1.0, 0.004195),
        (3, 0.0, 0.001022),
    ] {
        let a = hashes(k0, 2);
        assert_prints(a.fpr(a.zeros_after(zeros, 25.0)), rate, 1e-6);
        // Fig. 11b by symmetry.
        let b = hashes(2, k0);
        assert_prints(b.fpr(b.zeros_after(1.0 - zeros, 25.0)), rate, 1e-6);
    }
}

#[test]
fn r10_fig_12() {
    for (c, rate, last_digit) in [
        (1.0, 0.06246, 1e-5),
        (4.0, 0.04673, 1e-5),
        (8.0, 0.02497, 1e-5),
        (16.0, 0.009676, 1e-6),
        (32.0, 0.003058, 1e-6),
        (64.0, 0.000863, 1e-6),
    ] {
        for zeros in [0.0, 1.0] {
            let hashes = hashes(2, 2);
            assert_prints(hashes.fpr(hashes.zeros_after(zeros, c)), rate, last_digit);
        }
    }
}

#[test]
fn r10_fig_13() {
    for (k, fpr, fnr) in [(1, 0.25, 0.01544), (2, 0.0625, 0.06013), (3, 0.015625, 0.12975)] {
        assert_eq!(hashes(k, k).max_fpr(), fpr);
        assert_prints(hashes(k, k).max_fnr(128.0), fnr, 1e-5);
    }
    for (c, k) in [(64.0, 1.742), (128.0, 2.016), (256.0, 2.310), (512.0, 2.621)] {
        assert_prints(balanced_k(c, 1.0), k, 1e-3);
        let equal = balanced_k(c, 1.0);
        assert!((balanced_k1(equal, c, 1.0) - equal).abs() < 1e-9);
    }
}

#[test]
fn r10_fig_14() {
    for (k0, k1, fpr, fnr) in
        [(2, 2, 0.0625, 0.03065), (2, 3, 0.03456, 0.04557), (3, 3, 0.015625, 0.06751)]
    {
        assert_prints(hashes(k0, k1).max_fpr(), fpr, 1e-12);
        assert_prints(hashes(k0, k1).max_fnr(256.0), fnr, 1e-5);
    }
}

#[test]
fn r10_eq_25() {
    assert_prints(hashes(1, 4).fnr_per_fpr(256.0), 0.37, 0.01);
    assert_eq!(weighted_pairs(256.0, 1.0 / 3.0, 1.2), [(1, 4), (4, 1)]);
}

#[test]
fn r10_worst_start_stays_and_is_the_worst() {
    let hashes = hashes(2, 3);
    let worst = hashes.worst_zeros();
    assert!((hashes.zeros_after(worst, 7.0) - worst).abs() < 1e-15);
    for zeros in [0.0, 0.2, 0.39, 0.41, 0.7, 1.0] {
        assert!(hashes.fpr(zeros) < hashes.max_fpr());
    }
}

#[test]
fn r10_exact_rate_and_the_skip_rule() {
    let shape = shape(1280, 2, 2);
    let zeros = shape.zeros_after(1.0, 10.0);
    assert_prints(zeros, 0.984623, 1e-6);
    assert_prints(shape.fpr(zeros), 2.3301e-4, 1e-8);
    assert_prints(shape.fpr(zeros) + shape.fpr_excess_of_skipping(zeros), 2.80e-4, 1e-6);
    assert_eq!(super::tests::shape(1280, 2, 0).fpr_excess_of_skipping(1.0), 0.0);
}

#[test]
fn r10_design_is_the_least_of_all_pairs() {
    for (fp, fneg) in [(0.0625, 0.06), (0.035, 0.046), (0.1, 0.01), (1e-4, 0.2)] {
        let design = design(fp, fneg).unwrap();
        let chosen = hashes(design.k0, design.k1);
        assert!(chosen.max_fpr() <= fp && chosen.max_fnr(design.bits_per_item) <= fneg);
        for k0 in 1..=20 {
            for k1 in 1..=20 {
                let other = hashes(k0, k1);
                let smaller = design.bits_per_item * (1.0 - 1e-8);
                let works = other.max_fpr() <= fp && other.max_fnr(smaller) <= fneg;
                assert!(!works, "{design:?} against {k0} {k1}");
            }
        }
    }
    let paper = design(0.035, 0.046).unwrap();
    assert_eq!((paper.k0, paper.k1), (2, 3));
    assert!(paper.bits_per_item < 256.0);
}

#[test]
fn r10_design_at_its_limits() {
    assert_eq!(design(0.3, 0.9).map(|design| design.bits_per_item), Some(1e-3));
    // 2^-128 is 2.94e-39, which takes all 64 hashes each way.
    assert_eq!(design(3e-39, 0.1).map(|design| (design.k0, design.k1)), Some((64, 64)));
    assert_eq!(design(2.9e-39, 0.1), None);
    assert_eq!(design(0.0, 0.1), None);
    assert_eq!(design(0.1, 0.0), None);
    assert_eq!(design(0.1, -1.0), None);
}

#[test]
fn r10_universal_hash() {
    let [z, m] = [101, 10].map(|x| NonZeroU64::new(x).unwrap());
    assert_eq!(universal_hash(7, 20, 5, z, m), 4);
    let max = NonZeroU64::MAX;
    assert_eq!(universal_hash(u64::MAX, u64::MAX, 3, max, max), 3);
}
