//! The LFSR counting filter, L-CBF (Safi, Moshovos, Veneris 2008; catalogue I16; S3 §V-D).
//!
//! A counting filter for hardware. Adders and their carries are slow and hungry, and nobody looks at the
//! counts: a query only asks whether counters are zero. So a counter is a shift register with linear
//! feedback, which runs through all its states but one in a fixed order, forwards and backwards, at the
//! cost of a shift and an xor; and a flag of its own says whether it is away from its first state:
//!
//! ```text
//!   state   0001 → 0010 → 0100 → 1001 → 0011 → … → 1000 (→ 0001)       x⁴ + x³ + 1, shifted left,
//!   count   0      1      2      3      4          14                  bit 0 ← bit 3 xor bit 2
//!   flag    0      1      1      1      1          1
//! ```
//!
//! A register of b bits counts to 2^b − 2: one state, all zeros, leads nowhere and is never entered, and
//! the step after the last would be zero again. There a counter sticks, as saturated counters do in
//! `counting`; with 14 in place of 15, the answers are the same. Queries read the flags alone, m bits; the
//! counts are looked up in a table of states where somebody wants them.
//!
//! **Use it** to model such hardware, or where a standard filter's bits and the counters behind them live
//! in different memories. **Don't** to save memory: the flag is one bit more per counter. (S3's factor of
//! 3.2 in area and those of the paper in energy and speed are those of circuits.)

use std::sync::OnceLock;

use crate::cells::{Bits, Packed};
use crate::parts::tally::{self, Tally};
use crate::probe::{Coincide, Probe};
use crate::variant::prelude::*;

/// An up/down shift register of 2 to 16 bits with the feedback that gives it the longest period.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Register {
    width: u32,
    /// The bits that are fed back: the highest, and those of the polynomial.
    taps: u64,
}

/// The exponents of a primitive polynomial for each width from 2 on, without the width itself and 0.
const POLYNOMIALS: [&[u32]; 15] = [
    &[1],
    &[2],
    &[3],
    &[3],
    &[5],
    &[6],
    &[6, 5, 4],
    &[5],
    &[7],
    &[9],
    &[6, 4, 1],
    &[4, 3, 1],
    &[5, 3, 1],
    &[14],
    &[15, 13, 4],
];

/// The state of a count of zero.
pub const SEED: u64 = 1;

impl Register {
    /// The register of `width` bits, 2 to 16.
    pub fn new(width: u32) -> Self {
        let width = width.clamp(2, 16);
        let exponents = POLYNOMIALS[width as usize - 2].iter().chain([&width]);
        Self { width, taps: exponents.fold(0, |taps, e| taps | 1 << (e - 1)) }
    }

    /// The next state.
    #[inline]
    pub fn up(&self, state: u64) -> u64 {
        let fed = u64::from((state & self.taps).count_ones() % 2);
        state << 1 & self.mask() | fed
    }

    /// The state before.
    #[inline]
    pub fn down(&self, state: u64) -> u64 {
        // What was fed in is the xor of the taps; all but the highest are still there, a place further.
        let kept = state >> 1;
        let high = u64::from((kept & self.taps).count_ones() % 2) ^ state & 1;
        kept | high << (self.width - 1)
    }

    fn mask(&self) -> u64 {
        (1 << self.width) - 1
    }

    /// The largest count, 2^b − 2: the period is 2^b − 1, zero included.
    pub fn max(&self) -> u64 {
        self.mask() - 1
    }

    /// The state of the largest count, one step before the first.
    fn last(&self) -> u64 {
        self.down(SEED)
    }

    /// The table of states: the count of each, and of each count its state.
    fn table(&self) -> &'static (Vec<u16>, Vec<u16>) {
        static TABLES: [OnceLock<(Vec<u16>, Vec<u16>)>; 17] = [const { OnceLock::new() }; 17];
        TABLES[self.width as usize].get_or_init(|| {
            let size = self.mask() as usize + 1;
            let (mut counts, mut states) = (vec![0; size], Vec::with_capacity(size));
            let mut state = SEED;
            for count in 0..=self.max() {
                counts[state as usize] = count as u16;
                states.push(state as u16);
                state = self.up(state);
            }
            (counts, states)
        })
    }

    /// The count that a state stands for.
    pub fn count(&self, state: u64) -> u64 {
        self.table().0.get(state as usize).map_or(0, |count| u64::from(*count))
    }

    /// The state that stands for a count, at most the largest.
    pub fn state(&self, count: u64) -> u64 {
        self.table().1.get(count.min(self.max()) as usize).map_or(SEED, |state| u64::from(*state))
    }
}

