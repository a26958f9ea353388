//! A solved puzzle counts once (catalogue A54; S0 §IV-E \[116\]).
//!
//! ```text
//!   challenge of epoch e ──▶ client searches ──▶ (e, solution) ──▶ solved, of this epoch or the last, not seen?
//!                                                                 filters of both, each under a key of its own
//! ```
//!
//! A server under attack lets a client in for a solved puzzle, and must remember the solutions of a challenge while it
//! is good. A filter under a secret key does it in 16 bits a solution; the key follows from the server's secret and the
//! epoch, so that it changes with the challenge. Nobody is let in twice by one solution. An honest client is refused
//! with (1/n)·Σ f(i), 5·10⁻⁵ at 16 bits, and solves again. Under a known hash an attacker would choose solutions that
//! set a fresh bit each, and fill the filter sooner.

use std::collections::HashSet;

use everbloom::internals::hash::Generator;
use everbloom::internals::theory::bloom as theory;
use everbloom::{Bloom, Hasher, Result, SecretKey, Seen};

use crate::{
    Application, Axis, Bound, Chart, Experiment, Form, Lab, Oracle, Report, Rows, Series, bound,
};

/// What becomes of a solution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// It solves its puzzle, for the first time.
    Accepted,
    /// It was used, or seems to be: solve again.
    Used,
    /// Its epoch is over, or has not begun.
    Expired,
    /// It does not solve the puzzle.
    Wrong,
}

/// Puzzles of epochs, and the solutions used.
///
/// ```
/// use everbloom::SecretKey;
/// use everbloom_lab::applications::streams::puzzles::{Decision, Puzzles};
/// let mut puzzles = Puzzles::new(SecretKey::new([7; 16]), 10_000, 16, 8)?;
/// let challenge = puzzles.challenge();
/// let solution = (0..).find(|&s| puzzles.solves(challenge, s)).unwrap();
/// assert_eq!(puzzles.accept(0, solution), Decision::Accepted);
/// assert_eq!(puzzles.accept(0, solution), Decision::Used);
/// puzzles.next_epoch()?;
/// puzzles.next_epoch()?;
/// assert_eq!(puzzles.accept(0, solution), Decision::Expired);
/// # Ok::<(), everbloom::Error>(())
/// ```
pub struct Puzzles {
    secret: SecretKey,
    epoch: u64,
    current: Bloom,
    previous: Bloom,
    m: u64,
    k: u32,
    /// Zero bits that a solution must give.
    difficulty: u32,
}

impl Puzzles {
    /// Epochs of up to `solutions` solutions in `bits` bits each; a client tries 2^`difficulty` times on average.
    pub fn new(secret: SecretKey, solutions: u64, bits: u64, difficulty: u32) -> Result<Self> {
        let m = solutions.saturating_mul(bits);
        let k = theory::best_k(m, solutions.max(1));
        let filter = |epoch| Bloom::with_shape(m, k, epoch_hasher(&secret, epoch));
        let (current, previous) = (filter(0)?, filter(u64::MAX)?);
        Ok(Self { secret, epoch: 0, current, previous, m, k, difficulty })
    }

    /// The challenge of this epoch: a number that nobody can foresee.
    pub fn challenge(&self) -> u64 {
        self.challenge_of(self.epoch)
    }

    fn challenge_of(&self, epoch: u64) -> u64 {
        epoch_hasher(&self.secret, epoch).digest("challenge").h1
    }

    /// Whether a number solves a challenge: anybody can tell.
    pub fn solves(&self, challenge: u64, solution: u64) -> bool {
        let digest = Hasher::seeded(challenge).digest(&solution);
        digest.h1.leading_zeros() >= self.difficulty
    }

