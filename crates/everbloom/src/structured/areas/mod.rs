//! The spatial Bloom filter (Palmieri, Calderoni, Maio 2014; catalogue §22; S3 ref. 17 §VI-E).
//!
//! In which area is this point? Space is cut into cells of a grid, and each area is the set of its grid cells.
//! Areas are numbered from 0, the more important the higher. Where a Bloom filter has bits, this one has small
//! numbers: zero, or one more than an area's number. An insertion raises the k numbers of its grid cell to its
//! area's; a query takes the least of the k:
//!
//! ```text
//!   point 3.2,7.9 ─▶ grid cell 3,7 ─▶ ↓     ↓   ↓
//!                                 0 2 1 0 0 3 0 2 0 1      least of 1 3 2: area 0
//!                                                          a zero among them: no area
//! ```
//!
//! A number that a higher area has taken over still speaks for its grid cell: a member is never read as absent
//! nor as a lower area. It is read as a higher one if all its numbers are taken over; the highest area never errs.
//! (S3 leaves out that the least counts.) Taking the larger number makes the order of insertions irrelevant.
//!
//! **Use it** to tell which area a position is in, without a map of the areas. **Don't** if areas overlap and all
//! of them matter (`omass`, `matrix`), or if they change: nothing can be removed.

mod theory;

use smallvec::SmallVec;
pub use theory::{by_label, read_higher, shares};

use crate::cells::Packed;
use crate::error::agree;
use crate::parts::labels::{label_of, number};
use crate::parts::tally::{Cells, Tallies};
use crate::probe::Probe;
use crate::theory::bloom;
use crate::variant::prelude::*;

/// Areas as sets of grid cells, in m small numbers.
///
/// ```
/// let mut map = everbloom::structured::Areas::with_rate(1000, 0.01)?;
/// map.insert(&[3.2, 7.9], 0)?;
/// map.insert(&[4.0, 7.0], 5)?;
/// assert_eq!(map.area(&[3.9, 7.1])?, Some(0));
/// assert_eq!(map.area(&[4.5, 7.5])?, Some(5));
/// assert_eq!(map.area(&[-3.9, 7.1])?, None);
/// # Ok::<(), everbloom::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Areas {
    head: Head,
    /// Edge of a grid cell.
    size: f64,
    /// Coordinates of a point; 0 as long as none has come.
    dimensions: u64,
    /// Number of areas.
    areas: u64,
    tallies: Tallies<Packed>,
}

state!(Areas { head, size, dimensions, areas, tallies });

impl Areas {
    /// A filter of `m` numbers with `k` probes per grid cell, whose edge is `size`, for `areas` areas.
    pub fn with_shape(m: u64, k: u32, areas: u64, size: f64, hasher: Hasher) -> Result<Self> {
        empty(&Goal::of(hasher).set("m", m).set("k", k).set("areas", areas).set("size", size))
    }

    /// The digest of a point's grid cell.
    fn digest(&self, point: &[f64]) -> Result<Digest> {
        let dimensions = point.len() as u64;
        if self.dimensions != 0 && dimensions != self.dimensions {
            let all = self.dimensions;
            let message = format!("a point of {dimensions} coordinates; the others have {all}");
            return Err(Error::record(message));
        }
        let mut cell: SmallVec<[u8; 64]> = SmallVec::new();
        for x in point {
            let index = (x / self.size).floor();
            // Beyond, neighboring cells are one and the same number.
            if !(-FAR..FAR).contains(&index) {
                return Err(Error::record(format!("{x} is too many grid cells from the origin")));
            }
            cell.extend_from_slice(&(index as i64).to_le_bytes());
        }
        Ok(self.head.hasher.digest(&cell[..]))
    }

