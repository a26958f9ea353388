//! The EGH filter (Kiss, Hosszu, Tapolcai, Rónyai, Rottenstreich 2018; catalogue R14; S3 §IV-D).
//!
//! No false positives at all while a finite universe of integers sends at most n_t of them. The k-th
//! "hash" of x is its remainder by the k-th prime, in a slice of that many cells:
//!
//! ```text
//!   insert 10    mod 2 → 0    mod 3 → 1     mod 5 → 0         mod 7 → 3
//!                1 0          0 1 0         1 0 0 0 0         0 0 0 1 0 0 0
//! ```
//!
//! A stranger x that passes shares each remainder with some member, so every prime divides the product
//! of the differences Π(x − y). That is not zero, and below |U|^n_t: if the primes multiply to as
//! much, it cannot be. (S3 prints n_t^|U|; |U|^n_t is right.) Beyond n_t members false positives come.
//!
//! Inside this zone the filter can even list its members, by putting remainders together again.
//! Two forms: `bits` takes keys, and drops one by listing, leaving it out and building anew;
//! `counters` removes and counts.
//!
//! Keys are integers below `universe`. Others are never members, and refused as such; there is no hash,
//! so the seed has no say.
//!
//! **Use it** when a false positive is out of the question and the members are few, of a small universe:
//! a bit array over U would be the alternative. **Don't** for more than a few hundred: bits grow with
//! the square of n_t, 106 a key for 20 of 562, ten thousand a key for a thousand of a million.

use std::sync::LazyLock;

use crate::cells::{Bits, Counters};
use crate::state::{Decoder, Encoder, State};
use crate::variant::prelude::*;

/// A small set of integers without false positives.
#[derive(Clone, Debug, PartialEq)]
pub struct Egh {
    head: Head,
    slices: Slices,
    cells: Cells,
}

state!(Egh { head, slices, cells });

impl Egh {
    /// A filter of the form `bits` for up to `zone` integers below `universe`.
    ///
    /// ```
    /// let mut ports = everbloom::membership::Egh::new(65_536, 20)?;
    /// ports.insert(443)?;
    /// assert!((0..65_536).all(|port| ports.contains(port) == (port == 443)));
    /// assert_eq!(ports.list()?, [443]);
    /// # Ok::<(), everbloom::error::Error>(())
    /// ```
    pub fn new(universe: u64, zone: u64) -> Result<Self> {
        let slices = Slices::new(universe, zone)?;
        let head = Head::new(Hasher::default(), BITS);
        Ok(Self { head, cells: Cells::Bits(Bits::new(slices.m())), slices })
    }

    /// The same with counters, wide enough not to overflow inside the zone.
    pub fn counting(universe: u64, zone: u64) -> Result<Self> {
        let slices = Slices::new(universe, zone)?;
        let head = Head::new(Hasher::default(), COUNTERS);
        let cells = Cells::Counters(Counters::new(slices.m(), width_for(zone)?));
        Ok(Self { head, cells, slices })
    }

    /// Inserts an integer of the universe.
    pub fn insert(&mut self, x: u64) -> Result<Seen> {
        if x >= self.slices.universe {
            return Err(Error::record(format!(
                "{x} is outside of the universe, which ends at {}: plan with a larger one",
                self.slices.universe
            )));
        }
        let there = self.contains(x);
        self.slices.cells(x).for_each(|i| self.cells.put(i));
        // Inside the zone the filter knows its members, and a set takes none twice.
        if !(there && self.exact() && self.head.form == BITS) {
            self.head.count(1);
        }
        Ok(if there { Seen::Maybe } else { Seen::New })
    }

    /// Whether the integer may be a member: for certain, inside the zone.
    #[inline]
    pub fn contains(&self, x: u64) -> bool {
        x < self.slices.universe && self.slices.cells(x).all(|i| self.cells.get(i) != 0)
    }

    /// Removes a member. The form `bits` can do so inside the zone only, and builds itself anew.
    pub fn remove(&mut self, x: u64) -> Result<()> {
        let absent = || Error::new(Kind::NotDeletable, format!("{x} is not in the filter"));
        if !self.contains(x) {
            return Err(absent());
        }
        match &mut self.cells {
            Cells::Counters(counters) => {
                self.slices.cells(x).for_each(|i| counters.decrement(i));
            }
            Cells::Bits(_) => {
                let members = self.list()?;
                let mut bits = Bits::new(self.slices.m());
                for y in members.into_iter().filter(|y| *y != x) {
                    self.slices.cells(y).for_each(|i| {
                        bits.set(i);
                    });
                }
                self.cells = Cells::Bits(bits);
            }
        }
        self.head.items = self.head.items.saturating_sub(1);
        Ok(())
    }

