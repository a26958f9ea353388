//! Which area one is in, without telling where one is (catalogue A34; S3 §III-C \[17\]\[52\]\[53\], on §22).
//!
//! ```text
//!   provider: areas of interest ──▶ spatial filter ──▶ client: area of its own position
//!                                                      (the position stays there)
//! ```
//!
//! The provider sends its areas as a [`spatial filter`](Areas), whose numbers tell a grid cell's area. The client asks
//! its own copy, and nobody learns its position. A cell of no area is put into area i at a rate, and a cell of a lower
//! area is read as a higher one now and then; never as a lower one or as none.
//!
//! **What leaks:** the provider learns nothing of the client. The client learns the areas: it can ask
//! for every cell of the grid, and false positives hide little. Where the areas are the secret, the client has to
//! ask blindly instead (`everbloom::exchange::private`, or under homomorphic encryption as in the paper): then the provider's
//! work grows with every query, and it learns how often somebody asks.

use everbloom::internals::hash::Generator;
use everbloom::structured::{Areas, areas};
use everbloom::{Hasher, Limits, Opener, Result, to_bytes};

use crate::{Application, Axis, Bound, Experiment, Form, Lab, Oracle, Report, Rows, bound};

/// What a provider publishes: areas of interest, the more important the higher.
///
/// ```
/// use everbloom_lab::applications::trust::location::{Client, Provider};
///
/// let mut shops = Provider::new(100, 0.001, 0.5, 1)?;
/// shops.add(&[13.2, 52.4], 0)?;
/// shops.add(&[13.8, 52.4], 1)?;
/// let client = Client::open(&shops.publish())?;
/// assert_eq!(client.area(&[13.6, 52.2])?, Some(1));
/// assert_eq!(client.area(&[8.5, 47.4])?, None);
/// # Ok::<(), everbloom::Error>(())
/// ```
pub struct Provider {
    map: Areas,
}

impl Provider {
    /// Room for so many grid cells of edge `size`, in sixteen areas; other cells get an area at a rate of `rate`.
    pub fn new(cells: u64, rate: f64, size: f64, seed: u64) -> Result<Self> {
        let builder = Areas::builder().items(cells).rate(rate).seed(seed).set("size", size);
        Ok(Self { map: builder.build()? })
    }

    /// A map of `m` numbers with `k` probes for areas 0 to `areas` − 1.
    pub fn with_shape(m: u64, k: u32, areas: u64, size: f64, seed: u64) -> Result<Self> {
        Ok(Self { map: Areas::with_shape(m, k, areas, size, Hasher::seeded(seed))? })
    }

    /// Puts the grid cell of a point into an area; of two areas the higher counts.
    pub fn add(&mut self, point: &[f64], area: u64) -> Result<()> {
        self.map.insert(point, area).map(drop)
    }

    /// What clients download.
    pub fn publish(&self) -> Vec<u8> {
        to_bytes(&self.map)
    }
}

/// A provider's map, asked by whoever has a position. Nothing is sent.
pub struct Client {
    map: Areas,
}

impl Client {
    /// The map in a provider's bytes, which are not trusted.
    pub fn open(published: &[u8]) -> Result<Self> {
        let map = Opener::new().limits(Limits::NETWORK).decode_as(published)?;
        Ok(Self { map })
    }

    /// The area that a position is in.
    pub fn area(&self, position: &[f64]) -> Result<Option<u64>> {
        self.map.area(position)
    }
}

/// The application.
pub static APPLICATION: Application = Application {
    entry: "A34",
    form: Form::Component,
    uses: &["spatial"],
    oracle: "the areas' grid cells themselves",
    data: "three areas of 100, 60 and 40 random cells of a grid; positions inside and outside",
    experiment: Experiment {
        name: "location",
        source: "S3 §III-C [17][52][53]",
        title: "Which area one is in, without telling where one is",
        shows: "A position in an area is never read as a lower area or as none. Others get an area at the rates of the \
                formulas: 0.0089, 0.00052 and 7.8e-6 by area. Whoever has the map can list the areas.",
        run,
    },
};

const M: u64 = 2000;
const K: u32 = 5;
const SIZES: [u64; 3] = [100, 60, 40];
const SIDE: u64 = 400;

/// Cells of the three areas, all different, and then cells of no area.
fn cells(seed: u64) -> Vec<[f64; 2]> {
    let mut random = Generator::new(seed);
    let mut all: Vec<u64> = (0..SIDE * SIDE).collect();
    crate::sim::shuffle(&mut all, &mut random);
    let point = |cell: u64, u: f64| [(cell % SIDE) as f64 + u, (cell / SIDE) as f64 + u];
    all.into_iter().map(|cell| point(cell, random.unit() * 0.999)).collect()
}

