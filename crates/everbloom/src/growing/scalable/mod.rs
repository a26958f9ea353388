//! The scalable Bloom filter (Almeida, Baquero, Preguiça, Hutchison 2007; catalogue §11; S0 §III-N,
//! S3 §VI-B).
//!
//! A filter for a set of unknown size. When a layer is full, the next one has s times its capacity and
//! a rate r times as low, so that the rates of all layers ever made sum up to less than the target:
//!
//! ```text
//!   layer 2  ░░░░░░░░░░░░░░░░████████████████████   4·n₀ keys at P₀r²   ◀── insertions; queried first
//!   layer 1  ██████████████████                     2·n₀ keys at P₀r
//!   layer 0  █████████                                n₀ keys at P₀ = P(1 − r)
//! ```
//!
//! P₀(1 + r + r² + …) = P, and the overall rate 1 − Π(1 − Pᵢ) is below the sum. Layers are partitioned:
//! kᵢ = ⌈log2(1/Pᵢ)⌉ slices. S3 says that the layers' targets *increase* geometrically; they decrease,
//! as S0 has it ("tighter"), or no sum would stay bounded.
//!
//! A key that is already answered "yes" is not inserted again, so that repetitions fill no layer. A
//! layer is full after nᵢ insertions. The paper's own rule, half of the bits set, says the same only
//! where log2(1/Pᵢ) is a whole number: kᵢ is rounded up, and layers reach a fill of 0.51 to 0.53.
//!
//! **Use it** when the number of keys is unknown. **Don't** when it is known: a query for an absent key probes
//! every layer, and the space grows with the number of layers (14.6 bits per key after five of them at 1 %, where
//! `bloom` takes 9.6).
//!
//! Two filters of one shape merge by standing side by side. The OR of two full layers would miss their target by
//! far, so both are kept; only newest layers that fit into one become one. The rate is then that of all layers, up to
//! the sum of both rates, and every merge adds layers to be queried: where the number of keys is known, filters of
//! one size that are united by OR stay small.

mod runs;
mod shape;

use runs::Runs;
use shape::{MAX_GROWTH, MAX_TIGHTENING, MIN_GROWTH, MIN_TIGHTENING};
pub use shape::{Shape, layer_bits, layer_fpr, layer_k};

use crate::error::agree;
use crate::parts::KeyPart;
use crate::parts::layers::{self, Layer};
use crate::parts::several;
use crate::parts::slices::EvenSlices;
use crate::probe::Partitioned;
use crate::variant::prelude::*;

/// Layers of partitioned filters, each larger and tighter than the one before.
///
/// ```
/// let mut seen = everbloom::growing::Scalable::with_rate(100, 0.01)?;
/// for visitor in 0..10_000u64 {
///     seen.insert(&visitor)?;
/// }
/// assert_eq!(seen.layers(), 7);
/// assert!(seen.contains(&1234u64));
/// # Ok::<(), everbloom::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Scalable {
    head: Head,
    shape: Shape,
    layers: Runs,
}

state!(Scalable { head, shape, layers });

/// A partitioned filter and the number of its insertions.
type Slices = Layer<EvenSlices>;

fn blank(slices: Partitioned) -> Result<Slices> {
    Ok(Layer { part: EvenSlices::probed(slices)?, items: 0 })
}

impl Scalable {
    /// Inserts a key, unless it seems to be there. Refused, with nothing changed, where a further layer
    /// would be needed and cannot be.
    #[inline]
    pub fn insert<K: Key + ?Sized>(&mut self, key: &K) -> Result<Seen> {
        let digest = self.head.hasher.digest(key);
        if self.contains_digest(digest) {
            return Ok(Seen::Maybe);
        }
        let (top, capacity) = (self.layers.top(), self.capacity());
        if self.layers.newest().is_none_or(|(_, newest)| newest.items >= capacity) {
            self.layers.push(blank(self.shape.layer(top + 1)?)?);
        }
        if let Some((place, newest)) = self.layers.newest() {
            newest.part.insert(digest.salted(place as u64));
            newest.items += 1;
        }
        self.head.count(1);
        Ok(Seen::New)
    }

