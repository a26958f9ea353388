//! Which elements a generalized filter forgets, with as many hashes that set as reset; and whether it can
//! forget the last.

use everbloom::Result;
use everbloom::internals::cells::Bits;
use everbloom::internals::hash::{Generator, Hasher};
use everbloom::internals::theory::bloom;
use everbloom::membership::Generalized;

use super::s2_fig8::{ITEMS, M, chart, curve};
use crate::{Bound, Experiment, Grade, Lab, Report, Said, bound};

pub static EXPERIMENT: Experiment = Experiment {
    name: "s2-fig9",
    source: "S2 Fig. 9, equations 10–12",
    title: "False-negative probability of each element with k0 = k1 = k",
    shows: "The filter is a buffer that forgets its oldest elements first; each further pair of hashes \
            makes it forget faster.",
    run,
};

fn run(lab: &Lab) -> Result<Report> {
    let series = (1..=4).map(|k| curve(lab, format!("k = {k}"), k, k)).collect::<Result<_>>()?;
    let (predicted, measured, bound) = meeting(lab, 4)?;
    Ok(Report::default()
        .chart(chart("", "Element by element, k = k0 = k1", series))
        .note("n = 10 and m/n = 128, as in S2; its text does not name the values of k: 1 to 4 are chosen.")
        .note(format!(
            "All {ITEMS} elements are asked by the query that skips a set bit which the element's own \
             reset has overwritten. Then the last one is indeed never missed."
        ))
        .graded(
            Grade::Contradiction,
            "S2 §III, query, and §III-C, last element",
            [
                "A query asks that all k1 bits be set; “for the last inserted element, the n-th element, the \
                 false-negative probability also equals zero”",
                "As printed, the query misses the last element whenever one of its sets meets one of \
                 its resets: 1 − (1 − 1/m)^{k0·k1} of them, 1.2 % at k0 = k1 = 4 and m = 1280. The \
                 query must leave those bits out",
            ],
            Said::Printed(0.0),
            [predicted, measured],
            bound,
        ))
}

/// How often a set and a reset of one element meet, with k of each: what the library's filters do with a
/// single key, beside filters of the same hashes that reset nothing.
fn meeting(lab: &Lab, k: u32) -> Result<(f64, f64, Bound)> {
    const TRIALS: u64 = 5000;
    let runs = lab.scaled(20);
    let met = lab.runs(runs, |seed| {
        let mut random = Generator::new(seed);
        let mut met = 0u64;
        for _ in 0..TRIALS {
            let (key, hashes) = (random.next_u64(), random.next_u64());
            let ones = |k0: u32| -> Result<u64> {
                let mut filter = Generalized::on(Bits::new(M), k0, k, Hasher::seeded(hashes))?;
                filter.insert(&key);
                Ok(filter.bits().ones())
            };
            met += u64::from(ones(k)? < ones(0)?);
        }
        Ok(met)
    })?;
    let trials = runs * TRIALS;
    // Each of k² pairs of hashes misses each other with 1 − 1/m, all but independently.
    let predicted = bloom::fill(M as f64, f64::from(k * k));
    let measured = met.iter().sum::<u64>() as f64 / trials as f64;
    // Two of the resets are the same bit in k(k−1)/2m of the keys, which then meet that much less.
    let off = f64::from(k * (k - 1)) / 2.0 / M as f64;
    Ok((predicted, measured, bound::share(predicted, trials).widened(predicted, off)))
}
