//! Caches that tell each other what they hold: Summary Cache and Squid's digests (catalogue A5; S0\[26\]\[27\] §IV-A, S1 §4).
//!
//! ```text
//!   proxy: counters ── insert, evict        what travels: a plain filter, or the bits of it that flipped
//!        └─ bits ─▶ version 7 ─delta─▶ neighbors: on a miss of their own they ask whoever's filter has the URL
//! ```
//!
//! A neighbor's filter is as old as its last refresh. *False hits* (asked, and not there) are the filter's rate and what
//! was evicted since; *false misses* (there, and not asked) are what was inserted since, and nothing else. A plain filter
//! cannot evict, so the proxy counts; Squid has no counters, and builds its digest anew every hour instead.

use std::collections::HashSet;

use everbloom::internals::hash::Generator;
use everbloom::internals::theory::bloom as theory;
use everbloom::{Bloom, Counting, Hasher, Limits, Opener, Result, to_bytes};
use everbloom_formats::Format;
use everbloom_tools::published::Update;

use crate::{
    Application, Axis, Bound, Chart, Experiment, Form, Lab, Oracle, Report, Rows, Series, bound,
};

/// What one cache holds, and what it has told of it.
///
/// ```
/// use everbloom_lab::applications::caching::cache_digests::{Neighbor, Summary};
///
/// let (mut cache, mut neighbor) = (Summary::new(4096, 4)?, Neighbor::default());
/// cache.insert("http://a/");
/// neighbor.refresh(&cache.publish()?)?;
/// assert!(neighbor.may_have("http://a/"));
/// cache.evict("http://a/")?;
/// neighbor.refresh(&cache.publish()?)?;
/// assert!(!neighbor.may_have("http://a/"));
/// # Ok::<(), everbloom::Error>(())
/// ```
pub struct Summary {
    counts: Counting,
    k: u32,
    items: u64,
    version: u64,
    published: Option<Vec<u8>>,
}

impl Summary {
    /// A cache with m counters and k probes for each URL.
    pub fn new(m: u64, k: u32) -> Result<Self> {
        let counts = Counting::with_shape(m, k, 4, Hasher::default())?;
        Ok(Self { counts, k, items: 0, version: 0, published: None })
    }

    /// A URL comes into the cache.
    pub fn insert(&mut self, url: &str) {
        self.counts.insert(url);
        self.items += 1;
    }

    /// A URL leaves the cache. Only what was inserted may leave.
    pub fn evict(&mut self, url: &str) -> Result<()> {
        self.counts.remove(url)?;
        self.items -= 1;
        Ok(())
    }

    /// What changed since the last call, or the whole filter at the first.
    pub fn publish(&mut self) -> Result<Update> {
        let bits = self.counts.to_bits();
        let bytes = to_bytes(&Bloom::from_bits(bits, self.k, Hasher::default(), self.items)?);
        self.version += 1;
        let old = self.published.replace(bytes.clone());
        let delta = old.and_then(|old| Update::delta(self.version, &old, &bytes));
        Ok(delta.unwrap_or_else(|| Update::whole(self.version, &bytes)))
    }
}

/// A neighbor's copy of a summary.
#[derive(Default)]
pub struct Neighbor {
    bytes: Option<Vec<u8>>,
    filter: Option<Bloom>,
}

impl Neighbor {
    /// Takes an update; one that does not fit is an error and changes nothing.
    pub fn refresh(&mut self, update: &Update) -> Result<()> {
        let bytes = update.apply(self.bytes.as_deref())?;
        let filter = Opener::new().limits(Limits::NETWORK).decode_as(&bytes)?;
        (self.bytes, self.filter) = (Some(bytes), Some(filter));
        Ok(())
    }

    /// Whether the cache may have the URL, as far as was told.
    pub fn may_have(&self, url: &str) -> bool {
        self.filter.as_ref().is_some_and(|filter| filter.contains(url))
    }
}

/// The application.
pub static APPLICATION: Application = Application {
    entry: "A5",
    form: Form::Tool("publish"),
    uses: &["bloom", "counting"],
    oracle: "a hash set of what is cached",
    data: "random URLs that are inserted and evicted",
    experiment: Experiment {
        name: "cache-digests",
        source: "S0 §IV-A [26, 27], S1 §4",
        title: "Caches that tell their neighbors what they hold",
        shows: "With four probes a neighbor is asked in vain for 0.024 of foreign URLs at 8 bits each, 0.0024 at 16, \
                0.0002 at 32. A thousand inserts and evictions flip 11 000 bits of a million: a delta of 11 kB, where the \
                filter has 131.",
        run,
    },
};

