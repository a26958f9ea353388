//! Filters that tell members by fingerprints (catalogue F6, B4).

/// P(a non-member has the fingerprint that it is compared with), 2^−r for `r` bits.
pub fn false_positives(r: u32) -> f64 {
    libm::exp2(-f64::from(r))
}

/// The fewest fingerprint bits that keep the rate at or below `p`, ⌈log2(1/p)⌉, at least 1.
pub fn fingerprint_bits_for(p: f64) -> u32 {
    (-libm::log2(p)).ceil().max(1.0) as u32
}
