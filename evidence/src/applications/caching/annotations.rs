//! Which pages have annotations? Vistabar's look-up (catalogue A61; S1 §5).
//!
//! A browser would have to ask a server about every page. It downloads a filter of all annotated URLs instead, a byte
//! for each, keeps it fresh by deltas ([`published`](everbloom_tools::published)), and asks about the pages that pass: those with
//! annotations, and a share f of the others. What was annotated since the last download is missed until the next.

use std::collections::HashSet;

use everbloom::internals::theory::bloom as theory;
use everbloom::{Bloom, Hasher, Limits, Opener, Result, to_bytes};
use everbloom_tools::published::Update;

use crate::{Application, Axis, Bound, Experiment, Form, Lab, Oracle, Report, Rows, bound};

/// The application.
pub static APPLICATION: Application = Application {
    entry: "A61",
    form: Form::Tool("follow"),
    uses: &["bloom"],
    oracle: "a hash set of the annotated URLs",
    data: "random URLs, one page in a hundred annotated",
    experiment: Experiment {
        name: "annotations",
        source: "S1 §5",
        title: "A browser that asks only about pages with annotations",
        shows: "No annotated page is missed after a refresh. Of 1000 pages with 10 annotated, 31.4 are asked about at \
                8 bits a URL; what was annotated since the download is missed.",
        run,
    },
};

const URLS: u64 = 20_000;
const NEW: u64 = 200;

fn url(seed: u64, i: u64) -> String {
    format!("https://{:x}.example/{i}", seed & 0xFFFF)
}

/// The published file: the first `count` URLs at a byte each.
fn file(seed: u64, count: u64) -> Result<Vec<u8>> {
    let m = 8 * URLS;
    let mut filter = Bloom::with_shape(m, theory::best_k(m, URLS), Hasher::seeded(seed))?;
    (0..count).for_each(|i| _ = filter.insert(&url(seed, i)));
    Ok(to_bytes(&filter))
}

struct Browser {
    bytes: Vec<u8>,
    filter: Bloom,
}

impl Browser {
    fn new(update: &Update) -> Result<Self> {
        let bytes = update.apply(None)?;
        let filter = Opener::new().limits(Limits::NETWORK).decode_as(&bytes)?;
        Ok(Self { bytes, filter })
    }

    fn refresh(&mut self, update: &Update) -> Result<()> {
        let bytes = update.apply(Some(&self.bytes))?;
        self.filter = Opener::new().limits(Limits::NETWORK).decode_as(&bytes)?;
        self.bytes = bytes;
        Ok(())
    }

    fn asks(&self, url: &str) -> bool {
        self.filter.contains(url)
    }
}

struct Seen {
    requests: u64,
    missed: u64,
    stale: u64,
    delta: u64,
    whole: u64,
}

/// A thousand pages, ten of them annotated, by a browser with the URLs of yesterday and then of today.
fn try_one(seed: u64) -> Result<Seen> {
    let (old, new) = (file(seed, URLS - NEW)?, file(seed, URLS)?);
    let annotated: HashSet<String> = (0..URLS).map(|i| url(seed, i)).collect();
    let whole = Update::whole(1, &old);
    let mut browser = Browser::new(&whole)?;
    let added = URLS - NEW..URLS;
    let stale = added.filter(|i| !browser.asks(&url(seed, *i))).count() as u64;
    let delta = Update::delta(2, &old, &new).unwrap_or_else(|| Update::whole(2, &new));
    browser.refresh(&delta)?;
    let missed = annotated.iter().filter(|url| !browser.asks(url)).count() as u64;
    let pages = (0..10).map(|i| i * 7 % URLS).chain(URLS..URLS + 990).map(|i| url(seed, i));
    let requests = pages.filter(|page| browser.asks(page)).count() as u64;
    let size = |update: &Update| update.write().len() as u64;
    Ok(Seen { requests, missed, stale, delta: size(&delta), whole: size(&whole) })
}

fn run(lab: &Lab) -> Result<Report> {
    let runs = lab.scaled(30);
    let seen = lab.runs(runs, try_one)?;
    let mut oracle = Oracle::default();
    oracle.none("annotated pages missed after a refresh", seen.iter().map(|s| s.missed).sum());
    let mean = |f: fn(&Seen) -> u64| seen.iter().map(f).sum::<u64>() as f64 / runs as f64;
    let m = (8 * URLS) as f64;
    let k = f64::from(theory::best_k(8 * URLS, URLS));
    let f = theory::fpr_classic(m, URLS as f64, k);
    let mut requests =
        Rows::new("requests", "1000 pages, 10 of them annotated", Axis::linear("requests"));
    let predicted = 10.0 + 990.0 * f;
    let sd = (990.0 * f * (1.0 - f)).sqrt();
    requests.row(
        "10 + 990·f, instead of 1000",
        31.4,
        mean(|s| s.requests),
        bound::mean(predicted, sd, runs).widened(predicted, 0.01),
    );
    let mut stale =
        Rows::new("stale", "200 URLs annotated since the download", Axis::linear("URLs"));
    let unseen = NEW as f64 * (1.0 - f);
    let sd = (NEW as f64 * f * (1.0 - f)).sqrt();
    stale.row(
        "missed until the refresh, but for false positives",
        unseen,
        mean(|s| s.stale),
        bound::mean(unseen, sd, runs).widened(unseen, 0.005),
    );
    let mut bytes = Rows::new("bytes", "What is downloaded", Axis::log("bytes"));
    let whole = URLS as f64;
    bytes.row(
        "whole, a byte for each URL",
        whole,
        mean(|s| s.whole),
        Bound::between(whole, whole + 800.0),
    );
    bytes.row(
        "delta of a hundredth of the URLs, less than a tenth",
        whole / 10.0,
        mean(|s| s.delta),
        Bound::at_most(whole / 10.0),
    );
    Ok(oracle.report().rows(requests).rows(stale).rows(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a61_requests_and_size() {
        let f = theory::fpr_classic(8e6, 1e6, 6.0);
        assert!((10.0 + 990.0 * f - 31.4).abs() < 0.1);
        assert_eq!(8 * 1_000_000 / 8, 1_000_000, "a megabyte for a million URLs");
    }
}
