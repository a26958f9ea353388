//! A queue that marks the flows which fill it: stochastic fair BLUE (catalogue A15; S1 §7.2).
//!
//! ```text
//!   flow ──h1──▶ level 1  [  .  .  q,p  .  ]     each bin has a queue length q and a probability p:
//!        ──h2──▶ level 2  [ q,p  .   .  .  ]     q above the limit raises p, an empty bin lowers it;
//!                                                a packet is marked with the least p of its bins
//! ```
//!
//! A flow that does not slow down drives p to 1 in all of its bins, and only flows that share *every* bin with such
//! flows suffer: (1 − (1 − 1/N)^M)^L for M of them, 0.1288 with N = 23, L = 2, M = 10. So that nobody suffers for
//! ever, the bins are hashed anew now and then. A second set of bins under the next hash warms up meanwhile; without
//! it every bad flow would start from p = 0 again.

use std::collections::HashMap;

use everbloom::internals::hash::Generator;
use everbloom::internals::probe::Partitioned;
use everbloom::{Hasher, Result};

use crate::sim::{Queue, poisson_gap};
use crate::{
    Application, Axis, Bound, Chart, Experiment, Form, Lab, Oracle, Report, Rows, Series, bound,
};

/// A queue length and a probability.
#[derive(Clone, Copy, Default)]
struct Bin {
    queued: u32,
    p: f64,
}

/// L levels of N bins under one hash, or, for the exact twin, a bin for each flow.
struct Bins {
    hash: Option<(Partitioned, Hasher)>,
    bins: HashMap<u64, Bin>,
}

impl Bins {
    fn hashed(levels: u32, bins: u64, seed: u64) -> Self {
        let hash = (Partitioned::new(bins, levels), Hasher::seeded(seed));
        Self { hash: Some(hash), bins: HashMap::new() }
    }

    fn exact() -> Self {
        Self { hash: None, bins: HashMap::new() }
    }

    /// The bins of a flow, one of each level.
    fn of(&self, flow: u64) -> Vec<u64> {
        match &self.hash {
            Some((probe, hasher)) => probe.indices(hasher.digest(&flow)).collect(),
            None => vec![flow],
        }
    }

    fn each(&mut self, flow: u64, mut change: impl FnMut(&mut Bin)) {
        for bin in self.of(flow) {
            change(self.bins.entry(bin).or_default());
        }
    }

    /// The least probability of a flow's bins.
    fn least(&self, flow: u64) -> f64 {
        let p = |bin: &u64| self.bins.get(bin).map_or(0.0, |bin| bin.p);
        self.of(flow).iter().map(p).fold(1.0, f64::min)
    }
}

/// What becomes of an arriving packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// It is queued.
    Queue,
    /// It is queued, and marked: its sender should slow down.
    Mark,
    /// It is dropped: its flow does not slow down.
    Limit,
}

/// How eagerly bins react.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// Levels L.
    pub levels: u32,
    /// Bins N of a level.
    pub bins: u64,
    /// Packets of a bin in the queue above which its probability rises.
    pub limit: u32,
    /// By how much it rises or falls at an arrival.
    pub step: f64,
}

/// Stochastic fair BLUE.
///
/// ```
/// use everbloom_lab::applications::measuring::fair_blue::{Decision, FairBlue, Setting};
/// let setting = Setting { levels: 2, bins: 23, limit: 10, step: 0.01 };
/// let mut blue = FairBlue::new(setting, 1);
/// // A flow whose packets never leave the queue.
/// let last = (0..1000).map(|_| blue.arrive(7)).last();
/// assert_eq!(last, Some(Decision::Limit));
/// assert_eq!(blue.probability(7), 1.0);
/// ```
pub struct FairBlue {
    setting: Setting,
    active: Bins,
    /// Under the next hash; none in the twin, which needs no other.
    warming: Option<Bins>,
    next_seed: u64,
    random: Generator,
}

impl FairBlue {
    /// A queue without packets.
    pub fn new(setting: Setting, seed: u64) -> Self {
        let bins = |seed| Bins::hashed(setting.levels, setting.bins, seed);
        let (active, warming) = (bins(seed), Some(bins(seed + 1)));
        Self { setting, active, warming, next_seed: seed + 2, random: Generator::new(seed) }
    }

    /// The exact twin: every flow has a bin of its own.
    fn exact(setting: Setting, seed: u64) -> Self {
        let random = Generator::new(seed);
        Self { setting, active: Bins::exact(), warming: None, next_seed: 0, random }
    }