    /// How often the integer was inserted, or 1 for a member of the form `bits`.
    pub fn count(&self, x: u64) -> u64 {
        if x >= self.slices.universe {
            return 0;
        }
        self.slices.cells(x).map(|i| self.cells.get(i)).min().unwrap_or(0)
    }

    /// Whether so few members are inside that none of the others passes.
    pub fn exact(&self) -> bool {
        self.head.items <= self.slices.zone
    }

    /// The members in ascending order; refused beyond the zone, where strangers would be among them.
    ///
    /// Testing every x of the universe is the definition. This is faster: remainders by the largest
    /// primes are put together by the Chinese remainder theorem, until the numbers of the universe that
    /// have one of the combinations are few enough to be tested.
    pub fn list(&self) -> Result<Vec<u64>> {
        let refuse = |why: &str| Err(Error::new(Kind::Undecodable, format!("no list: {why}")));
        if !self.exact() {
            return refuse("more members than the filter was planned for");
        }
        let universe = u128::from(self.slices.universe);
        let (mut found, mut modulus) = (vec![0u128], 1u128);
        for j in (0..self.slices.primes.len()).rev() {
            let (prime, remainders) = (self.slices.primes[j], self.remainders(j));
            if remainders.is_empty() {
                return Ok(Vec::new());
            }
            if remainders.len() as u64 > self.slices.zone {
                return refuse("a slice holds more remainders than there can be members");
            }
            let left = universe.div_ceil(modulus);
            if left <= remainders.len() as u128 {
                break;
            }
            if (found.len() as u64).saturating_mul(remainders.len() as u64) > MOST_WORK {
                return refuse("putting so many remainders together would take too long");
            }
            let step = (modulus % u128::from(prime)) as u64;
            let inverse = power(step, prime - 2, prime);
            found = found
                .iter()
                .flat_map(|&x| remainders.iter().map(move |&r| (x, r)))
                .map(|(x, r)| {
                    let here = (x % u128::from(prime)) as u64;
                    let times = (r + prime - here) % prime * inverse % prime;
                    x + u128::from(times) * modulus
                })
                .filter(|x| *x < universe)
                .collect();
            modulus *= u128::from(prime);
        }
        let left = universe.div_ceil(modulus) as u64;
        if (found.len() as u64).saturating_mul(left) > MOST_WORK {
            return refuse("testing so many candidates would take too long");
        }
        let all = found.iter().flat_map(|&x| (0..left).map(move |t| x + u128::from(t) * modulus));
        let inside = all.filter(|x| *x < universe).map(|x| x as u64);
        let mut members: Vec<u64> = inside.filter(|x| self.contains(*x)).collect();
        members.sort_unstable();
        members.dedup();
        Ok(members)
    }

    /// The remainders in use in slice `j`.
    fn remainders(&self, j: usize) -> Vec<u64> {
        let start = self.slices.starts[j];
        (0..self.slices.primes[j]).filter(|r| self.cells.get(start + r) != 0).collect()
    }

    /// The primes and what they promise.
    pub fn slices(&self) -> &Slices {
        &self.slices
    }

    fn check(&self) -> Result<()> {
        if self.cells.len() == self.slices.m() && self.cells.form() == self.head.form {
            return Ok(());
        }
        Err(Error::corrupt(0, "corrupt filter: the cells do not fit the slices or the form"))
    }
}

/// x^n mod p, for p below 2³².
fn power(mut x: u64, mut n: u64, p: u64) -> u64 {
    let mut result = 1 % p;
    while n > 0 {
        if n % 2 == 1 {
            result = result * x % p;
        }
        x = x * x % p;
        n /= 2;
    }
    result
}

/// The first primes, one per slice: as many as multiply to |U|^n_t.
#[derive(Clone, Debug, PartialEq)]
pub struct Slices {
    universe: u64,
    zone: u64,
    /// These follow from the two above.
    primes: Vec<u64>,
    starts: Vec<u64>,
    m: u64,
}

