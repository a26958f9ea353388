//! §29, the decaying and the block-decaying filter.

use everbloom::decaying::Decaying;
use everbloom::decaying::decaying_bloom::{VARIANT, initial_value};
use everbloom::internals::filter::{Filter, Seen, fact};
use everbloom::internals::hash::Hasher;
use everbloom::internals::plan::{Goal, Load};
use everbloom::internals::theory::bloom::fpr_asymptotic;

fn in_blocks(window: u64, blocks: u64, m: u64, k: u32, seed: u64) -> Decaying {
    Decaying::in_blocks(window, blocks, m, k, Hasher::seeded(seed)).unwrap()
}

fn insert(filter: &mut Decaying, keys: std::ops::Range<u64>) {
    filter.extend(keys);
}

/// V, its bits, and that it is enough; that V − 1 is not, the variant's own tests show.
#[test]
fn s29_initial_values() {
    for (window, blocks, value, width, live) in [(100, 7, 16, 5, 112), (1000, 64, 17, 5, 1088)] {
        assert_eq!(initial_value(window, blocks), value);
        let mut f = in_blocks(window, blocks, 16 * window, 11, 1);
        assert_eq!((f.cells().longest(), f.cells().width()), (value, width));
        assert!(f.describe().contains(&fact("longest life", live as u64)));
        for t in 0..4 * window {
            assert!(t < window || f.contains(&(t - window)), "{window}: {t}");
            f.insert(&t);
        }
    }
    // ⌈log2(W+1)⌉ bits hold a life, and one more spares the sweep over all cells.
    let whole = Decaying::whole(1000, 16_000, 11, Hasher::default()).unwrap();
    assert_eq!((whole.cells().longest(), whole.cells().width()), (1000, 10 + 1));
}

#[test]
fn s29_whole_finds_a_key_for_exactly_w_arrivals() {
    for window in [1, 2, 7, 100] {
        for seed in 0..20 {
            let mut f = Decaying::whole(window, 4000, 5, Hasher::seeded(seed)).unwrap();
            insert(&mut f, 0..3 * window);
            assert_eq!(f.insert("x"), Seen::New);
            for other in 0..window {
                assert!(f.contains("x"), "{window}: after {other} others");
                f.insert(&(1000 + other));
            }
            assert!(!f.contains("x"), "{window}: too old");
        }
    }
}

/// In blocks it lives for W to V·T arrivals, and not longer.
#[test]
fn s29_blocks_keep_a_key_between_w_and_vt_arrivals() {
    let (window, blocks) = (100, 7);
    let most = initial_value(window, blocks) * blocks;
    let mut longest = 0;
    for start in 0..blocks {
        let mut f = in_blocks(window, blocks, 20_000, 5, 3);
        insert(&mut f, 0..200 + start);
        f.insert("x");
        let life = (1..).find(|&other| {
            f.insert(&(1000 + other));
            !f.contains("x")
        });
        let life = life.unwrap();
        assert!((window..=most).contains(&life), "{start}: {life}");
        longest = longest.max(life);
    }
    assert!(longest > window + blocks / 2, "{longest}");
}

#[test]
fn s29_rates() {
    let (window, k) = (1000u64, 11);
    let m = 16 * window;
    let exact = fpr_asymptotic(m as f64, window as f64, k.into());
    assert!((exact - 4.59e-4).abs() < 5e-7, "{exact}");
    let bound = fpr_asymptotic(m as f64, 1088.0, k.into());
    assert!((bound - 8.65e-4).abs() < 5e-7, "{bound}");
    let measured = |mut f: Decaying| {
        insert(&mut f, 0..5 * window);
        let fill = f.fill().unwrap();
        let passed = (1u64 << 40..).take(40_000).filter(|key| f.contains(key)).count();
        (fill, passed as f64 / 40_000.0)
    };
    let filters = 20;
    for (name, form) in [("whole", true), ("block", false)] {
        let (mut fill, mut fpr) = (0.0, 0.0);
        for seed in 0..filters {
            let filter = if form {
                Decaying::whole(window, m, k, Hasher::seeded(seed)).unwrap()
            } else {
                in_blocks(window, 64, m, k, seed)
            };
            let one = measured(filter);
            (fill, fpr) = (fill + one.0 / filters as f64, fpr + one.1 / filters as f64);
        }
        let goal = Goal { items: Some(window), ..Goal::default() };
        let goal = goal.set("form", name).set("m", m).set("k", k);
        let goal = if form { goal } else { goal.set("blocks", 64) };
        let expect = VARIANT.expect(&goal, &Load::items(5 * window)).unwrap().unwrap();
        let (want, sd) = expect.fill.unwrap();
        assert!((fill - want).abs() < 5.0 * sd / (filters as f64).sqrt(), "{name}: {fill} {want}");
        assert!((fpr / expect.fpr - 1.0).abs() < 0.25, "{name}: {fpr} {}", expect.fpr);
        assert!(expect.fpr <= if form { 1.01 * exact } else { bound }, "{name}: {}", expect.fpr);
    }
}

/// Sized for V·T keys, at V = 3: the rate holds long after the start, in two bits a cell.
#[test]
fn s29_planned_filters_keep_their_rate_for_ever() {
    for form in ["block", "whole"] {
        let (mut passed, filters, queries) = (0, 10, 20_000);
        for seed in 0..filters {
            let goal = Goal::new(1000, 0.01).set("form", form).seed(seed);
            let mut f = VARIANT.build_from(&goal, &[]).unwrap();
            let facts = f.describe();
            assert!(form == "whole" || facts.contains(&fact("initial value", 3u64)));
            let keys: Vec<_> = (0..5000u64).map(u64::to_le_bytes).collect();
            let records: Vec<_> = keys.iter().map(|k| everbloom::Record::key(k)).collect();
            f.as_insert().unwrap().insert_all(&records).unwrap();
            assert!(keys[4000..].iter().all(|key| f.contains(key)), "{form}: the window");
            let foreign = (1u64 << 40..).take(queries);
            passed += foreign.filter(|k| f.contains(&k.to_le_bytes())).count();
        }
        let fpr = passed as f64 / (filters as usize * queries) as f64;
        // Blocks are fuller or emptier by turns, and planned for the fullest.
        let least = if form == "block" { 0.003 } else { 0.009 };
        assert!((least..0.0108).contains(&fpr), "{form}: {fpr}");
    }
}

#[test]
fn s29_ticks_are_arrivals_without_a_key() {
    for form in ["block", "whole"] {
        let build = |ticks: u64| {
            let goal = Goal::new(50, 0.001).set("form", form);
            let mut f = VARIANT.build_from(&goal, &[everbloom::Record::key(b"x")]).unwrap();
            f.as_age().unwrap().age(ticks);
            f.contains(b"x")
        };
        assert!(build(0) && build(49), "{form}");
        assert!(!build(80) && !build(u64::MAX), "{form}");
        assert!(form == "block" || !build(50), "whole ends sharply");
    }
}

#[test]
fn s29_refusals() {
    let refused = |goal: Goal| VARIANT.build_from(&goal, &[]).unwrap_err().to_string();
    assert!(refused(Goal::default().set("m", 100).set("k", 3)).contains("items"));
    assert!(refused(Goal::new(100, 0.01).set("form", "whole").set("blocks", 3)).contains("block"));
    assert!(Decaying::in_blocks(100, 200, 100, 3, Hasher::default()).is_err());
}
