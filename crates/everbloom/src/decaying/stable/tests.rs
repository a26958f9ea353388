use super::*;

fn full(m: u64, k: u32, max_bits: u32, decrements: u64, seed: u64) -> Stable {
    let mut f = Stable::with_shape(m, k, max_bits, decrements, Hasher::seeded(seed)).unwrap();
    (0..m).for_each(|i| f.levels.cells.set(i, u64::MAX));
    f
}

#[test]
fn a_tick_decrements_a_run_of_exactly_p_cells_around_the_end() {
    let mut wrapped = 0;
    for seed in 0..200 {
        let mut f = full(50, 3, 2, 10, seed);
        f.age(1);
        let lower: Vec<u64> = (0..50).filter(|&i| f.cells().get(i) == 2).collect();
        assert_eq!(lower.len(), 10);
        assert_eq!(f.cells().iter().sum::<u64>(), 150 - 10);
        let gaps = lower.windows(2).filter(|w| w[1] != w[0] + 1).count();
        let around = lower[0] == 0 && lower[9] == 49;
        assert!(gaps == 0 || gaps == 1 && around, "{lower:?}");
        wrapped += gaps;
    }
    // 9 of 50 starts wrap.
    assert!((15..60).contains(&wrapped), "{wrapped}");
}

#[test]
fn a_tick_on_an_empty_filter_does_nothing_and_many_ticks_forget_everything() {
    let mut f = full(500, 3, 3, 7, 1);
    f.age(u64::MAX);
    assert_eq!(f.levels.used(), 0.0);
}

#[test]
fn s27_both_extremes_converge_to_the_stable_point() {
    let zeros = stable_zeros(5000.0, 3.0, 3.0, 10.0);
    let settled = |mut f: Stable| {
        let snapshot = |i: u64| {
            (i * 500..(i + 1) * 500).for_each(|key| {
                f.insert(&key);
            });
            if i < 40 { 0.0 } else { 1.0 - f.levels.used() }
        };
        (0..80).map(snapshot).sum::<f64>() / 40.0
    };
    let empty = Stable::with_shape(5000, 3, 2, 10, Hasher::seeded(1)).unwrap();
    for f in [full(5000, 3, 2, 10, 2), empty] {
        let measured = settled(f);
        assert!((measured - zeros).abs() < 0.005, "{measured} {zeros}");
    }
}
