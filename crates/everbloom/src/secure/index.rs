//! Secure indexes, Z-IDX (Goh 2003; catalogue §43; S0 ref. 57 §III-W).
//!
//! A server keeps encrypted documents and a filter of the words of each, and finds those with a certain word
//! without learning any word. Cells are chosen by a pseudorandom function F twice, under r keys K₁ … K_r that
//! only the owner has, and then under the document's id:
//!
//! ```text
//!   owner    word w ─▶ trapdoor  x₁ = F(K₁, w), …, x_r = F(K_r, w)
//!   server   x₁ … x_r, document id ─▶ cells F(x₁, id), …, F(x_r, id) of this document's filter
//!
//!   a b c    1 0 1 1 0 0 1 0 0 1 0 0    the words of a document
//!   blinded  1 0 1 1 1 0 1 0 1 1 0 1    as full as with u words, whatever their number
//! ```
//!
//! A word has other cells in every document, so filters can't be compared. The server needs no key; without a
//! trapdoor it can't test guesses. Every document is filled up as if it had u words, the public upper bound, by
//! (u − v)·r random insertions for its v words, so that no filter tells how many words it has. No false
//! negatives; another word passes with f = (1 − e^{−ru/m})^r.
//!
//! **Leaks**: u; which documents match a trapdoor, and that two trapdoors are equal; a trapdoor, once given, works
//! on every later document, too. Two filters under one id would show what changed between them, so every
//! filter gets a random id when it is built. Names of documents are stored as they are given.
//!
//! **Use it** to search documents that are stored elsewhere. False positives are returned as matches, so check the
//! documents again after decryption. **Don't** if the pattern of searches must stay hidden.

use std::collections::HashSet;
use std::fmt;

use zeroize::Zeroizing;

use super::chance::{self, Chance};
use super::secret::{Secret, prf};
use crate::cells::Bits;
use crate::hash::multiply_shift;
use crate::theory::bloom as theory;
use crate::variant::prelude::*;

/// Most keys of the PRF: a rate of 2⁻⁶⁴.
const MOST_KEYS: u32 = 64;
/// Most bits of a document's filter: 1 GiB.
const MOST_BITS: u64 = 1 << 33;
/// Length of a trapdoor's part.
const PART: usize = 32;
/// Length of a document's id.
const ID: usize = 16;

/// What all filters of an index share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    words: u64,
    m: u64,
    r: u32,
}

impl Shape {
    /// For documents of at most `words` different words, and a rate of false matches.
    pub fn for_rate(words: u64, rate: f64) -> Result<Self> {
        let r = keys_for_rate(rate)?;
        let m = libm::ceil(f64::from(r) * words as f64 / core::f64::consts::LN_2);
        Self::new(words, m.min(MOST_BITS as f64 + 1.0) as u64, r)
    }

    /// m bits, r keys, and at most `words` different words.
    pub fn new(words: u64, m: u64, r: u32) -> Result<Self> {
        let fits = (1..=MOST_BITS).contains(&m) && (1..=MOST_KEYS).contains(&r) && words >= 1;
        if fits && words.checked_mul(r.into()).is_some_and(|throws| throws <= MOST_BITS) {
            return Ok(Self { words, m, r });
        }
        Err(Error::parameter(format!(
            "an index of {words} words, {m} bits and {r} keys: the limits are 1 to {MOST_KEYS} keys, and {MOST_BITS} \
            bits and insertions per document"
        )))
    }

    /// The public upper bound on words, u.
    pub fn words(&self) -> u64 {
        self.words
    }

    /// Bits of each document's filter.
    pub fn m(&self) -> u64 {
        self.m
    }

    /// Number of PRF keys.
    pub fn r(&self) -> u32 {
        self.r
    }

    /// Rate of false matches: that of a standard filter with u words.
    pub fn fpr(&self) -> f64 {
        theory::fpr_asymptotic(self.m as f64, self.words as f64, self.r.into())
    }

    /// Twenty bytes: words, m, r.
    pub fn to_bytes(&self) -> [u8; 20] {
        let mut out = [0; 20];
        out[..8].copy_from_slice(&self.words.to_le_bytes());
        out[8..16].copy_from_slice(&self.m.to_le_bytes());
        out[16..].copy_from_slice(&self.r.to_le_bytes());
        out
    }

