//! No request twice, in constant memory (catalogue A27; S0 §IV-E \[112\], Trickles).
//!
//! ```text
//!   time  ──┬── window w−1 ──┬── window w ──┬──▶
//!           │  previous      │  current     │      a nonce goes into the filter of the window of its stamp;
//!           └────────────────┴──────────────┘      what is stamped earlier is refused unseen, and later, too
//! ```
//!
//! A server that keeps no state per client must still refuse what it has seen. Two filters of one window each
//! remember it; every window the older one is dropped and a new one begins. No replay is accepted: what the filters
//! have forgotten is too old by its stamp. A fresh request is refused with at most 1 − (1 − f)², 0.009975 at
//! f = 0.005; its client sends another. The filters turn by the clock and never by the number of nonces: in a burst
//! that would forget nonces whose stamp is still good.

use everbloom::decaying::ActiveActive;
use everbloom::internals::hash::Generator;
use everbloom::internals::theory::bloom as theory;
use everbloom::{Bloom, Error, Hasher, Key, Kind, Result};

use crate::sim::Rate;
use crate::{
    Application, Axis, Bound, Chart, Experiment, Form, Lab, Oracle, Report, Rows, Series, bound,
};

/// What becomes of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// It was not seen before.
    Accepted,
    /// It was seen before, or seems to be.
    Replayed,
    /// It is stamped before the windows that are remembered.
    Stale,
    /// It is stamped later than now: it would be forgotten while its stamp is still good.
    Early,
}

/// Remembers the nonces of two windows of time.
///
/// ```
/// use everbloom::Hasher;
/// use everbloom_lab::applications::streams::replay::{Decision, Replay};
/// let mut seen = Replay::new(60, 10_000, 0.001, Hasher::default())?;
/// assert_eq!(seen.accept("nonce 1", 1_000, 1_002), Decision::Accepted);
/// assert_eq!(seen.accept("nonce 1", 1_000, 1_030), Decision::Replayed);
/// assert_eq!(seen.accept("nonce 1", 1_000, 1_200), Decision::Stale);
/// assert_eq!(seen.accept("nonce 2", 1_300, 1_200), Decision::Early);
/// # Ok::<(), everbloom::Error>(())
/// ```
pub struct Replay {
    window: u64,
    /// The number of the current window.
    now: u64,
    current: Bloom,
    previous: Bloom,
    empty: Bloom,
}

impl Replay {
    /// Windows of `window` units of time, each for `items` nonces at the rate `fpr`. Where clients choose nonces,
    /// the hasher should be keyed ([`Hasher::keyed`]).
    pub fn new(window: u64, items: u64, fpr: f64, hasher: Hasher) -> Result<Self> {
        if window == 0 {
            let message = "a window of 0: give the time for which a stamp is good, at least 1";
            return Err(Error::new(Kind::BadParameter, message));
        }
        let planned = Bloom::with_rate(items, fpr)?;
        let empty = Bloom::with_shape(planned.m(), planned.k(), hasher)?;
        Ok(Self { window, now: 0, current: empty.clone(), previous: empty.clone(), empty })
    }

    /// Judges a request stamped `stamp` that arrives `now`, and remembers it if it is accepted.
    pub fn accept<K: Key + ?Sized>(&mut self, nonce: &K, stamp: u64, now: u64) -> Decision {
        self.turn(now / self.window);
        if stamp > now {
            return Decision::Early;
        }
        let age = self.now.saturating_sub(stamp / self.window);
        if age > 1 {
            return Decision::Stale;
        }
        if self.current.contains(nonce) || self.previous.contains(nonce) {
            return Decision::Replayed;
        }
        let filter = if age == 0 { &mut self.current } else { &mut self.previous };
        filter.insert(nonce);
        Decision::Accepted
    }

    /// Begins the window of that number; no clock goes backwards.
    fn turn(&mut self, window: u64) {
        let passed = window.saturating_sub(self.now);
        if passed == 0 {
            return;
        }
        let last = std::mem::replace(&mut self.current, self.empty.clone());
        self.previous = if passed == 1 { last } else { self.empty.clone() };
        self.now = window;
    }

