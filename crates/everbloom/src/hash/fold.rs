//! The fast hashes of short keys: folded multiplications for eight bytes, XXH3-64 for the rest.
//!
//! XXH3-128 spends more on a 64-bit integer than a blocked filter spends on everything else. Folding, the
//! exclusive or of the two halves of a 128-bit product, mixes a word in one multiplication. Its result h is
//! not fit for use as it is: consecutive integers come out evenly spaced, better than random, and the rates
//! of this library's formulas would no longer be met from either side. Three ways out:
//!
//! - `fold-64` (id 5) folds twice. All bits of both words are good.
//! - `quick-64` (id 6) multiplies h by a constant for each word. The high bits of such a product are as good
//!   as random, the low ones are not: it is for schemes that take the high ones, as multiply-shift does, and
//!   it is half as long. (h itself as the second word was tried: in filters of a thousand keys the rates of
//!   counters were off by a factor of up to ten.)
//! - `lane-64` (id 7) is `quick-64` with another second multiplier, one whose low half is 1: the low half of
//!   the product is that of h, and a scheme that takes only that, as lanes do to multiply it again, gets it
//!   for nothing.
//!
//! The tests beside this file look at counters, strides, sparse words and pointers. Both words of a digest
//! derive from 64 bits, which is enough wherever n·2⁻⁶⁴ ≤ p/100. There is no secret in it: against an
//! adversary take the keyed hash.

use super::{Digest, mix64};
use crate::simd::in_register;

/// Odd, half of the bits set, no pattern: the fraction bits of √2, √3 and √5.
pub(super) const K1: u64 = 0x6A09_E667_F3BC_C909;
pub(super) const K2: u64 = 0xBB67_AE85_84CA_A73B;
const K3: u64 = 0x3C6E_F372_FE94_F82B;
/// K3's low half above a 1.
const K4: u64 = K3 << 32 | 1;

/// What of the seed enters every digest. Mixed, since the seeds 0 and 1 would else only permute the
/// digests of consecutive integers.
pub(super) fn start(seed: u64) -> u64 {
    mix64(seed ^ K3)
}

/// The digest of a key of eight bytes.
///
/// The second word costs a third multiplication. Taking the lower half of the second product instead was
/// tried: its low bits are those of one multiplication, and consecutive integers show in them.
#[inline(always)]
pub(super) fn digest_word(word: u64, start: u64) -> Digest {
    digest_of(in_register(fold(fold(word ^ start, K1) ^ start, K2)))
}

/// The quick digest of a key of eight bytes.
#[inline(always)]
pub(super) fn quick_word(word: u64, start: u64) -> Digest {
    quick_of(in_register(fold(word ^ start, K1)))
}

/// The quick digest of a key whose other hash is `h`.
#[inline(always)]
pub(super) fn quick_of(h: u64) -> Digest {
    Digest { h1: h.wrapping_mul(K2), h2: h.wrapping_mul(K3) }
}

/// The digest for lanes of a key of eight bytes.
#[inline(always)]
pub(super) fn lane_word(word: u64, start: u64) -> Digest {
    lane_of(in_register(fold(word ^ start, K1)))
}

/// The digest for lanes of a key whose other hash is `h`.
#[inline(always)]
pub(super) fn lane_of(h: u64) -> Digest {
    Digest { h1: h.wrapping_mul(K2), h2: h.wrapping_mul(K4) }
}

/// The digest of a key whose other hash is `h1`.
#[inline(always)]
pub(super) fn digest_of(h1: u64) -> Digest {
    Digest { h1, h2: h1.wrapping_mul(K3) }
}

/// The exclusive or of the two halves of the product.
#[inline(always)]
pub(crate) fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    product as u64 ^ (product >> 64) as u64
}
