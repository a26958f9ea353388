//! A filter of another software's, opened.

use std::fmt;

use everbloom::internals::cells::Bits as Cells;
use everbloom::internals::filter::{fact, real};
use everbloom::internals::hash::Digest;
use everbloom::internals::probe::{Foreign as Indices, Scheme as Probes};
use everbloom::{Bloom, Error, Fact, Filter, HashId, Hasher, Kind, Result};

use super::Format;
use crate::bits::Bits;
use crate::key::{Key, KeyAs};
use crate::read::corrupt;

/// A filter of a foreign format: its bits as they were read, and the other software's way to find a key's.
pub struct Foreign {
    format: &'static Format,
    layout: Box<dyn Layout>,
}

impl Foreign {
    pub(crate) fn new(format: &'static Format, layout: impl Layout + 'static) -> Self {
        Self { format, layout: Box::new(layout) }
    }

    /// Its format.
    pub fn format(&self) -> &'static Format {
        self.format
    }

    /// Whether the key may be a member. A key that the format does not take is an error.
    pub fn contains<'a>(&self, key: impl Into<Key<'a>>) -> Result<bool> {
        self.layout.contains(&key.into())
    }

    /// Inserts a key; true if it was certainly not there before.
    pub fn insert<'a>(&mut self, key: impl Into<Key<'a>>) -> Result<bool> {
        self.layout.insert(&key.into()).unwrap_or_else(|| {
            let message =
                format!("filters of format {} can be read, but not written", self.format.name);
            Err(Error::new(Kind::Unsupported, message))
        })
    }

    /// The file's bytes.
    pub fn write(&self) -> Result<Vec<u8>> {
        self.layout.write().ok_or_else(|| self.format.cannot("be written"))
    }

    /// Its shape, in a few facts.
    pub fn describe(&self) -> Vec<Fact> {
        self.layout.describe()
    }

    /// Share of ones among its bits, or of cells in use.
    pub fn fill(&self) -> f64 {
        self.layout.fill()
    }

    /// P(a non-member passes), predicted from the fill.
    pub fn fpr(&self) -> f64 {
        self.layout.fpr()
    }

    /// The number of distinct keys, estimated from the fill if possible.
    pub fn cardinality(&self) -> Option<f64> {
        self.layout.cardinality()
    }

    /// Bits of its cells.
    pub fn bits(&self) -> u64 {
        self.layout.bits()
    }

    /// The same bits as a filter of the library, where they fit a variant. Its keys are the bytes that the other
    /// software hashes.
    pub fn to_filter(&self) -> Result<Box<dyn Filter>> {
        self.to_filter_of(KeyAs::String)
    }

    /// [`Foreign::to_filter`] for keys of a kind: some software hashes numbers by another function than bytes. Here
    /// they are the eight little-endian bytes of an integer, or of a floating-point number.
    pub fn to_filter_of(&self, keys: KeyAs) -> Result<Box<dyn Filter>> {
        self.layout.to_filter(keys).unwrap_or_else(|| {
            let message = format!(
                "no variant of this library finds keys as format {} does; query the file directly",
                self.format.name
            );
            Err(Error::new(Kind::Unsupported, message))
        })
    }
}

impl fmt::Debug for Foreign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} filter of {} bits", self.format.name, self.bits())
    }
}

/// What a format's file does for its filters.
pub(crate) trait Layout: Send + Sync {
    fn contains(&self, key: &Key<'_>) -> Result<bool>;

    /// Inserts a key; `None` where the format is only read.
    fn insert(&mut self, _key: &Key<'_>) -> Option<Result<bool>> {
        None
    }

    /// The file's bytes; `None` where the format is only read.
    fn write(&self) -> Option<Vec<u8>>;

    fn describe(&self) -> Vec<Fact>;

    fn fill(&self) -> f64;

    fn fpr(&self) -> f64;

    fn cardinality(&self) -> Option<f64> {
        None
    }

    fn bits(&self) -> u64;

    fn to_filter(&self, _keys: KeyAs) -> Option<Result<Box<dyn Filter>>> {
        None
    }
}

/// Where the keys of one flat filter are, and what its file says around the bits. Which bits are a key's is said by
/// [`probes`](Scheme::probes) if the library has such probes, or else by [`all`](Scheme::all).
pub(crate) trait Scheme: Send + Sync {
    /// What the number of bits has to be a multiple of.
    const WHOLE: u64 = 64;
    /// The most probes that a file can state.
    const MOST_K: u32 = MAX_K;
    /// The most bits that a file can state.
    const MOST_BITS: u64 = u64::MAX;

    /// The probes and the hash of a library's filter that finds keys of that kind at the same bits, if there are such.
    fn probes(&self, _keys: KeyAs) -> Option<(Probes, Hasher)> {
        None
    }

    /// The digest of a key by that hash; `None` for a key that is in no filter.
    #[inline]
    fn digest(&self, hasher: &Hasher, key: &Key<'_>) -> Option<Digest> {
        Some(key.little(|bytes| hasher.digest(bytes)))
    }

