//! Which records lie in a box (catalogue A58; S0 §IV-F \[129\], on §24).
//!
//! ```text
//!   attribute 1   ├──┼──╂▓▓▓▓▓▓╂──┼──┤   ids in some segment that meets the range,
//!   attribute 2   ├╂▓▓▓▓▓▓╂──┼──┼──┤    for every attribute: candidates,
//!   attribute 3   ├──┼──┼╂▓▓▓▓▓▓╂──┤    then their records are looked at
//! ```
//!
//! Each attribute is cut into G segments with a filter of ids each ([`Ranges`]). No record in the box is missed. Others
//! become candidates by hashing, (1 − (1−f)^g)^D for g segments in each of D attributes, which is next to
//! nothing, and by granularity: a box that is two segments wide but ends inside segments meets three, so that
//! 0.3^D of the records are candidates where 0.2^D are in it. Bounds at quantiles keep that for skewed values;
//! segments of equal width do not.

use std::collections::BTreeMap;
use std::ops::Range;

use everbloom::internals::hash::{Generator, mix64};
use everbloom::structured::Ranges;
use everbloom::{Error, Kind, Result};

use crate::{Application, Axis, Chart, Experiment, Form, Lab, Oracle, Report, Rows, Series, bound};

/// Where segments begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bounds {
    /// As many records in each.
    Quantiles,
    /// Of equal width between the least and the greatest value.
    Equal,
}

/// Records with D numbers each, found by the box they lie in.
///
/// ```
/// use everbloom_lab::applications::tables::box_query::{Bounds, BoxIndex};
///
/// let people = [(1, [34.0, 1.82]), (2, [71.0, 1.65]), (3, [35.0, 1.58])];
/// let mut index = BoxIndex::new(people, 10, 0.01, Bounds::Quantiles)?;
/// assert_eq!(index.find(&[30.0..40.0, 1.5..1.9]), [1, 3]);
/// index.remove(3)?;
/// assert_eq!(index.find(&[30.0..40.0, 1.5..1.9]), [1]);
/// # Ok::<(), everbloom::Error>(())
/// ```
pub struct BoxIndex<const D: usize> {
    filters: Ranges,
    records: BTreeMap<u64, [f64; D]>,
}

impl<const D: usize> BoxIndex<D> {
    /// An index of records with `segments` segments for each attribute, whose filters err at a rate of `rate`.
    pub fn new(
        records: impl IntoIterator<Item = (u64, [f64; D])>,
        segments: u64,
        rate: f64,
        bounds: Bounds,
    ) -> Result<Self> {
        let records: BTreeMap<u64, [f64; D]> = records.into_iter().collect();
        let line = |(id, values): (&u64, &[f64; D])| {
            values.iter().fold(id.to_string(), |line, value| format!("{line}\t{value}"))
        };
        let filters = Ranges::builder()
            .form("counting")
            .items(records.len().max(1) as u64)
            // The builder's rate is that of one segment in every attribute.
            .rate(libm::pow(rate, D as f64))
            .set("attributes", D as u64)
            .set("segments", segments)
            .set("bounds", if bounds == Bounds::Equal { "equal" } else { "quantile" })
            .build_from(records.iter().map(line).collect::<Vec<_>>())?;
        Ok(Self { filters, records })
    }

    /// Adds a record, in place of one with the same id.
    pub fn insert(&mut self, id: u64, values: [f64; D]) -> Result<()> {
        if self.records.contains_key(&id) {
            self.remove(id)?;
        }
        self.filters.insert(id.to_string().as_bytes(), &values)?;
        self.records.insert(id, values);
        Ok(())
    }

    /// Takes a record out; an error if there is none with this id.
    pub fn remove(&mut self, id: u64) -> Result<[f64; D]> {
        let values = self.records.get(&id).copied().ok_or_else(|| {
            Error::new(Kind::NotDeletable, format!("there is no record {id} to be removed"))
        })?;
        self.filters.remove(id.to_string().as_bytes(), &values)?;
        self.records.remove(&id);
        Ok(values)
    }

    /// The ids of the records in a box, in order: a range for each attribute, its end excluded. A range that ends before it
    /// begins is empty.
    pub fn find(&self, wanted: &[Range<f64>; D]) -> Vec<u64> {
        let mut found = self.candidates(wanted);
        found.retain(|id| self.records.get(id).is_some_and(|values| inside(values, wanted)));
        found
    }

    /// The ids whose records have to be looked at.
    pub fn candidates(&self, wanted: &[Range<f64>; D]) -> Vec<u64> {
        self.records.keys().copied().filter(|id| self.may_be_in(*id, wanted)).collect()
    }

