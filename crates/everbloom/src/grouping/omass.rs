//! OMASS, one memory access set separation (Mitzenmacher, Reviriego, Pontarelli 2016; catalogue I7;
//! S3 §V-B).
//!
//! Which of s sets is a key in, at the price of reading one word of memory? The word is cut into k
//! sub-blocks of b bits, and a key has a place in each. In set i all its places are moved by i, around
//! the end of the sub-block:
//!
//! ```text
//!   one word     │ 0 0 1 0 0 0 0 0 │ 0 0 0 0 0 0 0 1 │ 0 1 0 0 0 0 0 0 │ …    k sub-blocks
//!   x in set 0         ↑                           ↑     ↑
//!   x in set 1           ↑           ↑                     ↑
//! ```
//!
//! So all sets share all the memory, and a key has different bits in different sets: putting x into one
//! set cannot make it appear in another. That holds for up to b sets, and more are refused.
//!
//! With N insertions of different keys into l words a non-member passes for one set with
//! f = Σ Bin(N, i; 1/l)·(1 − (1 − 1/b)^i)^k, whatever the number of sets. Keys that are in t sets each
//! fill one word with t·k bits: 25,000 keys in 4 sets do twice the harm of 100,000 keys in one.
//!
//! (S3's table says that OMASS has false negatives and is not parallel; no bit is ever reset, and the
//! text lists it as parallel.)
//!
//! **Use it** if memory is slow and groups are few. **Don't** when space matters: words fill unevenly, and few k
//! divide a word; `load-balanced` takes fewer bits at the same rate.

use crate::cells::Bits;
use crate::filter::touched;
use crate::grouping::groups::{Groups, labeled};
use crate::memory::check_room;
use crate::plan::MAX_CELLS;
use crate::probe::{Partitioned, multiply_shift};
use crate::theory::bound::lower_bound;
use crate::theory::omass as theory;
pub use crate::theory::omass::rate;
use crate::theory::search::least_integer;
use crate::variant::prelude::*;

/// Sets of keys in words that all of them share.
///
/// ```
/// let mut seen = everbloom::grouping::Omass::with_rate(1000, 0.01)?;
/// seen.insert("apple", b"fruit")?;
/// seen.insert("apple", b"company")?;
/// seen.insert("leek", b"vegetable")?;
/// assert_eq!(seen.sets_of("apple"), [b"fruit".as_slice(), b"company"]);
/// # Ok::<(), everbloom::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Omass {
    head: Head,
    groups: Groups,
    shape: Shape,
    bits: Bits,
}

state!(Omass { head, groups, shape, bits });

/// The longest word: a cache line.
const MAX_WORD: u64 = 512;

/// Words, bits per word, and sub-blocks per word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    words: u64,
    width: u64,
    k: u32,
}

state!(Shape { words, width, k });

impl Omass {
    /// A filter of `words` words of `width` bits with `k` sub-blocks, for up to `width / k` sets.
    pub fn with_shape(words: u64, width: u64, k: u32, hasher: Hasher) -> Result<Self> {
        let shape = Shape { words, width, k };
        if shape.check().is_err() {
            return Err(Error::parameter(format!(
                "{words} words of {width} bits in {k} sub-blocks: a word has up to {MAX_WORD} bits, the \
                 number of sub-blocks divides it, and all words together have up to {MAX_CELLS} bits"
            )));
        }
        check_room(words * width)?;
        Self::empty(&shape, Head::new(hasher, FORM))
    }

    /// Calls `f` with the key's bits in set 0 of its word: where the sub-block starts, and the place in it.
    #[inline]
    fn places(&self, digest: Digest) -> impl Iterator<Item = (u64, u64)> + use<> {
        let (b, word) = (self.shape.b(), multiply_shift(digest.h1, self.shape.words));
        let start = word * self.shape.width;
        let inside = Partitioned::new(b, self.shape.k).indices(digest);
        inside.map(move |i| (start + i - i % b, i % b))
    }

    /// The bit of set `i`, i < b: moved by i around the end of the sub-block.
    #[inline]
    fn moved((start, place): (u64, u64), i: u64, b: u64) -> u64 {
        let moved = place + i;
        start + if moved < b { moved } else { moved - b }
    }

    #[inline]
    fn has(&self, digest: Digest, set: u64) -> bool {
        let b = self.shape.b();
        self.places(digest).all(|place| self.bits.get(Self::moved(place, set, b)))
    }