    /// A packet of a flow arrives. Unless it is dropped it is in the queue until [`FairBlue::depart`].
    pub fn arrive(&mut self, flow: u64) -> Decision {
        let Setting { limit, step, .. } = self.setting;
        let change = |bin: &mut Bin| {
            let by = if bin.queued > limit {
                step
            } else if bin.queued == 0 {
                -step
            } else {
                0.0
            };
            bin.p = (bin.p + by).clamp(0.0, 1.0);
        };
        self.active.each(flow, change);
        self.warming.iter_mut().for_each(|bins| bins.each(flow, change));
        let p = self.probability(flow);
        if p >= 1.0 {
            return Decision::Limit;
        }
        self.active.each(flow, |bin| bin.queued += 1);
        self.warming.iter_mut().for_each(|bins| bins.each(flow, |bin| bin.queued += 1));
        if self.random.unit() < p { Decision::Mark } else { Decision::Queue }
    }

    /// A packet of a flow leaves the queue.
    pub fn depart(&mut self, flow: u64) {
        // Packets queued before the bins were begun were not counted.
        let leave = |bin: &mut Bin| bin.queued = bin.queued.saturating_sub(1);
        self.active.each(flow, leave);
        self.warming.iter_mut().for_each(|bins| bins.each(flow, leave));
    }

    /// The next hash takes over, with bins that are warm, and another begins to warm up.
    pub fn rehash(&mut self) {
        let next = Bins::hashed(self.setting.levels, self.setting.bins, self.next_seed);
        self.next_seed += 1;
        if let Some(warm) = self.warming.replace(next) {
            self.active = warm;
        }
    }

    /// The probability with which a packet of the flow is marked.
    pub fn probability(&self, flow: u64) -> f64 {
        self.active.least(flow)
    }

    /// Whether every bin of `flow` is also one of the others' bins.
    fn shares_all(&self, flow: u64, others: &[u64]) -> bool {
        let taken: Vec<u64> = others.iter().flat_map(|&other| self.active.of(other)).collect();
        self.active.of(flow).iter().all(|bin| taken.contains(bin))
    }
}

/// The application.
pub static APPLICATION: Application = Application {
    entry: "A15",
    form: Form::Simulation,
    uses: &["partitioned"],
    oracle: "BLUE with a bin for each flow",
    data: "flows that halve their rate when marked, and flows that do not, through one link",
    experiment: Experiment {
        name: "fair-blue",
        source: "S1 §7.2",
        title: "A queue that finds the flows which do not slow down (stochastic fair BLUE)",
        shows: "A flow that does not slow down reaches p = 1 and is limited. Another flow shares all of its bins with \
                M such flows with (1 − (1 − 1/N)^M)^L, 0.129 for N = 23, L = 2, M = 10; after the next hash \
                others do.",
        run,
    },
};

const SETTING: Setting = Setting { levels: 2, bins: 23, limit: 12, step: 0.005 };
/// Packets a second that the link carries, and its buffer.
const LINK: f64 = 1_000.0;
const BUFFER: usize = 200;
const SECONDS: f64 = 12.0;
const GOOD: u64 = 30;
const BAD: [u64; 2] = [1_000, 1_001];
/// Packets a second of a bad flow.
const FLOOD: f64 = 800.0;

enum Event {
    Send(u64),
    Leave,
    Sample,
    Rehash,
}

#[derive(Default)]
struct Seen {
    /// p of a bad and of a good flow over time.
    bad: Vec<(f64, f64)>,
    good: Vec<(f64, f64)>,
    most: HashMap<u64, f64>,
    /// Packets that left, of bad flows and of all.
    carried: [u64; 2],
    /// Packets that were queued, how many of them should be marked by their probabilities, the variance of that, and
    /// how many were.
    queued: u64,
    expected: f64,
    variance: f64,
    marked: u64,
}

