//! Bisection for the one question planners ask: the least argument that is good enough.

use std::mem;

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

/// The least `x` in `[lo, hi]`, 0 < lo, at which a falling `f` > 0 is at most `most`, or up to a few parts in 10¹⁴ more; `None` if
/// f(hi) is above.
///
/// By the logarithms of both, in which rates are nearly straight: the next x is where the parabola through the last three has
/// its root, if they lie so that it can be trusted, and the middle if not (Chandrupatla 1997). About ten looks, where halving to
/// the last bit takes more than fifty.
pub(crate) fn least_for(lo: f64, hi: f64, most: f64, mut f: impl FnMut(f64) -> f64) -> Option<f64> {
    let mut least = None;
    // A logarithm and that of what f is too much, negative where it is enough; NaN never is.
    let mut look = |x: f64, log: f64| {
        let value = f(x);
        let off = libm::log(value / most);
        if value <= most {
            least = Some(x);
            return (log, off.clamp(-1e3, -0.0));
        }
        (log, off.clamp(f64::MIN_POSITIVE, 1e3).max(f64::MIN_POSITIVE))
    };
    let enough = |at: (f64, f64)| at.1 <= 0.0;
    let mut new = look(hi, libm::log(hi));
    if !enough(new) {
        return None;
    }
    let mut other = look(lo, libm::log(lo));
    let mut part = 0.5;
    while enough(new) != enough(other) {
        let log = new.0 + part * (other.0 - new.0);
        let next = look(libm::exp(log), log);
        let third = if enough(next) == enough(new) { new } else { mem::replace(&mut other, new) };
        new = next;
        let shortest = 1e-14 / (other.0 - new.0).abs();
        if shortest > 0.5 {
            break;
        }
        part = root(new, other, third).unwrap_or(0.5).clamp(shortest, 1.0 - shortest);
    }
    least
}

/// Where the parabola through three points has its root, as the part of the way from `a` to `b`; `None` if another one than
/// between these may be found.
fn root(a: (f64, f64), b: (f64, f64), c: (f64, f64)) -> Option<f64> {
    let (x, y) = ((a.0 - b.0) / (c.0 - b.0), (a.1 - b.1) / (c.1 - b.1));
    let trusted = y * y < x && (1.0 - y) * (1.0 - y) < 1.0 - x;
    let by_b = a.1 / (b.1 - a.1) * c.1 / (b.1 - c.1);
    let by_c = a.1 / (c.1 - a.1) * b.1 / (c.1 - b.1);
    trusted.then(|| by_b + (c.0 - a.0) / (b.0 - a.0) * by_c)
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

    #[test]
    fn values_lead_to_the_same_argument_in_fewer_looks() {
        let falling: [fn(f64) -> f64; 5] = [
            |x| 1.0 / x,
            |x| libm::exp(-x),
            |x| libm::exp(-x) + 1e-7,
            |x| libm::pow(x, -40.0),
            |x| if x < 77.7 { 1.0 } else { 0.0 },
        ];
        for (i, f) in falling.into_iter().enumerate() {
            for most in [0.5, 1e-2, 2e-7] {
                let halved = least_real(0.1, 1e8, |x| f(x) <= most);
                let mut looks = 0;
                let least = least_for(0.1, 1e8, most, |x| {
                    looks += 1;
                    f(x)
                });
                let least = least.expect("f(hi) is enough");
                assert!(
                    f(least) <= most && (least / halved - 1.0).abs() < 1e-13,
                    "{i} {most}: {least} {halved}"
                );
                assert!(looks < if i == 4 { 60 } else { 25 }, "{i} {most}: {looks}");
            }
        }
        assert_eq!(least_for(0.125, 9.0, 1.0, |_| 1.0), Some(0.125));
        assert_eq!(least_for(0.1, 9.0, 0.0, |x| 1.0 / x), None);
        assert_eq!(least_for(0.1, 9.0, 1.0, |_| f64::NAN), None);
    }
}
