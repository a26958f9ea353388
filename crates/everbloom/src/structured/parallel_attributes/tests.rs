use super::*;
use crate::shared_tests::lies_are_refused;

#[test]
fn files_of_other_attributes_are_refused() {
    for form in [EXACT, COMPACT] {
        let built = ParallelAttributes::builder().items(20).form(form);
        let mut good = built.build().unwrap();
        good.insert(&[b"Ann", b"Rome"]).unwrap();
        let lies: [&dyn Fn(&mut ParallelAttributes); 4] = [
            &|f| f.attributes.clear(),
            &|f| f.head.form = if form == EXACT { COMPACT } else { EXACT },
            &|f| f.exact.change(1 << 64, |_| 1),
            &|f| f.attributes[0].probe = Probe::over(f.attributes[0].m(), 3),
        ];
        lies_are_refused(&good, lies);
    }
}

/// F takes positions in order: the same values in other columns are another item.
#[test]
fn marks_depend_on_the_order() {
    let filter = ParallelAttributes::with_rate(100, 0.01).unwrap();
    let mark = |item: &[&[u8]]| filter.mark(&filter.whole(item).unwrap());
    assert_ne!(mark(&[b"a", b"b"]), mark(&[b"b", b"a"]));
    let same = filter.whole(&[b"a", b"a"]).unwrap();
    assert_ne!(same[0], same[1], "every column has hashes of its own");
    let digests = filter.whole(&[b"a", b"b"]).unwrap();
    let turned = [digests[1], digests[0]];
    assert_ne!(filter.mark(&digests), filter.mark(&turned));
}
