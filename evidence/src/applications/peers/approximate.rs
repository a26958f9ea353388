//! Approximate reconciliation (catalogue A8; S1 §5.2): the tool [`everbloom_tools::sync::approximate`], tried.

use std::collections::HashSet;

use everbloom::Result;
use everbloom::exchange::rateless::{Holder, Seeker, Set};
use everbloom::exchange::{Limits, Party, run as exchange};
use everbloom::internals::hash::Generator;
use everbloom::internals::theory::bloom as theory;
use everbloom_tools::sync::ALLOWANCE;
use everbloom_tools::sync::approximate::{Asker, Teller};

use crate::{
    Application, Axis, Bound, Chart, Experiment, Form, Lab, Oracle, Report, Rows, Series, bound,
};

/// Both sides in this process: what the asker lacks as far as it was told, and the bytes of the filter.
pub(super) fn told(known: &Set, other: Set, bytes: u64, seed: u64) -> Result<(Vec<Vec<u8>>, u64)> {
    let mut asker = Party::new(Asker::new(known, bytes, seed)?, Limits::LOCAL);
    let mut teller = Party::new(Teller::new(other), Limits::LOCAL);
    let traffic = exchange(&mut asker, &mut teller)?;
    Ok((asker.role.missing().to_vec(), traffic.a_to_b))
}

/// The application.
pub static APPLICATION: Application = Application {
    entry: "A8",
    form: Form::Tool("sync --approximate"),
    uses: &["bloom", "invertible"],
    oracle: "hash sets of both sides' keys",
    data: "two sets of random keys that share most of them",
    experiment: Experiment {
        name: "approximate",
        source: "S1 §5.2",
        title: "Approximate and exact reconciliation of two peers",
        shows: "A filter of 8 bits a key delivers 1 − f of what a peer lacks and nothing that it has. The exact \
                exchange costs 1.4 cells of 17 bytes for each difference, and is cheaper below |B|/24 of them.",
        run,
    },
};

const KEYS_EACH: u64 = 4000;
const OWN: u64 = 1000;
const BITS: f64 = 8.0;

fn key(i: u64) -> [u8; 8] {
    everbloom::internals::hash::mix64(i).to_be_bytes()
}

/// `shared` keys and `own` of its own; `side` tells sides apart.
fn set(seed: u64, side: u64, shared: u64, own: u64) -> Set {
    let first = seed << 32;
    let keys = (0..shared).chain((0..own).map(|i| (side + 1) << 28 | i));
    keys.fold(Set::new(), |set, i| set.with(&key(first.wrapping_add(i))))
}

struct Seen {
    delivered: u64,
    known: u64,
    wrong: u64,
    filter: u64,
}

fn try_one(seed: u64) -> Result<Seen> {
    let (a, b) = (set(seed, 0, KEYS_EACH - OWN, OWN), set(seed, 1, KEYS_EACH - OWN, OWN));
    let exact: HashSet<Vec<u8>> =
        a.keys().filter(|key| !b.contains(key)).map(<[u8]>::to_vec).collect();
    let (missing, filter) = told(&b, a, (KEYS_EACH as f64 * BITS / 8.0) as u64, seed)?;
    let known = missing.iter().filter(|key| b.contains(key)).count() as u64;
    let wrong = missing.iter().filter(|key| !exact.contains(*key)).count() as u64;
    Ok(Seen { delivered: missing.len() as u64, known, wrong, filter })
}

/// An exact exchange: cells consumed, bytes apart from keys and their requests, and whether it was right.
fn exactly(seed: u64, shared: u64, d: u64) -> Result<(u64, u64, bool)> {
    let mut random = Generator::new(seed);
    let only_a = (0..d).filter(|_| random.next_u64() & 1 == 0).count() as u64;
    let (a, b) = (set(seed, 0, shared, only_a), set(seed, 1, shared, d - only_a));
    let seeker = Seeker::new(a).salted(seed).allowing(ALLOWANCE);
    let mut a = Party::new(seeker, Limits::LOCAL);
    let mut b = Party::new(Holder::new(b), Limits::LOCAL);
    let total = exchange(&mut a, &mut b)?.total();
    let found = a.role.found().cloned().unwrap_or_default();
    let right = found.ours.len() as u64 == only_a
        && found.theirs.len() as u64 == d - only_a
        && found.theirs.iter().all(|key| b.role.set().contains(key) && !a.role.set().contains(key));
    // Each key of the holder's has an id of 8 bytes in the request and a length before it.
    let keys: u64 = found.theirs.iter().map(|key| key.len() as u64 + 9).sum();
    Ok((a.role.cells().consumed, total - keys, right))
}

/// Bytes of a cell: digest, check and a byte of count.
const CELL: f64 = 17.0;

