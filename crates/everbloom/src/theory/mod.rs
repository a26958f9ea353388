//! Shared formulas as pure functions, each citing its equation.
//!
//! Letters are the field's own: `n` items, `m` bits or cells, `k` probes per item, `c = m/n`.
//! The surveys are cited by the catalogue's keys: S0 (Tarkoma et al.), S1 (Broder and
//! Mitzenmacher), S2 (Laufer et al.), S3 (Luo et al.).
//!
//! | module | entry | what it answers |
//! |---|---|---|
//! | [`bloom`] | F1, F2 | rate, size, probes, capacity and estimates of the standard filter |
//! | [`bound`] | F7 | the fewest bits any filter can do with |
//! | [`blocked`] | I6 | rate and size of a filter cut into blocks |
//! | [`cardinality`] | B17 | distinct keys from the ranks of a HyperLogLog sketch |
//! | [`choice`] | F5, R11, R12, R13 | how full a filter gets that chooses among hash functions, and buckets among which items choose |
//! | [`counting`] | C1 | how full the counters of a counting filter get |
//! | [`cuckoo`] | B7, B8 | rate, bits and load of tables of fingerprints |
//! | [`fingerprint`] | F6, B4 | rate and bits of filters that tell members by fingerprints |
//! | [`generalized`] | R10 | both error rates of the filter that sets and resets |
//! | [`lsh`] | §35, §36 | how often near vectors share buckets |
//! | [`loglog`] | §3 | counts from the largest of random ranks |
//! | [`omass`] | I7 | rate and fill of words in which every key has a bit per sub-block |
//! | [`overwriting`] | R10 | those of the generalized filter as it runs, and the spread of its fill |
//! | [`peeling`] | §18, §37 | how many cells a set takes to be read back |
//! | [`priors`] | R1 | how many probes a key gets whose prior is known |
//! | [`ring`] | F3 | the floor under the rate of filters probed by two hash values |
//! | [`shifting`] | §5 | rates of filters that keep a value as an offset |
//! | [`prime`] | I1 | primes near a number, numbers without a common factor |
//! | [`weights`] | §14, §15 | how many probes classes of keys get that are queried more or less often |
//! | [`tail`] | – | Poisson and binomial probabilities, and test intervals built from them |
//!
//! Logarithms, exponentials and powers come from `libm`, never from the platform, so that two
//! machines plan the same filter from the same wish. Every function returns for every finite
//! argument; outside the range that its documentation names, the value means nothing (it may
//! be NaN), but nothing panics.

pub mod blocked;
pub mod bloom;
pub mod bound;
#[cfg(feature = "families")]
pub mod cardinality;
#[cfg(feature = "families")]
pub mod choice;
#[cfg(feature = "everyday")]
pub mod counting;
#[cfg(feature = "everyday")]
pub mod cuckoo;
#[cfg(feature = "everyday")]
pub mod fingerprint;
#[cfg(feature = "families")]
pub mod generalized;
#[cfg(feature = "families")]
pub mod loglog;
#[cfg(feature = "families")]
pub mod lsh;
#[cfg(feature = "families")]
pub mod omass;
#[cfg(feature = "families")]
pub mod overwriting;
#[cfg(feature = "families")]
pub mod peeling;
pub mod prime;
#[cfg(feature = "families")]
pub mod priors;
pub mod ring;
#[cfg(feature = "families")]
pub mod shifting;
pub mod tail;
#[cfg(feature = "families")]
pub mod weights;

mod gamma;
mod occupancy;
pub(crate) mod search;

/// The mean of `f` over 0, 1, …, n − 1, for an `f` without features narrower than n/4096: beyond
/// that many points it is taken over as many evenly spaced ones. Nothing has mean 0.
pub(crate) fn mean_over(n: u64, f: impl Fn(f64) -> f64) -> f64 {
    let samples = n.min(4096);
    let step = n as f64 / samples.max(1) as f64;
    let sum: f64 = (0..samples).map(|i| f((i as f64 + 0.5) * step - 0.5)).sum();
    sum / samples.max(1) as f64
}

/// Asserts that a computed value shows the printed digits: within half a unit of the last one.
#[cfg(test)]
#[track_caller]
fn assert_prints(value: f64, printed: f64, last_digit: f64) {
    // A hair over the half, because a printed decimal is itself rounded to binary.
    let slack = last_digit * 0.5 + printed.abs() * 1e-12;
    assert!(
        (value - printed).abs() <= slack,
        "computed {value}, printed {printed} (last digit {last_digit})"
    );
}
