//! R7, the complement filter.

use everbloom::internals::filter::{Detail, Filter, Record, Verdict};
use everbloom::internals::hash::{Generator, Hasher};
use everbloom::internals::plan::{Flat, Goal, Load};
use everbloom::internals::variant::Inputs;
use everbloom::known::complement::{Complement, Conclusion, VARIANT, table_accesses};
use everbloom::membership::Bloom;

const UNIVERSE: u64 = 10_000;

/// The multiples of three are members.
fn member(key: u64) -> bool {
    key.is_multiple_of(3)
}

fn filter(main: Flat, complement: Flat, seed: u64) -> Complement {
    let mut f = Complement::with_shape(main, complement, Hasher::seeded(seed)).unwrap();
    for key in 0..UNIVERSE {
        if member(key) {
            f.insert(&key);
        } else {
            f.exclude(&key);
        }
    }
    f
}

#[test]
fn r7_mixture() {
    assert!((table_accesses(0.5, 0.02, 0.01) - 0.015).abs() < 1e-15);
    assert!((table_accesses(0.0, 0.02, 0.01) - 0.02).abs() < 1e-15, "not the sum");
}

#[test]
fn r7_every_answer_about_the_universe_is_exact() {
    let (mut of_members, mut of_others, mut want) = (0.0, 0.0, (0.0, 0.0));
    let (mut fill, n) = (0.0, (0..UNIVERSE).filter(|k| member(*k)).count() as u64);
    let (main, complement) = (Flat { m: 8 * n, k: 4 }, Flat { m: 9 * (UNIVERSE - n), k: 5 });
    for seed in 0..20 {
        let f = filter(main, complement, seed);
        for key in 0..UNIVERSE {
            match f.conclude(&key) {
                Conclusion::Member => assert!(member(key)),
                Conclusion::NoMember => assert!(!member(key)),
                Conclusion::AskTable if member(key) => of_members += 1.0 / (20 * n) as f64,
                Conclusion::AskTable => of_others += 1.0 / (20 * (UNIVERSE - n)) as f64,
                Conclusion::NotInUniverse => panic!("{key} is in the universe"),
            }
        }
        want.0 += f.complement_fpr() / 20.0;
        want.1 += f.main_fpr() / 20.0;
        fill += f.fill().unwrap() / 20.0;
    }
    // About 1,000 and 3,200 accesses.
    assert!((of_members / want.0 - 1.0).abs() < 0.13, "{of_members} {want:?}");
    assert!((of_others / want.1 - 1.0).abs() < 0.08, "{of_others} {want:?}");
    let (a, _) = main.fill(n);
    let (b, _) = complement.fill(UNIVERSE - n);
    let mean = (a * main.m as f64 + b * complement.m as f64) / (main.m + complement.m) as f64;
    assert!((fill - mean).abs() < 0.001, "{fill} {mean}: a wrong k shows here");
}

#[test]
fn r7_outside_the_universe_only_no_is_certain() {
    let f = filter(Flat { m: 20_000, k: 2 }, Flat { m: 30_000, k: 2 }, 7);
    let (mut present, mut undecided, queries) = (0, 0, 200_000);
    for key in (1u64 << 40..).take(queries) {
        let answer = f.query(Record::key(&key.to_le_bytes())).unwrap();
        match (answer.verdict, f.conclude(&key)) {
            (Verdict::Present, Conclusion::Member) => present += 1,
            (Verdict::Undecided, Conclusion::AskTable) => undecided += 1,
            (Verdict::Absent, Conclusion::NoMember) => assert_eq!(answer.detail, Detail::None),
            (Verdict::Absent, Conclusion::NotInUniverse) => {
                assert_eq!(answer.detail, Detail::Labels(vec![b"not in the universe".to_vec()]));
            }
            other => panic!("{other:?}"),
        }
    }
    let now = f.now();
    let near = |count: i32, rate: Option<f64>| {
        let want = rate.unwrap() * queries as f64;
        assert!(
            want > 1000.0 && (f64::from(count) - want).abs() < 5.0 * want.sqrt(),
            "{count} {want}"
        );
    };
    near(present, now.fpr);
    near(undecided, now.undecided);
}

