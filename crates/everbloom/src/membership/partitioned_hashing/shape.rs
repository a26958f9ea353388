//! How many bits, groups and candidates: formulas and planning of partitioned hashing.

use super::candidates::{MAX_BASE, MAX_CANDIDATES, choose};
use crate::error::{Error, Result};
use crate::filter::{Param, Preset};
use crate::plan::{Expect, Flat, Load, MAX_CELLS, Request};
use crate::theory::{choice, tail};

pub(super) const FRESH: &str = "fresh";
pub(super) const SUBSETS: &str = "subsets";

pub(super) const PARAM_T: Param =
    Param::integer("t", 1, MAX_CANDIDATES, "candidates that a group chooses from; by default 16");

pub(super) const PARAM_SIZE: Param =
    Param::integer("size", 1, 1 << 20, "average number of keys in a group").or(Preset::Integer(10));

pub(super) const PARAM_GROUPS: Param =
    Param::integer("groups", 1, 1 << 40, "number of groups, instead of their size");

pub(super) const PARAM_BASE: Param = Param::integer(
    "base",
    2,
    MAX_BASE as u64,
    "base functions, of which a subset takes k; by default 2k",
);

/// Bits of one choice among `count`.
pub(super) fn width(count: u64) -> u32 {
    u64::BITS - count.saturating_sub(1).leading_zeros()
}

/// Ones that a group of `size` keys on average adds where a share `z` of the bits is zero, if it has
/// `count` candidates of `k` fresh functions: mean and variance.
///
/// Group sizes are Poisson; what their spread does to one group is made up for by the others, since
/// all keys together are n: the variance is the one around the straight line through the sizes.
fn added(size: f64, k: u32, count: u64, luck: (f64, f64), z: f64) -> (f64, f64) {
    let throws = size * f64::from(k);
    if size > 64.0 {
        // Groups that large are normal, and hardly curved within the spread of their sizes.
        let sigma = (throws * z * (1.0 - z)).sqrt();
        return (throws * z - luck.0 * sigma, (luck.1 * sigma).powi(2));
    }
    let most = (size + 7.0 * size.sqrt() + 12.0) as u64;
    let (mut mean, mut within, mut square, mut with_size) = (0.0, 0.0, 0.0, 0.0);
    for keys in 1..=most {
        let chance = tail::poisson_pmf(size, keys);
        let (ones, variance) = choice::fewest(keys * u64::from(k), z, count);
        mean += chance * ones;
        within += chance * variance;
        square += chance * ones * ones;
        with_size += chance * ones * keys as f64;
    }
    let slope = (with_size - mean * size) / size;
    (mean, (within + square - mean * mean - slope * slope * size).max(0.0))
}

/// Bits and probes, functions and candidates to choose from, groups.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    pub(super) flat: Flat,
    /// H for subsets, k for fresh functions.
    pub(super) base: u32,
    pub(super) count: u64,
    pub(super) groups: u64,
}

impl Shape {
    /// Cells and table.
    pub(super) fn bits(&self) -> u64 {
        self.flat.m.saturating_add(table_bits(self.groups, self.count))
    }

    /// Fill after a build of `n` keys, by the equation of large filters (see [`choice`]).
    pub(super) fn fill(&self, n: u64) -> (f64, f64) {
        let Shape { flat: Flat { m, k }, count, groups, .. } = *self;
        let (size, m) = (n as f64 / groups as f64, m as f64);
        if n == 0 {
            return (0.0, 0.0);
        }
        let luck = choice::largest_normal(count);
        choice::fill_after(groups as f64 / m, m, |z| added(size, k, count, luck, z))
    }

