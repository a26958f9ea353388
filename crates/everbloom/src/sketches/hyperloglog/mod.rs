//! HyperLogLog (Flajolet, Fusy, Gandouet, Meunier 2007; estimator: Ertl 2017; catalogue B17).
//!
//! How many *different* keys came, in 12 KiB however many they are? A hash picks one of m = 2^p registers; the rank of
//! what is left of it, the number of its trailing zeros plus one, is kept there if it is the largest so far. Every
//! other key has rank 1, every fourth 2: a register that holds r has seen about 2^r keys.
//!
//! ```text
//!   hash  …0110 1000│01101    register 13, rank 4       0 3 1 0 2 … max(3, 4) … 1
//!              └ rank └ p low bits                      six bits each
//! ```
//!
//! The relative standard error is 1.04/√m: 0.8 % at p = 14. Two sketches merge by the larger of each two registers, and are
//! then, register for register, the sketch of both streams: keys that are in both count once.
//!
//! It is a sketch: it has no members, and cannot tell whether a key came. The form `redis` hashes as the Redis server does
//! and reads and writes its values; there seed and hash are fixed.
//!
//! **Use it** to count distinct visitors, flows or words, in many places at once. **Don't** to look up a key
//! (`bloom`, which can also estimate its own size), nor to count repetitions (`count-min`).

mod redis;
mod registers;

use registers::Registers;

use crate::cells::Packed;
use crate::error::agree;
use crate::hash::murmur_64a;
use crate::variant::prelude::*;

/// The number of different keys, about.
///
/// ```
/// let mut visitors = everbloom::sketches::HyperLogLog::with_precision(14)?;
/// for visit in 0..30_000u32 {
///     visitors.insert(&(visit % 10_000));
/// }
/// assert!((9_700..10_300).contains(&visitors.count()));
/// # Ok::<(), everbloom::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct HyperLogLog {
    head: Head,
    registers: Registers,
}

state!(HyperLogLog { head, registers });

impl HyperLogLog {
    /// A sketch of 2^p registers under the default hash and seed.
    pub fn with_precision(p: u32) -> Result<Self> {
        Self::builder().set("p", p).build()
    }

    fn check(&self) -> Result<()> {
        let (registers, p) = (self.registers(), self.p());
        let m = registers.len();
        let shaped = m.is_power_of_two() && VARIANT.takes("p", p);
        let redis = self.head.form != REDIS || self.head.hasher.seed() == 0;
        if shaped && redis && registers.width() == WIDTH {
            let most = u64::from(65 - p);
            if registers.iter().all(|rank| rank <= most) {
                return Ok(());
            }
        }
        Err(Error::corrupt(0, "corrupt filter: registers that no keys leave"))
    }

    /// Number of index bits.
    #[inline]
    pub fn p(&self) -> u32 {
        self.registers.p()
    }

    /// The relative standard error, 1.04/√m.
    pub fn error(&self) -> f64 {
        1.04 / (self.registers().len() as f64).sqrt()
    }

    /// The register of a hash, and its rank there.
    #[inline]
    pub fn place(&self, hash: u64) -> (u64, u64) {
        self.registers.place(hash)
    }

    /// What places a key. All bits of fold-64's first word are good.
    #[inline(always)]
    fn hash<K: Key + ?Sized>(&self, key: &K) -> u64 {
        if self.head.hasher.id() == Self::HASH && self.head.form != REDIS {
            return self.head.hasher.digest_by(Self::HASH, key).h1;
        }
        key.with_bytes(|key| self.other_hash(key))
    }

    /// The same under another hash: both words are mixed, as sketches always did that were built before fold-64 was
    /// the usual one.
    #[cold]
    fn other_hash(&self, key: &[u8]) -> u64 {
        if self.head.form == REDIS {
            return murmur_64a(key, SEED);
        }
        self.head.hasher.digest(key).word(0)
    }

    /// Inserts a key; [`Seen::New`] if a register changed, so that it was certainly not there.
    #[inline]
    pub fn insert<K: Key + ?Sized>(&mut self, key: &K) -> Seen {
        let hash = self.hash(key);
        self.head.count_one();
        Seen::new_if(self.raise(hash))
    }

    /// Raises the register of a hash, if it is lower; true if it was.
    #[inline(always)]
    fn raise(&mut self, hash: u64) -> bool {
        if self.registers.are_above(hash) {
            return false;
        }
        let (register, rank) = self.place(hash);
        self.registers.raise(register, rank)
    }