#[test]
fn r7_later_members_cost_a_table_access_but_are_not_lost() {
    let mut f = filter(Flat { m: 40_000, k: 7 }, Flat { m: 80_000, k: 7 }, 1);
    for key in (0..UNIVERSE).filter(|k| !member(*k)) {
        f.insert(&key);
        assert_eq!(f.conclude(&key), Conclusion::AskTable);
    }
}

#[test]
fn r7_the_whole_universe_may_stand_for_the_others() {
    let keys: Vec<[u8; 8]> = (0..UNIVERSE).map(u64::to_le_bytes).collect();
    let records = |pick: fn(u64) -> bool| -> Vec<Record<'_>> {
        let keys = keys.iter().filter(|k| pick(u64::from_le_bytes(**k)));
        keys.map(|k| Record::key(k)).collect()
    };
    let (members, rest, all) = (records(member), records(|k| !member(k)), records(|_| true));
    let goal = Goal::new(members.len() as u64, 0.01);
    let build = |others: &[Record<'_>], goal: &Goal| {
        let (mut records, mut others) = (&members[..], others);
        let inputs = &mut Inputs { records: &mut records, negatives: Some(&mut others) };
        VARIANT.build(goal, inputs).unwrap()
    };
    let bytes = |f: Box<dyn Filter>| everbloom::internals::file::to_bytes(&*f);
    assert_eq!(bytes(build(&rest, &goal)), bytes(build(&all, &goal)));
    // Where the size of the rest is set, the formulas know all that a build does.
    let goal = goal.set("others", rest.len()).set("complement-rate", 0.02);
    let (built, load) = (build(&all, &goal), Load::items(members.len() as u64));
    let expect = VARIANT.expect(&goal, &load).unwrap().unwrap();
    assert_eq!(built.memory().cells, expect.bits);
    let (mean, sd) = expect.fill.unwrap();
    assert!((built.fill().unwrap() - mean).abs() < 5.0 * sd);
    assert!((built.now().undecided.unwrap() / expect.undecided - 1.0).abs() < 0.15);
    let refused = VARIANT.build_from(&goal, &members).unwrap_err().to_string();
    assert!(refused.contains("negatives"), "{refused}");
}

/// Table accesses of 20,000 queries, a share of them for members: with a standard filter before the
/// table every "yes" has to be verified.
fn accesses(n: u64, universe: u64, share: f64, total: u64) -> (u64, u64) {
    let rate = everbloom::internals::theory::bloom::fpr_best(total as f64 / universe as f64);
    let flat = |keys: u64| {
        let m = everbloom::internals::theory::bloom::bits_for(keys, rate);
        Flat { m, k: everbloom::internals::theory::bloom::best_k(m, keys) }
    };
    let mut both = Complement::with_shape(flat(n), flat(universe - n), Hasher::default()).unwrap();
    (0..n).for_each(|key| {
        both.insert(&key);
    });
    (n..universe).for_each(|key| both.exclude(&key));
    let bits = both.memory().total();
    let mut one = Bloom::with_shape(
        bits,
        everbloom::internals::theory::bloom::best_k(bits, n).min(30),
        Hasher::default(),
    )
    .unwrap();
    (0..n).for_each(|key| {
        one.insert(&key);
    });
    let mut coins = Generator::new(1);
    let (mut with_both, mut with_one) = (0, 0);
    for _ in 0..20_000 {
        let key = if coins.unit() < share { coins.below(n) } else { n + coins.below(universe - n) };
        with_both += u64::from(both.conclude(&key) == Conclusion::AskTable);
        with_one += u64::from(one.contains(&key));
    }
    (with_both, with_one)
}

#[test]
fn r7_saves_table_accesses_where_members_are_asked_for() {
    let (both, one) = accesses(5_000, 10_000, 0.5, 100_000);
    assert!(both * 30 < one, "{both} of 20,000 queries ask the table, not {one}");
}

#[test]
fn r7_does_not_pay_for_a_small_set_in_a_large_universe() {
    let (both, one) = accesses(100, 100_000, 0.01, 500_000);
    assert!(one * 5 < both, "{both} of 20,000 queries ask the table, {one} with one filter");
}
