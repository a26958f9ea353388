//! §12, the dynamic Bloom filter array.

use everbloom::Kind;
use everbloom::growing::DynamicArray;
use everbloom::growing::dynamic_array::{VARIANT, fpr_of};
use everbloom::internals::filter::{Detail, Face, Filter, Record};
use everbloom::internals::plan::{Goal, Load};
use everbloom::internals::theory::tail::binomial_bounds;

fn array(form: &str, n: u64) -> DynamicArray {
    let mut array =
        DynamicArray::builder().items(1600).rate(0.01588).form(form).build().expect("a filter");
    (0..n).for_each(|key| _ = array.insert(&key).expect("memory"));
    array
}

#[test]
fn s12_rate_of_sixteen_filters() {
    assert!((fpr_of(16, 0.001) - 0.01588).abs() < 0.5e-5);
    let goal = Goal::new(1600, 0.01588).set("form", "filters");
    let expect = VARIANT.expect(&goal, &Load::items(1600)).expect("a shape").expect("a formula");
    assert!((expect.fpr - 0.01588).abs() < 0.0005, "{}", expect.fpr);
    let filter = array("filters", 1600);
    assert_eq!((filter.filters(), filter.capacity()), (16, 100));
    let queries = 200_000;
    let passed = (10_000..10_000 + queries).filter(|key| filter.contains(key)).count() as u64;
    let now = filter.now().fpr.expect("a rate");
    let (low, high) = binomial_bounds(queries, now, 1e-9);
    assert!((low..=high).contains(&passed), "{passed}, {now} predicted");
    assert!((now - 0.01588).abs() < 0.1 * 0.01588, "{now}");
}

/// After verification in the index nobody passes who is not there.
#[test]
fn s12_verified_answers_are_exact() {
    let filter = array("verified", 1600);
    assert!((0..1600u64).all(|key| filter.contains(&key)));
    assert_eq!((10_000..110_000u64).filter(|key| filter.contains(key)).count(), 0);
    assert_eq!(filter.now().fpr, Some(0.0));
}

/// The answer names group and filter: keys fill one filter after the other.
#[test]
fn s12_groups_are_told() {
    let filter = array("filters", 3300);
    assert_eq!(filter.filters(), 33);
    let (mut alone, mut among) = (0, 0);
    for key in 0..3300u64 {
        let number = (key / 100) as usize;
        let claims = filter.claims(&key);
        assert!(claims.contains(&(number / 16, number % 16)), "{key}: {claims:?}");
        among += claims.len();
        alone += usize::from(claims.len() == 1);
    }
    // Each of the 32 others claims a key wrongly at 0.1 %.
    assert!(alone > 3100 && among > 3300, "{alone} {among}");
    let answer = filter.query(Record::key(&2500u64.to_le_bytes())).expect("a key");
    let Detail::Labels(labels) = answer.detail else { panic!("{answer:?}") };
    assert!(labels.contains(&b"1.9".to_vec()), "{labels:?}");
}

/// A key that is not there is told by k reads a group, not k reads a filter.
#[test]
fn s12_one_read_tells_a_group() {
    let filter = array("filters", 1600);
    let traced = filter.trace(&7u64.to_le_bytes());
    assert_eq!(traced.len(), 10);
    let mask = traced.iter().fold(u64::MAX, |mask, cell| mask & cell.value);
    assert_eq!(mask & 1, 1, "key 7 is in filter 0");
}

#[test]
fn s12_deletions_are_stale_until_the_rebuild() {
    let mut filter = array("filters", 1600);
    // A quarter of the hundred keys of a filter make it anew.
    for key in 0..24u64 {
        filter.remove(&key).expect("a member");
        assert!(filter.contains(&key), "its bits are still there");
    }
    assert_eq!(filter.stale(), 24);
    filter.remove(&24u64).expect("a member");
    assert_eq!(filter.stale(), 0);
    let still = (0..25u64).filter(|key| filter.contains(key)).count();
    assert!(still <= 4, "{still} pass by chance");
    assert!((25..1600u64).all(|key| filter.contains(&key)), "no member is lost");
    // Deleted once, a key is gone from the index, whatever the bits say.
    assert_eq!(filter.remove(&24u64).expect_err("gone").kind(), Kind::NotDeletable);
    // Room is used again before a filter is added.
    (5000..5025u64).for_each(|key| _ = filter.insert(&key).expect("memory"));
    assert_eq!(filter.filters(), 16);
    let mut verified = array("verified", 1600);
    verified.remove(&3u64).expect("a member");
    assert!(!verified.contains(&3u64), "the index has the last word");
    assert_eq!(verified.head().items, 1599);
}

/// Whatever is deleted, no member is lost: rebuilds use the exact keys.
#[test]
fn s12_no_false_negatives() {
    for form in ["filters", "verified"] {
        let mut filter = array(form, 1000);
        for key in (0..1000u64).filter(|key| key % 3 != 0) {
            filter.remove(&key).expect("a member");
        }
        assert!((0..1000u64).step_by(3).all(|key| filter.contains(&key)), "{form}");
        filter.rebuild();
        assert!((0..1000u64).step_by(3).all(|key| filter.contains(&key)), "{form}");
        let rate = filter.now().fpr.expect("a rate");
        assert!(rate < 0.001, "{form}: {rate}");
    }
}
