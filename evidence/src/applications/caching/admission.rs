//! A cache that admits at the second request (catalogue A32; S3 \[14\] §III-A, Akamai).
//!
//! ```text
//!   request ──▶ in the cache? ──no──▶ seen before? ──no──▶ fetch, serve, remember in the filter
//!                                          │ maybe
//!                                          └──▶ fetch, serve, and write to the cache
//! ```
//!
//! Most objects of a content network are requested once and never again. To write them to disk wears it out and pushes
//! out what is wanted. Two filters that take turns (A²) remember which objects were requested lately; an object enters
//! the cache at its second request. An object that is requested once is admitted only by a false positive; one that is
//! requested again pays one more miss. On Zipf(0.8) requests the writes are halved, and more requests hit.

use std::collections::{HashMap, HashSet};

use everbloom::decaying::{ActiveActive, active_active};
use everbloom::internals::hash::Generator;
use everbloom::internals::theory::bloom as theory;
use everbloom::{Error, Hasher, Key, Kind, Result, Seen};

use super::lru::Lru;
use crate::sim::Zipf;
use crate::{
    Application, Axis, Bound, Chart, Experiment, Form, Lab, Oracle, Report, Rows, Series, bound,
};

/// Decides what is worth a place in the cache.
///
/// ```
/// use everbloom_lab::applications::caching::admission::Admission;
/// let mut admission = Admission::new(100_000, 0.01)?;
/// assert!(!admission.admits("/logo.png")); // the first request
/// assert!(admission.admits("/logo.png"));  // the second: write it
/// # Ok::<(), everbloom::Error>(())
/// ```
pub struct Admission {
    recent: ActiveActive,
}

impl Admission {
    /// Remembers at least the last `objects` different objects, and admits a new one wrongly at the rate `fpr`.
    pub fn new(objects: u64, fpr: f64) -> Result<Self> {
        Ok(Self { recent: ActiveActive::with_rate(objects, fpr)? })
    }

    /// Whether the object of a request that missed the cache is to be written: if it was requested before.
    pub fn admits<K: Key + ?Sized>(&mut self, object: &K) -> bool {
        self.recent.insert(object) == Seen::Maybe
    }
}

/// The application.
pub static APPLICATION: Application = Application {
    entry: "A32",
    form: Form::Component,
    uses: &["active-active"],
    oracle: "admission by the set of all objects ever requested",
    data: "400,000 Zipf(0.8) requests of 200,000 objects; --data: an access log (the path of each request, or whole \
           lines)",
    experiment: Experiment {
        name: "admission",
        source: "S3 §III-A [14]",
        title: "A cache that admits at the second request",
        shows: "The hit rate rises from 0.296 to 0.332, and writes fall from 281,653 to 148,987. Objects requested \
                once are admitted at the rate of the filter; one requested again pays exactly one more miss.",
        run,
    },
};

const OBJECTS: usize = 200_000;
const REQUESTS: usize = 400_000;
const CACHE: usize = 5_000;

/// What a cache did.
#[derive(Clone, Copy, Debug, Default)]
struct Load {
    hits: u64,
    writes: u64,
}

/// Runs requests through a cache in which `admits` decides what is written.
fn serve(requests: &[u64], capacity: usize, mut admits: impl FnMut(u64) -> bool) -> Load {
    let mut cache = Lru::new(capacity);
    let mut load = Load::default();
    for &object in requests {
        if cache.hit(object) {
            load.hits += 1;
        } else if admits(object) {
            load.writes += 1;
            cache.insert(object);
        }
    }
    load
}

struct Tried {
    /// Admit all, by the filter, by the exact set.
    loads: [Load; 3],
    /// Objects requested once, and those of them admitted by the filter.
    once: u64,
    once_admitted: u64,
    /// … and expected.
    expected: f64,
    different: u64,
    /// Decisions that are not the twin's though the twin admits: a second request that the filter forgot.
    forgotten: u64,
    refused: Vec<(bool, bool)>,
}

