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
//! **Use it** when the number of keys is unknown. **Don't** when it is known: every layer is queried for
//! a key that is not there, and bits grow with the number of layers (14.6 a key after five of them at
//! 1 %, where `bloom` takes 9.6). Two scalable filters cannot be united: the OR of two layers holds the
//! keys of both, and full ones would then miss their target by far.

use crate::parts::KeyPart;
use crate::parts::slices::EvenSlices;
use crate::plan::MAX_CELLS;
use crate::probe::{MAX_K, Partitioned};
use crate::state::{Decoder, Encoder, Inline, State};
use crate::theory::bloom as theory;
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
    layers: Vec<Layer>,
}

state!(Scalable { head, shape, layers });

/// One layer: a partitioned filter and the number of its insertions.
#[derive(Clone, Debug, PartialEq)]
struct Layer {
    slices: EvenSlices,
    items: u64,
}

/// The slices stand before the items here.
impl State for Layer {
    fn save<'a>(&'a self, name: &'static str, out: &mut Encoder<'a>) {
        out.group(name, |out| {
            self.slices.save_fields(out);
            self.items.save("items", out);
        });
    }

    fn load(name: &'static str, src: &mut Decoder<'_>) -> Result<Self> {
        src.group(name, |src| {
            Ok(Self { slices: EvenSlices::load_fields(src)?, items: u64::load("items", src)? })
        })
    }
}

impl Layer {
    fn empty(slices: Partitioned) -> Result<Self> {
        Ok(Self { slices: EvenSlices::probed(slices)?, items: 0 })
    }
}

/// Most layers. Capacities at least double, so that 64 of them hold 2⁶⁴ keys whatever the first.
const MAX_LAYERS: usize = 64;

const MIN_GROWTH: u64 = 2;
const MAX_GROWTH: u64 = 16;
const MIN_TIGHTENING: f64 = 0.01;
const MAX_TIGHTENING: f64 = 0.99;

impl Scalable {
    /// Inserts a key, unless it seems to be there. Refused, with nothing changed, where a further layer
    /// would be needed and cannot be.
    #[inline]
    pub fn insert<K: Key + ?Sized>(&mut self, key: &K) -> Result<Seen> {
        let digest = self.head.hasher.digest(key);
        if self.contains_digest(digest) {
            return Ok(Seen::Maybe);
        }
        let mut newest = self.layers.len() - 1;
        if self.shape.capacity(newest).is_none_or(|full| self.layers[newest].items >= full) {
            newest += 1;
            self.layers.push(Layer::empty(self.shape.layer(newest)?)?);
        }
        let layer = &mut self.layers[newest];
        layer.slices.insert(digest.salted(newest as u64));
        layer.items += 1;
        self.head.count(1);
        Ok(Seen::New)
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
        let mut newest_first = self.layers.iter().enumerate().rev();
        newest_first.any(|(i, layer)| layer.slices.contains(digest.salted(i as u64)))
    }

    /// Number of layers.
    pub fn layers(&self) -> usize {
        self.layers.len()
    }

    /// Number of bits in all layers.
    pub fn m(&self) -> u64 {
        self.layers.iter().map(|layer| layer.slices.m()).sum()
    }

    /// Per layer, oldest first: bits, slices and insertions.
    pub fn layer_sizes(&self) -> impl Iterator<Item = (u64, u32, u64)> {
        let sizes = |layer: &Layer| (layer.slices.m(), layer.slices.probe.k(), layer.items);
        self.layers.iter().map(sizes)
    }

    /// Layers are exactly those the shape makes: then the next one is not much larger than what is
    /// there, whoever wrote the file.
    fn check(&self) -> Result<()> {
        let fits = |(i, layer): (usize, &Layer)| {
            let planned = self.shape.layer(i).is_ok_and(|p| p == layer.slices.probe);
            planned && self.shape.capacity(i).is_some_and(|full| layer.items <= full)
        };
        if !self.layers.is_empty() && self.layers.iter().enumerate().all(fits) {
            Ok(())
        } else {
            Err(Error::corrupt(0, "corrupt filter: the layers are not those of its shape"))
        }
    }
}

/// The target of layer i, Pᵢ = P(1 − r)·rⁱ.
pub fn layer_fpr(fpr: f64, tightening: f64, i: usize) -> f64 {
    fpr * (1.0 - tightening) * libm::pow(tightening, i as f64)
}

/// The slices of a layer with target `fpr`, ⌈log2(1/Pᵢ)⌉.
pub fn layer_k(fpr: f64) -> f64 {
    (-libm::log2(fpr)).ceil().max(1.0)
}

/// The bits of a layer of `n` keys by the formula of the entry, ⌈kᵢ·nᵢ/−ln(1 − Pᵢ^{1/kᵢ})⌉.
///
/// The usual n·log2(1/P)/ln 2 misses P by up to 1.7 % once k is rounded up.
pub fn layer_bits(n: f64, fpr: f64) -> f64 {
    let k = layer_k(fpr);
    (k * n / -libm::log1p(-libm::pow(fpr, 1.0 / k))).ceil()
}

