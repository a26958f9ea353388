//! A network card that answers for a sleeping computer (catalogue A57; S0 §IV-F \[126\]).
//!
//! ```text
//!   query ──▶ card: in the filter of shared files? ──no──▶ the card says no, the computer sleeps on
//!                                                  ──maybe─▶ wake up and look
//! ```
//!
//! A computer that shares files is kept awake by queries for files that it does not have. Before it sleeps it gives its
//! card a filter of what it has, the luckiest of N (best of N: fewest ones). No query for a held file is lost. Of
//! foreign queries f wake it in vain: 8.3 of 1000 for 100 files in 1000 bits (k = 7), 6.8 with the best of 10, 6.0 with
//! the best of 100. A list that changed after the filter was built loses queries: it is built anew before each sleep.

use std::collections::HashSet;

use everbloom::internals::hash::Generator;
use everbloom::membership::{BestOfN, best_of_n};
use everbloom::{Hasher, Result};

use crate::sim::{Churn, Queue, poisson_gap};
use crate::{
    Application, Axis, Bound, Chart, Experiment, Form, Lab, Oracle, Report, Rows, Series, bound,
};

/// What a network card knows of the files of its computer.
///
/// ```
/// use everbloom_lab::applications::caching::sleep_proxy::Proxy;
/// let proxy = Proxy::new(&["holiday.mkv", "thesis.pdf"], 1000, 7, 10)?;
/// assert!(proxy.wakes("thesis.pdf"));
/// assert!(!proxy.wakes("song.mp3"));
/// # Ok::<(), everbloom::Error>(())
/// ```
pub struct Proxy {
    filter: BestOfN,
}

impl Proxy {
    /// A filter of `m` bits and `k` probes of these files, the best of `tries`.
    pub fn new<K: everbloom::Key>(files: &[K], m: u64, k: u32, tries: u64) -> Result<Self> {
        Ok(Self { filter: BestOfN::of(files, m, k, tries, Hasher::default())? })
    }

    /// Whether a query for this file wakes the computer.
    pub fn wakes<K: everbloom::Key + ?Sized>(&self, file: &K) -> bool {
        self.filter.contains(file)
    }
}

/// The application.
pub static APPLICATION: Application = Application {
    entry: "A57",
    form: Form::Simulation,
    uses: &["best-of-n"],
    oracle: "the set of shared files",
    data: "a computer with 100 files, some of which change whenever it is awake; Poisson queries for its files and \
           others",
    experiment: Experiment {
        name: "sleep-proxy",
        source: "S0 §IV-F [126]",
        title: "A network card that answers for a sleeping computer",
        shows: "No query for a held file is lost. Of 1000 foreign queries 8.3, 6.8 and 6.0 wake the computer for \
                the best of 1, 10 and 100 filters; it sleeps most of the time where without a proxy it hardly \
                would.",
        run,
    },
};

const FILES: u64 = 100;
const M: u64 = 1000;
const K: u32 = 7;
/// Seconds for which the computer stays awake.
const AWAKE: f64 = 60.0;
/// One of so many queries is for a file that it has.
const HELD: f64 = 1.0 / 1000.0;

/// Of `queries` foreign queries, those that wake the computer.
fn woken(seed: u64, tries: u64, queries: u64) -> Result<u64> {
    let mut random = Generator::new(seed);
    let files: Vec<u64> = (0..FILES).map(|_| random.next_u64()).collect();
    let proxy = Proxy::new(&files, M, K, tries)?;
    Ok((0..queries).filter(|_| proxy.wakes(&random.next_u64())).count() as u64)
}

enum Event {
    Query,
    Sleep,
}

struct Day {
    asleep: f64,
    lost: u64,
    cycles: u64,
    /// Queries for held files while asleep, and wakes as the exact list would.
    held: u64,
}

/// A computer in the stream of `rate` queries a second. `tries` = 0: no proxy, every query wakes it. `stale`: the
/// filter is never built anew.
fn day(seed: u64, rate: f64, tries: u64, stale: bool, seconds: f64) -> Result<Day> {
    let mut random = Generator::new(seed);
    let mut files = Churn::new(FILES, 0.1);
    let hasher_salt = seed << 32;
    let names =
        |files: &Churn| files.members().iter().map(|f| f ^ hasher_salt).collect::<Vec<u64>>();
    let build = |files: &Churn| Proxy::new(&names(files), M, K, tries.max(1));
    let mut proxy = build(&files)?;
    let mut held: HashSet<u64> = names(&files).into_iter().collect();
    let mut events = Queue::default();
    events.at(poisson_gap(rate, &mut random), Event::Query);
    let mut asleep_since = Some(0.0);
    let mut seen = Day { asleep: 0.0, lost: 0, cycles: 0, held: 0 };
    while let Some((now, event)) = events.next().filter(|(now, _)| *now < seconds) {
        match event {
            Event::Query => {
                let mine = random.unit() < HELD;
                let own = files.members()[random.below(FILES) as usize] ^ hasher_salt;
                let file = if mine { own } else { random.next_u64() };
                if let Some(since) = asleep_since {
                    let wakes = tries == 0 || proxy.wakes(&file);
                    seen.held += u64::from(held.contains(&file));
                    seen.lost += u64::from(held.contains(&file) && !wakes);
                    if wakes {
                        seen.asleep += now - since;
                        seen.cycles += 1;
                        asleep_since = None;
                        events.after(AWAKE, Event::Sleep);
                    }
                }
                events.after(poisson_gap(rate, &mut random), Event::Query);
            }
            Event::Sleep => {
                files.step(&mut random);
                held = names(&files).into_iter().collect();
                if !stale {
                    proxy = build(&files)?;
                }
                asleep_since = Some(now);
            }
        }
    }
    seen.asleep += asleep_since.map_or(0.0, |since| seconds - since);
    Ok(seen)
}