    /// Judges a solution, and remembers it if it is accepted.
    pub fn accept(&mut self, epoch: u64, solution: u64) -> Decision {
        if self.epoch.checked_sub(epoch).is_none_or(|age| age > 1) {
            return Decision::Expired;
        }
        if !self.solves(self.challenge_of(epoch), solution) {
            return Decision::Wrong;
        }
        let filter = if epoch == self.epoch { &mut self.current } else { &mut self.previous };
        match filter.insert(&solution) {
            Seen::New => Decision::Accepted,
            Seen::Maybe => Decision::Used,
        }
    }

    /// Begins the next epoch, with a new challenge and a new key.
    pub fn next_epoch(&mut self) -> Result<()> {
        self.epoch += 1;
        let next = Bloom::with_shape(self.m, self.k, epoch_hasher(&self.secret, self.epoch))?;
        self.previous = std::mem::replace(&mut self.current, next);
        Ok(())
    }
}

/// The hash of an epoch: a key that follows from the server's secret and the epoch's number.
fn epoch_hasher(secret: &SecretKey, epoch: u64) -> Hasher {
    let digest = Hasher::keyed(secret.clone()).digest(&("epoch", epoch));
    let mut key = [0; 16];
    key[..8].copy_from_slice(&digest.h1.to_le_bytes());
    key[8..].copy_from_slice(&digest.h2.to_le_bytes());
    Hasher::keyed(SecretKey::new(key))
}

/// The application.
pub static APPLICATION: Application = Application {
    entry: "A54",
    form: Form::Component,
    uses: &["bloom"],
    oracle: "the sets of solutions used, by epoch",
    data: "solutions of random challenges, each sent again by an attacker",
    experiment: Experiment {
        name: "puzzles",
        source: "S0 §IV-E [116]",
        title: "A solved puzzle counts once",
        shows: "No solution is accepted twice. Of honest ones (1/n)·Σ f(i) are refused, 5.1·10⁻⁵ at 16 bits a \
                solution; an attacker who replays them all gets nothing, and one who chooses them gets no further \
                than chance, since the key is secret.",
        run,
    },
};

/// (1/n)·Σ f(i), for `n` solutions with `bits` bits each.
fn refused(n: u64, bits: u64) -> f64 {
    let m = n * bits;
    let k = f64::from(theory::best_k(m, n));
    let steps = 1_000;
    let at = |i: u64| theory::fpr_classic(m as f64, (i as f64 + 0.5) * n as f64 / steps as f64, k);
    (0..steps).map(at).sum::<f64>() / steps as f64
}

struct Tried {
    refused: u64,
    pairs: Vec<(Decision, Decision)>,
    replays_accepted: u64,
}

/// Honest solutions of two epochs, each replayed by an attacker. Anything solves: what is tried is the memory.
fn epochs(seed: u64, n: u64, bits: u64) -> Result<Tried> {
    let mut random = Generator::new(seed);
    let mut key = [0; 16];
    key[..8].copy_from_slice(&seed.to_le_bytes());
    let mut puzzles = Puzzles::new(SecretKey::new(key), n, bits, 0)?;
    let mut tried = Tried { refused: 0, pairs: Vec::new(), replays_accepted: 0 };
    let mut used: HashSet<u64> = HashSet::new();
    let mut sent: Vec<u64> = Vec::new();
    for _ in 0..n {
        let solution = random.next_u64();
        let exactly = if used.insert(solution) { Decision::Accepted } else { Decision::Used };
        match (puzzles.accept(0, solution), exactly) {
            // The price, and the only difference there may be.
            (Decision::Used, Decision::Accepted) => tried.refused += 1,
            pair => tried.pairs.push(pair),
        }
        sent.push(solution);
    }
    let mut replay = |puzzles: &mut Puzzles| {
        let again = sent.iter().filter(|s| puzzles.accept(0, **s) == Decision::Accepted);
        tried.replays_accepted += again.count() as u64;
    };
    // In the same epoch, in the next, and after.
    for _ in 0..3 {
        replay(&mut puzzles);
        puzzles.next_epoch()?;
    }
    Ok(tried)
}