    /// Inserts a key into a set. Refused if that would be more than b sets.
    #[inline]
    pub fn insert<K: Key + ?Sized>(&mut self, key: &K, set: &[u8]) -> Result<Seen> {
        let b = self.shape.b();
        let set = self.groups.intern(set, b)?;
        let mut new = false;
        for place in self.places(self.head.hasher.digest(key)) {
            new |= self.bits.set(Self::moved(place, set, b));
        }
        self.head.count(1);
        Ok(Seen::new_if(new))
    }

    /// Whether the key may be in the set.
    #[inline]
    pub fn contains<K: Key + ?Sized>(&self, key: &K, set: &[u8]) -> bool {
        self.groups.find(set).is_some_and(|set| self.has(self.head.hasher.digest(key), set))
    }

    /// The sets the key may be in, from one word of memory.
    pub fn sets_of<K: Key + ?Sized>(&self, key: &K) -> Vec<&[u8]> {
        let digest = self.head.hasher.digest(key);
        self.groups.those(|set| self.has(digest, set))
    }

    /// The words that answering a query for the key reads: always one.
    pub fn words_read<K: Key + ?Sized>(&self, key: &K) -> usize {
        let digest = self.head.hasher.digest(key);
        let b = self.shape.b();
        let bits = (0..self.groups.len().max(1))
            .flat_map(|set| self.places(digest).map(move |place| Self::moved(place, set, b)));
        let mut words: Vec<u64> = bits.map(|bit| bit / self.shape.width).collect();
        words.sort_unstable();
        words.dedup();
        words.len()
    }

    /// The bits, word after word.
    pub fn bits(&self) -> &Bits {
        &self.bits
    }

    /// The number of sets, b.
    pub fn room(&self) -> u64 {
        self.shape.b()
    }

    /// A non-member's places are uniform in every sub-block of a random word, whatever the set.
    fn rate(&self) -> f64 {
        let Shape { words, width, k } = self.shape;
        let b = self.shape.b();
        let share = |start: u64| self.bits.ones_in(start, b) as f64 / b as f64;
        let word = |w: u64| (0..u64::from(k)).map(|j| share(w * width + j * b)).product::<f64>();
        (0..words).map(word).sum::<f64>() / words as f64
    }

    fn check(&self) -> Result<()> {
        if self.shape.words.checked_mul(self.shape.width) == Some(self.bits.len())
            && self.groups.len() <= self.shape.b()
        {
            return Ok(());
        }
        Err(Error::corrupt(0, "corrupt filter: words and sets do not fit its bits"))
    }
}

impl Shape {
    /// Bits per sub-block.
    fn b(&self) -> u64 {
        self.width / u64::from(self.k)
    }

    fn fpr(&self, n: u64) -> f64 {
        rate(self.words, self.b(), self.k, n, 1)
    }

    /// The least words of one kind for `n` insertions at rate `p`; infinitely many bits if too many.
    fn least(width: u64, k: u32, n: u64, p: f64) -> (f64, Self) {
        // No filter is below the bound, and crowded words are slow to look at.
        let fewest = (lower_bound(n as f64, p) / width as f64).max(1.0);
        let most = MAX_CELLS / width;
        let with = |words: u64| Self { words, width, k };
        if !(fewest < most as f64 && with(most).fpr(n) <= p) {
            return (f64::INFINITY, with(1));
        }
        let words = least_integer(fewest as u64, most, |words| with(words).fpr(n) <= p);
        ((words * width) as f64, with(words))
    }

    fn check(&self) -> Result<()> {
        let Self { words, width, k } = *self;
        let divides = k > 0 && width.is_multiple_of(k.into());
        let fits = words > 0 && words.checked_mul(width).is_some_and(|bits| bits <= MAX_CELLS);
        if (1..=MAX_WORD).contains(&width) && divides && fits {
            return Ok(());
        }
        Err(Error::corrupt(0, "corrupt filter: impossible words"))
    }
}

impl Plan for Omass {
    type Shape = Shape;