    /// The shape that [`Shape::to_bytes`] wrote.
    pub fn parse(bytes: &[u8]) -> Result<Self> {
        let bytes: &[u8; 20] =
            bytes.try_into().map_err(|_| bad("a shape that is not twenty bytes long"))?;
        let [words, m] = [0, 8].map(|at| crate::state::u64_at(bytes, at));
        Self::new(words, m, crate::state::u32_at(bytes, 16))
    }
}

/// Keys for a rate of false matches: ⌈log2(1/rate)⌉.
pub fn keys_for_rate(rate: f64) -> Result<u32> {
    let r = libm::ceil(-libm::log2(rate));
    if rate > 0.0 && rate < 1.0 && r <= f64::from(MOST_KEYS) {
        return Ok((r as u32).max(1));
    }
    Err(Error::setting("rate", rate, "must be below 1 and at least 2^-64"))
}

fn bad(what: &str) -> Error {
    Error::corrupt(0, what)
}

/// The owner's r keys.
#[derive(Clone)]
pub struct IndexKey {
    keys: Vec<Zeroizing<[u8; PART]>>,
    id: u64,
}

impl IndexKey {
    /// r keys, derived from one secret.
    pub fn new(secret: &Secret, r: u32) -> Self {
        let key = |i: u32| secret.prf("secure-index", &[&i.to_le_bytes()]);
        Self { keys: (0..r.clamp(1, MOST_KEYS)).map(key).collect(), id: secret.id() }
    }

    /// What finds the documents with this word.
    pub fn trapdoor(&self, word: &[u8]) -> Trapdoor {
        let parts = self.keys.iter().map(|key| prf(key, word));
        Trapdoor { parts: Zeroizing::new(parts.collect()) }
    }

    /// A blinded filter of a document's words under a fresh random id.
    pub fn build<'w>(
        &self,
        shape: Shape,
        name: &[u8],
        words: impl IntoIterator<Item = &'w [u8]>,
    ) -> Result<Index> {
        self.build_as(shape, name, *chance::bytes()?, words)
    }

    /// The same under a given id, which must never be used for another filter.
    fn build_as<'w>(
        &self,
        shape: Shape,
        name: &[u8],
        id: [u8; ID],
        words: impl IntoIterator<Item = &'w [u8]>,
    ) -> Result<Index> {
        if shape.r as usize != self.keys.len() {
            let (keys, r) = (self.keys.len(), shape.r);
            return Err(Error::parameter(format!("{keys} keys for an index of {r}")));
        }
        if u16::try_from(name.len()).is_err() {
            return Err(Error::record("the name of a document has at most 65535 bytes"));
        }
        let mut index = Index { name: name.to_vec(), id, bits: Bits::try_new(shape.m)? };
        let mut distinct = HashSet::new();
        for word in words.into_iter().filter(|word| distinct.insert(*word)) {
            let trapdoor = self.trapdoor(word);
            for cell in trapdoor.cells(&index.id, shape.m) {
                index.bits.set(cell);
            }
        }
        let unused = shape.words.checked_sub(distinct.len() as u64).ok_or_else(|| {
            let message =
                format!("{} words in a document, but {} were planned", distinct.len(), shape.words);
            Error::new(Kind::CapacityExceeded, message)
        })?;
        let mut chance = Chance::new();
        for _ in 0..unused * u64::from(shape.r) {
            index.bits.set(chance.below(shape.m)?);
        }
        Ok(index)
    }
}

impl fmt::Debug for IndexKey {
    /// Never prints the keys.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "IndexKey({:016x}, {} keys)", self.id, self.keys.len())
    }
}

/// What finds the documents with one word, or with all of several, and says nothing else about them but their number.
#[derive(Clone)]
pub struct Trapdoor {
    parts: Zeroizing<Vec<[u8; PART]>>,
}

