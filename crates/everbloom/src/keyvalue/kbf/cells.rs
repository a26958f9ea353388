//! Counters with sums of encodings, and what the cells of a key say of its value.

use std::collections::BTreeMap;

use super::field::{Field, MAX_T, MIN_T};
use crate::cells::{Bits, Counters, Packed};
use crate::error::{Error, Result, agree};
use crate::filter::{Touched, touched};
use crate::hash::Digest;
use crate::probe::{Coincide, Indices, Probe};
use crate::state::state;

/// m cells of a counter and a code each.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct CodeCells {
    pub(super) probe: Probe,
    /// How many encodings are in the code; one that is stuck at its maximum marks a dead cell.
    pub(super) counters: Counters,
    /// The xor of the encodings, 2t bits.
    pub(super) codes: Packed,
    /// The values that were ever inserted.
    pub(super) valid: Bits,
}

state!(inline CodeCells { probe, counters, codes, valid });

/// What is known of a key's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// It is this one.
    Value(u32),
    /// The key is not there.
    Nothing,
    /// Several values are left, or nothing can be decoded.
    Unknown,
}

/// What a cell says of the values in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Says {
    Empty,
    One(u32),
    Two(u32, u32),
    /// Anything but nothing.
    Something,
}

impl CodeCells {
    pub(super) fn new(probe: Probe, counter_bits: u32, t: u32) -> Result<Self> {
        Ok(Self {
            counters: Counters::try_new(probe.m(), counter_bits)?,
            codes: Packed::try_new(probe.m(), 2 * t)?,
            valid: Bits::try_new(1 << t)?,
            probe,
        })
    }

    /// Bits of a value.
    pub(super) fn t(&self) -> u32 {
        self.codes.width() / 2
    }

    fn field(&self) -> Field {
        Field::new(self.t())
    }

    /// A key's distinct cells.
    fn cells(&self, digest: Digest) -> Indices {
        self.probe.collect(digest, Coincide::Distinct)
    }

    /// Adds a value of a key; whether one of its cells was empty.
    pub(super) fn insert(&mut self, digest: Digest, value: u32) -> bool {
        let (code, mut new) = (self.field().code(value), false);
        for i in self.cells(digest) {
            new |= self.counters.get(i) == 0;
            self.counters.increment(i);
            self.codes.set(i, self.codes.get(i) ^ code);
        }
        self.valid.set(value.into());
        new
    }

    /// Takes a value of a key away, which was added. Dead cells stay dead.
    pub(super) fn remove(&mut self, digest: Digest, value: u32) {
        let code = self.field().code(value);
        for i in self.cells(digest) {
            self.counters.decrement(i);
            self.codes.set(i, self.codes.get(i) ^ code);
        }
    }

    /// Changes a key's value.
    pub(super) fn replace(&mut self, digest: Digest, old: u32, new: u32) {
        let change = self.field().code(old) ^ self.field().code(new);
        for i in self.cells(digest) {
            self.codes.set(i, self.codes.get(i) ^ change);
        }
        self.valid.set(new.into());
    }

    /// The values that a cell may hold, as far as they can be told.
    fn says(&self, i: u64) -> Says {
        let known = |value: u32| self.valid.get(value.into());
        let code = self.codes.get(i);
        match self.counters.get(i) {
            0 => Says::Empty,
            1 => match self.field().single(code).filter(|value| known(*value)) {
                Some(value) => Says::One(value),
                None => Says::Something,
            },
            // Two keys of one value cancel: the code is 0, and the value unknown.
            2 => match self.field().pair(code).filter(|(a, b)| known(*a) && known(*b)) {
                Some((a, b)) => Says::Two(a, b),
                None => Says::Something,
            },
            // So does a dead cell: counters stick at 3 at least.
            _ => Says::Something,
        }
    }

