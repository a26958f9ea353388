//! Planning is arithmetic: it builds nothing, however much is planned.

#[path = "support/allocations.rs"]
mod allocations;

use everbloom::choose;
use everbloom::internals::plan::Goal;

/// A filter for half a million items takes 600 kB at 1 %, so that building one would show: larger arrays
/// are mapped, and not counted. One for 10¹² items takes more than a terabyte.
#[test]
fn ranking_builds_nothing() {
    for n in [500_000, 1_000_000_000_000] {
        let goal = Goal::new(n, 0.01);
        let (ranking, peak) = allocations::peak(|| choose::rank(&goal, &[]).expect("a ranking"));
        assert!(peak < 1 << 19, "ranking for {n} items allocates {peak} bytes");
        let bloom = ranking.candidates.iter().find(|c| c.variant.slug == "bloom").expect("bloom");
        assert_eq!((bloom.items, bloom.probes), (n, Some(7)));
    }
}
