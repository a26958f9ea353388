//! Counter braids (Lu, Montanari, Prabhakar, Dharmapurikar, Kabbani 2008; catalogue §8; S0 §IV-D).
//!
//! Exact counts of every flow, in less than a word per flow. Small counters are shared: a flow adds to k of them. One that
//! overflows starts again from zero, sets its status bit, and adds one to each of its own counters in a second layer,
//! found by hashing its index:
//!
//! ```text
//!   layer 2     │ 0 │ 3 │ 1 │ …  few, wide          carries of layer-1 counters
//!                    ↑╲
//!   layer 1     │ 7 │ 2•│ 19│ 30│ 0 │ …  many, narrow     • status: it has overflowed
//!                 ↑   ↑       ↑
//!                flow x, at k = 3 of them
//! ```
//!
//! The counts are read all at once, when the flows are known, by message passing: first the carries out of layer 2, then the
//! flows out of layer 1. Bounds from above and below close in; where they meet, counts are exact, and above 1.22 counters
//! per flow (k = 3) they meet whatever the traffic is. Heavy-tailed traffic decodes with fewer.
//!
//! It is a sketch: a flow must be on the list to be decoded, and a flow that is missing there spoils its neighbors. Without
//! decoding there is only a bound from above, the least of a flow's counters. Nothing can be removed. Sketches of one shape
//! add up, carries included.
//!
//! **Use it** if every bit of counting memory is expensive and the list of flows is stored elsewhere. **Don't** to
//! query one flow at a time (`count-min`).

use crate::cells::{Bits, Counters};
use crate::error::agree;
use crate::filter::Bound;
use crate::parts::times_of;
use crate::plan::MAX_CELLS;
use crate::probe::{Coincide, Partitioned, Probe};
pub use crate::solve::messages::Bounds;
use crate::solve::messages::solve;
use crate::theory::peeling::cells_for;
use crate::variant::prelude::*;

/// Exact counts of flows in two layers of shared counters.
///
/// ```
/// use everbloom::sketches::CounterBraids;
///
/// let mut bytes = CounterBraids::with_rate(1000, 0.01)?;
/// let flows: Vec<u64> = (0..1000).collect();
/// for flow in &flows {
///     bytes.insert_times(flow, flow % 90 + 1)?;
/// }
/// let counts = bytes.decode(&flows)?;
/// assert!(flows.iter().zip(counts).all(|(flow, count)| count == flow % 90 + 1));
/// # Ok::<(), everbloom::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct CounterBraids {
    head: Head,
    probe: Probe,
    low: Counters,
    status: Bits,
    carry_probe: Probe,
    carries: Counters,
}

state!(CounterBraids { head, probe, low, status, carry_probe, carries });

impl CounterBraids {
    /// A sketch of `m1` counters of `d1` bits with `k` per flow, and `m2` counters of 32 bits for carries.
    pub fn with_shape(m1: u64, d1: u32, k: u32, m2: u64, hasher: Hasher) -> Result<Self> {
        empty(&Goal::of(hasher).set("m", m1).set("width", d1).set("k", k).set("carries", m2))
    }

    fn check(&self) -> Result<()> {
        self.probe.check(self.low.len())?;
        self.carry_probe.check(self.carries.len())?;
        let segments =
            |probe: &Probe| matches!(probe, Probe::Partitioned(_)) && VARIANT.takes("k", probe.k());
        let narrow = VARIANT.takes("width", self.low.width());
        let ok = segments(&self.probe) && segments(&self.carry_probe) && narrow;
        if ok && self.status.len() == self.low.len() {
            return Ok(());
        }
        Err(Error::corrupt(0, "corrupt filter: not the layers of counter braids"))
    }

    /// The carry counters of a layer-1 counter.
    fn carries_of(&self, counter: u64) -> Digest {
        self.head.digest(&counter).salted(CARRY)
    }

    /// Counts a flow.
    pub fn insert<K: Key + ?Sized>(&mut self, key: &K) -> Result<Seen> {
        self.insert_times(key, 1)
    }

