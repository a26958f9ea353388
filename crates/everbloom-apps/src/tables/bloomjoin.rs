//! Bloomjoin with an exact last round, and the size of a join before it (catalogue A3; S0 §II-B, S1 §3.2).
//!
//! ```text
//!   left                                              right
//!      │ ── ASK: whether an estimate is wanted ─────────▶ │
//!      │ ◀────────────── TOLD: rows, bytes, its header ── │   a header only CSV has
//!      │ ── FILTER: of its keys, for the larger table ──▶ │   only for an estimate
//!      │ ◀── ZEROS: of its own filter, and of the AND ─── │
//!      │    then the exchange of everbloom::exchange::join: filter ──▶ ◀── rows that pass; the left side joins exactly
//! ```
//!
//! The zeros Z₁, Z₂ of two filters and Z₁₂ of their AND tell how many keys are shared:
//! (1 − 1/m)^(−k·|∩|) ≈ m·(Z₁ + Z₂ − Z₁₂)/(Z₁·Z₂). Two numbers travel instead of a filter.

use std::collections::{HashMap, HashSet};

use everbloom::exchange::join::{Left, Right};
use everbloom::exchange::{Frame, Limits, Outbox, Party, Role, Session as _, Traffic};
use everbloom::internals::theory::bloom as theory;
use everbloom::{Bloom, Error, Hasher, Kind, Opener, Result};
use everbloom_lab::{Axis, Bound, Experiment, Lab, Report, Rows, bound};

use crate::{Application, Form, Oracle};

/// A byte: 1 if an estimate follows.
const ASK: u8 = 0x23;
/// Rows and bytes of the right table, then its header.
const TOLD: u8 = 0x24;
/// A filter of the left table's keys.
const FILTER: u8 = 0x25;
/// Zeros of the right table's filter, and of the AND of both.
const ZEROS: u8 = 0x26;

/// Bits of a filter for each key of the larger table, and probes.
const ESTIMATE_BITS: u64 = 8;
const ESTIMATE_PROBES: u32 = 6;

/// What the left side learns of the right table before the join.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Survey {
    /// Its rows.
    pub rows: u64,
    /// Their bytes, a line each.
    pub bytes: u64,
    /// How many different keys both tables have, where that was asked for and can be told.
    pub shared: Option<f64>,
    /// Its first row, where that names the columns.
    pub header: Vec<u8>,
}

/// The left side of a survey.
pub struct Surveyor {
    /// Its keys, where an estimate is wanted.
    keys: Option<Vec<Vec<u8>>>,
    filter: Option<Bloom>,
    survey: Survey,
    state: State,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Start,
    Asked,
    Estimating,
    Done,
}

impl Surveyor {
    /// A survey; with keys, all different, it estimates how many of them the right table has.
    pub fn new(keys: Option<Vec<Vec<u8>>>) -> Self {
        Self { keys, filter: None, survey: Survey::default(), state: State::Start }
    }

    /// What was learned, when it is over.
    pub fn survey(&self) -> &Survey {
        &self.survey
    }
}

/// Two numbers of 8 bytes each, and what follows them.
fn numbers(frame: &Frame) -> Result<([u64; 2], &[u8])> {
    let split = || {
        let (first, rest) = frame.body.split_first_chunk()?;
        let (second, rest) = rest.split_first_chunk()?;
        Some(([first, second].map(|bytes| u64::from_le_bytes(*bytes)), rest))
    };
    split().ok_or_else(|| frame.wrong("not as many numbers as there should be"))
}

fn body(numbers: [u64; 2]) -> Vec<u8> {
    numbers.into_iter().flat_map(u64::to_le_bytes).collect()
}

impl Role for Surveyor {
    const FRAMES: &'static [u8] = &[TOLD, ZEROS];

    fn speak(&mut self, out: &mut Outbox) -> Result<()> {
        if self.state != State::Start {
            return Ok(());
        }
        self.state = State::Asked;
        out.frame(ASK, &[self.keys.is_some().into()])
    }

