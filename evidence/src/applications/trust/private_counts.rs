//! How many users an antenna saw, released with noise (catalogue A68; S3 §III-C \[57\]).
//!
//! ```text
//!   users ──▶ filter, k small ──▶ each bit flipped with p = 1/(1+e^{ε/k}), once ──▶ released
//!                                 counts and intersections: the flips are taken out of the bit counts
//! ```
//!
//! One user changes at most k bits, so that flipping each bit with p makes the release ε-differentially private.
//! Of m bits with `obs` ones, (obs − m·p)/(1−2p) were set before the flips, and that tells the number of users; for
//! two antennas the same is done to the four counts of joint bits. At ε = 3 counts of 1000 are good to 25; at ε = 1
//! intersections are useless. Whether a single user was there can't be told, and that is the point.
//!
//! A filter is released **once**: a second release with fresh noise spends ε again, and a few of them show the
//! filter. [`Antenna::release`] takes the antenna's filter away for this reason.

use everbloom::internals::cells::Bits;
use everbloom::internals::hash::{Generator, mix64};
use everbloom::internals::theory::tail;
use everbloom::{Bloom, Error, Hasher, Key, Kind, Result};

use crate::{Application, Axis, Bound, Experiment, Form, Lab, Oracle, Report, Rows, bound};

/// The users of one antenna in one period. Not to be shown to anybody.
///
/// ```
/// use everbloom_lab::applications::trust::private_counts::Antenna;
///
/// let mut north = Antenna::new(8192, 1, 7)?;
/// let mut south = Antenna::new(8192, 1, 7)?;
/// (0..1000u64).for_each(|user| north.saw(&user));
/// (700..1700u64).for_each(|user| south.saw(&user));
/// let (north, south) = (north.release(3.0)?, south.release(3.0)?);
/// assert!((north.users() - 1000.0).abs() < 200.0);
/// assert!((north.users_of_both(&south)? - 300.0).abs() < 150.0);
/// # Ok::<(), everbloom::Error>(())
/// ```
pub struct Antenna {
    filter: Bloom,
    seed: u64,
}

impl Antenna {
    /// A filter of `m` bits and `k` probes; antennas that are to be compared have the same `seed`.
    pub fn new(m: u64, k: u32, seed: u64) -> Result<Self> {
        Ok(Self { filter: Bloom::with_shape(m, k, Hasher::seeded(seed))?, seed })
    }

    /// Notes a user.
    pub fn saw<K: Key + ?Sized>(&mut self, user: &K) {
        self.filter.insert(user);
    }

    /// What may be shown, with noise from the system's generator. The filter is gone afterwards.
    pub fn release(self, epsilon: f64) -> Result<Release> {
        let mut buffer = [0u8; 4096];
        let (mut at, mut failed) = (buffer.len(), false);
        let released = self.release_with(epsilon, || {
            if at == buffer.len() {
                failed |= getrandom::fill(&mut buffer).is_err();
                at = 0;
            }
            at += 8;
            buffer[at - 8..at].iter().fold(0, |word, byte| word << 8 | u64::from(*byte))
        })?;
        if failed {
            return Err(Error::new(
                Kind::Io,
                "the system gives no random bytes: nothing is released",
            ));
        }
        Ok(released)
    }

    /// As [`Antenna::release`], with random words of the caller's.
    fn release_with(self, epsilon: f64, mut random: impl FnMut() -> u64) -> Result<Release> {
        if !(epsilon > 0.0 && epsilon <= 50.0) {
            let message = "a privacy budget above 0 and up to 50 is needed";
            return Err(Error::new(Kind::BadParameter, message).of_field("epsilon", epsilon));
        }
        let k = self.filter.k();
        let flips = flip_rate(epsilon, k);
        let limit = (flips * libm::exp2(64.0)) as u64;
        let mut bits = self.filter.bits().clone();
        for i in 0..bits.len() {
            if random() < limit {
                match bits.get(i) {
                    true => bits.reset(i),
                    false => _ = bits.set(i),
                }
            }
        }
        Ok(Release { bits, k, flips, seed: self.seed })
    }
}

/// How often a bit is flipped: 1/(1 + e^{ε/k}).
fn flip_rate(epsilon: f64, k: u32) -> f64 {
    1.0 / (1.0 + libm::exp(epsilon / f64::from(k)))
}

/// What was released of an antenna.
#[derive(Clone, Debug)]
pub struct Release {
    bits: Bits,
    k: u32,
    flips: f64,
    seed: u64,
}

impl Release {
    /// About how many users were seen.
    pub fn users(&self) -> f64 {
        let m = self.bits.len() as f64;
        let ones = (self.bits.ones() as f64 - m * self.flips) / (1.0 - 2.0 * self.flips);
        // Noise can leave no zeros, or more than all.
        let zeros = (m - ones).clamp(1.0, m);
        libm::log(zeros / m) / (f64::from(self.k) * libm::log1p(-1.0 / m))
    }

