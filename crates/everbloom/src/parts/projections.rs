//! Vectors on random lines, cut into buckets: near vectors mostly share a bucket.
//!
//! Function i draws a direction aᵢ of normal coordinates and a shift bᵢ; the bucket of v is ⌊(aᵢ·v + bᵢ)/ω⌋. All of
//! them follow from the seed of the hash by the pinned generator, so that they need not be stored, and sums are
//! plain doubles in the order of coordinates: every machine finds the same buckets.

use std::sync::OnceLock;

use smallvec::SmallVec;

use crate::error::{Error, Result, agree};
use crate::filter::{Fact, fact, real};
use crate::hash::{Generator, Hasher, mix64};
use crate::state::{Decoder, Encoder, State};

/// The buckets of a vector, function by function.
pub(crate) type Buckets = SmallVec<[i64; 32]>;

/// Random lines.
#[derive(Clone, Debug)]
pub(crate) struct Projections {
    /// Coordinates of all vectors; 0 as long as none has come.
    dimensions: u64,
    functions: u32,
    /// ω, the width of a bucket.
    width: f64,
    /// Shifts are drawn from [0, ω·2^(levels − 1)), so that pairs, pairs of pairs, … of buckets begin at random, too.
    levels: u32,
    /// Shift and direction of every function, drawn when first used.
    pub(crate) lines: OnceLock<Vec<f64>>,
}

pub(crate) const MAX_FUNCTIONS: u32 = 1024;
pub(crate) const MAX_LEVELS: u32 = 16;
pub(crate) const MIN_WIDTH: f64 = 1e-9;
pub(crate) const MAX_WIDTH: f64 = 1e9;
/// Buckets from the origin: a double has all whole numbers up to there.
const FAR: f64 = 9_007_199_254_740_992.0;
const LINES: u64 = 0x6C69_6E65_7300_0001;

impl PartialEq for Projections {
    fn eq(&self, other: &Self) -> bool {
        let all = |p: &Self| (p.dimensions, p.functions, p.width, p.levels);
        all(self) == all(other)
    }
}

impl Projections {
    pub(crate) fn new(functions: u32, width: f64, levels: u32) -> Self {
        Self { dimensions: 0, functions, width, levels, lines: OnceLock::new() }
    }

    /// Number of functions.
    pub(crate) fn functions(&self) -> u32 {
        self.functions
    }

    /// ω.
    pub(crate) fn width(&self) -> f64 {
        self.width
    }

    /// Coordinates of all vectors; 0 as long as none has come.
    pub(crate) fn dimensions(&self) -> u64 {
        self.dimensions
    }

    /// Notes that a vector of so many coordinates came.
    pub(crate) fn settle(&mut self, point: &[f64]) {
        self.dimensions = point.len() as u64;
    }

    fn draw(&self, seed: u64, dimensions: usize) -> Vec<f64> {
        let reach = self.width * f64::from(1u32 << (self.levels - 1));
        let mut lines = Vec::new();
        for i in 0..u64::from(self.functions) {
            let mut random = Generator::new(mix64(seed ^ mix64(i ^ LINES)));
            lines.push(random.unit() * reach);
            lines.extend((0..dimensions).map(|_| random.normal()));
        }
        lines
    }

    /// The buckets of a vector. Refused if it has another number of coordinates than those before, or is too far
    /// from the origin to tell buckets apart.
    pub(crate) fn buckets(&self, hasher: &Hasher, point: &[f64]) -> Result<Buckets> {
        let found = point.len() as u64;
        if found == 0 || (self.dimensions != 0 && found != self.dimensions) {
            let all = self.dimensions;
            let message = format!("a vector of {found} coordinates; the others have {all}");
            return Err(Error::record(message));
        }
        // The first vector may still be refused: only those that are there settle the number of coordinates.
        let drawn;
        let lines = if self.dimensions == 0 {
            drawn = self.draw(hasher.seed(), point.len());
            &drawn
        } else {
            self.lines.get_or_init(|| self.draw(hasher.seed(), point.len()))
        };
        let bucket = |line: &[f64]| {
            let dot: f64 = line[1..].iter().zip(point).map(|(a, x)| a * x).sum();
            let bucket = ((dot + line[0]) / self.width).floor();
            if (-FAR..FAR).contains(&bucket) {
                return Ok(bucket as i64);
            }
            Err(Error::record("a vector too far from the origin, or with infinite coordinates"))
        };
        lines.chunks_exact(point.len() + 1).map(bucket).collect()
    }

