//! Which caches must be asked for a line? (catalogue A62; S3 \[37\] §III-A)
//!
//! ```text
//!   core 0 misses line x ──▶ bus filter: in any cache?  ──no──▶ memory, nobody is asked
//!                            ──maybe──▶ filter of core 1: no · of core 2: maybe, snoop · of core 3: no
//! ```
//!
//! On a shared bus every miss of one core is looked up in the caches of all others. A counting filter for each core of
//! the lines that it holds (+1 at a fill, −1 at an eviction) lets most look-ups be skipped: with 3 other cores, a tenth
//! of the lines shared, 8 counters a line and k = 4, 3·(0.1 + 0.9·0.024) = 0.365 are asked instead of 3. No copy may be
//! missed, so that *every* fill and eviction counts. A counter that is full sticks, which is safe, but the filter fills
//! up; now and then it is built anew from the tags.

use everbloom::internals::cells::Bits;
use everbloom::internals::hash::Generator;
use everbloom::internals::theory::bloom as theory;
use everbloom::{Bloom, Counting, Hasher, Result};

use super::lru::Lru;
use crate::sim::{Rate, Zipf};
use crate::{
    Application, Axis, Bound, Chart, Experiment, Form, Lab, Oracle, Report, Rows, Series, bound,
};

/// The filters of all cores, and of the bus.
///
/// ```
/// use everbloom_lab::applications::caching::snoop::Snoop;
/// let mut filters = Snoop::new(4, 1024, 8, 4, 4)?;
/// filters.fill(2, 0xCAFE);
/// assert_eq!(filters.ask(0, 0xCAFE), [2]);
/// filters.evict(2, 0xCAFE);
/// assert!(filters.ask(0, 0xCAFE).is_empty() && !filters.bus(0)?.contains(&0xCAFE));
/// # Ok::<(), everbloom::Error>(())
/// ```
pub struct Snoop {
    cores: Vec<Counting>,
    shape: (u64, u32, u32),
}

impl Snoop {
    /// Filters for `cores` caches of `lines` lines, with `counters` counters of `width` bits a line and `k` probes.
    pub fn new(cores: usize, lines: u64, counters: u64, k: u32, width: u32) -> Result<Self> {
        let shape = (lines.saturating_mul(counters), k, width);
        let core = |_| Counting::with_shape(shape.0, k, width, Hasher::default());
        Ok(Self { cores: (0..cores).map(core).collect::<Result<_>>()?, shape })
    }

    /// A core takes a line into its cache.
    pub fn fill(&mut self, core: usize, line: u64) {
        if let Some(filter) = self.cores.get_mut(core) {
            filter.insert(&line);
        }
    }

    /// A core drops a line. One that was never filled is left alone.
    pub fn evict(&mut self, core: usize, line: u64) {
        if let Some(filter) = self.cores.get_mut(core) {
            filter.remove(&line).ok();
        }
    }

    /// What the bus knows when a core misses: the OR of the filters of all others. A line that is not in it is in no
    /// other cache, and nobody is asked.
    pub fn bus(&self, core: usize) -> Result<Bloom> {
        let (m, k, _) = self.shape;
        let mut bits = Bits::try_new(m)?;
        let others = self.cores.iter().enumerate().filter(|(other, _)| *other != core);
        others.for_each(|(_, filter)| bits.union(&filter.to_bits()));
        Bloom::from_bits(bits, k, Hasher::default(), 0)
    }

    /// The other cores whose cache must be looked into.
    pub fn ask(&self, core: usize, line: u64) -> Vec<usize> {
        let others = self.cores.iter().enumerate().filter(|(other, _)| *other != core);
        others.filter(|(_, filter)| filter.contains(&line)).map(|(other, _)| other).collect()
    }

    /// Builds the filter of a core anew from the tags of its cache.
    pub fn rebuild(&mut self, core: usize, tags: impl IntoIterator<Item = u64>) -> Result<()> {
        let (m, k, width) = self.shape;
        let mut filter = Counting::with_shape(m, k, width, Hasher::default())?;
        filter.extend(tags);
        if let Some(old) = self.cores.get_mut(core) {
            *old = filter;
        }
        Ok(())
    }
}

