//! R2, the false-positive-free multistage filter.

use everbloom::Kind;
use everbloom::internals::filter::{Detail, Filter, Record, Value, Verdict};
use everbloom::internals::hash::Hasher;
use everbloom::internals::plan::{Flat, Goal};
use everbloom::internals::theory::bloom::best_k;
use everbloom::internals::variant::Inputs;
use everbloom::known::multistage::{Multistage, VARIANT, length, stage_sets, success};
use everbloom::membership::Bloom;

/// `rho` links to include and `zeta` to exclude, other ones for every stage.
fn sets(stage: u64, rho: u64, zeta: u64) -> (Vec<u64>, Vec<u64>) {
    let base = stage << 32;
    ((base..base + rho).collect(), (base + rho..base + rho + zeta).collect())
}

fn one(rho: u64, zeta: u64, seed: u64) -> Multistage {
    Multistage::of(0, [sets(0, rho, zeta)], Hasher::seeded(seed)).unwrap()
}

#[test]
fn r2_formulas() {
    assert!((length(5.0, 50.0) - 40.7).abs() < 0.05);
    // (1 − 1/ζ)^ζ at that length and k = log2 ζ, close to 1/e.
    let p = success(length(5.0, 50.0), 50f64.log2(), 5.0, 50.0);
    assert!((p - 0.98f64.powi(50)).abs() < 1e-9, "{p}");
}

#[test]
fn r2_the_search_is_free_of_errors_and_stops_at_28_bits() {
    let instances = 3000;
    let mut lengths = Vec::new();
    for seed in 0..instances {
        let f = one(5, 50, seed);
        let (include, exclude) = sets(0, 5, 50);
        assert!(include.iter().all(|link| f.contains(0, link)), "a false negative");
        assert!(exclude.iter().all(|link| !f.contains(0, link)), "a false positive");
        let Flat { m, k } = f.shapes().next().unwrap();
        assert!((5..=64).contains(&m) && (1..=10).contains(&k));
        let touched = f.fill().unwrap() * m as f64;
        assert!(touched <= f64::from(5 * k) + 1e-9 && touched >= 1.0);
        lengths.push(m as f64);
    }
    let mean = lengths.iter().sum::<f64>() / instances as f64;
    let sd = (lengths.iter().map(|b| (b - mean).powi(2)).sum::<f64>() / instances as f64).sqrt();
    // The catalogue's run: mean 28.2, sd 4.1. Lengths that are no fresh tries end later.
    assert!((mean - 28.2).abs() < 0.35, "{mean}");
    assert!((sd - 4.1).abs() < 0.35, "{sd}");
}

#[test]
fn r2_large_stages_are_searched_where_there_is_hope() {
    let f = one(300, 300, 1);
    let (include, exclude) = sets(0, 300, 300);
    assert!(include.iter().all(|l| f.contains(0, l)) && exclude.iter().all(|l| !f.contains(0, l)));
    let b = f.shapes().next().unwrap().m as f64;
    // Luck reaches less far the more links there are: between ρ·log2 ζ and the formula.
    assert!(b > 0.8 * 300.0 * 300f64.log2() && b < length(300.0, 300.0), "{b}");
}

#[test]
fn r2_stages_with_nobody_to_tell_apart() {
    let stages = [sets(0, 3, 0), sets(1, 0, 3), sets(2, 0, 0)];
    let f = Multistage::of(7, stages, Hasher::default()).unwrap();
    assert!(f.shapes().all(|flat| flat == Flat { m: 1, k: 1 }));
    assert!(f.contains(7, "anybody"), "nobody is excluded, so all pass");
    assert!(!f.contains(8, "anybody") && !f.contains(9, "anybody"), "nobody is included");
    assert!(!f.contains(6, "anybody") && !f.contains(10, "anybody"), "no such stage");
    assert_eq!(f.stages_of("anybody"), [7]);
    assert!((f.now().fpr.unwrap() - 1.0 / 3.0).abs() < 1e-15);
}

#[test]
fn r2_included_and_excluded_is_a_contradiction() {
    let clash = Multistage::of(0, [(vec!["a"], vec!["b", "a"])], Hasher::default()).unwrap_err();
    assert_eq!(clash.kind(), Kind::BadRecord);
    assert!(clash.to_string().contains("stage 0"), "{clash}");
    assert!(Multistage::of(u64::MAX, [sets(0, 1, 1)], Hasher::default()).is_err());
    // In different stages it is none.
    let stages = [(vec!["a"], vec!["b"]), (vec!["b"], vec!["a"])];
    let f = Multistage::of(0, stages, Hasher::default()).unwrap();
    assert_eq!((f.stages_of("a"), f.stages_of("b")), (vec![0], vec![1]));
}

#[test]
fn r2_a_packet_shrinks_as_it_travels() {
    let stages: Vec<_> = (0..4).map(|i| sets(i, 3 + i, 20)).collect();
    let mut f = Multistage::of(1, stages.clone(), Hasher::default()).unwrap();
    for (hop, (include, exclude)) in (1..).zip(&stages) {
        let packet = f.to_packet();
        assert_eq!(packet.len() as u64, f.packet_bits());
        let read = Multistage::from_packet(&packet, hop, Hasher::default()).unwrap();
        assert!(read.shapes().eq(f.shapes()));
        assert!(include.iter().all(|link| read.contains(hop, link)));
        assert!(exclude.iter().all(|link| !read.contains(hop, link)));
        for cut in 0..packet.len() {
            assert!(Multistage::from_packet(&packet[..cut], hop, Hasher::default()).is_err());
        }
        f.forward();
        assert!(!f.contains(hop, &include[0]));
    }
    assert_eq!(f.to_packet(), [false]);
    f.forward();
    assert_eq!(f.shapes().count(), 0);
}

