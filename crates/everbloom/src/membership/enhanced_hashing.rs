//! Enhanced double hashing (Dillinger and Manolios, FMCAD 2004; catalogue F4).
//!
//! The scheme itself, what is pinned of it and when to use it: [`probe::Enhanced`](crate::probe::Enhanced).

use crate::variant::prelude::*;

/// The list entry.
pub static VARIANT: Variant = Variant::untyped(Facts {
    id: 29,
    slug: "enhanced-double-hashing",
    entry: "F4",
    question: "How do k indices follow from two hash values, without the flaws of double hashing?",
    name: "Enhanced double hashing",
    paper: "P. C. Dillinger, P. Manolios, Bloom filters in probabilistic verification, FMCAD 2004",
    family: "membership",
    meaning: "k indices from two hash values, h1 + i·h2 + (i³ − i)/6 mod m: the parameter `scheme` of bloom",
    ..Facts::TECHNIQUE
});