/// The fill after an attacker inserts solutions that each set k fresh bits under a hash that is known: in the filter
/// of that hash, and in one under a key.
fn chosen(seed: u64) -> Result<[f64; 2]> {
    let (m, k, n) = (8_192, 11, 220);
    let mut random = Generator::new(seed);
    let known = Hasher::seeded(seed);
    let mut open = Bloom::with_shape(m, k, known.clone())?;
    let mut keyed = Bloom::with_shape(m, k, epoch_hasher(&SecretKey::new([9; 16]), seed))?;
    for _ in 0..n {
        let solution = loop {
            let candidate = random.next_u64();
            let mut one = Bloom::with_shape(m, k, known.clone())?;
            one.insert(&candidate);
            if one.bits().ones() == u64::from(k) && one.bits().ones_in_both(open.bits()) == 0 {
                break candidate;
            }
        };
        open.insert(&solution);
        keyed.insert(&solution);
    }
    Ok([open.bits().fill(), keyed.bits().fill()])
}

fn run(lab: &Lab) -> Result<Report> {
    let n = 10_000;
    let mut oracle = Oracle::default();
    let mut series =
        Series::new("(1/n)·Σ f(i)", (6..=20).map(f64::from), |bits| refused(n, bits as u64));
    let mut rows = Rows::new("source", "Attackers", Axis::linear("value"));
    let mut replayed = 0;
    for (bits, quick) in [(8, 4), (10, 4), (12, 8), (16, 24)] {
        let runs = lab.scaled(quick);
        let seen = lab.runs(runs, |seed| epochs(seed, n, bits))?;
        let p = refused(n, bits);
        let measured = seen.iter().map(|t| t.refused).sum::<u64>() as f64 / (runs * n) as f64;
        series.point(bits as f64, p, measured, bound::share(p, runs * n).widened(p, 0.03));
        replayed += 3 * runs * n;
        oracle.none(
            &format!("solutions accepted twice at {bits} bits"),
            seen.iter().map(|t| t.replays_accepted).sum(),
        );
        oracle.equal(
            &format!("all other decisions at {bits} bits"),
            seen.into_iter().flat_map(|t| t.pairs),
        );
    }
    rows.row(
        "million solutions replayed: at least one",
        1.0,
        replayed as f64 / 1e6,
        Bound::at_least(1.0),
    );
    let [open, keyed] = chosen(lab.seed())?;
    let (all, ordinary) = (220.0 * 11.0 / 8192.0, theory::fill(8192.0, 2420.0));
    rows.row(
        "fill by solutions chosen against a known hash (the trap)",
        all,
        open,
        Bound::exactly(all, 1e-9),
    );
    rows.row(
        "… in the filter under a key: as by any others",
        ordinary,
        keyed,
        bound::mean(ordinary, theory::fill_sd(8192.0, 2420.0), 1),
    );
    let chart = Chart::new(
        "refused",
        "Honest solutions refused, on average over an epoch",
        [Axis::linear("bits for each solution"), Axis::log("share refused")],
        [series],
    );
    Ok(oracle.report().chart(chart).rows(rows))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a54_refused_on_average() {
        assert_eq!(theory::best_k(160_000, 10_000), 11);
        assert!((refused(10_000, 16) - 5.1e-5).abs() < 1e-6, "{}", refused(10_000, 16));
    }

    #[test]
    fn wrong_and_future_solutions() {
        let mut puzzles = Puzzles::new(SecretKey::new([1; 16]), 100, 16, 12).unwrap();
        let challenge = puzzles.challenge();
        let wrong = (0..).find(|&s| !puzzles.solves(challenge, s)).unwrap();
        assert_eq!(puzzles.accept(0, wrong), Decision::Wrong);
        assert_eq!(puzzles.accept(1, wrong), Decision::Expired);
        puzzles.next_epoch().unwrap();
        assert_ne!(puzzles.challenge(), challenge);
    }
}
