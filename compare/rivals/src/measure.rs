//! How it is measured: same keys, same target rate, interleaved rounds, thread CPU time, medians.

use std::hint::black_box;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use cpu_time::ThreadTime;
use everbloom::internals::hash::mix64;

use crate::subject::{Rival, Subject};

/// A case: so many keys, at a rate where filters are compared.
#[derive(Clone, Copy, PartialEq)]
pub struct Case {
    pub items: u64,
    pub rate: Option<f64>,
}

/// What is measured: an operation, in nanoseconds per key, or what a filter has become.
#[derive(Clone, Copy, PartialEq)]
pub enum Figure {
    Insert,
    Hit,
    Miss,
    Delete,
    /// Of a sketch: a key is counted.
    Update,
    /// Of a sketch: it is asked, for a key or for everything.
    Query,
    /// Share of non-members let in.
    Rate,
    BitsPerKey,
    /// How far a sketch's answers are off.
    Error,
    /// Share of the heaviest keys that are not listed.
    Missed,
}

impl Figure {
    pub fn name(self) -> &'static str {
        match self {
            Figure::Insert => "insert",
            Figure::Hit => "hit",
            Figure::Miss => "miss",
            Figure::Delete => "delete",
            Figure::Update => "update",
            Figure::Query => "query",
            Figure::Rate => "rate",
            Figure::BitsPerKey => "bits per key",
            Figure::Error => "error",
            Figure::Missed => "missed",
        }
    }

    pub fn is_time(self) -> bool {
        !matches!(self, Figure::Rate | Figure::BitsPerKey | Figure::Error | Figure::Missed)
    }
}

/// What a rival took in one round, and what it has become.
#[derive(Clone, Default)]
pub struct Round(pub Vec<(Figure, f64)>);

impl Round {
    pub fn get(&self, what: Figure) -> Option<f64> {
        self.0.iter().find(|(of, _)| *of == what).map(|(_, value)| *value)
    }
}

/// What came of all rounds.
pub struct Result {
    pub name: &'static str,
    pub case: Case,
    pub rounds: Vec<Round>,
    pub median: Round,
}

impl Result {
    /// Of everybody who took part.
    pub fn of(names: &[&'static str], case: Case, all: Vec<Vec<Round>>) -> Vec<Self> {
        let took_part = names.iter().zip(all).filter(|(_, rounds)| !rounds.is_empty());
        let result = |(name, rounds): (&&'static str, Vec<Round>)| Self {
            name,
            case,
            median: medians(&rounds),
            rounds,
        };
        took_part.map(result).collect()
    }
}

/// Queries of a round; small sets are gone through several times.
pub const QUERIES: u64 = 2_000_000;

/// The most rounds.
static MOST: AtomicUsize = AtomicUsize::new(usize::MAX);

/// Measures at most so many rounds from now on: for a quick look.
pub fn limit_rounds(most: usize) {
    MOST.store(most, Ordering::Relaxed);
}

/// Rounds of a case: small ones are noisy, large ones are long.
pub fn rounds(items: u64) -> usize {
    let usual = match items {
        0..500_000 => 31,
        500_000..10_000_000 => 15,
        _ => 5,
    };
    usual.min(MOST.load(Ordering::Relaxed))
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
    let names: Vec<&'static str> = rivals.iter().map(|rival| rival.name).collect();
    let all = interleaved(
        rivals.len(),
        rounds(case.items),
        |i| keys(case.items, i),
        |j, (members, non_members)| {
            let subject = (rivals[j].make)(case.items, case.rate?)?;
            Some(round(subject, members, non_members))
        },
    );
    Result::of(&names, case, all)
}

/// Runs everybody in every round, on what `prepare` makes for it.
pub fn interleaved<P>(
    who: usize,
    rounds: usize,
    prepare: impl Fn(usize) -> P,
    mut run: impl FnMut(usize, &P) -> Option<Round>,
) -> Vec<Vec<Round>> {
    let mut all: Vec<Vec<Round>> = vec![Vec::new(); who];
    for i in 0..rounds {
        let prepared = prepare(i);
        // In another order each time: nobody always finds what the same one leaves in the caches.
        let mut order: Vec<usize> = (0..who).collect();
        order.sort_by_key(|j| mix64((i * who + j) as u64));
        for j in order {
            all[j].extend(run(j, &prepared));
        }
    }
    all
}

fn round(mut subject: Box<dyn Subject>, members: &[u64], non_members: &[u64]) -> Round {
    // Small sets are filled again and again into the same filter: the same work, long enough to measure.
    let again = if subject.refills() { (QUERIES / 4 / members.len() as u64).max(1) } else { 1 };
    // Keys have been read just before by everyone alike, whoever was there before and however long.
    black_box(members.iter().fold(0, |sum, key| sum ^ key));
    let keys = again * members.len() as u64;
    let insert = per_key(keys, || (0..again).for_each(|_| subject.fill(black_box(members)))).0;
    let ask = |keys: &[u64]| {
        let keys = &keys[..keys.len().min(QUERIES as usize)];
        let again = (QUERIES / keys.len() as u64).max(1);
        let asked = again * keys.len() as u64;
        let count = || (0..again).map(|_| subject.count(black_box(keys))).sum::<u64>();
        let (time, found) = per_key(asked, count);
        (time, found as f64 / asked as f64)
    };
    let (hit, found) = ask(members);
    assert!(found == 1.0 || found > 0.9, "false negatives: {found}");
    let rate = subject.count(non_members) as f64 / non_members.len() as f64;
    let asked = non_members.len().min(members.len().max(NON_MEMBERS as usize));
    let (miss, _) = ask(&non_members[..asked]);
    let bits = subject.bits() as f64 / members.len() as f64;
    let mut round = vec![(Figure::Insert, insert), (Figure::Hit, hit), (Figure::Miss, miss)];
    let (delete, removed) = per_key(members.len() as u64, || subject.remove(black_box(members)));
    if let Some(removed) = removed {
        assert!(removed as f64 > 0.9 * members.len() as f64, "removed: {removed}");
        round.push((Figure::Delete, delete));
    }
    round.extend([(Figure::Rate, rate), (Figure::BitsPerKey, bits)]);
    Round(round)
}

/// Nanoseconds of this thread that some work took for each of so many keys, and what came of it.
pub fn per_key<T>(keys: u64, work: impl FnOnce() -> T) -> (f64, T) {
    let start = ThreadTime::now();
    let done = black_box(work());
    (start.elapsed().as_nanos() as f64 / keys as f64, done)
}

fn medians(rounds: &[Round]) -> Round {
    let middle = |what: Figure| median(rounds.iter().filter_map(|round| round.get(what)).collect());
    Round(rounds[0].0.iter().map(|(what, _)| (*what, middle(*what))).collect())
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