impl Slices {
    /// The slices for up to `zone` ≥ 1 members of `universe` ≥ 2 integers.
    pub fn new(universe: u64, zone: u64) -> Result<Self> {
        let mut slices = Self { universe, zone, primes: vec![], starts: vec![], m: 0 };
        let wanted = zone as f64 * libm::log(universe as f64);
        let mut reached = 0.0;
        let mut primes = PRIMES.iter().copied();
        let range = (2..=MAX_UNIVERSE).contains(&universe) && zone > 0;
        while range && !slices.enough(reached, wanted) {
            let Some(prime) = primes.next() else { break };
            slices.starts.push(slices.m);
            slices.primes.push(prime);
            slices.m += prime;
            reached += libm::log(prime as f64);
        }
        if range && slices.enough(reached, wanted) {
            return Ok(slices);
        }
        Err(Error::parameter(format!(
            "{zone} members of a universe of {universe} integers need more than the first \
             {MAX_PRIMES} primes: fewer members, or a smaller universe (2 to {MAX_UNIVERSE})"
        )))
    }

    /// Π p ≥ |U|^n_t: by logarithms where they are clear, by long multiplication where not.
    fn enough(&self, reached: f64, wanted: f64) -> bool {
        let margin = 1e-9 * (1.0 + wanted);
        if (reached - wanted).abs() > margin {
            return reached > wanted;
        }
        let product = |factors: &mut dyn Iterator<Item = u64>| {
            let mut limbs = vec![1u64];
            for factor in factors {
                let mut carry = 0u128;
                for limb in &mut limbs {
                    carry += u128::from(*limb) * u128::from(factor);
                    *limb = carry as u64;
                    carry >>= 64;
                }
                if carry > 0 {
                    limbs.push(carry as u64);
                }
            }
            limbs.reverse();
            (limbs.len(), limbs)
        };
        let power = product(&mut (0..self.zone).map(|_| self.universe));
        product(&mut self.primes.iter().copied()) >= power
    }

    /// Number of cells: the sum of the primes.
    pub fn m(&self) -> u64 {
        self.m
    }

    /// The primes.
    pub fn primes(&self) -> &[u64] {
        &self.primes
    }

    /// One cell per slice, the largest slice first: the smallest are always full and tell nothing.
    #[inline]
    fn cells(&self, x: u64) -> impl Iterator<Item = u64> {
        self.primes.iter().zip(&self.starts).rev().map(move |(p, start)| start + x % p)
    }
}

/// The first [`MAX_PRIMES`] primes, by Eratosthenes' sieve.
static PRIMES: LazyLock<Vec<u64>> = LazyLock::new(|| {
    let mut composite = vec![false; LAST_PRIME + 1];
    let mut primes = Vec::with_capacity(MAX_PRIMES);
    for p in 2..=LAST_PRIME {
        if !composite[p] {
            primes.push(p as u64);
            (p * p..=LAST_PRIME).step_by(p).for_each(|i| composite[i] = true);
        }
    }
    primes
});

impl State for Slices {
    fn save<'a>(&'a self, name: &'static str, out: &mut Encoder<'a>) {
        out.group(name, |out| {
            out.u64("universe", self.universe);
            out.u64("zone", self.zone);
        });
    }

    fn load(name: &'static str, src: &mut Decoder<'_>) -> Result<Self> {
        src.group(name, |src| {
            let (universe, zone) = (src.u64("universe")?, src.u64("zone")?);
            Self::new(universe, zone).map_err(|e| src.corrupt(e.to_string()))
        })
    }
}

/// The cells of either form.
#[derive(Clone, Debug, PartialEq)]
enum Cells {
    Bits(Bits),
    Counters(Counters),
}

impl Cells {
    fn form(&self) -> &'static str {
        match self {
            Cells::Bits(_) => BITS,
            Cells::Counters(_) => COUNTERS,
        }
    }

    fn len(&self) -> u64 {
        match self {
            Cells::Bits(bits) => bits.len(),
            Cells::Counters(counters) => counters.len(),
        }
    }

    #[inline]
    fn get(&self, i: u64) -> u64 {
        match self {
            Cells::Bits(bits) => bits.get(i).into(),
            Cells::Counters(counters) => counters.get(i),
        }
    }

    fn put(&mut self, i: u64) {
        match self {
            Cells::Bits(bits) => {
                bits.set(i);
            }
            Cells::Counters(counters) => counters.increment(i),
        }
    }
}

