//! The digests of many keys, a chunk at a time: what the calls for many keys work on.
#![allow(unsafe_code)]

#[cfg(target_arch = "x86_64")]
use super::vector::{self, Texts};
#[cfg(target_arch = "x86_64")]
use super::xxh3;
use super::{Digest, HashId, Hasher, Key, rarely};

/// Digests of a chunk.
pub(crate) const CHUNK: usize = 64;

/// Keys of eight bytes each.
#[cfg(target_arch = "x86_64")]
pub(crate) struct Words<'a> {
    pub(crate) keys: &'a [u64; CHUNK],
    /// The seed as the hash wants it.
    pub(crate) seed: u64,
}

/// Where digests come from.
pub(crate) trait Digests {
    /// Hands the next digests to `put`, with their numbers in the chunk, and says how many there are: at most
    /// [`CHUNK`], and none only at the end.
    fn next(&mut self, put: impl FnMut(usize, Digest)) -> usize;

    /// The next [`CHUNK`] keys, if they are to be hashed by `kind` and have eight bytes each, with that hash's
    /// seed: for callers that can hash several at once. They are put into `room` by those who have them nowhere in that form.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    fn words<'a>(&'a mut self, kind: HashId, room: &'a mut [u64; CHUNK]) -> Option<Words<'a>> {
        let _ = (kind, room);
        None
    }

    /// The next [`CHUNK`] digests, if they are there already: for callers that can place several at once.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    fn given(&mut self) -> Option<&[Digest; CHUNK]> {
        None
    }

    /// The next eight keys, if they are to be hashed by `kind`, which starts from XXH3-64, and are as long as
    /// [`Texts`] are: for callers that can hash several at once.
    ///
    /// # Safety
    /// There is AVX-512.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    unsafe fn texts(&mut self, kind: HashId) -> Option<Texts> {
        let _ = kind;
        None
    }

    /// Calls `f` with the number of every digest and the digest; says how many there were.
    fn for_each(mut self, mut f: impl FnMut(u64, Digest)) -> u64
    where
        Self: Sized,
    {
        let (mut done, mut chunk) = (0, [Digest { h1: 0, h2: 0 }; CHUNK]);
        loop {
            let count = self.next(|i, digest| chunk[i] = digest);
            chunk[..count].iter().for_each(|digest| {
                f(done, *digest);
                done += 1;
            });
            if count == 0 {
                return done;
            }
        }
    }
}

impl<D: Digests> Digests for &mut D {
    #[inline(always)]
    fn next(&mut self, put: impl FnMut(usize, Digest)) -> usize {
        D::next(self, put)
    }

    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    fn words<'a>(&'a mut self, kind: HashId, room: &'a mut [u64; CHUNK]) -> Option<Words<'a>> {
        D::words(self, kind, room)
    }

    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    fn given(&mut self) -> Option<&[Digest; CHUNK]> {
        D::given(self)
    }

    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    unsafe fn texts(&mut self, kind: HashId) -> Option<Texts> {
        // SAFETY: the caller says so.
        unsafe { D::texts(self, kind) }
    }
}

/// Keys to be hashed, by a hasher that is mostly of the kind with the number `USUAL`. A number and not a field:
/// loops over keys are compiled for it.
pub(crate) struct Keys<'a, I, const USUAL: u16> {
    hasher: &'a Hasher,
    /// None once they have ended. A loop over them takes them out of here: behind a reference every step of theirs would go
    /// through memory.
    keys: Option<I>,
    /// Keys that may still be taken.
    most: usize,
    /// Keys that were taken to be hashed several at once, a chunk ahead: keys that have just been written one by one cannot be
    /// read eight at a time at once, and all the rest would wait for them.
    ahead: [[u64; CHUNK]; 2],
    /// Which of the two they wait in, and how many they are.
    waiting: (usize, usize),
}