    /// Counts a flow `times` more times. Refused beyond 2^40 at once.
    pub fn insert_times<K: Key + ?Sized>(&mut self, key: &K, times: u64) -> Result<Seen> {
        if times > MOST_TIMES {
            return Err(Error::record(format!(
                "a flow can be counted at most {MOST_TIMES} times at once"
            )));
        }
        let digest = self.head.digest(key);
        let mut new = false;
        for counter in self.probe.collect(digest, Coincide::PerHash) {
            new |= self.low.get(counter) == 0 && !self.status.get(counter);
            self.raise(counter, times);
        }
        self.head.count(times);
        Ok(Seen::new_if(new && times > 0))
    }

    /// Adds to a layer-1 counter, and carries what it cannot hold.
    fn raise(&mut self, counter: u64, by: u64) {
        let sum = self.low.get(counter) + by;
        self.low.set(counter, sum & self.low.max());
        let carry = sum >> self.low.width();
        if carry > 0 {
            self.status.set(counter);
            let (digest, carries) = (self.carries_of(counter), &mut self.carries);
            self.carry_probe.each(digest, |i| carries.raise(i, carry));
        }
    }

    /// A bound from above: the least of the flow's counters, carries included.
    pub fn at_most<K: Key + ?Sized>(&self, key: &K) -> u64 {
        let mut least = u64::MAX;
        self.probe.each(self.head.digest(key), |counter| {
            let mut carry = if self.status.get(counter) { u64::MAX >> MOST_WIDTH } else { 0 };
            if carry > 0 {
                self.carry_probe
                    .each(self.carries_of(counter), |i| carry = carry.min(self.carries.get(i)));
            }
            let full = (carry << self.low.width()).saturating_add(self.low.get(counter));
            least = least.min(full);
        });
        least
    }

    /// The counts of flows, exactly. They must be all that were counted, each once; an error if the counters are too
    /// few for them, or a flow is missing.
    pub fn decode<K: Key>(&self, flows: &[K]) -> Result<Vec<u64>> {
        let (sums, places) = (self.full_counters()?, self.places(flows));
        // Flows that never came are decoded, too, where there are counters enough.
        let counts = [1, 0].into_iter().find_map(|least| self.explained(&sums, &places, least));
        counts.ok_or_else(|| {
            let message =
                "the counters are too few for these flows, or a flow is missing from the list";
            Error::new(Kind::Undecodable, message)
        })
    }

    /// Bounds of the counts of flows, where decoding does not come to an end.
    pub fn bounds<K: Key>(&self, flows: &[K]) -> Result<Bounds> {
        let (sums, places) = (self.full_counters()?, self.places(flows));
        Ok(solve(&sums, &places, self.probe.k() as usize, 1))
    }

    /// The counters of flows, those of one after those of another.
    fn places<K: Key>(&self, flows: &[K]) -> Vec<usize> {
        let mut places = Vec::with_capacity(flows.len() * self.probe.k() as usize);
        for flow in flows {
            self.probe.each(self.head.digest(flow), |i| places.push(i as usize));
        }
        places
    }

    /// Counts of at least `least` each that add up to every counter. A flow that is missing is in counters that no others
    /// explain.
    fn explained(&self, sums: &[u64], places: &[usize], least: u64) -> Option<Vec<u64>> {
        let k = self.probe.k() as usize;
        let bounds = solve(sums, places, k, least);
        let mut left = sums.to_vec();
        for (count, places) in bounds.upper.iter().zip(places.chunks_exact(k)) {
            places.iter().for_each(|place| left[*place] = left[*place].wrapping_sub(*count));
        }
        (bounds.exact() && left.iter().all(|sum| *sum == 0)).then_some(bounds.upper)
    }

    /// How many counters of layer 1 have overflowed.
    pub fn overflowed(&self) -> u64 {
        self.status.ones()
    }