/// First capacity, overall rate, growth and tightening: all that layers are made from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shape {
    items: u64,
    fpr: f64,
    growth: u64,
    tightening: f64,
}

state!(Shape { items, fpr, growth, tightening });

impl Shape {
    /// nᵢ = n₀·sⁱ, while that is a number.
    fn capacity(&self, i: usize) -> Option<u64> {
        self.growth.checked_pow(i as u32)?.checked_mul(self.items)
    }

    /// Bits per slice, and slices, of layer i if it holds `items` keys.
    ///
    /// They are those of the exact rate, 1/(1 − (1 − Pᵢ^{1/kᵢ})^{1/nᵢ}), half a cell longer than
    /// [`layer_bits`]/kᵢ: with the latter a layer of five keys would miss its target by a third. From
    /// a thousand keys on the two round to nearly the same.
    fn slices(&self, i: usize, items: u64) -> (f64, f64) {
        let target = layer_fpr(self.fpr, self.tightening, i);
        let k = layer_k(target);
        (theory::slice_for(items as f64, target, k as u32), k)
    }

    /// The probe of layer i. Files rely on it, so it never changes.
    fn layer(&self, i: usize) -> Result<Partitioned> {
        let capacity = self.capacity(i).filter(|_| i < MAX_LAYERS);
        let (slice, k) = capacity.map_or((f64::INFINITY, 1.0), |items| self.slices(i, items));
        if k <= f64::from(MAX_K) && slice * k <= MAX_CELLS as f64 {
            return Ok(Partitioned::new(slice as u64, k as u32));
        }
        let message = format!(
            "the filter cannot grow: layer {} would exceed {MAX_LAYERS} layers or {MAX_CELLS} bits; \
             start a new filter with more {{items}} in the first layer, or a higher {{rate}}",
            i + 1
        );
        Err(Error::new(Kind::CapacityExceeded, message))
    }

    fn check(&self) -> Result<()> {
        let ok = self.items > 0
            && self.fpr > 0.0
            && self.fpr < 1.0
            && (MIN_GROWTH..=MAX_GROWTH).contains(&self.growth)
            && (MIN_TIGHTENING..=MAX_TIGHTENING).contains(&self.tightening);
        if ok { Ok(()) } else { Err(Error::corrupt(0, "corrupt filter: impossible layers")) }
    }
}

impl Plan for Scalable {
    type Shape = Shape;

    /// Items and memory are those of the first layer; the rate is that of all together.
    fn plan(request: &Request<'_>) -> Result<Shape> {
        let growth = request.integer("growth").unwrap_or(2);
        let tightening = request.real("tightening").unwrap_or(0.85);
        let with = |items: u64, fpr: f64| Shape { items, fpr, growth, tightening };
        let (items, fpr) = request.items_and_rate(|n, p| {
            let (slice, k) = with(n, p).slices(0, n);
            slice * k
        })?;
        let shape = with(items, fpr);
        shape.layer(0).map_err(|_| {
            Error::parameter(format!(
                "{items} items at a rate of {fpr} need a first layer of more than {MAX_CELLS} bits: \
                 ask for fewer {{items}} or a higher {{rate}}"
            ))
        })?;
        Ok(shape)
    }

    /// Layer by layer, until all keys are placed. A new key that passes the older layers is skipped, so
    /// that only a share Π(1 − fⱼ) of the keys arrives. (Those that pass the newest are skipped too,
    /// but they would have set no bit there.)
    fn expect(shape: &Shape, load: &Load) -> Option<Expect> {
        let mut left = load.distinct as f64;
        let (mut absent, mut bits, mut ones, mut variance) = (1.0, 0, 0.0, 0.0);
        for i in 0.. {
            let layer = shape.layer(i).ok()?;
            let inside = (left * absent).min(shape.capacity(i)? as f64);
            left -= inside / absent;
            let [slice, k, m] = [layer.slice() as f64, f64::from(layer.k()), layer.m() as f64];
            absent *= 1.0 - theory::fpr_partitioned(slice, inside, k);
            bits += layer.m();
            ones += m * theory::fill(slice, inside);
            // Slices are independent of each other.
            let sd = slice * theory::fill_sd(slice, inside);
            variance += k * sd * sd;
            if left < 0.5 {
                break;
            }
        }
        let fill = (ones / bits as f64, variance.sqrt() / bits as f64);
        Some(Expect::one_sided(1.0 - absent, bits, Some(fill)))
    }
}

impl Stream for Scalable {
    fn empty(shape: &Shape, head: Head) -> Result<Self> {
        // The target is that of all layers together, however the goal put it.
        let head = Head { fpr: Some(shape.fpr), ..head };
        let layers = vec![Layer::empty(shape.layer(0)?)?];
        Ok(Self { head, shape: *shape, layers })
    }
}

face!(Scalable: Insert);
planned!(Scalable);

impl Filter for Scalable {
    fn query(&self, record: Record<'_>) -> Result<Answer> {
        Ok(Answer::of(self.contains(record.key)))
    }