    /// Keys that the newest layer takes; none where that is no number, so that the next is tried, and refused.
    fn capacity(&self) -> u64 {
        self.shape.capacity(self.layers.top()).unwrap_or(0)
    }

    /// Takes in the layers of a filter of the same shape and hash. The target is then that of both together.
    pub fn merge(&mut self, other: &Self) -> Result<()> {
        self.head.agree(&other.head)?;
        agree("items", self.shape.items, other.shape.items)?;
        agree("rate", self.shape.fpr, other.shape.fpr)?;
        agree("growth", self.shape.growth, other.shape.growth)?;
        agree("tightening", self.shape.tightening, other.shape.tightening)?;
        // An empty filter would only add a layer.
        if other.head.items == 0 {
            return Ok(());
        }
        if self.head.items == 0 {
            self.clone_from(other);
            return Ok(());
        }
        let capacity = |place| self.shape.capacity(place).unwrap_or(0);
        self.layers = self.layers.merged(&other.layers, capacity)?;
        let targets = [&self.head, &other.head].map(|head| head.fpr.unwrap_or(0.0));
        self.head.fpr = Some(layers::any_passes(targets.into_iter()));
        self.head.count(other.head.items);
        Ok(())
    }

    /// Whether the key may be a member.
    #[inline]
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        self.contains_digest(self.head.hasher.digest(key))
    }

    /// Newest first, since the large layers hold most keys. The digest is salted by the layer,
    /// so that no key looks at the same places of all of them.
    #[inline]
    fn contains_digest(&self, digest: Digest) -> bool {
        let mut newest_first = self.layers.iter().rev();
        newest_first.any(|(place, layer)| layer.part.contains(digest.salted(place as u64)))
    }

    /// Number of layers.
    pub fn layers(&self) -> usize {
        self.layers.layers.len()
    }

    /// Number of bits in all layers.
    pub fn m(&self) -> u64 {
        self.each().map(|layer| layer.part.m()).sum()
    }

    /// Per layer, oldest first: bits, slices and insertions.
    pub fn layer_sizes(&self) -> impl Iterator<Item = (u64, u32, u64)> {
        let sizes = |layer: &Slices| (layer.part.m(), layer.part.probe.k(), layer.items);
        self.each().map(sizes)
    }

    fn each(&self) -> std::slice::Iter<'_, Slices> {
        self.layers.layers.iter()
    }

    /// Layers are exactly those the shape makes: then the next one is not much larger than what is
    /// there, whoever wrote the file.
    fn check(&self) -> Result<()> {
        let fits = |(place, layer): (usize, &Slices)| {
            let planned = self.shape.layer(place).is_ok_and(|p| p == layer.part.probe);
            planned && self.shape.capacity(place).is_some_and(|full| layer.items <= full)
        };
        if self.layers() > 0 && self.layers.iter().all(fits) {
            Ok(())
        } else {
            Err(Error::corrupt(0, "corrupt filter: the layers are not those of its shape"))
        }
    }
}

shaped!(Scalable);

impl Stream for Scalable {
    fn empty(shape: &Shape, head: Head) -> Result<Self> {
        // The target is that of all layers together, however the goal put it.
        let head = Head { fpr: Some(shape.fpr), ..head };
        let layers = Runs::of(vec![blank(shape.layer(0)?)?]);
        Ok(Self { head, shape: *shape, layers })
    }
}

face!(Scalable: Insert, Merge);
planned!(Scalable);

impl Filter for Scalable {
    fn query(&self, record: Record<'_>) -> Result<Answer> {
        Ok(Answer::of(self.contains(record.key)))
    }

    fn fill(&self) -> Option<f64> {
        Some(layers::fill(self.each()))
    }

    /// 1 − Π(1 − fᵢ) over the layers.
    fn now(&self) -> Rates {
        Rates::one_sided(layers::fpr(self.each()))
    }

    fn describe(&self) -> Vec<Fact> {
        vec![
            fact("layers", self.layers() as u64),
            fact("m", self.m()),
            fact("first", self.shape.items),
            fact("growth", self.shape.growth),
            real("tightening", self.shape.tightening),
        ]
    }

    fn trace(&self, key: &[u8]) -> Vec<Touched> {
        let digest = self.head.hasher.digest(key);
        let layers = self.layers.iter();
        several::trace(layers.map(|(place, layer)| (&layer.part, digest.salted(place as u64))))
    }
}