    /// Layer 1 with its carries, which are solved for first.
    fn full_counters(&self) -> Result<Vec<u64>> {
        if self.carries.saturated() > 0 {
            return Err(Error::new(Kind::Undecodable, "a carry counter is stuck at its maximum"));
        }
        let overflowed: Vec<u64> =
            (0..self.status.len()).filter(|counter| self.status.get(*counter)).collect();
        let k = self.carry_probe.k() as usize;
        let mut places = Vec::with_capacity(overflowed.len() * k);
        for counter in &overflowed {
            self.carry_probe.each(self.carries_of(*counter), |i| places.push(i as usize));
        }
        let sums: Vec<u64> = self.carries.iter().collect();
        let carried = solve(&sums, &places, k, 1);
        if !carried.exact() {
            let message = "too many counters overflowed for the second layer: set more {carries}";
            return Err(Error::new(Kind::Undecodable, message));
        }
        let mut full: Vec<u64> = self.low.iter().collect();
        for (counter, carry) in overflowed.iter().zip(carried.upper) {
            let whole = carry.checked_shl(self.low.width()).unwrap_or(u64::MAX);
            full[*counter as usize] = full[*counter as usize].saturating_add(whole);
        }
        Ok(full)
    }
}

/// Counters per segment of both layers, segments, and the bits of a counter.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    slice: u64,
    carry_slice: u64,
    k: u32,
    width: u32,
    rate: Option<f64>,
}

impl Shape {
    /// A status bit beside each counter of layer 1.
    fn bits(&self) -> u64 {
        let low =
            self.slice.saturating_mul(u64::from(self.k)).saturating_mul(u64::from(self.width) + 1);
        let carries =
            self.carry_slice.saturating_mul(u64::from(CARRY_K)).saturating_mul(CARRY_BITS);
        low.saturating_add(carries)
    }
}

/// Nothing is predicted: it answers no queries that a rate could speak of.
impl Plan for CounterBraids {
    type Shape = Shape;

    fn plan(request: &Request<'_>) -> Result<Shape> {
        let [k, width] = request.wholes(["k", "width"]).map(|number| number as u32);
        let share = request.number("overflow");
        let carries = request.integer("carries");
        let shaped = |m: f64, p: f64, rate| {
            let slice = (m / f64::from(k)).ceil().clamp(1.0, MAX_CELLS as f64) as u64;
            let overflowed = (share * m).ceil().max(1.0);
            let carry =
                carries.map_or_else(|| cells_for(overflowed as u64, p, CARRY_K), |c| c as f64);
            let carry_slice =
                (carry / f64::from(CARRY_K)).ceil().clamp(1.0, MAX_CELLS as f64) as u64;
            Shape { slice, carry_slice, k, width, rate }
        };
        let shape = if let Some(m) = request.integer(PARAM_M.name) {
            shaped((m / u64::from(k)).max(1) as f64 * f64::from(k), request.fpr(), None)
        } else {
            let sized = |n, p| shaped(cells_for(n, p, k), p, Some(p));
            let (n, p) = request.items_and_rate(|n, p| sized(n, p).bits() as f64)?;
            sized(n, p)
        };
        if shape.bits() > request.goal_bits().unwrap_or(MAX_CELLS).min(MAX_CELLS) {
            return Err(Error::parameter("so many counters do not fit: use fewer {items}"));
        }
        Ok(shape)
    }
}

impl Stream for CounterBraids {
    fn empty(shape: &Shape, head: Head) -> Result<Self> {
        let probe = Probe::Partitioned(Partitioned::new(shape.slice, shape.k));
        let carry_probe = Probe::Partitioned(Partitioned::new(shape.carry_slice, CARRY_K));
        Ok(Self {
            // The target is a rate of failed decodes, which only the plan knows.
            head: Head { fpr: shape.rate, ..head },
            probe,
            low: Counters::try_new(probe.m(), shape.width)?,
            status: Bits::try_new(probe.m())?,
            carry_probe,
            carries: Counters::try_new(carry_probe.m(), CARRY_BITS as u32)?,
        })
    }
}

face!(CounterBraids: Insert, Count, Merge);
planned!(CounterBraids: "A sketch for `items` flows that fails to decode in a share of `fpr` of all cases.");

impl Insert for CounterBraids {
    fn insert(&mut self, record: Record<'_>) -> Result<Seen> {
        self.insert_times(record.key, times_of(&record)?)
    }
}

