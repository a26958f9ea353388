//! An attacker who knows the hash: keys that fill a filter faster, queries that pass it, and a key that stops both.

use everbloom::internals::filter::Face as _;
use everbloom::internals::hash::{Generator, Hasher};
use everbloom::internals::probe::Probe;
use everbloom::internals::theory::bloom;
use everbloom::membership::Bloom;
use everbloom::secure::keyed::{aimed_fill, aimed_fpr, trials_per_aimed_key};
use everbloom::{Flat, Result, SecretKey};

use crate::apparatus::classic::{Shape, false_positives};
use crate::apparatus::generalized::steps;
use crate::{Axis, Bound, Chart, Experiment, Lab, Report, Rows, Series, bound};

pub static EXPERIMENT: Experiment = Experiment {
    name: "pollution",
    source: "S2 §I and S0 §III-W; catalogue §46",
    title: "Pollution and forged queries, without a key and with one",
    shows: "Keys that are chosen by the public hash set only zeros: the fill is nk/m instead of 1 - e^(-nk/m), and the rate \
            grows tenfold. In a filter under a secret key the same keys are ordinary ones. So are forged queries, all of \
            which pass without a key.",
    run,
};

const FLAT: Flat = Flat { m: 20_000, k: 7 };

/// Chosen insertions, up to nearly the planned load, nk/m = ln 2.
const AIMED: [u64; 4] = [760, 1140, 1520, 1900];
const MOST: u64 = 1900;

/// Members of the filter that is queried, and forged queries for it.
const MEMBERS: u64 = 1900;
const FORGED: u64 = 300;

/// Honest non-members asked.
const QUERIES: u64 = 50_000;

fn filled(hasher: &Hasher, keys: &[u64]) -> Result<Bloom> {
    let mut filter = Bloom::with_shape(FLAT.m, FLAT.k, hasher.clone())?;
    filter.insert_many(keys);
    Ok(filter)
}

/// A key that nobody else has.
fn secret(seed: u64) -> Hasher {
    let mut random = Generator::new(seed ^ 0x5345_4352_4554);
    let bytes = u128::from(random.next_u64()) << 64 | u128::from(random.next_u64());
    Hasher::keyed(SecretKey::new(bytes.to_le_bytes()))
}

/// Who knows the hash of a filter, and with it the cells of every key.
struct Attacker {
    hasher: Hasher,
    random: Generator,
    tried: u64,
}

impl Attacker {
    fn new(hasher: &Hasher, seed: u64) -> Result<Self> {
        let hasher = filled(hasher, &[])?.head().hasher.clone();
        Ok(Self { hasher, random: Generator::new(!seed), tried: 0 })
    }

    /// The next key whose cells are as wanted.
    fn search(&mut self, wanted: impl Fn(&[u64]) -> bool) -> (u64, Vec<u64>) {
        let probe = Probe::over(FLAT.m, FLAT.k);
        loop {
            let key = self.random.next_u64();
            self.tried += 1;
            let mut cells = Vec::with_capacity(FLAT.k as usize);
            probe.each(self.hasher.digest(&key), |cell| cells.push(cell));
            if wanted(&cells) {
                return (key, cells);
            }
        }
    }

    /// Keys that set k fresh bits each.
    fn pollution(&mut self, count: u64) -> Vec<u64> {
        let mut taken = vec![false; FLAT.m as usize];
        let aimed = |_| {
            let fresh = |cells: &[u64]| {
                let mut sorted = cells.to_vec();
                sorted.sort_unstable();
                sorted.dedup();
                sorted.len() == cells.len() && cells.iter().all(|cell| !taken[*cell as usize])
            };
            let (key, cells) = self.search(fresh);
            cells.iter().for_each(|cell| taken[*cell as usize] = true);
            key
        };
        (0..count).map(aimed).collect()
    }

    /// Keys that pass a filter with these members, of which the attacker has a copy.
    fn forgery(&mut self, members: &[u64], count: u64) -> Vec<u64> {
        let probe = Probe::over(FLAT.m, FLAT.k);
        let mut set = vec![false; FLAT.m as usize];
        for member in members {
            probe.each(self.hasher.digest(member), |cell| set[cell as usize] = true);
        }
        let passes = |cells: &[u64]| cells.iter().all(|cell| set[*cell as usize]);
        (0..count).map(|_| self.search(passes).0).collect()
    }
}

/// Fill and rate of a filter with the first keys of the attacker, and the same under a secret key.
fn polluted(lab: &Lab, seed: u64) -> Result<(Vec<[f64; 4]>, f64)> {
    let public = Hasher::seeded(seed);
    let mut attacker = Attacker::new(&public, seed)?;
    let keys = attacker.pollution(MOST);
    let mut seen = Vec::new();
    for n in AIMED {
        let aimed = &keys[..n as usize];
        let filters = [filled(&public, aimed)?, filled(&secret(seed), aimed)?];
        lab.ask_members(aimed, |key| filters.iter().all(|filter| filter.contains(*key)));
        let [open, keyed] = filters
            .map(|filter| [filter.bits().fill(), false_positives(&filter, seed ^ 1, QUERIES)]);
        seen.push([open[0], keyed[0], open[1], keyed[1]]);
    }
    Ok((seen, attacker.tried as f64))
}