    fn hear(&mut self, frame: Frame, out: &mut Outbox) -> Result<()> {
        match (self.state, frame.kind) {
            (State::Asked, TOLD) => {
                let ([rows, bytes], header) = numbers(&frame)?;
                self.survey = Survey { rows, bytes, shared: None, header: header.to_vec() };
                let Some(keys) = &self.keys else {
                    self.state = State::Done;
                    return Ok(());
                };
                // A right table that claims to be huge does not make this side allocate: it is as wrong as it claims.
                let room = out.filter_bytes() / 4 * 8;
                let m = rows.max(keys.len() as u64).max(64).saturating_mul(ESTIMATE_BITS).min(room);
                let mut filter = Bloom::with_shape(m, ESTIMATE_PROBES, Hasher::default())?;
                keys.iter().for_each(|key| _ = filter.insert(key));
                self.state = State::Estimating;
                out.filter(FILTER, &filter)?;
                self.filter = Some(filter);
                Ok(())
            }
            (State::Estimating, ZEROS) => {
                let ([right, both], []) = numbers(&frame)? else {
                    return Err(frame.wrong("more than two numbers"));
                };
                if let Some(filter) = &self.filter {
                    let (left, m, k) = (filter.bits().zeros(), filter.m(), filter.k());
                    let shared = theory::intersection_size(left, right, both, m, k);
                    self.survey.shared = shared.map(|size| size.max(0.0));
                }
                self.state = State::Done;
                Ok(())
            }
            _ => Err(frame.wrong("out of order")),
        }
    }

    fn done(&self) -> bool {
        self.state == State::Done
    }
}

/// Inserts the right table's keys into an empty filter.
type Fill<'a> = dyn FnMut(&mut Bloom) -> Result<()> + 'a;

/// The right side of a survey.
pub struct Surveyed<'a> {
    rows: u64,
    bytes: u64,
    header: Vec<u8>,
    fill: Box<Fill<'a>>,
    state: State,
}

impl<'a> Surveyed<'a> {
    /// A table of so many rows and bytes, whose keys `fill` puts into a filter.
    pub fn new(rows: u64, bytes: u64, fill: impl FnMut(&mut Bloom) -> Result<()> + 'a) -> Self {
        Self { rows, bytes, header: Vec::new(), fill: Box::new(fill), state: State::Start }
    }

    /// The same table, under a row that names its columns.
    #[must_use]
    pub fn with_header(self, header: Vec<u8>) -> Self {
        Self { header, ..self }
    }
}

impl Role for Surveyed<'_> {
    const FRAMES: &'static [u8] = &[ASK, FILTER];

    fn speak(&mut self, _: &mut Outbox) -> Result<()> {
        Ok(())
    }

    fn hear(&mut self, frame: Frame, out: &mut Outbox) -> Result<()> {
        match (self.state, frame.kind, &frame.body[..]) {
            (State::Start, ASK, [more @ (0 | 1)]) => {
                self.state = if *more == 1 { State::Estimating } else { State::Done };
                let told = [body([self.rows, self.bytes]), self.header.clone()].concat();
                out.frame(TOLD, &told)
            }
            (State::Estimating, FILTER, bytes) => {
                let opener: Opener = out.opener();
                let theirs: Bloom = opener.decode_as(bytes)?;
                let mut ours = Bloom::with_shape(theirs.m(), theirs.k(), Hasher::default())?;
                (self.fill)(&mut ours)?;
                let both = ours.m() - ours.bits().ones_in_both(theirs.bits());
                self.state = State::Done;
                out.frame(ZEROS, &body([ours.bits().zeros(), both]))
            }
            _ => Err(frame.wrong("out of order")),
        }
    }

    fn done(&self) -> bool {
        self.state == State::Done
    }
}

/// The rate of the filter at which keys of `left` and rows of `right` cost the fewest bits, rows of `row_bits` each:
/// the least of |A|·b + |B|·L·0.6185^b.
pub fn best_rate(left: u64, right: u64, row_bits: f64) -> f64 {
    let saved = -libm::log(theory::fpr_best(1.0));
    let bits = libm::log(right as f64 * row_bits * saved / left.max(1) as f64) / saved;
    theory::fpr_best(bits.clamp(2.0, 40.0))
}

/// The application.
pub static APPLICATION: Application = Application {
    entry: "A3",
    form: Form::Tool,
    uses: &["bloom", "blocked"],
    oracle: "a hash map of the left rows",
    data: "two tables of 16-byte rows, a tenth of whose keys are shared",
    experiment: Experiment {
        name: "bloomjoin",
        source: "S0 §II-B, S1 §3.2",
        title: "Bloomjoin: only rows that can match travel",
        shows: "The join is exact. The filter and the rows that pass are 58 571 bytes where the left keys are 160 000. \
                Filters alone tell the size of the join within a tenth.",
        run,
    },
};