    /// Bits of both filters: the same whatever comes.
    pub fn bits(&self) -> u64 {
        self.current.m() + self.previous.m()
    }
}

/// The application.
pub static APPLICATION: Application = Application {
    entry: "A27",
    form: Form::Component,
    uses: &["bloom", "active-active"],
    oracle: "the set of all nonces ever accepted, with the same rules on stamps",
    data: "fresh requests and replays over many windows, delayed at random",
    experiment: Experiment {
        name: "replay",
        source: "S0 §IV-E [112]",
        title: "No request is accepted twice, in two filters that take turns",
        shows: "No replay is accepted. A fresh request is refused with at most 1 − (1 − f)², 0.009975 for filters of \
                f = 0.005, in memory that does not grow.",
        run,
    },
};

const WINDOW: u64 = 1_000;
const ITEMS: u64 = 2_000;

struct Seen {
    replays_accepted: u64,
    replays: u64,
    /// Fresh requests refused as replayed though no set has them.
    refused: u64,
    fresh: u64,
    /// Stale and early, ours and the twin's.
    stamps: Vec<(Decision, Decision)>,
    grown: bool,
}

/// Requests over many windows: half are fresh, half replay an earlier one, with the old stamp.
fn traffic(seed: u64, requests: u64) -> Result<Seen> {
    let mut random = Generator::new(seed);
    let mut window = Replay::new(WINDOW, ITEMS, 0.005, Hasher::seeded(seed))?;
    let bits = window.bits();
    let mut accepted = std::collections::HashSet::new();
    let mut sent: Vec<(u64, u64)> = Vec::new();
    let mut seen = Seen {
        replays_accepted: 0,
        replays: 0,
        refused: 0,
        fresh: 0,
        stamps: Vec::new(),
        grown: false,
    };
    for i in 0..requests {
        // 4,000 requests a window, of which half are fresh.
        let now = 10 * WINDOW + i * WINDOW / (2 * ITEMS);
        let delay = random.below(WINDOW / 20);
        let (nonce, stamp) = match (random.below(2), sent.is_empty()) {
            (0, false) => {
                sent[sent.len() - 1 - random.below(sent.len().min(9_000) as u64) as usize]
            }
            _ => (random.next_u64(), (now + 20).saturating_sub(delay)),
        };
        let decision = window.accept(&nonce, stamp, now);
        let exactly = if stamp > now {
            Decision::Early
        } else if now / WINDOW - stamp / WINDOW > 1 {
            Decision::Stale
        } else if accepted.contains(&nonce) {
            Decision::Replayed
        } else {
            Decision::Accepted
        };
        match (exactly, decision) {
            (Decision::Accepted, _) => {
                seen.fresh += 1;
                seen.refused += u64::from(decision == Decision::Replayed);
            }
            (Decision::Replayed, _) => {
                seen.replays += 1;
                seen.replays_accepted += u64::from(decision != Decision::Replayed);
            }
            pair => seen.stamps.push(pair),
        }
        if decision == Decision::Accepted {
            accepted.insert(nonce);
            sent.push((nonce, stamp));
        }
    }
    seen.grown = window.bits() != bits;
    Ok(seen)
}

/// The share of fresh requests refused when the previous window is full and the current one has `load`.
fn refused_at(seed: u64, load: u64, queries: u64) -> Result<f64> {
    let mut random = Generator::new(seed);
    let mut window = Replay::new(WINDOW, ITEMS, 0.005, Hasher::seeded(seed))?;
    for (at, count) in [(10, ITEMS), (11, load)] {
        (0..count).for_each(|_| {
            // What seems to be replayed is remembered by being sent again.
            while window.accept(&random.next_u64(), at * WINDOW, at * WINDOW) != Decision::Accepted
            {
            }
        });
    }
    let refused = (0..queries).filter(|_| {
        let nonce = random.next_u64();
        window.current.contains(&nonce) || window.previous.contains(&nonce)
    });
    Ok(refused.count() as f64 / queries as f64)
}