/// Bits a URL, and the rate with Squid's four probes.
const LOADS: [(u64, f64); 3] = [(8, 0.0240), (16, 0.002_39), (32, 1.9e-4)];
const PROBES: u32 = 4;

const M: u64 = 1 << 20;
const K: u32 = 11;
const CHANGES: u64 = 1000;
/// The upper estimate of flipped bits: every probe of a key that came, or went, on a bit of its own.
const FLIPS: f64 = 11_062.0;

fn url(seed: u64, i: u64) -> String {
    format!("http://{:x}/{i}", seed & 0xFFFF_FFFF)
}

/// False hits of foreign URLs at this load.
fn false_hits(seed: u64, bits: u64, queries: u64) -> Result<(u64, u64)> {
    let n = 10_000;
    let mut filter = Bloom::with_shape(n * bits, PROBES, Hasher::seeded(seed))?;
    (0..n).for_each(|i| _ = filter.insert(&url(seed, i)));
    let missed = (0..n).filter(|i| !filter.contains(&url(seed, *i))).count() as u64;
    let hits = (n..n + queries).filter(|i| filter.contains(&url(seed, *i))).count() as u64;
    Ok((hits, missed))
}

struct Churn {
    flips: f64,
    delta: f64,
    whole: f64,
    /// Cached URLs that a fresh neighbor does not ask for.
    missed: u64,
    /// Shares for a neighbor that was not refreshed: of URLs inserted since that it misses, of evicted ones it asks for.
    stale: [f64; 2],
}

fn churn(seed: u64) -> Result<Churn> {
    let n = M / 16;
    let (mut cache, mut fresh, mut stale) =
        (Summary::new(M, K)?, Neighbor::default(), Neighbor::default());
    let mut held: HashSet<u64> = (0..n).collect();
    held.iter().for_each(|i| cache.insert(&url(seed, *i)));
    let whole = cache.publish()?;
    fresh.refresh(&whole)?;
    stale.refresh(&whole)?;
    let before = cache.counts.to_bits();
    let mut random = Generator::new(seed);
    let mut evicted = Vec::new();
    for i in 0..CHANGES {
        let old = loop {
            let old = random.below(n);
            if held.remove(&old) {
                break old;
            }
        };
        cache.evict(&url(seed, old))?;
        evicted.push(old);
        cache.insert(&url(seed, n + i));
        held.insert(n + i);
    }
    let after = cache.counts.to_bits();
    let both = before.ones_in_both(&after);
    let flips = (before.ones() - both) + (after.ones() - both);
    let delta = cache.publish()?;
    fresh.refresh(&delta)?;
    let missed = held.iter().filter(|i| !fresh.may_have(&url(seed, **i))).count() as u64;
    let share = |count: usize| count as f64 / CHANGES as f64;
    let unseen = (n..n + CHANGES).filter(|i| !stale.may_have(&url(seed, *i))).count();
    let asked = evicted.iter().filter(|i| stale.may_have(&url(seed, **i))).count();
    Ok(Churn {
        flips: flips as f64,
        delta: delta.write().len() as f64,
        whole: whole.write().len() as f64,
        missed,
        stale: [share(unseen), share(asked)],
    })
}

/// Squid's own layout: URLs it misses, and its rate; evicted URLs that it still has.
fn squid(seed: u64) -> Result<(u64, f64, f64)> {
    let n = 5000;
    let mut digest = Format::named("squid")?.create(n, 0.0241)?;
    for i in 0..n {
        digest.insert(url(seed, i).as_str())?;
    }
    let bytes = digest.write()?;
    let read = Format::named("squid")?.open_one(&bytes, Limits::NETWORK)?;
    let has = |range: std::ops::Range<u64>| -> Result<u64> {
        let mut count = 0;
        for i in range {
            count += u64::from(read.contains(url(seed, i).as_str())?);
        }
        Ok(count)
    };
    let (held, foreign) = (has(0..n)?, has(n..n + 50_000)?);
    // The first thousand leave the cache: the digest cannot forget them.
    let evicted = has(0..1000)? as f64 / 1000.0;
    Ok((n - held, foreign as f64 / 50_000.0, evicted))
}

