//! The exponentially decaying Bloom filter, EDBF (Kumar, Xu, Zegura 2005; catalogue §41; S0 ref. 70 §IV-B).
//!
//! Which neighbor is nearer to an object? A node keeps one filter per neighbor, and what it holds of an object
//! fades with the distance: its own objects have all their k bits, and of the ones that a node has received, each
//! is passed on with probability 1/d only.
//!
//! ```text
//!   hops to the object      1         2         3         4
//!   ones among k = 32      32        16         8         4      θ(x), on average, with d = 2
//!                          ████████  ████░░░░  ██░░░░░░  █░░░░░░░
//! ```
//!
//! A query counts θ(x), the ones among its k bits, and goes to the neighbor with the largest θ; where all are at
//! noise level, it walks at random. i ≥ 1 hops away θ is about k/d^{i−1}, and of the other bits a share of ρ, the
//! fill, is set by others. The filter answers *present* from θ ≥ t on, t = ⌈k/d^{h−1}⌉: an object up to `hops` hops
//! away stands out, and the plan takes so many bits that a non-member reaches t with the rate asked for, P(Bin(k,
//! ρ) ≥ t).
//!
//! Bits are dropped by a seeded generator, anew with every advertisement, so that θ fluctuates from one to the
//! next. Own bits are never dropped. Beyond 1 + log_d k hops objects are lost by design.
//!
//! **Slow:** a key has 32 bits and more, and a query counts all of them.
//!
//! **Use it** to route queries in large networks, with one filter per neighbor. **Don't** if distances must be
//! distinguished exactly (`attenuated`), or for plain membership: with a fill of a tenth it is a sparse filter.

use super::route_of;
use crate::filter::Face;
use crate::hash::Generator;
use crate::parts::flat_bits::FlatBits;
use crate::parts::{SetPart, recount, sets};
use crate::plan::check_cells;
use crate::probe::{Mixed, Probe};
use crate::theory::tail;
use crate::variant::prelude::*;

/// The objects behind one neighbor, in bits that fade with every hop.
///
/// ```
/// use everbloom::grouping::ExponentialDecay;
///
/// let empty = ExponentialDecay::with_rate(1000, 0.01)?;
/// let mut own = empty.clone();
/// own.insert("song");
/// let near = own.advertise(&[], 1)?; // what the owner tells its neighbors
/// let far = empty.advertise(&[&near], 2)?; // what a neighbor tells others
/// assert_eq!(near.ones("song"), 32);
/// assert!((5..30).contains(&far.ones("song")));
/// # Ok::<(), everbloom::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct ExponentialDecay {
    head: Head,
    flat: FlatBits,
    /// d, above 1.
    decay: f64,
    /// t, the minimum number of ones for a key to be present.
    threshold: u64,
    /// Decides which bits a tick drops.
    generator: Generator,
}

state!(ExponentialDecay { head, ..flat; decay, threshold, generator });

/// θ of an object `hops` ≥ 1 away, on average, in a filter with a share `fill` of ones by others.
pub fn expected_ones(k: f64, decay: f64, hops: u32, fill: f64) -> f64 {
    let own = k / libm::pow(decay, f64::from(hops) - 1.0);
    own + fill * (k - own)
}

/// P(θ ≥ t) for a key that is not there.
pub fn noise(k: u32, fill: f64, threshold: u64) -> f64 {
    tail::binomial_at_least(k.into(), fill, threshold)
}

impl ExponentialDecay {
    /// Inserts an object of the node itself, with all its bits.
    pub fn insert<K: Key + ?Sized>(&mut self, key: &K) -> Seen {
        let digest = self.head.hasher.digest(key);
        let seen = self.count(digest) >= self.threshold;
        let FlatBits { probe, bits } = &mut self.flat;
        probe.each(digest, |i| _ = bits.set(i));
        self.head.count(1);
        Seen::new_if(!seen)
    }

    /// θ: the ones among the key's k bits.
    pub fn ones<K: Key + ?Sized>(&self, key: &K) -> u64 {
        self.count(self.head.hasher.digest(key))
    }

    fn count(&self, digest: Digest) -> u64 {
        let mut ones = 0;
        self.flat.probe.each(digest, |i| ones += u64::from(self.flat.bits.get(i)));
        ones
    }

