//! Filters that grow by one more filter whenever the newest is full, and what all of them say together.
//!
//! Layers may differ in size and salt (a scalable filter's), or be of one shape under one hash, so that two of them
//! can be united. From layers of counters keys are removed, but only from the one layer that claims the key: where
//! two do, one of them is a false positive, and taking counts from it would lose a member.

use super::SumPart;
use super::probed_bits::{ProbedBits, Probes};
use super::tally::{Cells, Tallies};
use crate::cells::Counters;
use crate::error::{Error, Kind, Result};
use crate::hash::Digest;
use crate::plan::Expect;
use crate::state::{Decoder, Encoder, Inline, State};

/// One layer: cells, and the number of keys in them.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Layer<P> {
    pub(crate) part: P,
    pub(crate) items: u64,
}

/// The cells stand before the items.
impl<P: Inline> State for Layer<P> {
    fn save<'a>(&'a self, name: &'static str, out: &mut Encoder<'a>) {
        out.group(name, |out| {
            self.part.save_fields(out);
            self.items.save("items", out);
        });
    }

    fn load(name: &'static str, src: &mut Decoder<'_>) -> Result<Self> {
        src.group(name, |src| {
            Ok(Self { part: P::load_fields(src)?, items: u64::load("items", src)? })
        })
    }
}

/// Cells that can be a layer.
pub(crate) trait LayerPart {
    /// P(a non-member passes), from the real fill.
    fn fpr(&self) -> f64;

    /// Cells in use, and all of them.
    fn fill(&self) -> (u64, u64);
}

impl<P: Probes> LayerPart for ProbedBits<P> {
    fn fpr(&self) -> f64 {
        ProbedBits::fpr(self)
    }

    fn fill(&self) -> (u64, u64) {
        (self.bits.ones(), self.m())
    }
}

impl<C: Cells> LayerPart for Tallies<C> {
    fn fpr(&self) -> f64 {
        Tallies::fpr(self)
    }

    fn fill(&self) -> (u64, u64) {
        (self.cells.nonzero(), self.m())
    }
}

/// P(a non-member passes one of several filters) = 1 − Π(1 − fᵢ).
pub(crate) fn any_passes(rates: impl Iterator<Item = f64>) -> f64 {
    let absent: f64 = rates.map(|fpr| libm::log1p(-fpr.min(1.0))).sum();
    -libm::expm1(absent)
}

/// [`any_passes`] of filters that share their hashes: a key has the same k of m positions in all of them, so that which
/// filters are set there together counts. By inclusion and exclusion over the sets of filters; `None` where there are many
/// filters or positions, whose filters err as if each had its own. `set` is the mask of the filters set at a position.
pub(crate) fn any_shared(m: u64, k: u32, filters: usize, set: impl Fn(u64) -> u64) -> Option<f64> {
    if filters > 16 || m > 1 << 16 {
        return None;
    }
    let mut with = vec![0u32; 1 << filters];
    (0..m).for_each(|position| with[set(position) as usize] += 1);
    // From exactly these filters to all of these.
    for filter in 0..filters {
        for others in (0..1usize << filters).filter(|others| others >> filter & 1 == 0) {
            with[others] += with[others | 1 << filter];
        }
    }
    let passing = (1..1usize << filters).map(|all| {
        let share = f64::from(with[all]) / m as f64;
        let sign = if all.count_ones() % 2 == 1 { 1.0 } else { -1.0 };
        sign * libm::pow(share, f64::from(k))
    });
    Some(passing.sum::<f64>().clamp(0.0, 1.0))
}

/// The rate that each of `filters` filters may have, so that together they have `fpr`.
pub(crate) fn each_passes(fpr: f64, filters: f64) -> f64 {
    -libm::expm1(libm::log1p(-fpr) / filters)
}

/// The rate of all layers together.
pub(crate) fn fpr<'a, P: LayerPart + 'a>(layers: impl Iterator<Item = &'a Layer<P>>) -> f64 {
    any_passes(layers.map(|layer| layer.part.fpr()))
}

/// Fraction of the cells of all layers in use.
pub(crate) fn fill<'a, P: LayerPart + 'a>(layers: impl Iterator<Item = &'a Layer<P>>) -> f64 {
    let add = |sum: (u64, u64), (used, all): (u64, u64)| (sum.0 + used, sum.1 + all);
    let (used, all) = layers.map(|layer| layer.part.fill()).fold((0, 0), add);
    used as f64 / all as f64
}

/// What is expected of several layers: for each, its rate, its cells, the share of them in use with its deviation, and
/// bits per cell.
pub(crate) fn expect(layers: impl Iterator<Item = (f64, u64, (f64, f64))>, width: u64) -> Expect {
    let (mut absent, mut cells, mut used, mut variance) = (0.0, 0u64, 0.0, 0.0);
    for (fpr, m, (fill, sd)) in layers {
        absent += libm::log1p(-fpr.min(1.0));
        cells = cells.saturating_add(m);
        used += fill * m as f64;
        variance += (sd * m as f64) * (sd * m as f64);
    }
    let fill = (used / cells as f64, variance.sqrt() / cells as f64);
    Expect::one_sided(-libm::expm1(absent), cells.saturating_mul(width), Some(fill))
}

