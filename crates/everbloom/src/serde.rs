//! Filters inside serde formats, as the bytes of their file: `#[serde(with = "everbloom::serde")]`.
//!
//! ```
//! use everbloom::Bloom;
//! use serde::{Deserialize, Serialize};
//!
//! #[derive(Serialize, Deserialize)]
//! struct Cache {
//!     name: String,
//!     #[serde(with = "everbloom::serde")]
//!     seen: Bloom,
//! }
//!
//! let mut cache = Cache { name: "edge".to_owned(), seen: Bloom::with_rate(100, 0.01)? };
//! cache.seen.insert("apple");
//! let text = serde_json::to_string(&cache).expect("text");
//! let again: Cache = serde_json::from_str(&text).expect("a cache");
//! assert!(again.seen.contains("apple"));
//! # Ok::<(), everbloom::Error>(())
//! ```

use std::fmt;
use std::marker::PhantomData;

use serde::de::{self, Deserializer, SeqAccess, Visitor};
use serde::ser::{self, Serializer};

use crate::file::{Opener, to_bytes};
use crate::filter::Filter;
use crate::state::Limits;
use crate::variant::Listed;

/// Writes the file of a filter as bytes. What [`deserialize`] would refuse is refused here, so that nothing is written
/// that cannot be read: a filter that is longer than 128 MiB or fuller than its items explain ([`local`] takes those),
/// and a keyed one, since no key comes with the bytes.
pub fn serialize<T: Filter + Listed, S: Serializer>(filter: &T, out: S) -> Result<S::Ok, S::Error> {
    let bytes = readable::<T, S::Error>(filter, Limits::NETWORK).map_err(|e| {
        ser::Error::custom(format_args!("{e} (everbloom::serde::local has no limits)"))
    })?;
    out.serialize_bytes(&bytes)
}

/// The file of a filter, if it opens again under these limits. Only a decoder knows what a coded array expands to, and
/// decoding costs little beside what formats do.
fn readable<T: Filter + Listed, E: ser::Error>(filter: &T, limits: Limits) -> Result<Vec<u8>, E> {
    let bytes = to_bytes(filter);
    match Opener::new().limits(limits).decode_as::<T>(&bytes) {
        Ok(_) => Ok(bytes),
        Err(e) => Err(E::custom(format_args!("this filter could not be read back: {e}"))),
    }
}

/// Reads a filter of type `T` from the bytes of its file, under the limits of a network: the origin of the bytes is
/// unknown.
pub fn deserialize<'de, T: Filter + Listed, D: Deserializer<'de>>(from: D) -> Result<T, D::Error> {
    from.deserialize_bytes(Bytes(Limits::NETWORK, PhantomData))
}

/// Filters of any length and fill: `#[serde(with = "everbloom::serde::local")]`, for data that only your own programs
/// write. Whoever can change such data can make the reader allocate much memory.
pub mod local {
    use super::*;

    /// Writes the file of a filter as bytes. A keyed one is refused.
    pub fn serialize<T: Filter + Listed, S: Serializer>(
        filter: &T,
        out: S,
    ) -> Result<S::Ok, S::Error> {
        out.serialize_bytes(&readable::<T, S::Error>(filter, Limits::LOCAL)?)
    }

    /// Reads a filter of type `T` from the bytes of its file.
    pub fn deserialize<'de, T: Filter + Listed, D: Deserializer<'de>>(
        from: D,
    ) -> Result<T, D::Error> {
        from.deserialize_bytes(Bytes(Limits::LOCAL, PhantomData))
    }
}

struct Bytes<T>(Limits, PhantomData<T>);

impl<'de, T: Filter + Listed> Visitor<'de> for Bytes<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the bytes of an everbloom filter")
    }

    fn visit_bytes<E: de::Error>(self, bytes: &[u8]) -> Result<T, E> {
        Opener::new().limits(self.0).decode_as(bytes).map_err(E::custom)
    }

    /// Formats without byte strings, such as JSON, write a sequence of numbers.
    fn visit_seq<A: SeqAccess<'de>>(self, mut numbers: A) -> Result<T, A::Error> {
        let mut bytes = Vec::new();
        while let Some(byte) = numbers.next_element()? {
            if bytes.len() as u64 == self.0.bytes {
                return Err(de::Error::custom("the filter is too long for a network"));
            }
            bytes.push(byte);
        }
        self.visit_bytes(&bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::{Hasher, SecretKey};
    use crate::membership::Bloom;

    fn refused(filter: &Bloom, limits: Limits) -> Option<String> {
        readable::<Bloom, serde_json::Error>(filter, limits).err().map(|e| e.to_string())
    }

    #[test]
    fn what_cannot_be_read_back_is_not_written() {
        let long = Bloom::with_shape((1 << 30) + 64, 1, Hasher::default()).unwrap();
        let told = refused(&long, Limits::NETWORK).unwrap();
        assert!(told.contains("could not be read back"), "{told}");
        assert_eq!(refused(&long, Limits::LOCAL), None);

        let key = SecretKey::new([7; 16]);
        let keyed = Bloom::builder().items(100).rate(0.01).key(key).build().unwrap();
        for limits in [Limits::NETWORK, Limits::LOCAL] {
            let told = refused(&keyed, limits).unwrap();
            assert!(told.contains("key"), "{told}");
        }
    }

    #[test]
    fn both_doors_read_what_they_write() {
        let mut filter = Bloom::with_rate(10, 0.01).unwrap();
        filter.insert("apple");
        let mut text = Vec::new();
        serialize(&filter, &mut serde_json::Serializer::new(&mut text)).unwrap();
        let mut same = Vec::new();
        local::serialize(&filter, &mut serde_json::Serializer::new(&mut same)).unwrap();
        assert_eq!(text, same);
        let from = || serde_json::Deserializer::from_slice(&text);
        assert_eq!(deserialize::<Bloom, _>(&mut from()).unwrap(), filter);
        let again: std::result::Result<Bloom, serde_json::Error> = local::deserialize(&mut from());
        assert_eq!(again.unwrap(), filter);
    }
}