    /// Whether `probe` holds for each of the `k` indices below `m` of a key; stops at the first for which it does
    /// not.
    #[inline]
    fn all(&self, key: &Key<'_>, m: u64, k: u32, probe: impl FnMut(u64) -> bool) -> bool {
        let Some((probes, hasher)) = self.probes(key.kind()) else { return false };
        let indices = Indices::new(probes, m, k).ok();
        let digest = self.digest(&hasher, key);
        indices.zip(digest).is_some_and(|(indices, digest)| indices.indices(digest).all(probe))
    }

    /// The whole file.
    fn write(&self, k: u32, bits: &Bits) -> Option<Vec<u8>>;

    /// What the file says beyond m and k.
    fn describe(&self) -> Vec<Fact> {
        Vec::new()
    }

    /// Bits of the blocks that hold all bits of a key each, where there are blocks.
    fn block(&self) -> Option<u64> {
        None
    }

    /// Notes that a key was inserted, and whether a bit was new.
    fn inserted(&mut self, _new: bool) {}

    /// The same bits as a filter of the library, if it has such probes.
    fn to_filter(&self, k: u32, bits: &Bits, keys: KeyAs) -> Option<Result<Box<dyn Filter>>> {
        Some(to_bloom(bits, k, self.probes(keys)?, self.plan()))
    }

    /// The number of keys and the planned rate, where the file says.
    fn plan(&self) -> (Option<u64>, Option<f64>) {
        (None, None)
    }
}

/// Probes with a hash under a seed.
pub(crate) fn probing(probes: Probes, hash: HashId, seed: u64) -> Option<(Probes, Hasher)> {
    Some((probes, Hasher::with_id(hash, seed).ok()?))
}

/// Bits with k probes per key into all of them.
#[derive(Clone, Debug)]
pub(crate) struct Flat<S> {
    pub(crate) scheme: S,
    pub(crate) k: u32,
    pub(crate) bits: Bits,
}

/// More probes than any filter has; a file that claims more would only keep its reader busy.
const MAX_K: u32 = 1024;

/// The most bits of a file that counts words of 64 bits by a signed number of 32.
pub(crate) const COUNTED_WORDS: u64 = 64 * i32::MAX as u64;

/// A number of bits that a file of the scheme can state.
fn checked_bits<S: Scheme>(m: u64) -> Result<()> {
    if m <= S::MOST_BITS {
        return Ok(());
    }
    let message = format!("{m} bits, but the format can count only {}", S::MOST_BITS);
    Err(Error::new(Kind::CapacityExceeded, message))
}

/// A number of probes that can be worked with.
pub(crate) fn checked_k(k: u64) -> Result<u32> {
    match u32::try_from(k) {
        Ok(k) if (1..=MAX_K).contains(&k) => Ok(k),
        _ => Err(corrupt(format!("{k} probes per key"))),
    }
}

impl<S: Scheme> Flat<S> {
    pub(crate) fn new(scheme: S, k: u64, bits: Bits) -> Result<Self> {
        checked_bits::<S>(bits.m())?;
        Ok(Self { scheme, k: checked_k(k)?, bits })
    }

    /// Bits and ones of each block, or of the whole filter.
    fn blocks(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let m = self.scheme.block().unwrap_or(self.bits.m());
        let bytes = self.scheme.block().map_or(self.bits.bytes().len(), |bits| bits as usize / 8);
        let ones = |block: &[u8]| block.iter().map(|byte| u64::from(byte.count_ones())).sum();
        self.bits.bytes().chunks(bytes).map(move |block| (m, ones(block)))
    }

    pub(crate) fn has(&self, key: &Key<'_>) -> bool {
        self.scheme.all(key, self.bits.m(), self.k, |i| self.bits.get(i))
    }
}

impl<S: Scheme> Layout for Flat<S> {
    fn contains(&self, key: &Key<'_>) -> Result<bool> {
        Ok(self.has(key))
    }

    fn insert(&mut self, key: &Key<'_>) -> Option<Result<bool>> {
        let mut new = false;
        self.scheme.all(key, self.bits.m(), self.k, |i| {
            new |= self.bits.set(i);
            true
        });
        self.scheme.inserted(new);
        Some(Ok(new))
    }

    fn write(&self) -> Option<Vec<u8>> {
        self.scheme.write(self.k, &self.bits)
    }

    fn describe(&self) -> Vec<Fact> {
        let mut facts = vec![fact("m", self.bits.m()), fact("k", self.k)];
        facts.extend(self.scheme.describe());
        facts
    }

    fn fill(&self) -> f64 {
        self.bits.fill()
    }

    /// The mean over the blocks.
    fn fpr(&self) -> f64 {
        let rate = |(m, ones): (u64, u64)| (ones as f64 / m as f64).min(1.0).powi(self.k as i32);
        self.blocks().map(rate).sum::<f64>() / self.blocks().count() as f64
    }