/// m registers, each with its flag.
#[derive(Clone, Debug, PartialEq)]
pub struct Registers {
    states: Packed,
    flags: Bits,
}

state!(Registers { states, flags });

impl Registers {
    fn new(m: u64, width: u32) -> Self {
        let mut states = Packed::new(m, width);
        (0..m).for_each(|i| states.set(i, SEED));
        Self { states, flags: Bits::new(m) }
    }

    /// The register that all of them are.
    pub fn register(&self) -> Register {
        Register::new(self.states.width())
    }

    /// The states, in order.
    pub fn states(&self) -> &Packed {
        &self.states
    }

    /// The flags: one where the count is not zero.
    pub fn flags(&self) -> &Bits {
        &self.flags
    }

    /// Number of registers that stick at the largest count.
    pub fn stuck(&self) -> u64 {
        let last = self.register().last();
        self.states.iter().filter(|state| *state == last).count() as u64
    }

    /// One step forwards, unless the register sticks.
    fn up(&mut self, i: u64) {
        let (register, state) = (self.register(), self.states.get(i));
        if state == register.last() {
            return;
        }
        self.states.set(i, register.up(state));
        if state == SEED {
            self.flags.set(i);
        }
    }

    /// One step back, unless the register sticks or is at the first state.
    fn down(&mut self, i: u64) {
        let (register, state) = (self.register(), self.states.get(i));
        if state == register.last() || state == SEED {
            return;
        }
        let state = register.down(state);
        self.states.set(i, state);
        if state == SEED {
            self.flags.reset(i);
        }
    }

    fn check(&self) -> Result<()> {
        let sound = WIDTHS.contains(&self.states.width())
            && self.states.len() == self.flags.len()
            && (0..)
                .zip(self.states.iter())
                .all(|(i, state)| state != 0 && self.flags.get(i) == (state != SEED));
        if sound {
            return Ok(());
        }
        Err(Error::corrupt(0, "corrupt filter: registers without a state, or flags that are wrong"))
    }
}

impl Tally for Registers {
    fn get(&self, i: u64) -> u64 {
        self.register().count(self.states.get(i))
    }

    fn any(&self, i: u64) -> bool {
        self.flags.get(i)
    }

    fn raise(&mut self, i: u64, by: u64) -> bool {
        let zero = !self.flags.get(i);
        (0..by.min(self.register().max())).for_each(|_| self.up(i));
        zero
    }

    fn lower(&mut self, i: u64, by: u64) {
        (0..by.min(self.register().max())).for_each(|_| self.down(i));
    }
}

/// A multiset in m shift registers with k probes per key.
///
/// ```
/// let mut lines = everbloom::counting::LfsrCounting::with_rate(1000, 0.01)?;
/// lines.insert(&0x7f00u64);
/// assert!(lines.contains(&0x7f00u64));
/// lines.remove(&0x7f00u64)?;
/// assert!(!lines.contains(&0x7f00u64));
/// # Ok::<(), everbloom::error::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct LfsrCounting {
    head: Head,
    probe: Probe,
    registers: Registers,
}

state!(LfsrCounting { head, probe, registers });

impl LfsrCounting {
    /// A filter of `m` registers of `width` bits (2 to 16) and `k` probes.
    pub fn with_shape(m: u64, k: u32, width: u32, hasher: Hasher) -> Result<Self> {
        let shape = Shape { flat: Flat { m: m.max(1), k: k.max(1) }, width: width.clamp(2, 16) };
        Self::empty(&shape, Head::new(hasher, FORM))
    }

    /// Inserts a key, once more if it is there: k registers go a step forwards.
    pub fn insert<K: Key + ?Sized>(&mut self, key: &K) -> Seen {
        let digest = self.head.hasher.digest(key);
        self.head.count(1);
        tally::insert(&mut self.registers, &self.probe, digest, 1)
    }

    /// Removes a key that was inserted: k registers go a step back. Refused, with nothing changed, unless
    /// every one counts at least as much as the key would take; what sticks stays.
    pub fn remove<K: Key + ?Sized>(&mut self, key: &K) -> Result<()> {
        let digest = self.head.hasher.digest(key);
        tally::remove(&mut self.registers, &self.probe, digest)?;
        self.head.items = self.head.items.saturating_sub(1);
        Ok(())
    }

