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

use everbloom::exchange::{Frame, Outbox, Role};
use everbloom::internals::theory::bloom as theory;
use everbloom::{Bloom, Hasher, Opener, Result};

/// A byte: 1 if an estimate follows.
const ASK: u8 = 0x23;
/// Rows and bytes of the right table, then its header.
const TOLD: u8 = 0x24;
/// A filter of the left table's keys.
const FILTER: u8 = 0x25;
/// Zeros of the right table's filter, and of the AND of both.
const ZEROS: u8 = 0x26;

/// The longest first row that is taken.
const HEADER: u64 = 1 << 20;

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

    fn room(&self, head: &Frame) -> Result<u64> {
        match (self.state, head.kind) {
            (State::Asked, TOLD) => Ok(16 + HEADER),
            (State::Estimating, ZEROS) => Ok(16),
            _ => Err(head.wrong("out of order")),
        }
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

    fn room(&self, head: &Frame) -> Result<u64> {
        match (self.state, head.kind) {
            (State::Start, ASK) => Ok(1),
            (State::Estimating, FILTER) => Ok(u64::MAX),
            _ => Err(head.wrong("out of order")),
        }
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

#[cfg(test)]
mod tests {
    use everbloom::exchange::{Limits, Party, Session as _};

    use super::*;

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
