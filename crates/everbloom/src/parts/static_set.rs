//! The outer half of filters that are built once, from the digests of all their keys: from keys to digests,
//! on one core or two, and the queries. What cells they have and how these are solved for, they say themselves.

use crate::cells::Packed;
use crate::error::Result;
use crate::filter::Head;
use crate::hash::{Digest, Hasher, Key};
use crate::plan::Goal;
use crate::threads::Cores;
use crate::variant::{Inputs, Plan, settle};

/// A filter that is built from the digests of all its keys.
pub(crate) trait StaticSet: Plan {
    /// What it needs of a digest: all of it, or a word.
    type Word: From<Digest> + Send;

    /// The filter of these keys, in any order, some of which may be the same: such are there once.
    fn assemble(
        shape: &Self::Shape,
        head: Head,
        words: Vec<Self::Word>,
        cores: Cores,
    ) -> Result<Self>;

    /// Whether the key may be a member.
    fn has(&self, digest: Digest) -> bool;

    /// [`StaticSet::has`] for many keys.
    fn have(&self, digests: &[Digest], found: &mut [bool]) {
        for (digest, found) in digests.iter().zip(found) {
            *found = self.has(*digest);
        }
    }
}

impl From<Digest> for u64 {
    #[inline]
    fn from(digest: Digest) -> u64 {
        digest.h1
    }
}

/// The filter of keys at a rate, under the default hash and seed, from the words that `hashed` makes of them.
pub(crate) fn planned<T: StaticSet>(
    fpr: f64,
    cores: Cores,
    hashed: impl FnOnce(&Hasher) -> Vec<T::Word>,
) -> Result<T> {
    let hasher = Hasher::default().or(T::HASH);
    let words = hashed(&hasher);
    let (shape, head) = settle::<T>(&Goal::new((words.len() as u64).max(1), fpr))?;
    debug_assert_eq!(head.hasher, hasher, "hashed as planned");
    T::assemble(&shape, head, words, cores)
}

/// The filter of a shape and a form under a hash, the type's own unless it is named.
pub(crate) fn shaped<T: StaticSet>(
    shape: &T::Shape,
    form: &'static str,
    hasher: Hasher,
    keys: impl IntoIterator<Item: Key>,
) -> Result<T> {
    let head = Head::new(hasher.or(T::HASH), form);
    let words = hashed::<T>(&head.hasher, keys);
    T::assemble(shape, head, words, Cores::ONE)
}

/// The words of keys.
pub(crate) fn hashed<T: StaticSet>(
    hasher: &Hasher,
    keys: impl IntoIterator<Item: Key>,
) -> Vec<T::Word> {
    let word = |key| hasher.digest_usually(T::HASH, &key).into();
    keys.into_iter().map(word).collect()
}

/// [`hashed`] on several cores.
pub(crate) fn hashed_by<T: StaticSet>(
    cores: Cores,
    hasher: &Hasher,
    keys: &[impl Key + Sync],
) -> Vec<T::Word> {
    let share = keys.len().div_ceil(cores.count()).max(1);
    let mut parts = cores.map(keys.chunks(share), |keys| hashed::<T>(hasher, keys)).into_iter();
    let mut words = parts.next().unwrap_or_default();
    parts.for_each(|mut more| words.append(&mut more));
    words
}

/// The filter of records.
pub(crate) fn created<T: StaticSet>(
    shape: &T::Shape,
    head: Head,
    inputs: &mut Inputs<'_>,
) -> Result<T> {
    let mut words = Vec::new();
    inputs.records.digests(&head.hasher, &mut |digests| {
        words.extend(digests.iter().map(|digest| T::Word::from(*digest)));
    })?;
    let cores = Cores::for_keys(words.len());
    T::assemble(shape, head, words, cores)
}

/// Each digest once, sorted on several cores, and how many there are.
pub(crate) fn distinct(mut digests: Vec<Digest>, cores: Cores) -> (Vec<Digest>, u64) {
    cores.sort(&mut digests, |digest| digest.h1, |digest| *digest);
    digests.dedup();
    let items = digests.len() as u64;
    (digests, items)
}

/// Fingerprints of `width` bits, a word of each digest, at the numbers of their keys.
pub(crate) fn fingerprints(
    digests: &[Digest],
    width: u32,
    word: u64,
    number: impl Fn(Digest) -> Option<u64>,
) -> Result<Packed> {
    let mut fingerprints = Packed::try_new(digests.len() as u64, width)?;
    for digest in digests {
        if let Some(number) = number(*digest) {
            fingerprints.set(number, digest.word(word));
        }
    }
    Ok(fingerprints)
}

