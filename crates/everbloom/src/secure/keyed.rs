//! Keyed hashing against pollution and all-one attacks (catalogue §46; S2, S3 ref. 59, S0 §III-W).
//!
//! Who knows the hash knows which cells a key touches, and can look for keys that set only zeros:
//!
//! ```text
//!   honest keys     1 0 1 1 0 0 1 0 0 1 0 0     hits coincide: a share 1 − e^{−nk/m} is set
//!   aimed keys      1 1 1 1 1 1 1 1 1 0 0 0     none does: nk/m
//! ```
//!
//! At the planned load (nk/m = ln 2) that turns a rate of 2^{−k} into (ln 2)^k, ten times as much at k = 7, and
//! m/k such keys set every bit. The defence is a secret: with [`Hasher::keyed`](crate::Hasher::keyed) (`--key-file`) the
//! digest is SipHash-2-4-128 under a 128-bit key, and keys that were aimed at one key's cells are ordinary keys
//! under every other.
//!
//! A filter that comes from somebody else may simply be all ones. Whoever takes filters from a network holds
//! them against their declared items ([`most_fill`]): [`Limits::NETWORK`](crate::Limits::NETWORK) does. Where nobody is trusted
//! to declare anything, [`Generalized`](crate::membership::Generalized) bounds the rate whatever the bits are.
//!
//! **Use it** whenever someone else chooses the keys. **Don't** expect it to hide answers: anyone who can query
//! finds false positives by trying, and each of them keeps passing until the filter is rebuilt with another key.
//! Filters with different keys can't be merged or compared: files have the id of their key and are refused with
//! another. A new key means a new build.

use crate::theory::bloom as theory;
use crate::variant::prelude::*;

/// Share of ones after `n` keys that each set k fresh bits: nk/m, at most 1.
pub fn aimed_fill(flat: Flat, n: u64) -> f64 {
    (n as f64 * f64::from(flat.k) / flat.m as f64).min(1.0)
}

/// False-positive rate after `n` such keys: (nk/m)^k.
pub fn aimed_fpr(flat: Flat, n: u64) -> f64 {
    libm::pow(aimed_fill(flat, n), f64::from(flat.k))
}

/// Keys tried, on average, for one that finds k zeros in a filter of this fill: 1/(1 − ρ)^k.
pub fn trials_per_aimed_key(fill: f64, k: u32) -> f64 {
    libm::pow(1.0 - fill, -f64::from(k))
}

/// Aimed keys that set every bit: m/k.
pub fn keys_to_saturate(flat: Flat) -> u64 {
    flat.m.div_ceil(u64::from(flat.k))
}

/// The largest share of ones that `n` honest keys explain: the expected fill and six standard deviations. A
/// received filter that is fuller lies about its items, or was polluted.
pub fn most_fill(flat: Flat, n: u64) -> f64 {
    let (m, throws) = (flat.m as f64, n as f64 * f64::from(flat.k));
    (theory::fill(m, throws) + 6.0 * theory::fill_sd(m, throws)).min(1.0)
}

/// The list entry.
pub static VARIANT: Variant = Variant::untyped(Facts {
    id: 96,
    slug: "keyed",
    entry: "§46",
    question: "Is it in the set, when an attacker may choose the keys?",
    name: "Keyed hashing against pollution and all-one attacks",
    paper: "J.-P. Aumasson, D. J. Bernstein, SipHash: a fast short-input PRF, INDOCRYPT 2012; \
            R. P. Laufer, P. B. Velloso, O. C. M. B. Duarte, A generalized Bloom filter to secure distributed \
            network applications, Computer Networks 55(8), 2011",
    family: "secure",
    needs: &["hostile"],
    meaning: "a hash for any filter (`--key-file`): keys chosen to hit its cells fill it no faster than others",
    ..Facts::TECHNIQUE
});