impl<'a, I: Iterator<Item: Key>, const USUAL: u16> Keys<'a, I, USUAL> {
    /// The first keys of an iterator, `most` of them.
    #[inline]
    pub(crate) fn new(hasher: &'a Hasher, keys: I, most: usize) -> Self {
        Self { hasher, keys: Some(keys), most, ahead: [[0; CHUNK]; 2], waiting: (0, 0) }
    }

    /// The keys that were not taken; `None` if there are no more.
    #[inline(always)]
    pub(crate) fn rest(self) -> Option<I> {
        self.keys
    }

    /// [`Digests::next`] by a hasher that is of the kind `USUAL`, or by any.
    #[inline(always)]
    fn next_by<const IS_USUAL: bool>(&mut self, mut put: impl FnMut(usize, Digest)) -> usize {
        let (hasher, (which, left)) = (self.hasher, self.waiting);
        for (i, word) in self.ahead[which][..left].iter().enumerate() {
            put(i, digest::<USUAL, IS_USUAL, _>(hasher, word));
        }
        self.waiting.1 = 0;
        take(
            &mut self.keys,
            &mut self.most,
            left,
            // Else it is a call per key.
            #[inline(always)]
            |i, key| put(i, digest::<USUAL, IS_USUAL, _>(hasher, &key)),
        )
    }

    /// The next keys, of eight bytes each, wait in one of the two chunks.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    fn take_words(&mut self, which: usize) {
        let words = &mut self.ahead[which];
        let count = take(&mut self.keys, &mut self.most, 0, |i, key| {
            words[i] = key.with_bytes(|bytes| bytes.try_into().map_or(0, u64::from_le_bytes));
        });
        self.waiting = (which, count);
    }
}

/// Calls `f` with each of the next keys, from number `first` on up to [`CHUNK`], and its number; says how many there are then.
/// `most` is how many may be taken.
#[inline(always)]
fn take<I: Iterator>(
    from: &mut Option<I>,
    most: &mut usize,
    first: usize,
    mut f: impl FnMut(usize, I::Item),
) -> usize {
    let Some(mut keys) = from.take() else { return first };
    let end = CHUNK.min(first.saturating_add(*most));
    for i in first..end {
        let Some(key) = keys.next() else {
            *most = 0;
            return i;
        };
        f(i, key);
    }
    *most -= end - first;
    *from = Some(keys);
    end
}

impl<I: Iterator<Item: Key>, const USUAL: u16> Digests for Keys<'_, I, USUAL> {
    #[inline(always)]
    fn next(&mut self, put: impl FnMut(usize, Digest)) -> usize {
        if self.hasher.id() == const { kind(USUAL) } {
            return self.next_by::<true>(put);
        }
        rarely();
        self.next_by::<false>(put)
    }

    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    fn words<'a>(&'a mut self, kind: HashId, _: &'a mut [u64; CHUNK]) -> Option<Words<'a>> {
        if I::Item::LENGTH != Some(8) || USUAL != kind as u16 || self.hasher.id() != kind {
            return None;
        }
        if self.waiting.1 == 0 {
            self.take_words(0);
        }
        let (which, count) = self.waiting;
        if count < CHUNK {
            return None;
        }
        self.take_words(1 - which);
        Some(Words { keys: &self.ahead[which], seed: self.hasher.seed_of(kind) })
    }
}

/// [`Keys`] in a slice: those of eight bytes can be hashed several at once.
pub(crate) struct Batch<'a, K, const USUAL: u16> {
    hasher: &'a Hasher,
    keys: &'a [K],
}

impl<'a, K: Key, const USUAL: u16> Batch<'a, K, USUAL> {
    #[inline]
    pub(crate) fn new(hasher: &'a Hasher, keys: &'a [K]) -> Self {
        Self { hasher, keys }
    }