/// A layer of counters.
pub(crate) type Counts = Layer<Tallies<Counters>>;

impl Counts {
    /// Inserts a key; true if it was certainly not there.
    pub(crate) fn insert(&mut self, digest: Digest) -> bool {
        self.items += 1;
        self.part.insert(digest)
    }

    /// Removes a key that only this layer claims.
    pub(crate) fn remove(&mut self, digest: Digest) -> Result<()> {
        self.part.remove(digest)?;
        self.items = self.items.saturating_sub(1);
        Ok(())
    }
}

/// The number of the one filter that claims a key; refuses to guess among several.
pub(crate) fn owner(claims: impl Iterator<Item = bool>) -> Result<usize> {
    let mut claiming = claims.enumerate().filter(|(_, claims)| *claims).map(|(i, _)| i);
    match (claiming.next(), claiming.next()) {
        (None, _) => Err(Error::new(Kind::NotDeletable, "the key is not in the filter")),
        (Some(owner), None) => Ok(owner),
        _ => Err(Error::new(
            Kind::Ambiguous,
            "more than one of the filters inside claims the key, and all but one are wrong: \
             removing it could lose another key",
        )),
    }
}

/// Adds the two emptiest of layers of one shape and hash, again and again, while both fit into one; says how many were
/// freed.
pub(crate) fn unite(layers: &mut Vec<Counts>, capacity: u64) -> usize {
    let before = layers.len();
    while layers.len() > 1 {
        let mut order: Vec<usize> = (0..layers.len()).collect();
        order.sort_by_key(|i| layers[*i].items);
        let (keep, free) = (order[0].min(order[1]), order[0].max(order[1]));
        let both = layers[keep].items.saturating_add(layers[free].items);
        if both > capacity {
            break;
        }
        let freed = layers.remove(free);
        layers[keep].part.add(&freed.part);
        layers[keep].items = both;
    }
    before - layers.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::Hasher;
    use crate::probe::Probe;

    fn layer(keys: std::ops::Range<u64>) -> Counts {
        let cells = Counters::new(1280, 4);
        let mut layer = Layer { part: Tallies { probe: Probe::over(1280, 7), cells }, items: 0 };
        keys.for_each(|key| _ = layer.insert(digest(key)));
        layer
    }

    fn digest(key: u64) -> Digest {
        Hasher::default().digest(&key)
    }

    #[test]
    fn rates_combine_and_divide() {
        assert!((any_passes([0.001; 16].into_iter()) - 0.01588).abs() < 1e-5);
        assert!((each_passes(0.01588, 16.0) - 0.001).abs() < 1e-6);
        assert_eq!(any_passes([1.0, 0.5].into_iter()), 1.0);
    }

    #[test]
    fn shared_positions_pass_together() {
        // Two filters with the same half of the positions err as one; with one half each, k = 1, nearly always.
        let same = any_shared(10, 3, 2, |i| if i < 5 { 0b11 } else { 0 }).unwrap();
        assert!((same - 0.125).abs() < 1e-12, "{same}");
        let halves = any_shared(10, 1, 2, |i| if i < 5 { 0b01 } else { 0b10 }).unwrap();
        assert!((halves - 1.0).abs() < 1e-12, "{halves}");
        // All pairs of positions of three filters.
        let set = |i: u64| [0b011, 0b110, 0b100, 0b000][i as usize];
        let pairs = (0..16).filter(|pair| set(pair / 4) & set(pair % 4) != 0).count();
        let rate = any_shared(4, 2, 3, set).unwrap();
        assert!((rate - pairs as f64 / 16.0).abs() < 1e-12, "{rate} {pairs}");
        assert!(
            any_shared(10, 1, 17, |_| 0).is_none() && any_shared(1 << 20, 1, 2, |_| 0).is_none()
        );
    }

    #[test]
    fn one_owner_is_enough_two_are_too_many() {
        assert_eq!(owner([false, true, false].into_iter()).unwrap(), 1);
        let kind = |claims: [bool; 3]| owner(claims.into_iter()).unwrap_err().kind();
        assert_eq!(kind([false; 3]), Kind::NotDeletable);
        assert_eq!(kind([true, false, true]), Kind::Ambiguous);
    }

    #[test]
    fn the_emptiest_are_united_while_they_fit() {
        let mut layers = vec![layer(0..90), layer(100..140), layer(200..280), layer(300..350)];
        assert_eq!(unite(&mut layers, 133), 1);
        let items: Vec<u64> = layers.iter().map(|layer| layer.items).collect();
        assert_eq!(items, [90, 90, 80]);
        assert!((300..350).all(|key| layers[1].part.contains(digest(key))));
        assert_eq!(unite(&mut layers, 133), 0);
        // Keys can be removed from where they are now.
        for key in 300..350 {
            layers[1].remove(digest(key)).unwrap();
        }
        assert_eq!((layers[1].items, unite(&mut layers, 133)), (40, 1));
    }
}
