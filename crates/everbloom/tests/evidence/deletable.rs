//! §25, the deletable filter.

use std::collections::HashMap;

use everbloom::Kind;
use everbloom::deleting::Deletable;
use everbloom::deleting::deletable::{Shape, VARIANT};
use everbloom::internals::file::to_bytes;
use everbloom::internals::filter::{Face, Filter};
use everbloom::internals::hash::{Generator, Hasher};
use everbloom::internals::plan::{Flat, Goal, Load};

fn filter(m: u64, k: u32, r: u64, seed: u64, keys: std::ops::Range<u64>) -> Deletable {
    let mut f = Deletable::with_shape(m, k, r, Hasher::seeded(seed)).unwrap();
    keys.for_each(|key| {
        f.insert(&key);
    });
    f
}

fn shape(m: u64, k: u32, r: u64) -> Shape {
    Shape { flat: Flat { m: m - r, k }, regions: r }
}

type Parameters = (u64, u64, u32, u64);

/// (m, n, k, r), then the paper's estimate, the corrected one, and what the catalogue measured.
const CHECKS: [(Parameters, [f64; 3]); 3] = [
    ((1024, 64, 5, 64), [0.9702, 0.9088, 0.9063]),
    ((1024, 64, 5, 128), [0.9974, 0.9734, 0.9724]),
    ((1000, 50, 4, 100), [0.9990, 0.9892, 0.9883]),
];

#[test]
fn s25_formulas() {
    for ((m, n, k, r), [paper, corrected, _]) in CHECKS {
        let shape = shape(m, k, r);
        assert!((shape.deletable_by_paper(n) - paper).abs() < 5e-5, "{m} {r}");
        assert!((shape.deletable(n) - corrected).abs() < 5e-5, "{m} {r}");
    }
    for (k, deletable) in [(4, 0.939), (5, 0.909), (6, 0.858)] {
        assert!((shape(1024, k, 64).deletable(64) - deletable).abs() < 5e-4, "k = {k}");
    }
    // The table of the module's essay: 9.585 bits a key, 7 probes.
    for (bits, share) in [(1, 0.99), (2, 0.97), (4, 0.90), (8, 0.64), (16, 0.20)] {
        let shape = Shape { flat: Flat { m: 958_496, k: 7 }, regions: 958_496 / bits };
        assert!((shape.deletable(100_000) - share).abs() < 0.005, "{}", shape.deletable(100_000));
    }
}

#[test]
fn s25_deletability_measured() {
    let filters = 1000;
    for ((m, n, k, r), [paper, _, measured]) in CHECKS {
        let (mut deleted, mut own, mut fill) = (0, 0.0, 0.0);
        for seed in 0..filters {
            let f = filter(m, k, r, seed, 0..n);
            deleted += (0..n).filter(|key| f.clone().remove(key).is_ok()).count();
            own += f.deletable() / filters as f64;
            fill += f.fill().unwrap() / filters as f64;
        }
        let share = deleted as f64 / (filters * n) as f64;
        assert!((share - measured).abs() < 0.01, "{m} {r}: {share} against {measured}");
        assert!(share < paper - 0.005, "{m} {r}: the paper's estimate is too high");
        // What a filter says of itself is as good.
        assert!((own - share).abs() < 0.01, "{m} {r}: {own} against {share}");
        // Only the first set sees a wrong k by deletability; the fill sees it always.
        let goal = Goal::default().set("m", m).set("k", k).set("r", r);
        let expect = VARIANT.expect(&goal, &Load::items(n)).unwrap().unwrap();
        assert_eq!(expect.bits, m, "the bits of the regions are part of m");
        let (mean, sd) = expect.fill.unwrap();
        assert!((fill - mean).abs() < 5.0 * sd / (filters as f64).sqrt(), "{fill} {mean}");
    }
}

