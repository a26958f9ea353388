//! Top-k by HeavyKeeper (Yang, Gong, Zhang, Zou, Shi, Li 2018, as the RedisBloom server has it; catalogue B17).
//!
//! Which k keys come most often? d rows of w cells, each a fingerprint and a count. A key that finds its own fingerprint in
//! its cell counts up; one that finds another's may push that count down, the less likely the larger it is. So large
//! counts stay and small ones give way:
//!
//! ```text
//!   x in row i:   │ x 41 │ ──▶ │ x 42 │      own: one more
//!                 │ y  3 │ ──▶ │ y  2 │      another's: one less, with probability 0.9³
//!                 │ y  1 │ ──▶ │ x  1 │      … and at 0 the cell is x's
//!                 │ y 90 │     │ y 90 │      0.9⁹⁰ is hardly ever
//! ```
//!
//! The largest of a key's own cells is its count, which is never above the truth unless fingerprints collide. The k keys
//! with the largest counts so far stand beside the rows; a key whose count reaches the least of them takes its place.
//!
//! Randomness comes from a generator of the sketch's own, so that a stream has one outcome. It is a sketch: it has no
//! members; it counts and lists. The form `redis` hashes as that server does.
//!
//! **Use it** for the most frequent keys of a skewed stream in little memory, with w of at least 4k. **Don't** for
//! counts of all keys, for deletion, or when every frequent key must be found (`count-min`, form `heavy`).

mod cells;

use std::sync::Arc;

use cells::{Cells, Decay, HALF};
use smallvec::SmallVec;

use crate::filter::{Bound, List};
use crate::hash::{Generator, mix64, murmur_32};
use crate::parts::candidates::{Candidates, MOST};
use crate::parts::times_of;
use crate::plan::MAX_CELLS;
use crate::probe::{Partitioned, Words};
use crate::variant::prelude::*;

/// The k keys that come most often.
///
/// ```
/// let mut top = everbloom::sketches::TopK::builder().set("k", 2).build()?;
/// for word in ["to", "be", "or", "not", "to", "be", "to"] {
///     top.add(word, 1)?;
/// }
/// let list: Vec<_> = top.list().collect();
/// assert_eq!(list[0], (&b"to"[..], 3));
/// # Ok::<(), everbloom::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct TopK {
    head: Head,
    /// Cells per row.
    w: u64,
    decay: Decay,
    generator: Generator,
    cells: Cells,
    top: Candidates,
}

state!(TopK { head, w, decay, generator, ..cells; top });

impl TopK {
    fn check(&self) -> Result<()> {
        let cells = self.cells.len();
        let shaped = self.w > 0
            && cells > 0
            && cells.is_multiple_of(self.w)
            && VARIANT.takes("d", cells / self.w);
        // A NaN is in no range.
        let decays = self.decay.base > 0.0 && self.decay.base <= 1.0;
        let redis = self.head.form != REDIS || self.head.hasher.seed() == 0;
        if shaped && decays && redis {
            Ok(())
        } else {
            Err(Error::corrupt(0, "corrupt filter: not the rows of a top-k"))
        }
    }

    /// Number of rows.
    pub fn d(&self) -> u64 {
        self.cells.len() / self.w
    }

    /// Cells per row.
    pub fn w(&self) -> u64 {
        self.w
    }

    /// Counts every key of a slice, in order.
    ///
    /// ```
    /// let mut top = everbloom::sketches::TopK::builder().set("k", 2).build()?;
    /// top.add_many(&["to", "be", "or", "not", "to", "be", "to"]);
    /// assert_eq!(top.list().next(), Some((&b"to"[..], 3)));
    /// # Ok::<(), everbloom::Error>(())
    /// ```
    pub fn add_many<K: Key>(&mut self, keys: &[K]) {
        keys.iter().for_each(|key| _ = self.count_up(key, 1));
    }

    /// The cells of keys, but for the redis form. Under the usual hash they are folded; sketches that were built
    /// under another one have always mixed its words.
    #[inline]
    fn rows(&self) -> Partitioned {
        let rows = Partitioned::new(self.w, self.d() as u32);
        if self.head.hasher.id() == Self::HASH { rows.by(Words::Folded) } else { rows }
    }

    /// The fingerprint of a key, but for the redis form. All bits of fold-64's first word are good.
    #[inline]
    fn fingerprint(&self, digest: Digest) -> u32 {
        let usual = self.head.hasher.id() == Self::HASH;
        ((if usual { digest.h1 } else { digest.word(FINGERPRINT) }) >> 32) as u32
    }

    /// A key's cells in the redis form, one in every row, and its fingerprint.
    fn redis_places<K: Key + ?Sized>(&self, key: &K) -> (u32, Places) {
        let (w, d) = (self.w, self.d());
        key.with_bytes(|key| {
            let cell = |row| row * w + u64::from(murmur_32(key, row as u32)) % w;
            (murmur_32(key, FINGERPRINT as u32), (0..d).map(cell).collect())
        })
    }