    /// Whether an id, known or not, may have a record in a box.
    pub fn may_be_in(&self, id: u64, wanted: &[Range<f64>; D]) -> bool {
        let ranges: Vec<_> = wanted.iter().cloned().map(Some).collect();
        // The only error is a wrong number of ranges, which the type excludes.
        self.filters.contains(id.to_string().as_bytes(), &ranges).unwrap_or(true)
    }
}

fn inside<const D: usize>(values: &[f64; D], wanted: &[Range<f64>; D]) -> bool {
    values.iter().zip(wanted).all(|(value, range)| range.contains(value))
}

/// The application.
pub static APPLICATION: Application = Application {
    entry: "A58",
    form: Form::Component,
    uses: &["ranges"],
    oracle: "a scan of all records",
    data: "records with three numbers each, uniform or skewed; boxes at random places",
    experiment: Experiment {
        name: "box-query",
        source: "S0 §IV-F [129]",
        title: "Records in a box, by a filter for each segment of each attribute",
        shows: "No record in the box is missed. Hashing adds (1 − (1−f)^g)^D, 2.6e-5 at f = 0.01; granularity makes 2.7 % \
                of the records candidates where 0.8 % are in the box. Quantiles keep that for skewed values, \
                segments of equal width make a sixth of them candidates.",
        run,
    },
};

const RECORDS: u64 = 4_000;
const SEGMENTS: u64 = 10;
const RATE: f64 = 0.01;

/// Skewed values: most are small.
fn skewed(u: f64) -> f64 {
    u * u * u * u
}

fn records(seed: u64, shape: fn(f64) -> f64) -> Vec<(u64, [f64; 3])> {
    let mut random = Generator::new(seed);
    (0..RECORDS).map(|id| (mix64(id), [(); 3].map(|()| shape(random.unit())))).collect()
}

/// Shares of records in boxes, of candidates, and of those that segments of equal width would make candidates; answers
/// beside those of a scan.
struct Seen {
    in_box: f64,
    candidates: f64,
    met_by_equal: f64,
    pairs: Vec<[Vec<u64>; 2]>,
}

/// The share of ids that pass for one attribute: those in the segments met, and others by hashing in g filters.
fn passing(met: f64, g: f64) -> f64 {
    met + (1.0 - met) * (1.0 - libm::pow(1.0 - RATE, g))
}

/// The share of records in the segments of equal width that a range of skewed values meets.
fn met(range: &Range<f64>) -> f64 {
    let root = |value: f64| libm::pow(value, 0.25);
    let (first, last) = ((range.start * 10.0).floor(), (range.end * 10.0).floor());
    passing(root((last + 1.0) / 10.0) - root(first / 10.0), last + 1.0 - first)
}

fn try_one(seed: u64, shape: fn(f64) -> f64, bounds: Bounds) -> Result<Seen> {
    let mut all = records(seed, shape);
    let mut index = BoxIndex::new(all.iter().copied(), SEGMENTS, RATE, bounds)?;
    // Some records move before anything is asked for.
    let moved = records(!seed, shape);
    for (i, record) in all.iter_mut().enumerate().step_by(10) {
        record.1 = moved[i].1;
        index.insert(record.0, record.1)?;
    }
    all.sort_unstable_by_key(|(id, _)| *id);
    let mut random = Generator::new(seed ^ 1);
    let (mut in_box, mut candidates, mut met_by_equal, mut pairs) = (0, 0, 0.0, Vec::new());
    let boxes = 20;
    for _ in 0..boxes {
        // Two segments wide, and inside three: it begins in the middle half of a segment.
        let wanted = [(); 3].map(|()| {
            let low = (random.below(7) as f64 + 0.25 + random.unit() / 2.0) / 10.0;
            shape(low)..shape(low + 0.2)
        });
        let found = index.find(&wanted);
        let scan = all.iter().filter(|(_, values)| inside(values, &wanted)).map(|(id, _)| *id);
        let scan: Vec<u64> = scan.collect();
        in_box += scan.len();
        candidates += index.candidates(&wanted).len();
        met_by_equal += wanted.iter().map(met).product::<f64>() / boxes as f64;
        pairs.push([found, scan]);
    }
    let share = |count: usize| count as f64 / (boxes * RECORDS) as f64;
    Ok(Seen { in_box: share(in_box), candidates: share(candidates), met_by_equal, pairs })
}

/// (1 − (1−f)^g)^D.
fn by_hashing(f: f64, g: f64, d: f64) -> f64 {
    libm::pow(1.0 - libm::pow(1.0 - f, g), d)
}