impl State for Cells {
    fn save<'a>(&'a self, name: &'static str, out: &mut Encoder<'a>) {
        out.group(name, |out| match self {
            Cells::Bits(bits) => {
                out.u64("counting", 0);
                bits.save("bits", out);
            }
            Cells::Counters(counters) => {
                out.u64("counting", 1);
                counters.save("counters", out);
            }
        });
    }

    fn load(name: &'static str, src: &mut Decoder<'_>) -> Result<Self> {
        src.group(name, |src| match src.u64("counting")? {
            0 => Bits::load("bits", src).map(Cells::Bits),
            1 => Counters::load("counters", src).map(Cells::Counters),
            other => Err(src.corrupt(format!("{name}: counting is {other}"))),
        })
    }
}

/// Bits per counter such that n_t members in one cell do not reach the maximum, at which it sticks.
fn width_for(zone: u64) -> Result<u32> {
    let width = u64::BITS - zone.saturating_add(1).leading_zeros();
    if width <= 16 {
        return Ok(width);
    }
    Err(Error::parameter(format!("{zone} members overflow counters of 16 bits: use form=bits")))
}

/// The slices, and bits per counter where there are counters.
#[derive(Clone, Debug)]
pub struct Shape {
    slices: Slices,
    width: Option<u32>,
}

impl Plan for Egh {
    type Shape = Shape;

    /// The items are n_t. There is no rate to choose: inside the zone it is zero.
    fn plan(request: &Request<'_>) -> Result<Shape> {
        let universe = request.integer("universe").unwrap_or(DEFAULT_UNIVERSE);
        let width = |n| match (request.form(), request.integer("width")) {
            (BITS, _) => Ok(None),
            (_, Some(width)) => Ok(Some(width as u32)),
            (_, None) => width_for(n).map(Some),
        };
        let bits = |n: u64, _: f64| match (n, Slices::new(universe, n), width(n)) {
            (0, ..) => 0.0,
            (_, Ok(slices), Ok(width)) => slices.m() as f64 * f64::from(width.unwrap_or(1)),
            _ => f64::INFINITY,
        };
        let (n, _) = request.items_and_rate(bits)?;
        Ok(Shape { slices: Slices::new(universe, n)?, width: width(n)? })
    }

    /// Beyond the zone there is no formula: remainders of one integer are not independent, and their
    /// product of chances is more than twice too high in small universes.
    fn expect(shape: &Shape, load: &Load) -> Option<Expect> {
        let bits = shape.slices.m() * u64::from(shape.width.unwrap_or(1));
        (load.distinct <= shape.slices.zone).then(|| Expect::one_sided(0.0, bits, None))
    }
}

impl Stream for Egh {
    fn empty(shape: &Shape, head: Head) -> Result<Self> {
        let slices = shape.slices.clone();
        let cells = match shape.width {
            None => Cells::Bits(Bits::new(slices.m())),
            Some(width) => Cells::Counters(Counters::new(slices.m(), width)),
        };
        Ok(Self { head, slices, cells })
    }
}

fn integer(key: &[u8]) -> Result<u64> {
    let bytes = key.try_into().map_err(|_| {
        Error::record(format!(
            "a key of {} bytes: keys are integers of 8 bytes, use --key-type u64",
            key.len()
        ))
    })?;
    Ok(u64::from_le_bytes(bytes))
}

face!(Egh: Insert, Merge, Remove, Count);

impl Filter for Egh {
    fn query(&self, record: Record<'_>) -> Result<Answer> {
        let x = integer(record.key)?;
        let detail = match self.cells {
            Cells::Bits(_) => Detail::None,
            Cells::Counters(_) => Detail::Count(Counted::about(self.count(x))),
        };
        Ok(Answer::of(self.contains(x)).with(detail))
    }

    /// None: what remainders a set leaves depends on the set, not on chance.
    fn fill(&self) -> Option<f64> {
        None
    }