    fn cardinality(&self) -> Option<f64> {
        self.blocks().map(|(m, ones)| cardinality(m, self.k, ones)).sum()
    }

    fn bits(&self) -> u64 {
        self.bits.m()
    }

    fn to_filter(&self, keys: KeyAs) -> Option<Result<Box<dyn Filter>>> {
        self.scheme.to_filter(self.k, &self.bits, keys)
    }
}

/// Bits as a filter of the library.
pub(crate) fn to_bloom(
    bits: &Bits,
    k: u32,
    (probes, hasher): (Probes, Hasher),
    (items, fpr): (Option<u64>, Option<f64>),
) -> Result<Box<dyn Filter>> {
    let bloom = Bloom::from_foreign(bits.bytes(), bits.m(), k, probes, hasher)?;
    Ok(Box::new(bloom.as_planned(items, fpr)))
}

/// A filter of the library as that one of `schemes` whose probes and hash it has.
pub(crate) fn adopt<S: Scheme + 'static>(
    format: &'static Format,
    filter: &dyn Filter,
    schemes: impl IntoIterator<Item = S>,
) -> Result<Foreign> {
    let bloom: &Bloom = adopted(format, filter)?;
    let ours = Some((bloom.scheme(), filter.head().hasher.clone()));
    let is_ours =
        |scheme: &S| [KeyAs::String, KeyAs::Long].iter().any(|keys| scheme.probes(*keys) == ours);
    let scheme = schemes.into_iter().find(is_ours).ok_or_else(|| other_probes(format, filter))?;
    if bloom.k() > S::MOST_K {
        return Err(format.cannot(&format!("have more than {} probes", S::MOST_K)));
    }
    let bits = words_of(format, bloom, S::WHOLE)?;
    Ok(Foreign::new(format, Flat::new(scheme, bloom.k().into(), bits)?))
}

/// A filter of the library that may have the bits of a foreign one.
pub(crate) fn adopted<'a, F: Filter + 'static>(
    format: &Format,
    filter: &'a dyn Filter,
) -> Result<&'a F> {
    let ours = filter.as_same().map_err(|_| other_probes(format, filter))?;
    if !filter.head().reading.is_plain() {
        return Err(format.cannot("give the type of the filter's keys"));
    }
    Ok(ours)
}

/// The bytes of bits, in whole words.
pub(crate) fn bytes_of(bits: &Cells) -> Vec<u8> {
    bits.words().iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// Its bits, if their number is a multiple of `whole`: in whole words, or in bytes if eight of them are enough.
pub(crate) fn words_of(format: &Format, bloom: &Bloom, whole: u64) -> Result<Bits> {
    if !bloom.m().is_multiple_of(whole) {
        return Err(format.cannot(&format!("hold bits that are not whole groups of {whole}")));
    }
    let mut bytes = bytes_of(bloom.bits());
    if whole == 8 {
        bytes.truncate((bloom.m() / 8) as usize);
    }
    Bits::new(&bytes, bloom.m())
}

pub(crate) fn other_probes(format: &Format, filter: &dyn Filter) -> Error {
    let slug = filter.facts().slug;
    format.cannot(&format!("hold the bits of a {slug} filter, which has other probes"))
}

/// The number of keys that leave so many ones among m bits; `None` if there is no zero left.
pub(crate) fn cardinality(m: u64, k: u32, ones: u64) -> Option<f64> {
    let (m, k) = (m as f64, f64::from(k));
    let zeros = m - ones as f64;
    (zeros > 0.0).then(|| -(zeros / m).ln() * m / k)
}

/// The sizes that most software agrees on: m = n·ln(1/p)/ln²2, not yet rounded.
pub(crate) fn best_bits(items: u64, fpr: f64) -> f64 {
    -(items as f64) * fpr.ln() / (std::f64::consts::LN_2 * std::f64::consts::LN_2)
}

/// k = (m/n)·ln 2, not yet rounded.
pub(crate) fn best_probes(m: u64, items: u64) -> f64 {
    m as f64 / items as f64 * std::f64::consts::LN_2
}

/// A rate that the file states.
pub(crate) fn rate(name: &'static str, value: f64) -> Fact {
    real(name, value)
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Short;

    impl Scheme for Short {
        const MOST_BITS: u64 = 128;

        fn write(&self, _: u32, _: &Bits) -> Option<Vec<u8>> {
            None
        }
    }

    /// A count that wraps would be another filter.
    #[test]
    fn bits_that_a_file_cannot_count_are_refused() -> Result<()> {
        assert!(Flat::new(Short, 3, Bits::zeros(128, 8)?).is_ok());
        let refused = Flat::new(Short, 3, Bits::zeros(192, 8)?).err().map(|e| e.kind());
        assert_eq!(refused, Some(Kind::CapacityExceeded));
        Ok(())
    }
}
