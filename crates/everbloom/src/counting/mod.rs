//! How often? Filters whose cells count, and that can therefore remove.

pub mod adaptive_counting;
pub mod conservative;
pub mod count_min;
pub mod counter_braids;
pub mod counting_bloom;
pub mod d_left;
pub mod dynamic_count;
pub mod fingerprint_counting;
pub mod lfsr_counting;
pub mod loglog;
pub mod multi_partitioned;
pub mod multilayer_counting;
pub mod multiple_choice;
pub mod parallel_attributes;
pub mod space_code;
pub mod spectral;
pub mod variable_increment;

pub use adaptive_counting::AdaptiveCounting;
pub use conservative::Conservative;
pub use count_min::CountMin;
pub use counter_braids::CounterBraids;
pub use counting_bloom::Counting;
pub use d_left::DLeft;
pub use dynamic_count::DynamicCount;
pub use fingerprint_counting::FingerprintCounting;
pub use lfsr_counting::LfsrCounting;
pub use loglog::LogLog;
pub use multi_partitioned::MultiPartitioned;
pub use multilayer_counting::MultilayerCounting;
pub use multiple_choice::ChoiceTable;
pub use parallel_attributes::ParallelAttributes;
pub use space_code::SpaceCode;
pub use spectral::Spectral;
pub use variable_increment::VariableIncrement;

#[cfg(test)]
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