impl Merge for Scalable {
    /// A key of both is counted twice, and takes room twice.
    fn law(&self) -> MergeLaw {
        MergeLaw::Disjoint
    }

    fn merge(&mut self, other: &dyn Filter) -> Result<()> {
        Scalable::merge(self, other.as_same()?)
    }
}

impl Insert for Scalable {
    fn insert(&mut self, record: Record<'_>) -> Result<Seen> {
        Scalable::insert(self, record.key)
    }
}

/// The list entry.
pub static VARIANT: Variant = Variant::of::<Scalable>(Facts {
    id: 5,
    slug: "scalable",
    entry: "§11",
    question: "Is it in the set, when nobody knows how many keys will come?",
    name: "Scalable Bloom filter",
    paper: "P. S. Almeida, C. Baquero, N. Preguiça, D. Hutchison, Scalable Bloom filters, \
            Information Processing Letters 101(6), 2007",
    family: "growing",
    needs: &["membership", "grow", "parallel", "merge"],
    meaning: "items are the keys of the first layer, memory is its memory, \
              the rate is the limit of all layers together",
    forms: &[Form::exact(FORM, &[Ability::Insert, Ability::Merge])],
    params: &[
        Param::integer(
            "growth",
            MIN_GROWTH,
            MAX_GROWTH,
            "capacity of a layer over that of the one before",
        )
        .or(Preset::Integer(2)),
        Param::real(
            "tightening",
            MIN_TIGHTENING,
            MAX_TIGHTENING,
            "rate of a layer over that of the one before; the paper advises 0.8 to 0.9",
        )
        .or(Preset::Real(0.85)),
    ],
    ..Facts::FILTER
});

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cells::Bits;
    use crate::shared_tests::lies_are_refused;
    use crate::{Opener, to_bytes};

    #[test]
    fn layers_are_salted() {
        let mut filter = Scalable::with_rate(1, 1e-9).unwrap();
        for (i, key) in ["a", "b"].into_iter().enumerate() {
            filter.insert(key).unwrap();
            let (digest, layer) = (filter.head.hasher.digest(key), &filter.layers.layers[i].part);
            let ones = (0..layer.m()).filter(|&bit| layer.bits.get(bit));
            let set = layer.probe.indices(digest.salted(i as u64));
            assert!(ones.eq(set), "slices are in order, and each holds the one bit of its key");
            assert!((0..4).all(|salt| salt == i as u64 || !layer.contains(digest.salted(salt))));
        }
        assert_eq!(filter.layers(), 2);
    }

    #[test]
    fn a_filter_that_cannot_grow_says_so_and_stays_as_it_is() {
        let empty =
            |shape: Shape| Scalable::empty(&shape, Head::new(Default::default(), FORM)).unwrap();
        // Layer 20 would need a rate of 10⁻³⁰⁰·10⁻⁴⁰.
        let mut filter = empty(Shape { items: 1, fpr: 1e-300, growth: 2, tightening: 0.01 });
        let error = (0..100_000u64).find_map(|key| filter.insert(&key).err()).unwrap();
        assert_eq!(error.kind(), Kind::CapacityExceeded);
        let before = filter.clone();
        assert!(filter.insert("another").is_err());
        assert_eq!(filter, before);
        assert!((0..filter.head.items).all(|key| filter.contains(&key)));
    }

    #[test]
    fn files_with_layers_that_cannot_be_are_refused() {
        let mut filter = Scalable::with_rate(10, 0.01).unwrap();
        (0..100u64).for_each(|key| {
            filter.insert(&key).unwrap();
        });
        let lies: [fn(&mut Scalable); 10] = [
            |f| f.layers.layers.clear(),
            |f| f.layers.layers[0].items = 11,
            |f| f.layers.layers.swap(0, 1),
            |f| f.shape.items = 0,
            |f| f.shape.items = 1 << 40,
            |f| f.shape.growth = 1,
            |f| f.shape.fpr = f64::NAN,
            |f| f.shape.tightening = f64::INFINITY,
            |f| {
                let m = f.layers.layers[1].part.m();
                f.layers.layers[1].part.probe = Partitioned::new(m / 3, 3);
            },
            |f| f.layers.layers[1].part.bits = Bits::new(64),
        ];
        lies_are_refused(&filter, lies);
    }

    fn numbers(first: u64, keys: std::ops::Range<u64>) -> Scalable {
        let mut filter = Scalable::with_rate(first, 0.01).unwrap();
        keys.for_each(|key| {
            filter.insert(&key).unwrap();
        });
        filter
    }

    fn sizes(filter: &Scalable) -> Vec<u64> {
        filter.layer_sizes().map(|(_, _, items)| items).collect()
    }

    #[test]
    fn merged_filters_stand_side_by_side_and_grow_on() {
        let mut all = numbers(10, 0..100);
        let others = numbers(10, 1000..1040);
        let (before, after) = (sizes(&all), sizes(&others));
        assert_eq!((before.len(), after.len()), (4, 3));
        all.merge(&others).unwrap();
        assert_eq!(sizes(&all), [after.as_slice(), &before].concat());
        let members = || (0..100).chain(1000..1040u64);
        assert!(members().all(|key| all.contains(&key)));
        // The target is the sum of both, and the real rate stays below it.
        let target = all.head.fpr.unwrap();
        assert!((target - 0.0199).abs() < 1e-12 && all.now().fpr.unwrap() < target);
        // A file keeps what is where.
        let mut back: Scalable = Opener::new().decode_as(&to_bytes(&all)).unwrap();
        assert_eq!(back, all);
        // The last run is the longest, and goes on from where it was.
        (2000..2100u64).for_each(|key| _ = back.insert(&key).unwrap());
        assert_eq!(back.layers(), 8);
        assert!(members().chain(2000..2100).all(|key| back.contains(&key)));
    }

    #[test]
    fn newest_layers_become_one_where_they_fit() {
        let mut few = numbers(10, 0..14);
        few.merge(&numbers(10, 100..112)).unwrap();
        assert_eq!(sizes(&few), [10, 10, 6]);
        assert!((0..14).chain(100..112u64).all(|key| few.contains(&key)));
        // An empty filter adds nothing, and takes all.
        let (full, mut empty) = (few.clone(), numbers(10, 0..0));
        few.merge(&empty).unwrap();
        assert_eq!(few, full);
        empty.merge(&full).unwrap();
        assert_eq!(empty, full);
    }

    #[test]
    fn filters_of_other_shapes_do_not_merge() {
        let ours = Shape { items: 10, fpr: 0.01, growth: 2, tightening: 0.85 };
        let build = |shape| Scalable::empty(&shape, Head::new(Default::default(), FORM)).unwrap();
        for (what, shape) in [
            ("items", Shape { items: 11, ..ours }),
            ("rate", Shape { fpr: 0.02, ..ours }),
            ("growth", Shape { growth: 3, ..ours }),
            ("tightening", Shape { tightening: 0.8, ..ours }),
        ] {
            let refused = build(ours).merge(&build(shape)).unwrap_err();
            assert_eq!(refused.kind(), Kind::Incompatible { what });
        }
        let mut many = numbers(1, 0..1);
        let refused = (1..2000).find_map(|i| many.merge(&numbers(1, i..i + 1)).err()).unwrap();
        assert_eq!((refused.kind(), many.layers()), (Kind::CapacityExceeded, 1024));
    }

    #[test]
    fn the_target_is_that_of_all_layers() {
        let build = |goal: Goal| {
            let (shape, head) = crate::variant::settle::<Scalable>(&goal).unwrap();
            Scalable::empty(&shape, head).unwrap()
        };
        let sized = build(Goal { items: Some(1000), bits: Some(16_000), ..Goal::default() });
        assert!(sized.m() <= 16_000 && sized.m() > 15_900);
        assert_eq!(sized.head.fpr, Some(sized.shape.fpr));
        let rated = build(Goal { bits: Some(16_000), fpr: Some(0.01), ..Goal::default() });
        assert!(rated.m() <= 16_000 && rated.shape.items > 1000);
        let request = Goal::new(u64::MAX, 0.01);
        let error = Scalable::plan(&Request::new(&VARIANT.facts, &request).unwrap()).unwrap_err();
        assert_eq!(error.kind(), Kind::BadParameter);
    }
}