/// A link with or without fair BLUE; hashed anew in the middle.
fn simulate(blue: &mut FairBlue, seed: u64, marking: bool) -> Seen {
    let mut random = Generator::new(seed);
    let mut events = Queue::default();
    let mut rates: HashMap<u64, (f64, f64)> = (0..GOOD).map(|flow| (flow, (10.0, 0.0))).collect();
    (0..GOOD).chain(BAD).for_each(|flow| events.at(random.unit() * 0.1, Event::Send(flow)));
    (0..60).for_each(|i| events.at(f64::from(i) * SECONDS / 60.0, Event::Sample));
    events.at(SECONDS / 2.0, Event::Rehash);
    let mut waiting = std::collections::VecDeque::new();
    let mut seen = Seen::default();
    while let Some((now, event)) = events.next().filter(|(now, _)| *now < SECONDS) {
        match event {
            Event::Send(flow) => {
                let room = waiting.len() < BUFFER;
                let decision = if marking && room { blue.arrive(flow) } else { Decision::Queue };
                let queued = room && decision != Decision::Limit;
                if queued {
                    if waiting.is_empty() {
                        events.after(1.0 / LINK, Event::Leave);
                    }
                    waiting.push_back(flow);
                }
                let p = blue.probability(flow);
                let most = seen.most.entry(flow).or_insert(0.0);
                *most = most.max(p);
                if marking && queued {
                    seen.queued += 1;
                    seen.expected += p;
                    seen.variance += p * (1.0 - p);
                    seen.marked += u64::from(decision == Decision::Mark);
                }
                let rate = match rates.get_mut(&flow) {
                    // Halved at most once in a round trip of 0.1 s, otherwise a packet more in each.
                    Some((rate, halved)) if !queued || decision == Decision::Mark => {
                        if now - *halved > 0.1 {
                            *rate = (*rate / 2.0).max(2.0);
                            *halved = now;
                        }
                        *rate
                    }
                    Some((rate, _)) => {
                        *rate += 100.0 / *rate;
                        *rate
                    }
                    None => FLOOD,
                };
                events.after(poisson_gap(rate, &mut random), Event::Send(flow));
            }
            Event::Leave => {
                if let Some(flow) = waiting.pop_front() {
                    blue.depart(flow);
                    seen.carried[0] += u64::from(BAD.contains(&flow));
                    seen.carried[1] += 1;
                }
                if !waiting.is_empty() {
                    events.after(1.0 / LINK, Event::Leave);
                }
            }
            Event::Sample => {
                seen.bad.push((now, blue.probability(BAD[0])));
                seen.good.push((now, blue.probability(0)));
            }
            Event::Rehash => blue.rehash(),
        }
    }
    seen
}

/// Whether good flows are limited that share a bin with no other flow, before and after the next hash: to such a bin it
/// is as if the flow had the queue of the twin.
fn alone(seed: u64) -> Vec<bool> {
    let mut blue = FairBlue::new(SETTING, seed);
    let has_own = |blue: &FairBlue, flow: u64| {
        let others: Vec<u64> = (0..GOOD).chain(BAD).filter(|other| *other != flow).collect();
        let taken: Vec<u64> = others.iter().flat_map(|other| blue.active.of(*other)).collect();
        blue.active.of(flow).iter().any(|bin| !taken.contains(bin))
    };
    let before: Vec<u64> = (0..GOOD).filter(|flow| has_own(&blue, *flow)).collect();
    let seen = simulate(&mut blue, seed, true);
    let both = before.into_iter().filter(|flow| has_own(&blue, *flow));
    both.map(|flow| seen.most.get(&flow).is_some_and(|p| *p >= 1.0)).collect()
}

/// Of `trials` hashes, those under which a flow shares all bins with `bad` others, and those of them under which it
/// still does after the next hash.
fn victims(seed: u64, levels: u32, bad: u64, trials: u64) -> [u64; 2] {
    let others: Vec<u64> = (1..=bad).collect();
    let mut counts = [0; 2];
    for trial in 0..trials {
        let mut blue = FairBlue::new(Setting { levels, ..SETTING }, seed.wrapping_add(trial * 16));
        if blue.shares_all(0, &others) {
            counts[0] += 1;
            blue.rehash();
            counts[1] += u64::from(blue.shares_all(0, &others));
        }
    }
    counts
}

fn sharing(lab: &Lab, rows: &mut Rows) -> Result<Chart> {
    let (runs, trials) = (lab.scaled(8), 2_000);
    let formula = |levels: u32, bad: f64| {
        let alone = libm::pow(1.0 - 1.0 / SETTING.bins as f64, bad);
        libm::pow(1.0 - alone, levels.into())
    };
    let mut series = Vec::new();
    for levels in [2, 3] {
        let name = format!("N = 23, L = {levels}");
        let mut one = Series::new(name, (1..=40).map(f64::from), |bad| formula(levels, bad));
        for bad in [5, 10, 20, 40] {
            let seen = lab.runs(runs, |seed| Ok(victims(seed, levels, bad, trials)))?;
            let sum = |i: usize| seen.iter().map(|s| s[i]).sum::<u64>();
            let p = formula(levels, bad as f64);
            let measured = sum(0) as f64 / (runs * trials) as f64;
            one.point(bad as f64, p, measured, bound::share(p, runs * trials));
            if (levels, bad) == (2, 10) {
                let label = "of the flows that suffer, share that still does after the next hash";
                rows.row(label, p, sum(1) as f64 / sum(0) as f64, bound::share(p, sum(0)));
            }
        }
        series.push(one);
    }
    Ok(Chart::new(
        "sharing",
        "A good flow shares all of its bins with bad ones",
        [Axis::linear("bad flows"), Axis::linear("probability")],
        series,
    ))
}