    /// A key's fingerprint, and its cell in every row.
    fn places<K: Key + ?Sized>(&self, key: &K) -> (u32, Places) {
        if self.head.form == REDIS {
            return self.redis_places(key);
        }
        let digest = self.head.hasher.digest_usually(Self::HASH, key);
        (self.fingerprint(digest), self.rows().indices(digest).collect())
    }

    /// Counts a key `times` more times (up to 100,000); returns the key that it drove out of the top, if it did.
    #[inline]
    pub fn add<K: Key + ?Sized>(&mut self, key: &K, times: u64) -> Result<Option<Arc<[u8]>>> {
        if times > MOST_TIMES {
            let message = format!("a key can be counted at most {MOST_TIMES} times at once");
            return Err(Error::record(message));
        }
        Ok(self.count_up(key, times))
    }

    /// Counts a key in its cells, and lists it if it belongs there.
    #[inline]
    fn count_up<K: Key + ?Sized>(&mut self, key: &K, times: u64) -> Option<Arc<[u8]>> {
        let most = if self.head.form != REDIS && self.head.hasher.id() == Self::HASH {
            let digest = self.head.hasher.digest_by(Self::HASH, key);
            let rows = Partitioned::new(self.w, 1).by(Words::Folded);
            self.raise(|row| rows.index(digest, row), self.fingerprint(digest), times)
        } else {
            let (fingerprint, places) = self.places(key);
            self.raise(|row| places[row as usize], fingerprint, times)
        };
        self.head.count(times);
        // A count of 0 has no place in a list that is not full.
        if most == 0 {
            return None;
        }
        key.with_bytes(|key| self.top.offer(key, most, 0))
    }

    /// Counts a key in its cells; the most that one of them then says of it.
    #[inline(always)]
    fn raise(&mut self, place: impl Fn(u64) -> u64, fingerprint: u32, times: u64) -> u64 {
        let d = self.d();
        let Self { cells, decay, generator, .. } = self;
        let most = if times == 1 {
            cells.raise(d, place, fingerprint, decay, generator)
        } else {
            let raise = |cell| cells.raise_times(cell, fingerprint, times, decay, generator);
            (0..d).map(place).map(raise).max().unwrap_or(0)
        };
        most.into()
    }

    /// Whether a key is among the k heaviest so far.
    pub fn is_top<K: Key + ?Sized>(&self, key: &K) -> bool {
        key.with_bytes(|key| self.top.get(key).is_some())
    }

    /// How often a key came, at least: its largest cell. Of a key in the list, only cells that reach its least count.
    pub fn count<K: Key + ?Sized>(&self, key: &K) -> u64 {
        let listed = self.is_top(key);
        let least = if listed { self.top.least() } else { 0 };
        let (fingerprint, places) = self.places(key);
        let cells = places.into_iter().map(|cell| self.cells.get(cell));
        let own = cells.filter(|(_, holder)| *holder == fingerprint);
        own.map(|(count, _)| count.into()).filter(|count| *count >= least).max().unwrap_or(0)
    }

    /// The heaviest keys with their counts, largest first.
    pub fn list(&self) -> impl Iterator<Item = (&[u8], u64)> {
        self.top.iter()
    }
}

/// A key's cells, one in every row.
type Places = SmallVec<[u64; 8]>;

/// k, w, d and decay.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    k: u64,
    w: u64,
    d: u64,
    decay: f64,
    form: &'static str,
}

/// Nothing is predicted: which keys are found depends on how skewed the stream is.
impl Plan for TopK {
    type Shape = Shape;

    const HASH: HashId = HashId::Fold64;

    /// The redis form has a hash of its own, whatever the file says; it always said this one.
    fn hash(shape: &Shape) -> HashId {
        if shape.form == REDIS { HashId::Xxh3_128 } else { Self::HASH }
    }

    fn plan(request: &Request<'_>) -> Result<Shape> {
        let [k, d] = request.wholes(["k", "d"]);
        let fits = request.goal_bits().map(|room| room / (CELL_BITS * d));
        let planned = if request.form() == REDIS { 8 } else { (4 * k).max(8) };
        let w = request.integer("w").or(fits).unwrap_or(planned);
        let bits = w.checked_mul(d * CELL_BITS).filter(|bits| *bits <= MAX_CELLS);
        let room = request.goal_bits().unwrap_or(u64::MAX);
        if w == 0 || bits.is_none_or(|bits| bits > room) {
            return Err(Error::parameter(format!(
                "{d} rows of {w} cells of {CELL_BITS} bits do not fit the {{memory}}, or there are none"
            )));
        }
        Ok(Shape { k, w, d, decay: request.number("decay"), form: request.form() })
    }
}