    /// Inserts a slice of keys.
    ///
    /// ```
    /// let mut sketch = everbloom::sketches::HyperLogLog::with_precision(14)?;
    /// sketch.insert_many(&[1, 2, 3, 2, 1]);
    /// assert_eq!(sketch.count(), 3);
    /// # Ok::<(), everbloom::Error>(())
    /// ```
    pub fn insert_many<K: Key>(&mut self, keys: &[K]) {
        let several = self.head.form != REDIS;
        let rest = if several { self.registers.raise_many(&self.head.hasher, keys) } else { keys };
        rest.iter().for_each(|key| _ = self.raise(self.hash(key)));
        self.head.count(keys.len() as u64);
    }

    /// The number of different keys, to the nearest whole one.
    pub fn count(&self) -> u64 {
        self.estimate().round() as u64
    }

    /// The number of different keys, about.
    pub fn estimate(&self) -> f64 {
        self.registers.estimate()
    }

    /// The registers.
    #[inline]
    pub fn registers(&self) -> &Packed {
        self.registers.cells()
    }

    /// Takes the other sketch in: the larger of each two registers.
    pub fn union(&mut self, other: &HyperLogLog) -> Result<()> {
        self.head.agree(&other.head)?;
        agree("p", self.p(), other.p())?;
        for (i, rank) in (0..).zip(other.registers().iter()) {
            self.registers.raise(i, rank);
        }
        self.head.count(other.head.items);
        Ok(())
    }
}

/// Number of index bits, and the form.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    p: u32,
    form: &'static str,
}

/// Nothing is predicted: its error is no rate of queries.
impl Plan for HyperLogLog {
    type Shape = Shape;

    const HASH: HashId = HashId::Fold64;

    /// The redis form has a hash of its own, whatever the file says; it always said this one.
    fn hash(shape: &Shape) -> HashId {
        if shape.form == REDIS { HashId::Xxh3_128 } else { Self::HASH }
    }

    fn plan(request: &Request<'_>) -> Result<Shape> {
        let fits = |p: u64| request.goal_bits().is_none_or(|room| u64::from(WIDTH) << p <= room);
        let error = |p: u64| 1.04 / libm::exp2(p as f64 / 2.0);
        let fine = |p: u64| request.goal_fpr().is_none_or(|rate| error(p) <= rate);
        let range = LEAST_P..=MOST_P;
        let p = match (request.integer("p"), request.goal_fpr(), request.goal_bits()) {
            (Some(p), ..) => Some(p).filter(|p| fits(*p)),
            (None, Some(_), _) => range.clone().find(|p| fine(*p)).filter(|p| fits(*p)),
            (None, None, Some(_)) => range.rev().find(|p| fits(*p)),
            (None, None, None) => Some(DEFAULT_P),
        };
        let p = p.ok_or_else(|| {
            Error::parameter(format!(
                "no sketch of 2^{LEAST_P} to 2^{MOST_P} registers has this error in this {{memory}}: the minimum \
                error is {:.4}, the minimum memory {} bytes",
                error(MOST_P),
                (WIDTH << LEAST_P) / 8
            ))
        })?;
        Ok(Shape { p: p as u32, form: request.form() })
    }
}

impl Stream for HyperLogLog {
    fn empty(shape: &Shape, head: Head) -> Result<Self> {
        if head.form == REDIS && (head.hasher.seed() != 0 || head.hasher.is_keyed()) {
            let message = "form redis has its own hash and seed";
            return Err(Error::setting("seed", format!("{:x}", head.hasher.seed()), message));
        }
        Ok(Self { head, registers: Registers::try_new(shape.p)? })
    }
}

face!(HyperLogLog: Insert, Merge, Estimate);
planned!(HyperLogLog: "A sketch whose counts have a relative standard error of `fpr`; `items` do not matter.");
keyed!(HyperLogLog: Insert, Union);

impl crate::filter::Estimate for HyperLogLog {
    fn cardinality(&self) -> Option<f64> {
        Some(self.estimate())
    }
}

impl Filter for HyperLogLog {
    fn describe(&self) -> Vec<Fact> {
        vec![fact("p", self.p()), fact("m", self.registers().len()), real("error", self.error())]
    }

    fn trace(&self, key: &[u8]) -> Vec<Touched> {
        let (index, rank) = self.place(self.hash(key));
        let value = self.registers().get(index);
        vec![Touched { index, value, agrees: value >= rank }]
    }
}