#[test]
fn s25_figure_6_of_s0() {
    // m = 32, k = 3, r = 4, three elements, marks on some of the regions, and all are deletable.
    let drawn = |seed: &u64| {
        let f = filter(32, 3, 4, *seed, 0..3);
        f.collided().ones() > 0 && (0..3u64).all(|key| f.clone().remove(&key).is_ok())
    };
    let seed = (0..1000).find(drawn).expect("such drawings are common");
    let mut f = filter(32, 3, 4, seed, 0..3);
    assert_eq!((f.bits().len(), f.collided().len()), (28, 4));
    for key in 0..3u64 {
        f.remove(&key).unwrap();
        assert!(!f.contains(&key) && (key + 1..3).all(|other| f.contains(&other)));
    }
    // What is left lies in collided regions.
    let left = (0..28).filter(|&b| f.bits().get(b)).all(|b| f.collided().get(b * 4 / 28));
    assert!(left && f.head().items == 0);
}

#[test]
fn s25_bits_touched() {
    let touched = |seed| {
        let f = filter(1 << 17, 6, 1 << 15, seed, 0..1);
        assert_eq!(f.collided().ones(), 0);
        f.bits().ones()
    };
    assert!((598..=600).contains(&(0..100).map(touched).sum::<u64>()));
    // In a few bits the probes of one key often meet: that is no collision.
    for seed in 0..1000 {
        let mut f = filter(7, 4, 2, seed, 0..1);
        assert_eq!(f.collided().ones(), 0);
        f.remove(&0u64).unwrap();
        assert_eq!(f.bits().ones(), 0);
    }
}

#[test]
fn s25_marks_stay_where_bits_are_hit_twice() {
    for seed in 0..50 {
        let (m, r) = (100 + seed, 1 + seed % 33);
        let f = filter(m, 3, r, seed, 0..12);
        let bits = m - r;
        let mut hits = vec![0; bits as usize];
        for key in 0..12u64 {
            f.trace(&key.to_le_bytes()).iter().for_each(|cell| hits[cell.index as usize] += 1);
        }
        for region in 0..r {
            let mine = (0..bits).filter(|b| b * r / bits == region);
            let met = mine.map(|b| hits[b as usize]).any(|h| h > 1);
            assert_eq!(f.collided().get(region), met, "seed {seed}, region {region}");
        }
    }
}

#[test]
fn s25_removal_against_an_exact_multiset() {
    for seed in 0..40 {
        let mut f = filter(500, 3, 100, seed, 0..0);
        let mut model: HashMap<u64, u64> = HashMap::new();
        let mut generator = Generator::new(seed);
        let (mut refused, mut removed) = (0, 0);
        for step in 0..1000 {
            let key = generator.below(100);
            let held = model.entry(key).or_default();
            if *held > 0 && generator.below(2) == 0 {
                let before = f.clone();
                match f.remove(&key) {
                    Ok(()) => {
                        *held -= 1;
                        removed += 1;
                        assert!(!f.contains(&key), "removed is absent");
                    }
                    Err(e) => {
                        refused += 1;
                        assert_eq!(e.kind(), Kind::NotDeletable);
                        assert_eq!(f, before, "a refused removal changes nothing");
                    }
                }
            } else if *held == 0 || step % 50 == 0 {
                let collided = f.collided().clone();
                f.insert(&key);
                *held += 1;
                let kept = (0..100).all(|region| f.collided().get(region) || !collided.get(region));
                assert!(kept, "marks are never cleared");
            }
            let missed = model.iter().find(|(key, held)| **held > 0 && !f.contains(*key));
            assert_eq!(missed, None, "seed {seed} step {step}");
        }
        assert!(refused > 0 && removed > 20, "{refused} {removed}");
    }
}

#[test]
fn s25_inserting_again_ends_deletability() {
    let mut f = filter(10_000, 5, 2000, 1, 0..10);
    f.insert(&3u64);
    assert!(f.remove(&3u64).unwrap_err().to_string().contains("rebuild"));
    assert!(f.remove(&77u64).unwrap_err().to_string().contains("not in the filter"));
    f.remove(&4u64).unwrap();
    assert_eq!(f.head().items, 10);
}