fn try_zipf(seed: u64) -> Result<Tried> {
    let mut random = Generator::new(seed);
    let zipf = Zipf::new(OBJECTS, 0.8);
    let requests: Vec<u64> = (0..REQUESTS).map(|_| zipf.draw(&mut random) as u64).collect();
    let mut counts = vec![0u32; OBJECTS];
    requests.iter().for_each(|&object| counts[object as usize] += 1);
    let mut admission = Admission { recent: filter(seed)? };
    let (mut seen, mut ever) = (HashSet::new(), HashSet::new());
    let (mut forgotten, mut once_admitted, mut expected) = (0, 0, 0.0);
    let by_filter = serve(&requests, CACHE, |object| {
        let (ours, exactly) = (admission.admits(&object), !seen.insert(object));
        forgotten += u64::from(exactly && !ours);
        if counts[object as usize] == 1 {
            once_admitted += u64::from(ours);
            expected += rate_at(seen.len() - 1);
        }
        ours
    });
    let loads = [
        serve(&requests, CACHE, |_| true),
        by_filter,
        serve(&requests, CACHE, |object| !ever.insert(object)),
    ];
    let once = counts.iter().filter(|&&c| c == 1).count() as u64;
    let different = counts.iter().filter(|&&c| c > 0).count() as u64;
    let refused = extra_misses(&requests)?;
    Ok(Tried { loads, once, once_admitted, expected, different, forgotten, refused })
}

const FPR: f64 = 0.05;

fn filter(seed: u64) -> Result<ActiveActive> {
    ActiveActive::builder().items(OBJECTS as u64).rate(FPR).seed(seed).build()
}

/// In a cache that drops nothing: whether each object that is requested again misses twice, with a filter that does
/// not err.
fn extra_misses(requests: &[u64]) -> Result<Vec<(bool, bool)>> {
    let requests = &requests[..20_000];
    let mut admission = Admission::new(20_000, 1e-9)?;
    let (mut misses, mut count) = (HashMap::new(), HashMap::new());
    requests.iter().for_each(|object| *count.entry(*object).or_insert(0u32) += 1);
    serve(requests, requests.len(), |object| {
        *misses.entry(object).or_insert(0u32) += 1;
        admission.admits(&object)
    });
    Ok(misses.iter().map(|(object, &misses)| (misses == count[object].min(2), true)).collect())
}

/// The rate at which the younger of the filters admits a first request when `n` objects are in it; the older one is
/// empty, since there is room for all objects.
fn rate_at(n: usize) -> f64 {
    let objects = OBJECTS as f64;
    let m = theory::bits(objects, active_active::buffer_rate(FPR));
    theory::fpr_asymptotic(m, n as f64, theory::optimal_k(m, objects).round())
}

fn run(lab: &Lab) -> Result<Report> {
    let runs = lab.scaled(1);
    let seen = lab.runs(runs, try_zipf)?;
    let mut oracle = Oracle::default();
    oracle.none("second requests not admitted", seen.iter().map(|t| t.forgotten).sum());
    oracle.equal(
        "misses of objects in a cache that drops nothing: one, or two",
        seen.iter().flat_map(|t| t.refused.iter().copied()),
    );
    let requests = REQUESTS as f64;
    let mean = |f: &dyn Fn(&Tried) -> f64| seen.iter().map(f).sum::<f64>() / runs as f64;
    let mut rows = Rows::new(
        "zipf",
        "Zipf(0.8), 200,000 objects, 400,000 requests, room for 5,000",
        Axis::linear("share of requests"),
    );
    // The catalogue's numbers are of one run of 400,000 requests, as ours: both scatter.
    let near = |p: f64| bound::share(p, runs * REQUESTS as u64).widened(p, 0.01);
    let hits = |i: usize| mean(&|t| t.loads[i].hits as f64 / requests);
    let writes = |i: usize| mean(&|t| t.loads[i].writes as f64 / requests);
    rows.row("hits, admit all", 0.296, hits(0), near(0.296));
    rows.row("hits, second request", 0.332, hits(1), near(0.332));
    rows.row("writes, admit all", 281_653.0 / requests, writes(0), near(281_653.0 / requests));
    rows.row("writes, second request", 148_987.0 / requests, writes(1), near(148_987.0 / requests));
    rows.row(
        "writes for each of admit all: at most 0.6",
        148_987.0 / 281_653.0,
        writes(1) / writes(0),
        Bound::at_most(0.6),
    );
    rows.row(
        "hits more than by admit all: not below 0",
        0.036,
        hits(1) - hits(0),
        Bound::at_least(0.0),
    );
    let once = mean(&|t| t.once as f64 / t.different as f64);
    rows.row(
        "objects requested once",
        0.505,
        once,
        bound::share(0.505, 140_000).widened(0.505, 0.01),
    );
    let p = mean(&|t| t.expected / t.once as f64);
    let admitted = mean(&|t| t.once_admitted as f64 / t.once as f64);
    let trials = seen.iter().map(|t| t.once).sum::<u64>();
    rows.row(
        "of them admitted: the filter's rate",
        p,
        admitted,
        bound::share(p, trials).widened(p, 0.05),
    );
    let mut report = oracle.report().rows(rows).chart(sizes(lab)?);
    if let Some(path) = lab.data() {
        report = report.rows(real(path)?);
    }
    Ok(report)
}