    /// Adds a point's grid cell to an area.
    pub fn insert(&mut self, point: &[f64], area: u64) -> Result<Seen> {
        if area >= self.areas {
            let last = self.areas - 1;
            return Err(Error::record(format!("there is no area {area}: they are 0 to {last}")));
        }
        let digest = self.digest(point)?;
        let (mut new, cells) = (false, &mut self.tallies.cells);
        self.tallies.probe.each(digest, |i| {
            let held = cells.get(i);
            new |= held == 0;
            if held < area + 1 {
                cells.set(i, area + 1);
            }
        });
        self.dimensions = point.len() as u64;
        self.head.count_one();
        Ok(Seen::new_if(new))
    }

    /// The area that a point is in, or a higher one by mistake; `None` if it is in none.
    pub fn area(&self, point: &[f64]) -> Result<Option<u64>> {
        Ok(self.tallies.least(self.digest(point)?).checked_sub(1))
    }

    /// Makes this the filter of the areas of both.
    pub fn union(&mut self, other: &Self) -> Result<()> {
        self.head.agree(&other.head)?;
        agree("areas", self.areas, other.areas)?;
        agree("size", self.size, other.size)?;
        self.tallies.probe.agree(&other.tallies.probe)?;
        if self.dimensions != 0 && other.dimensions != 0 {
            agree("dimensions", self.dimensions, other.dimensions)?;
        }
        self.dimensions = self.dimensions.max(other.dimensions);
        let cells = &mut self.tallies.cells;
        for (i, area) in (0..).zip(other.tallies.cells.iter()) {
            if area > cells.get(i) {
                cells.set(i, area);
            }
        }
        self.head.count(other.head.items);
        if let Some(n) = self.cardinality() {
            self.head.items = n.round() as u64;
        }
        Ok(())
    }

    /// The number of grid cells in any area, estimated from the zeros; `None` if there are none left.
    pub fn cardinality(&self) -> Option<f64> {
        let m = self.tallies.m();
        bloom::cardinality(m - self.tallies.cells.nonzero(), m, self.tallies.k())
    }

    /// P(a point in no area is read as in area i), for each i, from the numbers as they are.
    pub fn rates(&self) -> Vec<f64> {
        let mut shares = vec![0u64; self.areas as usize];
        let taken = self.tallies.cells.iter().filter(|area| *area > 0);
        taken.for_each(|area| shares[area as usize - 1] += 1);
        let m = self.tallies.m() as f64;
        by_label(&shares.iter().map(|n| *n as f64 / m).collect::<Vec<_>>(), self.tallies.k())
    }

    fn check(&self) -> Result<()> {
        let Self { size, areas, ref tallies, .. } = *self;
        let known = VARIANT.takes("areas", areas) && VARIANT.takes("size", size);
        let fits = known && tallies.cells.width() == width(areas);
        let held = || tallies.cells.iter().max().unwrap_or(0);
        if fits && held() <= areas && (self.dimensions > 0 || held() == 0) {
            return tallies.check_flat();
        }
        Err(Error::corrupt(0, "corrupt filter: numbers of areas that it does not have"))
    }
}

/// Bits for zero and the areas.
fn width(areas: u64) -> u32 {
    areas.ilog2() + 1
}

impl Plan for Areas {
    /// m, k, areas and the grid.
    type Shape = (Flat, u64, f64);

    fn plan(request: &Request<'_>) -> Result<Self::Shape> {
        let areas = request.whole("areas");
        let size = request.number("size");
        Ok((Flat::plan(request, width(areas).into())?, areas, size))
    }

    fn expect(&(flat, areas, _): &Self::Shape, load: &Load) -> Option<Expect> {
        Some(flat.expect(load, flat.m.saturating_mul(width(areas).into())))
    }
}

impl Stream for Areas {
    fn empty(&(flat, areas, size): &Self::Shape, head: Head) -> Result<Self> {
        let cells = Packed::try_new(flat.m, width(areas))?;
        let tallies = Tallies { probe: Probe::over(flat.m, flat.k), cells };
        Ok(Self { head, size, dimensions: 0, areas, tallies })
    }
}

face!(Areas: Insert, Merge, Estimate);
planned!(
    Areas:
    "A filter for `items` grid cells of edge 1 in 16 areas that puts a share of `fpr` of all others in some area."
);
keyed!(Areas: Union, Estimate);

