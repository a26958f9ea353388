//! Double hashing, or "less hashing" (Kirsch and Mitzenmacher, ESA 2006; catalogue F3; S0 §II-C2, S3 §V-A).
//!
//! The scheme itself, what is pinned of it and when to use it: [`probe::Double`](crate::probe::Double).

use crate::variant::prelude::*;

/// The list entry.
pub static VARIANT: Variant = Variant::untyped(Facts {
    id: 28,
    slug: "double-hashing",
    entry: "F3",
    question: "How do k indices follow from two hash values?",
    name: "Double hashing (less hashing)",
    paper: "A. Kirsch, M. Mitzenmacher, Less hashing, same performance: building a better Bloom filter, \
            ESA 2006",
    family: "membership",
    meaning: "k indices from two hash values, h1 + i·h2 mod m: the parameter `scheme` of bloom",
    ..Facts::TECHNIQUE
});