/// Replays accepted in a burst of three times the plan, if the filters turn when they are full.
fn by_count(seed: u64) -> Result<u64> {
    let mut random = Generator::new(seed);
    let planned = Bloom::with_rate(ITEMS, 0.005)?;
    let mut buffers =
        ActiveActive::with_shape(planned.m(), planned.k(), ITEMS, Hasher::seeded(seed))?;
    let burst: Vec<u64> = (0..3 * ITEMS).map(|_| random.next_u64()).collect();
    for nonce in &burst {
        buffers.insert(nonce);
    }
    Ok(burst.iter().filter(|nonce| !buffers.contains(*nonce)).count() as u64)
}

fn run(lab: &Lab) -> Result<Report> {
    let seen = lab.runs(lab.scaled(4), |seed| traffic(seed, 30_000))?;
    let sum = |f: fn(&Seen) -> u64| seen.iter().map(f).sum::<u64>();
    let mut oracle = Oracle::default();
    oracle
        .none(&format!("replays accepted, of {}", sum(|s| s.replays)), sum(|s| s.replays_accepted));
    oracle.none("runs in which memory grew", sum(|s| u64::from(s.grown)));
    let mut rows = Rows::new("source", "The source's numbers", Axis::linear("share"));
    let planned = Bloom::with_rate(ITEMS, 0.005)?;
    let f = Rate::of(planned.m(), ITEMS, planned.k());
    let most = 1.0 - (1.0 - f.mean) * (1.0 - f.mean);
    let fresh = sum(|s| s.fresh);
    let high = bound::share(most, fresh).high.unwrap_or(1.0);
    rows.row(
        "fresh requests refused: at most",
        0.009975,
        sum(|s| s.refused) as f64 / fresh as f64,
        Bound::at_most(high),
    );
    oracle.equal("stale and early requests", seen.into_iter().flat_map(|s| s.stamps));
    let forgotten = by_count(lab.seed())?;
    // Of three windows' worth the first is gone, less the false positives.
    let fits = Bound::between(ITEMS as f64 * 0.9, ITEMS as f64 * 1.1);
    rows.row(
        "replays accepted in a burst if filters turn when full (the trap)",
        ITEMS as f64,
        forgotten as f64,
        fits,
    );
    let (runs, queries) = (lab.scaled(8), 10_000);
    let at = |load: f64| {
        let young =
            theory::fpr_classic(planned.m() as f64, load * ITEMS as f64, planned.k().into());
        1.0 - (1.0 - f.mean) * (1.0 - young)
    };
    let mut series =
        Series::new("1 − (1 − f)(1 − f(load))", (0..=20).map(|i| f64::from(i) / 20.0), at);
    for load in [0.0, 0.5, 0.8, 1.0] {
        let refused =
            lab.runs(runs, |seed| refused_at(seed, (load * ITEMS as f64) as u64, queries))?;
        let (mean, _) = bound::mean_and_sd(&refused);
        // Nonces that seem replayed are not put in, so that the fill stays a little below.
        let fits = bound::rate(at(load), 1.5 * f.sd, runs, queries).widened(at(load), 0.02);
        series.point(load, at(load), mean, fits);
    }
    let chart = Chart::new(
        "refused",
        "Fresh requests refused, the previous window full",
        [Axis::linear("how full the current window is"), Axis::linear("share refused")],
        [series],
    );
    Ok(oracle.report().chart(chart).rows(rows))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a27_two_filters() {
        assert!((1.0 - 0.995f64 * 0.995 - 0.009975).abs() < 1e-12);
    }

    #[test]
    fn stamps_across_windows_and_a_clock_that_jumps() {
        let mut seen = Replay::new(10, 100, 1e-6, Hasher::default()).unwrap();
        // Stamped in the window before the current one, it is remembered as long as its stamp is good.
        assert_eq!(seen.accept("a", 9, 12), Decision::Accepted);
        assert_eq!(seen.accept("a", 9, 19), Decision::Replayed);
        assert_eq!(seen.accept("a", 9, 20), Decision::Stale);
        assert_eq!(seen.accept("b", 1_000, 1_000), Decision::Accepted);
        // The clock runs backwards: nothing is forgotten.
        assert_eq!(seen.accept("b", 1_000, 500), Decision::Early);
        assert_eq!(seen.accept("b", 1_000, 1_001), Decision::Replayed);
        assert!(Replay::new(0, 1, 0.1, Hasher::default()).is_err());
    }
}