impl Filter for Areas {
    fn part(&self) -> Option<&dyn Part> {
        Some(&self.tallies)
    }

    /// The area beside a point, as in a build, does not matter here.
    fn query(&self, record: Record<'_>) -> Result<Answer> {
        let area = self.area(&record.point()?)?;
        let label = |area: u64| Detail::Labels(vec![area.to_string().into_bytes()]);
        Ok(Answer::of(area.is_some()).with(area.map_or(Detail::None, label)))
    }

    fn describe(&self) -> Vec<Fact> {
        let mut facts = Part::describe(&self.tallies);
        facts.extend([
            fact("areas", self.areas),
            real("size", self.size),
            fact("dimensions", self.dimensions),
        ]);
        facts
    }

    fn trace(&self, key: &[u8]) -> Vec<Touched> {
        let digest = Record::key(key).point().and_then(|point| self.digest(&point));
        digest.map_or_else(|_| Vec::new(), |digest| Part::trace(&self.tallies, digest))
    }
}

impl Insert for Areas {
    fn insert(&mut self, record: Record<'_>) -> Result<Seen> {
        let label = label_of(&record)?;
        let area = number(label);
        let area = area
            .ok_or_else(|| Error::record("the label of a point must be the number of its area"))?;
        Areas::insert(self, &record.point()?, area)
    }
}

/// Grid cells from the origin: a double has all whole numbers up to there.
const FAR: f64 = 9_007_199_254_740_992.0;

/// The corners of grid cells.
fn example(i: u64) -> Vec<u8> {
    format!("{},{}", i % 3600, i / 3600).into_bytes()
}

/// The list entry.
pub static VARIANT: Variant = Variant::of::<Areas>(Facts {
    id: 77,
    slug: "spatial",
    entry: "§22",
    question: "Which area is this point in?",
    name: "Spatial Bloom filter",
    paper: "P. Palmieri, L. Calderoni, D. Maio, Spatial Bloom filters: enabling privacy in location-aware \
            applications, Inscrypt 2014",
    family: "structured",
    needs: &["places", "groups", "merge", "estimate"],
    input: Input::of(KeyKind::Point).with_value(ValueKind::Label).with_examples(example),
    meaning: "items are points of different grid cells; the rate is that of points outside all areas that are placed \
              in one",
    forms: &[Form::exact(FORM, &[Ability::Insert, Ability::Merge, Ability::Estimate])],
    params: &[
        PARAM_M,
        PARAM_K,
        Param::integer(
            "areas",
            1,
            1 << 20,
            "number of areas, numbered from 0 in order of importance",
        )
        .or(Preset::Integer(16)),
        Param::real("size", 1e-9, 1e9, "edge of a grid cell").or(Preset::Real(1.0)),
    ],
    ..Facts::FILTER
});

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shared_tests::lies_are_refused;

    #[test]
    fn files_with_areas_that_are_not_there_are_refused() {
        let mut good = Areas::with_shape(50, 3, 6, 0.5, Hasher::default()).unwrap();
        good.insert(&[1.0, 2.0], 5).unwrap();
        let lies: [fn(&mut Areas); 5] = [
            |f| f.areas = 5,
            |f| f.areas = 9,
            |f| f.dimensions = 0,
            |f| f.size = f64::NAN,
            |f| f.tallies.cells.set(0, 7),
        ];
        lies_are_refused(&good, lies);
    }

    #[test]
    fn points_that_do_not_fit_change_nothing() {
        let mut filter = Areas::with_rate(10, 0.01).unwrap();
        filter.insert(&[1.0, 2.0], 3).unwrap();
        let before = filter.clone();
        for (point, area) in [(&[1.0][..], 3), (&[1.0, 2.0], 16), (&[1e300, 2.0], 3)] {
            assert!(filter.insert(point, area).is_err());
        }
        assert!(Insert::insert(&mut filter, Record::key(b"1,2")).is_err());
        assert_eq!(filter, before);
    }
}