fn run(lab: &Lab) -> Result<Report> {
    let mut oracle = Oracle::default();
    let runs = lab.scaled(10);
    let seen = lab.runs(runs, try_one)?;
    oracle.none("keys sent that the asker has", seen.iter().map(|s| s.known).sum());
    oracle.none("keys sent that the teller has not", seen.iter().map(|s| s.wrong).sum());
    let (m, n) = (KEYS_EACH as f64 * BITS, KEYS_EACH as f64);
    let k = f64::from(theory::best_k(m as u64, KEYS_EACH));
    let f = theory::fpr_classic(m, n, k);
    let sd = f * k * theory::fill_sd(m, n * k) / theory::fill(m, n * k);
    let mut rows = Rows::new("delivered", "One message of 8 bits a key", Axis::linear("share"));
    let all: u64 = seen.iter().map(|s| s.delivered).sum();
    rows.row(
        "share of what is lacking that is delivered, 1 − f",
        1.0 - f,
        all as f64 / (runs * OWN) as f64,
        bound::rate(1.0 - f, sd, runs, OWN),
    );
    let mut chart = Chart::new(
        "bytes",
        "Bytes beside the keys themselves, sets of 24 000 keys",
        [Axis::log("keys that differ"), Axis::log("bytes")],
        Vec::new(),
    );
    let filter = Series::new("filter of 8 bits a key", [20.0, 8000.0], |_| SHARED as f64);
    let per_key = |d: f64| 1.8 * d * CELL + ALLOWANCE as f64;
    let xs = (0..=26).map(|i| 20.0 * 1.2589f64.powi(i));
    let mut exact = Series::new("exact, at most", xs, per_key);
    for d in [20u64, 100, 300, 1000, 2000] {
        let seen = lab.runs(1, |seed| exactly(seed, SHARED, d))?;
        oracle.none(&format!("exact exchanges of {d} that are wrong"), wrong(&seen));
        let most = per_key(d as f64);
        seen.iter().for_each(|s| exact.point(d as f64, most, s.1 as f64, Bound::at_most(most)));
    }
    chart.series = vec![filter, exact];
    let crossing = cross_over(lab, &mut oracle)?;
    let cells = cells(lab, &mut oracle)?;
    let filter = seen[0].filter as f64;
    let mut bytes = Rows::new("cross-over", "Which costs less?", Axis::log("bytes"));
    bytes.row(
        "filter of 4000 keys, m/8 and 14 around",
        m / 8.0 + 14.0,
        filter,
        Bound::exactly(m / 8.0 + 14.0, 0.0),
    );
    for (label, predicted, measured, bound) in crossing {
        bytes.row(label, predicted, measured, bound);
    }
    Ok(oracle.report().rows(rows).chart(chart).rows(bytes).rows(cells))
}

/// Shared keys of the exact exchanges.
const SHARED: u64 = 24_000;

fn wrong(seen: &[(u64, u64, bool)]) -> u64 {
    seen.iter().filter(|s| !s.2).count() as u64
}

type Line = (String, f64, f64, Bound);

/// At half of |B|/24 the exact exchange is cheaper than the filter, at four times as many it is not.
fn cross_over(lab: &Lab, oracle: &mut Oracle) -> Result<Vec<Line>> {
    let filter = SHARED as f64;
    let mut lines = Vec::new();
    for (d, cheaper) in [(SHARED / 48, true), (SHARED / 6, false)] {
        let seen = lab.runs(1, |seed| exactly(seed, SHARED, d))?;
        oracle
            .none(&format!("exact exchanges of {d} beside a filter that are wrong"), wrong(&seen));
        let bound = if cheaper { Bound::at_most(filter) } else { Bound::at_least(filter) };
        lines.push((
            format!("exact, {d} keys differ, against the filter"),
            filter,
            seen[0].1 as f64,
            bound,
        ));
    }
    Ok(lines)
}

/// Cells for each difference, and what is sent of them at the 99th percentile.
fn cells(lab: &Lab, oracle: &mut Oracle) -> Result<Rows> {
    let mut rows = Rows::new("cells", "Exact exchanges", Axis::linear("of what is allowed"));
    for (d, runs, shared, most) in [(100u64, 200, 2400, 1.48), (1000, lab.scaled(10), 12_000, 1.40)]
    {
        let seen = lab.runs(runs, |seed| exactly(seed, shared, d))?;
        oracle.none(&format!("exact exchanges of {d}, {runs} seeds, that are wrong"), wrong(&seen));
        let mean = seen.iter().map(|s| s.0 as f64).sum::<f64>() / (runs * d) as f64;
        rows.row(format!("cells consumed for each of {d}"), most, mean, Bound::at_most(most));
        let mut bytes: Vec<u64> = seen.iter().map(|s| s.1).collect();
        bytes.sort_unstable();
        let high = bytes[(bytes.len() * 99 / 100).min(bytes.len() - 1)] as f64;
        let allowed = 1.8 * d as f64 * CELL + ALLOWANCE as f64;
        let label =
            format!("bytes at the 99th percentile of {runs} seeds, {d} differ, of those allowed");
        rows.row(label, 1.0, high / allowed, Bound::at_most(1.0));
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    #[test]
    fn a8_cross_over() {
        // A filter of 8 bits a key against 1.5 cells of 128 bits a difference.
        let filter = |n: f64| 8.0 * n;
        let cells = |d: f64| 1.5 * d * 128.0;
        assert!((cells(1000.0) - filter(24_000.0)).abs() < 1e-9);
    }
}
