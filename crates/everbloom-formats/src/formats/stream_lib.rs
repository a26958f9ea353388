//! stream-lib's `BloomFilter.serialize`: a number and a serialized `java.util.BitSet`, big-endian.
//!
//! ```text
//!   i32 k · 72 bytes of Java's serialization that say "BitSet, an array of longs" · i32 words · i64 × words · 'x'
//! ```
//!
//! Two 32-bit hashes come from Hadoop's MurmurHash2 of the key, the second with the first as its seed; index i is
//! |(h1 + i·h2) mod m| with Java's 32-bit signs. m is the number of buckets that the filter was made with, as many
//! as there are words: Java does not write words of zeros at the end, and a filter that ends in one is read wrongly
//! by stream-lib, too. A string is its UTF-16 with a byte order mark; keys that are bytes are taken as they are.

use everbloom::internals::probe::Scheme as Probes;
use everbloom::{HashId, Hasher, Result};

use crate::bits::{Bits, Order};
use crate::format::foreign::{COUNTED_WORDS, Flat, Scheme, adopt, probing};
use crate::format::{Hints, Part};
use crate::read::{Reader, unsupported};
use crate::{Fit, Foreign, Format, KeyAs};

/// The list entry.
pub static FORMAT: Format = Format {
    name: "stream-lib",
    writer: "stream-lib (com.clearspring.analytics), BloomFilter.serialize",
    versions: "2.9",
    recognized: "Java's serialization of a java.util.BitSet after four bytes",
    keys: &[KeyAs::Utf16, KeyAs::String, KeyAs::Hex],
    hash: "Hadoop's variant of murmur2-32",
    limits: "none known",
    fit: Some(|bytes| Fit::Magic.when(bytes.get(4..4 + JAVA.len()) == Some(JAVA))),
    open,
    adopt: Some(|filter| adopt(&FORMAT, filter, [StreamLib])),
    ..Format::USUAL
};

/// A stream (0xaced, 5) of an object of class `java.util.BitSet` with a field `bits`, which is an array of longs.
const JAVA: &[u8] =
    b"\xac\xed\x00\x05sr\x00\x10java.util.BitSetn\xfd\x88~94\xab!\x03\x00\x01[\x00\x04bitst\
    \x00\x02[Jxpur\x00\x02[Jx \x04\xb5\x12\xb1u\x93\x02\x00\x00xp";
/// The end of the object's data.
const END: u8 = b'x';

#[derive(Clone, Copy, Debug)]
struct StreamLib;

impl Scheme for StreamLib {
    const MOST_BITS: u64 = COUNTED_WORDS;

    fn probes(&self, _: KeyAs) -> Option<(Probes, Hasher)> {
        probing(Probes::Absolute32, HashId::HadoopMurmur, 0)
    }

    fn write(&self, k: u32, bits: &Bits) -> Option<Vec<u8>> {
        let mut out = k.to_be_bytes().to_vec();
        out.extend_from_slice(JAVA);
        out.extend_from_slice(&((bits.m() / 64) as u32).to_be_bytes());
        bits.push(Order::Big, &mut out);
        out.push(END);
        Some(out)
    }
}

fn open(bytes: &[u8], _: &Hints) -> Result<Vec<Part>> {
    let mut src = Reader::new(bytes);
    let k = src.count_be()?;
    if src.take(JAVA.len() as u64)? != JAVA {
        return Err(unsupported("not a java.util.BitSet"));
    }
    let words = src.count_be()?;
    let bits = Bits::words(&mut src, words, Order::Big)?;
    if src.u8()? != END {
        return Err(src.corrupt("the object goes on after its array"));
    }
    src.finish()?;
    Ok(vec![Foreign::new(&FORMAT, Flat::new(StreamLib, k, bits)?).into()])
}