    /// Whether θ stands out from the noise.
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        self.ones(key) >= self.threshold
    }

    /// The message of a node to a neighbor: its own filter, `self`, and each one of every filter received from
    /// *other* neighbors with probability 1/d. The `epoch` draws them: the same one, the same bits.
    pub fn advertise(&self, received: &[&ExponentialDecay], epoch: u64) -> Result<Self> {
        let mut told = self.clone();
        let mut random = Generator::new(self.head.hasher.seed() ^ epoch.rotate_left(32) ^ SALT);
        for other in received {
            told.fits(other)?;
            let mut faded = other.flat.clone();
            self.fade(&mut faded, &mut random);
            told.flat.union(&faded);
        }
        recount(&mut told.head, &told.flat);
        Ok(told)
    }

    /// Keeps every one with probability 1/d.
    fn fade(&self, flat: &mut FlatBits, random: &mut Generator) {
        for i in 0..flat.m() {
            if flat.bits.get(i) && random.unit() * self.decay >= 1.0 {
                flat.bits.reset(i);
            }
        }
    }

    /// The neighbor, by its number, with the largest θ, and θ; of several the first. `None` where all are at noise
    /// level.
    pub fn route<K: Key + ?Sized>(
        neighbors: &[&ExponentialDecay],
        key: &K,
    ) -> Option<(usize, u64)> {
        let ones = neighbors.iter().map(|n| (n.ones(key), n.threshold)).enumerate();
        let heard = ones.filter(|(_, (ones, threshold))| ones >= threshold);
        heard.map(|(i, (ones, _))| (i, ones)).max_by_key(|(i, ones)| (*ones, std::cmp::Reverse(*i)))
    }

    fn fits(&self, other: &Self) -> Result<()> {
        self.head.agree(other.head())?;
        SetPart::agree(&self.flat, &other.flat)?;
        crate::error::agree("decay", self.decay, other.decay)?;
        crate::error::agree("threshold", self.threshold, other.threshold)
    }

    /// Lets all bits fade `ticks` times, as if they had come as many hops further.
    pub fn age(&mut self, ticks: u64) {
        for _ in 0..ticks {
            if self.flat.bits.ones() == 0 {
                break;
            }
            let (mut flat, mut random) = (self.flat.clone(), self.generator.clone());
            self.fade(&mut flat, &mut random);
            (self.flat, self.generator) = (flat, random);
        }
        recount(&mut self.head, &self.flat);
    }

    /// t, the minimum number of ones for a key to be present.
    pub fn threshold(&self) -> u64 {
        self.threshold
    }

    fn check(&self) -> Result<()> {
        let known = (1..=u64::from(self.flat.k())).contains(&self.threshold);
        if known && (DECAY.0..=DECAY.1).contains(&self.decay) && self.flat.probe.is_planned() {
            return Ok(());
        }
        Err(Error::corrupt(0, "corrupt filter: a threshold or a decay that cannot be"))
    }
}

/// Bits and probes, decay and threshold.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    flat: Flat,
    decay: f64,
    threshold: u64,
}

/// The fill at which a non-member reaches the threshold with chance `p`.
fn fill_for(k: u32, threshold: u64, p: f64) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if noise(k, middle, threshold) <= p { low = middle } else { high = middle }
    }
    low
}

impl Plan for ExponentialDecay {
    type Shape = Shape;

    fn plan(request: &Request<'_>) -> Result<Shape> {
        let k = request.whole(PARAM_K.name) as u32;
        let decay = request.number("decay");
        let hops = request.whole("hops");
        let heard = (f64::from(k) / libm::pow(decay, hops as f64 - 1.0)).ceil().max(1.0);
        let threshold = request.integer("threshold").unwrap_or(heard as u64);
        if threshold > k.into() {
            return Err(Error::setting("threshold", threshold, format!("above k, which is {k}")));
        }
        let shape = |m: u64| Shape { flat: Flat { m, k }, decay, threshold };
        if let Some(m) = request.integer(PARAM_M.name) {
            return Ok(shape(m));
        }
        let bits = |n: u64, p: f64| {
            let fill = fill_for(k, threshold, p).max(1e-300);
            (f64::from(k) * n as f64 / -libm::log1p(-fill)).ceil() + 1.0
        };
        let (n, p) = request.items_and_rate(bits)?;
        let wanted = bits(n, p);
        check_cells(n, p, wanted)?;
        Ok(shape(wanted as u64))
    }

    /// For objects of the node itself; `load.age` hops away all their bits have faded as often.
    fn expect(shape: &Shape, load: &Load) -> Option<Expect> {
        let Shape { flat: Flat { m, k }, decay, threshold } = *shape;
        let (fill, sd) = shape.flat.fill(load.distinct);
        let kept = libm::pow(decay, -(load.age as f64));
        let (fill, sd) = (fill * kept, sd * kept + (fill * kept * (1.0 - kept) / m as f64).sqrt());
        // Of an object's own k bits each is left with this chance.
        let fnr = 1.0 - tail::binomial_at_least(k.into(), kept, threshold);
        let fnr = if load.age == 0 { 0.0 } else { fnr };
        Some(Expect {
            fnr,
            ..Expect::one_sided(noise(k, fill, threshold), m, Some((fill, sd))).probing(k)
        })
    }
}

