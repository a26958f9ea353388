//! The digests of some keys in two columns: what is derived from all of them at once is vector code then.

use super::{Digest, HashId, Hasher, Key, multiply_shift};

/// Keys whose digests stand side by side.
pub(crate) const MANY: usize = 32;

/// First and second words of the digests of [`MANY`] keys.
pub(crate) struct Columns {
    pub(super) h1: [u64; MANY],
    pub(super) h2: [u64; MANY],
}

impl Columns {
    /// The digests of at most [`MANY`] keys, and others behind them. Words under XXH3-128 are hashed eight at once.
    #[inline]
    pub(crate) fn of<K: Key>(hasher: &Hasher, usual: HashId, keys: &[K]) -> Self {
        #[cfg(target_arch = "x86_64")]
        if K::LENGTH == Some(8) && hasher.id == HashId::Xxh3_128 && crate::simd::has_avx512() {
            let mut words = [0; MANY];
            for (word, key) in words.iter_mut().zip(keys) {
                *word = key.with_bytes(|bytes| bytes.try_into().map_or(0, u64::from_le_bytes));
            }
            return super::vector::columns(&words, hasher.start);
        }
        let mut columns = Self { h1: [0; MANY], h2: [0; MANY] };
        for (i, key) in keys.iter().take(MANY).enumerate() {
            let digest = hasher.digest_usually(usual, key);
            (columns.h1[i], columns.h2[i]) = (digest.h1, digest.h2);
        }
        columns
    }

    /// [`Digest::word`] of every digest.
    #[inline]
    pub(crate) fn words(&self, salt: u64) -> [u64; MANY] {
        #[cfg(target_arch = "x86_64")]
        if crate::simd::has_avx512() {
            return super::vector::words(self, salt);
        }
        std::array::from_fn(|i| self.digest(i).word(salt))
    }

    /// [`Self::words`], each spread by [`multiply_shift`] over the slice of `n` cells with the number of the salt.
    #[inline]
    pub(crate) fn places(&self, salt: u64, n: u64) -> [u64; MANY] {
        #[cfg(target_arch = "x86_64")]
        if let Ok(n) = u32::try_from(n)
            && crate::simd::has_avx512()
        {
            return super::vector::places(self, salt, n);
        }
        self.words(salt).map(|word| salt * n + multiply_shift(word, n))
    }

    /// The digest at `i`.
    #[inline]
    pub(crate) fn digest(&self, i: usize) -> Digest {
        Digest { h1: self.h1[i], h2: self.h2[i] }
    }
}

impl From<&[Digest]> for Columns {
    /// At most [`MANY`] digests, and others behind them.
    fn from(digests: &[Digest]) -> Self {
        let column =
            |word: fn(&Digest) -> u64| std::array::from_fn(|i| digests.get(i).map_or(0, word));
        Self { h1: column(|digest| digest.h1), h2: column(|digest| digest.h2) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::mix64;

    #[test]
    fn columns_are_the_digests_of_single_keys_and_what_follows_from_them() {
        let special = [0, 1, u64::MAX, 1 << 63, u64::from(u32::MAX), 1 << 32];
        for round in 0..100u64 {
            let mut keys: Vec<u64> = (0..32).map(|i| mix64(32 * round + i)).collect();
            keys[round as usize % 32] = special[round as usize % 6];
            keys.truncate(32 - round as usize % 7);
            let texts: Vec<String> = keys.iter().map(u64::to_string).collect();
            for id in [HashId::Xxh3_128, HashId::Lane64, HashId::Xxh64] {
                let hasher = Hasher::with_id(id, special[round as usize / 7 % 6]).unwrap();
                let columns = Columns::of(&hasher, HashId::Xxh3_128, &keys);
                let of_texts = Columns::of(&hasher, HashId::Xxh3_128, &texts);
                let digests: Vec<Digest> = keys.iter().map(|key| hasher.digest(key)).collect();
                let copied = Columns::from(&digests[..]);
                for (i, digest) in digests.iter().enumerate() {
                    assert_eq!((columns.digest(i), copied.digest(i)), (*digest, *digest), "{id}");
                    assert_eq!(of_texts.digest(i), hasher.digest(&texts[i]), "{id}");
                    assert_eq!(columns.words(round)[i], digest.word(round));
                    for n in [1, 7, 27_183, u64::from(u32::MAX), 1 << 32, 1 << 50] {
                        let place = round * n + multiply_shift(digest.word(round), n);
                        assert_eq!(columns.places(round, n)[i], place, "{n}");
                    }
                }
            }
        }
    }
}