impl Count for CounterBraids {
    /// The bound from above: exact counts take the list of all flows.
    fn count(&self, key: &[u8]) -> Counted {
        Counted { bound: Bound::AtMost, ..Counted::about(self.at_most(key)) }
    }

    fn count_all(&self, keys: &[&[u8]]) -> Option<Vec<u64>> {
        self.decode(keys).ok()
    }
}

impl Merge for CounterBraids {
    fn law(&self) -> MergeLaw {
        MergeLaw::Multiset
    }

    fn merge(&mut self, other: &dyn Filter) -> Result<()> {
        let other: &Self = other.as_same()?;
        self.head.agree(&other.head)?;
        self.probe.agree(&other.probe)?;
        self.carry_probe.agree(&other.carry_probe)?;
        agree("counter width", self.low.width(), other.low.width())?;
        self.status.union(&other.status);
        self.carries.add(&other.carries);
        for (counter, count) in (0..).zip(other.low.iter()) {
            self.raise(counter, count);
        }
        self.head.count(other.head.items);
        Ok(())
    }
}

impl Filter for CounterBraids {
    fn describe(&self) -> Vec<Fact> {
        vec![
            fact("m", self.low.len()),
            fact("k", self.probe.k()),
            fact("width", self.low.width()),
            fact("carries", self.carries.len()),
        ]
    }

    fn trace(&self, key: &[u8]) -> Vec<Touched> {
        let counters = self.probe.collect(self.head.digest(key), Coincide::PerHash);
        touched(&counters, |i| self.low.get(i))
    }
}

const CARRY: u64 = 2;
const CARRY_K: u32 = 3;
const CARRY_BITS: u64 = 32;
const MOST_WIDTH: u64 = 16;
const MOST_TIMES: u64 = 1 << 40;

/// The list entry.
pub static VARIANT: Variant = Variant::of::<CounterBraids>(Facts {
    id: 65,
    slug: "counter-braids",
    entry: "§8",
    question: "How often did each key come, exactly, once the keys are listed?",
    name: "Counter braids",
    paper: "Y. Lu, A. Montanari, B. Prabhakar, S. Dharmapurikar, A. Kabbani, Counter braids: a novel counter architecture \
            for per-flow measurement, SIGMETRICS 2008",
    family: "sketches",
    needs: &["count", "merge", "compact"],
    input: Input::valued(ValueKind::Count),
    meaning: "items are flows to plan for, and the total of all counts when counted; the rate is that of failed \
              decodes",
    forms: &[Form::exact("standard", &[Ability::Insert, Ability::Count, Ability::Merge])
        .counting(Counts::Above)],
    params: &[
        PARAM_M,
        // The k that `cells_for` knows.
        Param::integer("k", 3, 7, "counters per flow").or(Preset::Integer(3)),
        Param::integer("width", 1, MOST_WIDTH, "bits per counter of layer 1")
            .or(Preset::Integer(8)),
        Param::real("overflow", 0.0, 1.0, "share of layer-1 counters that overflow")
            .or(Preset::Real(0.2)),
        Param::integer(
            "carries",
            1,
            1 << 40,
            "counters of layer 2, instead of the parameter `overflow`",
        ),
    ],
    ..Facts::SKETCH
});

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Opener, to_bytes};

    #[test]
    fn layers_that_do_not_fit_each_other_are_refused() {
        let mut sketch = CounterBraids::with_shape(60, 4, 3, 12, Hasher::default()).unwrap();
        sketch.insert_times("flow", 1000).unwrap();
        let back: CounterBraids = Opener::new().decode_as(&to_bytes(&sketch)).unwrap();
        assert_eq!(back, sketch);
        for forged in [
            CounterBraids { status: Bits::new(59), ..sketch.clone() },
            CounterBraids { low: Counters::new(60, 40), ..sketch.clone() },
            CounterBraids { probe: Probe::over(60, 3), ..sketch.clone() },
        ] {
            assert!(Opener::new().decode(&to_bytes(&forged)).is_err());
        }
    }
}