/// The application.
pub static APPLICATION: Application = Application {
    entry: "A62",
    form: Form::Simulation,
    uses: &["counting", "bloom"],
    oracle: "the tags of every cache",
    data: "four cores with caches of least recent use, reading lines of their own and lines that they share",
    experiment: Experiment {
        name: "snoop",
        source: "S3 §III-A [37]",
        title: "Which caches must be asked for a line",
        shows: "No copy is missed. With a tenth of the lines shared, 0.365 caches are asked for each miss instead of \
                3. Without counting every fill copies are missed; narrow counters stick until the filter is built \
                anew.",
        run,
    },
};

struct Static {
    asked: f64,
    silent: f64,
}

const LINES: u64 = 1_000;
const COUNTERS: u64 = 8;
const K: u32 = 4;
const OTHERS: f64 = 3.0;
/// Each other core has a line of the workload with this probability.
const SHARED: f64 = 0.1;

/// Misses of core 0 for lines of which each other core holds a tenth.
fn misses(seed: u64, counters: u64) -> Result<Static> {
    let mut random = Generator::new(seed);
    let lines = LINES * 10;
    let mut snoop = Snoop::new(4, LINES, counters, K, 4)?;
    let name = |line: u64| line.wrapping_mul(64).wrapping_add(seed << 32);
    for core in 1..4 {
        (0..lines).filter(|_| random.unit() < SHARED).for_each(|line| snoop.fill(core, name(line)));
    }
    let asked: usize = (0..lines).map(|line| snoop.ask(0, name(line)).len()).sum();
    let bus = snoop.bus(0)?;
    let silent = (0..lines).filter(|&line| !bus.contains(&name(line))).count();
    Ok(Static { asked: asked as f64 / lines as f64, silent: silent as f64 / lines as f64 })
}

/// Four cores at work.
struct Machine {
    caches: Vec<Lru>,
    snoop: Snoop,
    random: Generator,
    private: Zipf,
    shared: Zipf,
}

#[derive(Default)]
struct Work {
    misses: u64,
    asked: u64,
    /// Copies in other caches, and those whose core was not asked.
    copies: u64,
    missed: u64,
}

impl Machine {
    fn new(seed: u64, width: u32) -> Result<Self> {
        Ok(Self {
            caches: (0..4).map(|_| Lru::new(LINES as usize)).collect(),
            snoop: Snoop::new(4, LINES, COUNTERS, K, width)?,
            random: Generator::new(seed),
            private: Zipf::new(20_000, 0.6),
            shared: Zipf::new(2_000, 0.6),
        })
    }

    /// Reads of random cores. Of the fills only `counted` (a share) are counted: all of them, if it is done right.
    fn run(&mut self, reads: u64, counted: f64) -> Work {
        let mut work = Work::default();
        for _ in 0..reads {
            let core = self.random.below(4) as usize;
            let line = match self.random.below(5) {
                0 => self.shared.draw(&mut self.random) as u64,
                _ => ((core as u64 + 1) << 32) + self.private.draw(&mut self.random) as u64,
            };
            if self.caches[core].hit(line) {
                continue;
            }
            let asked = self.snoop.ask(core, line);
            let holds = |other: &usize| *other != core && self.caches[*other].contains(line);
            let copies: Vec<usize> = (0..4).filter(holds).collect();
            work.misses += 1;
            work.asked += asked.len() as u64;
            work.copies += copies.len() as u64;
            work.missed += copies.iter().filter(|other| !asked.contains(other)).count() as u64;
            if self.random.unit() < counted {
                self.snoop.fill(core, line);
            }
            if let Some(dropped) = self.caches[core].insert(line) {
                self.snoop.evict(core, dropped);
            }
        }
        work
    }

    /// How often a line that no core has seems to be in core 0.
    fn rate(&mut self, queries: u64) -> f64 {
        let wrong = (0..queries).filter(|_| {
            let line = self.random.next_u64();
            self.snoop.cores[0].contains(&line)
        });
        wrong.count() as f64 / queries as f64
    }

    fn rebuild(&mut self) -> Result<()> {
        for (core, cache) in self.caches.iter().enumerate() {
            self.snoop.rebuild(core, cache.keys())?;
        }
        Ok(())
    }
}