    /// [`Digests::next`] by a hasher that is of the kind `USUAL`, or by any.
    #[inline(always)]
    fn next_by<const IS_USUAL: bool>(&mut self, mut put: impl FnMut(usize, Digest)) -> usize {
        let (now, later) = self.keys.split_at(self.keys.len().min(CHUNK));
        for (i, key) in now.iter().enumerate() {
            put(i, digest::<USUAL, IS_USUAL, _>(self.hasher, key));
        }
        self.keys = later;
        now.len()
    }
}

impl<K: Key, const USUAL: u16> Digests for Batch<'_, K, USUAL> {
    #[inline(always)]
    fn next(&mut self, put: impl FnMut(usize, Digest)) -> usize {
        if self.hasher.id() == const { kind(USUAL) } {
            return self.next_by::<true>(put);
        }
        rarely();
        self.next_by::<false>(put)
    }

    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    fn words<'a>(&'a mut self, kind: HashId, room: &'a mut [u64; CHUNK]) -> Option<Words<'a>> {
        if K::LENGTH != Some(8) || USUAL != kind as u16 || self.hasher.id() != kind {
            return None;
        }
        let (now, later) = self.keys.split_first_chunk::<CHUNK>()?;
        for (word, key) in room.iter_mut().zip(now) {
            *word = key.with_bytes(|bytes| bytes.try_into().map_or(0, u64::from_le_bytes));
        }
        self.keys = later;
        Some(Words { keys: room, seed: self.hasher.seed_of(kind) })
    }

    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    unsafe fn texts(&mut self, kind: HashId) -> Option<Texts> {
        let never = K::LENGTH.is_some_and(|length| !xxh3::TEXT.contains(&length));
        if never || USUAL != kind as u16 || self.hasher.id() != kind {
            return None;
        }
        let (now, later) = self.keys.split_first_chunk::<8>()?;
        let text = |i: usize| {
            let text = |bytes: &[u8]| Some((xxh3::ends(bytes)?.map(vector::piece), bytes.len()));
            now[i].with_bytes(text)
        };
        // One by one and not in a loop: what has a place that the compiler knows stays in registers.
        let texts =
            [text(0)?, text(1)?, text(2)?, text(3)?, text(4)?, text(5)?, text(6)?, text(7)?];
        let four = |end: usize, first: usize| {
            let piece = |i: usize| texts[first + 2 * i].0[end];
            // SAFETY: the caller says that there is AVX-512.
            unsafe { vector::four(piece(0), piece(1), piece(2), piece(3)) }
        };
        let (starts, ends) = ([four(0, 0), four(0, 1)], [four(1, 0), four(1, 1)]);
        let lengths = (0..8).map(|i| (texts[i].1 as u64) << (8 * i)).sum();
        self.keys = later;
        Some(Texts { starts, ends, lengths, seed: self.hasher.seed })
    }
}

#[cfg(target_arch = "x86_64")]
impl Hasher {
    /// The seed as a hash of words wants it.
    #[inline(always)]
    fn seed_of(&self, kind: HashId) -> u64 {
        let folded = matches!(kind, HashId::Lane64 | HashId::Fold64);
        if folded { self.start } else { self.seed }
    }
}

/// The kind of hash with a number.
const fn kind(number: u16) -> HashId {
    match HashId::from_number(number) {
        Some(id) => id,
        None => panic!("no such hash"),
    }
}

/// The digest of a key by a hasher that is of the kind `USUAL`, or by any. Which it is, is asked once a chunk: of a digest
/// that comes from either of two branches the compiler computes both words, also where one of them is left alone.
#[inline(always)]
fn digest<const USUAL: u16, const IS_USUAL: bool, K: Key + ?Sized>(
    hasher: &Hasher,
    key: &K,
) -> Digest {
    if IS_USUAL { hasher.digest_by(const { kind(USUAL) }, key) } else { hasher.digest(key) }
}

/// Digests that are there already.
pub(crate) struct Given<'a>(pub(crate) &'a [Digest]);

