use super::*;
use crate::shared_tests::lies_are_refused;

/// The place at a coarse level is a prefix of that at every finer one, in both arrays; negative buckets, too.
#[test]
fn coarse_places_are_prefixes_of_fine_ones() {
    let built = MultiGranularity::builder().items(50).set("levels", 5);
    let filter = built.build().unwrap();
    for bucket in [-1_000_003i64, -17, -16, -1, 0, 1, 5, 1 << 40] {
        let buckets = [bucket, -bucket, 3, bucket ^ 99];
        for level in 0..5 {
            let places = |buckets: &[i64], level| {
                let mut out = Vec::new();
                filter.all_places(2, buckets, level, |place| {
                    out.push(place);
                    true
                });
                out
            };
            let fine = places(&buckets, 0);
            assert!(fine.iter().all(|place| *place < filter.verify.len()));
            let shifted: Vec<u64> = fine.iter().map(|place| place >> level).collect();
            assert_eq!(places(&buckets, level), shifted);
            // All buckets that one coarse bucket joins share its bit.
            let first = bucket >> level << level;
            let joined = (first..first + (1 << level)).map(|b| filter.bit(3, b) >> level);
            assert!(joined.clone().all(|bit| Some(bit) == joined.clone().next()));
        }
    }
}

#[test]
fn files_that_no_vectors_make_are_refused() {
    let mut good = MultiGranularity::with_rate(5, 0.05).unwrap();
    good.insert(&[1.0, 2.0]).unwrap();
    let lies: [fn(&mut MultiGranularity); 6] = [
        |f| f.groups = 0,
        |f| f.groups = 7,
        |f| f.levels = 17,
        |f| f.checks = 0,
        |f| f.bits = Bits::new(f.bits.len() + 2),
        |f| f.lines = Projections::new(32, 4.0, 3),
    ];
    lies_are_refused(&good, lies);
}