#[test]
fn s25_insertions_of_what_passes_already_cannot_be_skipped() {
    // The catalogue offers it as an option. A key that passes by the bits of others has no bit of its
    // own: left out, it is lost as soon as one of them leaves.
    let mut lost = 0;
    for seed in 0..200 {
        let mut skipping = filter(120, 3, 40, seed, 0..15);
        let passing = (100..2000u64).filter(|key| skipping.contains(key)).collect::<Vec<_>>();
        let mut taking = skipping.clone();
        passing.iter().for_each(|key| {
            taking.insert(key);
        });
        for key in 0..15u64 {
            let _ = (skipping.remove(&key), taking.remove(&key));
        }
        assert!(passing.iter().all(|key| taking.contains(key)));
        lost += passing.iter().filter(|key| !skipping.contains(*key)).count();
    }
    assert!(lost > 1000, "{lost}");
}

#[test]
fn s25_unions_are_the_filters_of_both() {
    for seed in 0..30 {
        let build = |keys| filter(500, 3, 90, seed, keys);
        let mut united = build(0..25);
        united.union(&build(25..50)).unwrap();
        let whole = build(0..50);
        assert_eq!((united.bits(), united.collided()), (whole.bits(), whole.collided()));
        let mut common = build(0..30);
        common.union(&build(20..50)).unwrap();
        assert_eq!(common.bits(), whole.bits());
        assert!((20..30u64).all(|key| common.clone().remove(&key).is_err()));
    }
    let (mut a, b) = (filter(500, 3, 90, 1, 0..5), filter(500, 3, 91, 1, 0..5));
    let before = to_bytes(&a);
    assert!(matches!(a.union(&b).unwrap_err().kind(), Kind::Incompatible { .. }));
    assert_eq!(to_bytes(&a), before);
}

#[test]
fn s25_halves_lose_no_member() {
    // Regions of even and of odd length: bits may come to lie in another region.
    for (m, r) in [(480, 96), (480, 120), (462, 60), (431, 101)] {
        let (mut removed, mut refused) = (0, 0);
        for seed in 0..30 {
            let whole = filter(m, 3, r, seed, 0..40);
            let mut half = whole.fold().unwrap();
            assert_eq!(half.bits().len() * 2, whole.bits().len());
            assert_eq!(half.collided().len(), r.div_ceil(2));
            for key in 0..40u64 {
                match half.remove(&key) {
                    Ok(()) => removed += 1,
                    Err(_) => refused += 1,
                }
                assert!((key + 1..40).all(|other| half.contains(&other)), "m {m} seed {seed}");
            }
        }
        assert!(removed > 30 && refused > 30, "{removed} {refused}");
    }
    assert!(filter(101, 3, 20, 0, 0..1).fold().is_err(), "81 bits have no half");
}

#[test]
fn s25_intersections_lose_no_common_member() {
    for seed in 0..30 {
        let mut both = filter(900, 3, 200, seed, 0..40);
        both.intersect(&filter(900, 3, 200, seed, 20..60)).unwrap();
        let mut removed = 0;
        for key in 20..40u64 {
            assert!((key..40).all(|other| both.contains(&other)), "seed {seed}");
            removed += u64::from(both.remove(&key).is_ok());
        }
        assert!(removed >= 15, "{removed}");
    }
}

#[test]
fn s25_shapes_that_cannot_be_are_refused() {
    let refused = |m, r| Deletable::with_shape(m, 3, r, Hasher::default()).is_err();
    assert!(refused(10, 0) && refused(10, 6) && refused(10, 10) && refused(10, 11));
    assert!(!refused(10, 5) && !refused(2, 1));
    let plan = |goal: Goal| VARIANT.expect(&goal, &Load::items(1000));
    assert!(plan(Goal::new(1000, 0.01).set("r", 1_000_000)).is_err());
    // Regions are free to choose, and the rate is kept.
    for r in [1, 7, 5000] {
        let expect = plan(Goal::new(1000, 0.01).set("r", r)).unwrap().unwrap();
        assert!(expect.fpr < 0.0101 && expect.bits == 9586 + r, "{expect:?}");
    }
    assert_eq!(plan(Goal::new(1000, 0.01)).unwrap().unwrap().bits, 2 * 9586);
}