    /// A member's value is among those of every cell of the key, so that what is left of all of them tells it.
    pub(super) fn find(&self, digest: Digest) -> Found {
        let mut left: Option<(u32, u32)> = None;
        let mut none = false;
        self.probe.all(digest, |i| {
            let says = self.says(i);
            let (a, b) = match says {
                Says::Something => return true,
                Says::Empty => {
                    none = true;
                    return false;
                }
                Says::One(value) => (value, value),
                Says::Two(a, b) => (a, b),
            };
            match left {
                None => left = Some((a, b)),
                Some((c, d)) => match [c, d].map(|value| value == a || value == b) {
                    [true, true] => {}
                    [true, false] => left = Some((c, c)),
                    [false, true] => left = Some((d, d)),
                    // An empty cell may still follow, but it would say the same.
                    [false, false] => none = true,
                },
            }
            !none
        });
        match left {
            _ if none => Found::Nothing,
            Some((a, b)) if a == b => Found::Value(a),
            _ => Found::Unknown,
        }
    }

    /// How likely a non-member gets a value, and how likely an unknown one, from the real cells: k independent cells
    /// leave a value v if each says v or cannot be decoded, and both of a pair if each says that pair or cannot.
    pub(super) fn rates(&self) -> (f64, f64) {
        let m = self.counters.len() as f64;
        let (mut values, mut pairs): (BTreeMap<u32, f64>, BTreeMap<(u32, u32), f64>) =
            Default::default();
        let mut dumb = 0.0;
        for i in 0..self.counters.len() {
            match self.says(i) {
                Says::Empty => {}
                Says::Something => dumb += 1.0 / m,
                Says::One(value) => *values.entry(value).or_default() += 1.0 / m,
                Says::Two(a, b) => {
                    *pairs.entry((a, b)).or_default() += 1.0 / m;
                    *values.entry(a).or_default() += 1.0 / m;
                    *values.entry(b).or_default() += 1.0 / m;
                }
            }
        }
        let k = f64::from(self.probe.k());
        let all = |share: f64| libm::pow(share + dumb, k);
        let neither = all(0.0);
        let several: f64 = pairs.values().map(|share| all(*share) - neither).sum();
        let some: f64 = values.values().map(|share| all(*share) - neither).sum();
        ((some - 2.0 * several).max(0.0), several + neither)
    }

    pub(super) fn agree(&self, other: &Self) -> Result<()> {
        self.probe.agree(&other.probe)?;
        agree("value bits", self.t(), other.t())?;
        agree("counter width", self.counters.width(), other.counters.width())
    }

    /// Adds the cells of other keys.
    pub(super) fn add(&mut self, other: &Self) {
        self.counters.add(&other.counters);
        for i in 0..self.codes.len() {
            self.codes.set(i, self.codes.get(i) ^ other.codes.get(i));
        }
        self.valid.union(&other.valid);
    }

    /// Half the cells: what two of them hold in one.
    pub(super) fn halved(&self) -> Result<Self> {
        let (probe, pairing) = self.probe.fold()?;
        let mut half = Self::new(probe, self.counters.width(), self.t())?;
        half.valid = self.valid.clone();
        for i in 0..self.counters.len() {
            let to = pairing.joined(i, probe.m());
            let stuck = self.counters.stuck(i);
            let count = if stuck { half.counters.max() } else { self.counters.get(i) };
            half.counters.raise(to, count);
            half.codes.set(to, half.codes.get(to) ^ self.codes.get(i));
        }
        Ok(half)
    }

    pub(super) fn trace(&self, digest: Digest) -> Vec<Touched> {
        touched(&self.cells(digest), |i| self.counters.get(i))
    }

    fn check(&self) -> Result<()> {
        self.probe.check_flat(self.counters.len())?;
        let t = self.t();
        let fits = self.codes.len() == self.counters.len()
            && (MIN_T..=MAX_T).contains(&t)
            && self.codes.width() == 2 * t
            && self.valid.len() == 1 << t
            && !self.valid.get(0);
        if fits {
            return Ok(());
        }
        Err(Error::corrupt(0, "corrupt filter: codes that do not fit their counters or values"))
    }
}