    /// Zero inside the zone; beyond it what a look at the whole universe finds, if it is small.
    fn now(&self) -> Rates {
        let (universe, items) = (self.slices.universe, self.head.items);
        let fpr = if self.exact() {
            Some(0.0)
        } else if universe <= LOOK_AT_ALL && items < universe {
            let passing = (0..universe).filter(|x| self.contains(*x)).count() as u64;
            Some(passing.saturating_sub(items) as f64 / (universe - items) as f64)
        } else {
            None
        };
        Rates { fpr, fnr: Some(0.0), undecided: None }
    }

    fn describe(&self) -> Vec<Fact> {
        vec![
            fact("m", self.slices.m()),
            fact("k", self.slices.primes.len() as u64),
            fact("universe", self.slices.universe),
            fact("zone", self.slices.zone),
        ]
    }
}

impl Insert for Egh {
    fn insert(&mut self, record: Record<'_>) -> Result<Seen> {
        Egh::insert(self, integer(record.key)?)
    }
}

impl Remove for Egh {
    fn remove(&mut self, record: Record<'_>) -> Result<()> {
        Egh::remove(self, integer(record.key)?)
    }
}

impl Count for Egh {
    fn count(&self, key: &[u8]) -> Counted {
        Counted::about(integer(key).map_or(0, |x| Egh::count(self, x)))
    }
}

impl Merge for Egh {
    fn law(&self) -> MergeLaw {
        match self.cells {
            Cells::Bits(_) => MergeLaw::Set,
            Cells::Counters(_) => MergeLaw::Multiset,
        }
    }

    /// Items of two sets add up to a bound only, unless the other set is inside this one.
    fn merge(&mut self, other: &dyn Filter) -> Result<()> {
        let other: &Egh = other.as_same()?;
        self.head.agree(&other.head)?;
        crate::error::agree("universe", self.slices.universe, other.slices.universe)?;
        crate::error::agree("zone", self.slices.zone, other.slices.zone)?;
        match (&mut self.cells, &other.cells) {
            (Cells::Bits(a), Cells::Bits(b)) if a.ones_in_both(b) < b.ones() => {
                a.union(b);
                self.head.count(other.head.items);
            }
            (Cells::Counters(a), Cells::Counters(b)) => {
                crate::error::agree("counter width", a.width(), b.width())?;
                a.add(b);
                self.head.count(other.head.items);
            }
            _ => {}
        }
        Ok(())
    }
}

const BITS: &str = "bits";
const COUNTERS: &str = "counters";
const DEFAULT_UNIVERSE: u64 = 1 << 20;
const MAX_UNIVERSE: u64 = 1 << 62;
/// The 8,192nd prime: enough for 3,700 members of 2³².
const LAST_PRIME: usize = 84_017;
const MAX_PRIMES: usize = 8192;
/// The largest universe that is looked at integer by integer.
const LOOK_AT_ALL: u64 = 1 << 24;
/// Candidates that listing looks at before it gives up.
const MOST_WORK: u64 = 1 << 28;

/// The list entry.
pub static VARIANT: Variant = Variant {
    facts: Facts {
        id: 24,
        slug: "egh",
        entry: "R14",
        name: "EGH filter: false-positive free zone",
        paper: "S. Z. Kiss, É. Hosszu, J. Tapolcai, L. Rónyai, O. Rottenstreich, Bloom filter with a false positive free zone, INFOCOM 2018",
        family: "membership",
        needs: &["membership", "delete", "exact"],
        input: Input { key: KeyKind::Integer, ..Input::KEYS },
        meaning: "items are the members up to which there are no false positives; the rate is zero there",
        forms: &[
            Form::exact(BITS, &[Ability::Insert, Ability::Merge]),
            Form {
                name: COUNTERS,
                abilities: &[Ability::Insert, Ability::Remove, Ability::Count, Ability::Merge],
                false_negatives: FalseNegatives::NeverWhile(
                    "only keys that were inserted are removed",
                ),
            },
        ],
        params: &[
            Param {
                name: "universe",
                range: Range::Integer(2, MAX_UNIVERSE),
                default: Preset::Integer(DEFAULT_UNIVERSE),
                help: "keys are integers below it",
            },
            Param {
                name: "width",
                range: Range::Integer(1, 16),
                default: Preset::Planned,
                help: "counters: bits each",
            },
        ],
        reach: 1000,
        ..Facts::FILTER
    },
    ops: Ops::of::<Egh>(),
};