/// The share of time asleep: sleeps last 1/(rate·w) on average, w the share of queries that wake.
fn sleep_share(rate: f64, wakes: f64) -> f64 {
    let sleep = 1.0 / (rate * wakes);
    sleep / (sleep + AWAKE)
}

fn run(lab: &Lab) -> Result<Report> {
    let mut rows = Rows::new(
        "source",
        "Wake-ups of 1000 foreign queries, 100 files in 1000 bits",
        Axis::linear("wake-ups"),
    );
    let (runs, queries) = (lab.scaled(100), 2_000);
    let mut rates = Vec::new();
    for (tries, said) in [(1, 0.0083), (10, 0.00684), (100, 0.00601)] {
        let seen = lab.runs(runs, |seed| woken(seed, tries, queries))?;
        let measured = seen.iter().sum::<u64>() as f64 / (runs * queries) as f64;
        let (fill, sd) = best_of_n::best_fill(M as f64, (FILES * u64::from(K)) as f64, tries);
        let spread = said * f64::from(K) * sd / fill;
        let fits = bound::rate(said, spread, runs, queries).widened(said, 0.01);
        let scale = |end: Option<f64>| end.map(|e| 1000.0 * e);
        rows.row(
            format!("best of {tries}"),
            1000.0 * said,
            1000.0 * measured,
            Bound { low: scale(fits.low), high: scale(fits.high) },
        );
        rates.push((tries, said));
    }
    let mut oracle = Oracle::default();
    let seconds = 100_000.0;
    let mut series = Vec::new();
    let xs = || (1..=30).map(|i| libm::pow(10.0, f64::from(i) / 10.0 - 2.0));
    let kinds =
        [("no proxy", 0, 1.0), ("one filter", 1, rates[0].1), ("best of 100", 100, rates[2].1)];
    for (name, tries, f) in kinds {
        let wakes = HELD + (1.0 - HELD) * f;
        let mut one = Series::new(name, xs(), |rate| sleep_share(rate, wakes));
        for rate in [0.1, 1.0] {
            let days = lab.runs(lab.scaled(1), |seed| day(seed, rate, tries, false, seconds))?;
            oracle.none(
                &format!("queries for held files lost, {name}, {rate} a second"),
                days.iter().map(|d| d.lost).sum(),
            );
            let all = seconds * days.len() as f64;
            let share = days.iter().map(|d| d.asleep).sum::<f64>() / all;
            let p = sleep_share(rate, wakes);
            // Sleeps are exponential, wakes fixed: over c cycles the share scatters by p·(1−p)/√c.
            let cycles = all * (1.0 - p) / AWAKE;
            one.point(
                rate,
                p,
                share,
                bound::mean(p, p * (1.0 - p), cycles as u64).widened(p * (1.0 - p), 0.05),
            );
        }
        series.push(one);
    }
    series.push(Series::new("an exact list", xs(), |rate| sleep_share(rate, HELD)));
    let stale = lab.runs(lab.scaled(2), |seed| day(seed, 5.0, 1, true, 2.0 * seconds))?;
    let lost = stale.iter().map(|d| d.lost).sum::<u64>() as f64
        / stale.iter().map(|d| d.held).sum::<u64>() as f64;
    rows.row(
        "queries for held files lost if the filter is never built anew (the trap): most",
        1.0,
        lost,
        Bound::at_least(0.5),
    );
    let chart = Chart::new(
        "asleep",
        "Time asleep; one query in 1000 is for a file that is there",
        [Axis::log("queries a second"), Axis::linear("share of time")],
        series,
    );
    Ok(oracle.report().rows(rows).chart(chart))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a57_rates_follow_from_the_fewest_ones() {
        for (ones, rate) in [(490.4f64, 0.00684f64), (481.5, 0.00601)] {
            assert!((libm::pow(ones / 1000.0, 7.0) / rate - 1.0).abs() < 0.015);
        }
        assert!((sleep_share(1.0, 1.0 / 60.0) - 0.5).abs() < 1e-12);
    }
}