impl Stream for TopK {
    fn empty(shape: &Shape, head: Head) -> Result<Self> {
        if head.form == REDIS && (head.hasher.seed() != 0 || head.hasher.is_keyed()) {
            let message = "form redis has its own hash and seed";
            return Err(Error::setting("seed", format!("{:x}", head.hasher.seed()), message));
        }
        let &Shape { k, w, d, decay, .. } = shape;
        let generator = Generator::new(mix64(head.hasher.seed() ^ COINS));
        let cells = Cells::try_new(w * d)?;
        // The target is a length of list and no rate.
        let head = Head { fpr: None, ..head };
        let (decay, top) = (Decay::new(decay), Candidates::new(k));
        Ok(Self { head, w, decay, generator, cells, top })
    }
}

face!(TopK: Insert, Count, List);

impl TopK {
    /// Plans a sketch by memory, seed, key and settings.
    pub fn builder() -> crate::variant::Builder<Self> {
        crate::variant::Builder::new()
    }
}

impl Insert for TopK {
    fn insert(&mut self, record: Record<'_>) -> Result<Seen> {
        self.add(record.key, times_of(&record)?)?;
        Ok(Seen::Maybe)
    }
}

impl Count for TopK {
    fn count(&self, key: &[u8]) -> Counted {
        Counted { bound: Bound::AtLeast, ..Counted::about(TopK::count(self, key)) }
    }
}

impl List for TopK {
    fn list(&self, f: &mut dyn FnMut(&[u8], Answer)) -> Result<()> {
        for (key, count) in TopK::list(self) {
            f(key, Answer::counted(Counted { bound: Bound::AtLeast, ..Counted::about(count) }));
        }
        Ok(())
    }
}

impl Filter for TopK {
    fn describe(&self) -> Vec<Fact> {
        vec![
            fact("k", self.top.room()),
            fact("w", self.w),
            fact("d", self.d()),
            real("decay", self.decay.base),
        ]
    }

    fn trace(&self, key: &[u8]) -> Vec<Touched> {
        let (fingerprint, places) = self.places(key);
        let cell = |index: u64| {
            let (count, holder) = self.cells.get(index);
            Touched { index, value: count.into(), agrees: holder == fingerprint }
        };
        places.into_iter().map(cell).collect()
    }
}

const REDIS: &str = "redis";
/// The seed of fingerprints in the server's hash.
const FINGERPRINT: u64 = 1919;
const COINS: u64 = 0x7090;
const MOST_TIMES: u64 = 100_000;
const CELL_BITS: u64 = 2 * HALF as u64;

const ABILITIES: &[Ability] = &[Ability::Insert, Ability::Count, Ability::List];
const fn form(name: &'static str) -> Form {
    Form::lossy(name, ABILITIES, "a heavy key may be evicted by chance").counting(Counts::Around)
}

/// The list entry.
pub static VARIANT: Variant = Variant::of::<TopK>(Facts {
    id: 114,
    slug: "top-k",
    entry: "B17",
    question: "Which keys come most often?",
    name: "Top-k by HeavyKeeper",
    paper: "T. Yang, J. Gong, H. Zhang, L. Zou, L. Shi, X. Li, HeavyGuardian and HeavyKeeper, USENIX ATC 2018 and \
            IEEE/ACM ToN 27(5), 2019",
    family: "sketches",
    needs: &["count"],
    input: Input::valued(ValueKind::Count),
    meaning: "items are the total of all counts; there is no rate to plan for",
    forms: &[form("standard"), form(REDIS)],
    params: &[
        Param::integer("k", 1, MOST, "number of keys to list").or(Preset::Integer(10)),
        Param::integer("w", 1, 1 << 40, "cells per row; at least 4k are recommended"),
        Param::integer("d", 1, 64, "number of rows").or(Preset::Integer(7)),
        Param::real("decay", 1e-9, 1.0, "base of the probability that a count gives way")
            .or(Preset::Real(0.9)),
    ],
    ..Facts::SKETCH
});

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Opener, to_bytes};

    #[test]
    fn many_keys_at_once_are_counted_like_one_by_one() {
        for form in ["standard", REDIS] {
            let make = || TopK::builder().form(form).set("k", 5).set("w", 20).build().unwrap();
            let keys: Vec<u64> = (0..2000).map(|i| i * i % 97 % 41).collect();
            let (mut one, mut many) = (make(), make());
            keys.iter().for_each(|key| _ = one.add(key, 1).unwrap());
            many.add_many(&keys);
            assert_eq!(one, many, "{form}");
        }
    }

    #[test]
    fn rows_that_are_none_are_refused() {
        let mut sketch = TopK::builder().set("k", 3).build().unwrap();
        sketch.add("key", 7).unwrap();
        let back: TopK = Opener::new().decode_as(&to_bytes(&sketch)).unwrap();
        assert_eq!(back, sketch);
        for forged in [
            TopK { w: 5, ..sketch.clone() },
            TopK { w: 0, ..sketch.clone() },
            TopK { decay: Decay::new(f64::NAN), ..sketch.clone() },
            TopK { cells: Cells::try_new(7).unwrap(), ..sketch.clone() },
        ] {
            assert!(Opener::new().decode(&to_bytes(&forged)).is_err());
        }
    }
}
