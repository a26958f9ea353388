//! How often? Filters whose cells count, and that can therefore remove.

pub mod counting_bloom;

pub use counting_bloom::Counting;

#[cfg(feature = "counting")]
pub mod d_left;
#[cfg(feature = "counting")]
pub mod dynamic_count;
#[cfg(feature = "counting")]
pub mod fingerprint_counting;
#[cfg(feature = "counting")]
pub mod lfsr_counting;
#[cfg(feature = "counting")]
pub mod multi_partitioned;
#[cfg(feature = "counting")]
pub mod multilayer_counting;
#[cfg(feature = "counting")]
pub mod multiple_choice;
#[cfg(feature = "counting")]
pub mod spectral;
#[cfg(feature = "counting")]
pub mod variable_increment;

#[cfg(feature = "counting")]
pub use d_left::DLeft;
#[cfg(feature = "counting")]
pub use dynamic_count::DynamicCount;
#[cfg(feature = "counting")]
pub use fingerprint_counting::FingerprintCounting;
#[cfg(feature = "counting")]
pub use lfsr_counting::LfsrCounting;
#[cfg(feature = "counting")]
pub use multi_partitioned::MultiPartitioned;
#[cfg(feature = "counting")]
pub use multilayer_counting::MultilayerCounting;
#[cfg(feature = "counting")]
pub use multiple_choice::ChoiceTable;
#[cfg(feature = "counting")]
pub use spectral::Spectral;
#[cfg(feature = "counting")]
pub use variable_increment::VariableIncrement;

#[cfg(all(test, feature = "counting"))]
mod tests {
    use super::*;
    use crate::{Hasher, Kind, Result};

    /// Shapes that no file could hold are refused where they are made.
    #[test]
    fn impossible_shapes_are_refused() {
        let counting = |m, k, width| Counting::with_shape(m, k, width, Hasher::default()).map(drop);
        let dynamic = |m, k, x| DynamicCount::with_shape(m, k, x, Hasher::default()).map(drop);
        let lfsr = |m, k, width| LfsrCounting::with_shape(m, k, width, Hasher::default()).map(drop);
        let layers = |m, k| MultilayerCounting::with_shape(m, k, Hasher::default()).map(drop);
        let marked = |m, k, width, bits| {
            FingerprintCounting::with_shape(m, k, width, bits, Hasher::default()).map(drop)
        };
        let least = |m, k, l| {
            let rule = variable_increment::Rule::Least(l);
            VariableIncrement::with_shape(m, k, rule, Hasher::default()).map(drop)
        };
        let d_left = |buckets, r| DLeft::with_shape(buckets, r, Hasher::default()).map(drop);
        let all = |m: u64, k: u32| -> Vec<Result<()>> {
            vec![
                counting(m, k, 4),
                dynamic(m, k, 2),
                lfsr(m, k, 4),
                layers(m, k),
                marked(m, k, 4, 4),
                least(m, k, 4),
            ]
        };
        let refused = |made: Result<()>| made.map_err(|e| e.kind()) == Err(Kind::BadParameter);
        assert!(all(50, 3).into_iter().all(|made| made.is_ok()));
        for (m, k) in [(0, 3), (50, 0), (50, 4097), (u64::MAX, 3)] {
            assert!(all(m, k).into_iter().all(refused), "{m} {k}");
        }
        assert!([0, 17].into_iter().all(|width| refused(counting(50, 3, width))));
        assert!([0, 17].into_iter().all(|x| refused(dynamic(50, 3, x))));
        assert!([1, 17].into_iter().all(|width| refused(lfsr(50, 3, width))));
        assert!(
            [(0, 4), (17, 4), (4, 0), (4, 33)]
                .into_iter()
                .all(|(w, a)| refused(marked(50, 3, w, a)))
        );
        assert!([0, 65].into_iter().all(|l| refused(least(50, 3, l))));
        assert!(
            [(0, 10), (3, 0), (3, 57), (u64::MAX, 10)]
                .into_iter()
                .all(|(b, r)| refused(d_left(b, r)))
        );
    }
}
