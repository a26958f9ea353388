//! Tables of fingerprints with two buckets per key (catalogue B7, B8, B10).

/// The load that buckets of `b` slots are planned for, below the one at which the first key is refused in large
/// tables (0.51, 0.88 and 0.96 for 1, 2 and 4 slots).
pub fn load(b: u32) -> f64 {
    match b {
        0 | 1 => 0.48,
        2 => 0.84,
        3 => 0.91,
        _ => 0.95,
    }
}

/// The fewest buckets of `b` slots for `n` keys: a power of two. Tables of fewer than 256 buckets are planned
/// for a lower load, since they refuse keys earlier by chance: 0.85 for four slots.
pub fn buckets_for(n: u64, b: u32, load: f64) -> f64 {
    let least =
        |load: f64| libm::exp2(libm::log2(n as f64 / (load * f64::from(b))).ceil().max(0.0));
    let buckets = least(load);
    if buckets < 256.0 { least(load * 0.85 / 0.95) } else { buckets }
}

/// The fingerprint bits that keep a rate of `p` with buckets of `b` slots, ⌈log2(2b·0.95/p)⌉.
pub fn fingerprint_bits(b: u32, p: f64) -> f64 {
    libm::log2(2.0 * f64::from(b) * 0.95 / p).ceil().max(2.0)
}

/// P(a non-member passes) where it is compared with `compared` fingerprints of `values` equally likely values,
/// 1 − (1 − 1/values)^compared.
pub fn fpr(values: f64, compared: f64) -> f64 {
    -libm::expm1(compared * libm::log1p(-1.0 / values))
}

/// [`fpr`] of a table of `b` slots a bucket at this load, with fingerprints of `f` bits, none of them zero.
pub fn fpr_of_table(f: u32, b: u32, load: f64) -> f64 {
    fpr(libm::exp2(f64::from(f)) - 1.0, 2.0 * f64::from(b) * load)
}

/// The load that tables are planned for whose keys stay in groups of 2^f buckets (catalogue B8): a group must not
/// reach the limit where it is fullest, 4.5 standard deviations above the mean.
pub fn load_in_groups(b: u32, f: u32) -> f64 {
    let (limit, slots) = (load(b), libm::exp2(f64::from(f)) * f64::from(b));
    let spread = 4.5 / slots.sqrt();
    // α + spread·√α = limit, solved for √α.
    let root = (-spread + (spread * spread + 4.0 * limit).sqrt()) / 2.0;
    root * root
}

#[cfg(test)]
mod tests {
    use super::super::assert_prints;
    use super::*;

    #[test]
    fn b7_formulas() {
        assert_eq!(fingerprint_bits(4, 0.01), 10.0);
        assert_eq!(fingerprint_bits(4, 0.001), 13.0);
        assert_prints(fpr_of_table(8, 4, 0.965), 0.0299, 1e-4);
        assert_prints(fpr_of_table(12, 4, 0.965), 0.0019, 1e-4);
        // One-byte fingerprints in full buckets of 1, 2 and 4.
        for (b, printed) in [(1, 0.0078), (2, 0.0156), (4, 0.0309)] {
            assert_prints(fpr_of_table(8, b, 1.0), printed, 1e-4);
        }
        assert_eq!(buckets_for(3_900_000, 4, load(4)), 1_048_576.0 * 1.0);
        assert_eq!(buckets_for(3_984_589, 4, load(4)), 2_097_152.0);
        assert_eq!(buckets_for(230, 4, load(4)), 128.0, "0.95 of 64 buckets is too many");
        assert_eq!(buckets_for(1, 4, load(4)), 1.0);
    }

    #[test]
    fn b8_groups_need_long_fingerprints() {
        assert!((0.90..0.95).contains(&load_in_groups(4, 12)));
        assert!((0.80..0.85).contains(&load_in_groups(4, 8)));
        assert!(load_in_groups(4, 16) > 0.94);
    }
}