/// The share of forged queries that pass without a key and with one, and the keys tried for them.
fn forged(seed: u64) -> Result<[f64; 3]> {
    let public = Hasher::seeded(seed);
    let mut members = Generator::new(seed);
    let members: Vec<u64> = (0..MEMBERS).map(|_| members.next_u64()).collect();
    let filters = [filled(&public, &members)?, filled(&secret(seed), &members)?];
    let mut attacker = Attacker::new(&public, seed)?;
    let queries = attacker.forgery(&members, FORGED);
    let [open, keyed] = filters.map(|filter| {
        queries.iter().filter(|key| filter.contains(*key)).count() as f64 / FORGED as f64
    });
    Ok([open, keyed, attacker.tried as f64 / FORGED as f64])
}

fn honest(n: u64) -> Shape {
    Shape { m: FLAT.m, n, k: FLAT.k }
}

fn pollution(lab: &Lab) -> Result<(Chart, Chart, Rows)> {
    let runs = lab.scaled(6);
    let seen = lab.runs(runs, |seed| polluted(lab, seed))?;
    let (m, k) = (FLAT.m as f64, f64::from(FLAT.k));
    let xs = || steps(600.0, MOST as f64);
    let ordinary = |n: f64| bloom::fill(m, n * k);
    let names = ["chosen keys, public hash", "the same keys under a secret key"];
    let mut fills =
        [Series::new(names[0], xs(), |n| n * k / m), Series::new(names[1], xs(), ordinary)];
    let mut rates = [
        Series::new(names[0], xs(), |n| (n * k / m).powf(k)),
        Series::new(names[1], xs(), |n| ordinary(n).powf(k)),
    ];
    for (i, n) in AIMED.into_iter().enumerate() {
        let mean = |j: usize| seen.iter().map(|run| run.0[i][j]).sum::<f64>() / runs as f64;
        let x = n as f64;
        fills[0].point(x, aimed_fill(FLAT, n), mean(0), Bound::exactly(x * k / m, 1e-9));
        let sd = bloom::fill_sd(m, x * k);
        fills[1].point(x, ordinary(x), mean(1), bound::mean(ordinary(x), sd, runs));
        // No chance in the fill: that of the queries alone.
        let chosen = aimed_fpr(FLAT, n);
        rates[0].point(x, chosen, mean(2), bound::share(chosen, runs * QUERIES));
        let shape = honest(n);
        let bound = bound::rate(shape.fpr(), shape.fpr_sd(), runs, QUERIES);
        rates[1].point(x, shape.fpr(), mean(3), bound);
    }
    fills[0].follows(|n| n * k / m, 1e-9);
    fills[1].follows(ordinary, 0.001);
    rates[0].follows(|n| (n * k / m).powf(k), 0.0);
    rates[1].follows(|n| ordinary(n).powf(k), 0.01);
    let mut work = Rows::new("c", "What the attack takes", Axis::linear("keys tried for one"));
    let each = (0..MOST).map(|i| trials_per_aimed_key(aimed_fill(FLAT, i), FLAT.k));
    let (sum, squares) =
        each.fold((0.0, 0.0), |(sum, sq), trials| (sum + trials, sq + trials * trials));
    let tried = seen.iter().map(|run| run.1).sum::<f64>() / runs as f64;
    // A key hits itself with a chance of k(k - 1)/2m, which makes a fresh one rarer by that share.
    let bound =
        bound::mean(sum, squares.sqrt(), runs).widened(sum, k * (k - 1.0) / 2.0 / m + 0.002);
    let per_key = MOST as f64;
    let bound =
        Bound { low: bound.low.map(|b| b / per_key), high: bound.high.map(|b| b / per_key) };
    work.row(format!("{MOST} keys that set fresh bits"), sum / per_key, tried / per_key, bound);
    let chart = |id: &str, what: &str, y: Axis, series: [Series; 2]| {
        Chart::new(
            id,
            format!("{what} after chosen insertions, m = {}, k = {}", FLAT.m, FLAT.k),
            [Axis::linear("keys inserted"), y],
            series,
        )
    };
    let a = chart("a", "Fill", Axis::linear("share of ones"), fills);
    Ok((a, chart("b", "False positives", Axis::log("false-positive rate"), rates), work))
}

fn run(lab: &Lab) -> Result<Report> {
    let (fills, rates, mut work) = pollution(lab)?;
    let runs = lab.scaled(6);
    let seen = lab.runs(runs, forged)?;
    let mean = |i: usize| seen.iter().map(|run| run[i]).sum::<f64>() / runs as f64;
    let shape = honest(MEMBERS);
    let mut pass = Rows::new("d", "Forged queries that pass", Axis::linear("share"));
    pass.row("public hash", 1.0, mean(0), Bound::exactly(1.0, 0.0));
    let keyed = bound::rate(shape.fpr(), shape.fpr_sd(), runs, FORGED);
    pass.row("under a secret key", shape.fpr(), mean(1), keyed);
    // Tries until one passes, 1/f each; f differs from filter to filter.
    let each = 1.0 / shape.fpr();
    let sd = (each * each / FORGED as f64 + (each * shape.fpr_sd() / shape.fpr()).powi(2)).sqrt();
    work.row(
        format!("{FORGED} forged queries"),
        each,
        mean(2),
        bound::mean(each, sd, runs).widened(each, 0.01),
    );
    Ok(Report::default().chart(fills).chart(rates).rows(work).rows(pass).note(
        "The attacker computes the cells of random keys by the filter's public hash and seed. Under a secret key that is \
         the wrong hash: what it finds is as good as any key. All insertions are of keys that the attacker chose, and \
         rates are those of honest non-members.",
    ))
}