/// Whether the fingerprint at a number, if there is one, is the lower end of `word`.
#[inline]
pub(crate) fn is_at(fingerprints: &Packed, number: Option<u64>, word: u64) -> bool {
    let expected = word & fingerprints.max();
    number.is_some_and(|number| fingerprints.get(number) == expected)
}

/// `static_set!(Golomb);`: building and queries of a type that is a [`StaticSet`] with a field `head`.
/// `static_set!(@built BinaryFuse);` leaves the queries for keys to the type.
macro_rules! static_set {
    ($type:ident) => {
        $crate::parts::static_set!(@built $type);

        impl $type {
            /// Whether the key may be a member.
            #[inline]
            pub fn contains<K: $crate::hash::Key + ?Sized>(&self, key: &K) -> bool {
                use $crate::{parts::static_set::StaticSet, variant::Plan};
                self.has(self.head.hasher.digest_usually(Self::HASH, key))
            }
        }

        $crate::parts::methods!($type: contains_many, contains_many_into, contains_iter);
    };
    (@built $type:ident) => {
        $crate::variant::built!(@builder $type);

        impl $type {
            /// The filter of these keys at a false-positive rate of `fpr`, under the default hash and seed.
            /// A repeated key is stored once.
            pub fn from_keys<I>(keys: I, fpr: f64) -> $crate::error::Result<Self>
            where
                I: IntoIterator<Item: $crate::hash::Key>,
            {
                use $crate::parts::static_set::{hashed, planned};
                planned(fpr, $crate::threads::Cores::ONE, |hasher| hashed::<Self>(hasher, keys))
            }

            /// [`Self::from_keys`] on several cores, as far as the filter can be built by them: the same one, bit for bit.
            pub fn from_keys_parallel<K>(keys: &[K], fpr: f64) -> $crate::error::Result<Self>
            where
                K: $crate::hash::Key + Sync,
            {
                use $crate::parts::static_set::{hashed_by, planned};
                let cores = $crate::threads::Cores::for_keys(keys.len());
                planned(fpr, cores, |hasher| hashed_by::<Self>(cores, hasher, keys))
            }
        }

        impl $crate::variant::Create for $type {
            fn create(
                shape: &Self::Shape,
                head: $crate::filter::Head,
                inputs: &mut $crate::variant::Inputs<'_>,
            ) -> $crate::error::Result<Self> {
                $crate::parts::static_set::created(shape, head, inputs)
            }
        }

        impl $crate::filter::Bulk for $type {
            fn contains_digests(&self, digests: &[$crate::hash::Digest], found: &mut [bool]) {
                $crate::parts::static_set::StaticSet::have(self, digests, found);
            }
        }
    };
}
pub(crate) use static_set;

#[cfg(test)]
pub(crate) mod tests {
    use crate::compact::{BinaryFuse, Golomb, PerfectHash, Ribbon};

    /// Every way to a filter leads to the same one, and every way to ask it to the same answers.
    macro_rules! one_filter {
        ($type:ident) => {
            for n in [0, 1, 5000, 120_001] {
                let keys: Vec<u64> = (0..n).collect();
                let filter = $type::from_keys(&keys, 0.01).unwrap();
                assert_eq!($type::from_keys_parallel(&keys, 0.01).unwrap(), filter, "{n}");
                let built = $type::builder().rate(0.01).build_from(&keys).unwrap();
                assert_eq!(built, filter, "{n}");
                assert!(keys.iter().all(|key| filter.contains(key)), "{n}");
                answers_alike!(filter, n);
            }
        };
    }

    /// Many keys at once get the answers that each gets by itself.
    macro_rules! answers_alike {
        ($filter:ident, $n:ident) => {
            let asked: Vec<u64> = (0..2 * $n + 100).step_by(7).collect();
            let answers: Vec<bool> = asked.iter().map(|key| $filter.contains(key)).collect();
            assert_eq!($filter.contains_many(&asked), answers, "{}", $n);
            assert!($filter.contains_iter(&asked).eq(answers.iter().copied()), "{}", $n);
            let mut some = vec![true; asked.len() / 2];
            $filter.contains_many_into(&asked, &mut some);
            assert_eq!(some, answers[..some.len()], "{}", $n);
            let dynamic: &dyn $crate::Filter = &$filter;
            let query = |key: &u64| dynamic.contains(&key.to_le_bytes());
            assert!(asked.iter().map(query).eq(answers), "{}", $n);
        };
    }
    pub(crate) use answers_alike;

    #[test]
    fn static_sets_are_one_filter_however_they_are_built_and_asked() {
        one_filter!(BinaryFuse);
        one_filter!(Ribbon);
        one_filter!(PerfectHash);
        one_filter!(Golomb);
    }
}
