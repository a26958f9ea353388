//! Bisection for the one question planners ask: the least argument that is good enough.

/// The least `x` in `[lo, hi]` with `ok(x)`, to the last bit, for an `ok` that never turns
/// false again once true. Returns `hi` if nothing below it is good enough: whoever does not
/// know that `hi` itself is, has to ask.
pub(crate) fn least_real(mut lo: f64, mut hi: f64, mut ok: impl FnMut(f64) -> bool) -> f64 {
    if ok(lo) {
        return lo;
    }
    loop {
        let mid = lo + (hi - lo) / 2.0;
        // Also false for NaN, so that the loop ends whatever it is given.
        if !(lo < mid && mid < hi) {
            return hi;
        }
        if ok(mid) {
            hi = mid;
        } else {
            lo = mid;
        }
    }
}

/// [`least_real`] on the integers.
pub(crate) fn least_integer(mut lo: u64, mut hi: u64, ok: impl Fn(u64) -> bool) -> u64 {
    while lo < hi {
        let mid = lo + (hi - lo) / 2;
        if ok(mid) {
            hi = mid;
        } else {
            lo = mid + 1;
        }
    }
    hi
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn least_argument_is_found_at_both_ends_and_inside() {
        assert_eq!(least_real(1.0, 9.0, |x| x * x >= 2.0), 2f64.sqrt());
        assert_eq!(least_real(1.0, 9.0, |_| true), 1.0);
        assert_eq!(least_real(1.0, 9.0, |_| false), 9.0);
        assert_eq!(least_integer(0, u64::MAX, |x| x >= 77), 77);
        assert_eq!(least_integer(0, u64::MAX, |_| false), u64::MAX);
        assert_eq!(least_integer(5, 5, |_| true), 5);
    }
}