    /// The fewest bits over all k. Subsets have no formula: they get the standard filter's size, and
    /// what they gain lowers the rate.
    pub(super) fn plan(request: &Request<'_>) -> Result<Shape> {
        let fresh = request.form() == FRESH;
        let wanted = request.integer(PARAM_T.name);
        let count = wanted.unwrap_or(16);
        let counted = if fresh { count } else { 1 };
        let size = request.integer(PARAM_SIZE.name).unwrap_or(10).max(1);
        let set = request.integer(PARAM_GROUPS.name);
        let groups_of = |n: u64| set.unwrap_or(n.div_ceil(size)).max(1);
        let luck = choice::largest_normal(counted);
        let cells = |n: u64, p: f64, k: u32| {
            let groups = groups_of(n) as f64;
            let size = n as f64 / groups;
            let fill = libm::pow(p, 1.0 / f64::from(k));
            groups / choice::steps_for(fill, |z| added(size, k, counted, luck, z))
        };
        let rate = |flat: Flat, n: u64| {
            let shape = Shape { flat, base: flat.k, count: counted, groups: groups_of(n) };
            libm::pow(shape.fill(n).0, f64::from(flat.k))
        };
        let extra = |n: u64| table_bits(groups_of(n), count);
        let (flat, items) = Flat::search(request, extra, cells, rate)?;
        let groups = items.map(groups_of).or(set).ok_or_else(|| {
            Error::parameter("{m} without {items} needs {groups}, to divide the set into groups")
        })?;
        let (base, count) = if fresh {
            (flat.k, count)
        } else {
            let base = request.integer(PARAM_BASE.name).unwrap_or(2 * u64::from(flat.k));
            subsets(flat.k, base, wanted)?
        };
        let shape = Shape { flat, base, count, groups };
        if shape.bits() > MAX_CELLS {
            return Err(Error::parameter(format!(
                "the choices of {groups} groups take more than {MAX_CELLS} bits: set fewer {{groups}}"
            )));
        }
        Ok(shape)
    }

    /// What the formulas say of fresh functions; subsets have none.
    pub(super) fn expect(&self, load: &Load) -> Option<Expect> {
        if self.base != self.flat.k {
            return None;
        }
        let fill = self.fill(load.distinct);
        let fpr = libm::pow(fill.0, f64::from(self.flat.k));
        Some(Expect::one_sided(fpr, self.bits(), Some(fill)).probing(self.flat.k))
    }
}

fn table_bits(groups: u64, count: u64) -> u64 {
    groups.saturating_mul(width(count).into())
}

/// H, and the number of candidates: the one wanted, or as many as there are up to 16.
///
/// The paper has k ≤ t ≤ C(H, k) (S3 §IV-B); nothing breaks with fewer than k candidates.
fn subsets(k: u32, base: u64, wanted: Option<u64>) -> Result<(u32, u64)> {
    let base = base.min((MAX_BASE + 1).into()) as u32;
    if k >= base || base > MAX_BASE {
        return Err(Error::parameter(format!(
            "a candidate takes k = {k} of {{base}} functions, and k < base ≤ {MAX_BASE}: set {{base}} or \
             {{k}}, or {{form={FRESH}}}"
        )));
    }
    let all = choose(base, k);
    match wanted {
        Some(t) if t > all => Err(Error::parameter(format!(
            "there are only {all} ways to take {k} of {base} functions: set {{t}} to at most that"
        ))),
        wanted => Ok((base, wanted.unwrap_or(all.min(16)))),
    }
}

#[cfg(test)]
mod tests {
    use super::super::VARIANT;
    use super::*;
    use crate::error::Kind;
    use crate::plan::Goal;

    fn plan(goal: &Goal) -> Result<Shape> {
        Shape::plan(&Request::new(&VARIANT, goal)?)
    }

    #[test]
    fn plans_meet_the_rate_and_count_the_table() {
        for (p, t) in [(0.1, 16), (0.01, 1), (0.01, 16), (1e-6, 256)] {
            let goal = Goal::new(100_000, p).set("t", t);
            let shape = plan(&goal).unwrap();
            let expect = shape.expect(&Load::items(100_000)).unwrap();
            assert!((expect.fpr / p - 1.0).abs() < 0.005, "{p}, {t}: {}", expect.fpr);
            assert_eq!(expect.bits, shape.flat.m + 10_000 * u64::from(width(t)));
        }
        let goal = Goal { items: Some(1000), bits: Some(10_000), ..Goal::default() };
        let shape = plan(&goal).unwrap();
        assert!((9990..=10_000).contains(&shape.bits()), "{shape:?}");
    }

    #[test]
    fn impossible_choices_are_refused() {
        let refused = |goal: Goal| plan(&goal).unwrap_err().kind() == Kind::BadParameter;
        let subsets = || Goal::new(1000, 0.01).set("form", SUBSETS);
        assert!(refused(subsets().set("k", 7).set("base", 8).set("t", 9)));
        assert!(refused(subsets().set("k", 7).set("base", 7)));
        assert!(refused(subsets().set("k", 40)));
        assert!(plan(&subsets().set("k", 7).set("base", 8).set("t", 8)).is_ok());
        assert!(refused(Goal::default().set("m", 1000).set("k", 7)));
        assert!(plan(&Goal::default().set("m", 1000).set("k", 7).set("groups", 10)).is_ok());
        assert!(refused(Goal::new(u64::MAX, 0.01).set("m", 1000).set("size", 1)));
    }
}