impl Digests for Given<'_> {
    #[inline(always)]
    fn next(&mut self, mut put: impl FnMut(usize, Digest)) -> usize {
        let (now, later) = self.0.split_at(self.0.len().min(CHUNK));
        now.iter().enumerate().for_each(|(i, digest)| put(i, *digest));
        self.0 = later;
        now.len()
    }

    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    fn given(&mut self) -> Option<&[Digest; CHUNK]> {
        let (now, later) = self.0.split_first_chunk()?;
        self.0 = later;
        Some(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::mix64;

    const LANE: u16 = HashId::Lane64 as u16;
    const XXH64: u16 = HashId::Xxh64 as u16;

    /// Everything that a source hands out.
    fn all(source: impl Digests) -> Vec<Digest> {
        let mut digests = Vec::new();
        let count = source.for_each(|i, digest| {
            assert_eq!(i, digests.len() as u64);
            digests.push(digest);
        });
        assert_eq!(count, digests.len() as u64);
        digests
    }

    /// Whole chunks as words, and the rest as digests, is what all keys are.
    #[cfg(target_arch = "x86_64")]
    #[test]
    fn words_and_what_is_left_are_all_keys() {
        for n in [0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 3 * CHUNK, 300] {
            let keys: Vec<u64> = (0..n as u64).map(mix64).collect();
            let hasher = Hasher::with_id(HashId::Lane64, 3).unwrap();
            let mut batch = Batch::<_, LANE>::new(&hasher, &keys);
            let mut iterator = Keys::<_, LANE>::new(&hasher, keys.iter(), usize::MAX);
            let mut seen = [const { Vec::<u64>::new() }; 2];
            let mut room = [0; CHUNK];
            while let Some(words) = batch.words(HashId::Lane64, &mut room) {
                seen[0].extend(words.keys);
            }
            while let Some(words) = iterator.words(HashId::Lane64, &mut room) {
                seen[1].extend(words.keys);
            }
            let [rest, others] = [all(batch), all(iterator)];
            assert_eq!((&seen[0], &rest), (&seen[1], &others));
            assert_eq!(seen[0], keys[..n / CHUNK * CHUNK]);
            let left = &keys[n / CHUNK * CHUNK..];
            assert_eq!(rest, left.iter().map(|key| hasher.digest(key)).collect::<Vec<_>>());
        }
    }

    #[test]
    fn chunks_are_the_digests_of_single_keys() {
        for n in [0, 1, CHUNK as u64 - 1, CHUNK as u64, CHUNK as u64 + 1, 1000] {
            let words: Vec<u64> = (0..n).map(mix64).collect();
            let texts: Vec<String> = words.iter().map(u64::to_string).collect();
            let unkeyed = HashId::ALL.into_iter().filter(|id| *id != HashId::SipHash24_128);
            for id in unkeyed {
                let hasher = Hasher::with_id(id, 3).unwrap();
                let one_by_one: Vec<_> = words.iter().map(|key| hasher.digest(key)).collect();
                assert_eq!(all(Given(&one_by_one)), one_by_one);
                let numbers = words.iter();
                assert_eq!(
                    all(Keys::<_, LANE>::new(&hasher, numbers.clone(), usize::MAX)),
                    one_by_one,
                    "{id}"
                );
                assert_eq!(
                    all(Keys::<_, XXH64>::new(&hasher, numbers, usize::MAX)),
                    one_by_one,
                    "{id}"
                );
                assert_eq!(all(Batch::<_, LANE>::new(&hasher, &words)), one_by_one, "{id}");
                assert_eq!(all(Batch::<_, XXH64>::new(&hasher, &words)), one_by_one, "{id}");
                let single: Vec<_> = texts.iter().map(|key| hasher.digest(key)).collect();
                assert_eq!(
                    all(Keys::<_, LANE>::new(&hasher, texts.iter(), usize::MAX)),
                    single,
                    "{id}"
                );
                assert_eq!(all(Batch::<_, LANE>::new(&hasher, &texts)), single, "{id}");
            }
        }
    }
}