const LEFT: u64 = 10_000;
const RIGHT: u64 = 50_000;
const SHARED: u64 = 2_000;
const ROW: usize = 16;

fn row(seed: u64, key: u64) -> Vec<u8> {
    let mix = everbloom::internals::hash::mix64;
    [mix(seed ^ key).to_le_bytes(), key.to_le_bytes()].concat()
}

fn key_of(row: &[u8]) -> Result<&[u8]> {
    row.get(..8).ok_or_else(|| Error::new(Kind::BadRecord, "a short row"))
}

struct Seen {
    /// Pairs that differ from the hash map's.
    wrong: u64,
    in_vain: u64,
    rows_bytes: u64,
    estimate: f64,
}

fn try_one(seed: u64, fpr: f64) -> Result<Seen> {
    let mut left = Left::new(fpr);
    let mut map: HashMap<Vec<u8>, Vec<u8>> = HashMap::new();
    for i in 0..LEFT {
        let row = row(seed, i);
        left.insert(&row[..8], &row);
        map.insert(row[..8].to_vec(), row);
    }
    let right: Vec<Vec<u8>> =
        (LEFT - SHARED..LEFT - SHARED + RIGHT).map(|i| row(seed, i)).collect();
    let survey = surveyed(left.keys().map(<[u8]>::to_vec).collect(), &right)?;
    let mut left = Party::new(left, Limits::LOCAL);
    let mut there = Party::new(Right::new(), Limits::LOCAL);
    let mut traffic = Traffic::default();
    traffic.carry(&mut left, &mut there)?;
    for row in &right {
        there.role.row(&row[..8], row)?;
    }
    there.role.end();
    traffic.carry(&mut left, &mut there)?;
    let mut pairs = HashSet::new();
    let gather = |l: &[u8], r: &[u8]| {
        pairs.insert((l.to_vec(), r.to_vec()));
        Ok(())
    };
    left.role.pairs(|row| key_of(row).map(Into::into), gather)?;
    left.closed()?;
    let expected: HashSet<_> =
        right.iter().filter_map(|r| Some((map.get(&r[..8])?.clone(), r.clone()))).collect();
    Ok(Seen {
        wrong: pairs.symmetric_difference(&expected).count() as u64,
        in_vain: left.role.in_vain(),
        rows_bytes: traffic.b_to_a,
        estimate: survey.shared.unwrap_or(f64::NAN),
    })
}

fn surveyed(keys: Vec<Vec<u8>>, right: &[Vec<u8>]) -> Result<Survey> {
    let mut surveyor = Party::new(Surveyor::new(Some(keys)), Limits::LOCAL);
    let bytes = right.iter().map(|row| row.len() as u64 + 1).sum();
    let mut surveyed = Party::new(
        Surveyed::new(right.len() as u64, bytes, |filter| {
            right.iter().for_each(|row| _ = filter.insert(&row[..8]));
            Ok(())
        }),
        Limits::LOCAL,
    );
    everbloom::exchange::run(&mut surveyor, &mut surveyed)?;
    Ok(surveyor.role.survey().clone())
}