#[test]
fn r2_sets_of_a_tree() {
    //  s ─ a ─ c      tree: s→a, a→c, a→d; s also has b, and d has c
    //  └─ b  └ d
    let tree = [("s", "a"), ("a", "c"), ("a", "d")];
    let both = |a, b| [(a, b), (b, a)];
    let network: Vec<_> =
        [both("s", "a"), both("s", "b"), both("a", "c"), both("a", "d"), both("c", "d")].concat();
    let stages = stage_sets(&"s", &tree, &network).unwrap();
    assert_eq!(stages.len(), 2);
    assert_eq!((&stages[0].include[..], &stages[0].exclude[..]), (&tree[..1], &[("s", "b")][..]));
    assert_eq!((&stages[1].include[..], &stages[1].exclude[..]), (&tree[1..], &[("a", "s")][..]));
    let unreached = [("s", "a"), ("b", "c")];
    let twice = [("s", "a"), ("s", "b"), ("a", "c"), ("b", "c")];
    let cycle = [("s", "a"), ("a", "s")];
    for bad in [&unreached[..], &twice, &cycle] {
        assert_eq!(stage_sets(&"s", bad, &network).unwrap_err().kind(), Kind::BadRecord);
    }
    assert_eq!(stage_sets(&"s", &[], &network).unwrap(), []);
}

#[test]
fn r2_records_name_their_stage() {
    let record = |key: &'static str, stage: &'static str| {
        Record::key(key.as_bytes()).with(Value::Label(stage.as_bytes()))
    };
    let build = |members: &[Record<'_>], excluded: &[Record<'_>], goal: Goal| {
        let (mut records, mut negatives) = (members, excluded);
        VARIANT.build(&goal, &mut Inputs { records: &mut records, negatives: Some(&mut negatives) })
    };
    let goal = || Goal { items: Some(3), ..Goal::default() };
    let members = [record("a", "1"), record("b", "2"), record("b", "2"), record("c", "4")];
    let excluded = [record("x", "1"), record("a", "2")];
    let f = build(&members, &excluded, goal()).unwrap();
    assert_eq!(f.head().items, 3);
    let ask = |r: Record<'_>| f.query(r).unwrap().verdict;
    assert!(members.iter().all(|r| ask(*r) == Verdict::Present));
    assert!(excluded.iter().all(|r| ask(*r) == Verdict::Absent));
    let any = f.query(Record::key(b"b")).unwrap();
    assert_eq!(any.verdict, Verdict::Present);
    assert!(matches!(any.detail, Detail::Labels(stages) if stages.contains(&b"2".to_vec())));
    for (bad, why) in [
        (record("a", "one"), "whole numbers"),
        (Record::key(b"a"), "TAB"),
        (record("a", "99999"), "numbered from 1 to 99999"),
        (record("a", "18446744073709551615"), "the last number"),
    ] {
        let error = build(&[members[0], bad], &excluded, goal()).unwrap_err();
        assert_eq!(error.kind(), Kind::BadRecord);
        assert!(error.to_string().contains(why), "{error}");
    }
    // A search that may not go far enough says so.
    let links: Vec<String> = (0..60).map(|i| i.to_string()).collect();
    let numbered: Vec<_> =
        links.iter().map(|l| Record::key(l.as_bytes()).with(Some(Value::Label(b"0")))).collect();
    let error = build(&numbered[..10], &numbered[10..], goal().set("max-bits", 12)).unwrap_err();
    assert_eq!(error.kind(), Kind::BadParameter);
    assert!(error.to_string().contains("max-bits"), "{error}");
}

/// Four hops of 5 links among 50 others, and a standard filter of all 20 in as many bits as the packet.
fn compared(seed: u64) -> (Multistage, Bloom) {
    let stages = (0..4).map(|i| sets(i, 5, 50));
    let f = Multistage::of(0, stages, Hasher::seeded(seed)).unwrap();
    let m = f.packet_bits();
    let mut standard = Bloom::with_shape(m, best_k(m, 20), Hasher::seeded(seed)).unwrap();
    (0..4).flat_map(|i| sets(i, 5, 50).0).for_each(|link| {
        standard.insert(&link);
    });
    (f, standard)
}

#[test]
fn r2_no_packet_goes_astray() {
    let mut astray = 0;
    for seed in 0..100 {
        let (f, standard) = compared(seed);
        for stage in 0..4 {
            let (_, exclude) = sets(stage, 5, 50);
            assert!(exclude.iter().all(|link| !f.contains(stage, link)));
            astray += exclude.iter().filter(|link| standard.contains(*link)).count();
        }
    }
    assert!(astray > 150, "{astray} of 20,000 links with a standard filter of the same bits");
}

#[test]
fn r2_non_members_pass_more_often_than_a_standard_filter() {
    let (mut ours, mut theirs, mut now) = (0, 0, 0.0);
    let (seeds, queries) = (100, 2_000);
    for seed in 0..seeds {
        let (f, standard) = compared(seed);
        for non_member in (1 << 50)..(1 << 50) + queries {
            ours += u64::from(f.contains(non_member % 4, &non_member));
            theirs += u64::from(standard.contains(&non_member));
        }
        now += f.now().fpr.unwrap() / seeds as f64;
    }
    let rate = ours as f64 / (seeds * queries) as f64;
    assert!(ours > theirs * 3 / 2, "{ours} {theirs}");
    assert!((rate / now - 1.0).abs() < 0.06, "{rate} {now}");
}