/// Hit rates by the size of the cache.
fn sizes(lab: &Lab) -> Result<Chart> {
    let mut random = Generator::new(lab.seed());
    let zipf = Zipf::new(20_000, 0.8);
    let requests: Vec<u64> = (0..60_000).map(|_| zipf.draw(&mut random) as u64).collect();
    let empty = |name: &str| Series { name: name.into(), ..Series::default() };
    let (mut all, mut second) = (empty("admit all"), empty("second request"));
    for size in [100, 200, 500, 1_000, 2_000, 4_000] {
        let mut admission = Admission::new(20_000, FPR)?;
        let share = |load: Load| load.hits as f64 / requests.len() as f64;
        let plain = share(serve(&requests, size, |_| true));
        let ours = share(serve(&requests, size, |object| admission.admits(&object)));
        all.curve.push((size as f64, plain));
        second.curve.push((size as f64, ours));
        // The smaller the cache, the more it gains; at a fifth of all objects the extra miss weighs more.
        if size <= 1_000 {
            second.point(size as f64, plain, ours, Bound::at_least(plain));
        }
    }
    Ok(Chart::new(
        "sizes",
        "Hits by the size of the cache, 20,000 objects, 60,000 requests",
        [Axis::log("objects in the cache"), Axis::linear("share of requests that hit")],
        [all, second],
    ))
}

/// The user's log: the path in quotes of the common log format, or whole lines.
fn real(path: &std::path::Path) -> Result<Rows> {
    let text = std::fs::read(path).map_err(|e| {
        Error::new(
            Kind::Io,
            format!("{}: {e}; give a file with a request on each line", path.display()),
        )
    })?;
    let hasher = Hasher::default();
    let requests: Vec<u64> = text
        .split(|b| *b == b'\n')
        .filter(|line| !line.is_empty())
        .map(|line| hasher.digest(object(line)).h1)
        .collect();
    let different = requests.iter().collect::<HashSet<_>>().len();
    let mut admission = Admission::new(different.max(1) as u64, FPR)?;
    let cache = (different / 20).max(1);
    let plain = serve(&requests, cache, |_| true);
    let ours = serve(&requests, cache, |object| admission.admits(&object));
    let title = format!("{} requests of {different} objects, room for {cache}", requests.len());
    let mut rows = Rows::new("log", title, Axis::linear("requests"));
    rows.row(
        "writes: no more than by admit all",
        plain.writes as f64,
        ours.writes as f64,
        Bound::at_most(plain.writes as f64),
    );
    // A log may be one in which every object comes twice: then the extra miss is all there is.
    rows.row("hits, and by admit all", plain.hits as f64, ours.hits as f64, Bound::at_least(0.0));
    Ok(rows)
}

/// `GET /path HTTP/1.1` in quotes: the path; otherwise the line.
fn object(line: &[u8]) -> &[u8] {
    let quoted = line.split(|b| *b == b'"').nth(1);
    quoted.and_then(|request| request.split(|b| *b == b' ').nth(1)).unwrap_or(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_of_a_log() {
        let line = br#"127.0.0.1 - - [10/Oct/2000:13:55:36 -0700] "GET /a.gif HTTP/1.0" 200 2326"#;
        assert_eq!(object(line), b"/a.gif");
        assert_eq!(object(b"plain line"), b"plain line");
        assert!(real(std::path::Path::new("no such file")).is_err());
    }
}