    /// About how many users two antennas of one shape and seed both saw.
    pub fn users_of_both(&self, other: &Self) -> Result<f64> {
        if (self.bits.len(), self.k, self.seed) != (other.bits.len(), other.k, other.seed) {
            let message = "two releases are compared if their bits, probes and seeds are the same";
            return Err(Error::new(Kind::Incompatible { what: "shape" }, message));
        }
        let m = self.bits.len() as f64;
        let both = self.bits.ones_in_both(&other.bits) as f64;
        let (a, b) = (self.bits.ones() as f64, other.bits.ones() as f64);
        // Counts of bits by what they are here and there, and the flips taken out on both sides.
        let seen = [[m - a - b + both, b - both], [a - both, both]];
        let inverse = |p: f64| {
            let scale = 1.0 / (1.0 - 2.0 * p);
            [[scale * (1.0 - p), -scale * p], [-scale * p, scale * (1.0 - p)]]
        };
        let (left, right) = (inverse(self.flips), inverse(other.flips));
        let real = |i: usize, j: usize| {
            let term = |x: usize, y: usize| left[i][x] * seen[x][y] * right[y][j];
            term(0, 0) + term(0, 1) + term(1, 0) + term(1, 1)
        };
        let zeros_a = (real(0, 0) + real(0, 1)).clamp(1.0, m);
        let zeros_b = (real(0, 0) + real(1, 0)).clamp(1.0, m);
        let neither = real(0, 0).clamp(1.0, m);
        // Zeros of one or the other less those of the AND are those of both: S1 §2.4.
        let ratio = m * neither / (zeros_a * zeros_b);
        Ok(libm::log(ratio) / (-f64::from(self.k) * libm::log1p(-1.0 / m)))
    }
}

/// The application.
pub static APPLICATION: Application = Application {
    entry: "A68",
    form: Form::Component,
    uses: &["bloom"],
    oracle: "the sets of users",
    data: "two antennas with 1000 random users each, 300 of them the same",
    experiment: Experiment {
        name: "private-counts",
        source: "S3 §III-C [57]",
        title: "How many users an antenna saw, released with noise",
        shows: "At ε = 3 counts of 1000 users are right within 25 (k = 1) or 35 (k = 2), and 300 users in common within 17 or \
                35; at ε = 1 within 96 and 109, the latter useless. Nine releases of one filter show it.",
        run,
    },
};

const M: u64 = 8192;
const USERS: u64 = 1000;
const COMMON: u64 = 300;

fn antennas(k: u32, seed: u64) -> Result<[Antenna; 2]> {
    let (mut a, mut b) = (Antenna::new(M, k, seed)?, Antenna::new(M, k, seed)?);
    for user in 0..USERS {
        a.saw(&mix64(seed ^ user));
        b.saw(&mix64(seed ^ (user + USERS - COMMON)));
    }
    Ok([a, b])
}

fn run(lab: &Lab) -> Result<Report> {
    let runs = lab.scaled(1_000);
    let mut counts =
        Rows::new("counts", "Users counted, of 1000 and of 300 in common", Axis::linear("users"));
    let mut spreads =
        Rows::new("spreads", "Standard deviation of these counts", Axis::log("users"));
    let mut oracle = Oracle::default();
    let mut without = Vec::new();
    for (epsilon, k, users_sd, common_sd) in
        [(3.0, 1, 25.0, 17.0), (3.0, 2, 35.0, 35.0), (1.0, 1, 96.0, 109.0)]
    {
        let seen = lab.runs(runs, |seed| {
            let [a, b] = antennas(k, seed)?;
            let mut random = Generator::new(!seed);
            let a = a.release_with(epsilon, || random.next_u64())?;
            let b = b.release_with(epsilon, || random.next_u64())?;
            Ok([a.users(), a.users_of_both(&b)?])
        })?;
        for (i, (what, truth, sd)) in
            [("users", 1000.0, users_sd), ("in common", 300.0, common_sd)].into_iter().enumerate()
        {
            let values: Vec<f64> = seen.iter().map(|s| s[i]).collect();
            let (mean, spread) = bound::mean_and_sd(&values);
            let name = format!("ε = {epsilon}, k = {k}: {what}");
            // The logarithm makes noisy counts a little too large.
            let bias = sd * sd / truth;
            counts.row(
                name.clone(),
                truth,
                mean,
                bound::mean(truth, 1.2 * sd, runs).widened(1.0, bias.max(3.0)),
            );
            // A standard deviation of so many values is itself uncertain by 1/√(2·runs).
            let slack = 4.9 / (2.0 * runs as f64).sqrt() + 0.1;
            spreads.row(name, sd, spread, Bound::between(sd * (1.0 - slack), sd * (1.0 + slack)));
        }
        // Hardly any noise: what is left is the filters' own error, and the counts are those of the sets.
        let [a, b] = antennas(k, lab.seed())?;
        let (a, b) = (a.release_with(50.0, || u64::MAX)?, b.release_with(50.0, || u64::MAX)?);
        without.push(((a.users() - 1000.0).abs() < 60.0, true));
        without.push(((a.users_of_both(&b)? - 300.0).abs() < 60.0, true));
    }
    oracle.equal("counts without noise", without);
    oracle.equal("releases with the system's noise: as many bits flipped as ε says", noise()?);
    let trap = again(lab)?;
    Ok(oracle.report().rows(counts).rows(spreads).rows(trap).note(
        "Every release of the same period spends ε again. Whether one user was there can't be told from a release.",
    ))
}

