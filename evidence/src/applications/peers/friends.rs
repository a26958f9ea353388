//! Peers that tell each other of peers, as Tribler does (catalogue A59; S0\[74\] §IV-B).
//!
//! A peer asks another "whom do you know that I don't?", and its question is a filter of those it knows, in 260 bytes
//! whatever their number. What the filter takes for known is withheld. Under one seed the same records are withheld
//! for ever; under a new seed for every contact repeated contacts complete the list.

use std::collections::HashSet;

use everbloom::Result;
use everbloom::exchange::rateless::Set;
use everbloom::internals::theory::bloom as theory;

use super::approximate::told;
use crate::{
    Application, Axis, Bound, Chart, Experiment, Form, Lab, Oracle, Report, Rows, Series, bound,
};

/// Bytes of the filter in a question.
pub const BYTES: u64 = 260;

/// The application.
pub static APPLICATION: Application = Application {
    entry: "A59",
    form: Form::Tool("sync --approximate=260B"),
    uses: &["bloom"],
    oracle: "hash sets of the peers both sides know",
    data: "lists of random peers, of which half are shared",
    experiment: Experiment {
        name: "friends",
        source: "S0 §IV-B [74]",
        title: "Peers tell of peers, by a question of 260 bytes",
        shows: "Nothing that is known is sent; withheld are 0.00005 of the unknown records at 100 known peers, 0.0068 at \
                200, 0.036 at 300, 0.083 at 400. Contacts under new seeds complete the list, under one seed they do not.",
        run,
    },
};

/// Known peers, and the share withheld of unknown ones.
const SHARES: [(u64, f64); 4] = [(100, 4.6e-5), (200, 0.0068), (300, 0.036), (400, 0.083)];

fn expected(known: u64) -> f64 {
    let m = 8 * BYTES;
    theory::fpr_exact(m, known, theory::best_k(m, known))
}

fn peer(seed: u64, i: u64) -> Vec<u8> {
    format!("{:x}", everbloom::internals::hash::mix64(seed ^ i << 20)).into_bytes()
}

fn set(seed: u64, peers: std::ops::Range<u64>) -> Set {
    peers.fold(Set::new(), |set, i| set.with(&peer(seed, i)))
}

/// Unknown records of the other side.
const UNKNOWN: u64 = 2000;

/// Records withheld, and those sent that were known.
fn try_one(seed: u64, known: u64) -> Result<(u64, u64)> {
    let (ours, theirs) = (set(seed, 0..known), set(seed, known / 2..known + UNKNOWN));
    let (missing, _) = told(&ours, theirs, BYTES, seed)?;
    let wrong = missing.iter().filter(|key| ours.contains(key)).count() as u64;
    Ok((UNKNOWN - missing.len() as u64, wrong))
}

/// Contacts until nothing is missing, at most `most`; each adds what came.
fn contacts(seed: u64, most: u64, new_seeds: bool) -> Result<(u64, u64)> {
    let all: HashSet<Vec<u8>> = (0..400).map(|i| peer(seed, i)).collect();
    let mut known = set(seed, 0..200);
    for contact in 1..=most {
        let salt = if new_seeds { seed ^ contact } else { seed };
        let (missing, _) = told(&known, set(seed, 0..400), BYTES, salt)?;
        missing.iter().for_each(|key| known.insert(key));
        if known.len() == all.len() {
            return Ok((contact, 0));
        }
    }
    Ok((most, all.len() as u64 - known.len() as u64))
}

fn run(lab: &Lab) -> Result<Report> {
    let mut oracle = Oracle::default();
    let xs = (4..=45).map(|i| f64::from(i) * 10.0);
    let mut series = Series::new("f of 2080 bits", xs, |n| expected(n as u64));
    let runs = lab.scaled(40);
    let mut known_sent = 0;
    for (known, printed) in SHARES {
        let seen = lab.runs(runs, |seed| try_one(seed, known))?;
        known_sent += seen.iter().map(|s| s.1).sum::<u64>();
        let withheld = seen.iter().map(|s| s.0).sum::<u64>() as f64 / (runs * UNKNOWN) as f64;
        let (m, k) = ((8 * BYTES) as f64, f64::from(theory::best_k(8 * BYTES, known)));
        let throws = known as f64 * k;
        let sd = printed * k * theory::fill_sd(m, throws) / theory::fill(m, throws);
        let bound = bound::rate(printed, sd, runs, UNKNOWN).widened(printed, 0.03);
        series.point(known as f64, printed, withheld, bound);
    }
    oracle.none("records sent that the asker knows", known_sent);
    let chart = Chart::new(
        "withheld",
        "Share of unknown records that one contact withholds",
        [Axis::linear("peers known"), Axis::log("share withheld")],
        [series],
    );
    let mut rows = Rows::new("contacts", "200 of 400 peers known", Axis::linear("records missing"));
    let fresh = lab.runs(lab.scaled(10), |seed| contacts(seed, 20, true))?;
    let missing = |seen: &[(u64, u64)]| seen.iter().map(|s| s.1).sum::<u64>() as f64;
    rows.row("after 20 contacts under new seeds", 0.0, missing(&fresh), Bound::exactly(0.0, 0.0));
    // The trap: the same seed withholds the same records, but for those that pass by where the number of known peers,
    // and with it that of the probes, grows.
    let stuck = lab.runs(lab.scaled(10), |seed| contacts(seed, 20, false))?;
    let share = missing(&stuck) / (stuck.len() as f64 * 200.0);
    rows.row(
        "share after 20 contacts under one seed, at least f/4",
        expected(200),
        share,
        Bound::at_least(expected(200) / 4.0),
    );
    Ok(oracle.report().chart(chart).rows(rows))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a59_shares_withheld() {
        for ((known, share), k) in SHARES.into_iter().zip([14, 7, 5, 4]) {
            assert_eq!(theory::best_k(8 * BYTES, known), k);
            assert!((expected(known) / share - 1.0).abs() < 0.02, "{known}: {}", expected(known));
        }
    }
}