fn run(lab: &Lab) -> Result<Report> {
    let mut oracle = Oracle::default();
    let mut rows = Rows::new("source", "The source's numbers, and traps", Axis::linear("value"));
    let runs = lab.scaled(6);
    let asked = |f: f64| OTHERS * (SHARED + (1.0 - SHARED) * f);
    let mut series = Series::new("3·(0.1 + 0.9·f)", (2..=16).map(f64::from), |counters| {
        asked(theory::fpr_asymptotic(counters, 1.0, K.into()))
    });
    for counters in [4, 8, 12] {
        let seen = lab.runs(runs, |seed| misses(seed, counters))?;
        let (mean, _) = bound::mean_and_sd(&seen.iter().map(|s| s.asked).collect::<Vec<_>>());
        let f = Rate::of(LINES * counters, LINES, K);
        let p = asked(f.mean);
        // Lines shared and false positives are coins; the number of lines in a cache varies by 3 %.
        let coins = OTHERS * (p / OTHERS) / (LINES * 10) as f64;
        let filters = OTHERS * 0.81 * (f.sd * f.sd + libm::pow(f.mean * 4.0 * 0.03, 2.0));
        let fits = bound::mean(p, (coins + filters).sqrt(), runs);
        series.point(counters as f64, p, mean, fits);
        if counters == 8 {
            rows.row("caches asked for each miss, 8 counters a line", 0.365, mean, fits);
            let none = libm::pow(1.0 - SHARED, OTHERS);
            // Lines that several cores have count once in the OR.
            let union = (10.0 * LINES as f64 * (1.0 - none)) as u64;
            let bus = Rate::of(LINES * counters, union, K);
            let p = none * (1.0 - bus.mean);
            let silent = seen.iter().map(|s| s.silent).sum::<f64>() / runs as f64;
            let fits = bound::rate(p, bus.sd, runs, 10 * LINES).widened(p, 0.01);
            rows.row("misses without a broadcast: not in the filter of the bus", p, silent, fits);
        }
    }
    let work = lab.runs(lab.scaled(2), |seed| Ok(Machine::new(seed, 4)?.run(40_000, 1.0)))?;
    let sum = |f: fn(&Work) -> u64| work.iter().map(f).sum::<u64>();
    oracle.none(&format!("copies missed, of {}", sum(|w| w.copies)), sum(|w| w.missed));
    let f = theory::fpr_asymptotic(COUNTERS as f64, 1.0, K.into());
    let shared = sum(|w| w.copies) as f64 / (OTHERS * sum(|w| w.misses) as f64);
    let predicted = OTHERS * (shared + (1.0 - shared) * f);
    let measured = sum(|w| w.asked) as f64 / sum(|w| w.misses) as f64;
    // Caches that are not yet full err less, and the same lines miss again and again.
    rows.row(
        "caches asked for each miss of cores at work, of 3",
        predicted,
        measured,
        Bound::between(OTHERS * shared, predicted * 1.1),
    );
    let wrong = Machine::new(lab.seed(), 4)?.run(40_000, 0.9);
    rows.row(
        "copies missed if one fill in ten is not counted (the trap): some",
        1.0,
        wrong.missed as f64,
        Bound::at_least(1.0),
    );
    let mut narrow = Machine::new(lab.seed(), 2)?;
    oracle.none("copies missed by counters that stick", narrow.run(60_000, 1.0).missed);
    let queries = 40_000;
    rows.row(
        "rate of counters of 2 bits after many fills (they stick): twice f or more",
        2.0 * f,
        narrow.rate(queries),
        Bound::at_least(2.0 * f),
    );
    narrow.rebuild()?;
    let exact = Rate::of(LINES * COUNTERS, LINES, K);
    rows.row(
        "… built anew from the tags: f",
        exact.mean,
        narrow.rate(queries),
        exact.bound(1, queries),
    );
    let chart = Chart::new(
        "asked",
        "Caches asked for each miss, of 3, a tenth of the lines shared",
        [Axis::linear("counters for each line"), Axis::linear("caches asked")],
        [series, Series::new("without filters", [2.0, 16.0], |_| OTHERS)],
    );
    Ok(oracle.report().chart(chart).rows(rows))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a62_caches_asked() {
        let f = theory::fpr_asymptotic(8.0, 1.0, 4.0);
        assert!((f - 0.0240).abs() < 5e-5 && (3.0 * (0.1 + 0.9 * f) - 0.365).abs() < 5e-4);
    }

    #[test]
    fn cores_that_do_not_exist() {
        let mut filters = Snoop::new(2, 16, 8, 4, 4).unwrap();
        filters.fill(9, 1);
        filters.evict(9, 1);
        assert!(filters.ask(0, 1).is_empty());
    }
}