    fn fill(&self) -> Option<f64> {
        let ones: u64 = self.layers.iter().map(|layer| layer.slices.bits.ones()).sum();
        Some(ones as f64 / self.m() as f64)
    }

    /// 1 − Π(1 − fᵢ) over the layers.
    fn now(&self) -> Rates {
        let absent: f64 = self.layers.iter().map(|layer| libm::log1p(-layer.slices.fpr())).sum();
        Rates::one_sided(-libm::expm1(absent))
    }

    fn describe(&self) -> Vec<Fact> {
        vec![
            fact("layers", self.layers.len() as u64),
            fact("m", self.m()),
            fact("first", self.shape.items),
            fact("growth", self.shape.growth),
            real("tightening", self.shape.tightening),
        ]
    }
}

impl Insert for Scalable {
    fn insert(&mut self, record: Record<'_>) -> Result<Seen> {
        Scalable::insert(self, record.key)
    }
}

const FORM: &str = "standard";

/// The list entry.
pub static VARIANT: Variant = Variant {
    facts: Facts {
        id: 5,
        slug: "scalable",
        entry: "§11",
        name: "Scalable Bloom filter",
        paper: "P. S. Almeida, C. Baquero, N. Preguiça, D. Hutchison, Scalable Bloom filters, \
                Information Processing Letters 101(6), 2007",
        family: "growing",
        needs: &["membership", "grow"],
        meaning: "items are the keys of the first layer, memory is its memory, \
                  the rate is the limit of all layers together",
        forms: &[Form::exact(FORM, &[Ability::Insert])],
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
    },
    ops: Ops::of::<Scalable>(),
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cells::Bits;
    use crate::{Opener, to_bytes};

    fn shape(items: u64, fpr: f64, growth: u64, tightening: f64) -> Shape {
        Shape { items, fpr, growth, tightening }
    }

    #[test]
    fn every_layer_meets_its_target() {
        for items in [1, 3, 10, 1000] {
            for (fpr, r) in [(0.5, 0.5), (0.01, 0.85), (1e-6, 0.9), (0.01, 0.1)] {
                let shape = shape(items, fpr, 2, r);
                for i in 0..20 {
                    let layer = shape.layer(i).unwrap();
                    let n = shape.capacity(i).unwrap() as f64;
                    let rate =
                        theory::fpr_partitioned(layer.slice() as f64, n, f64::from(layer.k()));
                    let target = layer_fpr(fpr, r, i);
                    assert!(rate <= target * (1.0 + 1e-12), "{items} {fpr} {r} {i}");
                }
            }
        }
        // The formula of the entry alone would not do in a small layer.
        let (p, k) = (0.0015, layer_k(0.0015));
        let short = (layer_bits(5.0, p) / k).ceil();
        assert!(theory::fpr_partitioned(short, 5.0, k) > 1.3 * p);
    }

    #[test]
    fn layers_are_salted() {
        let mut filter = Scalable::with_rate(1, 1e-9).unwrap();
        for (i, key) in ["a", "b"].into_iter().enumerate() {
            filter.insert(key).unwrap();
            let (digest, layer) = (filter.head.hasher.digest(key), &filter.layers[i].slices);
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
        let mut filter = empty(shape(1, 1e-300, 2, 0.01));
        let error = (0..100_000u64).find_map(|key| filter.insert(&key).err()).unwrap();
        assert_eq!(error.kind(), Kind::CapacityExceeded);
        let before = filter.clone();
        assert!(filter.insert("another").is_err());
        assert_eq!(filter, before);
        assert!((0..filter.head.items).all(|key| filter.contains(&key)));
        // Growth that overflows is no number either.
        assert!(shape(1 << 40, 0.01, 16, 0.85).layer(7).is_err());
        assert!(shape(1, 0.01, 2, 0.85).layer(64).is_err());
    }

    #[test]
    fn files_with_layers_that_cannot_be_are_refused() {
        let mut filter = Scalable::with_rate(10, 0.01).unwrap();
        (0..100u64).for_each(|key| {
            filter.insert(&key).unwrap();
        });
        let back: Scalable = Opener::new().decode_as(&to_bytes(&filter)).unwrap();
        assert_eq!(back, filter);
        let lies: [fn(&mut Scalable); 10] = [
            |f| f.layers.clear(),
            |f| f.layers[0].items = 11,
            |f| f.layers.swap(0, 1),
            |f| f.shape.items = 0,
            |f| f.shape.items = 1 << 40,
            |f| f.shape.growth = 1,
            |f| f.shape.fpr = f64::NAN,
            |f| f.shape.tightening = f64::INFINITY,
            |f| f.layers[1].slices.probe = Partitioned::new(f.layers[1].slices.m() / 3, 3),
            |f| f.layers[1].slices.bits = Bits::new(64),
        ];
        for (i, lie) in lies.into_iter().enumerate() {
            let mut liar = filter.clone();
            lie(&mut liar);
            assert!(Opener::new().decode(&to_bytes(&liar)).is_err(), "lie {i}");
        }
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