impl Trapdoor {
    /// What finds the documents that have the words of both.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self { parts: Zeroizing::new([&self.parts[..], &other.parts].concat()) }
    }

    /// Number of parts: for each word, the number of keys of the index.
    pub fn parts(&self) -> u32 {
        self.parts.len() as u32
    }

    /// Its cells in the filter of m bits under this id: F(x_i, id), spread over m.
    fn cells(&self, id: &[u8; ID], m: u64) -> impl Iterator<Item = u64> {
        self.parts.iter().map(move |part| {
            let output = prf(part, id);
            multiply_shift(u64::from_le_bytes(std::array::from_fn(|i| output[i])), m)
        })
    }

    /// The parts, one behind the other.
    pub fn to_bytes(&self) -> Vec<u8> {
        self.parts.concat()
    }

    /// The trapdoor that [`Trapdoor::to_bytes`] wrote, for an index of r keys and a word or several.
    pub fn parse(r: u32, bytes: &[u8]) -> Result<Self> {
        let (parts, rest) = bytes.as_chunks::<PART>();
        let words = parts.len().checked_div(r as usize).unwrap_or(0);
        if words == 0 || parts.len() != words * r as usize || !rest.is_empty() {
            let length = bytes.len();
            return Err(bad(&format!("a trapdoor of {length} bytes for an index of {r} keys")));
        }
        Ok(Self { parts: Zeroizing::new(parts.to_vec()) })
    }
}

impl fmt::Debug for Trapdoor {
    /// Never prints the parts: with them anyone can search.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Trapdoor({} parts)", self.parts.len())
    }
}

/// The blinded filter of one document's words.
///
/// ```
/// use everbloom::secure::Secret;
/// use everbloom::secure::index::{IndexKey, Shape};
///
/// let shape = Shape::for_rate(100, 0.001)?;
/// let key = IndexKey::new(&Secret::random()?, shape.r());
/// let letter = key.build(shape, b"letter", [&b"dear"[..], b"friend"])?;
/// // The server has the filter and the trapdoor, and no key.
/// assert!(letter.matches(&key.trapdoor(b"friend")));
/// # Ok::<(), everbloom::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Index {
    name: Vec<u8>,
    id: [u8; ID],
    bits: Bits,
}

impl Index {
    /// Whether the document may have the trapdoor's word.
    pub fn matches(&self, trapdoor: &Trapdoor) -> bool {
        trapdoor.cells(&self.id, self.bits.len()).all(|cell| self.bits.get(cell))
    }

    /// The document's name, as the owner gave it.
    pub fn name(&self) -> &[u8] {
        &self.name
    }

    /// Share of ones.
    pub fn fill(&self) -> f64 {
        self.bits.fill()
    }

    /// Length of the name, name, id, bits.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = (self.name.len() as u16).to_le_bytes().to_vec();
        out.extend_from_slice(&self.name);
        out.extend_from_slice(&self.id);
        let bytes = self.bits.words().iter().flat_map(|word| word.to_le_bytes());
        out.extend(bytes.take(self.bits.len().div_ceil(8) as usize));
        out
    }

    /// The filter that [`Index::to_bytes`] wrote. Nothing is allocated before the length is right.
    pub fn parse(shape: Shape, bytes: &[u8]) -> Result<Self> {
        let cut = || bad("a document that is cut off");
        let (length, rest) = bytes.split_first_chunk::<2>().ok_or_else(cut)?;
        let length = usize::from(u16::from_le_bytes(*length));
        let (name, rest) = rest.split_at_checked(length).ok_or_else(cut)?;
        let (id, cells) = rest.split_first_chunk::<ID>().ok_or_else(cut)?;
        if cells.len() as u64 != shape.m.div_ceil(8) {
            return Err(bad("a document whose filter is not as long as the others"));
        }
        let mut bits = Bits::try_new(shape.m)?;
        for (i, byte) in cells.iter().enumerate() {
            let set = (0..8).filter(|bit| byte >> bit & 1 == 1).map(|bit| 8 * i as u64 + bit);
            for cell in set {
                if cell >= shape.m {
                    return Err(bad("ones behind the end of a filter"));
                }
                bits.set(cell);
            }
        }
        Ok(Self { name: name.to_vec(), id: *id, bits })
    }
}

/// The list entry.
pub static VARIANT: Variant = Variant::untyped(Facts {
    id: 93,
    slug: "secure-index",
    entry: "§43",
    question: "Which documents have a word, without the server learning it?",
    kind: EntryKind::Protocol,
    name: "Secure index (Z-IDX)",
    paper: "E.-J. Goh, Secure indexes, IACR ePrint 2003/216",
    family: "secure",
    needs: &["membership"],
    meaning: "items are the maximum number of distinct words in a document; the rate is that of documents that match \
              without containing the word (`everbloom secure index`)",
    reach: 1 << 26,
    ..Facts::FILTER
});

#[cfg(test)]
mod tests {
    use super::*;

    fn key() -> IndexKey {
        IndexKey::new(&Secret::new([3; 32]), 7)
    }

    fn shape() -> Shape {
        Shape::for_rate(50, 1.0 / 128.0).expect("a shape")
    }