/// Whether [`Antenna::release`] flips as many bits as it should, and other ones each time. Its noise is not the lab's, so
/// numbers would differ from run to run.
fn noise() -> Result<Vec<(bool, bool)>> {
    let mut checks = Vec::new();
    for (epsilon, k) in [(3.0, 1), (3.0, 2), (1.0, 1)] {
        let [one, _] = antennas(k, 1)?;
        let copy = || Antenna { filter: one.filter.clone(), seed: one.seed };
        let [first, second] = [copy().release(epsilon)?, copy().release(epsilon)?];
        let flipped = |release: &Release| {
            let bits = one.filter.bits();
            (0..M).filter(|i| bits.get(*i) != release.bits.get(*i)).count() as f64 / M as f64
        };
        let p = flip_rate(epsilon, k);
        checks.push((bound::share(p, M).admits(flipped(&first)), true));
        let apart = (0..M).filter(|i| first.bits.get(*i) != second.bits.get(*i)).count() as f64;
        checks.push((bound::share(2.0 * p * (1.0 - p), M).admits(apart / M as f64), true));
    }
    Ok(checks)
}

/// Walked into: one filter released nine times, and the majority of each bit taken.
fn again(lab: &Lab) -> Result<Rows> {
    let (epsilon, times) = (1.0, 9u64);
    let p = flip_rate(epsilon, 1);
    let [original, _] = antennas(1, lab.seed())?;
    let mut random = Generator::new(lab.seed());
    let mut releases = Vec::new();
    for _ in 0..times {
        let copy = Antenna { filter: original.filter.clone(), seed: original.seed };
        releases.push(copy.release_with(epsilon, || random.next_u64())?);
    }
    let wrong = |of: &dyn Fn(u64) -> bool| {
        (0..M).filter(|i| of(*i) != original.filter.bits().get(*i)).count() as f64 / M as f64
    };
    let once = wrong(&|i| releases[0].bits.get(i));
    let majority = wrong(&|i| 2 * releases.iter().filter(|r| r.bits.get(i)).count() as u64 > times);
    let expected = tail::binomial_at_least(times, p, times / 2 + 1);
    let mut rows = Rows::new(
        "again",
        "Bits of the filter that a reader of releases gets wrong, ε = 1",
        Axis::linear("share of bits"),
    );
    rows.row("one release", p, once, bound::share(p, M));
    rows.row("the majority of nine", expected, majority, bound::share(expected, M));
    // A member's bit is flipped like any other.
    let mut kept = 0;
    for user in 0..USERS {
        let mut alone = Antenna::new(M, 1, original.seed)?;
        alone.saw(&mix64(lab.seed() ^ user));
        kept += alone.filter.bits().ones_in_both(&releases[0].bits);
    }
    rows.row(
        "members that one release denies",
        p,
        1.0 - kept as f64 / USERS as f64,
        bound::share(p, USERS),
    );
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a68_flip_rates() {
        for (epsilon, k, quoted) in [(3.0, 1, 0.0474), (3.0, 2, 0.182), (1.0, 1, 0.269)] {
            assert!((flip_rate(epsilon, k) - quoted).abs() < 5e-4);
        }
    }

    #[test]
    fn budgets_that_are_none_and_releases_that_do_not_fit() {
        let antenna = || Antenna::new(100, 1, 1).unwrap();
        for epsilon in [0.0, -1.0, f64::NAN, 1e9] {
            assert!(antenna().release(epsilon).is_err());
        }
        let other = Antenna::new(100, 1, 2).unwrap().release(1.0).unwrap();
        assert!(antenna().release(1.0).unwrap().users_of_both(&other).is_err());
        assert!(antenna().release(1.0).unwrap().users().is_finite());
    }
}