/// Counts of what one map says.
#[derive(Default)]
struct Seen {
    /// Members read lower or as none.
    lost: u64,
    /// Members of each area read higher.
    higher: [u64; 3],
    /// Others read as each area.
    wrong: [u64; 3],
    others: u64,
}

fn try_one(seed: u64, others: usize) -> Result<Seen> {
    let mut provider = Provider::with_shape(M, K, 3, 1.0, seed)?;
    let all = cells(seed);
    let area_of = |i: usize| match i as u64 {
        0..100 => Some(0),
        100..160 => Some(1),
        160..200 => Some(2),
        _ => None,
    };
    for (i, cell) in all.iter().enumerate().take(200) {
        if let Some(area) = area_of(i) {
            provider.add(cell, area)?;
        }
    }
    let client = Client::open(&provider.publish())?;
    let mut seen = Seen { others: others as u64, ..Seen::default() };
    for (i, cell) in all.iter().enumerate().take(200 + others) {
        let read = client.area(cell)?;
        match (area_of(i), read) {
            (Some(area), Some(read)) if read > area => seen.higher[area as usize] += 1,
            (Some(area), read) if read != Some(area) => seen.lost += 1,
            (None, Some(area)) => seen.wrong[area as usize] += 1,
            _ => {}
        }
    }
    Ok(seen)
}

fn run(lab: &Lab) -> Result<Report> {
    let (runs, others) = (lab.scaled(50), 4_000);
    let seen = lab.runs(runs, |seed| try_one(seed, others))?;
    let mut oracle = Oracle::default();
    oracle.none("positions read as a lower area or as none", seen.iter().map(|s| s.lost).sum());
    oracle.none(
        "positions of the highest area read as another",
        seen.iter().map(|s| s.higher[2]).sum(),
    );
    let mut rows =
        Rows::new("errors", "Errors of the map, by area", Axis::log("share of positions"));
    let shares = areas::shares(M as f64, K, &SIZES);
    let wrong = areas::by_label(&shares, K);
    let higher = areas::read_higher(M as f64, K, &SIZES);
    let sum = |of: &dyn Fn(&Seen) -> u64| seen.iter().map(of).sum::<u64>();
    let trials = sum(&|s| s.others);
    for i in 0..3 {
        // Each map has a rate of its own, a tenth around the mean and more for rare labels.
        let spread = wrong[i] * [0.1, 0.3, 1.0][i] * 4.9 / (runs as f64).sqrt();
        let around = bound::share(wrong[i], trials);
        let around =
            Bound { low: around.low.map(|l| l - spread), high: around.high.map(|h| h + spread) };
        let measured = sum(&|s| s.wrong[i]) as f64 / trials as f64;
        rows.row(format!("of no area, read as area {i}"), wrong[i], measured, around);
        let members = runs * SIZES[i];
        let measured = sum(&|s| s.higher[i]) as f64 / members as f64;
        let around = bound::share(higher[i], members).widened(higher[i], 0.3);
        rows.row(format!("of area {i}, read as a higher one"), higher[i], measured, around);
    }
    // What leaks: listing the whole grid finds all cells of the areas, with as many others as the rate says.
    let whole = try_one(lab.seed(), (SIDE * SIDE - 200) as usize)?;
    let listed = 200.0 + whole.wrong.iter().sum::<u64>() as f64;
    let expected = 200.0 + wrong.iter().sum::<f64>() * (SIDE * SIDE - 200) as f64;
    rows.row(
        "share of true cells among all that the map lists",
        200.0 / expected,
        200.0 / listed,
        Bound::exactly(200.0 / expected, 0.05),
    );
    Ok(oracle.report().rows(rows).note(
        "The provider learns nothing of the client; the client can list the areas by asking for every cell of the \
         grid.",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a34_errors_by_area() {
        let wrong = areas::by_label(&areas::shares(2000.0, 5, &SIZES), 5);
        let higher = areas::read_higher(2000.0, 5, &SIZES);
        for (found, quoted) in wrong.iter().zip([0.008910, 0.000522, 7.8e-6]) {
            assert!((found - quoted).abs() < 0.01 * quoted, "{found}");
        }
        assert!((higher[0] - 5.30e-4).abs() < 1e-6 && (higher[1] - 7.8e-6).abs() < 1e-7);
        assert_eq!(higher[2], 0.0);
    }

    #[test]
    fn bytes_that_are_no_map_and_points_that_do_not_fit() {
        assert!(Client::open(b"no map").is_err());
        let mut provider = Provider::new(10, 0.01, 1.0, 1).unwrap();
        provider.add(&[1.0, 2.0], 3).unwrap();
        assert!(provider.add(&[1.0, 2.0], 16).is_err());
        let client = Client::open(&provider.publish()).unwrap();
        assert!(client.area(&[1.0]).is_err() && client.area(&[f64::NAN, 0.0]).is_err());
    }
}