    #[test]
    fn two_filters_under_one_id_show_what_changed_and_fresh_ids_do_not() {
        let words: Vec<Vec<u8>> = (0..50u32).map(|i| i.to_le_bytes().to_vec()).collect();
        let all = || words.iter().map(Vec::as_slice);
        let build = |id, skip| key().build_as(shape(), b"doc", id, all().skip(skip));
        // Both are full but for one word, so nothing random covers the change.
        let (before, after) = (build([1; 16], 1).expect("49"), build([1; 16], 0).expect("50"));
        let common = before.bits.ones_in_both(&after.bits);
        assert!(before.bits.ones() - common <= 7, "only the blinding of one word differs");
        let fresh = |skip| key().build(shape(), b"doc", all().skip(skip)).expect("fits");
        let (before, after) = (fresh(0), fresh(0));
        let (m, fill) = (shape().m as f64, before.fill() * after.fill());
        let common = before.bits.ones_in_both(&after.bits) as f64;
        assert!((common - m * fill).abs() < 6.0 * (m * fill * (1.0 - fill)).sqrt(), "{common}");
        assert!(before.id != after.id);
    }

    #[test]
    fn a_word_more_than_planned_is_refused_and_repetitions_are_not() {
        let words: Vec<[u8; 4]> = (0..51u32).map(u32::to_le_bytes).collect();
        let refused = key().build(shape(), b"doc", words.iter().map(|w| &w[..]));
        assert_eq!(refused.expect_err("51").kind(), Kind::CapacityExceeded);
        let twice = words[..50].iter().chain(&words[..50]).map(|w| &w[..]);
        let index = key().build(shape(), b"doc", twice).expect("50");
        assert!(words[..50].iter().all(|w| index.matches(&key().trapdoor(w))));
        let long = vec![b'x'; 65_536];
        assert!(key().build(shape(), &long, [&b"w"[..]]).is_err());
        assert!(IndexKey::new(&Secret::new([3; 32]), 8).build(shape(), b"", [&b"w"[..]]).is_err());
    }

    #[test]
    fn bytes_come_back_the_same_and_wrong_ones_are_refused() {
        let index = key().build(shape(), b"name", [&b"word"[..]]).expect("an index");
        let bytes = index.to_bytes();
        assert!(Index::parse(shape(), &bytes).expect("the same") == index);
        for length in 0..bytes.len() {
            assert!(Index::parse(shape(), &bytes[..length]).is_err(), "{length}");
        }
        assert!(Index::parse(shape(), &[&bytes[..], &[0]].concat()).is_err());
        let mut beyond = bytes.clone();
        *beyond.last_mut().expect("bits") |= 0x80;
        assert!(!shape().m.is_multiple_of(8) && Index::parse(shape(), &beyond).is_err());
        assert_eq!(Shape::parse(&shape().to_bytes()).expect("a shape"), shape());
        for wrong in [[0; 20], [0xFF; 20]] {
            assert!(Shape::parse(&wrong).is_err());
        }
        assert!(Shape::parse(&[1; 19]).is_err());
        let trapdoor = key().trapdoor(b"word");
        let bytes = trapdoor.to_bytes();
        assert!(index.matches(&Trapdoor::parse(7, &bytes).expect("the same")));
        for wrong in [&bytes[1..], &bytes[32..], &[&bytes[..], &[0]].concat()] {
            assert!(Trapdoor::parse(7, wrong).is_err());
        }
    }

    #[test]
    fn keys_and_trapdoors_are_not_printed() {
        let part = key().keys[0][0];
        let shown = format!("{:?} {:?}", key(), key().trapdoor(b"word"));
        assert!(!shown.contains("word") && !shown.contains('['), "{shown} {part}");
    }

    #[test]
    fn rates_that_no_index_has_are_refused() {
        assert_eq!(keys_for_rate(1.0 / 128.0).expect("a rate"), 7);
        assert_eq!(keys_for_rate(0.01).expect("a rate"), 7);
        assert_eq!(keys_for_rate(0.9).expect("a rate"), 1);
        for wrong in [0.0, 1.0, -1.0, 1e-30, f64::NAN] {
            assert!(keys_for_rate(wrong).is_err(), "{wrong}");
        }
        assert!(Shape::for_rate(u64::MAX, 0.01).is_err() && Shape::for_rate(0, 0.01).is_err());
    }
}
