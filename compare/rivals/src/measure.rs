//! How it is measured: same keys, same target rate, interleaved rounds, thread CPU time, medians.

use std::hint::black_box;
use std::time::Instant;

use cpu_time::ThreadTime;
use everbloom::internals::hash::mix64;

use crate::subject::{Rival, Subject};

/// A case: so many keys at a rate.
#[derive(Clone, Copy, PartialEq)]
pub struct Case {
    pub items: u64,
    pub rate: f64,
}

/// What a rival took in one round, in nanoseconds per key, and what it has become.
#[derive(Clone, Copy, Default)]
pub struct Round {
    pub fill: f64,
    pub hit: f64,
    pub miss: f64,
    /// Share of non-members let in.
    pub rate: f64,
    pub bits_per_key: f64,
}

/// What came of all rounds.
pub struct Result {
    pub name: &'static str,
    pub case: Case,
    pub rounds: Vec<Round>,
    pub median: Round,
}

/// Queries of a round; small sets are gone through several times.
const QUERIES: u64 = 2_000_000;

/// Rounds of a case: small ones are noisy, large ones are long.
pub fn rounds(items: u64) -> usize {
    match items {
        0..1_000_000 => 31,
        1_000_000..10_000_000 => 15,
        _ => 5,
    }
}

/// Non-members asked for over and over again, if there are fewer members than that: so few that they come from
/// the L2 cache, as the members of a small filter do, and so many that no predictor learns their answers.
const NON_MEMBERS: u64 = 100_000;

/// Non-members that the rate is measured by.
const RATE_OF: u64 = 1_000_000;

/// The keys of a round, and non-members: others in every round, so that rates are those of filters of the shape
/// and not of one.
pub fn keys(items: u64, round: usize) -> (Vec<u64>, Vec<u64>) {
    let some = |from: u64, n: u64| (from..from + n).map(mix64).collect();
    let from = (round as u64) << 41;
    (some(from, items), some(from + (1 << 40), items.clamp(RATE_OF, QUERIES)))
}

/// Runs all rivals, one after the other, round after round.
pub fn run(rivals: &[Rival], case: Case) -> Vec<Result> {
    let mut all: Vec<Vec<Round>> = vec![Vec::new(); rivals.len()];
    for i in 0..rounds(case.items) {
        let (members, non_members) = keys(case.items, i);
        // In another order each time: nobody always finds what the same one leaves in the caches.
        let mut order: Vec<usize> = (0..rivals.len()).collect();
        order.sort_by_key(|j| mix64((i * rivals.len() + j) as u64));
        for j in order {
            let (rival, rounds) = (&rivals[j], &mut all[j]);
            if let Some(subject) = (rival.make)(case.items, case.rate) {
                rounds.push(round(subject, rival.refills(), &members, &non_members));
            }
        }
    }
    let results = rivals.iter().zip(all).filter(|(_, rounds)| !rounds.is_empty());
    let result = |(c, rounds): (&Rival, Vec<Round>)| Result {
        name: c.name,
        case,
        median: medians(&rounds),
        rounds,
    };
    results.map(result).collect()
}

fn round(
    mut subject: Box<dyn Subject>,
    refills: bool,
    members: &[u64],
    non_members: &[u64],
) -> Round {
    // Small sets are filled again and again into the same filter: the same work, long enough to measure.
    let again = if refills { (QUERIES / 4 / members.len() as u64).max(1) } else { 1 };
    // Keys have been read just before by everyone alike, whoever was there before and however long.
    black_box(members.iter().fold(0, |sum, key| sum ^ key));
    let start = ThreadTime::now();
    (0..again).for_each(|_| subject.fill(black_box(members)));
    let fill = nanoseconds(start) / (again * members.len() as u64) as f64;
    let ask = |keys: &[u64]| {
        let keys = &keys[..keys.len().min(QUERIES as usize)];
        let again = (QUERIES / keys.len() as u64).max(1);
        let start = ThreadTime::now();
        let found: u64 = (0..again).map(|_| subject.count(black_box(keys))).sum();
        let asked = (again * keys.len() as u64) as f64;
        (nanoseconds(start) / asked, found as f64 / asked)
    };
    let (hit, found) = ask(members);
    assert!(found == 1.0 || found > 0.9, "false negatives: {found}");
    let rate = subject.count(non_members) as f64 / non_members.len() as f64;
    let asked = non_members.len().min(members.len().max(NON_MEMBERS as usize));
    let (miss, _) = ask(&non_members[..asked]);
    let bits_per_key = subject.bits() as f64 / members.len() as f64;
    Round { fill, hit, miss, rate, bits_per_key }
}

fn nanoseconds(start: ThreadTime) -> f64 {
    start.elapsed().as_nanos() as f64
}

fn medians(rounds: &[Round]) -> Round {
    let of = |field: fn(&Round) -> f64| median(rounds.iter().map(field).collect());
    Round {
        fill: of(|r| r.fill),
        hit: of(|r| r.hit),
        miss: of(|r| r.miss),
        rate: of(|r| r.rate),
        bits_per_key: of(|r| r.bits_per_key),
    }
}

/// The median of some numbers, of which there is one at least.
pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values[values.len() / 2]
}

/// The least of some numbers.
pub fn least(values: &[f64]) -> f64 {
    values.iter().copied().fold(f64::INFINITY, f64::min)
}

/// The median quotient of numbers of the same rounds. Rounds are short beside the times in which this machine is
/// slower than usual, so that most quotients are of two numbers that suffered alike.
pub fn median_ratio(ours: &[f64], theirs: &[f64]) -> f64 {
    median(ours.iter().zip(theirs).map(|(ours, theirs)| ours / theirs).collect())
}

/// Nanoseconds that a piece of work takes by the wall clock: for work on several threads.
pub fn wall(work: impl FnOnce()) -> f64 {
    let start = Instant::now();
    work();
    start.elapsed().as_nanos() as f64
}