    /// The fewest words over all k that divide a word into sub-blocks of a bit for each set, or more.
    fn plan(request: &Request<'_>) -> Result<Shape> {
        let [width, sets] = request.wholes(["word", "sets"]);
        let k_set = request.integer(PARAM_K.name);
        let fits = |k: &u64| width.is_multiple_of(*k) && width / k >= sets;
        let ks: Vec<u32> = (1..=width)
            .filter(|k| k_set.is_none_or(|set| set == *k) && fits(k))
            .map(|k| k as u32)
            .collect();
        if ks.is_empty() {
            return Err(Error::parameter(format!(
                "words of {width} bits cannot be divided into {} sub-blocks with a bit for each of {sets} sets: \
                 set a longer word, fewer sets, or a k that divides the word",
                k_set.map_or("any number of".to_owned(), |k| k.to_string())
            )));
        }
        if let Some(m) = request.integer(PARAM_M.name) {
            let words = (m / width).max(1);
            let shapes = ks.iter().map(|&k| Shape { words, width, k });
            let shape = match request.goal_items() {
                Some(n) => shapes.min_by(|a, b| a.fpr(n).total_cmp(&b.fpr(n))),
                None if ks.len() == 1 => shapes.min_by_key(|shape| shape.k),
                None => None,
            };
            return shape.ok_or_else(m_alone);
        }
        let sized = |n: u64, p: f64| {
            let all = ks.iter().map(|&k| Shape::least(width, k, n, p));
            all.min_by(|a, b| a.0.total_cmp(&b.0))
                .unwrap_or((f64::INFINITY, Shape { words: 1, width, k: 1 }))
        };
        let (n, p) = request.items_and_rate(|n, p| sized(n, p).0)?;
        let (bits, shape) = sized(n, p);
        if bits.is_infinite() {
            return Err(Error::parameter(format!(
                "{n} items at a rate of {p} need more than {MAX_CELLS} bits in words of {width}: use fewer \
                {{items}}, a higher {{rate}} or a longer {{word}}"
            )));
        }
        Ok(shape)
    }

    /// For keys that are in one set each.
    fn expect(shape: &Shape, load: &Load) -> Option<Expect> {
        let (Shape { words, width, k }, n) = (*shape, load.distinct);
        let fill = theory::fill(words, shape.b(), k, n);
        Some(Expect::one_sided(shape.fpr(n), words * width, Some(fill)).probing(k))
    }
}

impl Stream for Omass {
    fn empty(shape: &Shape, head: Head) -> Result<Self> {
        let bits = Bits::try_new(shape.words * shape.width)?;
        Ok(Self { head, groups: Groups::default(), shape: *shape, bits })
    }
}

face!(Omass: Insert);
planned!(Omass);
labeled!(Omass);

impl Filter for Omass {
    fn query(&self, record: Record<'_>) -> Result<Answer> {
        let digest = self.head.hasher.digest(record.key);
        self.groups.query(&record, |set| self.has(digest, set))
    }

    fn fill(&self) -> Option<f64> {
        Some(self.bits.fill())
    }

    fn now(&self) -> Rates {
        Rates::one_sided(self.rate())
    }

    fn describe(&self) -> Vec<Fact> {
        let f = self.rate();
        vec![
            fact("words", self.shape.words),
            fact("bits per word", self.shape.width),
            fact("k", self.shape.k),
            fact("bits per sub-block", self.shape.b()),
            fact("sets", self.groups.len()),
            real("sets a non-member is taken for", f * self.groups.len() as f64),
        ]
    }

    /// The cells of one set after the other, all in one word.
    fn trace(&self, key: &[u8]) -> Vec<Touched> {
        let digest = self.head.hasher.digest(key);
        let b = self.shape.b();
        let sets = 0..self.groups.len();
        let cells = sets.flat_map(|set| self.places(digest).map(move |p| Self::moved(p, set, b)));
        touched(&cells.collect::<Vec<_>>(), |i| self.bits.get(i).into())
    }
}

/// The list entry.
pub static VARIANT: Variant = Variant::of::<Omass>(Facts {
    id: 39,
    slug: "omass",
    entry: "I7",
    question: "Which of several sets is it in, for one memory access?",
    name: "One memory access set separation",
    paper: "M. Mitzenmacher, P. Reviriego, S. Pontarelli, OMASS: one memory access set separation, IEEE \
            Transactions on Knowledge and Data Engineering 28(7), 2016",
    family: "grouping",
    needs: &["groups", "fast", "parallel"],
    input: Input::valued(ValueKind::Label),
    meaning: "items are insertions into all sets together, the label of each is its set; the rate is that \
              of false positives of a query that names a set",
    forms: &[Form::exact(FORM, &[Ability::Insert])],
    params: &[
        PARAM_M,
        PARAM_K,
        Param::integer("word", 2, MAX_WORD, "bits per word; k divides it").or(Preset::Integer(64)),
        Param::integer("sets", 1, MAX_WORD, "number of sets, at most the bits of a sub-block")
            .or(Preset::Integer(16)),
    ],
    ..Facts::FILTER
});