    /// Whether the key may be a member: all its flags are set.
    #[inline]
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        tally::contains(&self.registers, &self.probe, self.head.hasher.digest(key))
    }

    /// How often the key was inserted: never too low while no register sticks and only members are
    /// removed.
    pub fn count<K: Key + ?Sized>(&self, key: &K) -> u64 {
        tally::count(&self.registers, &self.probe, self.head.hasher.digest(key))
    }

    /// The registers.
    pub fn registers(&self) -> &Registers {
        &self.registers
    }

    fn check(&self) -> Result<()> {
        self.probe.check_flat(self.registers.flags.len())
    }

    fn used(&self) -> f64 {
        self.registers.flags.ones() as f64 / self.registers.flags.len() as f64
    }
}

/// Number of registers and probes, and bits per register.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    flat: Flat,
    width: u32,
}

impl Plan for LfsrCounting {
    type Shape = Shape;

    fn plan(request: &Request<'_>) -> Result<Shape> {
        let width = request.integer("width").unwrap_or(4);
        Ok(Shape { flat: Flat::plan(request, width + 1)?, width: width as u32 })
    }

    fn expect(shape: &Shape, load: &Load) -> Option<Expect> {
        let Shape { flat, width } = shape;
        let n = load.distinct;
        let bits = flat.m * u64::from(width + 1);
        Some(Expect::one_sided(flat.fpr(n), bits, Some(flat.fill(n))))
    }
}

impl Stream for LfsrCounting {
    fn empty(shape: &Shape, head: Head) -> Result<Self> {
        let Shape { flat: Flat { m, k }, width } = *shape;
        Ok(Self { head, probe: Probe::over(m, k), registers: Registers::new(m, width) })
    }
}

face!(LfsrCounting: Insert, Remove, Count, Merge);
planned!(LfsrCounting);

impl Filter for LfsrCounting {
    fn query(&self, record: Record<'_>) -> Result<Answer> {
        let count = self.count(record.key);
        Ok(Answer::of(self.contains(record.key)).with(Detail::Count(Counted::about(count))))
    }

    fn fill(&self) -> Option<f64> {
        Some(self.used())
    }

    fn now(&self) -> Rates {
        Rates::one_sided(libm::pow(self.used(), f64::from(self.probe.k())))
    }

    fn describe(&self) -> Vec<Fact> {
        let register = self.registers.register();
        vec![
            fact("m", self.registers.flags.len()),
            fact("k", self.probe.k()),
            fact("width", register.width),
            fact("largest count", register.max()),
            fact("stuck", self.registers.stuck()),
        ]
    }

    fn trace(&self, key: &[u8]) -> Vec<Touched> {
        let indices = self.probe.collect(self.head.hasher.digest(key), Coincide::PerHash);
        touched(&indices, |i| self.registers.get(i))
    }
}

keyed!(LfsrCounting: Insert, Remove, Count);

impl Merge for LfsrCounting {
    fn law(&self) -> MergeLaw {
        MergeLaw::Multiset
    }

    /// Counts add up, and what sticks in either, or in the sum, sticks.
    fn merge(&mut self, other: &dyn Filter) -> Result<()> {
        let other: &LfsrCounting = other.as_same()?;
        self.head.agree(&other.head)?;
        self.probe.agree(&other.probe)?;
        let register = self.registers.register();
        crate::error::agree("register width", register.width, other.registers.register().width)?;
        for i in (0..other.registers.flags.len()).filter(|i| other.registers.any(*i)) {
            let sum = self.registers.get(i) + other.registers.get(i);
            self.registers.states.set(i, register.state(sum));
            self.registers.flags.set(i);
        }
        self.head.count(other.head.items);
        Ok(())
    }
}

const FORM: &str = "standard";
const WIDTHS: std::ops::RangeInclusive<u32> = 2..=16;

/// The list entry.
pub static VARIANT: Variant = Variant {
    facts: Facts {
        id: 50,
        slug: "lfsr-counting",
        entry: "I16",
        name: "LFSR counting Bloom filter (L-CBF)",
        paper: "E. Safi, A. Moshovos, A. Veneris, L-CBF: a low-power, fast counting Bloom filter architecture, \
                IEEE Transactions on VLSI Systems 16(6), 2008",
        family: "counting",
        needs: &["membership", "delete", "count", "merge", "parallel"],
        meaning: "items are insertions minus removals, the rate is that of false positives",
        forms: &[Form {
            name: FORM,
            abilities: &[Ability::Insert, Ability::Remove, Ability::Count, Ability::Merge],
            false_negatives: FalseNegatives::NeverWhile("only keys that were inserted are removed"),
        }],
        params: &[
            PARAM_M,
            PARAM_K,
            Param {
                name: "width",
                range: Range::Integer(2, 16),
                default: Preset::Integer(4),
                help: "bits per register, beside the flag",
            },
        ],
        ..Facts::FILTER
    },
    ops: Ops::of::<LfsrCounting>(),
};
