//! The Go package `bits-and-blooms/bloom` (once `willf/bloom`), `WriteTo`, big-endian.
//!
//! ```text
//!   u64 m · u64 k · u64 m again, of the bit set · u64 × ⌈m/64⌉
//! ```
//!
//! Four 64-bit words come from MurmurHash3 x64 128 of the key and of the key with a byte 1 after it; index i is
//! h\[i mod 2\] + i·h\[2 + ((i + i mod 2) mod 4)/2\] mod m.

use everbloom::Result;

use crate::bits::{Bits, Order};
use crate::format::foreign::{Flat, Scheme, best_bits};
use crate::format::{Hints, Part};
use crate::read::Reader;
use crate::{Foreign, Format, Key, KeyAs, hashes};

/// The list entry.
pub static FORMAT: Format = Format {
    name: "go-bloom",
    writer: "the Go package bits-and-blooms/bloom (willf/bloom), WriteTo",
    versions: "v2 and v3",
    recognized: "m twice, and as many words as stated",
    keys: &[KeyAs::String, KeyAs::Hex],
    hash: "murmur3-x64-128 of the key, and of the key followed by a byte 1",
    limits: "no JSON form",
    open,
    create: Some(create),
    ..Format::USUAL
};

#[derive(Clone, Copy, Debug)]
struct Go;

impl Scheme for Go {
    #[inline]
    fn all(&self, key: &Key<'_>, m: u64, k: u32, mut probe: impl FnMut(u64) -> bool) -> bool {
        let h = key.little(|bytes| {
            let [a, b] = hashes::murmur3_x64_128(bytes, 0);
            let [c, d] = hashes::murmur3_x64_128(&[bytes, &[1]].concat(), 0);
            [a, b, c, d]
        });
        (0..k as usize).all(|i| {
            let step = h[2 + ((i + i % 2) % 4) / 2];
            probe(h[i % 2].wrapping_add((i as u64).wrapping_mul(step)) % m)
        })
    }

    fn write(&self, k: u32, bits: &Bits) -> Option<Vec<u8>> {
        let mut out = Vec::new();
        for word in [bits.m(), k.into(), bits.m()] {
            out.extend_from_slice(&word.to_be_bytes());
        }
        bits.push(Order::Big, &mut out);
        Some(out)
    }
}

fn open(bytes: &[u8], _: &Hints) -> Result<Vec<Part>> {
    let mut src = Reader::new(bytes);
    let (m, k, again) = (src.u64_be()?, src.u64_be()?, src.u64_be()?);
    if m != again {
        return Err(src.corrupt(format!("{m} bits in a bit set of {again}")));
    }
    let bits = Bits::words(&mut src, m.div_ceil(64), Order::Big)?.cut(m)?;
    src.finish()?;
    Ok(vec![Foreign::new(&FORMAT, Flat::new(Go, k, bits)?).into()])
}

fn create(items: u64, fpr: f64) -> Result<Foreign> {
    let m = best_bits(items, fpr).ceil().max(1.0) as u64;
    let k = (std::f64::consts::LN_2 * m as f64 / items as f64).ceil();
    Ok(Foreign::new(&FORMAT, Flat::new(Go, k as u64, Bits::zeros(m, 8)?)?))
}