fn run(lab: &Lab) -> Result<Report> {
    let runs = lab.scaled(3);
    // 8 bits a key, as the entry computes: the blocked filter that travels errs a little more often at that size.
    let fpr = theory::fpr_best(8.0);
    let seen = lab.runs(runs, |seed| try_one(seed, fpr))?;
    let mut oracle = Oracle::default();
    oracle.none("joined pairs", seen.iter().map(|s| s.wrong).sum());
    let others = RIGHT - SHARED;
    let mut rows = Rows::new("bytes", "What travels", Axis::log("bytes"));
    let in_vain = seen.iter().map(|s| s.in_vain).sum::<u64>() as f64 / (runs * others) as f64;
    let predicted = (SHARED as f64 + fpr * others as f64) * ROW as f64;
    let travelled = seen.iter().map(|s| s.rows_bytes).sum::<u64>() as f64 / runs as f64;
    // A length before each row and the frames around them.
    let framed = predicted * 17.0 / 16.0;
    let bound = bound::share(fpr, runs * others).widened(fpr, 0.15);
    let high = bound.high.unwrap_or(fpr) * others as f64 * 17.0 + SHARED as f64 * 17.0 + 200.0;
    rows.row(
        "rows that pass the filter",
        framed,
        travelled,
        Bound::between(SHARED as f64 * 17.0, high),
    );
    let all = LEFT as f64 + travelled;
    rows.row(
        "filter of 8 bits a key and rows, against the left keys",
        58_571.0,
        all,
        Bound::at_most(160_000.0 / 2.0),
    );
    let mut rates = Rows::new("in-vain", "Rows sent in vain", Axis::linear("share"));
    rates.row("of those without a partner", fpr, in_vain, bound);
    let mut sizes =
        Rows::new("estimate", "The size of the join, from filters alone", Axis::linear("keys"));
    let estimates: Vec<f64> = seen.iter().map(|s| s.estimate).collect();
    let (mean, _) = bound::mean_and_sd(&estimates);
    sizes.row(
        "of 10 000 and 50 000 keys, 2000 shared",
        2000.0,
        mean,
        Bound::between(1800.0, 2200.0),
    );
    let (inner, recovered) = equal_filters(lab.seed())?;
    let expected = theory::inner_product(80_000.0, 6.0, 1e4, 1e4, 2e3);
    sizes.row(
        "ones in common, two of 10 000 keys in 80 000 bits",
        25_161.0,
        inner,
        Bound::exactly(expected, 700.0),
    );
    sizes.row("shared keys recovered", 2000.0, recovered, Bound::between(1800.0, 2200.0));
    Ok(oracle.report().rows(rows).rows(rates).rows(sizes))
}

/// The entry's own shape: ones in common, and the shared keys that follow from the zeros.
fn equal_filters(seed: u64) -> Result<(f64, f64)> {
    let filter = |first: u64| -> Result<Bloom> {
        let mut filter = Bloom::with_shape(80_000, 6, Hasher::default())?;
        (first..first + 10_000).for_each(|i| _ = filter.insert(&row(seed, i)[..8]));
        Ok(filter)
    };
    let (a, b) = (filter(0)?, filter(8_000)?);
    let inner = a.bits().ones_in_both(b.bits());
    let zeros = [a.bits().zeros(), b.bits().zeros(), a.m() - inner];
    let size = theory::intersection_size(zeros[0], zeros[1], zeros[2], 80_000, 6);
    Ok((inner as f64, size.unwrap_or(f64::NAN)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a3_bytes_of_the_join() {
        let f = theory::fpr_classic(80_000.0, 1e4, 6.0);
        assert!((f - 0.02158).abs() < 1e-5, "{f}");
        let rows: f64 = (2000.0 + 0.02158 * 48_000.0) * 16.0;
        assert!((rows - 48_571.0).abs() < 5.0, "{rows}");
        assert!((theory::inner_product(80_000.0, 6.0, 1e4, 1e4, 2e3) - 25_161.0).abs() < 1.0);
    }

    #[test]
    fn a_survey_without_an_estimate_and_one_that_lies() {
        let mut left = Party::new(Surveyor::new(None), Limits::NETWORK);
        let right = Surveyed::new(7, 70, |_| Ok(())).with_header(b"id,name".to_vec());
        everbloom::exchange::run(&mut left, &mut Party::new(right, Limits::NETWORK)).unwrap();
        let header = b"id,name".to_vec();
        assert_eq!(left.role.survey(), &Survey { rows: 7, bytes: 70, shared: None, header });
        let told = |rows: u64| {
            let mut frame = Vec::new();
            Frame::write(&mut frame, TOLD, &body([rows, 1]), &Limits::NETWORK).unwrap();
            frame
        };
        let mut left = Party::new(Surveyor::new(Some(vec![b"a".to_vec()])), Limits::NETWORK);
        left.receive(&[]).unwrap();
        let asked = left.receive(&told(u64::MAX)).unwrap();
        assert!(asked.send.len() < 64 << 20, "{}", asked.send.len());
        let mut left = Party::new(Surveyor::new(None), Limits::NETWORK);
        left.receive(&[]).unwrap();
        assert!(left.receive(&[TOLD, 3, 0, 0, 0, 1, 2, 3]).is_err());
    }
}