impl Stream for ExponentialDecay {
    /// Indices are independent of each other: the chance of *some* of them to be set counts here.
    fn empty(shape: &Shape, head: Head) -> Result<Self> {
        let Flat { m, k } = shape.flat.checked()?;
        let flat = FlatBits::probed(Probe::Mixed(Mixed::new(m, k)))?;
        let generator = Generator::new(head.hasher.seed() ^ SALT);
        let Shape { decay, threshold, .. } = *shape;
        Ok(Self { head, flat, decay, threshold, generator })
    }
}

face!(ExponentialDecay: Insert, Age, Merge);
planned!(
    ExponentialDecay:
    "A filter for `items` objects, in which those up to three hops away stand out from all but a share of `fpr` of the others."
);
keyed!(ExponentialDecay: Insert);
sets!(@union ExponentialDecay: flat);

impl Filter for ExponentialDecay {
    fn query(&self, record: Record<'_>) -> Result<Answer> {
        let ones = self.ones(record.key);
        Ok(Answer::of(ones >= self.threshold).with(Detail::Score(ones as f64)))
    }

    fn fill(&self) -> Option<f64> {
        Some(self.flat.bits.fill())
    }

    /// How far away its objects are the filter does not know; those of the node itself are never missed.
    fn now(&self) -> Rates {
        Rates::one_sided(noise(self.flat.k(), self.flat.bits.fill(), self.threshold))
    }

    fn describe(&self) -> Vec<Fact> {
        vec![
            fact("m", self.flat.m()),
            fact("k", self.flat.k()),
            real("decay", self.decay),
            fact("threshold", self.threshold),
        ]
    }

    fn trace(&self, key: &[u8]) -> Vec<Touched> {
        self.flat.trace(self.head.hasher.digest(key))
    }
}

impl Age for ExponentialDecay {
    fn age(&mut self, ticks: u64) {
        ExponentialDecay::age(self, ticks);
    }
}

const DECAY: (f64, f64) = (1.01, 1000.0);
const SALT: u64 = 0x4544_4246_0000_0001;

/// For `advertise`.
const EPOCH: Param =
    Param::integer("epoch", 0, u64::MAX, "draws the bits that fade: another number, other bits")
        .or(Preset::Integer(0));

/// The list entry.
pub static VARIANT: Variant = Variant::of::<ExponentialDecay>(Facts {
    id: 91,
    slug: "exponential-decay",
    entry: "§41",
    question: "Through which neighbor is it nearest, in constant space?",
    name: "Exponentially decaying Bloom filter",
    paper: "A. Kumar, J. Xu, E. W. Zegura, Efficient and scalable query routing for unstructured \
            peer-to-peer networks, INFOCOM 2005",
    family: "grouping",
    needs: &["groups", "decay", "merge"],
    meaning: "items are objects, the rate is that of non-members whose ones reach the threshold",
    forms: &[Form::exact_while(
        FORM,
        &[Ability::Insert, Ability::Age, Ability::Merge],
        "objects are those of the node itself and have not faded",
    )],
    operations: &[
        change!(
            ExponentialDecay,
            "advertise",
            "Make the message to a neighbor: this filter, and faded copies of the others.",
            [EPOCH],
            [Filters],
            |filter, given| {
                *filter = filter.advertise(&given.filters_of()?, given.whole(0))?;
                Ok(true)
            }
        ),
        tell!(
            ExponentialDecay,
            "route",
            "Which of several filters has the most ones for the key, and how many.",
            [],
            [Keys, Filters],
            |filter, given| {
                let mut neighbors = vec![filter];
                neighbors.extend(given.filters_of::<ExponentialDecay>()?);
                Ok(route_of(ExponentialDecay::route(&neighbors, given.record.key)))
            }
        ),
    ],
    params: &[
        PARAM_M,
        PARAM_K.or(Preset::Integer(32)),
        Param::real("decay", DECAY.0, DECAY.1, "one in this many bits is forwarded")
            .or(Preset::Real(2.0)),
        Param::integer("hops", 1, 64, "distance up to which objects are distinguished")
            .or(Preset::Integer(3)),
        Param::integer("threshold", 1, 4096, "minimum number of ones for a key to be present"),
    ],
    reach: 1_000_000,
    ..Facts::FILTER
});

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shared_tests::lies_are_refused;

    #[test]
    fn files_with_impossible_thresholds_are_refused() {
        let mut f = ExponentialDecay::with_rate(10, 0.01).unwrap();
        f.insert("a");
        let lies: [fn(&mut ExponentialDecay); 4] =
            [|f| f.threshold = 0, |f| f.threshold = 33, |f| f.decay = 1.0, |f| f.decay = f64::NAN];
        lies_are_refused(&f, lies);
    }
}