fn run(lab: &Lab) -> Result<Report> {
    let seed = lab.seed() << 8;
    let mut blue = FairBlue::new(SETTING, seed);
    let seen = simulate(&mut blue, seed, true);
    let exact = simulate(&mut FairBlue::exact(SETTING, seed), seed, true);
    let plain = simulate(&mut FairBlue::exact(SETTING, seed), seed, false);
    let limited = |seen: &Seen, flow: &u64| seen.most.get(flow).is_some_and(|p| *p >= 1.0);
    let mut oracle = Oracle::default();
    let alone = lab.runs(lab.scaled(16), |seed| Ok(alone(seed << 8)))?;
    oracle.equal(
        "good flows with a bin of their own: limited, and in the twin",
        alone.into_iter().flatten().map(|limited| (limited, false)),
    );
    oracle.equal(
        "bad flows limited, and limited by the twin",
        BAD.map(|f| (limited(&seen, &f), limited(&exact, &f))),
    );
    oracle.none(
        "good flows that the twin limits",
        (0..GOOD).filter(|f| limited(&exact, f)).count() as u64,
    );
    let mut rows = Rows::new(
        "link",
        "Two flows of 0.8 of a link each, and 30 that slow down",
        Axis::linear("value"),
    );
    let most = BAD.iter().map(|f| seen.most.get(f).copied().unwrap_or(0.0)).fold(1.0, f64::min);
    rows.row("the probability that bad flows reach", 1.0, most, Bound::exactly(1.0, 0.0));
    let share = |seen: &Seen| seen.carried[0] as f64 / seen.carried[1] as f64;
    // In a plain queue packets are carried in proportion to what is sent: the good flows give way to almost nothing.
    rows.row(
        "what bad flows get of a plain queue: most of it",
        0.8,
        share(&plain),
        Bound::at_least(0.65),
    );
    // A limited bin keeps its limit in the queue, of the 200 or fewer that are there.
    rows.row(
        "what they get with fair BLUE: less than half of that",
        0.5 * share(&plain),
        share(&seen),
        Bound::at_most(0.5 * share(&plain)),
    );
    // Whoever is told to slow down slows down: what good flows carry is near what they carry in the twin.
    let good = |seen: &Seen| (seen.carried[1] - seen.carried[0]) as f64;
    rows.row(
        "packets of good flows that are carried, for each of the twin",
        1.0,
        good(&seen) / good(&exact),
        Bound::between(0.8, 1.2),
    );
    rows.row(
        "packets marked: as many as their probabilities say",
        seen.expected / seen.queued as f64,
        seen.marked as f64 / seen.queued as f64,
        bound::mean(seen.expected, seen.variance.sqrt(), 1)
            .map(|packets| packets / seen.queued as f64),
    );
    let at_once = blue.warming.as_ref().map_or(0.0, |bins| bins.least(BAD[0]));
    rows.row(
        "p of a bad flow in the warming bins: the next hash finds it at once",
        1.0,
        at_once,
        Bound::at_least(0.9),
    );
    let cold = Bins::hashed(SETTING.levels, SETTING.bins, 99).least(BAD[0]);
    rows.row("… in bins that did not warm up (the trap)", 0.0, cold, Bound::exactly(0.0, 0.0));
    let chart = sharing(lab, &mut rows)?;
    let line = |name: &str, curve: Vec<(f64, f64)>| Series {
        name: name.into(),
        curve,
        ..Series::default()
    };
    let over_time = Chart::new(
        "time",
        "The probability of marking; hashed anew after 6 seconds",
        [Axis::linear("seconds"), Axis::linear("p")],
        [line("a bad flow", seen.bad), line("a good flow", seen.good)],
    );
    Ok(oracle.report().chart(chart).chart(over_time).rows(rows))
}

#[cfg(test)]
mod tests {
    #[test]
    fn a15_sharing_all_bins() {
        let shares = libm::pow(1.0 - libm::pow(1.0 - 1.0 / 23.0, 10.0), 2.0);
        assert!((shares - 0.1288).abs() < 5e-5, "{shares}");
    }
}
