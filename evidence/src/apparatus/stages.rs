//! Hash evaluations of pipelined filters, measured.

use everbloom::Result;
use everbloom::hardware::Pipelined;
use everbloom::internals::hash::{Generator, Hasher};
use everbloom::internals::theory::bloom;

use super::classic::{Rate, elements};
use crate::{Lab, bound};

/// What both equations assume and leave open.
pub const NOTE: &str = "Both equations count queries for non-members; a member costs all k. S3 leaves the \
    sizes open: 1,000 elements, and as many bits as give the fill.";

/// A pipelined filter with this share of its bits set.
#[derive(Clone, Copy, Debug)]
pub struct Stages {
    pub k: u32,
    /// Hashes in the first stage; none for a stage each.
    pub k1: Option<u32>,
    pub fill: f64,
}

const MEMBERS: u64 = 1000;

/// Queries per filter.
const QUERIES: u64 = 20_000;

impl Stages {
    /// Bits that come to this fill: kn/−ln(1 − fill).
    pub fn m(&self) -> u64 {
        (f64::from(self.k) * MEMBERS as f64 / -(1.0 - self.fill).ln()).round() as u64
    }

    /// The probability of each number of evaluations for a non-member, at a fill.
    fn evaluations(&self, fill: f64) -> Vec<(u32, f64)> {
        let Some(k1) = self.k1 else {
            // Ends with the first miss, or with the last hash.
            let reached = |i: u32| fill.powi(i as i32 - 1);
            let ends = |i: u32| if i == self.k { reached(i) } else { reached(i) * (1.0 - fill) };
            return (1..=self.k).map(|i| (i, ends(i))).collect();
        };
        let second = fill.powi(k1 as i32);
        vec![(k1, 1.0 - second), (self.k, second)]
    }

    /// The mean of `value` of the evaluations over non-members, as predicted from the expected fill and
    /// as measured.
    pub fn measure(&self, lab: &Lab, value: impl Fn(u32) -> f64 + Sync) -> Result<Rate> {
        let runs = lab.scaled(30);
        let means = lab.runs(runs, |seed| {
            let (m, hasher) = (self.m(), Hasher::seeded(seed));
            let mut filter =
                Pipelined::with_shape(m, self.k, self.k1, hasher).expect("a shape that can be");
            let mut keys = Generator::new(seed);
            for _ in 0..MEMBERS {
                filter.insert(&keys.next_u64());
            }
            lab.ask_members(elements(MEMBERS, seed), |key| filter.ask(key).present);
            let asked = (0..QUERIES).map(|_| value(filter.ask(&keys.next_u64()).evaluations));
            Ok(asked.sum::<f64>() / QUERIES as f64)
        })?;
        let (m, throws) = (self.m() as f64, f64::from(self.k) * MEMBERS as f64);
        let (fill, sd) = (bloom::fill(m, throws), bloom::fill_sd(m, throws));
        let moment = |fill: f64, power: i32| -> f64 {
            self.evaluations(fill).iter().map(|(i, p)| p * value(*i).powi(power)).sum()
        };
        let predicted = moment(fill, 1);
        let of_queries = (moment(fill, 2) - predicted * predicted).max(0.0) / QUERIES as f64;
        let of_fills = (moment(fill + sd, 1) - moment(fill - sd, 1)) / 2.0;
        let spread = (of_queries + of_fills * of_fills).sqrt();
        Ok(Rate {
            predicted,
            measured: means.iter().sum::<f64>() / runs as f64,
            bound: bound::mean(predicted, spread, runs),
        })
    }
}
