//! §38, parallel Bloom filter over several attributes.

use everbloom::internals::filter::{Filter, Record, Verdict};
use everbloom::internals::theory::tail;
use everbloom::structured::ParallelAttributes;
use everbloom::structured::parallel_attributes::Found;

const FORMS: [&str; 2] = ["exact", "compact"];

fn of(form: &str, items: u64, attributes: u64, rate: f64) -> ParallelAttributes {
    let built = ParallelAttributes::builder().items(items).rate(rate).form(form);
    built.set("attributes", attributes).build().unwrap()
}

#[test]
fn s38_mixtures_pass_the_counters_and_not_the_verification() {
    for form in FORMS {
        let mut filter = of(form, 1000, 2, 1e-6);
        filter.insert(&[b"Ann", b"Rome"]).unwrap();
        filter.insert(&[b"Bob", b"Oslo"]).unwrap();
        for (name, place) in [("Ann", ""), ("", "Oslo"), ("", "")] {
            let found = filter.find(&[name.as_bytes(), place.as_bytes()]).unwrap();
            assert_eq!(found, Found::Unverified, "{form}: the counters alone pass {name} {place}");
        }
        assert_eq!(filter.find(&[b"Ann", b"Oslo"]).unwrap(), Found::No, "{form}");
        assert_eq!(filter.find(&[b"Bob", b"Oslo"]).unwrap(), Found::Verified, "{form}");
        let verdict = |text: &'static [u8]| filter.query(Record::key(text)).unwrap().verdict;
        assert_eq!(verdict(b"Ann\t"), Verdict::Undecided);
        assert_eq!((verdict(b"Ann\tRome"), verdict(b"Eve\t")), (Verdict::Present, Verdict::Absent));
    }
}

#[test]
fn s38_multiplicities_are_the_least_of_all() {
    for form in FORMS {
        let mut filter = of(form, 1000, 2, 1e-6);
        for _ in 0..3 {
            filter.insert(&[b"Ann", b"Rome"]).unwrap();
        }
        filter.insert(&[b"Ann", b"Oslo"]).unwrap();
        let count = |item: [&[u8]; 2]| filter.count(&item).unwrap().whole();
        // Ann came four times, but only three times with Rome.
        assert_eq!((count([b"Ann", b"Rome"]), count([b"Ann", b"Oslo"])), (3, 1));
        assert_eq!(count([b"Bob", b"Rome"]), 0);
    }
}

/// Eight counters an element and k = 4: a random triple passes all three sub-matrices with f³.
#[test]
fn s38_random_triples_pass_the_counters_with_the_cube_of_a_rate() {
    assert!((0.023969f64.powi(3) - 1.38e-5).abs() < 1e-7);
    const N: u64 = 2000;
    // One counter an element is a load at which cubes can be counted.
    for (per_item, k) in [(8u64, 4u64), (2, 2)] {
        let built = ParallelAttributes::builder().items(N).set("attributes", 3);
        let built = built.set("m", per_item * N).set("k", k);
        let mut filter = built.build().unwrap();
        for i in 0..N {
            let [a, b, c] = ["a", "b", "c"].map(|name| format!("{name}{i}").into_bytes());
            filter.insert(&[&a, &b, &c]).unwrap();
        }
        let rates = filter.value_rates();
        if per_item == 8 {
            assert!(rates.iter().all(|f| (f - 0.023969).abs() < 0.0035), "{rates:?}");
        }
        let queries = 300_000;
        let mut passed = [0u64; 2];
        for i in 0..queries {
            let [a, b, c] = ["x", "y", "z"].map(|name| format!("{name}{i}").into_bytes());
            passed[0] += u64::from(filter.find(&[&a, b"", b""]).unwrap() != Found::No);
            // The counters of all three, without the verification.
            let all = filter.trace(&[&a[..], b"\t", &b, b"\t", &c].concat());
            passed[1] += u64::from(all.len() as u64 == 3 * k && all.iter().all(|cell| cell.agrees));
        }
        for (passed, rate) in passed.into_iter().zip([rates[0], rates.iter().product()]) {
            let (low, high) = tail::binomial_bounds(queries, rate, 1e-9);
            assert!((low..=high).contains(&passed), "{per_item}: {passed}, predicted {rate}");
        }
    }
}

#[test]
fn s38_mixtures_pass_the_compact_form_at_its_rate() {
    let mut filter = of("compact", 3000, 2, 0.05);
    for i in 0..3000u64 {
        filter.insert(&[&i.to_le_bytes(), &i.to_be_bytes()]).unwrap();
    }
    let rate = filter.mixture_rate();
    assert!((0.03..0.07).contains(&rate), "{rate}");
    let mixed = |i: &u64| {
        let (a, b) = (i % 3000, (i * 7 + 1) % 3000);
        filter.find(&[&a.to_le_bytes(), &b.to_be_bytes()]).unwrap() == Found::Verified
    };
    let queries: Vec<u64> = (0..3000).filter(|i| (i * 7 + 1) % 3000 != i % 3000).collect();
    let passed = queries.iter().filter(|i| mixed(i)).count() as u64;
    let (low, high) = tail::binomial_bounds(queries.len() as u64, rate, 1e-9);
    assert!((low..=high).contains(&passed), "{passed}, predicted {rate}");
}

#[test]
fn s38_only_items_are_removed_and_nothing_else_is_lost() {
    for form in FORMS {
        let mut filter = of(form, 200, 2, 0.01);
        let empty = filter.clone();
        let item = |i: u64| [format!("{}", i % 10).into_bytes(), format!("{i}").into_bytes()];
        for i in 0..100 {
            filter.insert(&item(i).each_ref().map(|v| &v[..])).unwrap();
        }
        let before = filter.clone();
        assert!(filter.remove(&[b"5", b"31"]).is_err(), "a mixture");
        assert!(filter.remove(&[b"5", b""]).is_err() && filter.insert(&[b"", b"x"]).is_err());
        assert!(filter.insert(&[b"x"]).is_err());
        assert_eq!(filter, before, "{form}");
        for i in 0..100 {
            filter.remove(&item(i).each_ref().map(|v| &v[..])).unwrap();
            for j in i + 1..100 {
                let found = filter.find(&item(j).each_ref().map(|v| &v[..])).unwrap();
                assert_eq!(found, Found::Verified, "{form}: {j} lost with {i}");
            }
        }
        assert_eq!(filter, empty, "{form}: nothing is left");
    }
}
