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
use serde::ser::Serializer;

use crate::file::{Opener, to_bytes};
use crate::filter::Filter;
use crate::state::Limits;
use crate::variant::Listed;

/// Writes the file of a filter as bytes.
pub fn serialize<T: Filter + Listed, S: Serializer>(filter: &T, out: S) -> Result<S::Ok, S::Error> {
    out.serialize_bytes(&to_bytes(filter))
}

/// Reads a filter of type `T` from the bytes of its file, under the limits of a network: the origin of the bytes is
/// unknown.
pub fn deserialize<'de, T: Filter + Listed, D: Deserializer<'de>>(from: D) -> Result<T, D::Error> {
    from.deserialize_bytes(Bytes(PhantomData))
}

struct Bytes<T>(PhantomData<T>);

impl<'de, T: Filter + Listed> Visitor<'de> for Bytes<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the bytes of an everbloom filter")
    }

    fn visit_bytes<E: de::Error>(self, bytes: &[u8]) -> Result<T, E> {
        Opener::new().limits(Limits::NETWORK).decode_as(bytes).map_err(E::custom)
    }

    /// Formats without byte strings, such as JSON, write a sequence of numbers.
    fn visit_seq<A: SeqAccess<'de>>(self, mut numbers: A) -> Result<T, A::Error> {
        let mut bytes = Vec::new();
        while let Some(byte) = numbers.next_element()? {
            if bytes.len() as u64 == Limits::NETWORK.bytes {
                return Err(de::Error::custom("the filter is too long for a network"));
            }
            bytes.push(byte);
        }
        self.visit_bytes(&bytes)
    }
}
