//! The LFSR counting filter, L-CBF (Safi, Moshovos, Veneris 2008; catalogue I16; S3 §V-D).
//!
//! A counting filter for hardware. Adders and their carries are slow and take much energy, and the
//! counts are hardly ever read: a query only tests whether counters are zero. So a counter is a shift register with linear
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
//! **Use it** to model such hardware, or if a standard filter's bits and their counters are in different memories.
//! **Don't** to save memory: the flag adds one bit per counter. (S3's factor of 3.2 in area, and the paper's
//! factors in energy and speed, are for circuits.)

mod register;

pub use register::{Register, SEED};

use crate::cells::{Bits, Packed};
use crate::error::agree;
use crate::parts::owns;
use crate::parts::tally::{Cells, Tallies, Tally};
use crate::plan::Wide;
use crate::variant::prelude::*;

/// m registers, each with its flag.
#[derive(Clone, Debug, PartialEq)]
pub struct Registers {
    states: Packed,
    flags: Bits,
}

state!(Registers { states, flags });

impl Registers {
    fn new(m: u64, width: u32) -> Result<Self> {
        let mut states = Packed::try_new(m, width)?;
        (0..m).for_each(|i| states.set(i, SEED));
        Ok(Self { states, flags: Bits::try_new(m)? })
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
        let sound = Register::WIDTHS.contains(&self.states.width())
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

impl Cells for Registers {
    const NAME: &'static str = "registers";
    const TOLD: bool = false;

    fn most(&self) -> u64 {
        self.register().max()
    }

    fn facts(&self) -> Vec<Fact> {
        let register = self.register();
        vec![
            fact("width", self.states.width()),
            fact("largest count", register.max()),
            fact("steps", self.iter().sum::<u64>()),
            fact("stuck", self.stuck()),
        ]
    }

    fn len(&self) -> u64 {
        self.flags.len()
    }

    fn get(&self, i: u64) -> u64 {
        self.register().count(self.states.get(i))
    }

    #[inline]
    fn any(&self, i: u64) -> bool {
        self.flags.get(i)
    }

    fn nonzero(&self) -> u64 {
        self.flags.ones()
    }
}

impl Tally for Registers {
    fn raise(&mut self, i: u64, by: u64) -> bool {
        let zero = !self.flags.get(i);
        (0..by.min(self.register().max())).for_each(|_| self.up(i));
        zero
    }

    fn lower(&mut self, i: u64, by: u64) {
        (0..by.min(self.register().max())).for_each(|_| self.down(i));
    }

    fn agree(&self, other: &Self) -> Result<()> {
        agree("register width", self.states.width(), other.states.width())
    }

    /// Counts add up, and what sticks in either, or in the sum, sticks.
    fn add(&mut self, other: &Self) {
        let register = self.register();
        for i in (0..other.flags.len()).filter(|i| other.flags.get(*i)) {
            let sum = self.get(i) + other.get(i);
            self.states.set(i, register.state(sum));
            self.flags.set(i);
        }
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
/// # Ok::<(), everbloom::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct LfsrCounting {
    head: Head,
    tallies: Tallies<Registers>,
}

state!(LfsrCounting { head, ..tallies });

impl LfsrCounting {
    /// A filter of `m` registers of `width` bits (2 to 16) and `k` probes.
    pub fn with_shape(m: u64, k: u32, width: u32, hasher: Hasher) -> Result<Self> {
        empty(&Goal::of(hasher).set("m", m).set("k", k).set("width", width))
    }

    /// The registers.
    pub fn registers(&self) -> &Registers {
        &self.tallies.cells
    }

    /// Inserts a key, again if already present.
    #[inline]
    pub fn insert<K: Key + ?Sized>(&mut self, key: &K) -> Seen {
        let digest = self.head.hasher.digest_usually(Self::HASH, key);
        self.head.count_one();
        Seen::new_if(self.tallies.insert(digest))
    }

    /// Whether the key may be a member.
    #[inline]
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        self.tallies.contains(self.head.hasher.digest_usually(Self::HASH, key))
    }

    /// Removes a key that was inserted. Refused, with nothing changed, if one of its counters is lower than the removal
    /// would take. A register that is stuck keeps its value.
    pub fn remove<K: Key + ?Sized>(&mut self, key: &K) -> Result<()> {
        self.tallies.remove(self.head.hasher.digest_usually(Self::HASH, key))?;
        self.head.count_off();
        Ok(())
    }

    /// How often the key was inserted: never too low while no register is stuck and only members are removed.
    pub fn count<K: Key + ?Sized>(&self, key: &K) -> u64 {
        self.tallies.count(self.head.hasher.digest_usually(Self::HASH, key)).whole()
    }

    fn check(&self) -> Result<()> {
        self.tallies.check_flat()
    }
}

impl Plan for LfsrCounting {
    type Shape = Wide;

    fn plan(request: &Request<'_>) -> Result<Wide> {
        Wide::plan(request, 1)
    }

    fn expect(shape: &Wide, load: &Load) -> Option<Expect> {
        Some(shape.expect(load, 1))
    }
}

impl Stream for LfsrCounting {
    fn empty(shape: &Wide, head: Head) -> Result<Self> {
        let cells = Registers::new(shape.flat.m, shape.width)?;
        Ok(Self { head, tallies: Tallies::over(shape.flat, cells) })
    }
}

face!(LfsrCounting: Insert, Remove, Count, Merge);
planned!(LfsrCounting);
owns!(LfsrCounting { tallies: Tallies<Registers> });
keyed!(LfsrCounting: Insert, Remove);

impl Count for LfsrCounting {
    fn count(&self, key: &[u8]) -> Counted {
        self.tallies.count(self.head.hasher.digest(key))
    }
}

by_part!(LfsrCounting: tallies);

/// The list entry.
pub static VARIANT: Variant = Variant::of::<LfsrCounting>(Facts {
    id: 50,
    slug: "lfsr-counting",
    entry: "I16",
    question: "Is it in the set, with counters that are fast in circuits?",
    name: "LFSR counting Bloom filter (L-CBF)",
    paper: "E. Safi, A. Moshovos, A. Veneris, L-CBF: a low-power, fast counting Bloom filter architecture, \
            IEEE Transactions on VLSI Systems 16(6), 2008",
    family: "counting",
    needs: &["membership", "delete", "count", "merge"],
    forms: &[Form::COUNTING],
    params: &[
        PARAM_M,
        PARAM_K,
        Param::integer("width", 2, 16, "bits per register, without the flag")
            .or(Preset::Integer(4)),
    ],
    ..Facts::MULTISET
});