fn run(lab: &Lab) -> Result<Report> {
    let runs = lab.scaled(2);
    let mut oracle = Oracle::default();
    let mut rows = Rows::new(
        "granularity",
        "Boxes of 0.2 in each of three attributes",
        Axis::log("share of records"),
    );
    let plain: fn(f64) -> f64 = |u| u;
    let cases = [
        ("uniform, equal segments", plain, Bounds::Equal),
        ("uniform, quantiles", plain, Bounds::Quantiles),
        ("skewed, quantiles", skewed, Bounds::Quantiles),
        ("skewed, equal segments", skewed, Bounds::Equal),
    ];
    for (name, shape, bounds) in cases {
        let seen = lab.runs(runs, |seed| try_one(seed, shape, bounds))?;
        let mean = |of: fn(&Seen) -> f64| seen.iter().map(of).sum::<f64>() / runs as f64;
        // The boxes of a run overlap and ask for the same records: as certain as two boxes a run are.
        let around =
            |p: f64| bound::mean(p, (p / RECORDS as f64).sqrt(), 2 * runs).widened(p, 0.05);
        let walked_into = name == "skewed, equal segments";
        // 0.027 by granularity alone, and what hashing adds.
        let aligned = libm::pow(passing(0.3, 3.0), 3.0);
        let predicted = if walked_into { mean(|s| s.met_by_equal) } else { aligned };
        rows.row(
            format!("{name}: candidates"),
            predicted,
            mean(|s| s.candidates),
            around(predicted),
        );
        rows.row(format!("{name}: in the box"), 0.008, mean(|s| s.in_box), around(0.008));
        let pairs = seen.into_iter().flat_map(|s| s.pairs).map(|[ours, scan]| (ours, scan));
        oracle.equal(name, pairs);
    }
    let hashing = hashing(lab)?;
    Ok(oracle.report().rows(rows).chart(hashing))
}

/// Ids that are not there, in boxes of three segments in each of three attributes.
fn hashing(lab: &Lab) -> Result<Chart> {
    let xs = (1..=30).map(|i| f64::from(i) / 100.0);
    let mut series = Series::new("(1 − (1−f)³)³", xs, |f| by_hashing(f, 3.0, 3.0));
    // Inside three segments: those begin at the least value, which is not quite 0.
    let wanted = [(); 3].map(|()| 0.21..0.49);
    for (f, trials) in [(0.01, lab.scaled(400_000)), (0.05, 40_000), (0.1, 20_000), (0.2, 20_000)] {
        let index = BoxIndex::new(records(lab.seed(), |u| u), SEGMENTS, f, Bounds::Equal)?;
        let wrong = (0..trials).filter(|i| index.may_be_in(mix64(1 << 40 | i), &wanted)).count();
        let p = by_hashing(f, 3.0, 3.0);
        // Whole numbers of probes and of counters leave a filter within some percent of f, nine filters together.
        let around = bound::share(p, trials).widened(p, 0.15);
        series.point(f, p, wrong as f64 / trials as f64, around);
    }
    let [x, y] = [Axis::log("rate of a segment's filter"), Axis::log("ids that are not there")];
    let title = "False candidates by hashing: three segments in each of three attributes";
    Ok(Chart::new("hashing", title, [x, y], [series]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a58_false_candidates() {
        assert!((by_hashing(0.01, 3.0, 3.0) - 2.6e-5).abs() < 5e-7);
        assert!(
            (libm::pow(0.3, 3.0) - 0.027).abs() < 1e-12
                && (libm::pow(0.2, 3.0) - 0.008).abs() < 1e-12
        );
    }

    #[test]
    fn empty_ranges_and_values_outside_of_all_segments() {
        let mut index = BoxIndex::new([(1, [5.0]), (2, [6.0])], 4, 0.01, Bounds::Equal).unwrap();
        index.insert(3, [-100.0]).unwrap();
        index.insert(4, [100.0]).unwrap();
        assert_eq!(index.find(&[f64::NEG_INFINITY..f64::INFINITY]), [1, 2, 3, 4]);
        assert_eq!(index.find(&[50.0..200.0]), [4]);
        #[allow(clippy::reversed_empty_ranges)]
        let reversed = 6.0..5.0;
        assert!(index.find(&[reversed]).is_empty());
        assert!(index.remove(9).is_err() && index.insert(5, [f64::NAN]).is_err());
        index.insert(4, [5.5]).unwrap();
        assert_eq!(index.find(&[5.0..6.0]), [1, 4]);
    }
}
