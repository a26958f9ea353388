//! The popularity-conscious Bloom filter (Zhong, Lu, Shen, Seiferas 2008; catalogue §15; S0 §III-T, S3 §VI-C).
//!
//! As in the weighted filter, popular keys get more probes, but in whole numbers from the start: k_i between
//! `least` and `most` such that Σ q'(i)·2^{−k_i} is small and Σ p(i)·k_i stays within (m/n)·ln 2, which
//! fills half of the bits. q' is the share of the negative queries, p that of the members. A real optimum that is
//! rounded in the end may overrun the budget, or waste it; here nothing does.
//!
//! ```text
//!   score q'/p   8      5      1.5    0.5    0.2    0.13        one probe after another goes where it gains most
//!   probes       7      7      5      3      2      2           for its bits: score·2^{−(j+1)} for the (j+1)-th
//!                ███████▏██████▏█████  ███    ██     ██          until the budget is spent
//! ```
//!
//! Two ways, as forms. `greedy` takes the increments in that order until the next does not fit: at most twice the
//! least objective, since it is the relaxed optimum but for one fraction of one probe. `grid` takes
//! k_i = ⌊log2(score/λ)⌋ for the least λ that fits on a grid of ratio 1 + ε/2: at most 2 + ε times, without
//! any order. (The paper's own algorithms take O(N^c) with c ≥ 6, and O(N²/ε).)
//!
//! Weights, classes, and queries with and without a weight are those of `weighted`. A class that is never a
//! member has the most probes, at no cost; one that is never queried has the fewest: 1, or 0 where that is set, and
//! then its keys are always let pass.
//!
//! **Use it** when query frequencies are known and stable, and bits are scarce. **Don't** when they are guesses
//! (`bloom`).

use super::classes::{self, Class, ClassedBits, Read, classed};
use crate::theory::weights::Problem;
use crate::variant::prelude::*;

/// A set of keys that are queried more or less often, in m bits, with whole numbers of probes within a budget.
///
/// ```
/// use everbloom::weighted::Popularity;
///
/// let members = (0..1000u64).map(|key| (key, if key < 100 { 81.0 } else { 1.0 }));
/// let others = (1000..10_000u64).map(|key| (key, if key < 1900 { 81.0 } else { 1.0 }));
/// let filter = Popularity::from_weights(members, others, 10_000)?;
/// assert!(filter.contains(&7u64, Some(81.0))? && filter.contains(&700u64, None)?);
/// assert!(filter.weighted_fpr() < 0.0018 && filter.cost() <= 6.93);
/// # Ok::<(), everbloom::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Popularity {
    head: Head,
    classed: ClassedBits,
}

state!(plain Popularity { head, ..classed });

classed!(Popularity);

/// Bits, the probes of the standard filter, the fewest and the most that a class may have, and ε of the grid.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    flat: Flat,
    least: u32,
    most: u32,
    /// None for the greedy form.
    epsilon: Option<f64>,
}

/// Nothing is predicted: rate and fill depend on weights that only the build sees.
impl Plan for Popularity {
    type Shape = Shape;

    fn plan(request: &Request<'_>) -> Result<Shape> {
        let (flat, most) = classes::plan(request)?;
        let least = request.whole("least") as u32;
        let epsilon = request.real("epsilon").filter(|_| request.form() == GRID);
        Ok(Shape { flat, least, most, epsilon })
    }
}

impl Create for Popularity {
    fn create(shape: &Shape, head: Head, inputs: &mut Inputs<'_>) -> Result<Self> {
        let mut read = Read::from(&head.hasher, inputs)?;
        let classes = &mut read.classes;
        let known = classes.iter().any(|class| class.others > 0);
        let n = read.members.len().max(1) as f64;
        let queries: f64 = classes.iter().map(|class| class.missed(known)).sum();
        let share = |class: &Class| {
            let missed = class.missed(known);
            (if queries > 0.0 { missed / queries } else { 0.0 }, class.members as f64 / n)
        };
        let objects: Vec<(f64, f64)> = classes.iter().map(share).collect();
        let Shape { flat, least, most, epsilon } = *shape;
        let budget = flat.m as f64 / n * std::f64::consts::LN_2;
        let problem = Problem { objects: &objects, budget, least, most };
        let probes = match epsilon {
            Some(epsilon) => problem.grid(epsilon),
            None => problem.greedy(),
        };
        classes.iter_mut().zip(probes).for_each(|(class, k)| class.probes = k);
        Self::assemble(head, (flat, most), read)
    }
}

const GREEDY: &str = "greedy";
const GRID: &str = "grid";

/// The list entry.
pub static VARIANT: Variant = Variant::of::<Popularity>(Facts {
    id: 71,
    slug: "popularity",
    entry: "§15",
    question: "Is it in the set, with more probes for keys that are queried often?",
    name: "Popularity-conscious Bloom filter",
    paper: "M. Zhong, P. Lu, K. Shen, J. Seiferas, Optimizing data popularity conscious Bloom filters, PODC 2008",
    forms: &[classes::form(GREEDY), classes::form(GRID)],
    params: &[
        PARAM_M,
        PARAM_K,
        Param::integer(
            "least",
            0,
            1,
            "minimum number of probes per key; 0 lets keys pass that are never queried",
        )
        .or(Preset::Integer(1)),
        classes::PARAM_MOST,
        Param::real(
            "epsilon",
            0.01,
            10.0,
            "form grid: the result is at most 2 + epsilon times the optimum",
        )
        .or(Preset::Real(0.5)),
    ],
    ..classes::FACTS
});