    /// Refuses lines that put one vector into different buckets.
    pub(crate) fn agree(&self, other: &Self) -> Result<()> {
        agree("functions", self.functions, other.functions)?;
        agree("width", self.width, other.width)?;
        agree("levels", self.levels, other.levels)?;
        if self.dimensions != 0 && other.dimensions != 0 {
            agree("dimensions", self.dimensions, other.dimensions)?;
        }
        Ok(())
    }

    /// Takes over the dimensions of lines that agree.
    pub(crate) fn join(&mut self, other: &Self) {
        self.dimensions = self.dimensions.max(other.dimensions);
    }

    pub(crate) fn describe(&self) -> [Fact; 2] {
        [real("width", self.width), fact("dimensions", self.dimensions)]
    }
}

impl State for Projections {
    fn save<'a>(&'a self, name: &'static str, out: &mut Encoder<'a>) {
        out.group(name, |out| {
            self.dimensions.save("dimensions", out);
            self.functions.save("functions", out);
            self.width.save("width", out);
            self.levels.save("levels", out);
        });
    }

    fn load(name: &'static str, src: &mut Decoder<'_>) -> Result<Self> {
        src.group(name, |src| {
            let dimensions = src.u64("dimensions")?;
            let functions = u32::load("functions", src)?;
            let width = src.f64("width")?;
            let levels = u32::load("levels", src)?;
            let known = (1..=MAX_FUNCTIONS).contains(&functions)
                && (1..=MAX_LEVELS).contains(&levels)
                && (MIN_WIDTH..=MAX_WIDTH).contains(&width);
            if !known {
                return Err(src.corrupt("lines that are none"));
            }
            Ok(Self { dimensions, ..Self::new(functions, width, levels) })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::theory::lsh::collision;

    /// Two vectors at distance c share a bucket as often as the formula says, whatever their direction, and also
    /// where one of them is the origin, which is the edge of a bucket on lines that are not shifted.
    #[test]
    fn near_vectors_share_buckets() {
        for (distance, size) in [(0.5, 100.0), (1.0, 100.0), (4.0, 100.0), (1.0, 0.0)] {
            let lines = Projections::new(1000, 4.0, 1);
            let (mut shared, mut random) = (0u32, Generator::new(9));
            for seed in 0..20 {
                let hasher = Hasher::seeded(seed);
                let v: Vec<f64> = (0..10).map(|_| size * random.normal()).collect();
                let away: Vec<f64> = (0..10).map(|_| random.normal()).collect();
                let length = away.iter().map(|x| x * x).sum::<f64>().sqrt();
                let w: Vec<f64> =
                    v.iter().zip(&away).map(|(x, a)| x + a * distance / length).collect();
                let buckets = |v: &[f64]| lines.buckets(&hasher, v).unwrap();
                shared +=
                    buckets(&v).iter().zip(&buckets(&w)).filter(|(a, b)| a == b).count() as u32;
            }
            let (mean, p) = (f64::from(shared) / 20_000.0, collision(4.0, distance));
            assert!((mean - p).abs() < 0.02, "{distance}: {mean}, not {p}");
        }
    }

    #[test]
    fn what_is_too_far_or_of_another_length_is_refused() {
        let mut lines = Projections::new(4, 4.0, 1);
        let hasher = Hasher::default();
        assert!(lines.buckets(&hasher, &[]).is_err());
        assert!(lines.buckets(&hasher, &[1e300, 1.0]).is_err());
        assert!(lines.buckets(&hasher, &[f64::NAN]).is_err());
        let first = lines.buckets(&hasher, &[1.0, 2.0]).unwrap();
        lines.settle(&[1.0, 2.0]);
        assert_eq!(lines.buckets(&hasher, &[1.0, 2.0]).unwrap(), first);
        assert!(lines.buckets(&hasher, &[1.0]).is_err());
    }
}
