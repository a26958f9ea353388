//! §22, spatial Bloom filter.

use everbloom::internals::hash::Hasher;
use everbloom::structured::Areas;
use everbloom::structured::areas::{by_label, read_higher, shares};

const SIZES: [u64; 3] = [100, 60, 40];

fn near(got: &[f64], want: &[f64]) {
    for (got, want) in got.iter().zip(want) {
        assert!((got - want).abs() < 0.006 * want + 1e-9, "{got}, not {want}");
    }
}

#[test]
fn s22_rates_as_computed() {
    let rates = by_label(&shares(2000.0, 5, &SIZES), 5);
    near(&rates, &[0.008910, 0.000522, 7.8e-6]);
    near(&[rates.iter().sum()], &[0.009440]);
    near(&read_higher(2000.0, 5, &SIZES), &[5.30e-4, 7.8e-6, 0.0]);
}

/// The filter of the check, under a seed: point i of area a is (a, i).
fn filter(seed: u64, ascending: bool) -> Areas {
    let mut filter = Areas::with_shape(2000, 5, 3, 1.0, Hasher::seeded(seed)).unwrap();
    let areas: Vec<usize> = if ascending { vec![0, 1, 2] } else { vec![2, 0, 1] };
    for area in areas {
        for i in 0..SIZES[area] {
            filter.insert(&[area as f64, i as f64], area as u64).unwrap();
        }
    }
    filter
}

#[test]
fn s22_labels_of_non_members_and_errors_between_areas() {
    const SEEDS: u64 = 400;
    const QUERIES: u64 = 1500;
    let (mut labels, mut higher) = ([0u64; 3], [0u64; 3]);
    for seed in 0..SEEDS {
        let filter = filter(seed, true);
        for i in 0..QUERIES {
            if let Some(area) = filter.area(&[9.0, i as f64]).unwrap() {
                labels[area as usize] += 1;
            }
        }
        for (area, size) in SIZES.into_iter().enumerate() {
            for i in 0..size {
                // Neither absent nor lower, ever.
                let read = filter.area(&[area as f64, i as f64]).unwrap().unwrap();
                assert!(read >= area as u64);
                higher[area] += u64::from(read > area as u64);
            }
        }
    }
    let total = (SEEDS * QUERIES) as f64;
    let predicted = by_label(&shares(2000.0, 5, &SIZES), 5);
    for (label, p) in labels.into_iter().zip(predicted) {
        let sd = (p * total).sqrt();
        assert!((label as f64 - p * total).abs() < 5.0 * sd + 0.05 * p * total, "{label}, {p}");
    }
    for ((errors, p), size) in higher.into_iter().zip(read_higher(2000.0, 5, &SIZES)).zip(SIZES) {
        let mean = p * (SEEDS * size) as f64;
        assert!((errors as f64 - mean).abs() < 5.0 * mean.sqrt() + 1e-9, "{errors}, not {mean}");
    }
}

#[test]
fn s22_any_order_gives_the_same_numbers() {
    assert_eq!(filter(1, true).rates(), filter(1, false).rates());
    let (a, b) = (filter(1, true), filter(1, false));
    assert!(
        (0..99).all(|i| a.area(&[7.0, i as f64]).unwrap() == b.area(&[7.0, i as f64]).unwrap())
    );
}

#[test]
fn s22_a_point_in_two_areas_takes_the_larger() {
    let mut filter = Areas::with_rate(100, 1e-6).unwrap();
    filter.insert(&[1.25, -0.5], 7).unwrap();
    filter.insert(&[1.75, -0.25], 2).unwrap();
    assert_eq!(filter.area(&[1.0, -1.0]).unwrap(), Some(7));
    assert_eq!(filter.area(&[1.0, 0.0]).unwrap(), None);
    assert!(filter.insert(&[0.0, 0.0], 16).is_err(), "labels fit the cell");
}