fn run(lab: &Lab) -> Result<Report> {
    let mut oracle = Oracle::default();
    let xs = (10..=80).map(|i| f64::from(i) / 2.0);
    let rate = |bits: f64| theory::fpr_asymptotic(bits, 1.0, PROBES.into());
    let mut series = Series::new("(1 − e^(−4/b))⁴", xs, rate);
    let (mut missed, queries, runs) = (0, 100_000, lab.scaled(2));
    for (bits, printed) in LOADS {
        let seen = lab.runs(runs, |seed| false_hits(seed, bits, queries))?;
        missed += seen.iter().map(|s| s.1).sum::<u64>();
        let hits = seen.iter().map(|s| s.0).sum::<u64>() as f64 / (runs * queries) as f64;
        let bound = bound::share(printed, runs * queries).widened(printed, 0.03);
        series.point(bits as f64, printed, hits, bound);
    }
    oracle.none("cached URLs that digests of all loads miss", missed);
    let chart = Chart::new(
        "false-hits",
        "False hits of one neighbor, four probes",
        [Axis::linear("bits for each URL"), Axis::log("share of foreign URLs")],
        [series],
    );
    let churns = lab.runs(lab.scaled(1), churn)?;
    oracle.none(
        "cached URLs that a refreshed neighbor misses",
        churns.iter().map(|c| c.missed).sum(),
    );
    let mean = |f: fn(&Churn) -> f64| churns.iter().map(f).sum::<f64>() / churns.len() as f64;
    let mut flips =
        Rows::new("delta", "1000 inserts and 1000 evictions", Axis::log("bits or bytes"));
    // An upper estimate: probes that meet flip nothing, or flip back.
    flips.row(
        "bits that flip",
        FLIPS,
        mean(|c| c.flips),
        Bound::between(0.95 * FLIPS, FLIPS + 300.0),
    );
    flips.row(
        "bytes of the delta, 11.1 kB by entropy",
        11_100.0,
        mean(|c| c.delta),
        Bound::between(10_000.0, 11_700.0),
    );
    flips.row(
        "bytes of 20-bit indices of as many flips",
        27_700.0,
        mean(|c| c.flips) * 2.5,
        Bound::between(26_200.0, 28_400.0),
    );
    flips.row(
        "bytes of the whole filter",
        131_072.0,
        mean(|c| c.whole),
        Bound::between(131_072.0, 132_000.0),
    );
    let mut stale = Rows::new("stale", "A neighbor that was not refreshed", Axis::linear("share"));
    let f = theory::fpr_classic(M as f64, (M / 16) as f64, K.into());
    stale.row(
        "of URLs inserted since that are missed, 1 − f",
        1.0 - f,
        mean(|c| c.stale[0]),
        Bound::at_least(0.99),
    );
    stale.row(
        "of URLs evicted since that are asked for",
        1.0,
        mean(|c| c.stale[1]),
        Bound::exactly(1.0, 0.0),
    );
    let (lost, hits, evicted) = squid(lab.seed())?;
    oracle.none("cached URLs that Squid's layout misses", lost);
    let bound = bound::share(0.0240, 50_000).widened(0.0240, 0.03);
    stale.row("Squid's layout at 8 bits: false hits", 0.0240, hits, bound);
    stale.row(
        "Squid's layout: evicted URLs it still has, until it is built anew",
        1.0,
        evicted,
        Bound::exactly(1.0, 0.0),
    );
    Ok(oracle.report().chart(chart).rows(flips).rows(stale))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a5_rates_with_four_probes() {
        for (bits, printed) in LOADS {
            let rate = theory::fpr_asymptotic(bits as f64, 1.0, 4.0);
            assert!((rate / printed - 1.0).abs() < 0.01, "{bits}: {rate}");
        }
    }

    #[test]
    fn a5_flips_and_bytes_of_a_delta() {
        let fill = theory::fill(M as f64, (M / 16) as f64 * f64::from(K));
        let flips = 2.0 * CHANGES as f64 * f64::from(K) * (1.0 - fill);
        assert!((flips - FLIPS).abs() < 5.0, "{flips}");
        let share = flips / M as f64;
        let entropy =
            -(share * share.log2() + (1.0 - share) * (1.0 - share).log2()) * M as f64 / 8.0;
        assert!((entropy - 11_100.0).abs() < 100.0, "{entropy}");
        assert!((flips * 20.0 / 8.0 - 27_700.0).abs() < 60.0);
    }

    #[test]
    fn a5_compressed_filters() {
        for (bits, k, packed, rate) in
            [(28.0, 4.0, 15.846, 0.000_314), (48.0, 3.0, 15.829, 0.000_222)]
        {
            let fill: f64 = -f64::exp_m1(-k / bits);
            let entropy = -(fill * fill.log2() + (1.0 - fill) * (1.0 - fill).log2());
            assert!((bits * entropy - packed).abs() < 1e-3, "{bits}: {}", bits * entropy);
            let f = theory::fpr_asymptotic(bits, 1.0, k);
            assert!((f - rate).abs() < 1e-6, "{bits}: {f}");
        }
    }
}