const REDIS: &str = "redis";
/// The seed of the Redis server.
const SEED: u64 = 0xadc8_3b19;
const WIDTH: u32 = 6;
const LEAST_P: u64 = 4;
const MOST_P: u64 = 18;
const DEFAULT_P: u64 = 14;

const ABILITIES: &[Ability] = &[Ability::Insert, Ability::Merge, Ability::Estimate];

/// The list entry.
pub static VARIANT: Variant = Variant::of::<HyperLogLog>(Facts {
    id: 113,
    slug: "hyperloglog",
    entry: "B17",
    question: "How many different keys came?",
    name: "HyperLogLog",
    paper: "P. Flajolet, É. Fusy, O. Gandouet, F. Meunier, HyperLogLog, AofA 2007; O. Ertl, New cardinality estimation \
            algorithms for HyperLogLog sketches, 2017",
    family: "sketches",
    needs: &["estimate", "merge"],
    meaning: "items are insertions, the rate is the relative standard error of the number of distinct keys",
    forms: &[Form::exact("standard", ABILITIES), Form::exact(REDIS, ABILITIES)],
    params: &[Param::integer("p", LEAST_P, MOST_P, "index bits: 2^p registers of six bits")],
    ..Facts::SKETCH
});

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Opener, to_bytes};

    #[test]
    fn many_keys_at_once_leave_the_registers_of_one_by_one() {
        for form in ["standard", REDIS] {
            // Few registers, so that several of eight keys meet, and as many as by default.
            for p in [4, 6, DEFAULT_P] {
                let make = || HyperLogLog::builder().form(form).set("p", p).build().unwrap();
                let keys: Vec<u64> = (0..1000).map(crate::hash::mix64).collect();
                let texts: Vec<String> = keys.iter().map(u64::to_string).collect();
                let (mut one, mut many) = (make(), make());
                keys.iter().for_each(|key| _ = one.insert(key));
                texts.iter().for_each(|text| _ = one.insert(text));
                many.insert_many(&keys);
                many.insert_many(&texts);
                assert_eq!(one, many, "{form} {p}");
            }
        }
    }

    /// Whatever hash is named: the redis form has its own.
    #[test]
    fn the_redis_form_hashes_as_the_server_does_under_any_name() {
        let make = || HyperLogLog::builder().form(REDIS);
        let keys: Vec<u64> = (0..1000).collect();
        let mut plain = make().build().unwrap();
        keys.iter().for_each(|key| _ = plain.insert(key));
        for id in [HashId::Fold64, HashId::Xxh64] {
            let (mut one, mut many) =
                (make().hash(id).build().unwrap(), make().hash(id).build().unwrap());
            keys.iter().for_each(|key| _ = one.insert(key));
            many.insert_many(&keys);
            assert_eq!(one.registers(), plain.registers(), "{id}");
            assert_eq!(many.registers(), plain.registers(), "{id}");
        }
    }

    /// Also once all registers are so high that most keys are done after their hash.
    #[test]
    fn registers_hold_the_largest_rank_of_their_keys() {
        let keys: Vec<u64> = (0..20_000).collect();
        let mut one = HyperLogLog::with_precision(4).unwrap();
        let mut most = [0; 16];
        for key in &keys {
            let (register, rank) = one.place(one.hash(key));
            let higher = rank > most[register as usize];
            most[register as usize] = rank.max(most[register as usize]);
            assert_eq!(one.insert(key) == Seen::New, higher, "{key}");
        }
        assert!(most.iter().all(|rank| *rank > 6), "{most:?}");
        assert_eq!(one.registers().iter().collect::<Vec<_>>(), most);
        let mut batch = HyperLogLog::with_precision(4).unwrap();
        batch.insert_many(&keys);
        assert_eq!(batch.registers(), one.registers());
    }

    #[test]
    fn registers_that_no_keys_leave_are_refused() {
        let mut sketch = HyperLogLog::with_precision(10).unwrap();
        sketch.insert("key");
        let back: HyperLogLog = Opener::new().decode_as(&to_bytes(&sketch)).unwrap();
        assert_eq!(back, sketch);
        let mut high = sketch.clone();
        high.registers.raise(3, 56);
        let others = [(1000, 6), (1024, 5), (8, 6)];
        let others = others.map(|(m, width)| Registers::of(Packed::new(m, width)));
        for registers in others.into_iter().chain([high.registers]) {
            let forged = HyperLogLog { registers, ..sketch.clone() };
            assert!(Opener::new().decode(&to_bytes(&forged)).is_err());
        }
    }
}
